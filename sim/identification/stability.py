"""Fits kept stable: q0 < 0 and q0 + |q1| < 0, whichever of the two is free and whatever stands beside."""

from __future__ import annotations

import numpy as np

from sim.identification.coordinates import InCoordinates
from sim.identification.delay_response import DelayResponse
from sim.identification.regression import PolynomialDiscrepancy, Regression

MARGIN = 1e-3


def stable(regression: DelayResponse | PolynomialDiscrepancy, margin: float = MARGIN) -> InCoordinates:
    """Return the same within q0 + |q1| <= -margin, from which q0 < 0 follows; it is enough whatever the delay.

    With q0 and q1 free their coordinates are s = -(q0 + q1) and d = -(q0 - q1), in the same places, each with the
    margin as its lower bound. With one of them free it is bounded by the other, in the ordinary case q0 by zero.

    Parameters
    ----------
    regression : a delay response (Method 2), also with a polynomial beside it (Method 1).
    margin : 1/s; without any, a steady state may lie at infinity.

    Raises
    ------
    ValueError : it is no delay response, the margin is out of range, or what is not free leaves nothing stable.
    """
    if not 0.0 <= margin < np.inf:
        raise ValueError(f"fit margin {margin}: must be zero or more, in 1/s")
    names, equation = list(regression.names), _delay_response(regression).equation
    lower, upper, matrix = regression.lower.copy(), regression.upper.copy(), np.eye(len(names))
    free = [name for name in ("q0", "q1") if name in names]
    if len(free) == 2:
        both = [names.index(name) for name in free]
        matrix[np.ix_(both, both)] = [[-0.5, -0.5], [-0.5, 0.5]]
        lower[both], upper[both] = margin, np.inf
        names[both[0]], names[both[1]] = "-(q0 + q1)", "-(q0 - q1)"
    elif free == ["q0"]:
        upper[names.index("q0")] = -abs(equation.q1) - margin
    else:
        largest = -equation.q0 - margin
        if largest < (0.0 if free else abs(equation.q1)):
            raise ValueError(f"fit kept stable: with q0 {equation.q0:g} and q1 {equation.q1:g} held, none is stable")
        if free:
            lower[names.index("q1")], upper[names.index("q1")] = -largest, largest
    return InCoordinates(regression, matrix, tuple(names), lower, upper)


def _delay_response(regression: Regression) -> DelayResponse:
    inner = regression
    while isinstance(inner, PolynomialDiscrepancy):
        inner = inner.regression
    if not isinstance(inner, DelayResponse):
        raise ValueError("fit kept stable: give a delay response, or one with a polynomial beside it")  # noqa: TRY004
    return inner
