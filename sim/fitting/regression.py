"""Regressions: what can be fitted, with a polynomial beside it, in other coordinates, or any function of parameters.

A function is differentiated by a complex step, by central differences, or by a given one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from sim.arrays import Samples


class Regression(Protocol):
    """A response that depends on parameters: p of them, n instants, m sets of parameters at once.

    Any class with these four can be fitted; one that is derived from it is unbounded but for bounds of its own.
    """

    @property
    def names(self) -> tuple[str, ...]:
        """Of the parameters."""

    @property
    def lower(self) -> Samples:
        """(p,): the least each may be; -inf where it may be anything."""
        return np.full(len(self.names), -np.inf)

    @property
    def upper(self) -> Samples:
        """(p,): the largest each may be."""
        return np.full(len(self.names), np.inf)

    def evaluate(self, parameters: Samples) -> tuple[Samples, Samples]:
        """Return the responses to (m, p) parameters, (m, n), and their derivatives by them, (m, n, p)."""


def evaluated(regression: Regression, parameters: Samples, n: int) -> tuple[Samples, Samples]:
    """Return the responses to (m, p) parameters, (m, n), and their derivatives by them, (m, n, p).

    Raises
    ------
    ValueError : what the regression returns has other shapes, or there is another number of instants than n.
    """
    (m, p), found = parameters.shape, regression.evaluate(parameters)
    shapes = [np.shape(each) for each in found] if isinstance(found, tuple) else [np.shape(found)]
    if shapes != [(m, n), (m, n, p)]:
        k = shapes[0][-1] if shapes[0] else 0
        if shapes == [(m, k), (m, k, p)]:
            raise ValueError(f"fit: {n} observations of a response at {k} instants: give one for each")
        raise ValueError(
            f"fit: evaluate of {type(regression).__name__} returned {' and '.join(map(str, shapes))}: of parameters "
            f"{(m, p)} it must be a tuple of responses {(m, n)} and derivatives {(m, n, p)}"
        )
    return found


@dataclass(frozen=True, eq=False)
class PolynomialDiscrepancy:
    """A response plus a polynomial in time, for what the model omits: Method 1.

    It is eq. 4 of Burns, Cliff and Farlow. Outside of the observed times the polynomial means nothing, and it grows
    without bound. Standard errors are those of a polynomial that is right; where it only comes near to what the model
    leaves out the estimates are biased by more, and residuals need not show it.

    Parameters
    ----------
    regression : the model.
    time : (n,), s, those of the model.
    n_terms : beta_1 + beta_2 t + ... so many; none leaves the model alone.
    """

    regression: Regression
    time: Samples
    n_terms: int = 3

    @property
    def names(self) -> tuple[str, ...]:
        """Those of the model, then beta_1 and so on."""
        return (*self.regression.names, *(f"beta_{j + 1}" for j in range(self.n_terms)))

    @property
    def lower(self) -> Samples:
        """(p + n_terms,)."""
        return np.concatenate([self.regression.lower, np.full(self.n_terms, -np.inf)])

    @property
    def upper(self) -> Samples:
        """(p + n_terms,)."""
        return np.concatenate([self.regression.upper, np.full(self.n_terms, np.inf)])

    def evaluate(self, parameters: Samples) -> tuple[Samples, Samples]:
        """Return response and derivatives, (m, n) and (m, n, p + n_terms)."""
        p, parameters = len(self.regression.names), np.atleast_2d(parameters)
        powers = np.vander(self.time, self.n_terms, increasing=True)
        response, sensitivities = evaluated(self.regression, parameters[:, :p], len(self.time))
        beside = np.broadcast_to(powers, (len(parameters), *powers.shape))
        return response + parameters[:, p:] @ powers.T, np.concatenate([sensitivities, beside], axis=2)


@dataclass(frozen=True, eq=False)
class Reparameterized:
    """The same response in other coordinates, of which the parameters are linear functions.

    Bounds are those of the coordinates: linear inequalities between parameters become simple ones.

    Parameters
    ----------
    regression : whose own bounds are ignored.
    matrix : (p, p), parameters = matrix @ coordinates.
    names : of the coordinates.
    lower, upper : (p,), of the coordinates.
    """

    regression: Regression
    matrix: Samples
    names: tuple[str, ...]
    lower: Samples
    upper: Samples

    def of(self, parameters: Samples) -> Samples:
        """Return the coordinates of parameters, (p,)."""
        return np.asarray(np.linalg.solve(self.matrix, parameters), dtype=np.float64)

    def evaluate(self, parameters: Samples) -> tuple[Samples, Samples]:
        """Return response and derivatives by the coordinates."""
        response, sensitivities = self.regression.evaluate(np.atleast_2d(parameters) @ self.matrix.T)
        return response, sensitivities @ self.matrix


def original_parameters(regression: Regression) -> tuple[tuple[str, ...], Samples]:
    """Return the names of the parameters themselves and the matrix, (p, p), that makes them of what is fitted.

    Coordinates are found wherever they are: around a polynomial, within one or a metric, and in other coordinates.
    """
    if isinstance(regression, Reparameterized):
        names, matrix = original_parameters(regression.regression)
        return names, matrix @ regression.matrix
    if isinstance(regression, PolynomialDiscrepancy):
        inner, block = original_parameters(regression.regression)
        matrix = np.eye(len(regression.names))
        matrix[: len(inner), : len(inner)] = block
        return (*inner, *regression.names[len(inner) :]), matrix
    # another response of the same parameters: a metric's features
    inside: Regression | None = getattr(regression, "regression", None)
    if inside is not None and inside.names == regression.names:
        return original_parameters(inside)
    return regression.names, np.eye(len(regression.names))


# of a parameter: the errors of third order and of rounding are alike
_CENTRAL = float(np.finfo(float).eps) ** (1.0 / 3.0)
# so short that its square is nothing beside one; there is no difference in which digits are lost
_COMPLEX = 1e-30
# of the smaller of two slopes: a jump is between them
_DISAGREE = 0.5
# of the range: the scale of a parameter that is zero
_OF_RANGE = 0.1


class Derivatives(StrEnum):
    """How a function is differentiated.

    COMPLEX_STEP: of a function that computes with complex numbers throughout, exactly (Squire and Trapp 1998); what
    takes an absolute value, compares, or drops the imaginary part is not such a function.
    CENTRAL: central differences; at a bound the formula of second order to one side.
    PIECEWISE: of a function whose numbers jump at some parameters, as a sampled acceleration does where friction
    turns round: where the differences to the two sides disagree, the smaller, which has no jump in it.
    """

    COMPLEX_STEP = "complex-step"
    CENTRAL = "central"
    PIECEWISE = "piecewise"


@dataclass(frozen=True, eq=False)
class Differentiated:
    """A plain function of parameters as what can be fitted.

    Where the response is not finite, or the function overflows, divides by zero or meets a singular matrix, a search
    rejects the step.

    Parameters
    ----------
    response : (p,) parameters to (n,) numbers; of any other shape it is flattened, as `observed.ravel()`.
    names : (p,).
    lower, upper : (p,), bounds; a number is that of all, None none. The function is never called beyond them.
    how : complex-step, central or piecewise, or a function of (p,) that returns the derivatives, (n, p).
    step : (p,), of central differences, in the unit of the parameter; by default 6e-6 of it. Give a longer one where
        the response is integrated with a tolerance: its error over the step is that of the derivative.
    vectorized : whether the response takes (m, p) and returns (m, n), and derivatives (m, n, p).

    Raises
    ------
    ValueError : sizes do not fit, or there is no such way.
    """

    response: Callable[[Samples], Any]
    names: Sequence[str]
    # as arrays, once made
    lower: Any = None
    upper: Any = None
    how: Derivatives | str | Callable[[Samples], Any] = Derivatives.CENTRAL
    step: ArrayLike | None = None
    vectorized: bool = False
    # shape of the last response before it was flattened
    returned_shapes: list[tuple[int, ...]] = field(default_factory=list, init=False, repr=False)
    # of the responses so far: how long one is that cannot be computed
    _lengths: set[int] = field(default_factory=set, init=False, repr=False)

    def __post_init__(self) -> None:
        names = (self.names,) if isinstance(self.names, str) else tuple(self.names)
        p = len(names)
        if not p or len(set(names)) < p:
            raise ValueError(f"parameters {', '.join(names)}: give each a name of its own, one at least")
        object.__setattr__(self, "names", names)
        for name, none in (("lower", -np.inf), ("upper", np.inf)):
            given = getattr(self, name)
            object.__setattr__(self, name, _row(name, none if given is None else given, p))
        if not (np.asarray(self.lower) <= np.asarray(self.upper)).all():
            raise ValueError(f"bounds {np.asarray(self.lower)} and {np.asarray(self.upper)}: lower must not be above")
        if self.step is not None:
            step = _row("step", self.step, p)
            if not ((step > 0.0) & np.isfinite(step)).all():
                raise ValueError(f"step {step}: must be positive and finite")
            object.__setattr__(self, "step", step)
        if not callable(self.how):
            try:
                object.__setattr__(self, "how", Derivatives(self.how))
            except ValueError:
                raise ValueError(
                    f"derivatives {self.how!r}: choose among {', '.join(Derivatives)}, or give a function"
                ) from None

    def evaluate(self, parameters: Samples) -> tuple[Samples, Samples]:
        """Return the responses, (m, n), and their derivatives, (m, n, p); NaN where they cannot be computed.

        Raises
        ------
        ValueError : responses differ in length, or no complex numbers come out of a complex step.
        """
        parameters = np.atleast_2d(np.asarray(parameters, dtype=np.float64))
        if callable(self.how):
            return self._analytic(parameters, self.how)
        if self.how is Derivatives.COMPLEX_STEP:
            return self._complex_step(parameters)
        return self._central(parameters)

    def _analytic(self, parameters: Samples, derivatives: Callable[[Samples], Any]) -> tuple[Samples, Samples]:
        response = np.real(self._responses(parameters))
        (m, n), p = response.shape, parameters.shape[1]
        found = self._called(derivatives, parameters, (n, p))
        return response, np.real(found).reshape(m, n, p)

    def _complex_step(self, parameters: Samples) -> tuple[Samples, Samples]:
        m, p = parameters.shape
        size = _COMPLEX * self._scale(parameters)
        # (p, m, p): one parameter moved in each
        moved = parameters + 1j * np.eye(p)[:, None, :] * size
        found = self._responses(moved.reshape(p * m, p))
        if not np.iscomplexobj(found):
            raise ValueError(
                "complex step: the response to complex parameters is real, something in it drops the imaginary part: "
                "differentiate by central differences"
            )
        found = found.reshape(p, m, -1)
        return np.ascontiguousarray(found[0].real), np.moveaxis(found.imag / size.T[:, :, None], 0, 2).copy()

    def _central(self, parameters: Samples) -> tuple[Samples, Samples]:
        m, p = parameters.shape
        lower, upper = np.asarray(self.lower), np.asarray(self.upper)
        step = _CENTRAL * self._scale(parameters) if self.step is None else np.broadcast_to(self.step, (m, p))
        up, down = upper - parameters, parameters - lower
        # near a bound two steps away from it, shorter ones where the range is narrower yet
        away = np.where(up >= down, 1.0, -1.0) * np.minimum(2.0 * step, np.maximum(up, down))
        # what is held has no room at all: its derivative is not used
        away = np.where(away == 0.0, step, away)
        central = (up >= step) & (down >= step)
        one, other = np.where(central, step, away), np.where(central, -step, 0.5 * away)
        eye = np.eye(p)[:, None, :]
        moves = np.concatenate([np.zeros((1, m, p)), eye * one, eye * other])
        # rounded, a step is what it is in the end
        moved = parameters + moves
        one, other = (np.einsum("imi->mi", moved[k : k + p]) - parameters for k in (1, 1 + p))
        found = np.real(self._responses(moved.reshape(-1, p))).reshape(2 * p + 1, m, -1)
        here, first, second = found[0], found[1 : p + 1] - found[0], found[p + 1 :] - found[0]
        a, b = one.T[:, :, None], other.T[:, :, None]
        with np.errstate(all="ignore"):
            slope = (first * b / a - second * a / b) / (b - a)
            if self.how is Derivatives.PIECEWISE:
                one_slope, other_slope = first / a, second / b
                smaller = np.where(np.abs(one_slope) < np.abs(other_slope), one_slope, other_slope)
                disagree = np.abs(one_slope - other_slope) > _DISAGREE * np.abs(smaller)
                slope = np.where(disagree, smaller, slope)
        return np.ascontiguousarray(here), np.moveaxis(slope, 0, 2).copy()

    def _scale(self, parameters: Samples) -> Samples:
        ranges = np.asarray(self.upper) - np.asarray(self.lower)
        least = np.where(np.isfinite(ranges) & (ranges > 0.0), _OF_RANGE * ranges, 1.0)
        return np.where(parameters == 0.0, least, np.abs(parameters))

    def _responses(self, parameters: Any) -> Any:
        return self._called(self.response, parameters, None)

    def _called(self, function: Callable[[Any], Any], parameters: Any, shape: tuple[int, int] | None) -> Any:
        """Return results, (m, n), of derivatives (m, n p); NaN where they cannot be computed."""
        if self.vectorized:
            with np.errstate(all="ignore"):
                found = np.asarray(function(parameters))
            if found.shape[:1] != (len(parameters),):
                raise ValueError(f"response to {len(parameters)} sets of parameters: returned shape {found.shape}")
            if function is self.response:
                self.returned_shapes[:] = [found.shape[1:]]
            return found.reshape(len(parameters), -1)
        rows: list[Any] = [self._call(function, each) for each in parameters]
        size = 1 if shape is None else shape[1]
        self._lengths.update(
            len(row) // size if len(row) % size == 0 else -len(row) for row in rows if row is not None
        )
        if not self._lengths:
            raise ValueError(
                f"the response at {', '.join(map(str, self.names))} = {parameters[0].real} cannot be computed"
            )
        if len(self._lengths) > 1:
            lengths = " and ".join(str(size * n) for n in sorted(self._lengths))
            raise ValueError(f"response or derivatives of {lengths} numbers: must not vary in length")
        missing = np.full(size * next(iter(self._lengths)), np.nan)
        return np.array([missing if row is None else row for row in rows])

    def _call(self, function: Callable[[Any], Any], parameters: Any) -> Any:
        try:
            with np.errstate(all="ignore"):
                found = np.asarray(function(parameters))
        except (ArithmeticError, np.linalg.LinAlgError):
            return None
        if function is self.response:
            self.returned_shapes[:] = [found.shape]
        return found.ravel()


def second_differences(
    cost: Callable[[Samples], float], at: Samples, steps: Samples, here: float | None = None
) -> Samples:
    """Return (p, p), the second derivatives, by central differences.

    Parameters
    ----------
    at, steps : (p,).
    here : the cost there, where it is known.
    """
    p, moves = len(at), np.diag(steps)
    here = cost(at) if here is None else here
    ahead = [cost(at + each) for each in moves]
    behind = [cost(at - each) for each in moves]
    found = np.empty((p, p))
    for i in range(p):
        found[i, i] = ahead[i] - 2.0 * here + behind[i]
        for j in range(i):
            both = cost(at + moves[i] + moves[j]) + cost(at - moves[i] - moves[j])
            found[i, j] = found[j, i] = 0.5 * (both - ahead[i] - behind[i] - ahead[j] - behind[j] + 2.0 * here)
    return found / np.outer(steps, steps)


def _row(name: str, value: ArrayLike, p: int) -> Samples:
    row = np.asarray(value, dtype=np.float64)
    if row.shape not in ((), (p,)) or np.isnan(row).any():
        raise ValueError(f"{name} of shape {row.shape}: give a number, or {p}, one for each parameter")
    return np.broadcast_to(row, (p,)).copy()
