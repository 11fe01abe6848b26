"""Motions of one tone: a sine, and a sine whose frequency moves."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, pi

import numpy as np

from sim.arrays import Samples
from sim.excitation.base import Excitation, require, require_positive


@dataclass(frozen=True, kw_only=True)
class Harmonic(Excitation):
    """A sine of `amplitude` at `frequency` [Hz]."""

    amplitude: float
    frequency: float

    def __post_init__(self) -> None:
        super().__post_init__()
        require(isfinite(self.amplitude), "amplitude", self.amplitude, "a finite number")
        require_positive(self, "frequency")

    def steady(self, time: Samples) -> Samples:
        """Return the (n,) sine."""
        return self.amplitude * np.sin(2.0 * pi * self.frequency * time)


@dataclass(frozen=True, kw_only=True)
class Sweep(Excitation):
    """A sine whose frequency goes from `start` to `stop` [Hz] linearly in `duration` [s], and stays there."""

    amplitude: float
    start: float
    stop: float
    duration: float

    def __post_init__(self) -> None:
        super().__post_init__()
        require(isfinite(self.amplitude), "amplitude", self.amplitude, "a finite number")
        require_positive(self, "start", "stop", "duration")

    def steady(self, time: Samples) -> Samples:
        """Return the (n,) swept sine."""
        swept = np.clip(time, 0.0, self.duration)
        cycles = self.start * swept + 0.5 * (self.stop - self.start) / self.duration * swept**2
        cycles += self.stop * (time - swept)
        return self.amplitude * np.sin(2.0 * pi * cycles)
