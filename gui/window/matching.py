"""What somebody means by a few letters: a command, or an instant."""

from __future__ import annotations

import re

_SECONDS = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
_NUMBER = re.compile(r"(?P<number>\d+(?:[.,]\d*)?|[.,]\d+)\s*(?P<unit>ms|s|min|h)?")
_CLOCK = re.compile(r"(?:(?P<hours>\d+):)?(?P<minutes>\d{1,2}):(?P<seconds>\d{1,2}(?:[.,]\d*)?)")
_GAP = 0.1  # what a letter costs for every letter that was jumped over
_INNER = 10.0  # what a match costs that does not begin a word


def rank(wanted: str, text: str, *, whole: bool = False) -> float | None:
    """Return how far `text` is from what is `wanted`, 0 for its very beginning; None if it is something else.

    Every word that is wanted must be there: as it stands, at best at the beginning of a word; or, if it need not be
    `whole`, letter by letter in its order.
    """
    costs = [_cost(word, text.casefold(), whole) for word in wanted.casefold().split()]
    found = [cost for cost in costs if cost is not None]
    return sum(found) if len(found) == len(costs) else None


def _cost(word: str, text: str, whole: bool) -> float | None:
    begins = re.search(rf"\b{re.escape(word)}", text)
    if begins:
        return 0.01 * begins.start()
    if word in text:
        return _INNER + 0.01 * text.index(word)
    if whole:
        return None
    first = at = text.find(word[0])
    for letter in word[1:]:
        at = text.find(letter, at + 1) if at >= 0 else at
    if at < 0:
        return None
    return 2.0 * _INNER + _GAP * (at - first)


def seconds(text: str) -> float | None:
    """Return the seconds in ``12.5``, ``12.5 s``, ``800 ms``, ``2:03.5`` or ``1:02:03``; None in others."""
    text = text.strip().casefold()
    number = _NUMBER.fullmatch(text)
    if number:
        return float(number["number"].replace(",", ".")) * _SECONDS[number["unit"] or "s"]
    clock = _CLOCK.fullmatch(text)
    if clock is None:
        return None
    whole = 3600.0 * int(clock["hours"] or 0) + 60.0 * int(clock["minutes"])
    return whole + float(clock["seconds"].replace(",", "."))


def has_unit(text: str) -> bool:
    """Whether a text that says `seconds` can mean nothing else."""
    return seconds(text) is not None and not text.strip().replace(",", "").replace(".", "").isdecimal()
