"""Reliability panel: instantaneous, first-passage and accumulated reliability, the model's band, the decision."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from PySide6.QtCore import QSignalBlocker
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QComboBox

from gui.model.alarms import AlarmLimits
from gui.model.history import History
from gui.model.results import ResultHistory
from gui.panels.limit_lines import LimitSubject, alarm_lines, limit_subject
from gui.panels.over_time import TimePanel
from gui.plots.time.rows import CurveStyle, Interval, PlotRow, Reader, RowData, Trace, band, intervals, spread, trace
from gui.plots.view import View
from gui.widgets.painting import plain_tip
from gui.widgets.theme import Theme, level_colour
from gui.wording.level import Level
from monitor.messages.blocks import EventKind

_COLUMN = "reliability_decision"
_WORDS = {"accept": ("●", Level.GOOD), "watch": ("▲", Level.WARN), "reject": ("■", Level.BAD)}
_UNKNOWN = "◆", Level.NONE


def latest_decision(history: History, site: str, x: float) -> tuple[str, Level]:
    """Return the newest decision before `x` since the last restart: a shape and words, and its level."""
    results = history.results
    if results is None or not site:
        return "", Level.NONE
    since = history.timeline.run_of(x)
    for mark in reversed(history.events):
        event = mark.event
        if event.kind is EventKind.DECISION and event.site == site and since <= mark.x <= x:
            shape, level = _WORDS.get(event.verdict, _UNKNOWN)
            return f"{shape} {event.detail}", level
    if results.column(site, _COLUMN) is None:
        return "no decision for this site: there is one for all sites together", Level.NONE
    return "○ no decision (yet): it requires limits in the service, and some instants", Level.NONE


_CURVES = (
    ("reliability_instantaneous", CurveStyle("instantaneous", "muted", faint=True)),
    ("reliability_first_passage", CurveStyle("first-passage", 1)),
    ("reliability_accumulated", CurveStyle("accumulated", 0)),
    ("reliability_windowed", CurveStyle("windowed", 2, dashed=True)),
)
_WITH_ERROR = _CURVES[1:]  # the instantaneous one is drawn faint
_FROM_0_TO_1 = -0.04, 1.04
_MEDIAN, _BAND = "model_median", ("model_low", "model_high")
_MODEL_WEIGHT = 0.9


def _reliability_rows(history: History, results: ResultHistory, site: str) -> Iterator[PlotRow]:
    """Yield the rows of a site; those of all sites together are followed by the rows of each site."""
    if results.column(site, _MEDIAN) is not None:
        yield _reliability_row(site, site, history.limits)
        yield _model_row(history, results, site)
        return
    yield _reliability_row(site, "all sites", history.limits)
    for owner in results.sites:
        if owner != site:
            yield _reliability_row(owner, owner, history.limits)


def _row_data(
    history: History, results: ResultHistory, row: PlotRow, left: float, right: float, n_columns: int
) -> RowData:
    """Return the data of a row from `left` to `right`, s, in about `n_columns` buckets."""
    kind, _, owner = row.key.partition(":")
    model = kind == "model"
    names = [_MEDIAN, *_BAND] if model else [*_names(), *(f"{name}_se" for name, _ in _WITH_ERROR)]
    found = results.envelope(left, right, n_columns, [(owner, name) for name in names])
    one: Callable[[int], Trace] = partial(trace, found)
    if not model:
        bands = tuple(spread(one(1 + i), one(len(_CURVES) + i)) for i in range(len(_WITH_ERROR)))
        return RowData(tuple(one(i) for i in range(len(_CURVES))), bands)
    curves = [one(0)]
    column = _channel(history, owner)
    if history.signals is not None and column is not None:
        curves.append(trace(history.signals.envelope(left, right, n_columns, [column]), 0))
    return RowData(tuple(curves[: len(row.curves)]), (band(one(1), one(2)),))


def _row_values(history: History, row: PlotRow, x: float) -> list[Interval]:
    """Return the values of a row's curves at `x`, s, or at the newest instant before."""
    results = history.results
    if results is None:
        return []
    kind, _, owner = row.key.partition(":")
    names = [_MEDIAN] if kind == "model" else _names()
    found = intervals(*results.between(history.result_instant(x), [(owner, name) for name in names]))
    column = _channel(history, owner)
    if history.signals is not None and column is not None and len(row.curves) > len(names):
        found += intervals(*history.signals.between(min(x, history.signals.end_x), [column]))
    return found


def _names() -> list[str]:
    return [name for name, _ in _CURVES]


def _reliability_row(owner: str, name: str, limits: AlarmLimits) -> PlotRow:
    curves = tuple(curve for _, curve in _CURVES)
    # whole in the margin, beside the limit
    lines = alarm_lines(limits, {(owner, name): f"{curve.label[:5]}." for name, curve in _CURVES})
    return PlotRow(
        f"reliability:{owner}", name, "reliability", "1", curves, tuple(curve.colour for _, curve in _WITH_ERROR),
        lines, fixed=_FROM_0_TO_1, legend="bands ± 1 se", watched=frozenset((owner, name) for name, _ in _CURVES),
    )  # fmt: skip


def _model_row(history: History, results: ResultHistory, owner: str) -> PlotRow:
    median = results.column(owner, _MEDIAN)
    unit = "" if median is None else results.columns[median].unit
    curves = [CurveStyle("model median", "command")]
    if _channel(history, owner) is not None:
        curves.append(CurveStyle("measured", "measured"))
    return PlotRow(
        f"model:{owner}", owner, "model and measurement", unit, tuple(curves), ("command",), prefixed=True,
        weight=_MODEL_WEIGHT, legend="band: 5 to 95 % of the model",
    )  # fmt: skip


def _channel(history: History, name: str) -> int | None:
    """Return the column of the channel of a site; None where it is not published."""
    channels = () if history.signals is None else history.signals.channels
    return next((i for i, channel in enumerate(channels) if channel.name == name), None)


_NOTHING = (
    "No model is loaded. Start the service with one,\n"
    "synchroscope monitor --ensemble beam.h5 --response deflection --tolerance 16% --limit accumulated=0.7:0.85\n"
    "or choose a model to validate in the menu Source > Simulations."
)
_WAITING = "Waiting for results."


class ReliabilityPanel(TimePanel):
    """Reliability of one site with its measurement over the model's band, or reliability of all sites."""

    key = "reliability"
    title = "Reliability"

    def __init__(self, view: View, theme: Theme) -> None:
        super().__init__(view, theme, _NOTHING)
        self.sites = QComboBox(self)
        self.sites.setAccessibleName("site of the model")
        self.sites.setToolTip("Validation site of the model")
        self.controls.insertWidget(0, self.sites)
        self.sites.setVisible(False)
        self.sites.currentTextChanged.connect(self._on_site_changed)
        self._level = Level.NONE
        self._limits: AlarmLimits = ()

    @property
    def site(self) -> str:
        """The selected validation site; empty without a model."""
        return self.sites.currentText()

    def configure(self, history: History) -> None:
        """List the validation sites."""
        names = () if history.results is None else history.results.sites
        before = self.site
        with QSignalBlocker(self.sites):
            self.sites.clear()
            self.sites.addItems(names)
            if before in names:
                self.sites.setCurrentText(before)
        self.sites.setVisible(len(names) > 1)
        super().configure(history)
        self._show_decision(history)

    def refresh(self, history: History) -> None:
        """Draw, and show the decision in the heading."""
        if history.limits is not self._alarm_limits and self._history is history:
            self._update_rows()
        super().refresh(history)
        self._show_decision(history)

    def apply_theme(self, theme: Theme) -> None:
        """Apply the colours of a theme."""
        super().apply_theme(theme)
        self._apply_level_colour()

    def available_rows(self, history: History) -> tuple[tuple[PlotRow, str], ...]:
        """Return the rows of the selected site, followed by those of each site for all sites together."""
        results, self._alarm_limits = history.results, history.limits
        # whether there is a model is known from the first results
        self._nothing = self.stack.message = _WAITING if results is None else _NOTHING
        if results is None or not self.site:
            return ()
        return tuple((row, "") for row in _reliability_rows(history, results, self.site))

    def default_rows(self, history: History) -> Sequence[str]:  # noqa: ARG002 - the same for every history
        """Return all rows."""
        return [row.key for row, _ in self._available]

    def visible_data(self, history: History, rows: Sequence[PlotRow], left: float, right: float) -> Sequence[RowData]:
        """Return reliabilities with standard errors, and the model with the measurement."""
        results, columns = history.results, self.stack.columns
        return [] if results is None else [_row_data(history, results, row, left, right, columns) for row in rows]

    def limit_subject(self, row: str, label: str) -> LimitSubject:
        """Return the reliability of a curve, which has limits of alarms."""
        kind, _, owner = row.partition(":")
        results = tuple((owner, name) for name, curve in _CURVES if kind == "reliability" and curve.label == label)
        return limit_subject(super().limit_subject(row, label).name, results, "", self._alarm_limits)

    def reader(self, history: History) -> Reader:
        """Return a reader of all rows."""
        rows = self.stack.rows
        return lambda x: [_row_values(history, row, x) for row in rows]

    def _on_site_changed(self) -> None:
        self._update_rows()
        self._redraw()
        if self._history is not None:
            self._show_decision(self._history)

    def _show_decision(self, history: History) -> None:
        """Show the latest decision at the instant of the view in the heading."""
        text, level = latest_decision(history, self.site, self.view.instant)
        if text != self.heading.text():
            self.heading.setText(text)
            self.heading.setToolTip(plain_tip(text))
        if level is not self._level:
            self._level = level
            self._apply_level_colour()

    def _apply_level_colour(self) -> None:
        palette = QPalette(self.heading.palette())
        colour = self.theme.text if self._level is Level.NONE else level_colour(self.theme, self._level)
        palette.setColor(QPalette.ColorRole.WindowText, QColor(colour))
        self.heading.setPalette(palette)
