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


def criteria(command, measured, numbers, rate, most):
    """Return J1 to J3 of good samples, those with a number: a row each, the numbers count the missing ones.

    J1: the lag with the largest sum of products, then up the correlation coefficient of all pairs so far apart.
    """
    at = {number: row for row, number in enumerate(numbers)}
    c, m = command - command.mean(), measured - measured.mean()
    sums, coefficients = [], []
    for lag in range(-most - 1, most + 2):
        rows = [(row, at[number + lag]) for number, row in at.items() if number + lag in at]
        of_c, of_m = (np.array(x)[[pair[i] for pair in rows]] if rows else np.zeros(0) for i, x in enumerate((c, m)))
        sums.append(of_c @ of_m)
        far = len(rows) >= max(2, 0.5 * len(c)) and np.ptp(of_c) > 0.0 and np.ptp(of_m) > 0.0
        coefficients.append(np.corrcoef(of_c, of_m)[0, 1] if far else -np.inf)
    peak = int(np.argmax(sums))
    while 0 < peak < len(sums) - 1 and max(coefficients[peak - 1], coefficients[peak + 1]) > coefficients[peak]:
        peak += 1 if coefficients[peak + 1] > coefficients[peak - 1] else -1
    inside = 0 < peak < len(sums) - 1 and np.isfinite(coefficients[peak - 1 : peak + 2]).all()
    error = measured - command
    return (
        1000.0 * (peak - most - 1) / rate if inside else np.nan,
        100.0 * np.std(error) / np.std(command),
        100.0 * np.abs(error).max() / np.abs(command).max(),
    )
