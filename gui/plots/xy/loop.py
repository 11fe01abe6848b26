"""Loops: the ellipse of a tone in the synchronization subspace plot, and the energy of a hysteresis cycle."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite, nan, pi

import numpy as np

from monitor.messages.blocks import Samples, same_unit

_MIN_TONE_SAMPLES = 8  # samples that a tone is fitted to


@dataclass(frozen=True, slots=True)
class Ellipse:
    """Measured against command of one tone: ``A cos(t)`` against ``A / ratio cos(t + phase)`` about a centre.

    Parameters
    ----------
    command_centre, measured_centre : in the unit of each signal.
    amplitude : of the command, in its unit.
    ratio : command over measured amplitude.
    phase : rad, > 0 where measured leads.
    """

    command_centre: float
    measured_centre: float
    amplitude: float
    ratio: float
    phase: float

    def points(self, n_points: int = 181) -> tuple[Samples, Samples]:
        """Return command and measured, (n_points,) each, once around; the last point is the first."""
        turn = np.linspace(0.0, 2.0 * pi, n_points)
        command = self.command_centre + self.amplitude * np.cos(turn)
        return command, self.measured_centre + self.amplitude / self.ratio * np.cos(turn + self.phase)


def frequency_of(phase: float, delay: float, otherwise: float = nan) -> float:
    """Return the frequency [Hz] that turns a phase [rad] into a delay [s]; `otherwise` where both are nothing."""
    return -phase / (2.0 * pi * delay) if isfinite(delay) and delay != 0.0 else otherwise


def ellipse_of(
    time: Samples, command: Samples, measured: Samples, frequency: float, ratio: float, phase: float
) -> Ellipse | None:
    """Return the ellipse of a window's tone.

    Centres and amplitude are those of the sine and the offset that are closest to the samples (least squares), so
    that the window need not hold whole cycles.

    Parameters
    ----------
    time : (n_samples,), s.
    command, measured : (n_samples,); samples with a NaN in either are left out.
    frequency : of the tone, Hz.
    ratio, phase : as in `Ellipse`.

    Returns
    -------
    ellipse : None where the tone is none, or there are too few samples to tell.
    """
    if not (0.0 < frequency < inf and 0.0 < ratio < inf and isfinite(phase)):
        return None
    good = np.isfinite(command) & np.isfinite(measured)
    if np.count_nonzero(good) < _MIN_TONE_SAMPLES:
        return None
    x, both = time[good], np.stack([command[good], measured[good]], axis=1)
    # about the window's own origin: large times and large offsets cost no digits
    turn = 2.0 * pi * frequency * (x - x[0])
    origin = both.mean(axis=0)
    waves = np.stack([np.ones_like(turn), np.cos(turn), np.sin(turn)], axis=1)
    fitted = np.linalg.lstsq(waves, both - origin)[0]
    centre = origin + fitted[0]
    amplitude = float(np.hypot(fitted[1, 0], fitted[2, 0]))
    return Ellipse(float(centre[0]), float(centre[1]), amplitude, ratio, phase)


_MIN_CYCLE_SAMPLES = 12  # samples of a turn
_ROUNDING = 1e-9  # of the box around a loop: an area that small is made of rounding
_WORK = (("m", "N", "J"), ("m", "kN", "kJ"), ("mm", "kN", "J"), ("mm", "N", "mJ"))


def loop_energy(displacement: Samples, force: Samples, sample_rate: float, frequency: float) -> float:
    """Return the area of the last turn, in the product of the units: > 0 where the loop takes energy up.

    The turn is closed by a straight line from its newest point to its oldest, so that what a spring stores does not
    count. NaN where the samples, (n_samples,) each, do not hold a turn of `frequency` [Hz] without a gap.
    """
    if not 0.0 < frequency < inf:
        return nan
    turn = sample_rate / frequency
    if not turn < len(displacement) + 1:
        return nan
    n_turn = round(turn)
    if not _MIN_CYCLE_SAMPLES <= n_turn <= len(displacement):
        return nan
    x, f = displacement[-n_turn:], force[-n_turn:]
    # about a point of the loop: an offset costs no digits
    x, f = x - x[0], f - f[0]
    area = float(np.sum((f + np.roll(f, -1)) * (np.roll(x, -1) - x)) / 2.0)
    return 0.0 if abs(area) <= _ROUNDING * float(np.ptp(x) * np.ptp(f)) else area


def work_unit(displacement: str, force: str) -> str:
    """Return the unit of a force's work."""
    for one, other, work in _WORK:
        if displacement and force and same_unit(displacement, one) and same_unit(force, other):
            return work
    return f"{force}·{displacement}".strip("·")
