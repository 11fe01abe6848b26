"""The delay equation as something that can be fitted, with its disturbance as a parameter: the paper's Method 2."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sim.arrays import Samples
from sim.identification.regression import unbounded
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
    ValueError : nothing is free, or something that there is not, or twice.
    """

    time: Samples
    equation: DelayEquation
    free: tuple[str, ...] = ("q0", "q1", "omega")

    def __post_init__(self) -> None:
        if not self.free or not set(self.free) <= set(PARAMETERS) or len(set(self.free)) < len(self.free):
            raise ValueError(f"delay response free {self.free}: choose among {', '.join(PARAMETERS)}, each once")

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
        places, parameters = [PARAMETERS.index(name) for name in self.free], np.atleast_2d(parameters)
        everything = np.tile(self.equation.parameters, (len(parameters), 1))
        everything[:, places] = parameters
        response, sensitivities = solve(self.time, everything, self.equation.history)
        # the memory of one parameter lies together, and the products want it so
        return response, sensitivities.transpose(2, 0, 1)[places].transpose(1, 2, 0)

    def at(self, parameters: Samples) -> DelayEquation:
        """Return the equation with these free parameters, (p,)."""
        return replace(self.equation, **dict(zip(self.free, parameters.tolist(), strict=True)))
