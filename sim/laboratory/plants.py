"""Linear plants as parts of a transfer system, discretised behind a zero-order hold, and the benchmark's actuator.

They need scipy. The community's benchmark is a servo-hydraulic actuator with its specimen: five poles, known exactly.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import pi
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import scipy.signal
from numpy.typing import ArrayLike

from sim.arrays import Response, Samples, check_not_negative, check_positive, positive
from sim.laboratory.parts import Shape
from sim.laboratory.transfer import fit, step_shift

System = scipy.signal.TransferFunction | scipy.signal.StateSpace | scipy.signal.ZerosPolesGain

_MARGIN = 1e-9
# of the normal distributions of the problem's released program, F1_input_file.m; the others are not drawn there
STIFFNESS_SCATTER = 50e3
B1_SCATTER = 3.3
B2_SCATTER = 3.3e3
A3_SCATTER = 1.3


class StateSpaceSteps(NamedTuple):
    """x_{n+1} = a x_n + b u_n, y_n = c x_n + d u_n for one input and output.

    ``a`` is (states, states, ...), ``b`` and ``c`` are (states, ...), ``d`` is (...), where the dots are the axes of
    the parameters.
    """

    a: Samples
    b: Samples
    c: Samples
    d: Samples

    def begin(self, shape: Shape) -> RunningPlant:
        """Return the plant at rest, to be stepped with arrays of `shape`."""
        fit("plant", self.d, shape)
        return RunningPlant(self, shape)

    def response(self, frequency: ArrayLike, dt: float) -> Response:
        """Return output/input at `frequency` [Hz] in the steady state of steps of `dt` seconds."""
        a, b, c = np.moveaxis(self.a, (0, 1), (-2, -1)), np.moveaxis(self.b, 0, -1), np.moveaxis(self.c, 0, -1)
        z = 1.0 / step_shift(frequency, dt)[..., np.newaxis, np.newaxis]
        x = np.linalg.solve(z * np.eye(len(self.b)) - a, b[..., np.newaxis])[..., 0]
        return np.asarray(np.sum(c * x, axis=-1) + self.d)


class RunningPlant:
    """A linear plant in motion.

    Attributes
    ----------
    state : (states, ...) of the next step.
    """

    def __init__(self, steps: StateSpaceSteps, shape: Shape) -> None:
        self._steps, self._feeds_through = steps, bool(np.any(steps.d))
        a, b = steps.a, steps.b
        self._b = b.reshape(len(b), *(1,) * (len(shape) - b.ndim + 1), *b.shape[1:])
        self._a = a.reshape(len(a), len(a), *(1,) * (len(shape) - a.ndim + 2), *a.shape[2:])
        self.state = np.zeros((len(b), *shape))

    def step(self, signal: Samples, force: Samples) -> Samples:  # noqa: ARG002 - the plant includes its specimen
        """Return the output of this step, before the input of this step has moved it unless it feeds through."""
        output = np.asarray(np.einsum("i...,i...->...", self._steps.c, self.state))
        if self._feeds_through:
            output += self._steps.d * signal
        self.state = np.einsum("ij...,j...->i...", self._a, self.state)
        self.state += self._b * signal
        return output


class _Plant(ABC):
    """A plant whose steps decide all else."""

    @abstractmethod
    def steps(self, dt: float) -> StateSpaceSteps:
        """Return its steps of `dt` seconds."""

    def begin(self, dt: float, shape: Shape, rng: np.random.Generator) -> RunningPlant:  # noqa: ARG002 - no noise
        """Return it at rest, to be stepped every `dt` seconds with arrays of `shape`."""
        return self.steps(dt).begin(shape)

    def response(self, frequency: ArrayLike, dt: float) -> Response:
        """Return output/input at `frequency` [Hz] of the steps, exact; of a continuous plant half a step later."""
        return self.steps(dt).response(frequency, dt)


@dataclass(frozen=True)
class LinearPlant(_Plant):
    """A plant that is given as a `scipy.signal` system: from the command to the position.

    A continuous system is put behind a zero-order hold; a discrete one must have the time step of the loop. Poles on
    the limit of stability are allowed, unstable ones are not: a transfer system is stable by itself.

    Parameters
    ----------
    system : TransferFunction, StateSpace or ZerosPolesGain, continuous or discrete, of one input and output.

    Raises
    ------
    ValueError : the system is not proper, unstable, or not of one input and output.
    """

    system: System

    def __post_init__(self) -> None:
        system: Any = self.system
        if not isinstance(system, System):
            raise ValueError(f"plant is a {type(system).__name__}: give a system of scipy.signal")  # noqa: TRY004
        if isinstance(system, scipy.signal.StateSpace):
            outputs, inputs = system.D.shape
            if (inputs, outputs) != (1, 1):
                raise ValueError(f"plant has {inputs} inputs and {outputs} outputs: give one of each per actuator")
        else:
            n_zeros, n_poles = np.size(system.zeros), np.size(system.poles)
            if n_zeros > n_poles:
                raise ValueError(f"plant is not proper, with {n_zeros} zeros and {n_poles} poles: add poles")
        # the poles that scipy gives for matrices are those of a polynomial, and less exact
        if isinstance(system, scipy.signal.StateSpace):
            poles = np.linalg.eigvals(_matrices(system)[0])
        else:
            poles = np.atleast_1d(system.poles)
        if isinstance(system, scipy.signal.dlti):
            growing = np.abs(poles) > 1.0 + _MARGIN
        else:
            growing = poles.real > _MARGIN * np.max(np.abs(poles), initial=0.0)
        if np.any(growing):
            raise ValueError(f"plant is unstable, with a pole at {poles[growing][0]:.6g}: close its own loop first")

    def steps(self, dt: float) -> StateSpaceSteps:
        """Return its steps of `dt` seconds; raises ValueError for a discrete system of another time step."""
        system: Any = self.system
        if isinstance(system, scipy.signal.dlti):
            if isinstance(system.dt, bool) or abs(system.dt - positive(dt)) > 1e-9 * dt:
                raise ValueError(f"plant of time step {system.dt} in a loop of {dt} s: discretise it for this step")
            return _single(*_matrices(system.to_ss()))
        if isinstance(system, scipy.signal.StateSpace):
            a, b, c, d = _matrices(system)
            balanced, (scale, _) = scipy.linalg.matrix_balance(a, permute=False, separate=True)
            a, b = _hold(np.asarray(balanced * positive(dt)), b / scale[:, np.newaxis] * dt)
            return _single(a, b, c * scale, d)
        if isinstance(system, scipy.signal.ZerosPolesGain):
            # its polynomials in s dt, whose coefficients are near one
            zeros, poles = np.atleast_1d(system.zeros) * positive(dt), np.atleast_1d(system.poles) * dt
            scaled = scipy.signal.ZerosPolesGain(zeros, poles, system.gain * dt ** (poles.size - zeros.size)).to_tf()
            return _transfer_function_steps(np.atleast_1d(scaled.num), np.atleast_1d(scaled.den), 1.0)
        return _transfer_function_steps(np.atleast_1d(system.num), np.atleast_1d(system.den), dt)


def _transfer_function_steps(numerator: Samples, denominator: Samples, dt: float) -> StateSpaceSteps:
    """Return the steps of a continuous plant behind a zero-order hold of `dt` seconds.

    The state is that of the controllable canonical form with s dt for s, whose coefficients are near one:
    state i is the response of (s dt)^(n - 1 - i)/denominator, all divided by the first coefficient.

    Parameters
    ----------
    numerator, denominator : (..., m) and (..., n + 1), of powers of s, highest first; m <= n + 1.
    """
    order = denominator.shape[-1] - 1
    powers = positive(dt) ** np.arange(order + 1)
    scaled = denominator / denominator[..., :1] * powers
    padded = np.zeros((*numerator.shape[:-1], order + 1))
    padded[..., order + 1 - numerator.shape[-1] :] = numerator
    padded = padded / denominator[..., :1] * powers
    a = np.zeros((*denominator.shape[:-1], order, order))
    a[..., :1, :] = -scaled[..., np.newaxis, 1:]
    a[..., 1:, :-1] = np.eye(order)[1:, 1:]
    b = np.zeros((*denominator.shape[:-1], order, 1))
    b[..., :1, :] = 1.0
    a, b = _hold(a, b)
    d = padded[..., 0]
    c = padded[..., 1:] - d[..., np.newaxis] * scaled[..., 1:]
    return StateSpaceSteps(
        np.ascontiguousarray(np.moveaxis(a, (-2, -1), (0, 1))),
        np.ascontiguousarray(np.moveaxis(b[..., 0], -1, 0)),
        np.ascontiguousarray(np.moveaxis(c, -1, 0)),
        d,
    )


def _hold(a: Samples, b: Samples) -> tuple[Samples, Samples]:
    """Return the matrices of one step behind a hold, of a system whose time is counted in steps."""
    order = a.shape[-1]
    block = np.zeros((*a.shape[:-2], order + 1, order + 1))
    block[..., :order, :order], block[..., :order, order:] = a, b
    stepped = scipy.linalg.expm(block)
    return stepped[..., :order, :order], stepped[..., :order, order:]


def _matrices(system: Any) -> tuple[Samples, Samples, Samples, Samples]:
    """Return A, B, C and D of a StateSpace."""
    a, b, c, d = (np.asarray(matrix, dtype=np.float64) for matrix in (system.A, system.B, system.C, system.D))
    return a, b, c, d


def _single(a: Samples, b: Samples, c: Samples, d: Samples) -> StateSpaceSteps:
    """Return the steps of matrices with one column of inputs and one row of outputs."""
    return StateSpaceSteps(a, b[:, 0], c[0], d[0, 0])


@dataclass(frozen=True)
class BenchmarkPlant(_Plant):
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
        return _transfer_function_steps(numerator, self.denominator, dt)

    def frequency_response(self, frequency: ArrayLike) -> Response:
        """Return position/command at `frequency` [Hz] of the continuous plant."""
        s = 2j * pi * np.asarray(frequency, dtype=np.float64)
        powers = np.moveaxis(self.denominator, -1, 0)
        return np.asarray(self.gain * self.a1b0 / sum(p * s ** (5 - i) for i, p in enumerate(powers)))

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
