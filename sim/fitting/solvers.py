"""Solvers of a fit: ours for many problems at once, and those of scipy, which end at the same minima."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from math import sqrt
from typing import Any

import numpy as np

from sim.arrays import Flags, Samples
from sim.fitting.least_squares import (
    PRECISION,
    Minimum,
    check_problem,
    evaluate_products,
    held_at_bound,
    minimize,
    newton_decrease,
)
from sim.fitting.regression import Regression, evaluated

# standard errors: a search whose next step is shorter has ended
_OFFSET = 1e-3
# where the first simplex ends: in residual norms, of the range, of the parameter
_SIMPLEX, _OF_RANGE, _OF_PARAMETER = 0.5, 0.25, 0.25
_ROUNDS = 12
# of a sum of squares beyond the start's: where the response is not finite
_WALL = 1e3
# standard errors within which a search is moved onto a bound that it approaches
_NEAR_BOUND = 0.01
# of scipy, with their options: whether they are of conjugate gradients, and whether there are bounds
_BY_GRADIENT: dict[tuple[bool, bool], tuple[str, dict[str, float]]] = {
    (False, False): ("BFGS", {"maxiter": 1000}),
    (False, True): ("L-BFGS-B", {"maxiter": 1000, "ftol": 1e-16, "maxcor": 30}),
    (True, False): ("CG", {"maxiter": 1000}),
    (True, True): ("TNC", {"maxfun": 3000, "ftol": 1e-16}),
}


class Solver(StrEnum):
    """Which method searches for the least sum of squares.

    LEVENBERG_MARQUARDT is vectorised over problems and starts; the others are scipy's and take one start after the
    other: LEAST_SQUARES, its Levenberg-Marquardt method, with bounds its trust-region reflective one; BFGS, with
    bounds L-BFGS-B; CONJUGATE_GRADIENT, Polak and Ribiere's, with bounds the truncated Newton method, whose steps are
    conjugate gradients'; NELDER_MEAD, the simplex method, which needs no derivatives.
    """

    LEVENBERG_MARQUARDT = "levenberg-marquardt"
    LEAST_SQUARES = "least-squares"
    BFGS = "bfgs"
    CONJUGATE_GRADIENT = "conjugate-gradient"
    NELDER_MEAD = "nelder-mead"


def find_minimum(
    regression: Regression,
    observed: Samples,
    start: Samples,
    solver: Solver | str = Solver.LEVENBERG_MARQUARDT,
    precision: float = PRECISION,
    most_iterations: int = 200,
) -> Minimum:
    """Minimise the sum of squared differences between responses and observations, from each start.

    Parameters
    ----------
    observed : (m, n).
    start : (m, p); where it is out of bounds, the nearest point within is used.
    solver : or its name.
    precision, most_iterations : of ours, see `minimize`.

    Raises
    ------
    ValueError : there is no such solver, or see `minimize`.
    """
    try:
        solver = Solver(solver)
    except ValueError:
        raise ValueError(f"fit solver {solver!r}: choose among {', '.join(Solver)}") from None
    if solver is Solver.LEVENBERG_MARQUARDT:
        return minimize(regression, observed, start, precision=precision, most_iterations=most_iterations)
    check_problem(regression, observed, start)
    found = [_Search(regression, each, begin).run(solver) for each, begin in zip(observed, start, strict=True)]
    columns = zip(*((each.at, each.squares, each.normal, each.held, each.converged) for each in found), strict=True)
    return Minimum(*map(np.array, columns))


@dataclass(frozen=True, slots=True, eq=False)
class _Point:
    """One point of a search: where, the sum there, J'r, J'J, and what a bound holds."""

    at: Samples
    squares: float
    gradient: Samples
    normal: Samples
    held: Flags
    converged: bool = False


class _Search:
    """One problem from one start.

    A search is repeated from where it ended, in units of the sensitivities there, until no more is gained: the
    criteria of scipy's minimisers are absolute, and a simplex may collapse short of the minimum.
    """

    def __init__(self, regression: Regression, observed: Samples, start: Samples) -> None:
        self._regression, self._observed = regression, observed
        self._lower, self._upper = np.asarray(regression.lower), np.asarray(regression.upper)
        self._start = np.clip(start, self._lower, self._upper)
        self._squared = float(observed @ observed)

    def run(self, solver: Solver) -> _Point:
        point = self._point(self._start)
        if not np.isfinite(point.squares):
            none = np.zeros_like(point.normal)
            return _Point(point.at, np.inf, none[0], none, none[0] > 0.0)
        steps: dict[Solver, Callable[[_Point], tuple[Samples, bool]]] = {
            Solver.LEAST_SQUARES: self._least_squares,
            Solver.BFGS: self._by_gradient,
            Solver.CONJUGATE_GRADIENT: partial(self._by_gradient, conjugate=True),
            Solver.NELDER_MEAD: self._nelder_mead,
        }
        ended = False
        for _ in range(_ROUNDS):
            if self._is_minimum(point):
                return replace(point, converged=True)
            reached, success = steps[solver](point)
            following = self._onto_bounds(self._point(np.clip(reached, self._lower, self._upper)))
            gained = point.squares - following.squares
            if gained > 0.0:
                point = following
            # also at a kink, where the derivatives do not vanish
            ended = success and not gained > self._enough(point)
            if ended:
                break
        return replace(point, converged=ended or self._is_minimum(point))

    def _point(self, at: Samples) -> _Point:
        squares, gradient, normal = evaluate_products(self._regression, self._observed[None], at[None])
        finite = bool(np.isfinite(squares[0]) and np.isfinite(normal).all())
        held = held_at_bound(at, gradient[0], self._lower, self._upper)
        return _Point(at, float(squares[0]) if finite else np.inf, gradient[0], normal[0], held)

    def _enough(self, point: _Point) -> float:
        n, p = len(self._observed), len(point.at)
        eps = float(np.finfo(float).eps)
        share = max(_OFFSET**2 / max(n - p, 1), eps * sqrt(n))
        return share * point.squares + 1e-30 * self._squared + 0.1 * eps * sqrt(point.squares * self._squared)

    def _is_minimum(self, point: _Point) -> bool:
        decrease = float(newton_decrease(point.normal[None], point.gradient[None], point.held[None])[0])
        return decrease <= self._enough(point)

    def _onto_bounds(self, point: _Point) -> _Point:
        """Return the point on the bounds that it is near to and drawn to, unless it is better within."""
        size = np.sqrt(np.diag(point.normal))
        near = _NEAR_BOUND * sqrt(point.squares / max(len(self._observed) - len(size), 1)) / np.where(size, size, 1.0)
        low = (point.at - self._lower <= near) & (point.gradient < 0.0)
        high = (self._upper - point.at <= near) & (point.gradient > 0.0)
        if not (low | high).any():
            return point
        moved = self._point(np.where(low, self._lower, np.where(high, self._upper, point.at)))
        return moved if moved.squares <= point.squares else point

    def _unit(self, point: _Point) -> Samples:
        """Return (p,): changes of the parameters that change the response by the residuals' norm."""
        size = np.sqrt(np.diag(point.normal))
        ranges = self._upper - self._lower
        unit = np.where(size > 0.0, sqrt(point.squares) / np.where(size > 0.0, size, 1.0), np.abs(point.at))
        return np.asarray(np.where(unit > 0.0, unit, np.where(np.isfinite(ranges) & (ranges > 0.0), ranges, 1.0)))

    def _least_squares(self, point: _Point) -> tuple[Samples, bool]:
        import scipy.optimize  # slow to import

        least_squares: Any = scipy.optimize.least_squares
        free = self._upper > self._lower
        wall = np.full(len(self._observed), sqrt(_WALL * point.squares / len(self._observed)))

        def whole(part: Samples) -> Samples:
            at = point.at.copy()
            at[free] = part
            return at[None]

        def residual(part: Samples) -> Samples:
            found = self._evaluate(whole(part))[0][0] - self._observed
            return found if np.isfinite(found).all() else wall

        def jacobian(part: Samples) -> Samples:
            return np.asarray(np.nan_to_num(self._evaluate(whole(part))[1][0][:, free], posinf=0.0, neginf=0.0))

        bounded = bool(np.isfinite(self._lower[free]).any() or np.isfinite(self._upper[free]).any())
        options: dict[str, Any] = {"method": "trf", "bounds": (self._lower[free], self._upper[free])}
        chosen = options if bounded else {"method": "lm"}
        # 1e-15 is below what MINPACK accepts
        tolerances = dict.fromkeys(("ftol", "xtol", "gtol"), 1e-14)
        found = least_squares(
            residual, point.at[free], jacobian, x_scale="jac", max_nfev=1000, **tolerances, **chosen
        )
        return whole(found.x)[0], bool(found.status > 0)

    def _by_gradient(self, point: _Point, *, conjugate: bool = False) -> tuple[Samples, bool]:
        unit = self._unit(point)
        # a line search that fails forgets where it was
        best, at = 1.0, point.at

        def cost(z: Samples) -> tuple[float, Samples]:
            nonlocal best, at
            squares, gradient, _ = self._products(point.at + unit * z)
            if not np.isfinite(squares) or not np.isfinite(gradient).all():
                return _WALL, np.zeros(len(z))
            if squares / point.squares < best:
                best, at = squares / point.squares, point.at + unit * z
            return squares / point.squares, -2.0 * gradient * unit / point.squares

        bounded = bool(np.isfinite(self._lower).any() or np.isfinite(self._upper).any())
        method, of_method = _BY_GRADIENT[conjugate, bounded]
        _, success = self._minimised(cost, point, unit, method, jac=True, options={"gtol": 1e-10, **of_method})
        return at, success

    def _nelder_mead(self, point: _Point) -> tuple[Samples, bool]:
        ranges = self._upper - self._lower
        # of a parameter of zero without bounds there is only its sensitivity
        most = np.where(point.at != 0.0, _OF_PARAMETER * np.abs(point.at), np.inf)
        most = np.where(np.isfinite(ranges), _OF_RANGE * ranges, most)
        unit = np.minimum(_SIMPLEX * self._unit(point), most)
        unit = np.where(unit > 0.0, unit, 1.0)

        def cost(z: Samples) -> float:
            squares, _, _ = self._products(point.at + unit * z)
            return squares / point.squares if np.isfinite(squares) else np.inf

        p = len(unit)
        # into the inside of the bounds
        towards = np.where(point.at + unit > self._upper, -1.0, 1.0)
        simplex = np.vstack([np.zeros(p), np.diag(towards)])
        options = {"initial_simplex": simplex, "xatol": 1e-7, "fatol": 1e-13, "maxfev": 2000 * p, "adaptive": p > 3}
        reached, success = self._minimised(cost, point, unit, "Nelder-Mead", jac=False, options=options)
        # a simplex drifts along what changes nothing
        found = self._point(np.clip(reached, self._lower, self._upper))
        idle = np.diag(found.normal) == 0.0
        return (np.where(idle, point.at, reached) if idle.any() else reached), success

    def _minimised(
        self,
        cost: Callable[[Samples], Any],
        point: _Point,
        unit: Samples,
        method: str,
        *,
        jac: bool,
        options: dict[str, Any],
    ) -> tuple[Samples, bool]:
        import scipy.optimize  # slow to import

        # its overloads are by method
        minimize: Any = scipy.optimize.minimize
        bounds = None
        if method not in ("BFGS", "CG"):
            bounds = scipy.optimize.Bounds((self._lower - point.at) / unit, (self._upper - point.at) / unit)
        with np.errstate(all="ignore"):
            found = minimize(cost, np.zeros(len(unit)), method=method, jac=jac, bounds=bounds, options=options)
        # 2: BFGS cannot gain more in the precision of its arguments
        return point.at + unit * found.x, bool(found.success or (found.status == 2 and method == "BFGS"))

    def _evaluate(self, at: Samples) -> tuple[Samples, Samples]:
        with np.errstate(all="ignore"):
            return evaluated(self._regression, at, len(self._observed))

    def _products(self, at: Samples) -> tuple[float, Samples, Samples]:
        within = np.clip(at, self._lower, self._upper)
        squares, gradient, normal = evaluate_products(self._regression, self._observed[None], within[None])
        return float(squares[0]), gradient[0], normal[0]
