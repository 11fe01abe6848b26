"""Averages of two signals under a Hann window, and the frequency of a signal by its level crossings."""

from __future__ import annotations

import itertools

import numpy as np


def averages(a, b):
    """Return the area that b sweeps about a in a sample, and the averages of ab, aa and bb, about their means."""
    weights = np.hanning(2 * len(a) + 1)[1::2]
    a, b = a - np.average(a, weights=weights), b - np.average(b, weights=weights)
    swept = 0.5 * (a[:-1] * b[1:] - b[:-1] * a[1:])
    between = weights[1:] + weights[:-1]
    return (np.average(swept, weights=between), *(np.average(x, weights=weights) for x in (a * b, a * a, b * b)))


def sine_of_step(x):
    """Return the sine of what a signal turns in a sample."""
    return np.sin(2.0 * np.pi * crossing_frequency(x, 0.3 * np.sqrt(averages(x, x)[1])))


def crossing_frequency(x, margin):
    """Return cycles a sample, from the crossings of the middle of the range that go beyond `margin` on both sides."""
    height = x - 0.5 * (np.max(x) + np.min(x))
    changes = np.flatnonzero((height[1:] < 0.0) != (height[:-1] < 0.0)) + 1
    beyond = np.flatnonzero(np.abs(height) > margin)
    found = {True: [], False: []}
    for i, j in itertools.pairwise(beyond):
        if height[i] * height[j] < 0.0:
            at = changes[changes <= j][-1]
            found[bool(height[j] > 0.0)].append(at - height[at] / (height[at] - height[at - 1]))
    cycles = sum(max(len(times) - 1, 0) for times in found.values())
    return cycles / sum(times[-1] - times[0] for times in found.values() if len(times) > 1)
