"""What a stack of rows over time shows: rows as they are named, and the numbers of one picture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gui.history.envelope import Envelope
from gui.theme import Theme
from monitor.blocks import Samples

if TYPE_CHECKING:
    from gui.history.history import PlacedEvent
    from gui.history.timeline import Segment


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
    """A horizontal line at `value` with a word: ``warn`` or ``trip``."""

    value: float
    word: str
    colour: str = "warn"


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


Reader = Callable[[float], Sequence[Sequence[float]]]


def nothing_read(x: float) -> Sequence[Sequence[float]]:  # noqa: ARG001 - there is nothing at any x
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
    read : gives the values of every row's curves at an x.
    stale : a word where the newest values are old.
    """

    left: float = 0.0
    right: float = 1.0
    rows: tuple[RowData | None, ...] = ()
    segments: Sequence[Segment] = ()
    marks: Sequence[PlacedEvent] = field(default_factory=tuple)
    read: Reader = nothing_read
    stale: str = ""


def colour_of(theme: Theme, colour: str | int) -> str:
    """Return ``#rrggbb``: a series by its number, else the colour of that name."""
    return theme.series[colour % len(theme.series)] if isinstance(colour, int) else str(getattr(theme, colour))
