"""Integrators of hybrid tests: explicit Newmark, CR, KR-alpha and Rosenbrock-W.

Each is linear in its state and in the load less the restoring force of everything that K does not hold, so that a
step is one product with a matrix. What K does not hold enters explicitly, at the target that it was measured at;
the tangent stiffness of specimens and springs enters the parameters of the methods that are unconditionally stable.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt
from typing import ClassVar, Protocol

import numpy as np

from sim.arrays import Samples
from sim.laboratory.parts import RunningIntegrator
from sim.laboratory.structure import product


@dataclass(frozen=True, eq=False)
class Equations:
    """What is integrated: M x'' + C x' + K x + f = p.

    Parameters
    ----------
    mass, damping, stiffness : M, C and K, (..., n, n).
    tangent : (..., n, n); K with specimens and nonlinear springs at their largest stiffness, N/m.
    dt : s.
    """

    mass: Samples
    damping: Samples
    stiffness: Samples
    tangent: Samples
    dt: float


class Integrator(Protocol):
    """Description of an integrator.

    Attributes
    ----------
    stages : targets in a step, evenly spaced in time; a force is measured at each.
    limit : largest angular frequency times time step at which it is stable for a linear structure.
    """

    stages: ClassVar[int]
    limit: ClassVar[float]

    def begin(self, equations: Equations, load: Samples) -> RunningIntegrator:
        """Return it at rest under the load [N] of the first instant, (..., n)."""


class RunningLinear:
    """An integrator in motion: state' = A state + B (load - force), the stages of a step in turn.

    Parameters
    ----------
    steps : for each stage (..., m, m + n): A and B side by side.
    state : (..., m) at the start; the displacement and velocity of the next target come first.
    dofs : n.

    Attributes
    ----------
    displacement, velocity : (..., n) of the next target, m and m/s: views that change with every step.
    """

    def __init__(self, steps: tuple[Samples, ...], state: Samples, dofs: int) -> None:
        self.steps = steps
        size = state.shape[-1]
        draws = np.broadcast_shapes(state.shape[:-1], *(step.shape[:-2] for step in steps))
        self._inputs = np.zeros((*draws, size + dofs))
        self._state = self._inputs[..., :size]
        self._state[...] = state
        self.displacement: Samples = self._state[..., :dofs]
        self.velocity: Samples = self._state[..., dofs : 2 * dofs]
        self._resultant = self._inputs[..., size:]
        self._stage = 0

    def advance(self, load: Samples, force: Samples) -> None:
        """Take the load and the restoring force [N] at the target, (..., n), and set the next target."""
        np.subtract(load, force, out=self._resultant)
        self._state[...] = product(self.steps[self._stage], self._inputs)
        self._stage = (self._stage + 1) % len(self.steps)


@dataclass(frozen=True)
class ExplicitNewmark:
    """Explicit Newmark: gamma 1/2, beta 0, the central difference method; stable for w dt <= 2, order 2.

    The velocity of a target is extrapolated from the last two half steps, to second order.
    """

    stages: ClassVar[int] = 1
    limit: ClassVar[float] = 2.0

    def begin(self, equations: Equations, load: Samples) -> RunningLinear:
        """Return it at rest under a first load; its state is displacement, velocity and velocity half a step ago."""
        m, c, k, dt = equations.mass, equations.damping, equations.stiffness, equations.dt
        n = m.shape[-1]
        identity, zero = np.eye(n), np.zeros((n, n))
        inverse = _inverse(m / dt + c / 2.0)
        carried, stiff = inverse @ (m / dt - c / 2.0), inverse @ k
        half = _row(-stiff, zero, carried, inverse)
        displacement = _row(identity, zero, zero, zero) + dt * half
        velocity = 1.5 * half - _row(zero, zero, 0.5 * identity, zero)
        step = _column(displacement, velocity, half)
        # at rest at the first instant: half a step before it moved the other way
        return RunningLinear((step,), _state_at_rest(-0.5 * dt * product(_inverse(m), load)), n)


@dataclass(frozen=True)
class ChenRicles:
    """CR: explicit in displacement and velocity, unconditionally stable, no numerical damping, order 2.

    Chen and Ricles 2008, J. Eng. Mech. 134(8). Where the tangent stiffness is exceeded, stable for
    (w^2 - w_tangent^2) dt^2 <= 4 + 4 zeta w dt. The method's own velocity is that of half a step ago; the velocity of
    a target is extrapolated from it to second order, and it starts half a step back.
    """

    stages: ClassVar[int] = 1
    limit: ClassVar[float] = inf

    def begin(self, equations: Equations, load: Samples) -> RunningLinear:
        """Return it at rest under a first load; its state is displacement, velocity and the method's own velocity."""
        m, c, k, dt = equations.mass, equations.damping, equations.stiffness, equations.dt
        n = m.shape[-1]
        identity, zero = np.eye(n), np.zeros((n, n))
        # alpha M^-1, with alpha = 4 (4 M + 2 dt C + dt^2 K)^-1 M
        weight = 4.0 * _inverse(4.0 * m + 2.0 * dt * c + dt**2 * equations.tangent)
        acceleration = _row(-weight @ k, zero, -weight @ c, weight)
        own = _row(zero, zero, identity, zero) + dt * acceleration
        displacement = _row(identity, zero, zero, zero) + dt * own
        step = _column(displacement, own + 0.5 * dt * acceleration, own)
        return RunningLinear((step,), _state_at_rest(-0.5 * dt * product(weight, load)), n)


@dataclass(frozen=True)
class KolayRicles:
    """KR-alpha: as CR, with numerical damping of high frequencies; unconditionally stable, order 2.

    Kolay and Ricles 2014, Earthquake Eng. Struct. Dyn. 43(9). The method's own velocity is that of gamma dt ago;
    the velocity of a target is extrapolated from it to second order.

    Parameters
    ----------
    spectral_radius : of infinite frequency, 0 to 1; 1 has no numerical damping.
    """

    spectral_radius: float = 0.75

    stages: ClassVar[int] = 1
    limit: ClassVar[float] = inf

    def __post_init__(self) -> None:
        if not 0.0 <= self.spectral_radius <= 1.0:
            raise ValueError(f"KR-alpha spectral radius {self.spectral_radius}: must be from 0 to 1")

    def begin(self, equations: Equations, load: Samples) -> RunningLinear:
        """Return it at rest under a load; its state: displacement, velocity, own velocity, acceleration, force."""
        m, c, k, dt = equations.mass, equations.damping, equations.stiffness, equations.dt
        n, rho = m.shape[-1], self.spectral_radius
        alpha_m, alpha_f = (2.0 * rho - 1.0) / (rho + 1.0), rho / (rho + 1.0)
        gamma = 0.5 - alpha_m + alpha_f
        beta = 0.25 * (0.5 + gamma) ** 2
        identity, zero = np.eye(n), np.zeros((n, n))
        dc, ddk = gamma * dt * c, beta * dt**2 * equations.tangent
        inverse = _inverse(m + dc + ddk)
        alpha1 = inverse @ m
        alpha3 = inverse @ (alpha_m * m + alpha_f * (dc + ddk))
        solve = _inverse(m @ (identity - alpha3))
        resultant = _row(-k, zero, -c, zero, zero, identity)
        last = _row(zero, zero, zero, -m @ alpha3, alpha_f * identity, zero)
        acceleration = solve @ ((1.0 - alpha_f) * resultant + last)
        change = dt * alpha1 @ acceleration
        before = _row(zero, zero, identity, zero, zero, zero)
        displacement = _row(identity, zero, dt * identity, zero, zero, zero) + dt * (0.5 + gamma) * change
        step = _column(displacement, before + (1.0 + gamma) * change, before + change, acceleration, resultant)
        start = product(_inverse(m), load)
        state = _state_at_rest(-gamma * dt * product(alpha1, start), start, load)
        return RunningLinear((step,), state, n)


@dataclass(frozen=True)
class RosenbrockW:
    """Rosenbrock-W of two stages, real-time compatible: L-stable, order 2 with any Jacobian.

    Bursi, Gonzalez-Buelga, Vulcan, Neild and Wagg 2008, Earthquake Eng. Struct. Dyn. 37(3) (LSRT2): gamma =
    1 - sqrt(2)/2, alpha_21 = 1/2, gamma_21 = -gamma, b = (0, 1). The first target is where the step begins, the
    second half a step on.
    """

    stages: ClassVar[int] = 2
    limit: ClassVar[float] = inf
    gamma: ClassVar[float] = 1.0 - sqrt(2.0) / 2.0

    def begin(self, equations: Equations, load: Samples) -> RunningLinear:
        """Return it at rest; its state: target, where the step began, first increment, each of x and v."""
        m, c, k, dt = equations.mass, equations.damping, equations.stiffness, equations.dt
        n = m.shape[-1]
        inverse = _inverse(m)
        top = np.zeros((n, n)), np.eye(n)
        rate = _column(_row(*top), _row(-inverse @ k, -inverse @ c))
        jacobian = _column(_row(*top), _row(-inverse @ equations.tangent, -inverse @ c))
        push = _column(np.zeros((n, n)), inverse)
        identity, zero, none = np.eye(2 * n), np.zeros((2 * n, 2 * n)), np.zeros((2 * n, n))
        weight = dt * _inverse(identity - self.gamma * dt * jacobian)
        first = weight @ _row(rate, zero, zero, push)
        base = _row(zero, identity, zero, none)
        second = base + weight @ _row(rate, zero, -self.gamma * jacobian, push)
        steps = (_column(base + 0.5 * first, base, first), _column(second, second, np.zeros_like(second)))
        return RunningLinear(steps, np.zeros((*load.shape[:-1], 6 * n)), n)


def _state_at_rest(*others: Samples) -> Samples:
    """Return (..., m): displacement and velocity zero, then the other parts of a state."""
    arrays = np.broadcast_arrays(*others)
    rest = np.zeros_like(arrays[0])
    return np.concatenate([rest, rest, *arrays], axis=-1)


def _inverse(matrix: Samples) -> Samples:
    return np.asarray(np.linalg.inv(matrix), dtype=np.float64)


def _row(*blocks: Samples) -> Samples:
    """Return blocks side by side."""
    return _joined(blocks, -1)


def _column(*blocks: Samples) -> Samples:
    """Return blocks one below the other."""
    return _joined(blocks, -2)


def _joined(blocks: tuple[Samples, ...], axis: int) -> Samples:
    draws = np.broadcast_shapes(*(block.shape[:-2] for block in blocks))
    return np.concatenate([np.broadcast_to(block, (*draws, *block.shape[-2:])) for block in blocks], axis=axis)
