"""Tracking status of an actuator in one or two words; thresholds; contradictions between indicators."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from gui.wording.level import Level
from monitor.messages.headline import HEADLINE, LABELS, is_right
from monitor.messages.reasons import reason_word

NOT_DETERMINED = "not determined"
"""Of a value that may be right or wrong as far as its band tells."""


@dataclass(frozen=True, slots=True)
class Status:
    """Words and a shape; the level repeats them as a colour."""

    words: str
    shape: str
    level: Level = Level.NONE


NO_VALUE, NO_DELAY, NO_RATIO = (Status(words, "○") for words in ("no value", "no delay", "no ratio"))


def tracking_status(
    delay: float, ratio: float, delay_sd: float = 0.0, ratio_sd: float = 0.0, reason: float = math.nan
) -> Status:
    """Return what a delay [s] and a command/measured ratio are; whether that is bad, limits and alarms decide.

    What the bands leave open is not said; where nothing else is left to say, the status is not determined. `reason`
    is the code why there is no delay; 0 or NaN where that is unknown.
    """
    if math.isnan(delay) and reason > 0.0:
        return Status(reason_word(reason), "○")
    if not (math.isfinite(delay) and math.isfinite(ratio)):
        return NO_RATIO if math.isfinite(delay) else NO_DELAY
    timing, amplitude = timing_word(delay, delay_sd), amplitude_word(ratio, ratio_sd)
    known = [word for word in (timing, amplitude) if word not in ("", NOT_DETERMINED)]
    if not known:
        return Status(NOT_DETERMINED, "○") if timing or amplitude else Status("no lag", "=")
    shape = {"lag": "→", "lead": "←"}.get(timing, "↓" if ratio > 1.0 else "↑")
    return Status(", ".join(known), shape)


_DECISIONS = {
    1.0: Status("accept", "●", Level.GOOD),
    0.0: Status("watch", "▲", Level.WARN),
    -1.0: Status("reject", "■", Level.BAD),
}


def decision_status(code: float) -> Status:
    """Return the status of a model by the code of its decision; NaN before the first."""
    return _DECISIONS.get(code, Status("not decided", "○"))


def timing_word(delay: float, sd: float = 0.0) -> str:
    """Return lag or lead for a delay [s], empty for none; `NOT_DETERMINED` where its band leaves that open."""
    right = is_right("delay", delay, sd)
    return NOT_DETERMINED if right is None else "" if right else "lag" if delay > 0.0 else "lead"


def amplitude_word(ratio: float, sd: float = 0.0) -> str:
    """Return undershoot or overshoot for a command/measured ratio; else as `timing_word`."""
    right = is_right("ratio", ratio, sd)
    return NOT_DETERMINED if right is None else "" if right else "undershoot" if ratio > 1.0 else "overshoot"


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
