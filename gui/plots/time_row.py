"""What a stack of rows over time shows: rows, their curves and limits as they are named."""

from __future__ import annotations

from dataclasses import dataclass


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
