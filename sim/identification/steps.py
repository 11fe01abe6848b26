"""The step of Levenberg and Marquardt's method, of many problems side by side."""

from __future__ import annotations

import numpy as np

from sim.arrays import Flags, Samples

# what keeps a matrix of alike columns from being singular
_RIDGE = 1e-13


def damped_step(normal: Samples, gradient: Samples, held: Flags, damping: Samples) -> Samples:
    """Return the damped step of each, (m, p), in which what is held stays; without damping Gauss and Newton's.

    Parameters
    ----------
    normal : (m, p, p), J'J.
    gradient : (m, p), J' times the residual.
    held : (m, p).
    damping : (m,), beside a diagonal of one.
    """
    size = np.sqrt(np.einsum("mpp->mp", normal))
    size[size == 0.0] = 1.0
    scaled = normal / size[:, :, None] / size[:, None, :]
    scaled[held[:, :, None] | held[:, None, :]] = 0.0
    diagonal = np.einsum("mpp->mp", scaled)
    diagonal[:] = np.where(held, 1.0, diagonal + np.maximum(damping, _RIDGE)[:, None])
    # a parameter without any effect has no diagonal
    diagonal[diagonal == 0.0] = 1.0
    push = np.where(held, 0.0, gradient / size)
    return np.asarray(np.linalg.solve(scaled, push[..., None])[..., 0] / size)
