"""The unit of times that have none in their file: known by their size and steps, where only one can be meant."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from monitor.messages.blocks import Samples

_SINCE_1970 = (("ms", 1e12), ("us", 1e15), ("ns", 1e18))  # the least of each: 2001, until 2286
_SERIAL_DAYS = (20_000.0, 80_000.0, "days since 1900, as of Excel")  # 1954 to 2119
_DATENUM = (700_000.0, 800_000.0, "days of MATLAB's datenum")  # 1916 to 2190
_HERTZ_IN_DAYS = 80_000.0  # as s: 1 Hz in days
_TICKS = (("ns", 5e4, 1e9), ("us", 1e3, 5e4))  # whole steps: of ns up to 20 kHz, of us from 20 Hz


@dataclass(frozen=True)
class TimeUnit:
    """A unit, empty for s, and what is said of it where the file does not."""

    unit: str = ""
    note: str = ""


def unit_of_times(times: Samples) -> TimeUnit:
    """Return the unit of times, (n,), as they are written.

    Since 1970 in ms or less they are too large for any other beginning; in days since 1900, or of MATLAB, they would
    be a rate in s that no test has; ticks of ns or us are whole numbers with long steps.
    """
    size = float(np.median(np.abs(times)))
    for unit, least in _SINCE_1970:
        if least <= size < 10.0 * least:
            return TimeUnit(unit, f"{unit} since 1970")
    step = float(np.median(np.abs(np.diff(times)))) if len(times) > 1 else 0.0
    for least, most, name in (_SERIAL_DAYS, _DATENUM):
        if least < size < most and 0.0 < step * _HERTZ_IN_DAYS < 1.0:
            return TimeUnit("days", f"{name}: {step * 86400.0:.6g} s a step; --rate HZ takes them as evenly spaced")
    if step >= _TICKS[-1][1] and np.array_equal(times, np.round(times)):
        for unit, least, most in _TICKS:
            if least <= step < most:
                return TimeUnit(unit, f"{unit}, by steps of {step:.6g}; --rate HZ takes them as evenly spaced")
    return TimeUnit()
