"""A response in other coordinates, and the way back to its parameters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sim.arrays import Samples
from sim.identification.regression import PolynomialDiscrepancy, Regression


@dataclass(frozen=True, eq=False)
class InCoordinates:
    """The same response in other coordinates, of which the parameters are linear functions.

    Bounds are those of the coordinates: linear inequalities between parameters become simple ones.

    Parameters
    ----------
    regression : whose own bounds are not looked at.
    matrix : (p, p), parameters = matrix @ coordinates.
    names : of the coordinates.
    lower, upper : (p,), of the coordinates.
    """

    regression: Regression
    matrix: Samples
    names: tuple[str, ...]
    lower: Samples
    upper: Samples

    def of(self, parameters: Samples) -> Samples:
        """Return the coordinates of parameters, (p,)."""
        return np.asarray(np.linalg.solve(self.matrix, parameters), dtype=np.float64)

    def evaluate(self, parameters: Samples) -> tuple[Samples, Samples]:
        """Return response and derivatives by the coordinates."""
        response, sensitivities = self.regression.evaluate(np.atleast_2d(parameters) @ self.matrix.T)
        return response, sensitivities @ self.matrix


def own_parameters(regression: Regression) -> tuple[tuple[str, ...], Samples]:
    """Return the names of the parameters themselves and the matrix, (p, p), that makes them of what is fitted.

    Coordinates are found wherever they are: around a polynomial, within one, and in other coordinates.
    """
    if isinstance(regression, InCoordinates):
        names, matrix = own_parameters(regression.regression)
        return names, matrix @ regression.matrix
    if isinstance(regression, PolynomialDiscrepancy):
        inner, block = own_parameters(regression.regression)
        matrix = np.eye(len(regression.names))
        matrix[: len(inner), : len(inner)] = block
        return (*inner, *regression.names[len(inner) :]), matrix
    return regression.names, np.eye(len(regression.names))
