"""Indicators panel: tracking indicators over time, with uncertainty and limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np

from gui.model.alarms import AlarmLimits, DisplayLimits, display_limits_apply
from gui.model.history import History
from gui.model.results import ResultHistory
from gui.model.severity import RankedResult, severities, worst
from gui.model.statistics import CurveStatistics, statistics
from gui.panels.controls import toggle_button
from gui.panels.limit_lines import LimitSubject, ResultKey, alarm_lines, display_lines, limit_subject, on_headline
from gui.panels.over_time import TimePanel
from gui.plots.time.rows import (
    CurveStyle,
    Interval,
    LimitLine,
    PlotRow,
    Reader,
    RowData,
    Trace,
    extremes,
    intervals,
    spread,
    trace,
)
from gui.plots.view import View
from gui.widgets.theme import Theme
from gui.wording.quantity_names import QUANTITIES, Quantity, QuantityCurve
from monitor.catalogue import display_unit
from monitor.messages.headline import HEADLINE
from monitor.messages.headline import QUANTITIES as HEADLINE_QUANTITIES


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
    low, high = results.between(x, [key for each in keys for key in each])
    begins = np.cumsum([0, *(len(each) for each in keys)])[:-1]
    factors = np.array([source.factor for source in sources])
    found = iter(
        intervals(factors * np.fmin.reduceat(low, begins), factors * np.fmax.reduceat(high, begins))
        if sources
        else ()
    )
    return [[next(found) for _ in row] for row in rows]


_NOTHING = (
    "No indicators yet. The first values appear when a window is full;\n"
    "a service without indicators has nothing to show here."
)
_BANDS = "bands ± 1 sd"


_MOST_NAMED = 4
"""Actuators that have a curve of their own in a row of all actuators; one more is not put into a band of its own."""
_MAX_SOLID = 8  # curves; further ones repeat the colours and are dashed
_RANKING_INTERVAL = 1.0  # s of data
_MAX_DEFAULT_ROWS = 4


class IndicatorsPanel(TimePanel):
    """One row a quantity, of one actuator or of all: the worst by name, the others as a band."""

    key = "indicators"
    title = "Tracking indicators"

    def __init__(self, view: View, theme: Theme) -> None:
        super().__init__(view, theme, _NOTHING)
        self.limits: DisplayLimits = {}
        self._alarm_limits: AlarmLimits = ()
        self._sources: dict[str, tuple[CurveSource, ...]] = {}
        self._named: dict[str, tuple[str, ...]] = {}
        self._colours: dict[str, int] = {}
        self._ranked: tuple[object, ...] | None = None
        self.together = toggle_button(
            "All actuators",
            "Overlay all actuators with one indicator (the worst by name, the others as a band),\n"
            "or show one actuator with all indicators",
        )
        self.controls.insertWidget(1, self.together)
        self.together.toggled.connect(self._changed)
        view.actuator_changed.connect(self._changed)

    def set_limits(self, limits: DisplayLimits) -> None:
        """Set the limits of the window."""
        self.limits = limits
        self._changed()

    def refresh(self, history: History) -> None:
        """Draw; update the rows where the alarm limits or the worst actuators have changed."""
        if self._history is history and (self._rank(history) or history.limits is not self._alarm_limits):
            self._update_rows()
        super().refresh(history)

    def _rank(self, history: History) -> bool:
        """Rank the actuators again where that may change; return whether it has."""
        results, view = history.results, self.view
        if results is None or not self.together.isChecked() or len(results.actuators) <= _MOST_NAMED + 1:
            return False
        when = (view.right // _RANKING_INTERVAL,) if view.following else (view.left, view.right)
        state = (*when, history.summary, history.generation, self.shown)
        if state == self._ranked:
            return False
        self._ranked = state
        severity = severities(history.alarms or ())
        named = {
            quantity.key: worst(
                results, ranked, view.left, view.right, _MOST_NAMED, severity, self._named.get(quantity.key, ())
            )
            for quantity in QUANTITIES
            if quantity.key in self.shown and (ranked := _ranked(quantity, results)) is not None
        }
        changed = named != self._named
        self._named = named
        return changed

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
        if several:
            self._rank(history)
            self._choose_colours(results)
        self.together.setEnabled(len(results.actuators) > 1)
        named = chosen if chosen.lower().startswith("actuator") else f"actuator {chosen}"
        self.heading.setText("all actuators" if several else named)
        made = (self._row(quantity, results, "" if several else chosen) for quantity in QUANTITIES)
        return tuple((row, "") for row in made if row is not None)

    def default_rows(self, history: History) -> Sequence[str]:  # noqa: ARG002 - of what is available
        """Return delay and ratio; of a service that computes neither, the first rows."""
        keys = [row.key for row, _ in self._available]
        return [key for key in keys if key in HEADLINE_QUANTITIES] or keys[:_MAX_DEFAULT_ROWS]

    def visible_data(self, history: History, rows: Sequence[PlotRow], left: float, right: float) -> Sequence[RowData]:
        """Return values and uncertainties of the visible rows."""
        if history.results is None:
            return ()
        shown = [self._sources[row.key] for row in rows]
        return curve_data(history.results, shown, left, right, self.stack.columns)

    def row_statistics(self, history: History, rows: range, x0: float, x1: float) -> list[list[CurveStatistics]]:
        """Return the statistics of the results that are stored as received; else those of the picture."""
        results = history.results
        if results is None or x0 < results.exact_begin_x:
            return super().row_statistics(history, rows, x0, x1)
        x, values = results.rows(x0, x1)

        def of(source: CurveSource) -> CurveStatistics:
            column = results.column(*source.keys[0])
            if column is None or len(source.keys) > 1:
                return CurveStatistics()
            return statistics(x, source.factor * values[:, [column]])[0]

        return [[of(source) for source in self._sources[self.stack.rows[i].key]] for i in rows]

    def reader(self, history: History) -> Reader:
        """Return a reader of results."""
        rows = [self._sources[row.key] for row in self.stack.rows]
        return lambda x: read_values(history.results, rows, history.result_instant(x))

    def limit_subject(self, row: str, label: str) -> LimitSubject:
        """Return the result of a curve, which has limits of alarms or of the window."""
        shown = next(each for each in self.stack.rows if each.key == row)
        number = next(i for i, curve in enumerate(shown.curves) if curve.label == label)
        source = self._sources[row][number]
        owner = source.actuators[0] if len(source.actuators) == 1 else label
        alone = len(shown.curves) == 1 or label == owner
        name = f"{owner} {shown.name}" if alone else f"{owner} {shown.name} ({label})"
        # a band of several actuators has no limits of its own
        results = tuple(source.keys) if len(source.actuators) == 1 else ()
        if results and (number == 0 or len(shown.curves) == 1 or label == owner):
            # alarms on the headline are those of the first curve of an actuator
            results = (*results, (owner, row))
        return limit_subject(name, results, row if results else "", self._alarm_limits)

    def _row(self, quantity: Quantity, results: ResultHistory, actuator: str) -> PlotRow | None:
        """Return the row of a quantity, for one actuator or, with an empty name, for all."""
        actuators = (actuator,) if actuator else results.actuators
        computed = [m for m in quantity.curves if any(results.column(a, m.name) is not None for a in actuators)]
        measures = computed if actuator else computed[:1]
        unit = quantity.unit
        curves: list[CurveStyle] = []
        sources: list[CurveSource] = []
        bands: list[str | int] = []
        named = actuators if actuator else self._named_first(quantity, results, measures)
        for owner in named:
            for measure in measures:
                column = results.column(owner, measure.name)
                if column is None:
                    continue
                colour = measure.colour if actuator else self._colours[owner]
                faint = bool(actuator) and measure.secondary and not computed[0].secondary
                deviation = f"{measure.name}_sd"
                if results.column(owner, deviation) is None:
                    deviation = ""
                else:
                    bands.append(colour)
                unit = display_unit(quantity.unit, results.columns[column].unit)
                label = measure.label if actuator else owner
                dashed = not actuator and isinstance(colour, int) and colour >= _MAX_SOLID
                curves.append(CurveStyle(label, colour, faint, dashed, named=not actuator))
                sources.append(CurveSource((owner,), measure.name, quantity.factor, deviation))
        if not curves:
            return None
        others = tuple(
            owner for owner in actuators if owner not in named and results.column(owner, measures[0].name) is not None
        )
        if others:
            curves.append(CurveStyle(f"{len(others)} others", "muted", faint=True, filled=True, named=True))
            sources.append(CurveSource(others, measures[0].name, quantity.factor))
        self._sources[quantity.key] = tuple(sources)
        watched = [key for source in sources for key in source.keys] + [(a, quantity.key) for a in actuators]
        by = f"by {measures[0].label}" if not actuator and len(quantity.curves) > 1 else ""
        legend = ", ".join(filter(None, (quantity.note, by, _BANDS if bands else "")))
        return PlotRow(
            quantity.key, quantity.title, "", unit, tuple(curves), tuple(bands),
            self._lines(quantity, unit),
            least_span=quantity.least_span, prefixed=not quantity.unit and unit != "1", legend=legend,
            watched=frozenset(watched),
        )  # fmt: skip

    def _named_first(
        self, quantity: Quantity, results: ResultHistory, measures: Sequence[QuantityCurve]
    ) -> tuple[str, ...]:
        """Return the actuators that have a curve of their own in a row of all."""
        if len(results.actuators) <= _MOST_NAMED + 1 or not measures:
            return results.actuators
        return self._named.get(quantity.key) or results.actuators[:_MOST_NAMED]

    def _choose_colours(self, results: ResultHistory) -> None:
        """Give each named actuator the same colour in all rows; those named before keep theirs."""
        if len(results.actuators) <= _MOST_NAMED + 1:
            self._colours = {actuator: i for i, actuator in enumerate(results.actuators)}
            return
        named = dict.fromkeys(actuator for owners in self._named.values() for actuator in owners)
        kept = {actuator: colour for actuator, colour in self._colours.items() if actuator in named}
        free = (colour for colour in count() if colour not in kept.values())
        first = dict.fromkeys(results.actuators[:_MOST_NAMED], 0)
        self._colours = first | kept | {actuator: next(free) for actuator in named if actuator not in kept}

    def _lines(self, quantity: Quantity, unit: str) -> tuple[LimitLine, ...]:
        """Return the alarm limits of the service; where it has none for any actuator, those of the window."""
        sources = self._sources[quantity.key]
        # the headline has an unlabelled line
        names = {m.name: "" if m.name.startswith(f"{HEADLINE}_") else m.label for m in quantity.curves}
        own = [source.keys[0] for source in sources if len(source.keys) == 1]
        of_all = len({actuator for actuator, _ in own}) > 1
        labels = {(actuator, name): actuator if of_all else names[name] for actuator, name in own}
        if display_limits_apply(self._alarm_limits):
            return display_lines(self.limits, quantity.key, unit)
        in_band = {key for source in sources if len(source.keys) > 1 for key in source.keys}
        first = dict(key for source in reversed(sources) for key in source.keys)
        limits = on_headline(self._alarm_limits, quantity.key, first)
        return alarm_lines(limits, labels, quantity.factor, in_band)

    def _changed(self) -> None:
        """Rebuild the rows for another actuator, all actuators, or other limits."""
        self.stack.reset_scales()
        self._named, self._colours, self._ranked = {}, {}, None
        self._update_rows()
        self._redraw()


def _ranked(quantity: Quantity, results: ResultHistory) -> RankedResult | None:
    """Return the result by which the actuators of a row are ranked; None where no actuator has one."""
    for measure in quantity.curves:
        owners = tuple(a for a in results.actuators if results.column(a, measure.name) is not None)
        if owners:
            return RankedResult(measure.name, owners, 1.0 if quantity.key == "ratio" else 0.0)
    return None
