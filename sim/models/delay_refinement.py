"""Elements that are cut until all that drives a delay system from outside is a polynomial on each of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sim.arrays import Samples
from sim.models.delay_elements import PLACES, last_coefficients

# of the last coefficients, as a share of the largest value; those left out are smaller still
_TOLERANCE = 1e-10
# of a delay, or of all time where that is shorter: as near as a jump is looked for that no break names
_SHORTEST = 1e-9


@dataclass(frozen=True, slots=True)
class Drive:
    """A signal from outside.

    Parameters
    ----------
    at : the signal at (n_times,) s, (n_times, width).
    delays : (n_delays,), s, the beginnings of the delays in which it drives, on the signal's own clock.
    """

    at: Callable[[Samples], Samples]
    delays: Samples


def refined(edges: Samples, drives: Sequence[Drive], most: int) -> Samples:
    """Return the edges of the elements in one delay, (n + 1,), with those halved on which a drive is no polynomial.

    Time is not known better than its rounding, and so neither is a fast signal: less than that is not asked for.

    Parameters
    ----------
    edges : (m + 1,), s, from zero.
    drives : what is looked at, at each element's nodes in every delay.
    most : so many elements are allowed in a delay.

    Raises
    ------
    ValueError : more would be needed.
    """
    pieces, done = np.column_stack([edges[:-1], edges[1:]]), np.empty((0, 2))
    scales: list[Samples | float] = [0.0] * len(drives)
    while len(pieces):
        length = pieces[:, 1] - pieces[:, 0]
        rough = np.zeros(len(pieces), dtype=np.bool_)
        for i, drive in enumerate(drives):
            time = drive.delays[:, None, None] + pieces[:, :1] + length[:, None] * PLACES
            values = drive.at(time.ravel()).reshape(*time.shape, -1)
            scales[i] = np.maximum(scales[i], np.abs(values).max(axis=(0, 1, 2)))
            rounding = 4.0 * np.finfo(np.float64).eps * np.abs(time).max(axis=(0, 2)) / length
            allowed = (_TOLERANCE + rounding)[:, None] * scales[i]
            rough |= (last_coefficients(values) > allowed).any(axis=(0, 2))
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
