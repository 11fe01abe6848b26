"""HSEM from stored signals, as defined; and specimens whose work is known in closed form."""

from __future__ import annotations

import numpy as np

from tests.oracles.swept_area import averages, sine_of_step


def work(force, x):
    """Return the work of a force along a displacement, (n,), from the first sample on."""
    return np.concatenate([[0.0], np.cumsum(0.5 * (force[1:] + force[:-1]) * np.diff(x))])


def energy_error(x_c, x_m, force):
    """Return the energy between the force's loops against measured and command, over the whole of the signals."""
    return np.trapezoid(force, x_m) - np.trapezoid(force, x_c)


def normalized(x_c, x_m, force):
    """Return (n,): the energy error so far over the span so far of the work along the command."""
    along = work(force, x_c)
    span = np.maximum.accumulate(along) - np.minimum.accumulate(along)
    with np.errstate(invalid="ignore"):
        return (work(force, x_m) - along) / span


def added_damping(x_c, x_m, force):
    """Return minus the energy error of a cycle over 4 pi times the strain energy of the command, of a window."""
    per_radian = averages(force, x_m - x_c)[0] / sine_of_step(x_c)
    _, common, _, measured = averages(force, x_m)
    strain_energy = common / measured * averages(x_c, x_c)[1]
    return -2.0 * np.pi * per_radian / (4.0 * np.pi * strain_energy)


def elastic_damping(tones):
    """Return what a tone adds to the damping of a structure that is this spring."""
    return 0.5 * tones.gain * np.sin(tones.phase)


def elastic_error(tones, stiffness):
    """Return the energy error of a cycle with a spring: a lag makes it positive."""
    return -np.pi * stiffness * tones.gain * tones.amplitude**2 * np.sin(tones.phase)


def viscous_error(tones, damping):
    """Return the energy error of a cycle with a damper: its work along the measured less the commanded motion."""
    excess = tones.gain - np.cos(tones.phase)
    return np.pi * damping * 2.0 * np.pi * tones.frequency * tones.gain * tones.amplitude**2 * excess
