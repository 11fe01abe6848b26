"""Numbers, counts, durations, bytes and instants as text; an invalid value is a dash."""

from __future__ import annotations

import math
from datetime import datetime

DASH = "—"


def number(value: float, width: int, decimals: int) -> str:
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
