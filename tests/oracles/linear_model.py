"""A model that is linear in its parameters: everything about its fit is known in closed form."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from sim.arrays import Samples


class LinearModel:
    """The response `matrix @ parameters`.

    Parameters
    ----------
    matrix : (n, p).
    names : of the parameters; by default a, b, c and so on.
    lower, upper : bounds, numbers or (p,).
    """

    def __init__(
        self, matrix: Samples, names: Sequence[str] = "", lower: ArrayLike = -np.inf, upper: ArrayLike = np.inf
    ) -> None:
        p = matrix.shape[1]
        self.matrix = matrix
        self.names = tuple(names or "abcdefgh"[:p])
        self.lower, self.upper = (np.broadcast_to(np.asarray(end, dtype=float), p).copy() for end in (lower, upper))

    def evaluate(self, parameters: Samples) -> tuple[Samples, Samples]:
        """Return the responses, (m, n), and their derivatives, (m, n, p)."""
        return parameters @ self.matrix.T, np.tile(self.matrix, (len(parameters), 1, 1))


def slope(time: Samples) -> LinearModel:
    """Return the line through the origin."""
    return LinearModel(time[:, None], ("slope",))
