"""Comparison panel: curves of two or more recordings on one time axis, and their differences."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import QDoubleSpinBox, QHBoxLayout, QPushButton, QSplitter, QToolButton, QVBoxLayout, QWidget

from gui.model.comparison import (
    ComparedRun,
    StoredCurve,
    align,
    alignment_channel,
    channel_curve,
    compared_difference,
    counterpart,
    result_curve,
    shifted,
)
from gui.model.history import History
from gui.panels.comparison_table import DifferenceList
from gui.panels.controls import toggle_button
from gui.panels.over_time import TimePanel
from gui.plots.time.rows import CurveStyle, Interval, PlotRow, Reader, RowData, trace
from gui.plots.view import View
from gui.widgets.layout import fill
from gui.widgets.painting import PlainLabel
from gui.widgets.theme import Theme
from gui.wording.quantity_names import QUANTITIES
from monitor.catalogue import display_unit

_NOTHING = (
    "Open a recording, and then another one with File > Compare with a recording:\n"
    "both are drawn on the time axis of the first, with their difference."
)
_LONGEST_LAG = 1e6  # s
_N_ACTUATORS = 3  # shown by default
_SAMPLE = "▬"


@dataclass(frozen=True, slots=True)
class _Curves:
    """What a row draws: the curve of the recording and of each compared one that has it, or the differences."""

    own: StoredCurve
    others: tuple[StoredCurve | None, ...]
    runs: tuple[ComparedRun, ...]
    key: str
    differences: bool

    def drawn(self) -> list[StoredCurve]:
        pairs = [(run, other) for run, other in zip(self.runs, self.others, strict=True) if other is not None]
        if self.differences:
            return [compared_difference(run, self.key, other, self.own) for run, other in pairs]
        return [self.own, *(other for _, other in pairs)]


class LagRow(QWidget):
    """Name of a compared recording, its lag, and buttons to estimate it and to remove the recording.

    Signals
    -------
    changed : another lag was entered, s.
    estimate, remove : a button was clicked.
    """

    changed = Signal(float)
    estimate = Signal()
    remove = Signal()

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number
        self.name = PlainLabel()
        self.lag = QDoubleSpinBox(decimals=4, suffix=" s", singleStep=0.001)
        self.lag.setRange(-_LONGEST_LAG, _LONGEST_LAG)
        self.lag.setKeyboardTracking(False)
        self.lag.setToolTip(
            "How much later the motion is in this recording, both counted from their first sample; "
            "it is drawn that much earlier"
        )
        self.button = QPushButton("Estimate lag")
        self.close_button = QToolButton()
        self.close_button.setText("✕")
        self.close_button.setAutoRaise(True)
        self.close_button.setToolTip("Remove this recording")
        self.quality = PlainLabel()
        fill(
            QHBoxLayout(self),
            self.name,
            PlainLabel("lags by"),
            self.lag,
            self.button,
            self.quality,
            None,
            self.close_button,
            margins=(6, 0, 6, 0),
        )
        self.lag.valueChanged.connect(self.changed)
        self.button.clicked.connect(self.estimate)
        self.close_button.clicked.connect(self.remove)

    def show_run(self, run: ComparedRun, theme: Theme, channel: str) -> None:
        """Show a recording, its colour and its lag; `channel` is the one by which the lag is estimated."""
        colour = theme.series[(self.number + 1) % len(theme.series)]
        self.name.setText(f"{_SAMPLE} {run.name}")
        self.name.setStyleSheet(f"color: {colour}; font-weight: bold")
        with QSignalBlocker(self.lag):
            self.lag.setValue(run.lag)
        self.button.setEnabled(bool(channel))
        self.button.setToolTip(f"Estimate the lag by the cross-correlation of {channel or 'a common channel'}")
        self.lag.setAccessibleName(f"lag of {run.name}")
        self.close_button.setAccessibleName(f"remove {run.name}")
        self.show_judgement(run)

    def show_judgement(self, run: ComparedRun) -> None:
        """Show the correlation of the commands at the lag, once it is known."""
        found = run.judgement
        known = "" if math.isnan(found.correlation) else f"correlation {found.correlation:.3f}"
        self.quality.setText("comparing …" if not run.judged else "not compared" if found.problem else known)
        self.quality.setToolTip(found.problem)


class ComparisonPanel(TimePanel):
    """Curves of the recording that is shown and of those that are compared with it, each pair with a difference.

    Signals
    -------
    wanted : a recording to compare with is to be chosen.
    cancelled : the one that is being loaded is not wanted.
    runs_changed : the compared recordings, with other lags or fewer.
    reported : a page on the comparison is wanted.
    """

    key: ClassVar[str] = "comparison"
    title: ClassVar[str] = "Comparison"
    wanted = Signal()
    cancelled = Signal()
    runs_changed = Signal(tuple)
    reported = Signal()

    def __init__(self, view: View, theme: Theme) -> None:
        super().__init__(view, theme, _NOTHING)
        self._curves: dict[str, _Curves] = {}
        self.lags: list[LagRow] = []
        self._loading = PlainLabel()
        self._cancel = QPushButton("Cancel")
        self._cancel.clicked.connect(self.cancelled)
        self.add = QPushButton("Compare with…")
        self.add.setToolTip("Open another recording over this one")
        self.add.clicked.connect(self.wanted)
        self.report = QPushButton("Report…")
        self.report.setToolTip("Report of the comparison: a page with the differences and their verdicts")
        self.report.clicked.connect(self.reported)
        self.differences = DifferenceList(theme)
        self.tolerances: Mapping[str, str] = {}
        self._listed: tuple[object, ...] = ()
        tip = "Differences as synchroscope compare computes them, and whether they are within tolerance"
        self.differences_button = shown = toggle_button("Differences", tip)
        shown.toggled.connect(self._show_differences)
        for place, part in enumerate((self._loading, self._cancel, self.add, self.report, shown), 1):
            self.controls.insertWidget(place, part)
        self._lag_rows = QVBoxLayout()
        self._lag_rows.setSpacing(0)
        box = self.layout()
        assert isinstance(box, QVBoxLayout)
        box.insertLayout(1, self._lag_rows)
        self._parts = QSplitter(Qt.Orientation.Vertical, childrenCollapsible=False)
        box.insertWidget(2, self._parts, 1)
        self._parts.addWidget(self.stack)
        self._parts.addWidget(self.differences)
        self.show_loading("")

    def _show_differences(self, on: bool) -> None:
        self.differences.setVisible(on)
        if on:
            self._parts.setSizes([3 * self._parts.height() // 5, 2 * self._parts.height() // 5])

    def show_loading(self, text: str) -> None:
        """Show what is being loaded; empty: nothing."""
        self._loading.setText(text)
        self._loading.setVisible(bool(text))
        self._cancel.setVisible(bool(text))

    def configure(self, history: History) -> None:
        """Set the rows for a recording and those that are compared with it."""
        self.add.setEnabled(history.recording is not None)
        self.report.setEnabled(bool(history.compared))
        self.differences_button.setEnabled(bool(history.compared))
        super().configure(history)
        self._show_lags(history)

    def refresh(self, history: History) -> None:
        """Draw; where a lag has changed, with other differences."""
        if history.compared != tuple(run for curves in [*self._curves.values()][:1] for run in curves.runs):
            self.available_rows(history)
            self._show_lags(history)
        listed = tuple(each for run in history.compared for each in (run.judgement, run.judged)), self.tolerances
        if listed != self._listed:
            self._listed = listed
            self.differences.show_runs(history.compared, self.tolerances)
            for widget, run in zip(self.lags, history.compared, strict=True):
                widget.show_judgement(run)
        super().refresh(history)

    def available_rows(self, history: History) -> tuple[tuple[PlotRow, str], ...]:
        """Return an overlay and a difference of every channel and result that both recordings have."""
        self._curves = {}
        if not history.compared:
            return ()
        rows = [*self._channel_rows(history), *self._result_rows(history)]
        return tuple((row, group) for row, group in rows)

    def default_rows(self, history: History) -> Sequence[str]:
        """Return measured signals and delays of the first actuators, or the first channels."""
        keys = [row.key for row, _ in self._available]
        if history.signals is None or not history.signals.pairs:
            return keys[: 2 * _N_ACTUATORS]
        channels = history.signals.channels
        first = [channels[pair.measured].name for pair in history.signals.pairs[:_N_ACTUATORS]]
        first += [f"{history.signals.pairs[0].actuator}.delay"]
        return [key for key in keys if key.partition(":")[2] in first] or keys[: 2 * _N_ACTUATORS]

    def visible_data(self, history: History, rows: Sequence[PlotRow], left: float, right: float) -> Sequence[RowData]:  # noqa: ARG002
        """Return the curves of the visible rows."""
        columns, shown = self.stack.columns, [self._curves[row.key].drawn() for row in rows]
        return [
            RowData(tuple(trace(each.envelope(left, right, columns), 0, each.factor) for each in curves))
            for curves in shown
        ]

    def reader(self, history: History) -> Reader:  # noqa: ARG002
        """Return a reader of all curves."""
        return partial(_read, [self._curves[row.key] for row in self.stack.rows])

    def apply_theme(self, theme: Theme) -> None:
        """Apply the colours of a theme."""
        super().apply_theme(theme)
        self.differences.apply_theme(theme)
        if self._history is not None:
            self._show_lags(self._history)

    def _channel_rows(self, history: History) -> Iterator[tuple[PlotRow, str]]:
        for channel in () if history.signals is None else history.signals.channels:
            own = channel_curve(history, channel.name)
            others = tuple(shifted(counterpart(run, channel), run.shift(history)) for run in history.compared)
            group = channel.actuator or "other channels"
            if own is not None and any(others):
                yield from self._rows(history, own, others, channel.name, "", channel.unit, group)

    def _result_rows(self, history: History) -> Iterator[tuple[PlotRow, str]]:
        results = history.results
        for actuator in () if results is None else results.actuators:
            for quantity in QUANTITIES:
                for curve in quantity.curves[:1]:
                    own = result_curve(history, actuator, curve.name, quantity.factor)
                    found = (
                        result_curve(run.history, actuator, curve.name, quantity.factor) for run in history.compared
                    )
                    others = tuple(
                        shifted(each, run.shift(history)) for each, run in zip(found, history.compared, strict=True)
                    )
                    if own is None or not any(others) or results is None:
                        continue
                    unit = display_unit(quantity.unit, results.columns[own.column].unit)
                    key = f"{actuator}.{quantity.key}"
                    yield from self._rows(history, own, others, key, quantity.title, unit, f"{actuator}, results")

    def _rows(
        self,
        history: History,
        own: StoredCurve,
        others: tuple[StoredCurve | None, ...],
        key: str,
        title: str,
        unit: str,
        group: str,
    ) -> Iterator[tuple[PlotRow, str]]:
        """Yield the overlay and the difference of one channel or result."""
        runs = history.compared
        name = key.partition(".")[0] if title else key
        reference = "" if history.recording is None else history.recording.name
        known = [
            (i + 1, run.name) for i, (run, other) in enumerate(zip(runs, others, strict=True)) if other is not None
        ]
        styles = (CurveStyle(reference, 0), *(CurveStyle(other, i) for i, other in known))
        differences = tuple(CurveStyle(f"{other} − {reference}", i) for i, other in known)
        for kind, curves, text in (
            ("overlay", styles, title),
            ("difference", differences, f"{title}, difference" if title else "difference"),
        ):
            row = PlotRow(f"{kind}:{key}", name, text, unit, curves, prefixed=not title and unit != "1")
            self._curves[row.key] = _Curves(own, others, runs, key, kind == "difference")
            yield row, group

    def _show_lags(self, history: History) -> None:
        runs = history.compared
        while len(self.lags) > len(runs):
            widget = self.lags.pop()
            self._lag_rows.removeWidget(widget)
            widget.hide()
            widget.deleteLater()
        while len(self.lags) < len(runs):
            widget = LagRow(len(self.lags))
            widget.changed.connect(partial(self._replace, widget.number))
            widget.estimate.connect(partial(self._estimate, widget.number))
            widget.remove.connect(partial(self._remove, widget.number))
            self.lags.append(widget)
            self._lag_rows.addWidget(widget)
        for widget, run in zip(self.lags, runs, strict=True):
            widget.show_run(run, self.theme, alignment_channel(history, run, self.view.actuator))
        width = max((widget.name.sizeHint().width() for widget in self.lags), default=0)
        for widget in self.lags:
            widget.name.setFixedWidth(width)

    def _estimate(self, number: int) -> None:
        history = self._history
        if history is not None and number < len(history.compared):
            self._replace(number, align(history, history.compared[number], self.view.actuator).lag)

    def _replace(self, number: int, lag: float) -> None:
        history = self._history
        if history is not None and number < len(history.compared):
            runs = list(history.compared)
            runs[number] = runs[number].aligned(lag)
            self.runs_changed.emit(tuple(runs))

    def _remove(self, number: int) -> None:
        if self._history is not None:
            self.runs_changed.emit(tuple(run for i, run in enumerate(self._history.compared) if i != number))


def _read(rows: Sequence[_Curves], x: float) -> list[list[Interval]]:
    """Return the values of all curves at `x`."""
    return [[Interval(*curve.between(x)) for curve in curves.drawn()] for curves in rows]
