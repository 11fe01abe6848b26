"""Filters and order of rows: ``KEY OP VALUE``, read by one regular expression and never evaluated."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from monitor.messages.recordings import KEYS, TEXTS, RunRow

_FORM = re.compile(r"\s*(\w+)\s*(<=|>=|==|!=|=|<|>|~)\s*(.*?)\s*", re.DOTALL)
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
}
_TEXT_COMPARISONS = ("=", "==", "!=")


@dataclass(frozen=True, slots=True)
class Filter:
    """Condition on one value of a row; a value that is unknown fulfils none but ``!=``.

    Parameters
    ----------
    key : of the value.
    comparison : one of ``< <= > >= = !=``, and ``~`` of texts: contains, in upper or lower case.
    value : what it is compared with.
    """

    key: str
    comparison: str
    value: str | float

    def holds(self, row: RunRow) -> bool:
        """Whether the row fulfils the condition."""
        found = getattr(row, self.key)
        if found is None:
            return self.comparison == "!="
        if self.comparison == "~":
            return str(self.value).casefold() in found.casefold()
        return _COMPARISONS[self.comparison](found, self.value)


def read_filter(text: str) -> Filter:
    """Return the condition in a text such as ``worst_delay_ms>30``.

    Raises
    ------
    ValueError : it is not a condition; the line lists what there is.
    """
    form = _FORM.fullmatch(text)
    if form is None:
        raise ValueError(f"{text!r} is no condition: KEY OP VALUE with OP of < <= > >= = != ~; {_keys()}")
    key, comparison, value = form.groups()
    check_key(key)
    if key in TEXTS:
        if comparison not in (*_TEXT_COMPARISONS, "~"):
            after = "; --since and --until select by the start" if key == "start" else ""
            raise ValueError(f"{text!r}: {key} is a text, compared by = != or ~ (contains){after}")
        return Filter(key, comparison, value)
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if math.isnan(number) or comparison == "~":
        raise ValueError(f"{text!r}: {key} is a number, compared with a number by < <= > >= = !=")
    return Filter(key, comparison, number)


def check_key(key: str) -> None:
    """Raise ValueError unless rows have such a key."""
    if key not in KEYS:
        raise ValueError(f"{key!r} is no key; {_keys()}")


def _keys() -> str:
    return f"keys: {', '.join(KEYS)}"


def ordered(rows: Iterable[RunRow], key: str, *, reverse: bool = False) -> list[RunRow]:
    """Return the rows by a key; unknown values are last, and delays are ordered by their distance from zero.

    Raises
    ------
    ValueError : there is no such key.
    """
    check_key(key)

    def value(row: RunRow) -> Any:
        found = getattr(row, key)
        if key == "start":
            return instant(found)
        return abs(found) if key == "worst_delay_ms" else found.casefold() if isinstance(found, str) else found

    known = [row for row in rows if getattr(row, key) is not None]
    unknown = [row for row in rows if getattr(row, key) is None]
    return [*sorted(known, key=value, reverse=reverse), *unknown]


def instant(text: str, *, end: bool = False) -> datetime:
    """Return the instant of an ISO 8601 text, local time where it names no zone.

    Parameters
    ----------
    end : of a day without a time, its end.

    Raises
    ------
    ValueError : it is not a date.
    """
    try:
        day = date.fromisoformat(text)
    except ValueError:
        day = None
    try:
        found = datetime.fromisoformat(text)
        if day is not None and end:
            found += timedelta(days=1)
        return found.astimezone()
    except (ValueError, OverflowError, OSError) as problem:
        raise ValueError(f"{text!r} is no date: write 2026-11-24 or 2026-11-24T14:30") from problem


def selected(
    rows: Iterable[RunRow], filters: Sequence[Filter], since: datetime | None, until: datetime | None
) -> list[RunRow]:
    """Return the rows that fulfil all conditions and start from `since` on and before `until`."""

    def within(row: RunRow) -> bool:
        if since is None and until is None:
            return True
        if row.start is None:
            return False
        start = instant(row.start)
        return (since is None or start >= since) and (until is None or start < until)

    return [row for row in rows if within(row) and all(each.holds(row) for each in filters)]
