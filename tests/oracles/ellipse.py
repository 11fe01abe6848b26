"""Conics fitted to a stored window by `numpy.linalg.lstsq`, and what their coefficients say."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np


class Ellipse(NamedTuple):
    """Ratio command/measured, phase (positive: measured leads), centre of both signals, half-width of the command.

    ``opening`` is 4ac - b^2 of command against residual in standard deviations, with c = 1, over 4.
    """

    ratio: float
    phase: float
    centre: tuple[float, float]
    half_width: float
    opening: float


def equation_1(x_c, x_m):
    """Return the fit of eq. 1 with a = 1, c^2 + b c m + g m^2 + d c + e m + f = 0, centred and scaled."""
    mid, scale = np.mean([x_c, x_m], axis=1), np.std([x_c, x_m], axis=1)
    c, m = (x_c - mid[0]) / scale[0], (x_m - mid[1]) / scale[1]
    columns = np.stack([c * m, m * m, c, m, np.ones(len(c))], axis=1)
    b, g, d, e, f = np.linalg.lstsq(columns, -c * c, rcond=None)[0]
    opening = g - 0.25 * b * b
    # what is no more than a line has its middle for a centre, and the width of a sine
    centre, square = np.zeros(2), 2.0
    if opening > 0.0:
        found = np.linalg.solve([[2.0, b], [b, 2.0 * g]], [-d, -e])
        at_centre = -(f + 0.5 * (d * found[0] + e * found[1])) * g / opening
        if 0.25 < at_centre < 8.0:
            centre, square = found, at_centre
    # of an ellipse |gain| is 1/sqrt(g); what is no ellipse is read as a line
    gain = complex(-b, np.sqrt(max(4.0 * opening, 0.0)) * sense(c, m)) / (2.0 * g) * scale[1] / scale[0]
    left = 1.0 - np.mean(c * m) ** 2
    return Ellipse(
        1.0 / abs(gain),
        float(np.angle(gain)),
        tuple(mid + scale * centre),
        float(np.sqrt(square) * scale[0]),
        float(opening / g**2 / left) if g > 0.0 else -np.inf,
    )


def balanced_fit(x_c, x_m):
    """Return the fit that holds the sum of the coefficients of the squares of command and residual."""
    mid_c, mid_m = np.mean(x_c), np.mean(x_m)
    x, y = x_c - mid_c, x_m - mid_m
    slope = (x @ y) / (x @ x)
    e = y - slope * x
    s_x, s_e = np.std(x), np.std(e)
    u, v = x / s_x, e / s_e
    columns = np.stack([u * u - v * v, u * v, u, v, np.ones(len(u))], axis=1)
    a, b, d, f, g = np.linalg.lstsq(columns, -(u * u + v * v), rcond=None)[0]
    a, b, d, f, g = np.array([1.0 + a, b, d, f, g]) / (1.0 - a)
    opening = a - 0.25 * b * b
    # what is no more than a line has its middle for a centre, and the width of a sine
    u_0, v_0, square = 0.0, 0.0, 2.0
    if opening > 0.0:
        centre = np.linalg.solve([[2.0 * a, b], [b, 2.0]], [-d, -f])
        at_centre = -(g + 0.5 * (d * centre[0] + f * centre[1])) / opening
        if 0.25 < at_centre < 8.0:
            (u_0, v_0), square = centre, at_centre
    width = np.sqrt(square)
    in_phase, quadrature = slope - 0.5 * b * s_e / s_x, np.sqrt(max(opening, 0.0)) * s_e / s_x
    phase = np.arctan2(quadrature * sense(u, v), in_phase)
    centre = (mid_c + s_x * u_0, mid_m + slope * s_x * u_0 + s_e * v_0)
    return Ellipse(1.0 / np.hypot(in_phase, quadrature), float(phase), centre, float(width * s_x), float(opening))


def equation_1_exactly(x_c, x_m):
    """Return ratio and phase of the same fit from its normal equations in c and m themselves, in fractions."""
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
    return np.sqrt(float(g)), phase * sense(x_c - np.mean(x_c), x_m - np.mean(x_m))


def _dot(first, second):
    return sum((p * q for p, q in zip(first, second, strict=True)), Fraction(0))


def equation_1_expected(tones, noise):
    """Return ratio and phase of the same fit to a long record of a tone in white noise, by quadrature."""
    angle = 2.0 * np.pi * np.arange(16) / 16.0
    nodes, weights = np.polynomial.hermite_e.hermegauss(6)
    angle, n_c, n_m = (grid.ravel() for grid in np.meshgrid(angle, noise * nodes, noise * nodes, indexing="ij"))
    weight = np.sqrt(np.broadcast_to(np.outer(weights, weights), (16, 6, 6)).ravel())
    c = tones.amplitude * np.cos(angle) + n_c
    m = tones.amplitude * tones.gain * np.cos(angle + tones.phase) + n_m
    columns = np.stack([c * m, m * m, c, m, np.ones(len(c))], axis=1)
    b, g = np.linalg.lstsq(weight[:, None] * columns, -weight * c * c, rcond=None)[0][:2]
    return np.sqrt(g), np.sign(tones.phase) * np.arctan2(np.sqrt(max(4.0 * g - b * b, 0.0)), -b)


def sense(c, m):
    """Return 1 where the loop is walked clockwise, as when the measured signal leads, and -1."""
    return 1.0 if np.sum(c[:-1] * m[1:] - c[1:] * m[:-1]) < 0.0 else -1.0
