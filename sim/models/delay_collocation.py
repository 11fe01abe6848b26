"""Collocation at Chebyshev's points: a linear delay system's solution as polynomials, element after element."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import lu_factor, lu_solve

from sim.arrays import Samples

_Factors = tuple[Samples, NDArray[np.int32]]

# where an element's length times the matrices' size is no more, the solution is a polynomial of this degree to 1e-14
DEGREE = 12
REACH = 2.0
# the ends of an element are evaluated from inside, because a signal may jump there
_INSIDE = 1e-12

_NODES = -np.cos(np.pi * np.arange(DEGREE + 1) / DEGREE)
# of barycentric interpolation
_WEIGHTS = (-1.0) ** np.arange(DEGREE + 1) * np.where(np.arange(DEGREE + 1) % DEGREE, 1.0, 0.5)
# where forces are evaluated, as shares of an element
PLACES = np.clip(0.5 * (1.0 + _NODES), _INSIDE, 1.0 - _INSIDE)


def _differentiation() -> Samples:
    gap = _NODES[:, None] - _NODES + np.eye(DEGREE + 1)
    matrix = _WEIGHTS / _WEIGHTS[:, None] / gap
    np.fill_diagonal(matrix, 0.0)
    np.fill_diagonal(matrix, -matrix.sum(axis=1))
    return matrix


_DERIVATIVE = _differentiation()
# of the last two Chebyshev coefficients, (2, DEGREE + 1)
_LAST = np.cos(np.pi / DEGREE * np.outer([DEGREE - 1, DEGREE], np.arange(DEGREE, -1, -1))) / DEGREE
_LAST[:, [0, -1]] /= 2.0
_LAST[0] *= 2.0


def _last_coefficients(values: Samples) -> Samples:
    """Return the larger of the last two Chebyshev coefficients of (..., DEGREE + 1, n) nodes, (..., n)."""
    return np.asarray(np.abs(_LAST @ values).max(axis=-2))


def operator(length: float, a0: Samples) -> _Factors:
    """Return what an element's nodes but the first solve, factorised."""
    derivative = np.kron((2.0 / length) * _DERIVATIVE[1:, 1:], np.eye(len(a0)))
    factors, pivots = lu_factor(derivative - np.kron(np.eye(DEGREE), a0))
    return factors, pivots


def element(factors: _Factors, length: float, state: Samples, forcing: Samples) -> Samples:
    """Return the states at an element's nodes, (DEGREE + 1, n), from that at its beginning and what drives it."""
    pushed = forcing[1:] - (2.0 / length) * np.outer(_DERIVATIVE[1:, 0], state)
    return np.vstack([state, lu_solve(factors, pushed.ravel(), check_finite=False).reshape(-1, len(state))])


@dataclass(frozen=True, eq=False)
class DenseSolution:
    """A solution at any instant: polynomials, element by element.

    Parameters
    ----------
    edges : (n_elements + 1,), s.
    values : (n_elements, DEGREE + 1, n), at the nodes of each.
    c : (p, n), of the output.
    """

    edges: Samples
    values: Samples
    c: Samples

    def __call__(self, time: ArrayLike) -> Samples:
        """Return the states at (n_times,) s, (n_times, n).

        Raises
        ------
        ValueError : a time is outside of what was solved, or not a number.
        """
        instants = np.atleast_1d(np.asarray(time, dtype=np.float64))
        if instants.ndim != 1:
            raise ValueError(f"delay system time: must be of shape (n_times,), not {instants.shape}")
        if not ((instants >= 0.0) & (instants <= self.edges[-1])).all():
            raise ValueError(f"delay system time: must be from 0 to {self.edges[-1]:g} s, which was solved")
        place = np.clip(np.searchsorted(self.edges, instants, side="right") - 1, 0, len(self.values) - 1)
        begin, end = self.edges[place], self.edges[place + 1]
        gap = (2.0 * instants - begin - end)[:, None] / (end - begin)[:, None] - _NODES
        exact = gap == 0.0
        share = np.where(exact.any(axis=1, keepdims=True), exact, _WEIGHTS / np.where(exact, 1.0, gap))
        share /= share.sum(axis=1, keepdims=True)
        return np.asarray(np.einsum("tj,tjn->tn", share, self.values[place]))

    def output(self, time: ArrayLike) -> Samples:
        """Return y = C x at (n_times,) s, (n_times, p)."""
        return self(time) @ self.c.T


# of the last coefficients, as a share of the largest value; those left out are smaller still
_TOLERANCE = 1e-10
# of a delay, or of all time where that is shorter: as near as a jump is sought that no break names
_SHORTEST = 1e-9


@dataclass(frozen=True, slots=True)
class ForcingSignal:
    """A signal from outside.

    Parameters
    ----------
    at : the signal at (n_times,) s, (n_times, width).
    delays : (n_delays,), s, the beginnings of the delays in which it acts, on the signal's own clock.
    """

    at: Callable[[Samples], Samples]
    delays: Samples


def refined(edges: Samples, signals: Sequence[ForcingSignal], most: int) -> Samples:
    """Return the edges of the elements in one delay, (n + 1,), with those halved on which a signal is no polynomial.

    Time is not known better than its rounding, and so neither is a fast signal: less than that is not asked for.

    Parameters
    ----------
    edges : (m + 1,), s, from zero.
    signals : what is evaluated, at each element's nodes in every delay.
    most : so many elements are allowed in a delay.

    Raises
    ------
    ValueError : more would be needed.
    """
    pieces, done = np.column_stack([edges[:-1], edges[1:]]), np.empty((0, 2))
    scales: list[Samples | float] = [0.0] * len(signals)
    while len(pieces):
        length = pieces[:, 1] - pieces[:, 0]
        rough = np.zeros(len(pieces), dtype=np.bool_)
        for i, signal in enumerate(signals):
            time = signal.delays[:, None, None] + pieces[:, :1] + length[:, None] * PLACES
            values = signal.at(time.ravel()).reshape(*time.shape, -1)
            scales[i] = np.maximum(scales[i], np.abs(values).max(axis=(0, 1, 2)))
            rounding = 4.0 * np.finfo(np.float64).eps * np.abs(time).max(axis=(0, 2)) / length
            allowed = (_TOLERANCE + rounding)[:, None] * scales[i]
            rough |= (_last_coefficients(values) > allowed).any(axis=(0, 2))
        rough &= length > _SHORTEST * edges[-1]
        done = np.vstack([done, pieces[~rough]])
        begin, end = pieces[rough].T
        middle = 0.5 * (begin + end)
        pieces = np.vstack([np.column_stack([begin, middle]), np.column_stack([middle, end])])
        if len(done) + len(pieces) > most:
            first = float(begin.min())
            raise ValueError(
                f"delay system disturbance or history: is too fast or jumps too often from {first:g} s of a delay "
                f"on, {most} elements are allowed; name where it jumps in breaks, or give an earlier end"
            )
    return np.append(np.sort(done[:, 0]), edges[-1])
