"""Numbers, counts, durations, bytes and instants as text: the one home of all that is told; no value is a dash."""

from __future__ import annotations

import math
import re
from datetime import datetime

DASH = "—"


def number(value: float | None, form: str = ".4g", unit: str = "", *, rounding: float = 0.0) -> str:
    """Return a value in a format of Python's, with its unit; a dash alone for None, NaN and infinity.

    Zero has no sign, and neither has what is formatted as zero. What is smaller than `rounding` is zero.
    """
    if value is None or not math.isfinite(value):
        return DASH
    text = f"{value if abs(value) > rounding else 0.0:{form}}"
    if "-" in text and not float(text):
        text = text.replace("-", "+" if form.startswith("+") else "")
    return f"{text} {unit}".rstrip()


def percent(share: float | None, digits: int = 2) -> str:
    """Return a share as ``12 %``, with so many digits, and all of those before the point; a dash for no value."""
    if share is None or not math.isfinite(share):
        return DASH
    is_long = abs(100.0 * share) >= 10.0**digits - 0.5
    return number(100.0 * share, ".0f" if is_long else f".{digits}g", "%")


def plus_minus(value: float, sd: float, *, digits: int = 1, most: int = 3) -> str:
    """Return ``12.0 ± 0.1``, with as many decimals as the standard deviation allows; a dash for no value.

    Parameters
    ----------
    digits : of the standard deviation; with one, two where the first of them is a one.
    most : decimals, at most.
    """
    if not math.isfinite(value):
        return DASH
    if not math.isfinite(sd):
        return number(value, ".4g" if digits == 1 else ".5g")
    # less is rounding
    if sd <= 0.0 or (digits > 1 and sd < 1e-9 * max(1.0, abs(value))):
        decimals = most
    else:
        decimals = -math.floor(math.log10(0.5 * sd)) if digits == 1 else digits - 1 - math.floor(math.log10(sd))
    decimals = min(max(decimals, 0), most)
    least = 10.0**-decimals
    shown = f"{sd:.{decimals}f}" if sd >= 0.5 * least else f"<{least:.{decimals}f}"
    return f"{number(value, f'.{decimals}f')} ± {shown}"


def fitted(value: float, width: int, decimals: int) -> str:
    """Return `value` in at most `width` characters, with fewer decimals where there is no room."""
    if not math.isfinite(value):
        return DASH
    for places in range(decimals, -1, -1):
        # plus zero, so that it is never "-0.0"
        text = f"{round(value, places) + 0.0:.{places}f}"
        if len(text) <= width:
            return text
    return ("<-" if value < 0.0 else ">") + "9" * (width - 1 - (value < 0.0))


def count(value: int) -> str:
    """Return a count with thousands separators."""
    return f"{value:,}"


def shortened(text: str, width: int) -> str:
    """Return `text`, or an ellipsis and its end where it is longer than `width`."""
    return text if len(text) <= width else "…" + text[len(text) - max(0, width - 1) :]


_UNITS = ("B", "kB", "MB", "GB", "TB")


def duration_text(seconds: float) -> str:
    """Return ``45 s``, ``12 min``, ``3 h 20 min`` or ``5 days``; rounded down."""
    whole = int(max(0.0, seconds))
    if whole < 60:
        return f"{whole} s"
    minutes = whole // 60
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    return f"{hours // 24:,} days"


_LENGTHS = {"": 1.0, "ms": 1e-3, "s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_TYPED = re.compile(r"\s*([0-9]*\.?[0-9]+(?:e[0-9]+)?)\s*([a-z]*)\s*", re.IGNORECASE)


def parse_duration(text: str) -> float:
    """Return s of a length as it is typed: ``90``, ``90s``, ``1.5 min``, ``2h``.

    Raises
    ------
    ValueError : it is none, or not positive.
    """
    typed = _TYPED.fullmatch(text)
    factor = _LENGTHS.get(typed[2].lower()) if typed else None
    if typed is None or factor is None or not 0.0 < float(typed[1]) * factor < math.inf:
        raise ValueError(f"{text!r} is no duration: give seconds, or such as 90s, 5min, 2h")
    return float(typed[1]) * factor


def clock_text(seconds: float) -> str:
    """Return a length as ``12.3 s``, ``4:05`` or ``2:14:05``."""
    if round(seconds, 1) < 60.0:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def bytes_text(amount: int) -> str:
    """Return ``1.2 GB``: two or three digits, in powers of 1000."""
    value = float(max(0, amount))
    for unit in _UNITS:
        # 999.5 would be rounded to 1000
        if value < 999.5 or unit == _UNITS[-1]:
            return f"{value:.1f} {unit}" if value < 9.95 and unit != "B" else f"{value:,.0f} {unit}"
        value /= 1000.0
    raise AssertionError


def is_dated(time: float) -> bool:
    """Whether a time of a rig is since 1970 (from 1973 to 5138), and not since its own start."""
    return 1e8 <= time < 1e11


def instant_text(time: float, decimals: int | None = None) -> str:
    """Return ``14:03:22`` in local time, or ``12.5 s``; a dash if it is not finite.

    Parameters
    ----------
    time : s, of the rig.
    decimals : of the seconds, up to 6; by default none in a time of day, and as many as there are in seconds.
    """
    if not math.isfinite(time):
        return DASH
    if not is_dated(time):
        # plus zero, so that it is never "-0.00"
        return f"{time:.7g} s" if decimals is None else f"{round(time, decimals) + 0.0:.{decimals}f} s"
    # rounded down, as clocks do
    when = datetime.fromtimestamp(time)
    return f"{when:%H:%M:%S}" + (f".{when.microsecond:06d}"[: decimals + 1] if decimals else "")
