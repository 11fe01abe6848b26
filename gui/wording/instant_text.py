"""The time of a rig as a person reads it: of day where its clock counts from 1970, else seconds."""

from __future__ import annotations

import math
from datetime import datetime

from gui.wording.numbers import DASH


def is_dated(time: float) -> bool:
    """Whether the times of a rig count from 1970 (those from 1973 to 5138 do) and not from a start of its own."""
    return 1e8 <= time < 1e11


def instant_text(time: float, decimals: int | None = None) -> str:
    """Return ``14:03:22`` in local time, or ``12.5 s``; a dash for what is no time.

    Parameters
    ----------
    time : s, of the rig.
    decimals : of the seconds, up to 6; by default none in a time of day, and as many as there are in seconds.
    """
    if not math.isfinite(time):
        return DASH
    if not is_dated(time):
        # plus zero: nothing is ever "-0.00"
        return f"{time:.7g} s" if decimals is None else f"{round(time, decimals) + 0.0:.{decimals}f} s"
    # a clock does not round up: its second is over when the next one begins
    when = datetime.fromtimestamp(time)
    return f"{when:%H:%M:%S}" + (f".{when.microsecond:06d}"[: decimals + 1] if decimals else "")
