"""A specimen moved by its actuator, with parameters that are followed: linear, or with Bouc and Wen's hysteresis."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import inf, isinf

import numpy as np

from sim.arrays import Samples, check_not_negative, check_positive, require
from sim.laboratory.elements import BoucWenSpring

PARAMETERS = {"stiffness": "N/m", "damping": "N s/m", "yield_displacement": "m", "hardening": "1"}
"""Those that can be followed, and their units."""
# of z, from which the specimen yields enough to tell how
_YIELDS = 0.5
# yield displacements of a step: longer ones are taken in pieces
_PIECE = 0.25
_MOST_PIECES = 40


@dataclass(frozen=True)
class DrivenSpecimen:
    """f = a k x + (1 - a) k x_y z + c x', as `BoucWenSpring` has it, with a dashpot; a linear spring without yield.

    Parameters
    ----------
    stiffness : k, N/m; damping : c, N s/m; yield_displacement : x_y, m, infinite for a linear one; hardening : a.
    exponent : n of Bouc and Wen.
    followed : names of the parameters that are followed.

    Raises
    ------
    ValueError : a value is out of its range, or a parameter that is followed is zero, infinite or unknown.
    """

    stiffness: float
    damping: float = 0.0
    yield_displacement: float = inf
    hardening: float = 0.0
    exponent: float = 2.0
    followed: tuple[str, ...] = ("stiffness",)

    def __post_init__(self) -> None:
        check_positive("specimen", stiffness=self.stiffness)
        check_not_negative("specimen", damping=self.damping)
        require(bool(self.followed), "specimen followed", self.followed, f"some of {', '.join(PARAMETERS)}")
        for name in self.followed:
            require(name in PARAMETERS, "specimen followed", name, f"of {', '.join(PARAMETERS)}")
            value = getattr(self, name)
            largest = 1.0 if name == "hardening" else inf
            require(0.0 < value < largest, f"specimen {name}", value, "above 0, and finite, where it is followed")
        if self.hidden:
            _ = self._spring
        elif "hardening" in self.followed:
            raise ValueError("specimen hardening: a linear specimen has none: give its yield_displacement")

    @cached_property
    def _spring(self) -> BoucWenSpring:
        """Its hysteresis, that unloads along the initial stiffness."""
        return BoucWenSpring(self.stiffness, self.yield_displacement, self.hardening, self.exponent)

    @property
    def nominal(self) -> Samples:
        """(p,), the followed parameters as they are assumed."""
        return np.array([getattr(self, name) for name in self.followed])

    def parameters(self, walk: Samples) -> Samples:
        """Return the followed parameters, (..., p), after a walk of their logarithms; of the hardening's odds."""
        result = self.nominal * np.exp(walk)
        for i, name in enumerate(self.followed):
            if name == "hardening":
                odds = self.hardening / (1.0 - self.hardening) * np.exp(walk[..., i])
                result[..., i] = odds / (1.0 + odds)
        return np.asarray(result)

    @property
    def hidden(self) -> int:
        """One of a hysteretic specimen, z."""
        return 0 if isinf(self.yield_displacement) else 1

    def tells(self, hidden: Samples) -> Samples:
        """Return (p,), 0 for what a specimen that does not yield says nothing of, by the size of z, (hidden,)."""
        yields = bool(self.hidden) and hidden[0] > _YIELDS
        return np.array([float(yields or name in ("stiffness", "damping")) for name in self.followed])

    def advance(self, parameters: Samples, hidden: Samples, before: Samples, now: Samples) -> tuple[Samples, Samples]:
        """Return z, (..., hidden), and the force, (...), N, one sample later.

        Parameters
        ----------
        parameters : (..., p), those followed.
        before, now : (2,), displacement [m] and velocity [m/s].
        """
        values: dict[str, Samples | float] = {name: getattr(self, name) for name in PARAMETERS}
        values |= {name: parameters[..., i] for i, name in enumerate(self.followed)}
        k, x = values["stiffness"], now[0]
        viscous = np.asarray(values["damping"]) * now[1]
        if not self.hidden:
            return hidden, np.asarray(k * x + viscous)
        hardening, limit = values["hardening"], values["yield_displacement"]
        step = (now[0] - before[0]) / np.asarray(limit)
        pieces = min(max(1, int(np.ceil(np.max(np.abs(step)) / _PIECE))), _MOST_PIECES)
        z = hidden[..., 0]
        for _ in range(pieces):
            z = self._spring.slipped(z, step / pieces)
        return z[..., None], np.asarray(k * (hardening * x + (1.0 - hardening) * limit * z) + viscous)
