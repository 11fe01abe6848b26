"""An actuator's tracking in one or two words and a shape."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gui.wording.level import Level

IN_STEP = 0.001
"""s of delay, up or down, that are taken for none."""
RIGHT_SIZE = 0.03
"""Deviation of the amplitude ratio from 1 that is taken for none."""
FAR_BEHIND = math.radians(10.0)
"""Phase [rad] from which a lag is shown as grave: a sixth of the spring force then drives the motion."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Words and a shape say everything; the level only makes them quicker to find."""

    words: str
    shape: str
    level: Level


NO_VALUE = Verdict("no value", "■", Level.NONE)


def verdict(delay: float, ratio: float, phase: float) -> Verdict:
    """Judge a delay [s], a command/measured ratio and a phase [rad]; these are words for the eye, not alarms."""
    if not (math.isfinite(delay) and math.isfinite(ratio)):
        return NO_VALUE
    size = amplitude_word(ratio)
    if abs(delay) <= IN_STEP:
        return Verdict(size, "◆", Level.WARN) if size else Verdict("within limits", "●", Level.GOOD)
    also = f", {size.removesuffix('shoots')}" if size else ""
    if delay < 0.0:
        return Verdict(f"leads{also}", "▼", Level.INFO)
    return Verdict(f"lags{also}", "▲", Level.BAD if abs(phase) > FAR_BEHIND else Level.WARN)


def amplitude_word(ratio: float) -> str:
    """Return undershoots or overshoots for a command/measured ratio; empty where it is neither."""
    if ratio > 1.0 + RIGHT_SIZE:
        return "undershoots"
    return "overshoots" if ratio < 1.0 - RIGHT_SIZE else ""
