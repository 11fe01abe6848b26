"""The delay equation as something that can be fitted, with its disturbance as a parameter: the paper's Method 2."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sim.identification.regression import InCoordinates, Samples, unbounded
from sim.models.delay_equation import PARAMETERS, DelayEquation, solve


@dataclass(frozen=True, eq=False)
class DelayResponse:
    """The solution of a delay equation, of which some parameters are free (Burns, Cliff and Farlow, eq. 24 and 26).

    Parameters
    ----------
    time : (n,), s.
    equation : the other parameters are this one's; without a free omega and with none here, it is the model that the
        paper hypothesises; with q1 = 0 and not free, the ordinary case.
    free : of `PARAMETERS`: q0, q1, omega, initial, delay.

    Raises
    ------
    ValueError : nothing is free, or something that there is not.
    """

    time: Samples
    equation: DelayEquation
    free: tuple[str, ...] = ("q0", "q1", "omega")

    def __post_init__(self) -> None:
        if not self.free or not set(self.free) <= set(PARAMETERS):
            raise ValueError(f"delay response free {self.free}: choose among {', '.join(PARAMETERS)}")

    @property
    def names(self) -> tuple[str, ...]:
        """Of what is free."""
        return self.free

    @property
    def lower(self) -> Samples:
        """(p,): a delay is at least a thousandth of the observed time."""
        least = 1e-3 * float(np.max(self.time, initial=1e-3))
        return np.array([least if name == "delay" else -np.inf for name in self.free])

    @property
    def upper(self) -> Samples:
        """(p,)."""
        return unbounded(len(self.free))

    def evaluate(self, parameters: Samples) -> tuple[Samples, Samples]:
        """Return the solutions, (m, n), and their derivatives by what is free, (m, n, p)."""
        places = [PARAMETERS.index(name) for name in self.free]
        everything = np.tile(self.equation.parameters, (len(parameters), 1))
        everything[:, places] = parameters
        response, sensitivities = solve(self.time, everything, self.equation.history)
        # the memory of one parameter lies together, and the products want it so
        return response, sensitivities.transpose(2, 0, 1)[places].transpose(1, 2, 0)

    def at(self, parameters: Samples) -> DelayEquation:
        """Return the equation with these free parameters, (p,)."""
        return replace(self.equation, **dict(zip(self.free, parameters.tolist(), strict=True)))


def stable(response: DelayResponse, margin: float = 1e-3) -> InCoordinates:
    """Return the same in coordinates in which q0 + |q1| <= -margin is two lower bounds; q0 < 0 follows.

    The coordinates are s = -(q0 + q1) and d = -(q0 - q1), in the places of q0 and q1. Give a positive margin [1/s]:
    without any, a steady state may lie at infinity.

    Raises
    ------
    ValueError : q0 or q1 is not free, or the margin negative.
    """
    if not {"q0", "q1"} <= set(response.free):
        raise ValueError("a fit kept stable needs q0 and q1 free")
    if not margin >= 0.0:
        raise ValueError(f"fit margin {margin}: must be zero or more, in 1/s")
    first, second = (response.free.index(name) for name in ("q0", "q1"))
    matrix = np.eye(len(response.free))
    matrix[np.ix_([first, second], [first, second])] = [[-0.5, -0.5], [-0.5, 0.5]]
    lower, names = response.lower.copy(), list(response.free)
    lower[[first, second]] = margin
    names[first], names[second] = "-(q0 + q1)", "-(q0 - q1)"
    return InCoordinates(response, matrix, tuple(names), lower, response.upper)
