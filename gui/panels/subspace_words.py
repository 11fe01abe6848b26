"""What the synchronization subspace plot says in words: PAEI with its uncertainty, or why there is none."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gui.model.history.results import ResultHistory
from gui.model.verdict import IN_STEP, amplitude_word
from gui.plots.ticks import deviation_text, value_text
from gui.plots.xy.loop import frequency_of
from gui.wording.numbers import DASH

_STILL = 0.02  # a command that moves by less than this part of what it has done stands still


@dataclass(frozen=True, slots=True)
class Tracking:
    """PAEI of one instant, NaN where it means nothing: rad, s, command over measured, Hz."""

    phase: float
    phase_sd: float
    delay: float
    delay_sd: float
    ratio: float
    ratio_sd: float
    ratio_unit: str
    frequency: float

    @property
    def valid(self) -> bool:
        """There is an ellipse."""
        return math.isfinite(self.ratio) and math.isfinite(self.phase)


def tracking_at(results: ResultHistory, actuator: str, x: float | None) -> Tracking | None:
    """Return what PAEI says at `x`, by default the newest; None where it is not computed."""
    column = results.column(actuator, "paei_ratio")
    if column is None:
        return None
    phase, phase_sd, delay, delay_sd, ratio, ratio_sd = (
        results.value(actuator, f"paei_{name}", x)
        for name in ("phase", "phase_sd", "delay", "delay_sd", "ratio", "ratio_sd")
    )
    # without any lag, its phase and delay do not tell the frequency
    frequency = frequency_of(phase, delay, results.value(actuator, "fdb_frequency", x))
    unit = results.columns[column].unit
    return Tracking(phase, phase_sd, delay, delay_sd, ratio, ratio_sd, "" if unit == "1" else unit, frequency)


def tracking_lines(tracking: Tracking) -> str:
    """Return phase, delay and ratio, a line each, and which way the loop is walked; lines are short."""
    in_step = abs(tracking.delay) <= IN_STEP
    lags = tracking.phase < 0.0
    # seen with the command to the right and the measured signal upward
    way = "measured lags\n↺ counter-clockwise" if lags else "measured leads\n↻ clockwise"
    # a ratio of two units is neither large nor small
    size = "" if tracking.ratio_unit else amplitude_word(tracking.ratio)
    lines = (
        _line("phase", math.degrees(tracking.phase), math.degrees(tracking.phase_sd), 2, "°"),
        _line("delay", 1e3 * tracking.delay, 1e3 * tracking.delay_sd, 2, "ms"),
        _line("ratio", tracking.ratio, tracking.ratio_sd, 3, tracking.ratio_unit),
        "within limits" if in_step else way,
        size,
    )
    return "\n".join(line for line in lines if line)


def why_no_ellipse(
    tracking: Tracking | None, good: NDArray[np.bool_], sample_rate: float, window: float, moves: float
) -> str:
    """Return why PAEI has no ellipse at an instant, as far as the samples tell.

    Parameters
    ----------
    tracking : at the instant; None where PAEI is not computed.
    good : (n_samples,), which samples of the window that ends there are numbers.
    sample_rate : Hz.
    window : s.
    moves : how far the command moves in the window, over the most that it did in any.
    """
    if tracking is None:
        return "no ellipse:\nPAEI is not computed"
    n_window = round(window * sample_rate)
    if not good.all() or len(good) < n_window:
        since = int(np.argmin(good[::-1])) if not good.all() else len(good)
        return f"no ellipse:\nwindow not full, {since / sample_rate:.2f} of {window:g} s without a gap"
    if not moves > _STILL:
        return "no ellipse:\nthe command stands still"
    return "no ellipse:\nno value, the command is too small or the motion no tone"


def _line(name: str, value: float, deviation: float, decimals: int, unit: str) -> str:
    shown = value_text(value, decimals)
    if shown == DASH:
        return f"{name} {shown:>8}"
    return f"{name} {shown:>8}{deviation_text(deviation, decimals)} {unit}".rstrip()
