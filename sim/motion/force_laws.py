"""Motion of a linear structure with force laws, and its derivatives by their coefficients and by the first state.

Runge-Kutta of order four. A force with terms of sign v slides to either side, or is held: its friction is then what
keeps its rate zero, no more than its law. A step is cut at the first change within it, where the derivatives jump.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sim.arrays import Flags, Integers, Samples
from sim.kernels import inlined, kernel, part

# cuts of one step at events; more are of forces that change their signs without an end
_MOST_CUTS = 40
# of a step: how exactly an event is located
_LOCATED = 1e-11
# of the largest rate so far, and of the friction force: an event function below minus this is negative
_NEGATIVE = 1e-13


class Model(NamedTuple):
    """A structure of n degrees of freedom with laws of k terms for f forces, and the coefficients of these.

    Parameters
    ----------
    system : (2 n, 2 n).
    unknown : (n, f), accelerations by forces, minus included.
    places : (n, f).
    shape, at : (k, 4), powers and signs of each term; (k,), the force it belongs to.
    rubs : (f,), whether a force has a term of sign v.
    coefficients : (k,).
    mode : (f,), sign of the rate at each force; 0: it is held.
    """

    system: Samples
    unknown: Samples
    places: Samples
    shape: Integers
    at: Integers
    rubs: Flags
    coefficients: Samples
    mode: Integers


class State(NamedTuple):
    """A state, (d,), its derivatives, (d, p), the rates of both, and the forces, (f,) and (f, p)."""

    z: Samples
    by: Samples
    dz: Samples
    dby: Samples
    force: Samples
    force_by: Samples


class Room(NamedTuple):
    """What steps work in: the load, (n,), a state and its derivatives, and numbers of forces, see `_law_rates`."""

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
    load : (N, n), as accelerations, linear between instants. time : (N,). substeps : (N - 1,).
    parameters : (m, k + 2 n): coefficients, and the state at the first instant.
    state, sensitivities : (m, N, 2 n), (m, N, 2 n, k + 2 n), filled. Not finite from where a motion diverges.
    forces, forces_by : (m, N, f), (m, N, f, k + 2 n), filled: what the laws amount to.
    """
    d, (k, p), f = len(system), (len(shape), parameters.shape[1]), places.shape[1]
    rubs = np.zeros(f, np.bool_)
    for j in range(k):
        rubs[at[j]] |= shape[j, 2] == 0 and shape[j, 3] == 1
    model = Model(system, unknown, places, shape, at, rubs, np.empty(k), np.zeros(f, np.int64))
    largest, loads = np.zeros(f), np.empty((2, d // 2))
    now, room = _state(d, f, p), _room(d, f, p, max(k, f))
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
            model.mode[e] = -1 if _rate(model, e, now.z) < 0.0 else 1
        for i in range(len(time)):
            loads[0] = load[i]
            if i == 0:
                _law_rates(model, loads[0], now.z, now.by, now, room.work)
            state[m, i], sensitivities[m, i], forces[m, i], forces_by[m, i] = now.z, now.by, now.force, now.force_by
            if i + 1 == len(time):
                break
            whole = time[i + 1] - time[i]
            loads[1] = (load[i + 1] - load[i]) / whole
            since = 0.0
            for s in range(substeps[i]):
                until, cuts = whole * (s + 1) / substeps[i], 0
                while since < until:
                    h, e = until - since, -1
                    _step(model, loads, since, h, now.z, now.by, now.dz, now.dby, end, room)
                    cut = h
                    if rubs.any() and cuts < _MOST_CUTS:
                        e, cut = _first_event(model, loads, since, h, now, end, tried, bare, largest)
                    if cut < h:
                        _step(model, loads, since, cut, now.z, now.by, now.dz, now.dby, end, room)
                    now.z[:], now.by[:], now.dz[:], now.dby[:] = end.z, end.by, end.dz, end.dby
                    since = until if cut == h else since + cut
                    if e >= 0:
                        cuts += 1
                        room.load[:] = loads[0] + since * loads[1]
                        _cross(model, e, now, tried, bare)
                        _law_rates(model, room.load, now.z, now.by, now, room.work)
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
def _room(d: int, f: int, p: int, wide: int) -> Room:
    return Room(np.empty(d // 2), np.empty(d), np.empty((d, p)), np.empty((6 + f + p, wide)))


@part
def _rate(model: Model, e: int, z: Samples) -> float:
    """Return the rate at a force."""
    rate, n = 0.0, len(model.places)
    for a in range(n):
        rate += model.places[a, e] * z[n + a]
    return rate


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
            _law_rates(model, room.load, room.z, room.by, end, room.work)
            weight = h / 6.0 if stage == 3 else h / 3.0
            for a in range(d):
                end.z[a] += weight * end.dz[a]
                for c in range(p):
                    end.by[a, c] += weight * end.dby[a, c]
        else:
            _law_rates(model, room.load, end.z, end.by, end, room.work)


@inlined
def _first_event(
    model: Model, loads: Samples, since: float, h: float, now: State, end: State, tried: State, bare: Room,
    largest: Samples,
) -> tuple[int, float]:  # fmt: skip
    """Return the force of the first event in a step, -1 for none, and when it is: the step's length for none.

    It is the first zero of the least event function: regula falsi of Illinois.
    """
    for j in range(len(model.mode)):
        largest[j] = max(largest[j], abs(_rate(model, j, end.z)))
    least, e = _margin(model, end.z, largest, bare.work)
    high, cut = h, h
    if least >= -_NEGATIVE:
        high, e = h * _event_in_step(model, h, now, end), -1
    low, left, right, side = 0.0, 0.0, least, 0
    for turn in range(100 if high > 0.0 else 0):
        if turn == 0:
            middle = high
        elif turn == 1:
            middle = 0.0
        elif turn == 2 and left <= 0.0:
            # it may be just about to leave zero
            middle = 1e-3 * high
        elif turn % 3 == 0:
            middle = 0.5 * (low + high)
        else:
            middle = (low * right - high * left) / (right - left)
        if turn > 1 and not low < middle < high:
            middle = 0.5 * (low + high)
        _step(model, loads, since, middle, now.z, bare.by, now.dz, bare.by, tried, bare)
        value, which = _margin(model, tried.z, largest, bare.work)
        if turn == 0:
            if value >= -_NEGATIVE:
                break
            right, e, cut = value, which, high
        elif turn == 1:
            left = value
            if left <= 0.0:
                e = which
        elif turn == 2 and left <= 0.0:
            if value <= 0.0:
                # it goes on to the other side at once
                cut = 0.0
                break
            low, left = middle, value
        elif value > 0.0:
            low, left = middle, value
            right, side = (0.5 * right if side == 1 else right), 1
        else:
            high, right, e, cut = middle, value, which, middle
            left, side = (0.5 * left if side == -1 else left), -1
        if turn > 2 and high - low < _LOCATED * h:
            break
    return e, cut


@kernel
def _margin(model: Model, z: Samples, largest: Samples, work: Samples) -> tuple[float, int]:
    """Return the least event function, and its force: a sliding rate over its largest, or what friction has left."""
    least, which = np.inf, -1
    for e in range(len(model.mode)):
        if not model.rubs[e]:
            continue
        if model.mode[e]:
            value = model.mode[e] * _rate(model, e, z) / largest[e]
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
    _law_rates(model, bare.load, now.z, bare.by, tried, bare.work)
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
    _law_rates(model, bare.load, z, bare.by, tried, work)
    slid = mode[e] != 0
    if slid:
        if mode[e] * _rate(model, e, tried.dz) >= 0.0:
            return False
        mode[e] = -mode[e]
        _law_rates(model, bare.load, z, bare.by, tried, work)
        if mode[e] * _rate(model, e, tried.dz) <= 0.0 and work[0, e] > 0.0:
            mode[e] = 0
    else:
        mode[e] = 1 if work[1, e] > 0.0 else -1
    # what is held elsewhere has another force now
    for _ in range(2 * len(mode)):
        _law_rates(model, bare.load, z, bare.by, tried, work)
        changed = False
        for other in range(len(mode)):
            if model.rubs[other] and mode[other] == 0 and abs(work[1, other]) > work[0, other] * (1.0 + 1e-9):
                mode[other], changed = (1 if work[1, other] > 0.0 else -1), True
                break
        if not changed:
            break
    return bool(slid)


@kernel
def _law_rates(model: Model, load: Samples, z: Samples, by: Samples, out: State, work: Samples) -> None:
    """Fill `out` with the rates of a state and of its derivatives, and with the forces.

    Parameters
    ----------
    load : (n,).
    work : (6 + f + p, k or f at least). Row 0 is filled with what friction can be, row 1 with what holds a force.
    """
    system, unknown, places, shape, at, rubs, coefficients, mode = model
    _, _, dz, dby, force, force_by = out
    d, p = by.shape
    n, f, k = d // 2, places.shape[1], len(shape)
    stretch, rate = work[2], work[3]
    for e in range(f):
        force[e], work[0, e], work[1, e] = 0.0, 0.0, 0.0
        stretch[e], rate[e] = 0.0, 0.0
        for a in range(n):
            stretch[e] += places[a, e] * z[a]
            rate[e] += places[a, e] * z[n + a]
        for c in range(p):
            force_by[e, c] = 0.0
    for j in range(k):
        e = at[j]
        x, v = stretch[e], rate[e]
        power, odd, v_power, v_odd = shape[j, 0], shape[j, 1], shape[j, 2], shape[j, 3]
        left = _power(abs(x), power) * (np.sign(x) if odd else 1.0)
        left_slope = power * _power(abs(x), power - 1) * (1.0 if odd else np.sign(x)) if power else 0.0
        right, right_slope = 1.0, 0.0
        if v_power:
            right = _power(abs(v), v_power) * (np.sign(v) if v_odd else 1.0)
            right_slope = v_power * _power(abs(v), v_power - 1) * (1.0 if v_odd else np.sign(v))
        elif v_odd:
            work[0, e] += coefficients[j] * left
            right = float(mode[e])
        value, by_x, by_v = left * right, coefficients[j] * left_slope * right, coefficients[j] * left * right_slope
        force[e] += coefficients[j] * value
        for c in range(p):
            slope = value if c == j else 0.0
            for a in range(n):
                slope += places[a, e] * (by_x * by[a, c] + by_v * by[n + a, c])
            force_by[e, c] += slope
    for a in range(n):
        dz[a] = z[n + a]
        total = load[a]
        for b in range(d):
            total += system[n + a, b] * z[b]
        for e in range(f):
            total += unknown[a, e] * force[e]
        dz[n + a] = total
        for c in range(p):
            dby[a, c] = by[n + a, c]
            total = 0.0
            for b in range(d):
                total += system[n + a, b] * by[b, c]
            for e in range(f):
                total += unknown[a, e] * force_by[e, c]
            dby[n + a, c] = total
    held = False
    for e in range(f):
        held = held or (rubs[e] and mode[e] == 0)
    if held:
        _hold(model, out, work)


@kernel
def _hold(model: Model, out: State, work: Samples) -> None:
    """Add the friction that keeps rates at zero where they are held."""
    unknown, places, rubs, mode = model.unknown, model.places, model.rubs, model.mode
    _, _, dz, dby, force, force_by = out
    n, f = places.shape
    p = force_by.shape[1]
    # equations of all forces, in columns: of those that are not held the friction added is zero
    for e in range(f):
        stuck = rubs[e] and mode[e] == 0
        for other in range(f):
            work[4 + other, e] = 1.0 if e == other and not stuck else 0.0
        for c in range(1 + p):
            work[4 + f + c, e] = 0.0
        if stuck:
            for a in range(n):
                for other in range(f):
                    work[4 + other, e] += places[a, e] * unknown[a, other]
                work[4 + f, e] -= places[a, e] * dz[n + a]
                for c in range(p):
                    work[5 + f + c, e] -= places[a, e] * dby[n + a, c]
    for e in range(f):
        pivot = work[4 + e, e]
        if pivot == 0.0:
            continue
        for other in range(f):
            if other != e:
                factor = work[4 + e, other] / pivot
                for c in range(f + 1 + p):
                    work[4 + c, other] -= factor * work[4 + c, e]
    for e in range(f):
        pivot = work[4 + e, e]
        if not rubs[e] or mode[e] != 0 or pivot == 0.0:
            continue
        work[1, e] = work[4 + f, e] / pivot
        force[e] += work[1, e]
        for a in range(n):
            dz[n + a] += unknown[a, e] * work[1, e]
        for c in range(p):
            added = work[5 + f + c, e] / pivot
            force_by[e, c] += added
            for a in range(n):
                dby[n + a, c] += unknown[a, e] * added


@inlined
def _power(value: float, power: int) -> float:
    whole = 1.0
    for _ in range(power):
        whole *= value
    return whole
