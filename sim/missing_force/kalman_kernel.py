"""Kalman filter and smoother over one sensor after the other, compiled.

The smoother joins the filter with one that runs backward (Fraser and Potter, IEEE Trans. Autom. Control 14, 1969). It
equals Rauch, Tung and Striebel's and, unlike it, loses no digits to a first state of which nothing is known. Where
steps are equal and no sample is missing covariances converge; they are held from there, and only means are computed.
"""

from __future__ import annotations

import numpy as np

from sim.arrays import Integers, Samples
from sim.kernels import inlined, kernel

# relative change per step below which a covariance has converged
_CONVERGED = 1e-12


@kernel
def filter_forward(
    transition: Samples, noise: Samples, which: Integers, shift: Samples, rows: Samples, variance: Samples,
    observed: Samples, mean: Samples, covariance: Samples, means: Samples, covariances: Samples, places: Integers,
) -> float:  # fmt: skip
    """Fill predicted means and covariances of all N instants; return the log likelihood.

    Parameters
    ----------
    transition, noise, which, shift : (u, d, d), (u, d, d), (N - 1,), (N - 1, d), of the exact steps between instants,
        z(k + 1) = transition z(k) + noise + shift(k), and which of the u distinct intervals each has.
    rows : (s, d), of the sensors.
    variance : (s,), of their noise.
    observed : (N, s), less what the load does at once; NaN is missing.
    mean, covariance : (d,), (d, d), before the first sample.
    means : (N, d), filled.
    covariances : (N, d, d) of which as many rows are filled as are distinct; or (2, d, d): not kept.
    places : (N,), filled: which row of the covariances holds that of an instant.
    """
    n_times, sensors = observed.shape
    d = len(mean)
    keep = len(covariances) == n_times
    gains, spreads = np.empty((sensors, d)), np.empty(sensors)
    after, product = np.empty((d, d)), np.empty((d, d))
    m, following = mean.copy(), np.empty(d)
    place, held, complete_before, total = 0, False, False, 0.0
    covariances[0] = covariance
    for k in range(n_times):
        means[k], places[k] = m, place
        complete = True
        for i in range(sensors):
            if np.isnan(observed[k, i]):
                complete = False
        if held and not complete:
            held = False
        if not held:
            after[:] = covariances[place]
        for i in range(sensors):
            if np.isnan(observed[k, i]):
                continue
            innovation = observed[k, i]
            for a in range(d):
                innovation -= rows[i, a] * m[a]
            if not held:
                spreads[i] = _gain(rows[i], variance[i], after, gains[i])
            total -= 0.5 * (np.log(2.0 * np.pi * spreads[i]) + innovation * innovation / spreads[i])
            for a in range(d):
                m[a] += gains[i, a] * innovation
        if k + 1 == n_times:
            break
        step = transition[which[k]]
        for a in range(d):
            whole = shift[k, a]
            for b in range(d):
                whole += step[a, b] * m[b]
            following[a] = whole
        m[:] = following
        same = k > 0 and which[k] == which[k - 1] and complete and complete_before
        complete_before = complete
        if held and not same:
            # the covariance after the samples of this instant, as its gains were held
            held = False
            after[:] = covariances[place]
            for i in range(sensors):
                for a in range(d):
                    for b in range(d):
                        after[a, b] -= gains[i, a] * gains[i, b] * spreads[i]
        if held:
            continue
        before = covariances[place]
        new = place + 1 if keep else 1 - place
        into = covariances[new]
        _predict(step, noise[which[k]], after, product, into)
        if same:
            held = not _has_changed(into, before)
        if not held:
            place = new
    return total


@inlined
def _gain(row: Samples, variance: float, covariance: Samples, gain: Samples) -> float:
    """Take a sensor's sample into a covariance, fill its gain, and return the variance of its innovation."""
    d = len(row)
    spread = variance
    for a in range(d):
        whole = 0.0
        for b in range(d):
            whole += covariance[a, b] * row[b]
        gain[a] = whole
        spread += row[a] * whole
    for a in range(d):
        for b in range(d):
            covariance[a, b] -= gain[a] * gain[b] / spread
    for a in range(d):
        gain[a] /= spread
    return spread


@inlined
def _predict(step: Samples, noise: Samples, after: Samples, product: Samples, into: Samples) -> None:
    """Fill a covariance a step later; `product` is room for (d, d)."""
    d = len(step)
    for a in range(d):
        for b in range(d):
            whole = 0.0
            for c in range(d):
                whole += step[a, c] * after[c, b]
            product[a, b] = whole
    for a in range(d):
        for b in range(a + 1):
            whole = noise[a, b]
            for c in range(d):
                whole += product[a, c] * step[b, c]
            into[a, b] = whole
            into[b, a] = whole


@kernel
def smooth_backward(
    transition: Samples, noise: Samples, which: Integers, shift: Samples, rows: Samples, variance: Samples,
    observed: Samples, means: Samples, covariances: Samples, places: Integers,
    outputs: Samples, smoothed: Samples, joint: Samples,
) -> None:  # fmt: skip
    """Fill smoothed means, (N, g), and joint covariances, (N, g, g), of g outputs.

    Parameters
    ----------
    transition ... observed : as in `filter_forward`.
    means, covariances, places : as it filled them.
    outputs : (g, d), combinations of states.
    """
    n_times, sensors = observed.shape
    d, g = means.shape[1], len(outputs)
    eye = np.eye(d)
    # what this and later samples tell of the state: information and information times mean
    information, weighted = np.zeros((d, d)), np.zeros(d)
    previous, before = np.full((d, d), np.nan), np.empty((d, d))
    between, whole, later = np.empty((d, d)), np.empty((d, d)), np.empty((d, d))
    remainder, state, along = np.empty(d), np.empty(d), np.empty((g, d))
    held = False
    for k in range(n_times - 1, -1, -1):
        complete = True
        for i in range(sensors):
            if np.isnan(observed[k, i]):
                complete = False
        same = complete and 0 < k < n_times - 1 and places[k] == places[k + 1] and which[k] == which[k - 1]
        held = held and same
        if not held:
            later[:] = information
        for i in range(sensors):
            if np.isnan(observed[k, i]):
                continue
            for a in range(d):
                weighted[a] += rows[i, a] * observed[k, i] / variance[i]
                if not held:
                    for b in range(d):
                        information[a, b] += rows[i, a] * rows[i, b] / variance[i]
        if same and not held:
            held = _has_converged(information, previous)
            if held:
                # this instant's samples are added again when it is no longer held
                information[:] = later
        if not held:
            previous[:] = information
            before[:] = covariances[places[k]]
            whole[:] = np.linalg.solve(eye + before @ information, before)
        _subtract_product(weighted, previous, means[k], remainder)
        for a in range(d):
            state[a] = means[k, a]
            for b in range(d):
                state[a] += 0.5 * (whole[a, b] + whole[b, a]) * remainder[b]
        for a in range(g):
            smoothed[k, a] = 0.0
            for b in range(d):
                smoothed[k, a] += outputs[a, b] * state[b]
        if held:
            joint[k] = joint[k + 1]
        else:
            _read_out(outputs, whole, along, joint[k])
        if k == 0:
            break
        step = which[k - 1]
        if not held:
            # A^T (I + J Q)^-1
            before[:], later[:] = noise[step], transition[step]
            between[:] = np.linalg.solve(eye + before @ information, later).T
        _subtract_product(weighted, previous, shift[k - 1], remainder)
        for a in range(d):
            weighted[a] = 0.0
            for b in range(d):
                weighted[a] += between[a, b] * remainder[b]
        if not held:
            later[:] = between @ information @ later
            information[:] = 0.5 * (later + later.T)


@inlined
def _subtract_product(vector: Samples, matrix: Samples, other: Samples, out: Samples) -> None:
    """Fill `out` with a vector less a matrix times another one."""
    for a in range(len(vector)):
        out[a] = vector[a]
        for b in range(len(vector)):
            out[a] -= matrix[a, b] * other[b]


@inlined
def _has_changed(matrix: Samples, before: Samples) -> bool:
    """Return whether a symmetric matrix is another than it was; one that overflows is not, and its gains are held."""
    changed = False
    for a in range(len(matrix)):
        for b in range(a + 1):
            if abs(matrix[a, b] - before[a, b]) > _CONVERGED * np.sqrt(matrix[a, a] * matrix[b, b]):
                changed = True
    return changed


@inlined
def _has_converged(matrix: Samples, before: Samples) -> bool:
    """Return whether a symmetric matrix is what it was; one that overflows, or was not known, is not."""
    same = True
    for a in range(len(matrix)):
        for b in range(a + 1):
            if not abs(matrix[a, b] - before[a, b]) <= _CONVERGED * np.sqrt(matrix[a, a] * matrix[b, b]):
                same = False
    return same


@inlined
def _read_out(outputs: Samples, covariance: Samples, along: Samples, joint: Samples) -> None:
    """Fill the joint covariance, (g, g), of outputs, (g, d); `along` is room for (g, d)."""
    g, d = outputs.shape
    for a in range(g):
        for b in range(d):
            total = 0.0
            for c in range(d):
                total += outputs[a, c] * 0.5 * (covariance[c, b] + covariance[b, c])
            along[a, b] = total
    for a in range(g):
        for b in range(a + 1):
            total = 0.0
            for c in range(d):
                total += along[a, c] * outputs[b, c]
            joint[a, b] = total
            joint[b, a] = total
