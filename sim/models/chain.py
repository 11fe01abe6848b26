"""Chains of masses with linear and cubic springs, dampers, Coulomb friction and a contact, and how they move."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sim.arrays import Flags, Samples, check_positive, require
from sim.motion.chain import MOST_STEPS, TOO_MANY_STEPS, advance_chain


class TooStiffError(ValueError):
    """A chain that takes too many steps or events within one sample interval."""


@dataclass(frozen=True, eq=False)
class Contact:
    """A one-sided contact between two masses, or of a mass with a fixed stop: a spring and a damper beside it.

    Its force is k d + c d', where d = x_first - x_second - gap, as long as both d and the force are positive, so
    that it never pulls. Numbers of masses are from 0: the contact between the fifth and the sixth is (4, 5).

    Parameters
    ----------
    first, second : numbers of the masses that approach each other as x_first - x_second grows; second None is a
        fixed stop.
    gap : m, of the chain at zero displacement; negative where they are pressed against each other.
    stiffness, damping : N/m and N s/m. With neither there is no contact.
    """

    first: int
    second: int | None
    gap: ArrayLike
    stiffness: ArrayLike
    damping: ArrayLike = 0.0

    def __post_init__(self) -> None:
        for name in ("gap", "stiffness", "damping"):
            value = _numbers("contact", name, getattr(self, name))
            require(
                name == "gap" or bool(np.all(value.real >= 0.0)), f"contact {name}", np.min(value.real), "0 or more"
            )
            object.__setattr__(self, name, value)


@dataclass(frozen=True, eq=False)
class Chain:
    """Masses in a line: M x'' + C x' + K x + cubic springs + friction + contact = load.

    All parameters may have leading axes, which broadcast: independent sets of parameters.

    Parameters
    ----------
    masses : (..., n) kg.
    springs : (..., s) N/m. Spring i joins mass i - 1 and mass i, and spring 0 the ground and mass 0, where the chain
        is grounded: s = n. Otherwise spring i joins mass i and mass i + 1: s = n - 1.
    dampers : (..., s) N s/m, one beside each spring, or a number for all.
    grounded : whether the chain hangs on the ground, or is free at both ends.
    cubic : (..., s) N/m^3, beside each spring, or a number: the force cubic stretch^3 is added to the spring's, so
        that a positive one hardens (equations 1 and 2 of Hemez and Doebling are lost in print).
    friction : (..., n) N, Coulomb's, between each mass and the fixed rod, or a number. Its limit is the same whether
        a mass sticks or slips.
    contact : one contact, or None.

    Raises
    ------
    ValueError : sizes do not fit, or a number is out of its range.
    """

    masses: ArrayLike
    springs: ArrayLike
    dampers: ArrayLike = 0.0
    grounded: bool = True
    cubic: ArrayLike = 0.0
    friction: ArrayLike = 0.0
    contact: Contact | None = None

    def __post_init__(self) -> None:
        masses = np.atleast_1d(_numbers("chain", "masses", self.masses))
        n = masses.shape[-1]
        check_positive("chain", masses=masses.real)
        object.__setattr__(self, "masses", masses)
        springs = np.atleast_1d(_numbers("chain", "springs", self.springs))
        s = n if self.grounded else n - 1
        if springs.shape[-1] != s:
            kind = "grounded" if self.grounded else "free"
            raise ValueError(f"chain springs of {springs.shape[-1]} beside {n} masses: give {s} for a {kind} chain")
        object.__setattr__(self, "springs", springs)
        for name, size in (("dampers", s), ("cubic", s), ("friction", n)):
            value = _numbers("chain", name, getattr(self, name))
            if value.ndim == 0:
                value = np.full(size, value)
            if value.shape[-1] != size:
                raise ValueError(f"chain {name} of {value.shape[-1]} values: give {size}, or one for all")
            object.__setattr__(self, name, value)
        friction = np.asarray(self.friction)
        require(bool(np.all(friction.real >= 0.0)), "chain friction", np.min(friction.real, initial=0.0), "0 or more")
        if self.contact is not None:
            for mass in (self.contact.first, self.contact.second):
                if mass is not None and not 0 <= mass < n:
                    raise ValueError(f"chain contact with mass {mass}: must be from 0 to {n - 1}")
            if self.contact.first == self.contact.second:
                raise ValueError(f"chain contact of mass {self.contact.first} with itself: give two masses")
        _ = self.sets

    @property
    def sets(self) -> tuple[int, ...]:
        """The leading axes: the shape of the independent sets of parameters."""
        values = [self.masses, self.springs, self.dampers, self.cubic, self.friction]
        shapes = [np.shape(value)[:-1] for value in values]
        if self.contact is not None:
            shapes += [np.shape(value) for value in (self.contact.gap, self.contact.stiffness, self.contact.damping)]
        try:
            return np.broadcast_shapes(*shapes)
        except ValueError:
            raise ValueError(
                f"chain: leading axes {', '.join(map(str, dict.fromkeys(shapes)))} of its parameters do not broadcast"
            ) from None

    @property
    def dofs(self) -> int:
        """Number of masses."""
        return int(np.shape(self.masses)[-1])

    @property
    def linear(self) -> bool:
        """Whether it has no cubic spring, friction or contact."""
        return self.smooth and not np.any(self.cubic)

    @property
    def smooth(self) -> bool:
        """Whether it has neither friction nor contact."""
        touches = self.contact is not None and bool(np.any(self.contact.stiffness) or np.any(self.contact.damping))
        return not touches and not np.any(self.friction)

    def incidence(self) -> Samples:
        """Return (s, n): the stretch of each spring per displacement of a mass."""
        n = self.dofs
        return np.eye(n) - np.eye(n, k=-1) if self.grounded else np.eye(n - 1, n, k=1) - np.eye(n - 1, n)

    @property
    def matrices(self) -> tuple[Samples, Samples, Samples]:
        """M, C and K of the linear part, each (..., n, n)."""
        rows = self.incidence()
        masses = np.asarray(self.masses)
        mass = masses[..., None] * np.eye(self.dofs)
        damping, stiffness = (
            (rows.T * np.asarray(value)[..., None, :]) @ rows for value in (self.dampers, self.springs)
        )
        return mass, damping, stiffness


class ChainMotion(NamedTuple):
    """Displacement, velocity and acceleration of a chain, (..., n_times, n) each in m, m/s and m/s^2.

    A set of parameters whose motion grows without bound is NaN from the sample after.
    """

    displacement: Samples
    velocity: Samples
    acceleration: Samples

    @property
    def diverged(self) -> Flags:
        """(...): whether a motion has grown without bound."""
        return np.asarray(~np.isfinite(self.acceleration[..., -1, :]).all(axis=-1))


def chain_response(
    chain: Chain,
    load: ArrayLike,
    dt: float,
    displacement0: ArrayLike = 0.0,
    velocity0: ArrayLike = 0.0,
    *,
    substeps: int | None = None,
    tolerance: float = 1e-9,
) -> ChainMotion:
    """Return the motion of a chain under a load that is linear between its samples.

    A linear chain is exact to rounding: its matrix exponential. Any other is integrated by Runge-Kutta of order 5
    with located events, see `sim.motion.chain`; accelerations that jump at a sample are those after the jump.

    Parameters
    ----------
    chain : its leading axes are those of the motion, broadcast with those of the load and the initial motion.
    load : (..., n_times, n) N at the samples.
    dt : s between samples.
    displacement0, velocity0 : (..., n) m and m/s.
    substeps : fixed number of steps in a sample interval; None halves them as the tolerance asks for.
    tolerance : of the local error of a step, relative to the largest displacement and velocity so far. The motion of
        a chain that is not chaotic is within about 100 times as much of its largest (measured: tests/sim).

    Raises
    ------
    ValueError : sizes do not fit, or a number is out of its range.
    TooStiffError : the chain is too stiff for its samples.
    """
    check_positive("chain response", dt=dt, tolerance=tolerance)
    if substeps is not None:
        require(substeps >= 1, "chain response substeps", substeps, "1 or more")
    n = chain.dofs
    force = np.atleast_1d(_numbers("chain", "load", load))
    if force.ndim < 2 or force.shape[-1] != n or not force.shape[-2]:
        raise ValueError(
            f"chain load of shape {force.shape}: give (n_times, {n}), a force on each mass at each sample"
        )
    start = [_numbers("chain", name, x) for name, x in (("displacement0", displacement0), ("velocity0", velocity0))]
    for name, value in zip(("displacement0", "velocity0"), start, strict=True):
        if value.ndim and value.shape[-1] not in (1, n):
            raise ValueError(f"chain {name} of shape {value.shape}: give one for each of {n} masses")
    try:
        sets = np.broadcast_shapes(chain.sets, force.shape[:-2], *(value.shape[:-1] for value in start))
    except ValueError:
        raise ValueError(
            f"chain load of shape {force.shape} and initial motion of {start[0].shape} and {start[1].shape} beside "
            f"parameters of leading axes {chain.sets}: they do not broadcast"
        ) from None
    initial = np.stack([np.broadcast_to(value, (*sets, n)) for value in start], axis=-2)
    if chain.linear and substeps is None:
        _, damping, stiffness = chain.matrices
        return ChainMotion(*_linear_motion(np.asarray(chain.masses), damping, stiffness, force, dt, initial))
    return ChainStepper(chain, dt, initial, substeps or 0, tolerance).advance(force)


# terms of a Taylor series at a norm of 1/2: the next is 1e-19
_TERMS = 15


def _linear_motion(
    masses: Samples, damping: Samples, stiffness: Samples, force: Samples, dt: float, initial: Samples
) -> tuple[Samples, Samples, Samples]:
    """Return displacement, velocity and acceleration, (..., n_times, n) each; NaN from where they are infinite.

    Parameters
    ----------
    masses : (..., n) kg.
    damping, stiffness : (..., n, n).
    force : (..., n_times, n) N, linear between samples.
    dt : s.
    initial : (..., 2, n), displacement and velocity, of the shape of all leading axes.

    Raises
    ------
    ValueError : stiffness times dt squared is infinite.
    """
    n, n_times = masses.shape[-1], force.shape[-2]
    inverse = 1.0 / masses[..., None]
    draws = np.broadcast_shapes(masses.shape[:-1], damping.shape[:-2], stiffness.shape[:-2])
    # velocities times dt / pace and loads times unit, so that no block is larger than what moves fastest
    pace = np.sqrt(max(1.0, float(np.max(np.abs(dt * dt * inverse * stiffness), initial=0.0))))
    unit = float(np.max(np.abs(inverse))) * dt * dt / pace
    rate = np.zeros((*draws, 4 * n, 4 * n), dtype=np.result_type(inverse, damping, stiffness))
    rate[..., :n, n : 2 * n] = pace * np.eye(n)
    rate[..., 2 * n : 3 * n, 3 * n :] = np.eye(n)
    rate[..., n : 2 * n, :n] = -dt * dt / pace * inverse * stiffness
    rate[..., n : 2 * n, n : 2 * n] = -dt * inverse * damping
    rate[..., n : 2 * n, 2 * n : 3 * n] = dt * dt / pace / unit * inverse * np.eye(n)
    step = _exponential(rate)[..., : 2 * n, :]
    free, pushed, changed = step[..., : 2 * n], unit * step[..., 2 * n : 3 * n], unit * step[..., 3 * n :]
    change = np.diff(force, axis=-2)
    # time first: one contiguous row a step
    inputs = np.moveaxis(_product(pushed, force[..., :-1, :]) + _product(changed, change), -2, 0)[..., None]
    sets = initial.shape[:-2]
    states = np.empty((n_times, *sets, 2 * n, 1), dtype=np.result_type(step, force, initial))
    states[0, ..., :n, 0], states[0, ..., n:, 0] = initial[..., 0, :], dt / pace * initial[..., 1, :]
    with np.errstate(over="ignore", invalid="ignore"):
        for now in range(n_times - 1):
            states[now + 1] = free @ states[now] + inputs[now]
        moved = np.moveaxis(states[..., 0], 0, -2)
        displacement, velocity = moved[..., :n], moved[..., n:] * (pace / dt)
        resultant = force - _product(stiffness, displacement) - _product(damping, velocity)
        acceleration = resultant / masses[..., None, :]
    if not np.isfinite(acceleration).all():
        lost = np.logical_or.accumulate(~np.isfinite(acceleration).all(axis=-1, keepdims=True), axis=-2)
        return (
            np.where(lost, np.nan, displacement),
            np.where(lost, np.nan, velocity),
            np.where(lost, np.nan, acceleration),
        )
    return displacement, velocity, acceleration


def _product(matrix: Samples, rows: Samples) -> Samples:
    """Return (..., n_times, m): each (..., m, n) matrix times the rows of (..., n_times, n)."""
    return np.asarray(rows @ np.swapaxes(matrix, -1, -2))


def _exponential(matrix: Samples) -> Samples:
    """Return (..., n, n): exp of matrices, by Taylor's series after halving and squaring."""
    norm = float(np.max(np.sum(np.abs(matrix), axis=-2)))
    require(bool(np.isfinite(norm)), "chain stiffness times dt squared over mass", norm, "a finite number")
    halvings = max(0, int(np.ceil(np.log2(max(norm, 0.5)))) + 1)
    scaled, unit = matrix / 2.0**halvings, np.eye(matrix.shape[-1])
    power = unit + scaled / _TERMS
    for term in range(_TERMS - 1, 0, -1):
        power = unit + scaled @ power / term
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(halvings):
            power = power @ power
    return np.asarray(power)


def _numbers(owner: str, name: str, value: ArrayLike) -> Samples:
    try:
        array = np.asarray(value)
        array = array if np.iscomplexobj(array) else np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{owner} {name}: must be numbers") from None
    require(bool(np.isfinite(array).all()), f"{owner} {name}", "with NaN or infinity", "finite")
    return array


class ChainStepper:
    """A chain that moves on from where it is; however the load is divided, the motion is the same to the last bit.

    Parameters
    ----------
    chain : its leading axes broadcast to those of the initial motion.
    dt : s between samples of the load.
    initial : (..., 2, n), displacement and velocity.
    substeps : fixed number of steps in a sample interval; 0 halves them as the tolerance asks for.
    tolerance : of the local error of a step, relative to the largest motion so far.

    Raises
    ------
    ValueError : a parameter is complex.
    """

    def __init__(self, chain: Chain, dt: float, initial: Samples, substeps: int, tolerance: float) -> None:
        values = chain.masses, chain.springs, chain.dampers, chain.cubic, chain.friction, initial
        if any(map(np.iscomplexobj, values)):
            raise _complex_numbers()
        self._sets, self._n = initial.shape[:-2], chain.dofs
        m = int(np.prod(self._sets, dtype=np.int64))

        def rows(value: ArrayLike) -> Samples:
            each = np.asarray(value, dtype=np.float64)
            # copies: a read-only array would have the kernel compiled again
            return np.array(np.broadcast_to(each, (*self._sets, each.shape[-1])).reshape(m, -1), order="C")

        self._pair, law = np.array([-1, -1]), np.zeros(3)
        contact = chain.contact
        if contact is not None and not chain.smooth:
            self._pair = np.array([contact.first, -1 if contact.second is None else contact.second])
            law = np.stack(np.broadcast_arrays(contact.gap, contact.stiffness, contact.damping), axis=-1)
        masses, springs, dampers = rows(chain.masses), rows(chain.springs), rows(chain.dampers)
        self._parameters = masses, springs, dampers, rows(chain.cubic), rows(chain.friction), rows(law)
        self._grounded, self._dt = bool(chain.grounded), float(dt)
        self._substeps, self._tolerance = int(substeps), float(tolerance)
        self._state = np.array(initial, dtype=np.float64, order="C").reshape(m, 2, self._n)
        self._memory = np.zeros((m, 4))
        self._samples = 0

    def advance(self, force: Samples) -> ChainMotion:
        """Return the motion at the samples of a load, (..., n_times, n) N, of which the first is where the chain is.

        The next load begins with the last sample of this one.

        Raises
        ------
        ValueError : the load is complex.
        TooStiffError : the chain is too stiff for its samples.
        """
        if np.iscomplexobj(force):
            raise _complex_numbers()
        n, n_times, m = self._n, force.shape[-2], len(self._state)
        shared = int(np.prod(force.shape[:-2], dtype=np.int64)) == 1
        full = force if shared else np.broadcast_to(force, (*self._sets, n_times, n))
        motion, ended = np.empty((3, m, n_times, n)), np.empty((m, 2), dtype=np.int64)
        advance_chain(
            self._parameters,
            self._pair,
            self._grounded,
            np.array(full, dtype=np.float64, order="C").reshape(-1, n_times, n),
            self._dt,
            self._state,
            self._substeps,
            self._tolerance,
            self._memory,
            motion,
            ended,
        )
        stiff = np.flatnonzero(ended[:, 0] == TOO_MANY_STEPS)
        if stiff.size:
            raise TooStiffError(
                f"chain: more than {MOST_STEPS} steps or events after "
                f"{self._dt * (self._samples + ended[stiff[0], 1]):.6g} s, within one sample "
                "interval: give a smaller dt, or softer springs and contact"
            )
        self._state = np.ascontiguousarray(np.moveaxis(motion[:2, :, -1], 0, 1))
        self._samples += n_times - 1
        return ChainMotion(*(each.reshape(*self._sets, n_times, n) for each in motion))


def _complex_numbers() -> ValueError:
    return ValueError("chain response of complex numbers: only a linear chain has it, without fixed substeps")
