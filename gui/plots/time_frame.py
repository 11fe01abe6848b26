"""The numbers of one picture of a stack of rows, and how values are read in it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gui.model.history.envelope import Envelope
from monitor.messages.blocks import Samples

if TYPE_CHECKING:
    from gui.model.history.history import PlacedEvent
    from gui.model.history.timeline import Segment


@dataclass(frozen=True, slots=True, eq=False)
class Strip:
    """Least and greatest value of one curve in consecutive stretches of time.

    Parameters
    ----------
    edges : (n + 1,), s on the axis.
    centers : (n,), s.
    low, high : (n,), NaN where there is nothing.
    exact : every stretch is one row, and low and high are the same.
    """

    edges: Samples
    centers: Samples
    low: Samples
    high: Samples
    exact: bool

    @property
    def known(self) -> NDArray[np.bool_]:
        """(n,): where there is a value."""
        return ~np.isnan(self.low)


def strip(envelope: Envelope, column: int, factor: float = 1.0, late: float = 0.0) -> Strip:
    """Return one column of an envelope.

    Parameters
    ----------
    factor : of the values; positive.
    late : s by which a row was made after its place began.
    """
    low = factor * envelope.low[:, column]
    high = low if envelope.exact else factor * envelope.high[:, column]
    return Strip(envelope.edges, envelope.centers + late, low, high, envelope.exact)


def band(low: Strip, high: Strip) -> Strip:
    """Return what lies between two curves."""
    return Strip(low.edges, low.centers, low.low, high.high, exact=False)


def spread(value: Strip, deviation: Strip) -> Strip:
    """Return what lies within one standard deviation of a curve; nothing where that is not known."""
    return Strip(value.edges, value.centers, value.low - deviation.high, value.high + deviation.high, exact=False)


@dataclass(frozen=True, slots=True)
class RowData:
    """The numbers of one row, in the order of its curves and bands."""

    curves: tuple[Strip, ...]
    bands: tuple[Strip, ...] = ()

    @property
    def extent(self) -> tuple[float, float]:
        """The least and the greatest value of the curves; NaN where there is none.

        Bands may reach beyond: an uncertain value does not make a certain one small.
        """
        known = [strip for strip in self.curves if strip.known.any()]
        if not known:
            return math.nan, math.nan
        return (
            min(float(strip.low[strip.known].min()) for strip in known),
            max(float(strip.high[strip.known].max()) for strip in known),
        )


class Between(NamedTuple):
    """What is known of a value: no less than `low`, no more than `high`; both are NaN where nothing is known."""

    low: float
    high: float

    def minus(self, other: Between) -> Between:
        """Return what is known of the difference."""
        return Between(self.low - other.high, self.high - other.low)


def between(low: Samples, high: Samples) -> list[Between]:
    """Return what is known of each of several values, (n,) each."""
    return [Between(*pair) for pair in zip(low.tolist(), high.tolist(), strict=True)]


Reader = Callable[[float], Sequence[Sequence[Between]]]
"""Takes an x, s; gives what is known there of the curves of every row."""


def nothing_read(x: float) -> Sequence[Sequence[Between]]:  # noqa: ARG001 - there is nothing at any x
    """Return no value for any row."""
    return ()


@dataclass(frozen=True, slots=True)
class Frame:
    """One picture.

    Parameters
    ----------
    left, right : the span of the axis, s.
    rows : None for a row that is out of sight.
    segments : of the timeline, oldest first.
    marks : events in the span.
    read : gives what is known of every row's curves at an x.
    stale : a word where the newest values are old.
    """

    left: float = 0.0
    right: float = 1.0
    rows: tuple[RowData | None, ...] = ()
    segments: Sequence[Segment] = ()
    marks: Sequence[PlacedEvent] = field(default_factory=tuple)
    read: Reader = nothing_read
    stale: str = ""
