"""The indicators over time, each with its uncertainty and its limits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from PySide6.QtWidgets import QToolButton

from gui.model.alarms import DEFAULT, Limits, WatchedLimits, own_limits_hold
from gui.model.history import History
from gui.model.series import ResultHistory
from gui.panels.over_time import TimePanel, alarm_lines
from gui.plots.time.rows import Curve, Interval, Limit, Reader, Row, RowData, Trace, intervals, spread, trace
from gui.plots.view import View
from gui.widgets.theme import Theme
from gui.wording.quantity_names import QUANTITIES, Quantity
from monitor.messages.headline import HEADLINE

_NOTHING = (
    "No indicators yet. The first values come when a window is full;\n"
    "a service that computes none, or whose measures are switched off, has nothing to show here."
)
_BANDS = "bands ± 1 sd"


@dataclass(frozen=True, slots=True)
class _Source:
    """A curve: a result and the factor of what is shown; `deviation` is there where its uncertainty is."""

    actuator: str
    name: str
    factor: float
    deviation: str = ""


class IndicatorsPanel(TimePanel):
    """A row a quantity, of one actuator or of all over each other."""

    key = "indicators"
    title = "Tracking indicators"

    def __init__(self, view: View, theme: Theme) -> None:
        super().__init__(view, theme, _NOTHING)
        self.limits: Limits = DEFAULT
        self._watched: WatchedLimits = ()
        self._sources: dict[str, tuple[_Source, ...]] = {}
        self.together = QToolButton(self)
        self.together.setText("All actuators")
        self.together.setCheckable(True)
        self.together.setAutoRaise(True)
        self.together.setToolTip("Show all actuators over each other, by one measure, or the chosen one by several")
        self.controls.insertWidget(1, self.together)
        self.together.toggled.connect(self._changed)
        view.chosen.connect(self._changed)

    def set_limits(self, limits: Limits) -> None:
        """Draw other limit lines."""
        self.limits = limits
        self._changed()

    def refresh(self, history: History) -> None:
        """Draw; where the service watches other limits, with other lines."""
        if history.limits is not self._watched and self._history is history:
            self._reoffer()
        super().refresh(history)

    def offer(self, history: History) -> tuple[tuple[Row, str], ...]:
        """Return a row for each quantity of which there is a result."""
        results = history.results
        self._sources, self._watched = {}, history.limits
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

    def usual(self, history: History) -> Sequence[str]:  # noqa: ARG002 - the same of every history
        """Return the quantities of the papers."""
        return [quantity.key for quantity in QUANTITIES if quantity.default]

    def rows_data(self, history: History, left: float, right: float) -> tuple[RowData | None, ...]:
        """Return values and uncertainties of the rows in sight."""
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

        # of every instant the last row is kept
        late = max(0.0, 1.0 / results.rate - results.stream.every / results.stream.sample_rate)

        def one(source: _Source, name: str) -> Trace:
            return trace(envelope, place[source.actuator, name], source.factor, late)

        def data(row: Row) -> RowData:
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
        """Return what reads results."""
        return partial(_read, history.results, [self._sources[row.key] for row in self.stack.rows])

    def _row(self, quantity: Quantity, results: ResultHistory, actuator: str) -> Row | None:
        """Return the row of a quantity: of one actuator, or, where none is named, of all."""
        actuators = (actuator,) if actuator else results.actuators
        computed = [m for m in quantity.curves if any(results.column(a, m.name) is not None for a in actuators)]
        measures = computed if actuator else computed[:1]
        unit = quantity.unit
        curves: list[Curve] = []
        sources: list[_Source] = []
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
                curves.append(Curve(measure.label if actuator else owner, colour, faint))
                sources.append(_Source(owner, measure.name, quantity.factor, deviation))
        if not curves:
            return None
        self._sources[quantity.key] = tuple(sources)
        by = f"by {measures[0].label}" if not actuator and len(quantity.curves) > 1 else ""
        legend = ", ".join(filter(None, (quantity.note, by, _BANDS if bands else "")))
        return Row(
            quantity.key, quantity.title, "", unit, tuple(curves), tuple(bands),
            self._lines(quantity, unit),
            least_span=quantity.least_span, prefixed=not quantity.unit and unit != "1", legend=legend,
        )  # fmt: skip

    def _lines(self, quantity: Quantity, unit: str) -> tuple[Limit, ...]:
        """Return the limits that the service watches; where it watches none of any actuator, those of the window."""
        sources = self._sources[quantity.key]
        # a line without a word is the headline's
        names = {m.name: "" if m.name.startswith(f"{HEADLINE}_") else m.label for m in quantity.curves}
        of_all = len({source.actuator for source in sources}) > 1
        labels = {(s.actuator, s.name): s.actuator if of_all else names[s.name] for s in sources}
        if own_limits_hold(self._watched):
            return _lines(self.limits, quantity.key, unit)
        return alarm_lines(self._watched, labels, quantity.factor)

    def _changed(self) -> None:
        """Show another actuator, or all, or other limits."""
        self.stack.reset_scales()
        self._reoffer()
        self._again()


def _lines(limits: Limits, quantity: str, unit: str) -> tuple[Limit, ...]:
    """Return the lines of a quantity's limits, on both sides of what would be perfect."""
    limit = limits.get(quantity)
    if limit is None or (quantity == "ratio" and unit != "1"):
        return ()
    perfect, scale = (1.0, 0.01) if quantity == "ratio" else (0.0, 1.0)
    return tuple(
        Limit(perfect + sign * scale * value, word, colour)
        for value, word, colour in ((limit.warn, "warn", "warn"), (limit.trip, "trip", "bad"))
        if math.isfinite(value)
        for sign in (1.0, -1.0)
    )


def _read(results: ResultHistory | None, rows: Sequence[tuple[_Source, ...]], x: float) -> list[list[Interval]]:
    """Return what is known of the instant at `x`, or of the newest one before."""
    if results is None:
        return []
    sources = [source for row in rows for source in row]
    low, high = results.between(min(x, results.end_x), [(source.actuator, source.name) for source in sources])
    factors = np.array([source.factor for source in sources])
    found = iter(intervals(factors * low, factors * high))
    return [[next(found) for _ in row] for row in rows]
