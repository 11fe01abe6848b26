"""Motion of a linear structure with force laws, and its derivatives by their coefficients and by the first state."""

from __future__ import annotations

import numpy as np
from numba import njit

from sim.arrays import Integers, Samples


@njit(inline="always", error_model="numpy")
def _power(value: float, power: int) -> float:
    whole = 1.0
    for _ in range(power):
        whole *= value
    return whole


@njit(cache=True, nogil=True, error_model="numpy")
def _laws(
    shape: Integers,
    at: Integers,
    width: Samples,
    stretch: Samples,
    rate: Samples,
    values: Samples,
    by_x: Samples,
    by_v: Samples,
) -> None:
    """Fill each term's value and its derivatives by stretch and rate of the force that it belongs to."""
    for j in range(len(shape)):
        x, v = stretch[at[j]], rate[at[j]]
        p, i, q, o = shape[j, 0], shape[j, 1], shape[j, 2], shape[j, 3]
        left = _power(abs(x), p) * (np.sign(x) if i else 1.0)
        left_slope = p * _power(abs(x), p - 1) * (1.0 if i else np.sign(x)) if p else 0.0
        if q:
            right = _power(abs(v), q) * (np.sign(v) if o else 1.0)
            right_slope = q * _power(abs(v), q - 1) * (1.0 if o else np.sign(v))
        elif o:
            right = np.tanh(v / width[at[j]])
            right_slope = (1.0 - right * right) / width[at[j]]
        else:
            right, right_slope = 1.0, 0.0
        values[j], by_x[j], by_v[j] = left * right, left_slope * right, left * right_slope


@njit(cache=True, nogil=True, error_model="numpy")
def _rates(
    system: Samples, unknown: Samples, places: Samples, shape: Integers, at: Integers, width: Samples,
    coefficients: Samples, load: Samples, z: Samples, by: Samples, dz: Samples, dby: Samples,
    values: Samples, by_x: Samples, by_v: Samples, stretch: Samples, rate: Samples,
) -> None:  # fmt: skip
    """Fill the rates of the state, (d,), and of its derivatives, (d, p): terms first, then the first state."""
    d, p = by.shape
    n, f, k = d // 2, places.shape[1], len(shape)
    for e in range(f):
        stretch[e], rate[e] = 0.0, 0.0
        for a in range(n):
            stretch[e] += places[a, e] * z[a]
            rate[e] += places[a, e] * z[n + a]
    _laws(shape, at, width, stretch, rate, values, by_x, by_v)
    for a in range(n):
        dz[a] = z[n + a]
        whole = load[a]
        for b in range(d):
            whole += system[n + a, b] * z[b]
        for j in range(k):
            whole += unknown[a, at[j]] * coefficients[j] * values[j]
        dz[n + a] = whole
        for c in range(p):
            dby[a, c] = by[n + a, c]
            whole = unknown[a, at[c]] * values[c] if c < k else 0.0
            for b in range(d):
                whole += system[n + a, b] * by[b, c]
            dby[n + a, c] = whole
    for j in range(k):
        e = at[j]
        for c in range(p):
            slope = 0.0
            for b in range(n):
                slope += places[b, e] * (by_x[j] * by[b, c] + by_v[j] * by[n + b, c])
            slope *= coefficients[j]
            for a in range(n):
                dby[n + a, c] += unknown[a, e] * slope


@njit(cache=True, nogil=True, error_model="numpy")
def law_motion(
    system: Samples, unknown: Samples, places: Samples, shape: Integers, at: Integers, width: Samples,
    load: Samples, time: Samples, substeps: Integers, parameters: Samples,
    state: Samples, sensitivities: Samples, forces: Samples, forces_by: Samples,
) -> None:  # fmt: skip
    """Fill motions of m sets of parameters by Runge-Kutta of order four.

    Parameters
    ----------
    system : (2 n, 2 n); unknown : (n, f), accelerations by forces, minus included; places : (n, f).
    shape, at : (k, 4), powers and signs of each term; (k,), the force it belongs to. width : (f,) m/s.
    load : (N, n), as accelerations, linear between instants. time : (N,). substeps : (N - 1,).
    parameters : (m, k + 2 n): coefficients, and the state at the first instant.
    state, sensitivities : (m, N, 2 n), (m, N, 2 n, k + 2 n), filled. Not finite from where a motion diverges.
    forces, forces_by : (m, N, f), (m, N, f, k + 2 n), filled: what the laws amount to.
    """
    d, (k, p), f = len(system), (len(shape), parameters.shape[1]), places.shape[1]
    n = d // 2
    values, by_x, by_v, stretch, rate = np.empty(k), np.empty(k), np.empty(k), np.empty(f), np.empty(f)
    here, now = np.empty(n), np.empty(d)
    rates, slopes, total, total_slopes, now_by = (
        np.empty(d),
        np.empty((d, p)),
        np.empty(d),
        np.empty((d, p)),
        np.empty((d, p)),
    )
    for m in range(len(parameters)):
        coefficients = parameters[m, :k]
        z, by = parameters[m, k:].copy(), np.zeros((d, p))
        for a in range(d):
            by[a, k + a] = 1.0
        for i in range(len(time)):
            state[m, i] = z
            sensitivities[m, i] = by
            for e in range(f):
                stretch[e], rate[e] = 0.0, 0.0
                for a in range(n):
                    stretch[e] += places[a, e] * z[a]
                    rate[e] += places[a, e] * z[n + a]
                forces[m, i, e] = 0.0
            forces_by[m, i] = 0.0
            _laws(shape, at, width, stretch, rate, values, by_x, by_v)
            for j in range(k):
                forces[m, i, at[j]] += coefficients[j] * values[j]
                for c in range(p):
                    whole = values[j] if c == j else 0.0
                    for b in range(n):
                        whole += coefficients[j] * places[b, at[j]] * (by_x[j] * by[b, c] + by_v[j] * by[n + b, c])
                    forces_by[m, i, at[j], c] += whole
            if i + 1 == len(time):
                break
            steps = substeps[i]
            h = (time[i + 1] - time[i]) / steps
            for s in range(steps):
                for stage in range(4):
                    part = 0.0 if stage == 0 else (1.0 if stage == 3 else 0.5)
                    along = (s + part) / steps
                    for a in range(n):
                        here[a] = load[i, a] + along * (load[i + 1, a] - load[i, a])
                    if stage == 0:
                        now[:] = z
                        now_by[:] = by
                        total[:] = 0.0
                        total_slopes[:] = 0.0
                    else:
                        for a in range(d):
                            now[a] = z[a] + h * part * rates[a]
                            for c in range(p):
                                now_by[a, c] = by[a, c] + h * part * slopes[a, c]
                    _rates(
                        system, unknown, places, shape, at, width, coefficients, here, now, now_by, rates, slopes,
                        values, by_x, by_v, stretch, rate,
                    )  # fmt: skip
                    weight = 1.0 / 6.0 if stage in (0, 3) else 1.0 / 3.0
                    for a in range(d):
                        total[a] += weight * rates[a]
                        for c in range(p):
                            total_slopes[a, c] += weight * slopes[a, c]
                for a in range(d):
                    z[a] += h * total[a]
                    for c in range(p):
                        by[a, c] += h * total_slopes[a, c]
            if not np.isfinite(z).all():
                state[m, i + 1 :] = np.inf
                sensitivities[m, i + 1 :] = np.inf
                forces[m, i + 1 :] = np.inf
                forces_by[m, i + 1 :] = np.inf
                break
