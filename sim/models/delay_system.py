"""Linear systems with a delay and a disturbance, solved numerically by the method of steps, with dense output.

A solution is polynomials, element after element, by collocation at Chebyshev's points.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import lu_factor, lu_solve

from sim.arrays import Samples

Signal = Callable[[Samples], Samples]
# a letter is any number
_Shape = tuple[int | str, ...]
# for a system of one state; of two, half as many
_MOST_ELEMENTS = 1_000_000
# of the last coefficients, as a share of the largest value; those left out are smaller still
_TOLERANCE = 1e-10
# of a delay, or of all time where that is shorter: as near as a jump is sought that no break names
_SHORTEST = 1e-9

_Factors = tuple[Samples, NDArray[np.int32]]

# where an element's length times the matrices' size is no more, the solution is a polynomial of this degree to 1e-14
_DEGREE = 12
_REACH = 2.0
# the ends of an element are evaluated from inside, because a signal may jump there
_INSIDE = 1e-12

_NODES = -np.cos(np.pi * np.arange(_DEGREE + 1) / _DEGREE)
# of barycentric interpolation
_WEIGHTS = (-1.0) ** np.arange(_DEGREE + 1) * np.where(np.arange(_DEGREE + 1) % _DEGREE, 1.0, 0.5)
# where forces are evaluated, as shares of an element
_PLACES = np.clip(0.5 * (1.0 + _NODES), _INSIDE, 1.0 - _INSIDE)


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
    breaks : s, where the disturbance or the history is not smooth; multiples of the delay need not be named. A jump
        that is not named is sought, and found to a billionth of the delay.
    longest_element : s; give one where the disturbance or the history has pulses so short that no element sees them.

    Raises
    ------
    ValueError : the shapes do not fit, or a number is not finite or out of its range.
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
        initial = _array("initial", self.initial, ("n",))
        n = len(initial)
        if not n:
            raise ValueError("delay system initial: must have one state or more")
        if not 0.0 < self.delay < np.inf:
            raise ValueError(f"delay system delay {self.delay}: must be a positive number, in s")
        if not self.longest_element > 0.0:
            raise ValueError(f"delay system longest_element {self.longest_element}: must be positive, in s")
        if (self.g is None) != (self.disturbance is None):
            raise ValueError("delay system: g and disturbance belong together, give both")
        shapes: dict[str, _Shape] = {"a0": (n, n), "a1": (n, n), "g": (n, "l"), "c": ("p", n)}
        # stored as arrays, whatever was passed
        found: dict[str, object] = {
            name: _array(name, getattr(self, name), shape)
            for name, shape in shapes.items()
            if name == "a0" or getattr(self, name) is not None
        }
        found |= {"initial": initial, "breaks": tuple(_array("breaks", self.breaks, ("n_breaks",)).tolist())}
        for name, value in found.items():
            object.__setattr__(self, name, value)

    def solve(self, end: float) -> DenseSolution:
        """Return the solution from zero to `end` [s].

        Raises
        ------
        ValueError : the end is not positive, or so far away that there is no room for the solution or that it
            overflows; or what the history or the disturbance returns is not of its shape, or not finite.
        """
        if not 0.0 < end < np.inf:
            raise ValueError(f"delay system end {end}: must be a positive number, in s")
        pattern = _refined(
            self._pattern(end), self._forcing_signals(end), self._most // int(np.ceil(end / self.delay))
        )
        per_delay, n = len(pattern) - 1, len(self.initial)
        n_elements = int(np.ceil(end / self.delay)) * per_delay
        # an overflow is reported below
        with np.errstate(over="ignore", invalid="ignore"):
            # what an element's nodes but the first solve
            operators = [
                lu_factor(np.kron(2.0 / length * _DERIVATIVE[1:, 1:], np.eye(n)) - np.kron(np.eye(_DEGREE), self.a0))
                for length in np.diff(pattern)
            ]
            values = np.empty((n_elements, _DEGREE + 1, n))
            edges = np.empty(n_elements + 1)
            # rounding must not leave the end out
            edges[-1] = max((n_elements // per_delay - 1) * self.delay + pattern[-1], end)
            state = self.initial
            for i in range(n_elements):
                step, place = divmod(i, per_delay)
                edges[i] = step * self.delay + pattern[place]
                length = pattern[place + 1] - pattern[place]
                time = edges[i] + length * _PLACES
                # what drives it apart from its own state, (n_nodes, n)
                forcing = self._push(time)
                if self.a1 is not None:
                    forcing += values[i - per_delay] @ self.a1.T if step else self._past(time - self.delay)
                pushed = (forcing[1:] - (2.0 / length) * np.outer(_DERIVATIVE[1:, 0], state)).ravel()
                solved = lu_solve(operators[place], pushed, check_finite=False).reshape(-1, n)
                values[i] = np.vstack([state, solved])
                state = values[i, -1]
                if not np.isfinite(state).all():
                    raise ValueError(f"delay system end {end:g}: overflows after {edges[i]:g} s, give an earlier end")
        return DenseSolution(edges, values, np.eye(n) if self.c is None else self.c)

    @property
    def _most(self) -> int:
        return _MOST_ELEMENTS // len(self.initial)

    def _forcing_signals(self, end: float) -> list[_ForcingSignal]:
        """Return what drives from outside: the history in the first delay, the disturbance in all until the end."""
        signals = []
        if self.history is not None:
            signals.append(_ForcingSignal(self._past, np.array([-self.delay])))
        if self.disturbance is not None:
            signals.append(
                _ForcingSignal(self._push, np.arange(np.ceil(end / self.delay), dtype=np.float64) * self.delay)
            )
        return signals

    def _past(self, time: Samples) -> Samples:
        if self.a1 is None or self.history is None:
            return np.zeros((len(time), len(self.initial)))
        return _signal_at("history", self.history, time, len(self.initial)) @ self.a1.T

    def _push(self, time: Samples) -> Samples:
        if self.g is None or self.disturbance is None:
            return np.zeros((len(time), len(self.initial)))
        return _signal_at("disturbance", self.disturbance, time, self.g.shape[1]) @ self.g.T

    def _pattern(self, end: float) -> Samples:
        """Return the edges of the elements in one delay, from zero to the delay or to the end, if that comes before.

        Raises
        ------
        ValueError : there would be too many until the end.
        """
        span = min(self.delay, end)
        breaks = np.mod(np.asarray(self.breaks, dtype=np.float64), self.delay)
        coarse = np.unique(np.concatenate([[0.0, span], breaks[breaks < span]]))
        coarse = coarse[np.append(np.diff(coarse) > 1e-9 * span, True)]
        coarse[0] = 0.0
        with np.errstate(over="ignore"):
            size = np.linalg.norm(self.a0, 2) + (0.0 if self.a1 is None else np.linalg.norm(self.a1, 2))
            lengths = np.diff(coarse)
            pieces = np.maximum(np.ceil(np.maximum(lengths * size / _REACH, lengths / self.longest_element)), 1.0)
            n_elements = float(np.ceil(np.divide(end, self.delay)) * pieces.sum())
        if not n_elements <= self._most:
            raise ValueError(f"delay system end {end}: needs {n_elements:.10g} elements, {self._most} are allowed")
        cut = [
            np.linspace(*both, int(count) + 1)[:-1]
            for both, count in zip(pairwise(coarse.tolist()), pieces.tolist(), strict=True)
        ]
        return np.append(np.concatenate(cut), span)


def _array(name: str, value: object, shape: _Shape) -> Samples:
    """Return the value as an array; raise ValueError where it is not of the shape, or an entry is not finite."""
    given = np.asarray(value)
    if np.iscomplexobj(given):
        raise ValueError(f"delay system {name}: must be real numbers")
    found = given.astype(np.float64)
    fits = (isinstance(want, str) or want == size for want, size in zip(shape, found.shape, strict=False))
    if found.ndim != len(shape) or not all(fits):
        wanted = f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"
        raise ValueError(f"delay system {name}: must be of shape {wanted}, not {found.shape}")
    if not np.isfinite(found).all():
        raise ValueError(f"delay system {name}: must be finite numbers")
    return found


def _signal_at(name: str, function: Signal, time: Samples, width: int) -> Samples:
    """Return what a signal is at the times, (n_times, width); raise ValueError where it is not that, or infinite."""
    found = np.asarray(function(time), dtype=np.float64)
    if found.shape != (len(time), width):
        wanted = f"at {len(time)} times must return an array of shape {(len(time), width)}"
        raise ValueError(f"delay system {name}: {wanted}, not {found.shape}")
    lost = ~np.isfinite(found).all(axis=1)
    if lost.any():
        raise ValueError(f"delay system {name} at {time[np.argmax(lost)]:g} s: must return finite numbers")
    return found


def _differentiation() -> Samples:
    gap = _NODES[:, None] - _NODES + np.eye(_DEGREE + 1)
    matrix = _WEIGHTS / _WEIGHTS[:, None] / gap
    np.fill_diagonal(matrix, 0.0)
    np.fill_diagonal(matrix, -matrix.sum(axis=1))
    return matrix


_DERIVATIVE = _differentiation()
# of the last two Chebyshev coefficients, (2, _DEGREE + 1)
_LAST = np.cos(np.pi / _DEGREE * np.outer([_DEGREE - 1, _DEGREE], np.arange(_DEGREE, -1, -1))) / _DEGREE
_LAST[:, [0, -1]] /= 2.0
_LAST[0] *= 2.0


@dataclass(frozen=True, eq=False)
class DenseSolution:
    """A solution at any instant: polynomials, element by element.

    Parameters
    ----------
    edges : (n_elements + 1,), s.
    values : (n_elements, _DEGREE + 1, n), at the nodes of each.
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


@dataclass(frozen=True, slots=True)
class _ForcingSignal:
    """A signal from outside.

    Parameters
    ----------
    at : the signal at (n_times,) s, (n_times, width).
    delays : (n_delays,), s, the beginnings of the delays in which it acts, on the signal's own clock.
    """

    at: Callable[[Samples], Samples]
    delays: Samples


def _refined(edges: Samples, signals: Sequence[_ForcingSignal], most: int) -> Samples:
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
            time = signal.delays[:, None, None] + pieces[:, :1] + length[:, None] * _PLACES
            values = signal.at(time.ravel()).reshape(*time.shape, -1)
            scales[i] = np.maximum(scales[i], np.abs(values).max(axis=(0, 1, 2)))
            rounding = 4.0 * np.finfo(np.float64).eps * np.abs(time).max(axis=(0, 2)) / length
            allowed = (_TOLERANCE + rounding)[:, None] * scales[i]
            # the larger of the last two Chebyshev coefficients
            rough |= (np.abs(_LAST @ values).max(axis=-2) > allowed).any(axis=(0, 2))
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
