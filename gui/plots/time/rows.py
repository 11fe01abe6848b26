"""Rows of a plot over time, their curves and limits, and the numbers of one frame."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gui.model.envelope import Envelope
from monitor.messages.blocks import Samples

if TYPE_CHECKING:
    from gui.model.history import PlacedEvent
    from gui.model.timeline import Segment


@dataclass(frozen=True, slots=True)
class Curve:
    """A curve of a row.

    Parameters
    ----------
    label : in the legend.
    colour : the name of a colour in `Theme`, or the number of one of its series.
    faint : drawn as background to the others.
    dashed : told from its neighbours by more than its colour.
    """

    label: str
    colour: str | int
    faint: bool = False
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class Limit:
    """A horizontal line at `value` with a word: ``warn`` or ``trip``; dashed unless it is `solid`."""

    value: float
    word: str
    colour: str = "warn"
    solid: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """One value axis.

    Parameters
    ----------
    key : unique in the stack; zooming by hand is remembered for it.
    name, quantity : of what, and what: ``north``, ``displacement``; one of them may be empty.
    unit : of the values; empty where it is not known.
    curves : the numbers of a picture come in this order.
    bands : colours of the bands behind the curves.
    limits : lines.
    fixed : limits of the axis that never change by themselves.
    least_span : of the axis, in `unit`.
    prefixed : the unit may be shown with a prefix, as mm for m.
    weight : height beside other rows.
    legend : what else there is to know: what the bands are, or where the sign turns.
    """

    key: str
    name: str
    quantity: str
    unit: str
    curves: tuple[Curve, ...]
    bands: tuple[str | int, ...] = ()
    limits: tuple[Limit, ...] = ()
    fixed: tuple[float, float] | None = None
    least_span: float = 0.0
    prefixed: bool = False
    weight: float = 1.0
    legend: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
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


def trace(envelope: Envelope, column: int, factor: float = 1.0, late: float = 0.0) -> Trace:
    """Return one column of an envelope.

    Parameters
    ----------
    factor : of the values; positive.
    late : s by which a row was made after its place began.
    """
    low = factor * envelope.low[:, column]
    high = low if envelope.exact else factor * envelope.high[:, column]
    return Trace(envelope.edges, envelope.centers + late, low, high, envelope.exact)


def band(low: Trace, high: Trace) -> Trace:
    """Return what lies between two curves."""
    return Trace(low.edges, low.centers, low.low, high.high, exact=False)


def spread(value: Trace, deviation: Trace) -> Trace:
    """Return what lies within one standard deviation of a curve; nothing where that is not known."""
    return Trace(value.edges, value.centers, value.low - deviation.high, value.high + deviation.high, exact=False)


@dataclass(frozen=True, slots=True)
class RowData:
    """The numbers of one row, in the order of its curves and bands."""

    curves: tuple[Trace, ...]
    bands: tuple[Trace, ...] = ()

    @property
    def extent(self) -> tuple[float, float]:
        """The least and the greatest value of the curves; NaN where there is none.

        Bands may reach beyond: an uncertain value does not make a certain one small.
        """
        known = [trace for trace in self.curves if trace.known.any()]
        if not known:
            return math.nan, math.nan
        return (
            min(float(trace.low[trace.known].min()) for trace in known),
            max(float(trace.high[trace.known].max()) for trace in known),
        )


class Interval(NamedTuple):
    """What is known of a value: no less than `low`, no more than `high`; both are NaN where nothing is known."""

    low: float
    high: float

    def minus(self, other: Interval) -> Interval:
        """Return what is known of the difference."""
        return Interval(self.low - other.high, self.high - other.low)


def intervals(low: Samples, high: Samples) -> list[Interval]:
    """Return what is known of each of several values, (n,) each."""
    return [Interval(*pair) for pair in zip(low.tolist(), high.tolist(), strict=True)]


Reader = Callable[[float], Sequence[Sequence[Interval]]]
"""Takes an x, s; gives what is known there of the curves of every row."""


def no_values(x: float) -> Sequence[Sequence[Interval]]:  # noqa: ARG001 - there is nothing at any x
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
    read: Reader = no_values
    stale: str = ""
