"""Motions without a dominant tone, delayed exactly."""

from __future__ import annotations

import numpy as np


def motion(rng, n, sample_rate, delay, low=0.3, high=5.0, tones=60):
    """Return command and measured, (n,) each, rms about one: a sum of cosines, and the same at t - delay."""
    frequency, phase = rng.uniform(low, high, tones), rng.uniform(0.0, 2.0 * np.pi, tones)
    amplitude = rng.normal(size=tones) / np.sqrt(0.5 * tones)
    t = np.arange(n)[:, None] / sample_rate
    return tuple(np.cos(2.0 * np.pi * frequency * s + phase) @ amplitude for s in (t, t - delay))
