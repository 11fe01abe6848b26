"""Eq. 1 of PAEI in fractions, and what it reads of a tone in noise, by quadrature."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from monitor.indicators.reference import loop_direction


def equation_1_exactly(x_c, x_m):
    """Return ratio and phase of eq. 1 with a = 1 from its normal equations in c and m themselves, in fractions."""
    c, m = ([Fraction(value) for value in x.tolist()] for x in (x_c, x_m))
    columns = [[p * q for p, q in zip(c, m, strict=True)], [q * q for q in m], c, m, [Fraction(1)] * len(c)]
    target = [-p * p for p in c]
    rows = [[_dot(column, other) for other in (*columns, target)] for column in columns]
    for i, pivot in enumerate(rows):
        for j, row in enumerate(rows):
            if j != i:
                factor = row[i] / pivot[i]
                rows[j] = [value - factor * above for value, above in zip(row, pivot, strict=True)]
        rows[i] = [value / pivot[i] for value in pivot]
    b, g = rows[0][5], rows[1][5]
    # eq. 2 with the minus that the print lost, which is the angle of -b + i sqrt(4 g - b^2)
    phase = np.arctan2(np.sqrt(float(4 * g - b * b)), -float(b))
    return np.sqrt(float(g)), phase * loop_direction(x_c - np.mean(x_c), x_m - np.mean(x_m))


def _dot(first, second):
    return sum((p * q for p, q in zip(first, second, strict=True)), Fraction(0))


def equation_1_expected(tones, noise):
    """Return ratio and phase of that fit to a long record of a tone in white noise, by quadrature."""
    angle = 2.0 * np.pi * np.arange(16) / 16.0
    nodes, weights = np.polynomial.hermite_e.hermegauss(6)
    angle, n_c, n_m = (grid.ravel() for grid in np.meshgrid(angle, noise * nodes, noise * nodes, indexing="ij"))
    weight = np.sqrt(np.broadcast_to(np.outer(weights, weights), (16, 6, 6)).ravel())
    c = tones.amplitude * np.cos(angle) + n_c
    m = tones.amplitude * tones.gain * np.cos(angle + tones.phase) + n_m
    columns = np.stack([c * m, m * m, c, m, np.ones(len(c))], axis=1)
    b, g = np.linalg.lstsq(weight[:, None] * columns, -weight * c * c, rcond=None)[0][:2]
    return np.sqrt(g), np.sign(tones.phase) * np.arctan2(np.sqrt(max(4.0 * g - b * b, 0.0)), -b)
