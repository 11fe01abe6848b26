"""What a user would write with numpy alone: the whole window recomputed at every sample."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Window = NDArray[np.float64]


def fft_of_window(x_c: Window, x_m: Window, hann: Window, high: int) -> tuple[float, float]:
    """Return (ratio, phase) at the command's largest Hann-windowed FFT bin up to bin `high`."""
    command = np.fft.rfft((x_c - x_c.mean()) * hann)
    measured = np.fft.rfft((x_m - x_m.mean()) * hann)
    peak = 1 + int(np.argmax(np.abs(command[1 : high + 1])))
    c, m = complex(command[peak]), complex(measured[peak])
    return abs(c) / abs(m), float(np.angle(m * c.conjugate()))


def ellipse_by_eig(x_c: Window, x_m: Window) -> tuple[float, float]:
    """Return (ratio, phase) of Fitzgibbon's direct ellipse fit: a 6 x 6 generalised eigenproblem a window."""
    design = np.stack([x_c * x_c, x_c * x_m, x_m * x_m, x_c, x_m, np.ones(len(x_c))], axis=1)
    constraint = np.zeros((6, 6))
    constraint[0, 2] = constraint[2, 0] = 2.0
    constraint[1, 1] = -1.0
    values, vectors = np.linalg.eig(np.linalg.solve(design.T @ design, constraint))
    a, b, c = vectors[:3, int(np.argmax(values.real))].real
    return _reading(a, b, c)


def ellipse_by_lstsq(x_c: Window, x_m: Window) -> tuple[float, float]:
    """Return (ratio, phase) of the conic with unit coefficient of m^2, by linear least squares."""
    design = np.stack([x_c * x_c, x_c * x_m, x_c, x_m, np.ones(len(x_c))], axis=1)
    a, b = np.linalg.lstsq(design, -x_m * x_m, rcond=None)[0][:2]
    return _reading(a, b, 1.0)


def _reading(a: float, b: float, c: float) -> tuple[float, float]:
    ratio = np.sqrt(abs(c / a))
    return float(ratio), float(np.arccos(np.clip(-b / (2.0 * np.sqrt(abs(a * c))), -1.0, 1.0)))
