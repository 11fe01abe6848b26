"""An actuator's tracking in one or two words."""

from __future__ import annotations

import math

IN_STEP = 0.001
"""s of delay, up or down, that are taken for none."""
RIGHT_SIZE = 0.03
"""Deviation of the amplitude ratio from 1 that is taken for none."""
FAR_BEHIND = math.radians(10.0)
"""Phase [rad] from which a lag is shown as grave: a sixth of the spring force then drives the motion."""

NO_VALUE = "no value", "dim"


def verdict(delay: float, ratio: float, phase: float) -> tuple[str, str]:
    """Return words and a rich style for a delay [s], a command/measured ratio and a phase [rad].

    The words say everything; the style only makes them quicker to find. These are words for the eye, not alarms.
    """
    if not (math.isfinite(delay) and math.isfinite(ratio)):
        return NO_VALUE
    small, large = ratio > 1.0 + RIGHT_SIZE, ratio < 1.0 - RIGHT_SIZE
    if abs(delay) <= IN_STEP:
        if small:
            return "undershoots", "yellow"
        return ("overshoots", "yellow") if large else ("in step", "green")
    word = "lags" if delay > 0.0 else "leads"
    style = "cyan" if delay < 0.0 else "bold red" if abs(phase) > FAR_BEHIND else "yellow"
    return word + (", under" if small else ", over" if large else ""), style
