"""Linear systems with a delay and a disturbance, solved numerically by the method of steps, with dense output."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import lu_factor, lu_solve

Samples = NDArray[np.float64]
Signal = Callable[[Samples], Samples]

# on an element that is so short the solution is a polynomial of this degree to 1e-14
_DEGREE = 12
_REACH = 2.0
_MOST_ELEMENTS = 1_000_000
# the ends of an element are looked at from inside, because a signal may jump there
_INSIDE = 1e-12

_ANGLES = np.pi * np.arange(_DEGREE + 1) / _DEGREE
_NODES = -np.cos(_ANGLES)
# of barycentric interpolation at Chebyshev's points
_WEIGHTS = (-1.0) ** np.arange(_DEGREE + 1) * np.where(np.arange(_DEGREE + 1) % _DEGREE, 1.0, 0.5)


def _differentiation() -> Samples:
    gap = _NODES[:, None] - _NODES + np.eye(_DEGREE + 1)
    matrix = _WEIGHTS / _WEIGHTS[:, None] / gap
    np.fill_diagonal(matrix, 0.0)
    np.fill_diagonal(matrix, -matrix.sum(axis=1))
    return matrix


_DERIVATIVE = _differentiation()


@dataclass(frozen=True, eq=False)
class DelaySystem:
    """x'(t) = A0 x(t) + A1 x(t - r) + G w(t), y = C x (Burns, Cliff and Farlow, eq. 5 to 7; with A1 = 0 eq. 8 to 10).

    Parameters
    ----------
    a0, a1 : (n, n), 1/s; no a1 is an ordinary system.
    initial : x(0), (n,); may differ from where the history ends.
    delay : r, s.
    history : x at (n_times,) s in [-r, 0), as (n_times, n); by default zero.
    g, disturbance : (n, l), and w at (n_times,) s as (n_times, l); by default none.
    c : (p, n); by default all states are measured.
    breaks : s, where the disturbance or the history is not smooth; multiples of the delay need not be named.
    longest_element : s; give a fraction of a period where the disturbance is faster than the system.

    Raises
    ------
    ValueError : the shapes do not fit, or a number is out of its range.
    """

    a0: Samples
    initial: Samples
    a1: Samples | None = None
    delay: float = 1.0
    history: Signal | None = None
    g: Samples | None = None
    disturbance: Signal | None = None
    c: Samples | None = None
    breaks: tuple[float, ...] = ()
    longest_element: float = np.inf

    def __post_init__(self) -> None:
        n = len(self.initial)
        for name in ("a0", "a1"):
            matrix = getattr(self, name)
            if matrix is not None and np.shape(matrix) != (n, n):
                raise ValueError(f"delay system {name}: must be of shape {(n, n)}, not {np.shape(matrix)}")
        if (self.g is None) != (self.disturbance is None):
            raise ValueError("delay system: g and disturbance belong together, give both")
        if not (np.isfinite(self.delay) and self.delay > 0.0 and self.longest_element > 0.0):
            raise ValueError(f"delay system delay {self.delay}, longest_element: must be positive")

    def solve(self, end: float) -> DenseSolution:
        """Return the solution from zero to `end` [s].

        Raises
        ------
        ValueError : the end is not positive, or so far away that there is no room for the solution.
        """
        if not (np.isfinite(end) and end > 0.0):
            raise ValueError(f"delay system end {end}: must be positive")
        pattern = self._pattern()
        per_delay, n = len(pattern) - 1, len(self.initial)
        n_elements = int(np.ceil(end / self.delay)) * per_delay
        if n_elements > _MOST_ELEMENTS:
            raise ValueError(f"delay system end {end}: needs {n_elements} elements, {_MOST_ELEMENTS} are allowed")
        operators = [_operator(length, self.a0) for length in np.diff(pattern)]
        values = np.empty((n_elements, _DEGREE + 1, n))
        edges = np.empty(n_elements + 1)
        edges[-1] = -(-n_elements // per_delay) * self.delay
        state = np.asarray(self.initial, dtype=np.float64)
        for element in range(n_elements):
            step, place = divmod(element, per_delay)
            edges[element] = step * self.delay + pattern[place]
            length = pattern[place + 1] - pattern[place]
            forcing = self._forcing(edges[element] + length * _INNER, values[element - per_delay] if step else None)
            pushed = forcing[1:] - (2.0 / length) * np.outer(_DERIVATIVE[1:, 0], state)
            values[element, 0] = state
            values[element, 1:] = lu_solve(operators[place], pushed.ravel()).reshape(-1, n)
            state = values[element, -1]
        return DenseSolution(edges, values, np.eye(n) if self.c is None else np.asarray(self.c, dtype=np.float64))

    def _pattern(self) -> Samples:
        """Return the edges of the elements in one delay, from zero to the delay."""
        size = float(np.linalg.norm(self.a0, 2) + (0.0 if self.a1 is None else np.linalg.norm(self.a1, 2)))
        breaks = np.mod(np.asarray(self.breaks, dtype=np.float64), self.delay)
        coarse = np.unique(np.concatenate([[0.0, self.delay], breaks]))
        coarse = coarse[np.append(np.diff(coarse) > 1e-9 * self.delay, True)]
        coarse[0] = 0.0
        pieces = [
            np.linspace(begin, end, self._pieces(end - begin, size) + 1)[:-1]
            for begin, end in pairwise(coarse.tolist())
        ]
        return np.append(np.concatenate(pieces), self.delay)

    def _pieces(self, length: float, size: float) -> int:
        """Return into how many elements a length [s] is cut, if the matrices are of this size."""
        return max(int(np.ceil(max(length * size / _REACH, length / self.longest_element))), 1)

    def _forcing(self, time: Samples, delayed: Samples | None) -> Samples:
        """Return what drives an element beside its own state, at its nodes, (n_nodes, n)."""
        forcing = np.zeros((len(time), len(self.initial)))
        if self.a1 is not None:
            if delayed is None and self.history is not None:
                delayed = self.history(time - self.delay)
            if delayed is not None:
                forcing += delayed @ np.transpose(self.a1)
        if self.g is not None and self.disturbance is not None:
            forcing += self.disturbance(time) @ np.transpose(self.g)
        return forcing


_INNER = np.clip(0.5 * (1.0 + _NODES), _INSIDE, 1.0 - _INSIDE)


def _operator(length: float, a0: Samples) -> tuple[Samples, NDArray[np.int32]]:
    """Return what an element's nodes but the first solve, factorised."""
    n = len(a0)
    derivative = np.kron((2.0 / length) * _DERIVATIVE[1:, 1:], np.eye(n))
    factors, pivots = lu_factor(derivative - np.kron(np.eye(_DEGREE), a0))
    return factors, pivots


@dataclass(frozen=True, eq=False)
class DenseSolution:
    """A solution at any instant: polynomials, element by element.

    Parameters
    ----------
    edges : (n_elements + 1,), s.
    values : (n_elements, n_nodes, n), at Chebyshev's points of each.
    c : (p, n), of the output.
    """

    edges: Samples
    values: Samples
    c: Samples

    def __call__(self, time: ArrayLike) -> Samples:
        """Return the states at (n_times,) s, (n_times, n).

        Raises
        ------
        ValueError : a time is outside of what was solved.
        """
        instants = np.atleast_1d(np.asarray(time, dtype=np.float64))
        if not ((instants >= 0.0) & (instants <= self.edges[-1])).all():
            raise ValueError(f"delay system time: must be from 0 to {self.edges[-1]:g} s, which was solved")
        element = np.clip(np.searchsorted(self.edges, instants, side="right") - 1, 0, len(self.values) - 1)
        begin, end = self.edges[element], self.edges[element + 1]
        gap = (2.0 * instants - begin - end)[:, None] / (end - begin)[:, None] - _NODES
        exact = gap == 0.0
        share = np.where(exact.any(axis=1, keepdims=True), exact, _WEIGHTS / np.where(exact, 1.0, gap))
        share /= share.sum(axis=1, keepdims=True)
        return np.asarray(np.einsum("tj,tjn->tn", share, self.values[element]))

    def output(self, time: ArrayLike) -> Samples:
        """Return y = C x at (n_times,) s, (n_times, p)."""
        return self(time) @ self.c.T
