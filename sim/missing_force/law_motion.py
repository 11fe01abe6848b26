"""Motion of a linear structure with force laws, and its derivatives by their coefficients and by the first state.

Runge-Kutta of order four. A force with terms of sign v slides to either side, or is held: its friction is then what
keeps its rate zero, no more than its law. A step is cut at the first change within it, where the derivatives jump.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from sim.arrays import Flags, Integers, Samples
from sim.fitting.regression import Regression
from sim.kernels import inlined, kernel, part
from sim.laboratory.structure import highest_frequency
from sim.missing_force.law_terms import Model, State, Term, has_memory, law_rates, power_of, rate_at
from sim.missing_force.smoother import ForceProblem
from sim.missing_force.state_space import QUANTITIES

# of the time in which a hysteretic force would settle: the longest step, less than half of what is stable
_SETTLING, _MOST_PIECES = 0.5, 16
# cuts of one step at events; more are of forces that change their signs without an end
_MOST_CUTS = 40
# of a step: how exactly an event is located
_LOCATED = 1e-11
# of the largest rate so far, and of the friction force: an event function below minus this is negative
_NEGATIVE = 1e-13
# largest phase of the highest mode per Runge-Kutta step: the error of its phase is 1e-6 per radian; less where a rate
# jumps as the motion turns
_PHASE, _TURNING_PHASE = 0.1, 0.025


@dataclass(frozen=True, eq=False)
class LawResponse(Regression):
    """What the sensors of a problem would measure if the missing forces had laws, each sample over its noise.

    The sign of a rate is Coulomb's: it jumps, and holds a rate at zero. Sensitivities are exact, to the error of the
    integration. A motion that diverges has infinite responses.

    Parameters
    ----------
    problem : structure, load, sensors and samples. All loads must be known.
    laws : for each force its terms.
    sigma : (s,) standard deviations of the sensors.

    Raises
    ------
    ValueError : a load is not known, or there is not one law for each force.
    """

    problem: ForceProblem
    laws: Sequence[Sequence[Term]]
    sigma: Samples
    _shape: Integers = field(init=False)
    _at: Integers = field(init=False)
    _sampled: Flags = field(init=False)
    _substeps: Integers = field(init=False)

    def __post_init__(self) -> None:
        problem = self.problem
        if len(self.laws) != problem.n_forces:
            raise ValueError(f"law response: {len(self.laws)} laws of {problem.n_forces} forces: give one each")
        if not np.all(np.isfinite(np.asarray(problem.load))):
            raise ValueError("law response: the load is not finite everywhere: give a stretch in which it is known")
        rows = [[t.x_power, t.x_odd, t.v_power, t.v_odd, t.exponent] for law in self.laws for t in law]
        mass, _, stiffness = problem.structure.matrices
        phase = 2.0 * np.pi * highest_frequency(mass, stiffness) * np.diff(problem.time)
        most = _TURNING_PHASE if any(map(has_memory, self.laws)) else _PHASE
        for name, value in (
            ("_shape", np.array(rows, dtype=np.int64).reshape(-1, 5)),
            ("_at", np.array([e for e, law in enumerate(self.laws) for _ in law], dtype=np.int64)),
            ("_sampled", np.isfinite(problem.observed)),
            ("_substeps", np.maximum(1, np.ceil(phase / most)).astype(np.int64)),
        ):
            object.__setattr__(self, name, value)

    @property
    def names(self) -> tuple[str, ...]:
        """Of coefficients, with the number of the force where there are several, then x0_1.., v0_1.., h0_1..."""
        several = len(self.laws) > 1
        terms = [t.name + f" ({e + 1})" * several for e, law in enumerate(self.laws) for t in law]
        n = self.problem.structure.dofs
        first = [f"h0_{e + 1}" for e, law in enumerate(self.laws) if has_memory(law)]
        return (*terms, *(f"{name}0_{dof + 1}" for name in "xv" for dof in range(n)), *first)

    @property
    def sensor(self) -> Integers:
        """(n,): of which sensor each sample is."""
        return np.asarray(np.nonzero(self._sampled)[1])

    @property
    def observed(self) -> Samples:
        """(n,): the samples that are not missing over their noise, time after time."""
        return np.asarray((self.problem.observed / self.sigma)[self._sampled])

    def motion(self, parameters: Samples) -> tuple[Samples, Samples, Samples, Samples]:
        """Return states (m, N, d), forces (m, N, f), and derivatives of both by (m, p) parameters."""
        problem, parameters = self.problem, np.ascontiguousarray(np.atleast_2d(parameters), dtype=np.float64)
        n, (m, p), count = problem.structure.dofs, parameters.shape, len(problem.time)
        d = p - len(self._shape)
        state, by = np.empty((m, count, d)), np.empty((m, count, d, p))
        forces, forces_by = np.empty((m, count, problem.n_forces)), np.empty((m, count, problem.n_forces, p))
        ground = np.asarray(problem.ground) @ np.asarray(problem.forces)
        load = np.hstack([np.asarray(problem.load) @ problem.physics.input[n:].T, ground])
        law_motion(
            problem.physics.system, np.ascontiguousarray(problem.physics.unknown[n:]),
            np.ascontiguousarray(problem.forces, dtype=np.float64), self._shape, self._at,
            load, problem.time, self._substeps, parameters,
            state, by, forces, forces_by,
        )  # fmt: skip
        return state, forces, by, forces_by

    def evaluate(self, parameters: Samples) -> tuple[Samples, Samples]:
        """Return responses, (m, n), and their derivatives, (m, n, p)."""
        state, forces, by, forces_by = self.motion(parameters)
        by_state, _, by_force = self.problem.physics.acceleration
        n = self.problem.structure.dofs
        response, sensitivities = [], []
        for sensor, sigma in zip(self.problem.sensors, self.sigma.tolist(), strict=True):
            at = sensor.dof - 1
            if sensor.quantity == "acceleration":
                # what the load adds at once is not in the samples of the problem
                one = state[..., : 2 * n] @ by_state[at] + forces @ by_force[at]
                each = np.einsum("d,mtdp->mtp", by_state[at], by[:, :, : 2 * n])
                each += np.einsum("f,mtfp->mtp", by_force[at], forces_by)
            else:
                row = at + n * QUANTITIES.index(sensor.quantity)
                one, each = state[..., row], by[..., row, :]
            response.append(one / sigma)
            sensitivities.append(each / sigma)
        return (np.stack(response, axis=-1)[:, self._sampled], np.stack(sensitivities, axis=2)[:, self._sampled])


class Room(NamedTuple):
    """What steps work in: the load, (n + f,), a state and its derivatives, and numbers of forces, see `law_rates`."""

    load: Samples
    z: Samples
    by: Samples
    work: Samples


@kernel
def law_motion(
    system: Samples, unknown: Samples, places: Samples, shape: Integers, at: Integers,
    load: Samples, time: Samples, substeps: Integers, parameters: Samples,
    state: Samples, sensitivities: Samples, forces: Samples, forces_by: Samples,
) -> None:  # fmt: skip
    """Fill motions of m sets of parameters.

    Parameters
    ----------
    system, unknown, places, shape, at : of `Model`.
    load : (N, n + f), as accelerations, and those of the ground along the forces, linear between instants.
    time, substeps : (N,), (N - 1,).
    parameters : (m, k + d): coefficients, and the state at the first instant.
    state, sensitivities : (m, N, d), (m, N, d, k + d), filled. Not finite from where a motion diverges.
    forces, forces_by : (m, N, f), (m, N, f, k + d), filled: what the laws amount to.
    """
    (n, f), (k, p) = places.shape, (len(shape), parameters.shape[1])
    d, rubs, drags = p - k, np.zeros(f, np.bool_), np.zeros(f, np.bool_)
    memory = 2 * n - 1 + np.cumsum(shape[:, 4] > 0)
    for j in range(k):
        rubs[at[j]] |= shape[j, 2] == 0 and shape[j, 3] == 1 and shape[j, 4] == 0
        drags[at[j]] |= shape[j, 4] == -2
    model = Model(system, unknown, places, shape, at, memory, rubs, drags, np.empty(k), np.zeros(f, np.int64))
    largest, loads = np.zeros(f), np.empty((2, n + f))
    now, work = _state(d, f, p), np.empty((6 + 2 * f + p, max(k, f)))
    room = Room(np.empty(n + f), np.empty(d), np.empty((d, p)), work)
    # the forces are those of the state that was last computed
    end = State(np.empty(d), np.empty((d, p)), np.empty(d), np.empty((d, p)), now.force, now.force_by)
    # the same without derivatives, to locate events
    tried, bare = _state(d, f, 0), Room(room.load, room.z, np.empty((d, 0)), room.work)
    for m in range(len(parameters)):
        model.coefficients[:] = parameters[m, :k]
        now.z[:], now.by[:] = parameters[m, k:], 0.0
        for a in range(d):
            now.by[a, k + a] = 1.0
        largest[:] = 1e-300
        for e in range(f):
            model.mode[e] = -1 if rate_at(model, e, now.z) < 0.0 else 1
        for i in range(len(time)):
            loads[0] = load[i]
            if i == 0:
                law_rates(model, loads[0], now.z, now.by, now, room.work)
            state[m, i], sensitivities[m, i], forces[m, i], forces_by[m, i] = now.z, now.by, now.force, now.force_by
            if i + 1 == len(time):
                break
            whole = time[i + 1] - time[i]
            loads[1] = (load[i + 1] - load[i]) / whole
            since = 0.0
            for s in range(substeps[i]):
                until, cuts = whole * (s + 1) / substeps[i], 0
                while since < until:
                    h, e = min(until - since, _settling(model, now.z, until / (s + 1) / _MOST_PIECES)), -1
                    _step(model, loads, since, h, now.z, now.by, now.dz, now.dby, end, room)
                    cut = h
                    if rubs.any() and cuts < _MOST_CUTS:
                        e, cut = _first_event(model, loads, since, h, now, end, tried, bare, largest)
                    if cut < h:
                        _step(model, loads, since, cut, now.z, now.by, now.dz, now.dby, end, room)
                    now.z[:], now.by[:], now.dz[:], now.dby[:] = end.z, end.by, end.dz, end.dby
                    since = until if cut == until - since else since + cut
                    if e >= 0:
                        cuts += 1
                        room.load[:] = loads[0] + since * loads[1]
                        _cross(model, e, now, tried, bare)
                        law_rates(model, room.load, now.z, now.by, now, room.work)
            if not np.isfinite(now.z).all():
                state[m, i + 1 :] = np.inf
                sensitivities[m, i + 1 :] = np.inf
                forces[m, i + 1 :] = np.inf
                forces_by[m, i + 1 :] = np.inf
                break


@part
def _state(d: int, f: int, p: int) -> State:
    return State(np.empty(d), np.empty((d, p)), np.empty(d), np.empty((d, p)), np.empty(f), np.empty((f, p)))


@part
def _settling(model: Model, z: Samples, least: float) -> float:
    """Return the longest step in which hysteretic forces are stable, no shorter than the least; inf without any."""
    longest = np.inf
    for j in range(len(model.shape)):
        exponent = model.shape[j, 4]
        if exponent > 0:
            limit, rate = abs(model.coefficients[j + 1]), abs(rate_at(model, model.at[j], z))
            steep = exponent * power_of(max(1.0, abs(z[model.memory[j]] / limit)), exponent - 1)
            longest = min(longest, max(least, _SETTLING * limit / max(rate * steep, 1e-300)))
    return longest


@kernel
def _step(
    model: Model, load: Samples, since: float, h: float, z: Samples, by: Samples, dz: Samples, dby: Samples,
    end: State, room: Room,
) -> None:  # fmt: skip
    """Fill the state, with its derivatives, rates and forces, after one step of Runge and Kutta."""
    d, p = by.shape
    end.z[:] = z + h / 6.0 * dz
    end.by[:] = by + h / 6.0 * dby
    end.dz[:], end.dby[:] = dz, dby
    for stage in range(1, 5):
        share = 1.0 if stage > 2 else 0.5
        room.load[:] = load[0] + (since + h * share) * load[1]
        if stage < 4:
            room.z[:] = z + h * share * end.dz
            room.by[:] = by + h * share * end.dby
            law_rates(model, room.load, room.z, room.by, end, room.work)
            weight = h / 6.0 if stage == 3 else h / 3.0
            for a in range(d):
                end.z[a] += weight * end.dz[a]
                for c in range(p):
                    end.by[a, c] += weight * end.dby[a, c]
        else:
            law_rates(model, room.load, end.z, end.by, end, room.work)


@inlined
def _first_event(
    model: Model, loads: Samples, since: float, h: float, now: State, end: State, tried: State, bare: Room,
    largest: Samples,
) -> tuple[int, float]:  # fmt: skip
    """Return the force of the first event in a step, -1 for none, and when it is: the step's length for none.

    It is the first zero of the least event function, by bisection.
    """
    for j in range(len(model.mode)):
        largest[j] = max(largest[j], abs(rate_at(model, j, end.z)))
    least, e = _margin(model, end.z, largest, bare.work)
    low, high = 0.0, h
    if least >= -_NEGATIVE:
        high = h * _event_in_step(model, h, now, end)
        if high > 0.0:
            _step(model, loads, since, high, now.z, bare.by, now.dz, bare.by, tried, bare)
            least, e = _margin(model, tried.z, largest, bare.work)
        if high == 0.0 or least >= -_NEGATIVE:
            return -1, h
    while high - low > _LOCATED * h:
        middle = 0.5 * (low + high)
        _step(model, loads, since, middle, now.z, bare.by, now.dz, bare.by, tried, bare)
        value, which = _margin(model, tried.z, largest, bare.work)
        if value > 0.0:
            low = middle
        else:
            high, e = middle, which
    # where it is never positive it goes on to the other side at once
    return e, high if low > 0.0 else 0.0


@kernel
def _margin(model: Model, z: Samples, largest: Samples, work: Samples) -> tuple[float, int]:
    """Return the least event function, and its force: a sliding rate over its largest, or what friction has left."""
    least, which = np.inf, -1
    for e in range(len(model.mode)):
        if not model.rubs[e]:
            continue
        if model.mode[e]:
            value = model.mode[e] * rate_at(model, e, z) / largest[e]
        else:
            value = 1.0 - abs(work[1, e]) / max(work[0, e], 1e-300)
        if value < least:
            least, which = value, e
    return least, which


@kernel
def _event_in_step(model: Model, h: float, now: State, end: State) -> float:
    """Return the part of a step, 0 to 1, at which a sliding rate of equal signs at both ends is negative, or 0."""
    n = len(model.places)
    for e in range(len(model.mode)):
        if not model.rubs[e] or not model.mode[e]:
            continue
        a0, a1, b0, b1 = 0.0, 0.0, 0.0, 0.0
        for a in range(n):
            weight = model.mode[e] * model.places[a, e]
            a0 += weight * now.z[n + a]
            a1 += weight * end.z[n + a]
            b0 += weight * h * now.dz[n + a]
            b1 += weight * h * end.dz[n + a]
        if a0 <= 0.0 or b0 >= 0.0 or b1 <= 0.0:
            continue
        # Hermite's cubic a0 + b0 u + c u^2 + g u^3, where its slope is zero
        c, g = 3.0 * (a1 - a0) - 2.0 * b0 - b1, 2.0 * (a0 - a1) + b0 + b1
        root = c * c - 3.0 * g * b0
        if root < 0.0:
            continue
        u = -b0 / (c + np.sqrt(root)) if c + np.sqrt(root) != 0.0 else 0.5
        if 0.0 < u < 1.0 and a0 + u * (b0 + u * (c + u * g)) < 0.0:
            return u
    return 0.0


@inlined
def _cross(model: Model, e: int, now: State, tried: State, bare: Room) -> None:
    """Change the modes at the event of force e, and the derivatives of the state: its instant depends on them."""
    n, places = len(model.places), model.places
    jump = _switch(model, e, now.z, tried, bare)
    law_rates(model, bare.load, now.z, bare.by, tried, bare.work)
    speed = 0.0
    for a in range(n):
        speed += places[a, e] * now.dz[n + a]
    if jump and speed != 0.0:
        for c in range(now.by.shape[1]):
            later = 0.0
            for a in range(n):
                later -= places[a, e] * now.by[n + a, c] / speed
            for a in range(n):
                now.by[n + a, c] += (now.dz[n + a] - tried.dz[n + a]) * later


@kernel
def _switch(model: Model, e: int, z: Samples, tried: State, bare: Room) -> bool:
    """Change the modes where the event function of force e is zero; return whether it is a change at once."""
    mode, work = model.mode, bare.work
    law_rates(model, bare.load, z, bare.by, tried, work)
    slid = mode[e] != 0
    if slid:
        if mode[e] * rate_at(model, e, tried.dz) >= 0.0:
            return False
        mode[e] = -mode[e]
        law_rates(model, bare.load, z, bare.by, tried, work)
        if mode[e] * rate_at(model, e, tried.dz) <= 0.0 and work[0, e] > 0.0:
            mode[e] = 0
    else:
        mode[e] = 1 if work[1, e] > 0.0 else -1
    # what is held elsewhere has another force now
    for _ in range(2 * len(mode)):
        law_rates(model, bare.load, z, bare.by, tried, work)
        changed = False
        for other in range(len(mode)):
            if model.rubs[other] and mode[other] == 0 and abs(work[1, other]) > work[0, other] * (1.0 + 1e-9):
                mode[other], changed = (1 if work[1, other] > 0.0 else -1), True
                break
        if not changed:
            break
    return bool(slid)
