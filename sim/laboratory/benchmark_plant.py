"""The community's benchmark of a servo-hydraulic actuator with its specimen: five poles, known exactly."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import pi

import numpy as np
import scipy.signal
from numpy.typing import ArrayLike

from sim.arrays import Response, Samples
from sim.laboratory.parts import Shape
from sim.laboratory.plants import RunningPlant, StateSpaceSteps, transfer_function_steps
from sim.ranges import check_not_negative, check_positive

# of the normal distributions of the problem's released program, F1_input_file.m; the others are not drawn there
STIFFNESS_SCATTER = 50e3
B1_SCATTER = 3.3
B2_SCATTER = 3.3e3
A3_SCATTER = 1.3


@dataclass(frozen=True)
class BenchmarkPlant:
    """Actuator and specimen of the community's benchmark problem (Silva et al. 2020), SI units, as published.

    From the command to the position, behind a zero-order hold. The parameters may be arrays that broadcast.

    Parameters
    ----------
    mass, stiffness, damping_ratio : of the specimen, kg, N/m and 1.
    a1b0, a2, a3, b1, b2, gain : of servo-valve, actuator and controller.
    """

    mass: float | Samples = 29.13
    stiffness: float | Samples = 1.190e6
    damping_ratio: float | Samples = 0.0097
    a1b0: float | Samples = 2.1283e13
    a2: float | Samples = 4.2297e6
    a3: float | Samples = 3.3
    b1: float | Samples = 425.0
    b2: float | Samples = 9.9976e4
    gain: float | Samples = 1.0261

    def __post_init__(self) -> None:
        check_positive("benchmark plant", mass=self.mass, stiffness=self.stiffness, a1b0=self.a1b0, gain=self.gain)
        check_not_negative("benchmark plant", damping_ratio=self.damping_ratio)

    @property
    def damping(self) -> float | Samples:
        """Of the specimen, N s/m."""
        return 2.0 * self.damping_ratio * np.sqrt(self.stiffness * self.mass)

    @property
    def denominator(self) -> Samples:
        """(..., 6): powers of s, highest first; the numerator is gain times a1b0."""
        m, c, k = self.mass, self.damping, self.stiffness
        # of the specimen and the piston with their velocity feedback
        p3, p2, p1, p0 = m, c + self.a3 * m, k + self.a3 * c + self.a2, self.a3 * k
        b1, b2 = self.b1, self.b2
        powers = p3, p2 + b1 * p3, p1 + b1 * p2 + b2 * p3, p0 + b1 * p1 + b2 * p2, b1 * p0 + b2 * p1, b2 * p0
        return np.stack(np.broadcast_arrays(*powers[:5], powers[5] + self.a1b0), axis=-1)

    def steps(self, dt: float) -> StateSpaceSteps:
        """Return its steps of `dt` seconds."""
        numerator = np.asarray(self.gain * self.a1b0, dtype=np.float64)[..., np.newaxis]
        return transfer_function_steps(numerator, self.denominator, dt)

    def begin(self, dt: float, shape: Shape, rng: np.random.Generator) -> RunningPlant:  # noqa: ARG002 - no noise
        """Return the plant at rest, to be stepped every `dt` seconds with arrays of `shape`."""
        return self.steps(dt).begin(shape)

    def frequency_response(self, frequency: ArrayLike) -> Response:
        """Return position/command at `frequency` [Hz] of the continuous plant."""
        s = 2j * pi * np.asarray(frequency, dtype=np.float64)
        powers = np.moveaxis(self.denominator, -1, 0)
        return np.asarray(self.gain * self.a1b0 / sum(p * s ** (5 - i) for i, p in enumerate(powers)))

    def response(self, frequency: ArrayLike, dt: float) -> Response:
        """Return position/command at `frequency` [Hz] of the steps: half a step later than the continuous plant."""
        return self.steps(dt).response(frequency, dt)

    def respond(self, command: Samples, dt: float) -> Samples:
        """Return the (n,) position for a whole record of commands, from rest; parameters are single numbers."""
        ((_, position),) = self.responses((command,), dt)
        return position

    def responses(self, commands: Iterable[Samples], dt: float) -> Iterator[tuple[Samples, Samples]]:
        """Give pieces of a record of commands, (n,) each and not empty, each with the position, as `respond` does."""
        a, b, c, d = self.steps(dt)
        system = a, b[:, np.newaxis], c[np.newaxis], d.reshape(1, 1), dt
        state: Samples | None = None
        for command in commands:
            _, position, states = scipy.signal.dlsim(system, command, x0=state)
            state = a @ states[-1] + b * command[-1]
            yield command, np.ascontiguousarray(position[:, 0])


def drawn_plants(n_draws: int, seed: int) -> BenchmarkPlant:
    """Return plants of uncertain stiffness, a3, b1 and b2, (n_draws, 1) for one actuator, as the problem draws them.

    The released program draws them from normal distributions about the nominal values and keeps the others; the
    damping follows the stiffness at the same damping ratio. Each draw has a stream of its own: fewer draws of the
    same seed are the first of more.
    """
    nominal, streams = BenchmarkPlant(), np.random.SeedSequence(seed).spawn(n_draws)
    drawn = np.stack([np.random.default_rng(stream).standard_normal((4, 1)) for stream in streams], axis=1)
    return BenchmarkPlant(
        stiffness=nominal.stiffness + STIFFNESS_SCATTER * drawn[0],
        a3=nominal.a3 + A3_SCATTER * drawn[1],
        b1=nominal.b1 + B1_SCATTER * drawn[2],
        b2=nominal.b2 + B2_SCATTER * drawn[3],
    )
