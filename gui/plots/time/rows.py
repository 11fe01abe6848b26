"""Rows of a plot over time with their curves and limit lines, and the data of one frame."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gui.model.pyramid import Envelope
from monitor.messages.blocks import Samples

if TYPE_CHECKING:
    from gui.model.alarms import AlarmSpan
    from gui.model.history import PlacedEvent
    from gui.model.timeline import ClockSegment


@dataclass(frozen=True, slots=True)
class CurveStyle:
    """Legend and style of a curve.

    Parameters
    ----------
    label : in the legend.
    colour : name of a colour in `Theme`, or index into its series.
    faint : drawn translucent, below the others.
    dashed : drawn with dashes, where colours repeat.
    hidden : not drawn; its legend is struck through.
    filled : the band between the lowest and the highest of several curves.
    named : its label is shown rather than its value where there is room for one of them.
    signal : name of the signal, by which it is dragged onto other plots; empty for none.
    added : it was dropped into the row, and can be removed.
    """

    label: str
    colour: str | int
    faint: bool = False
    dashed: bool = False
    filled: bool = False
    named: bool = False
    hidden: bool = False
    # two curves that look the same have one legend
    signal: str = field(default="", compare=False)
    added: bool = False


class LimitHandle(NamedTuple):
    """Alarms whose limits are a line, by name.

    Parameters
    ----------
    upper : the line is their upper limit.
    factor : from their unit to that of the row.
    """

    alarms: tuple[str, ...]
    upper: bool
    factor: float = 1.0


@dataclass(frozen=True, slots=True)
class LimitLine:
    """A horizontal line at `value`; dashed unless it is `solid`.

    Parameters
    ----------
    word : ``warn``, ``trip`` or ``display limit``.
    owner : the curves it holds for; empty for the main one or all.
    handle : None where it cannot be dragged.
    pending : it is requested, and the service has not confirmed it.
    """

    value: float
    word: str
    colour: str = "warn"
    solid: bool = False
    owner: str = ""
    handle: LimitHandle | None = None
    pending: bool = False


@dataclass(frozen=True, slots=True)
class PlotRow:
    """One value axis.

    Parameters
    ----------
    key : unique in the stack; zooming by hand is remembered for it.
    name, quantity : of the signal: ``north``, ``displacement``; one of them may be empty.
    unit : of the values; empty where unknown.
    curves : their styles, in the order of `RowData.curves`.
    bands : colours of the bands behind the curves; None for a hidden one.
    limits : limit lines.
    fixed : axis limits that do not follow the values.
    least_span : of the axis, in `unit`.
    prefixed : the unit may take a prefix, as mm for m.
    weight : relative height.
    legend : further text of the header: meaning of the bands or of the sign.
    watched : actuators or sites, and names of their values, whose alarms are shown in the row.
    """

    key: str
    name: str
    quantity: str
    unit: str
    curves: tuple[CurveStyle, ...]
    bands: tuple[str | int | None, ...] = ()
    limits: tuple[LimitLine, ...] = ()
    fixed: tuple[float, float] | None = None
    least_span: float = 0.0
    prefixed: bool = False
    weight: float = 1.0
    legend: str = ""
    watched: frozenset[tuple[str, str]] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """Minimum and maximum of one curve in consecutive time buckets.

    Parameters
    ----------
    edges : (n + 1,), s on the axis.
    centers : (n,), s.
    low, high : (n,), NaN where there is no value.
    exact : every bucket is one row; low and high are the same.
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

    def within(self, left: float, right: float) -> Trace:
        """Return the buckets whose rows are between two instants, or which overlap the span where they are wider."""
        if self.exact:
            first = int(np.searchsorted(self.centers, left))
            stop = int(np.searchsorted(self.centers, right, side="right"))
        else:
            first = max(0, int(np.searchsorted(self.edges, left, side="right")) - 1)
            stop = min(len(self.low), int(np.searchsorted(self.edges, right)))
        part, edges = slice(first, max(first, stop)), self.edges[first : max(first, stop) + 1]
        return Trace(edges, self.centers[part], self.low[part], self.high[part], self.exact)


def trace(envelope: Envelope, column: int, factor: float = 1.0, late: float = 0.0) -> Trace:
    """Return one column of an envelope.

    Parameters
    ----------
    factor : of the values; positive.
    late : s from the beginning of a bucket to its row.
    """
    low = factor * envelope.low[:, column]
    high = low if envelope.exact else factor * envelope.high[:, column]
    return Trace(envelope.edges, envelope.centers + late, low, high, envelope.exact)


def extremes(envelope: Envelope, columns: Sequence[int], factor: float = 1.0, late: float = 0.0) -> Trace:
    """Return the band from the lowest to the highest of several columns of an envelope; see `trace`."""
    low = factor * np.fmin.reduce(envelope.low[:, columns], axis=1)
    high = factor * np.fmax.reduce(envelope.high[:, columns], axis=1)
    return Trace(envelope.edges, envelope.centers + late, low, high, exact=False)


def band(low: Trace, high: Trace) -> Trace:
    """Return the band between two curves."""
    return Trace(low.edges, low.centers, low.low, high.high, exact=False)


def spread(value: Trace, deviation: Trace) -> Trace:
    """Return the band of one standard deviation around a curve; NaN where it is unknown."""
    return Trace(value.edges, value.centers, value.low - deviation.high, value.high + deviation.high, exact=False)


Facts = tuple[tuple[str, float], ...]
"""Names and values, in the unit of the row."""


@dataclass(frozen=True, slots=True)
class RowData:
    """Data of one row, in the order of its curves and bands.

    Parameters
    ----------
    curves, bands : what is drawn.
    facts : values in the header that hold for the whole span, such as its peak.
    """

    curves: tuple[Trace, ...]
    bands: tuple[Trace, ...] = ()
    facts: Facts = ()

    def extent_of(self, row: PlotRow) -> tuple[float, float]:
        """Return minimum and maximum of the curves that are not hidden; NaN where there is none.

        Bands may exceed them: a large uncertainty does not shrink the curve.
        """
        return extent([trace for trace, curve in zip(self.curves, row.curves, strict=True) if not curve.hidden])


def extent(traces: Sequence[Trace]) -> tuple[float, float]:
    """Return minimum and maximum of traces; NaN where there is none."""
    known = [trace for trace in traces if trace.known.any()]
    if not known:
        return math.nan, math.nan
    return (
        min(float(trace.low[trace.known].min()) for trace in known),
        max(float(trace.high[trace.known].max()) for trace in known),
    )


class Interval(NamedTuple):
    """Bounds of a value; both NaN where it is unknown, equal where it is exact."""

    low: float
    high: float

    def minus(self, other: Interval) -> Interval:
        """Return the bounds of the difference."""
        return Interval(self.low - other.high, self.high - other.low)


def intervals(low: Samples, high: Samples) -> list[Interval]:
    """Return intervals from lower and upper bounds, (n,) each."""
    return [Interval(*pair) for pair in zip(low.tolist(), high.tolist(), strict=True)]


Reader = Callable[[float], Sequence[Sequence[Interval]]]
"""Takes x, s; returns the values of the curves of every row there."""


def no_values(x: float) -> Sequence[Sequence[Interval]]:  # noqa: ARG001 - the signature of a Reader
    """Return no values."""
    return ()


@dataclass(frozen=True, slots=True)
class Frame:
    """Data of one picture.

    Parameters
    ----------
    left, right : the span of the axis, s.
    rows : None for a row that is not visible.
    segments : of the timeline, oldest first.
    marks : events in the span.
    states : spans in which alarms were active.
    read : reads the values of every row's curves at an x.
    stale : state of the service where the newest values are old; else empty.
    """

    left: float = 0.0
    right: float = 1.0
    rows: tuple[RowData | None, ...] = ()
    segments: Sequence[ClockSegment] = ()
    marks: Sequence[PlacedEvent] = field(default_factory=tuple)
    states: Sequence[AlarmSpan] = ()
    read: Reader = no_values
    stale: str = ""
