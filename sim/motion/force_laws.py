"""Motion of a linear structure with force laws, and its derivatives by their coefficients and by the first state."""

from __future__ import annotations

import numpy as np

from sim.arrays import Flags, Integers, Samples
from sim.kernels import inlined_part, kernel

# cuts of one step at events; more are of forces that change their signs without an end
_MOST_CUTS = 40
# of a step: how exactly an event is located
_LOCATED = 1e-11
# of the largest rate so far, and of the friction force: an event function below minus this is negative
_NEGATIVE = 1e-13


@kernel
def _step(
    model: Model, coefficients: Samples, mode: Integers, load: Samples, since: float, h: float,
    z: Samples, by: Samples, rates: Samples, slopes: Samples, after: Samples, after_by: Samples,
    stage: Samples, stage_by: Samples, here: Samples, force: Samples, force_by: Samples,
    now: Samples, now_by: Samples, work: Samples,
) -> None:  # fmt: skip
    """Fill the state and its derivatives after one step of Runge and Kutta, and the rates there (stage, stage_by)."""
    d, p = by.shape
    after[:] = z + h / 6.0 * rates
    after_by[:] = by + h / 6.0 * slopes
    stage[:], stage_by[:] = rates, slopes
    for step in range(1, 5):
        part = 1.0 if step > 2 else 0.5
        here[:] = load[0] + (since + h * part) * load[1]
        if step < 4:
            now[:] = z + h * part * stage
            now_by[:] = by + h * part * stage_by
            law_rates(
                model, coefficients, mode, here, now, now_by, stage, stage_by, force, force_by, work
            )  # fmt: skip
            weight = h / 6.0 if step == 3 else h / 3.0
            for a in range(d):
                after[a] += weight * stage[a]
                for c in range(p):
                    after_by[a, c] += weight * stage_by[a, c]
        else:
            law_rates(model, coefficients, mode, here, after, after_by, stage, stage_by, force, force_by, work)


@kernel
def _margin(model: Model, mode: Integers, z: Samples, largest: Samples, work: Samples) -> tuple[float, int]:
    """Return the least event function, and its force: a sliding rate over its largest, or what friction has left."""
    places, rubs = model[2], model[5]
    n, least, which = len(places), np.inf, -1
    for e in range(len(mode)):
        if not rubs[e]:
            continue
        if mode[e]:
            rate = 0.0
            for a in range(n):
                rate += places[a, e] * z[n + a]
            value = mode[e] * rate / largest[e]
        else:
            value = 1.0 - abs(work[1, e]) / max(work[0, e], 1e-300)
        if value < least:
            least, which = value, e
    return least, which


@kernel
def _dip(
    model: Model, mode: Integers, h: float, z: Samples, rates: Samples, end: Samples, end_rates: Samples
) -> float:
    """Return the part of a step, 0 to 1, at which a sliding rate of equal signs at both ends is negative, or 0."""
    places, rubs = model[2], model[5]
    n = len(places)
    for e in range(len(mode)):
        if not rubs[e] or not mode[e]:
            continue
        a0, a1, b0, b1 = 0.0, 0.0, 0.0, 0.0
        for a in range(n):
            weight = mode[e] * places[a, e]
            a0 += weight * z[n + a]
            a1 += weight * end[n + a]
            b0 += weight * h * rates[n + a]
            b1 += weight * h * end_rates[n + a]
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


@kernel
def _switch(
    model: Model, coefficients: Samples, mode: Integers, e: int, here: Samples, z: Samples, none: Samples,
    dz: Samples, dnone: Samples, force: Samples, force_none: Samples, work: Samples,
) -> bool:  # fmt: skip
    """Change the modes where the event function of force e is zero; return whether it is a change at once."""
    places = model[2]
    n = len(places)
    law_rates(model, coefficients, mode, here, z, none, dz, dnone, force, force_none, work)
    slid = mode[e] != 0
    if slid:
        grows = 0.0
        for a in range(n):
            grows += mode[e] * places[a, e] * dz[n + a]
        if grows >= 0.0:
            return False
        mode[e] = -mode[e]
        law_rates(model, coefficients, mode, here, z, none, dz, dnone, force, force_none, work)
        grows = 0.0
        for a in range(n):
            grows += mode[e] * places[a, e] * dz[n + a]
        if grows <= 0.0 and work[0, e] > 0.0:
            mode[e] = 0
    else:
        mode[e] = 1 if work[1, e] > 0.0 else -1
    # what is held elsewhere has another force now
    for _ in range(2 * len(mode)):
        law_rates(model, coefficients, mode, here, z, none, dz, dnone, force, force_none, work)
        changed = False
        for other in range(len(mode)):
            if model[5][other] and mode[other] == 0 and abs(work[1, other]) > work[0, other] * (1.0 + 1e-9):
                mode[other], changed = (1 if work[1, other] > 0.0 else -1), True
                break
        if not changed:
            break
    return bool(slid)


@kernel
def law_motion(
    system: Samples, unknown: Samples, places: Samples, shape: Integers, at: Integers,
    load: Samples, time: Samples, substeps: Integers, parameters: Samples,
    state: Samples, sensitivities: Samples, forces: Samples, forces_by: Samples,
) -> None:  # fmt: skip
    """Fill motions of m sets of parameters by Runge-Kutta of order four, cut where friction changes.

    A force with terms of sign v slides to either side, or is held: its friction is then what keeps its rate zero, no
    more than its law. A step is cut at the first change within it, where the derivatives jump.

    Parameters
    ----------
    system : (2 n, 2 n); unknown : (n, f), accelerations by forces, minus included; places : (n, f).
    shape, at : (k, 4), powers and signs of each term; (k,), the force it belongs to.
    load : (N, n), as accelerations, linear between instants. time : (N,). substeps : (N - 1,).
    parameters : (m, k + 2 n): coefficients, and the state at the first instant.
    state, sensitivities : (m, N, 2 n), (m, N, 2 n, k + 2 n), filled. Not finite from where a motion diverges.
    forces, forces_by : (m, N, f), (m, N, f, k + 2 n), filled: what the laws amount to.
    """
    d, (k, p), f = len(system), (len(shape), parameters.shape[1]), places.shape[1]
    n = d // 2
    rubs = np.zeros(f, np.bool_)
    for j in range(k):
        rubs[at[j]] |= shape[j, 2] == 0 and shape[j, 3] == 1
    model = (system, unknown, places, shape, at, rubs)
    sudden, mode, largest = rubs.any(), np.zeros(f, np.int64), np.zeros(f)
    here, now, rates, after, end = np.empty(n), np.empty(d), np.empty(d), np.empty(d), np.empty(d)
    now_by, slopes, after_by, end_by = np.empty((d, p)), np.empty((d, p)), np.empty((d, p)), np.empty((d, p))
    # the same without derivatives, to locate events
    none, none_1, none_2 = np.empty((d, 0)), np.empty((d, 0)), np.empty((d, 0))
    none_3, none_4, none_force = np.empty((d, 0)), np.empty((d, 0)), np.empty((f, 0))
    force, force_by, tried_force = np.empty(f), np.empty((f, p)), np.empty(f)
    loads, work = np.empty((2, n)), np.empty((6 + f + p, max(k, f)))
    tried, tried_rates = np.empty(d), np.empty(d)
    for m in range(len(parameters)):
        coefficients = parameters[m, :k].copy()
        z, by = parameters[m, k:].copy(), np.zeros((d, p))
        for a in range(d):
            by[a, k + a] = 1.0
        largest[:] = 1e-300
        for e in range(f):
            rate = 0.0
            for a in range(n):
                rate += places[a, e] * z[n + a]
            mode[e] = -1 if rate < 0.0 else 1
        for i in range(len(time)):
            loads[0] = load[i]
            if i == 0:
                law_rates(model, coefficients, mode, loads[0], z, by, rates, slopes, force, force_by, work)
            state[m, i], sensitivities[m, i], forces[m, i], forces_by[m, i] = z, by, force, force_by
            if i + 1 == len(time):
                break
            whole = time[i + 1] - time[i]
            loads[1] = (load[i + 1] - load[i]) / whole
            since = 0.0
            for s in range(substeps[i]):
                until, cuts = whole * (s + 1) / substeps[i], 0
                while since < until:
                    h = until - since
                    _step(
                        model, coefficients, mode, loads, since, h, z, by, rates, slopes, after, after_by, end,
                        end_by, here, force, force_by, now, now_by, work,
                    )  # fmt: skip
                    e, cut = -1, h
                    if sudden and cuts < _MOST_CUTS:
                        for j in range(f):
                            rate = 0.0
                            for a in range(n):
                                rate += places[a, j] * after[n + a]
                            largest[j] = max(largest[j], abs(rate))
                        least, e = _margin(model, mode, after, largest, work)
                        high = h
                        if least >= -_NEGATIVE:
                            high, e = h * _dip(model, mode, h, z, rates, after, end), -1
                        # the first zero of the least event function: regula falsi of Illinois
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
                            _step(
                                model, coefficients, mode, loads, since, middle, z, none, rates, none_1, tried,
                                none_2, tried_rates, none_3, here, tried_force, none_force, now, none_4, work,
                            )  # fmt: skip
                            value, which = _margin(model, mode, tried, largest, work)
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
                    if e >= 0:
                        cuts += 1
                        if cut < h:
                            _step(
                                model, coefficients, mode, loads, since, cut, z, by, rates, slopes, after, after_by,
                                end, end_by, here, force, force_by, now, now_by, work,
                            )  # fmt: skip
                    z[:], by[:], rates[:], slopes[:] = after, after_by, end, end_by
                    since = until if cut == h else since + cut
                    if e >= 0:
                        here[:] = loads[0] + since * loads[1]
                        jump = _switch(
                            model, coefficients, mode, e, here, z, none, tried_rates, none_1, tried_force, none_force,
                            work,
                        )  # fmt: skip
                        law_rates(
                            model, coefficients, mode, here, z, none, tried_rates, none_1, tried_force, none_force,
                            work,
                        )  # fmt: skip
                        speed = 0.0
                        for a in range(n):
                            speed += places[a, e] * rates[n + a]
                        if jump and speed != 0.0:
                            # the instant of the change depends on the parameters
                            for c in range(p):
                                later = 0.0
                                for a in range(n):
                                    later -= places[a, e] * by[n + a, c] / speed
                                for a in range(n):
                                    by[n + a, c] += (rates[n + a] - tried_rates[n + a]) * later
                        law_rates(model, coefficients, mode, here, z, by, rates, slopes, force, force_by, work)
            if not np.isfinite(z).all():
                state[m, i + 1 :] = np.inf
                sensitivities[m, i + 1 :] = np.inf
                forces[m, i + 1 :] = np.inf
                forces_by[m, i + 1 :] = np.inf
                break


# system, unknown, places, shape, at as in `law_motion`; (f,) whether a force has a term of sign v
Model = tuple[Samples, Samples, Samples, Integers, Integers, Flags]


@inlined_part
def _power(value: float, power: int) -> float:
    whole = 1.0
    for _ in range(power):
        whole *= value
    return whole


@kernel
def law_rates(
    model: Model, coefficients: Samples, mode: Integers, load: Samples, z: Samples, by: Samples,
    dz: Samples, dby: Samples, force: Samples, force_by: Samples, work: Samples,
) -> None:  # fmt: skip
    """Fill rates of the state, (d,), and of its derivatives, (d, p), and forces, (f,), (f, p).

    Parameters
    ----------
    mode : (f,) sign of the rate at each force; 0: it is held.
    work : (6 + f + p, k or f at least). Row 0 is filled with what friction can be, row 1 with what holds a force.
    """
    system, unknown, places, shape, at, rubs = model
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
        _hold(model, mode, dz, dby, force, force_by, work)


@kernel
def _hold(
    model: Model, mode: Integers, dz: Samples, dby: Samples, force: Samples, force_by: Samples, work: Samples
) -> None:
    """Add the friction that keeps rates at zero where they are held."""
    unknown, places, rubs = model[1], model[2], model[5]
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
