"""Indicators panel: tracking indicators over time, with uncertainty and limits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from PySide6.QtWidgets import QToolButton

from gui.model.alarms import AlarmLimits, DisplayLimits, display_limits_apply
from gui.model.history import History
from gui.model.series import ResultHistory
from gui.panels.over_time import TimePanel, alarm_lines
from gui.plots.time.rows import (
    CurveStyle,
    Interval,
    LimitLine,
    PlotRow,
    Reader,
    RowData,
    Trace,
    intervals,
    spread,
    trace,
)
from gui.plots.view import View
from gui.widgets.theme import Theme
from gui.wording.quantity_names import QUANTITIES, Quantity
from monitor.messages.headline import HEADLINE

_NOTHING = (
    "No indicators yet. The first values appear when a window is full;\n"
    "a service without indicators has nothing to show here."
)
_BANDS = "bands ± 1 sd"


@dataclass(frozen=True, slots=True)
class _CurveSource:
    """Source of a curve: a result, its display factor, and the result of its standard deviation or empty."""

    actuator: str
    name: str
    factor: float
    deviation: str = ""


class IndicatorsPanel(TimePanel):
    """One row a quantity, of one actuator or of all actuators overlaid."""

    key = "indicators"
    title = "Tracking indicators"

    def __init__(self, view: View, theme: Theme) -> None:
        super().__init__(view, theme, _NOTHING)
        self.limits: DisplayLimits = {}
        self._alarm_limits: AlarmLimits = ()
        self._sources: dict[str, tuple[_CurveSource, ...]] = {}
        self.together = QToolButton(self)
        self.together.setText("All actuators")
        self.together.setCheckable(True)
        self.together.setAutoRaise(True)
        self.together.setToolTip("Overlay all actuators with one indicator, or show one actuator with all indicators")
        self.controls.insertWidget(1, self.together)
        self.together.toggled.connect(self._changed)
        view.actuator_changed.connect(self._changed)

    def set_limits(self, limits: DisplayLimits) -> None:
        """Set the limits of the window."""
        self.limits = limits
        self._changed()

    def refresh(self, history: History) -> None:
        """Draw; update the limit lines where the alarm limits have changed."""
        if history.limits is not self._alarm_limits and self._history is history:
            self._update_rows()
        super().refresh(history)

    def available_rows(self, history: History) -> tuple[tuple[PlotRow, str], ...]:
        """Return a row for each quantity with a result."""
        results = history.results
        self._sources, self._alarm_limits = {}, history.limits
        if results is None or not results.actuators:
            self.heading.setText("")
            self.together.setEnabled(False)
            return ()
        chosen = self.view.actuator if self.view.actuator in results.actuators else results.actuators[0]
        several = self.together.isChecked()
        self.together.setEnabled(len(results.actuators) > 1)
        self.heading.setText("all actuators" if several else f"actuator {chosen}")
        made = (self._row(quantity, results, "" if several else chosen) for quantity in QUANTITIES)
        return tuple((row, "") for row in made if row is not None)

    def default_rows(self, history: History) -> Sequence[str]:  # noqa: ARG002 - the same for every history
        """Return the quantities that are shown by default."""
        return [quantity.key for quantity in QUANTITIES if quantity.default]

    def rows_data(self, history: History, left: float, right: float) -> tuple[RowData | None, ...]:
        """Return values and uncertainties of the visible rows."""
        rows, seen, results = self.stack.rows, self.stack.seen, history.results
        if results is None:
            return (None,) * len(rows)
        names = [
            (source.actuator, name)
            for i in seen
            for source in self._sources[rows[i].key]
            for name in (source.name, source.deviation)
            if name
        ]
        envelope = results.envelope(left, right, self.stack.columns, names)
        place = {name: i for i, name in enumerate(names)}

        # the last row of every instant is stored
        late = max(0.0, 1.0 / results.rate - results.stream.every / results.stream.sample_rate)

        def one(source: _CurveSource, name: str) -> Trace:
            return trace(envelope, place[source.actuator, name], source.factor, late)

        def data(row: PlotRow) -> RowData:
            sources = self._sources[row.key]
            curves = tuple(one(source, source.name) for source in sources)
            bands = tuple(
                spread(curve, one(source, source.deviation))
                for curve, source in zip(curves, sources, strict=True)
                if source.deviation
            )
            return RowData(curves, bands)

        return tuple(data(row) if i in seen else None for i, row in enumerate(rows))

    def reader(self, history: History) -> Reader:
        """Return a reader of results."""
        return partial(_read, history.results, [self._sources[row.key] for row in self.stack.rows])

    def _row(self, quantity: Quantity, results: ResultHistory, actuator: str) -> PlotRow | None:
        """Return the row of a quantity, for one actuator or, with an empty name, for all."""
        actuators = (actuator,) if actuator else results.actuators
        computed = [m for m in quantity.curves if any(results.column(a, m.name) is not None for a in actuators)]
        measures = computed if actuator else computed[:1]
        unit = quantity.unit
        curves: list[CurveStyle] = []
        sources: list[_CurveSource] = []
        bands: list[str | int] = []
        for owner in actuators:
            for measure in measures:
                column = results.column(owner, measure.name)
                if column is None:
                    continue
                colour = measure.colour if actuator else len(curves)
                faint = bool(actuator) and measure.secondary and not computed[0].secondary
                deviation = f"{measure.name}_sd"
                if results.column(owner, deviation) is None:
                    deviation = ""
                else:
                    bands.append(colour)
                unit = quantity.unit or results.columns[column].unit
                curves.append(CurveStyle(measure.label if actuator else owner, colour, faint))
                sources.append(_CurveSource(owner, measure.name, quantity.factor, deviation))
        if not curves:
            return None
        self._sources[quantity.key] = tuple(sources)
        by = f"by {measures[0].label}" if not actuator and len(quantity.curves) > 1 else ""
        legend = ", ".join(filter(None, (quantity.note, by, _BANDS if bands else "")))
        return PlotRow(
            quantity.key, quantity.title, "", unit, tuple(curves), tuple(bands),
            self._lines(quantity, unit),
            least_span=quantity.least_span, prefixed=not quantity.unit and unit != "1", legend=legend,
        )  # fmt: skip

    def _lines(self, quantity: Quantity, unit: str) -> tuple[LimitLine, ...]:
        """Return the alarm limits of the service; where it has none for any actuator, those of the window."""
        sources = self._sources[quantity.key]
        # the headline has an unlabelled line
        names = {m.name: "" if m.name.startswith(f"{HEADLINE}_") else m.label for m in quantity.curves}
        of_all = len({source.actuator for source in sources}) > 1
        labels = {(s.actuator, s.name): s.actuator if of_all else names[s.name] for s in sources}
        if display_limits_apply(self._alarm_limits):
            return _lines(self.limits, quantity.key, unit)
        return alarm_lines(self._alarm_limits, labels, quantity.factor)

    def _changed(self) -> None:
        """Rebuild the rows for another actuator, all actuators, or other limits."""
        self.stack.reset_scales()
        self._update_rows()
        self._redraw()


def _lines(limits: DisplayLimits, quantity: str, unit: str) -> tuple[LimitLine, ...]:
    """Return the limit lines of a quantity, on both sides of its ideal value."""
    limit = limits.get(quantity)
    if limit is None or (quantity == "ratio" and unit != "1"):
        return ()
    ideal, scale = (1.0, 0.01) if quantity == "ratio" else (0.0, 1.0)
    return tuple(
        LimitLine(ideal + sign * scale * value, "display limit", "muted")
        for value in (limit.warn, limit.trip)
        if math.isfinite(value)
        for sign in (1.0, -1.0)
    )


def _read(results: ResultHistory | None, rows: Sequence[tuple[_CurveSource, ...]], x: float) -> list[list[Interval]]:
    """Return the values at `x`, or of the newest instant before."""
    if results is None:
        return []
    sources = [source for row in rows for source in row]
    low, high = results.between(min(x, results.end_x), [(source.actuator, source.name) for source in sources])
    factors = np.array([source.factor for source in sources])
    found = iter(intervals(factors * low, factors * high))
    return [[next(found) for _ in row] for row in rows]
