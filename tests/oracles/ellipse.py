"""PAEI from a stored window: the conic by `numpy.linalg.lstsq`, then phase and ratio from its coefficients."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Reading(NamedTuple):
    """Ratio command/measured, phase (positive: measured leads), and whether the loop's opening is certain."""

    ratio: float
    phase: float
    is_open: bool


def corrected_fit(x_c, x_m):
    """Return the reading of the fit that holds the coefficient of m^2, so that noise does not bias it."""
    u, v, slope, scale = _whiten(x_c, x_m)
    columns = np.stack([u * u, u * v, u, v, np.ones(len(u))], axis=1)
    coefficients = np.linalg.lstsq(columns, -v * v, rcond=None)[0]
    # four standard errors of the coefficient of u^2; below them the loop may as well be a line
    doubt = 4.0 * np.sqrt(np.mean((columns @ coefficients + v * v) ** 2) / (len(u) * np.var(u * u)))
    return _reading(*coefficients[:2], slope, scale, u, v, doubt)


def ordinary_fit(x_c, x_m):
    """Return the reading of the fit that holds the sum of the coefficients of the two squares."""
    u, v, slope, scale = _whiten(x_c, x_m)
    columns = np.stack([u * u - v * v, u * v, u, v, np.ones(len(u))], axis=1)
    a, b = np.linalg.lstsq(columns, -(u * u + v * v), rcond=None)[0][:2]
    return _reading((1.0 + a) / (1.0 - a), b / (1.0 - a), slope, scale, u, v)


def _whiten(x_c, x_m):
    x, y = x_c - np.mean(x_c), x_m - np.mean(x_m)
    slope = (x @ y) / (x @ x)
    e = y - slope * x
    return x / np.std(x), e / np.std(e), slope, np.std(e) / np.std(x)


def _reading(a, b, slope, scale, u, v, doubt=0.0):
    opening = a - 0.25 * b * b
    in_phase, quadrature = slope - 0.5 * b * scale, np.sqrt(max(opening, 0.0)) * scale
    # the loop is walked clockwise when the measured signal leads
    swept = np.sum(u[:-1] * v[1:] - u[1:] * v[:-1])
    phase = np.arctan2(quadrature if swept < 0.0 else -quadrature, in_phase)
    return Reading(1.0 / np.hypot(in_phase, quadrature), float(phase), bool(opening > doubt))
