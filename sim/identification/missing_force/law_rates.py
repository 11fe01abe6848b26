"""Rates of a linear structure with force laws, and their derivatives, with friction that slides or is held."""

from __future__ import annotations

import numpy as np

from sim.arrays import Flags, Integers, Samples
from sim.kernels import inlined_part, kernel

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
