"""Fitzgibbon's direct fit of an ellipse, which a reader may have in mind in the place of the regression of eq. 1."""

from __future__ import annotations

import numpy as np

from monitor.messages.blocks import Samples


def direct_fit(x_c: Samples, x_m: Samples) -> tuple[float, float]:
    """Return the ratio command/measured and the phase [rad], positive where measured leads, of one window, (n,) each.

    The conic A c^2 + B c m + C m^2 + ... of least squares under 4 A C - B^2 = 1 (Fitzgibbon, Pilu and Fisher 1999),
    by the blocks of Halir and Flusser (1998). It is always an ellipse.
    """
    c, m = x_c - np.mean(x_c), x_m - np.mean(x_m)
    c, m = c / np.std(c), m / np.std(m)
    squares, straight = np.stack([c * c, c * m, m * m], axis=1), np.stack([c, m, np.ones(len(c))], axis=1)
    left = squares - straight @ np.linalg.lstsq(straight, squares, rcond=None)[0]
    scatter = left.T @ left
    # the inverse of the matrix whose quadratic form is 4 A C - B^2
    values, vectors = np.linalg.eig(np.array([scatter[2] / 2.0, -scatter[1], scatter[0] / 2.0]))
    candidates = vectors[:, np.isreal(values)].real
    discriminant = 4.0 * candidates[0] * candidates[2] - candidates[1] ** 2
    a, b, g = candidates[:, np.argmax(discriminant)]
    a, b, g = (a, b, g) if a > 0.0 else (-a, -b, -g)
    # clockwise, which is a lead, the swept area is negative
    lead = np.sum(c[:-1] * m[1:] - c[1:] * m[:-1]) < 0.0
    phase = np.arctan2(np.sqrt(4.0 * a * g - b * b), -b)
    return float(np.sqrt(g / a) * np.std(x_c) / np.std(x_m)), float(phase if lead else -phase)
