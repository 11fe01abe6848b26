"""Nonlinear least squares within bounds, many problems side by side: Levenberg and Marquardt's method."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sim.identification.regression import Regression, Samples

Flags = NDArray[np.bool_]

# done where the next step is shorter than so many standard errors: the relative offset of Bates and Watts (1981)
_OFFSET = 1e-5
# or takes away less than the rounding of the observations
_ROUNDING = 1e-30
_RIDGE = 1e-13
_MOST_DAMPING = 1e14


@dataclass(frozen=True, slots=True, eq=False)
class Minimum:
    """Where the sums of squares are least.

    Parameters
    ----------
    parameters : (m, p).
    sum_of_squares : (m,).
    normal : (m, p, p), the sensitivities' products J'J there.
    at_bound : (m, p), which parameters a bound holds back.
    converged : (m,); false where the steps ran out.
    iterations : of all together.
    """

    parameters: Samples
    sum_of_squares: Samples
    normal: Samples
    at_bound: Flags
    converged: Flags
    iterations: int


def minimize(
    regression: Regression,
    observed: Samples,
    start: Samples,
    *,
    lower: Samples | None = None,
    upper: Samples | None = None,
    most_iterations: int = 200,
) -> Minimum:
    """Minimise the sum of squared differences between responses and observations, each problem for itself.

    A step that a bound stops goes on along the bound. Damping follows Nielsen (1999).

    Parameters
    ----------
    regression : evaluated for all problems that are not done yet at once.
    observed : (m, n).
    start : (m, p); where it is out of bounds, the nearest point within is taken.
    lower, upper : (p,) or (m, p), instead of the regression's own; equal ones hold a parameter.

    Raises
    ------
    ValueError : shapes do not fit, or an observation or the response at a start is not finite.
    """
    m, p = start.shape
    if p != len(regression.names) or len(observed) != m:
        raise ValueError(f"fit start of shape {start.shape}: must be {(len(observed), len(regression.names))}")
    low = np.broadcast_to(regression.lower if lower is None else lower, start.shape)
    high = np.broadcast_to(regression.upper if upper is None else upper, start.shape)
    at = np.clip(start, low, high)
    residual, jacobian = _residuals(regression, observed, at)
    squares = np.einsum("mn,mn->m", residual, residual)
    if not np.isfinite(squares).all():
        raise ValueError("fit: an observation, or the response at a start, is not finite")
    gradient, normal = _products(residual, jacobian)
    damping, growth = np.full(m, 1e-3), np.full(m, 2.0)
    blocked, converged = np.zeros((m, p), dtype=bool), np.zeros(m, dtype=bool)
    live, iteration = np.arange(m), 0
    degrees, scale = max(observed.shape[1] - p, 1), np.einsum("mn,mn->m", observed, observed)
    while True:
        here, g, h = at[live], gradient[live], normal[live]
        held = ((here <= low[live]) & (g <= 0.0)) | ((here >= high[live]) & (g >= 0.0))
        blocked[live] = held
        free_decrease = np.einsum("mp,mp->m", g, _step(h, g, held, np.full(len(live), _RIDGE)))
        enough = _OFFSET**2 * squares[live] / degrees + _ROUNDING * scale[live]
        done = free_decrease <= enough
        converged[live[done]] = True
        done |= damping[live] > _MOST_DAMPING
        live = live[~done]
        if not len(live) or iteration == most_iterations:
            break
        iteration += 1
        g, h, held = g[~done], h[~done], held[~done]
        trial = np.clip(at[live] + _step(h, g, held, damping[live]), low[live], high[live])
        moved = trial - at[live]
        predicted = 2.0 * np.einsum("mp,mp->m", g, moved) - np.einsum("mp,mpq,mq->m", moved, h, moved)
        residual, jacobian = _residuals(regression, observed[live], trial)
        with np.errstate(all="ignore"):
            found = np.einsum("mn,mn->m", residual, residual)
            gain = (squares[live] - found) / predicted
            better = (found < squares[live]) & np.isfinite(jacobian).all(axis=(1, 2))
        accepted, refused = live[better], live[~better]
        at[accepted], squares[accepted] = trial[better], found[better]
        gradient[accepted], normal[accepted] = _products(residual[better], jacobian[better])
        damping[accepted] *= np.clip(1.0 - (2.0 * gain[better] - 1.0) ** 3, 1.0 / 3.0, 2.0)
        growth[accepted] = 2.0
        damping[refused] *= growth[refused]
        growth[refused] *= 2.0
    return Minimum(at, squares, normal, blocked, converged, iteration)


def _residuals(regression: Regression, observed: Samples, parameters: Samples) -> tuple[Samples, Samples]:
    # a step may go where the response overflows; it is refused then
    with np.errstate(all="ignore"):
        response, jacobian = regression.evaluate(parameters)
        return observed - response, jacobian


def _products(residual: Samples, jacobian: Samples) -> tuple[Samples, Samples]:
    transposed = jacobian.transpose(0, 2, 1)
    return (transposed @ residual[..., None])[..., 0], transposed @ jacobian


def _step(normal: Samples, gradient: Samples, held: Flags, damping: Samples) -> Samples:
    """Return the damped step of each, in which what is held stays."""
    size = np.sqrt(np.einsum("mpp->mp", normal))
    size[size == 0.0] = 1.0
    scaled = normal / (size[:, :, None] * size[:, None, :])
    scaled[held[:, :, None] | held[:, None, :]] = 0.0
    diagonal = np.einsum("mpp->mp", scaled)
    diagonal[:] = np.where(held, 1.0, diagonal + damping[:, None])
    # a parameter without any effect has no diagonal
    diagonal[diagonal == 0.0] = 1.0
    push = np.where(held, 0.0, gradient / size)
    return np.asarray(np.linalg.solve(scaled, push[..., None])[..., 0] / size)
