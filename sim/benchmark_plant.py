"""The community's benchmark of a servo-hydraulic actuator with its specimen: five poles, known exactly."""

from __future__ import annotations

from dataclasses import dataclass
from math import pi

import numpy as np
import scipy.signal
from numpy.typing import ArrayLike

from sim.arrays import Response, Samples
from sim.ranges import positive


@dataclass(frozen=True)
class BenchmarkPlant:
    """Actuator and specimen of the community's benchmark problem (Silva et al. 2020), SI units, as published.

    `mass`, `stiffness` and `damping_ratio` are the specimen's; the steps sit behind a zero-order hold.
    """

    mass: float = 29.13
    stiffness: float = 1.190e6
    damping_ratio: float = 0.0097
    a1b0: float = 2.1283e13
    a2: float = 4.2297e6
    a3: float = 3.3
    b1: float = 425.0
    b2: float = 9.9976e4
    gain: float = 1.0261

    @property
    def denominator(self) -> Samples:
        """(6,): powers of s, highest first; the numerator is gain times a1b0."""
        damping = 2.0 * self.damping_ratio * np.sqrt(self.stiffness * self.mass)
        piston = np.polymul([1.0, self.a3], [self.mass, damping, self.stiffness])
        loop = np.polymul([1.0, self.b1, self.b2], np.polyadd(piston, [self.a2, 0.0]))
        return np.asarray(np.polyadd(loop, self.a1b0), dtype=np.float64)

    def stepped(self, dt: float) -> tuple[Samples, Samples, Samples]:
        """Return A (5, 5), B (5, 1) and C (1, 5) behind a zero-order hold of `dt` seconds."""
        # with s dt for s, the coefficients stay near one
        scaled = self.denominator[1:] / self.denominator[0] * positive(dt) ** np.arange(1, 6)
        system = np.vstack([-scaled, np.eye(4, 5)]), np.eye(5, 1), np.eye(1, 5, k=4), np.zeros((1, 1))
        a, b, c, _, _ = scipy.signal.cont2discrete(system, 1.0, method="zoh")
        return a, b, c * (scaled[-1] * self.gain * self.a1b0 / self.denominator[-1])

    def begin_single(self, dt: float, rng: np.random.Generator) -> PlantActuator:  # noqa: ARG002 - it has no noise
        """Return the plant at rest, to be stepped every `dt` seconds."""
        return PlantActuator(self, dt)

    def frequency_response(self, frequency: float) -> complex:
        """Return measured/command at `frequency` [Hz] of the continuous plant."""
        return complex(self.gain * self.a1b0 / np.polyval(self.denominator, 2j * pi * positive(frequency)))

    def response(self, time: ArrayLike, frequency: float, dt: float) -> Response:
        """Return (n,): measured/command of the stepped plant, half a step later than the continuous one."""
        a, b, c = self.stepped(dt)
        shift = np.exp(2j * pi * positive(frequency) * dt)
        return np.full(np.shape(time), (c @ np.linalg.solve(shift * np.eye(5) - a, b))[0, 0])

    def respond(self, command: Samples, dt: float) -> Samples:
        """Return the (n,) measured for a whole record of commands, from rest."""
        _, measured, _ = scipy.signal.dlsim((*self.stepped(dt), np.zeros((1, 1)), dt), command)
        return np.ascontiguousarray(measured[:, 0])


class PlantActuator:
    """A benchmark plant that is stepped sample by sample, from rest at zero."""

    def __init__(self, plant: BenchmarkPlant, dt: float) -> None:
        a, b, c = plant.stepped(dt)
        self.position = 0.0
        self._a, self._b, self._c = a, b[:, 0], c[0]
        self._state = np.zeros(5)

    def step(self, command: float) -> float:
        """Take the next command and return what is measured, which is also `position`."""
        self.position = float(self._c @ self._state)
        self._state = self._a @ self._state + self._b * command
        return self.position
