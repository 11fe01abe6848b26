"""Where the rows of a stack stand in a widget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gui.plots.time_row import Row

MARGIN = 6
_LEAST_PLOT = 44  # pixels of a row's height that curves have at least
_GAP = 5


@dataclass(frozen=True, slots=True)
class RowPlace:
    """Pixels of a row: its heading begins at `top`, its curves at `plot_top`."""

    top: int
    plot_top: int
    plot_height: int

    @property
    def bottom(self) -> int:
        """Below the curves."""
        return self.plot_top + self.plot_height


@dataclass(frozen=True, slots=True)
class StackLayout:
    """Pixels of a stack that is as high as it must be; what is higher than the widget is scrolled.

    Parameters
    ----------
    plot_left, plot_width : of the curves of all rows.
    axis_height : of the time axis below.
    height : of all rows.
    rows : from the top down.
    """

    plot_left: int
    plot_width: int
    axis_height: int
    height: int
    rows: tuple[RowPlace, ...]

    def row_at(self, y: float) -> int | None:
        """Return the number of the row at `y`, heading included."""
        return next((i for i, place in enumerate(self.rows) if place.top <= y < place.bottom + _GAP), None)

    def seen(self, first: float, last: float) -> range:
        """Return the rows of which something is between two pixels."""
        found = [i for i, place in enumerate(self.rows) if place.top < last and place.bottom > first]
        return range(found[0], found[-1] + 1) if found else range(0)


def layout(rows: Sequence[Row], width: int, height: int, line: int, digit: int) -> StackLayout:
    """Share `height` pixels among rows by their weight, none lower than can be read.

    Parameters
    ----------
    line, digit : pixels of a line of text and of a figure.
    """
    gutter = 8 * digit + MARGIN
    axis = line + 8
    heading = line + 3
    weights = sum(row.weight for row in rows) or 1.0
    free = max(0, height - axis - len(rows) * (heading + _GAP))
    places, top = [], 0
    for row in rows:
        plot = max(_LEAST_PLOT, int(free * row.weight / weights))
        places.append(RowPlace(top, top + heading, plot))
        top += heading + plot + _GAP
    return StackLayout(gutter, max(1, width - gutter - MARGIN), axis, top, tuple(places))
