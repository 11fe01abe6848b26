"""Models as regressions: delay equations, a heated slab; and the constraint of stability."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from sim.arrays import Samples
from sim.fitting.regression import PolynomialDiscrepancy, Regression, Reparameterized
from sim.models.delay_equation import PARAMETERS, DelayEquation, solve
from sim.models.thermal_population import Specimens
from sim.models.thermal_slab import SlabTest

MARGIN = 1e-3


@dataclass(frozen=True, eq=False)
class DelayResponse(Regression):
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


def stable(regression: DelayResponse | PolynomialDiscrepancy, margin: float = MARGIN) -> Reparameterized:
    """Return the same within q0 + |q1| <= -margin, from which q0 < 0 follows; it is enough whatever the delay.

    With q0 and q1 free their coordinates are s = -(q0 + q1) and d = -(q0 - q1), in the same places, each with the
    margin as its lower bound. With one of them free it is bounded by the other, in the ordinary case q0 by zero.

    Parameters
    ----------
    regression : a delay response (Method 2), optionally with an added polynomial (Method 1).
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
    return Reparameterized(regression, matrix, tuple(names), lower, upper)


def _delay_response(regression: Regression) -> DelayResponse:
    inner = regression
    while isinstance(inner, PolynomialDiscrepancy):
        inner = inner.regression
    if not isinstance(inner, DelayResponse):
        raise ValueError("fit kept stable: give a delay response, or one with a polynomial beside it")  # noqa: TRY004
    return inner


# of a property: the step of a central difference, which leaves its square
_STEP = 1e-4
# W/(m K) and J/(m^3 K): less than any solid has
_LEAST_CONDUCTIVITY, _LEAST_CAPACITY = 1e-3, 1e3


@dataclass(frozen=True, eq=False)
class SlabResponse(Regression):
    """The temperature of a slab, of which conductivity at 0 degC and heat capacity are free.

    Parameters
    ----------
    test : what is done to it.
    time : (n,), s, without time zero, which has no information.
    slope : of the conductivity, W/(m K^2), which is known; 0: constant properties, by eq. 2.
    depth : of the thermocouple, as a share of the thickness.
    """

    test: SlabTest
    time: Samples
    slope: float = 0.0
    depth: float = 0.0

    names: ClassVar[tuple[str, ...]] = ("conductivity", "heat_capacity")

    @property
    def lower(self) -> Samples:
        """(2,): positive, and the conductivity so where the slab begins, too."""
        cold = -self.slope * self.test.initial_temperature
        return np.array([_LEAST_CONDUCTIVITY + max(cold, 0.0), _LEAST_CAPACITY])

    def evaluate(self, parameters: Samples) -> tuple[Samples, Samples]:
        """Return the temperatures, (m, n), and their derivatives by the properties, (m, n, 2): central differences.

        Raises
        ------
        ValueError : see `Specimens.temperature`.
        """
        steps = _STEP * np.vstack([np.zeros(2), np.eye(2), -np.eye(2)])
        # all at once: (5, m, 2), the properties themselves first
        moved = parameters * (1.0 + steps[:, None])
        temperature = self.at(moved.reshape(-1, 2)).temperature(self.test, self.time, (self.depth,))
        here, *beside = temperature[:, 0].T.reshape(5, *parameters.shape[:1], -1)
        rise = np.moveaxis(np.array(beside[:2]) - np.array(beside[2:]), 0, 2)
        return np.ascontiguousarray(here), np.ascontiguousarray(rise / (2.0 * _STEP * parameters[:, None]))

    def at(self, parameters: Samples) -> Specimens:
        """Return the specimens of (m, 2) properties, or of (2,)."""
        conductivity, heat_capacity = np.atleast_2d(parameters).T.copy()
        return Specimens(conductivity, self.slope, heat_capacity)
