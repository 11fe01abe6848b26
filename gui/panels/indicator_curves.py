"""Curves of the indicators panel: which results they show, their pictures and their values at an instant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gui.model.results import ResultHistory
from gui.panels.limit_lines import ResultKey
from gui.plots.time.rows import Interval, RowData, Trace, extremes, intervals, spread, trace


@dataclass(frozen=True, slots=True)
class CurveSource:
    """Source of a curve: a result, its display factor, and the result of its standard deviation or empty.

    Of several actuators the curve is the band from the lowest to the highest value.
    """

    actuators: tuple[str, ...]
    name: str
    factor: float
    deviation: str = ""

    @property
    def keys(self) -> list[ResultKey]:
        """Its results."""
        return [(actuator, self.name) for actuator in self.actuators]


def curve_data(
    results: ResultHistory, rows: Sequence[tuple[CurveSource, ...]], left: float, right: float, columns: int
) -> list[RowData]:
    """Return values and uncertainties of rows of curves, in so many columns from `left` to `right`."""
    names = [
        (actuator, name)
        for sources in rows
        for source in sources
        for name in (source.name, source.deviation)
        if name
        for actuator in source.actuators
    ]
    envelope = results.envelope(left, right, columns, names)
    place = {name: i for i, name in enumerate(names)}
    # the last row of every instant is stored
    late = max(0.0, 1.0 / results.rate - results.stream.every / results.stream.sample_rate)

    def one(source: CurveSource, name: str) -> Trace:
        found = [place[actuator, name] for actuator in source.actuators]
        if len(found) > 1:
            return extremes(envelope, found, source.factor, late)
        return trace(envelope, found[0], source.factor, late)

    def row_data(sources: tuple[CurveSource, ...]) -> RowData:
        curves = tuple(one(source, source.name) for source in sources)
        bands = tuple(
            spread(curve, one(source, source.deviation))
            for curve, source in zip(curves, sources, strict=True)
            if source.deviation
        )
        return RowData(curves, bands)

    return [row_data(sources) for sources in rows]


def read_values(
    results: ResultHistory | None, rows: Sequence[tuple[CurveSource, ...]], x: float
) -> list[list[Interval]]:
    """Return the values at `x`, or of the newest instant before."""
    if results is None:
        return []
    sources = [source for row in rows for source in row]
    keys = [source.keys for source in sources]
    low, high = results.between(min(x, results.end_x), [key for each in keys for key in each])
    begins = np.cumsum([0, *(len(each) for each in keys)])[:-1]
    factors = np.array([source.factor for source in sources])
    found = iter(
        intervals(factors * np.fmin.reduceat(low, begins), factors * np.fmax.reduceat(high, begins))
        if sources
        else ()
    )
    return [[next(found) for _ in row] for row in rows]
