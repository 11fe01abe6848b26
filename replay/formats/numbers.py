"""Numbers as programs write them: separators of thousands, exponents of Fortran, other signs, words for no value."""

from __future__ import annotations

import re
from math import isfinite, nan

from replay.formats.columns import words

MISSING = words(
    "nan -nan +nan na n/a n.a. #n/a #n/v null none nil - -- --- * 1.#qnan -1.#qnan 1.#qnan0 1.#ind -1.#ind -1.#ind00 "
    "nan(ind) -nan(ind) nan(snan) -nan(snan) 1.#inf -1.#inf 1.#inf00 -1.#inf00 inf -inf +inf infinity -infinity "
    "overload overld ovld ovl ol +ol -ol overflow underflow overrange underrange err error invalid nodata missing "
    "#value! #div/0! #num! #ref! #wert!"
) | {""}
"""Words for no value, in lower case."""
_SPACES = "   "
_MINUS = str.maketrans("−–", "--")
_FORTRAN = re.compile(r"([-+]?\d*\.?\d+|[-+]?\d+\.)[dDqQ]([-+]?\d+)")
_GROUPED = {
    mark: re.compile(
        rf"[-+]?[1-9]\d{{0,2}}(?P<by>[{others}])\d{{3}}(?:(?P=by)\d{{3}})*(?:{re.escape(mark)}\d*)?(?:[eE][-+]?\d+)?"
    )
    for mark, others in ((".", ",'’" + _SPACES), (",", ".'’" + _SPACES))
}


_SWITCH = {"true": 1.0, "false": 0.0}


def number(cell: str, decimal: str) -> float:
    """Return the number in a cell, NaN for a missing one.

    Raises
    ------
    ValueError : it is a text, or a number with another decimal mark.
    """
    if "_" not in cell and (decimal == "." or "." not in cell):
        try:
            value = float(cell if decimal == "." else cell.replace(",", "."))
            return value if isfinite(value) else nan
        except ValueError:
            pass
    word = cell.lower()
    if word in MISSING:
        return nan
    if word in _SWITCH:
        return _SWITCH[word]
    plain = mended(cell, decimal)
    if plain is None:
        raise ValueError(cell)
    return float(plain)


def mended(cell: str, decimal: str) -> str | None:
    """Return a number in unusual spelling as Python writes it; None where it is none."""
    text = cell.translate(_MINUS)
    grouped = _GROUPED[decimal].fullmatch(text)
    if grouped is not None:
        text = text.replace(grouped["by"], "")
    elif decimal == "," and "." in text:
        return None
    text = text.replace(",", ".") if decimal == "," else text
    fortran = _FORTRAN.fullmatch(text)
    text = f"{fortran[1]}e{fortran[2]}" if fortran else text
    try:
        float(text)
    except ValueError:
        return None
    return None if "_" in text else text


def is_grouped(cell: str, decimal: str) -> bool:
    """Whether a number has separators of thousands."""
    return _GROUPED[decimal].fullmatch(cell) is not None


def mend_text(text: str, delimiter: str, decimal: str) -> str:
    """Return a table with its numbers as `mended` gives each; those in quotes, with the delimiter in them, stay."""
    text = re.sub(r"(?<=[\d.])[dDqQ](?=[-+]?\d)", "e", text.translate(_MINUS))
    for by in (",.'’" + _SPACES).replace(decimal, "").replace(delimiter, ""):
        if by in text:
            mark = re.escape(by)
            pattern = rf"(?<![\w:{mark}{re.escape(decimal)}])[1-9]\d{{0,2}}(?:{mark}\d{{3}})+(?![\d{mark}])"
            text = re.sub(pattern, lambda match, by=by: match[0].replace(by, ""), text)  # type: ignore[misc]
    return text
