"""The ordinary ellipse fit to a stored window: the conic by `numpy.linalg.lstsq`, and what its coefficients say."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Ellipse(NamedTuple):
    """Ratio command/measured, phase (positive: measured leads), centre of both signals, half-width of the command.

    ``opening`` is 4ac - b^2 in standard deviations, over 4.
    """

    ratio: float
    phase: float
    centre: tuple[float, float]
    half_width: float
    opening: float


def ordinary_fit(x_c, x_m):
    """Return the fit that holds the sum of the coefficients of the two squares."""
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
    # the loop is walked clockwise when the measured signal leads
    swept = np.sum(u[:-1] * v[1:] - u[1:] * v[:-1])
    phase = np.arctan2(quadrature if swept < 0.0 else -quadrature, in_phase)
    centre = (mid_c + s_x * u_0, mid_m + slope * s_x * u_0 + s_e * v_0)
    return Ellipse(1.0 / np.hypot(in_phase, quadrature), float(phase), centre, float(width * s_x), float(opening))
