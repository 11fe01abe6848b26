"""Cells of text tables, as programs write them: numbers in their spellings, dates and times in all orders."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from math import isfinite, nan

import numpy as np
from numpy.typing import NDArray

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


_ZONE = r" ?(?P<zone>Z|UTC|[+-](?:0\d|1[0-4])(?::?[0-5]\d)?)?"
_ISO_8601 = re.compile(
    r"(?:(?P<day>\d{4}-\d\d-\d\d)[T ](?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)"
    # the basic format, without separators
    r"|(?P<day_>\d{8})T(?P<hour_>\d\d)(?P<minute_>\d\d)(?P<second_>\d\d))(?:[.,](?P<fraction>\d{1,12}))?" + _ZONE
)
_DATE = r"(?P<a>\d{1,4})(?P<by>[/.-]| (?=[A-Za-z]))(?P<b>\d{1,2}|[A-Za-z]{3,9}\.?)(?P=by)(?P<c>\d{1,4})"
_TIME = (
    r"(?P<hour>\d{1,3}):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,:](?P<fraction>\d{1,12}))?)?"
    r"(?: ?(?P<half>[AaPp])\.?[Mm]\.?)?"
)
_OTHER = re.compile(rf"(?:(?P<days>\d{{1,4}}) days?(?= )|{_DATE})?(?P<between>[T ,;]*)(?:{_TIME}{_ZONE})?")
_MINUTES = re.compile(r"(?P<minute>\d{1,3}):(?P<second>\d\d)[.,](?P<fraction>\d{1,12})")
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_MONTHS += ["jan", "feb", "mär", "apr", "mai", "jun", "jul", "aug", "sep", "okt", "nov", "dez"]
_DAY = 86400
_EPOCH = date(1970, 1, 1).toordinal()
_FARTHEST_DAY = 106_750  # from 1970, that 64 bits of ns reach: 1677 to 2262
_WORDS = {"ymd": "year, month, day", "mdy": "month, day, year", "dmy": "day, month, year"}


@dataclass(frozen=True)
class DateForm:
    """How a column of dates, of times of day, or of both is written.

    Parameters
    ----------
    order : ``iso``, or of year, month and day, such as ``mdy``; empty for times of day alone.
    has_time : whether there is a time of day.
    note : how the order was found, for the user; empty where it is beyond doubt.
    """

    order: str = "iso"
    has_time: bool = True
    note: str = ""

    def seconds(self, text: str, first_day: int = 0) -> float:
        """Return the s since the beginning of a day, in days since 1970; in UTC, where there is no zone too.

        Raises
        ------
        ValueError : it is no such text.
        """
        day, seconds, fraction = self.parse(text)
        return (day - first_day) * _DAY + seconds + fraction if self.order else seconds + fraction

    def parse(self, text: str) -> tuple[int, int, float]:
        """Return the day since 1970, the whole s in UTC since its beginning, and the fraction of a second."""
        if self.order == "iso":
            return _parse_iso(text)
        found = _MINUTES.fullmatch(text) if not self.order else None
        if found is not None:
            return 0, 60 * int(found["minute"]) + int(found["second"]), float(f"0.{found['fraction']}")
        found = _OTHER.fullmatch(text)
        if found is None or (found["a"] is None) == bool(self.order) or (found["hour"] is None) == self.has_time:
            raise ValueError(text)
        day = _day(found, self.order) if self.order else 0
        if not self.has_time:
            return day, 0, 0.0
        hour, minute, second = int(found["hour"]), int(found["minute"]), int(found["second"] or 0)
        if found["half"] and not 1 <= hour <= 12:
            raise ValueError(text)
        if found["half"]:
            hour = hour % 12 + (12 if found["half"] in "Pp" else 0)
        if (self.order and hour > 23) or minute > 59 or second > 60:
            raise ValueError(text)
        if not (self.order or found["second"] or found["half"]):
            raise ValueError(text)
        seconds = hour * 3600 + minute * 60 + second - _offset(found["zone"]) + _DAY * int(found["days"] or 0)
        return day, seconds, float(f"0.{found['fraction'] or 0}")


def find_form(texts: Sequence[str]) -> DateForm | None:
    """Return the form of a column of texts, all of one form; None where they are others."""
    if not texts or not texts[0][:1].isdigit():
        return None
    if is_instant_like(texts[0]):
        return DateForm() if _all_parse(texts, DateForm()) else None
    if _all_parse(texts, DateForm("")):
        return DateForm("")
    found = [_OTHER.fullmatch(text) for text in texts]
    dates = [each for each in found if each is not None and each["a"] is not None]
    if len(dates) < len(texts):
        return None
    has_time = dates[0]["hour"] is not None
    order, note = _order(dates)
    form = DateForm(order, has_time, note)
    return form if _all_parse(texts, form) else None


def _all_parse(texts: Sequence[str], form: DateForm) -> bool:
    try:
        for text in texts:
            form.parse(text)
    except ValueError:
        return False
    return True


def _order(dates: Sequence[re.Match[str]]) -> tuple[str, str]:
    """Return the order of year, month and day in dates of one column, and a note on how it was found."""
    if all(len(each["a"]) > 2 for each in dates):
        return "ymd", ""
    if not all(each["b"].isdecimal() for each in dates):
        return "dmy", ""
    parts = sorted({(int(each["a"]), int(each["b"])) for each in dates})
    example = dates[0][0].split(" ")[0]
    if any(first > 31 for first, _ in parts):
        return "ymd", ""
    if any(first > 12 for first, _ in parts):
        return "dmy", ""
    if any(second > 12 for _, second in parts):
        return "mdy", ""
    if dates[0]["by"] == ".":
        return "dmy", f"{example} is taken as {_WORDS['dmy']}, as dates with points are"
    # within a day the order makes no difference to the times; over several, that of days one after the other
    first, second = ({each[k] for each in parts} for k in (0, 1))
    order = "dmy" if len(first) > len(second) else "mdy"
    return order, f"{example} is taken as {_WORDS[order]}"


def _day(found: re.Match[str], order: str) -> int:
    parts = dict(zip(order, (found["a"], found["b"], found["c"]), strict=True))
    year, text = int(parts["y"]), parts["m"].lower()[:3]
    if len(parts["y"]) == 3 or len(parts["d"]) > 2 or (len(parts["m"]) > 2 and parts["m"].isdecimal()):
        raise ValueError(found[0])
    month = int(text) if text.isdecimal() else _MONTHS.index(text) % 12 + 1
    year += 0 if len(parts["y"]) > 2 else 2000 if year < 70 else 1900
    return date(year, month, int(parts["d"])).toordinal() - _EPOCH


def _parse_iso(text: str) -> tuple[int, int, float]:
    found = _ISO_8601.fullmatch(text)
    if found is None:
        raise ValueError(text)
    day = date.fromisoformat(found["day"] or found["day_"]).toordinal() - _EPOCH
    hour, minute, second = (int(found[name] or found[f"{name}_"]) for name in ("hour", "minute", "second"))
    if hour > 23 or minute > 59 or second > 60:
        raise ValueError(text)
    seconds = hour * 3600 + minute * 60 + second - _offset(found["zone"])
    return day, seconds, float(f"0.{found['fraction'] or 0}")


def _offset(zone: str | None) -> int:
    """Return the s by which a zone is ahead of UTC."""
    if not zone or zone[0] not in "+-":
        return 0
    return int(zone[:3]) * 3600 + int(zone[0] + (zone[3:].lstrip(":") or "0")) * 60


def is_instant_like(text: str) -> bool:
    """Whether a text has the form of an ISO 8601 date and time, also of a day that does not exist."""
    return _ISO_8601.fullmatch(text) is not None


def has_zone(text: str) -> bool:
    """Whether a text is a date and time with its zone."""
    found = _ISO_8601.fullmatch(text) or _OTHER.fullmatch(text)
    return found is not None and found["zone"] is not None


def parse_instants(texts: Sequence[str], form: DateForm | None = None) -> NDArray[np.datetime64] | None:
    """Return dates and times as (n,) datetime64[ns], in UTC; times of day alone as those of 1970-01-01.

    Parameters
    ----------
    texts : of a column.
    form : how they are written; None: as `find_form` says.

    None where one of them is another text, or outside the years 1678 to 2261, which such numbers hold.
    """
    form = form or find_form(texts)
    if form is None:
        return None
    try:
        parsed = [form.parse(text) for text in texts]
    except ValueError:
        return None
    days = np.array([day for day, _, _ in parsed], dtype=np.int64)
    if np.any(np.abs(days) > _FARTHEST_DAY):
        return None
    # of a day a float resolves 0.01 ns
    since = np.array([seconds + fraction for _, seconds, fraction in parsed], dtype=np.float64)
    nanoseconds = np.round(since * 1e9).astype(np.int64)
    midnights: NDArray[np.datetime64] = days.astype("datetime64[D]").astype("datetime64[ns]")
    found: NDArray[np.datetime64] = midnights + nanoseconds.astype("timedelta64[ns]")
    return found
