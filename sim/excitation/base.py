"""What every excitation shares: where it acts, and how it starts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import StrEnum
from math import isfinite, pi

import numpy as np

from sim.arrays import Samples


class Loading(StrEnum):
    """Where an excitation acts."""

    GROUND = "ground acceleration"
    FORCE = "force"


@dataclass(frozen=True, kw_only=True)
class Excitation(ABC):
    """Something that drives the structure.

    Parameters
    ----------
    loading : ground acceleration (m/s^2) or force on the mass (N).
    ramp : s over which it grows from nothing to its full size, smoothly (half a cosine).

    Raises
    ------
    ValueError : a number is out of its range.
    """

    loading: Loading = Loading.GROUND
    ramp: float = 1.0

    def __post_init__(self) -> None:
        require(isfinite(self.ramp) and self.ramp >= 0.0, "ramp", self.ramp, "a time, zero or more")

    def sample(self, time: Samples) -> Samples:
        """Return the (n,) excitation at the times, (n,) in s; nothing before 0 s."""
        grown = np.clip(time / self.ramp, 0.0, 1.0) if self.ramp else (time >= 0.0).astype(np.float64)
        return (0.5 - 0.5 * np.cos(pi * grown)) * self.steady(time)

    @abstractmethod
    def steady(self, time: Samples) -> Samples:
        """Return the (n,) excitation without its start ramp."""


def require_positive(excitation: object, *names: str) -> None:
    """Raise ValueError for the first of the excitation's numbers that is not finite and above zero."""
    for name in names:
        value = getattr(excitation, name)
        require(isfinite(value) and value > 0.0, name, value, "a positive number")


def require(right: bool, name: str, value: float, wanted: str) -> None:
    """Raise ValueError in one line where a number of an excitation is not right."""
    if not right:
        raise ValueError(f"excitation {name} {value}: must be {wanted}")
