"""Figures of a record, each from its whole signals at once."""

from __future__ import annotations

from itertools import pairwise

import numpy as np


def dominant_frequency(command, rate):
    """Return the largest bin of the velocity below a tenth of the rate, Hz; NaN for a command that does not move."""
    good = np.abs(command) < 1e50
    moved = np.where(good, command - np.mean(command[good]), 0.0) if np.ptp(command[good]) > 0.0 else np.zeros(1)
    n = len(command)
    velocity = np.arange(4 * n + 1) * np.abs(np.fft.rfft(moved * np.hanning(len(moved)), 8 * n))
    velocity[np.arange(len(velocity)) >= 0.8 * n] = 0.0
    return np.argmax(velocity) * rate / (8 * n) if velocity.any() else np.nan


def constant_runs(measured):
    """Return start and stop of each run of one value."""
    edges = [0, *(i for i in range(1, len(measured)) if measured[i] != measured[i - 1]), len(measured)]
    return list(pairwise(edges))


def longest_constant_run(command, measured, fewest, least):
    """Return start and stop of the longest run, the first of equals, in which the command's range exceeds `least`."""
    runs = [
        (start, stop)
        for start, stop in constant_runs(measured)
        if stop - start >= fewest and np.ptp(command[start:stop]) > least
    ]
    return max(runs, key=lambda run: run[1] - run[0], default=None)
