"""Tracking status of an actuator in one or two words; thresholds; contradictions between indicators."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from gui.wording.level import Level
from monitor.messages.headline import HEADLINE, LABELS
from monitor.messages.reasons import reason_word

DELAY_TOLERANCE = 0.001
"""Magnitude of a delay [s] that is shown as none."""
RATIO_TOLERANCE = 0.03
"""Deviation of the amplitude ratio from 1 that is shown as none."""


@dataclass(frozen=True, slots=True)
class Status:
    """Words and a shape; the level repeats them as a colour."""

    words: str
    shape: str
    level: Level = Level.NONE


NO_VALUE, NO_DELAY, NO_RATIO = (Status(words, "○") for words in ("no value", "no delay", "no ratio"))


def tracking_status(delay: float, ratio: float, reason: float = math.nan) -> Status:
    """Return what a delay [s] and a command/measured ratio are; whether that is bad, limits and alarms decide.

    `reason` is the code why there is no delay; 0 or NaN where that is unknown.
    """
    if math.isnan(delay) and reason > 0.0:
        return Status(reason_word(reason), "○")
    if not (math.isfinite(delay) and math.isfinite(ratio)):
        return NO_RATIO if math.isfinite(delay) else NO_DELAY
    amplitude = amplitude_word(ratio)
    if abs(delay) <= DELAY_TOLERANCE:
        return Status(amplitude, "↓" if ratio > 1.0 else "↑") if amplitude else Status("no lag", "=")
    timing, shape = ("lag", "→") if delay > 0.0 else ("lead", "←")
    return Status(", ".join(filter(None, (timing, amplitude))), shape)


def amplitude_word(ratio: float) -> str:
    """Return undershoot or overshoot for a command/measured ratio; empty where it is neither."""
    if ratio > 1.0 + RATIO_TOLERANCE:
        return "undershoot"
    return "overshoot" if ratio < 1.0 - RATIO_TOLERANCE else ""


MIN_COHERENCE = 0.7
"""Below it, at a frequency, noise or another motion dominates the measured signal."""


CONTRADICTION_SIGN = "≠"
"""Marks values that differ by more than the bands of both."""
_PAEI, _ADAPTIVE = "paei", "paei_adaptive"


def contradiction_mark(prefixes: Sequence[str]) -> str:
    """Return ``≠ FDB, PAEI`` for the indicators that contradict; empty for none."""
    # one PAEI is enough: that with the common window
    shown = [prefix for prefix in prefixes if prefix != _ADAPTIVE or _PAEI not in prefixes]
    return f"{CONTRADICTION_SIGN} {_labels(shown)}" if shown else ""


def contradiction_reason(prefixes: Sequence[str]) -> str:
    """Return why these indicators differ from the headline, and which to believe; empty for none."""
    if not prefixes:
        return ""
    headline = LABELS[HEADLINE]
    return (
        f"{CONTRADICTION_SIGN} {_labels(prefixes)}: differs from the {headline} delay or ratio"
        " by more than the bands of ± 2 sd.\n"
        "Where delay and gain are the same at all frequencies and amplitudes all agree, on any motion: here delay\n"
        "or gain depends on frequency or amplitude, or changes within the window.\n"
        f"Believe the {headline} values, which are those of all frequencies, over their window. Only while a delay\n"
        "changes, or just after, is the adaptive PAEI quicker."
    )


def _labels(prefixes: Sequence[str]) -> str:
    return ", ".join(LABELS[prefix] for prefix in prefixes)
