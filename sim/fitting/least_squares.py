"""Nonlinear least squares within bounds, vectorised over problems: the Levenberg-Marquardt method."""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt, sqrt

import numpy as np

from sim.arrays import Flags, Integers, Samples
from sim.fitting.regression import Regression, evaluated

# added to the diagonal, so that a matrix with equal columns is not singular
_RIDGE = 1e-13
# step to each side when a kink is suspected, in standard errors
_KINK_OFFSET = 0.01
PRECISION = 1e-5
# or when it decreases the sum by less than the rounding of the observations or of the sum of squares
_ROUNDING = 1e-30
_UNSEEN = 0.1 * float(np.finfo(float).eps)
# of a sum of squares, as its rounding grows with the number of terms
_SUMMED = float(np.finfo(float).eps)
_LEAST_DAMPING, _MOST_DAMPING = 1e-3, 1e14
# standard errors: minima that are closer, and equally good, are the same; searches end within a hundredth of a
# minimum that is a kink
_APART = 0.05
# fraction of the observations' squares below which differences are rounding
_OBSERVED_ROUNDING = 1e-20


@dataclass(frozen=True, slots=True, eq=False)
class Minimum:
    """Where the sums of squares are least.

    Parameters
    ----------
    parameters : (m, p).
    sum_of_squares : (m,); infinite where the response at the start is not finite.
    normal : (m, p, p), the sensitivities' products J'J there.
    at_bound : (m, p), which parameters are held at a bound.
    converged : (m,); false where the steps ran out, or where there was no start.
    """

    parameters: Samples
    sum_of_squares: Samples
    normal: Samples
    at_bound: Flags
    converged: Flags


def minimize(
    regression: Regression,
    observed: Samples,
    start: Samples,
    *,
    lower: Samples | None = None,
    upper: Samples | None = None,
    precision: float = PRECISION,
    most_iterations: int = 200,
) -> Minimum:
    """Minimise the sum of squared differences between responses and observations, separately for each problem.

    A step that reaches a bound continues along it. Damping follows Nielsen (1999). A minimum is where the next
    step is too short to matter, or where no step decreases the sum and no neighbour is better: a kink.

    Parameters
    ----------
    regression : evaluated for all problems that are not done yet at once.
    observed : (m, n).
    start : (m, p); where it is out of bounds, the nearest point within is used.
    lower, upper : (p,) or (m, p), instead of the regression's own; equal ones hold a parameter.
    precision : standard errors; a search whose next step is shorter has converged: the relative offset of Bates and
        Watts (1981). Coarser for a response that jumps, whose least sum cannot be found exactly.
    most_iterations : maximum number of trial steps, accepted or rejected.

    Raises
    ------
    ValueError : shapes do not fit, or an observation is not finite.
    """
    check_problem(regression, observed, start)
    (m, p), n = start.shape, observed.shape[1]
    low = np.broadcast_to(regression.lower if lower is None else lower, start.shape)
    high = np.broadcast_to(regression.upper if upper is None else upper, start.shape)
    at = np.clip(start, low, high)
    squares, gradient, normal = evaluate_products(regression, observed, at)
    astray = ~_finite(squares, normal)
    squares[astray], gradient[astray], normal[astray] = np.inf, 0.0, 0.0
    damping, growth, converged = np.full(m, _LEAST_DAMPING), np.full(m, 2.0), np.zeros(m, dtype=bool)
    blocked, live, iteration = np.zeros((m, p), dtype=bool), np.flatnonzero(~astray), 0
    scale = np.einsum("mn,mn->m", observed, observed)
    share = max(precision**2 / max(n - p, 1), _SUMMED * sqrt(n))
    while len(live):
        here, g, h = at[live], gradient[live], normal[live]
        held = held_at_bound(here, g, low[live], high[live])
        blocked[live] = held
        free_decrease = newton_decrease(h, g, held)
        rounding = _ROUNDING * scale[live] + _UNSEEN * np.sqrt(squares[live] * scale[live])
        enough = share * squares[live] + rounding
        done = free_decrease <= enough
        converged[live[done]] = True
        stalled = ~done & (damping[live] > _MOST_DAMPING)
        for i in live[stalled].tolist():
            variance = squares[i] / max(n - p, 1)
            beside = _neighbours(at[i], normal[i], gradient[i], blocked[i], sqrt(variance))
            best = _best_of(regression, observed[i], np.clip(beside, low[i], high[i]))
            converged[i] = not best[1] < squares[i] - _KINK_OFFSET**2 * variance
            if not converged[i]:
                at[i], squares[i], gradient[i], normal[i] = best
                damping[i], growth[i] = _LEAST_DAMPING, 2.0
        live = live[~converged[live]]
        if not len(live) or iteration == most_iterations:
            break
        iteration += 1
        if stalled.any():
            continue
        g, h = g[~done], h[~done]
        trial = np.clip(at[live] + _damped_step(h, g, held[~done], damping[live]), low[live], high[live])
        trial = np.where(np.isfinite(trial), trial, at[live])
        found, slopes, products = evaluate_products(regression, observed[live], trial)
        gain = _gain_ratio(squares[live], found, g, h, trial - at[live])
        better = (found < squares[live]) & _finite(found, products)
        accepted, refused = live[better], live[~better]
        at[accepted], squares[accepted] = trial[better], found[better]
        gradient[accepted], normal[accepted] = slopes[better], products[better]
        damping[accepted] *= np.clip(1.0 - (2.0 * gain[better] - 1.0) ** 3, 1.0 / 3.0, 2.0)
        growth[accepted] = 2.0
        damping[refused] *= growth[refused]
        growth[refused] *= 2.0
    return Minimum(at, squares, normal, blocked, converged)


def _damped_step(normal: Samples, gradient: Samples, held: Flags, damping: Samples) -> Samples:
    """Return the damped step of each, (m, p), in which what is held stays; without damping Gauss and Newton's.

    Parameters
    ----------
    normal : (m, p, p), J'J.
    gradient : (m, p), J' times the residual.
    held : (m, p).
    damping : (m,), relative to a diagonal of one.
    """
    size = np.sqrt(np.einsum("mpp->mp", normal))
    size[size == 0.0] = 1.0
    scaled = normal / size[:, :, None] / size[:, None, :]
    scaled[held[:, :, None] | held[:, None, :]] = 0.0
    diagonal = np.einsum("mpp->mp", scaled)
    diagonal[:] = np.where(held, 1.0, diagonal + np.maximum(damping, _RIDGE)[:, None])
    # a parameter without any effect has no diagonal
    diagonal[diagonal == 0.0] = 1.0
    push = np.where(held, 0.0, gradient / size)
    return np.asarray(np.linalg.solve(scaled, push[..., None])[..., 0] / size)


def _gain_ratio(before: Samples, after: Samples, gradient: Samples, normal: Samples, step: Samples) -> Samples:
    """Return (m,): by how much sums of squares fell, over what the linear model promised of the steps, (m, p)."""
    with np.errstate(all="ignore"):
        predicted = 2.0 * np.einsum("mp,mp->m", gradient, step) - np.einsum("mp,mpq,mq->m", step, normal, step)
        return np.asarray((before - after) / predicted)


def _best_of(
    regression: Regression, observed: Samples, parameters: Samples
) -> tuple[Samples, float, Samples, Samples]:
    """Return the best of (k, p) parameters for one problem, with its sum of squares, J'r and J'J."""
    squares, gradient, normal = evaluate_products(regression, observed, parameters)
    squares[~_finite(squares, normal)] = np.inf
    best = int(np.argmin(squares))
    return parameters[best], float(squares[best]), gradient[best], normal[best]


def _neighbours(at: Samples, normal: Samples, gradient: Samples, held: Flags, sigma: float) -> Samples:
    """Return (3 p, p) parameters around one set, among which there is a better one unless it is a minimum.

    The minimum may be a kink: a solution with a delay has one wherever the delay is an observed instant, and a step
    along the gradient ends on the wrong side of it, however short. So each parameter is moved by a hundredth of its
    standard error up and down, the others following as in a linear model; and each is held while the others move.

    Parameters
    ----------
    at, gradient, held : (p,); what is held by a bound stays.
    normal : (p, p), J'J.
    sigma : standard deviation of the errors.
    """
    p = len(at)
    one = np.eye(p)
    normal, held = np.broadcast_to(normal, (p, p, p)), np.broadcast_to(held, (p, p))
    # the columns of the inverse of J'J
    columns = _damped_step(normal, one, held, np.zeros(p))
    variance = np.diag(columns)
    size = np.where(variance > 0.0, _KINK_OFFSET * sigma / np.sqrt(np.where(variance > 0.0, variance, 1.0)), 0.0)
    aside = columns * size[:, None]
    others = _damped_step(normal, np.broadcast_to(gradient, (p, p)), held | (one > 0.0), np.zeros(p))
    return np.asarray(at + np.concatenate([aside, -aside, others]))


def check_problem(regression: Regression, observed: Samples, start: Samples) -> None:
    """Raise ValueError where starts, (m, p), do not fit observations, (m, n), or one of these is not finite."""
    expected = (len(observed), len(regression.names))
    if start.shape != expected:
        raise ValueError(f"fit start of shape {start.shape}: must be {expected}")
    if not np.isfinite(observed).all():
        raise ValueError("fit: an observation is not finite")


def evaluate_products(
    regression: Regression, observed: Samples, parameters: Samples
) -> tuple[Samples, Samples, Samples]:
    """Return the sums of squares, (m,), J'r, (m, p), and J'J, (m, p, p), of observations, (m, n) or (n,)."""
    # a step may go where the response overflows; it is rejected then
    with np.errstate(all="ignore"):
        response, jacobian = evaluated(regression, parameters, observed.shape[-1])
        residual = observed - response
        transposed = jacobian.transpose(0, 2, 1)
        squares = np.einsum("mn,mn->m", residual, residual)
        return squares, (transposed @ residual[..., None])[..., 0], transposed @ jacobian


def held_at_bound(at: Samples, gradient: Samples, lower: Samples, upper: Samples) -> Flags:
    """Return which parameters, (..., p), a bound holds: they are on it, and J'r points out."""
    return np.asarray(((at <= lower) & (gradient <= 0.0)) | ((at >= upper) & (gradient >= 0.0)))


def newton_decrease(normal: Samples, gradient: Samples, held: Flags) -> Samples:
    """Return (m,): by how much Gauss and Newton's step decreases the sums of squares, were the model linear."""
    step = _damped_step(normal, gradient, held, np.zeros(len(normal)))
    return np.asarray(np.einsum("mp,mp->m", gradient, step))


def _finite(squares: Samples, normal: Samples) -> Flags:
    return np.asarray(np.isfinite(squares) & np.isfinite(normal).all(axis=(1, 2)))


def spread_starts(lower: Samples, upper: Samples, number: int, seed: int = 1, strength: int = 1) -> Samples:
    """Return (number, p) starts that fill a box evenly: a Latin hypercube, or an orthogonal array that is one, too.

    Parameters
    ----------
    lower, upper : (p,), of the box.
    number : of starts; each side of the box has one in each of as many equal parts.
    seed : of the random positions within.
    strength : 2: an orthogonal array; each of the squares of any two sides, in as many equal parts, has one start
        too. The number is the square of a prime that is p - 1 at least.

    Raises
    ------
    ValueError : the box has no inside, no start is requested, or there is no orthogonal array of the number.
    """
    from scipy.stats import qmc  # slow to import

    if number < 1 or not (np.isfinite(lower) & np.isfinite(upper) & (lower < upper)).all():
        raise ValueError("fit starts: need one at least, and a box with finite lower and upper ends")
    side, least = isqrt(number), max(len(lower) - 1, 2)
    if strength == 2 and (side**2 != number or side < least or any(side % i == 0 for i in range(2, side))):
        raise ValueError(f"fit starts: {number} of {len(lower)}: give the square of a prime, {least} or more")
    drawn = qmc.LatinHypercube(len(lower), strength=strength, seed=np.random.default_rng(seed)).random(number)
    return np.asarray(lower + drawn * (upper - lower))


def distinct_minima(found: Minimum, observed: Samples) -> Integers:
    """Return which of the starts led to minima of their own, (k,) indices, the least sum of squares first.

    The best start is first, whether it converged or not; of the others only those that converged.

    Two that are equally good are two minima nevertheless, unless the data do not distinguish them.

    Parameters
    ----------
    found : of one problem from each start.
    observed : (n,).
    """
    order = np.argsort(found.sum_of_squares)
    scale = _OBSERVED_ROUNDING * float(observed @ observed)
    kept = order[:1].tolist()
    for i in order[found.converged[order]].tolist():
        for j in kept:
            least = found.sum_of_squares[j]
            # distances along directions without information in the data are ignored
            apart = found.parameters[i] - found.parameters[j]
            limit = _APART**2 * least / max(len(observed) - len(apart), 1) + scale
            if found.sum_of_squares[i] - least <= limit and apart @ found.normal[j] @ apart <= limit:
                break
        else:
            kept.append(i)
    return np.array(kept, dtype=np.int64)
