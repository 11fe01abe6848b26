"""Specimens whose work is known in closed form."""

from __future__ import annotations

import numpy as np


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
