"""Base class of panels over time: a stack of rows, and a menu to choose them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from PySide6.QtCore import QPoint, Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout

from gui.model.history import History
from gui.model.statistics import CurveStatistics
from gui.model.timeline import ClockSegment
from gui.panels.base import COMPUTING, Panel, span_text
from gui.panels.controls import (
    HINT,
    RowChoice,
    RowMenu,
    StatisticsLine,
    StatisticsTable,
    toggle_button,
    trace_statistics,
)
from gui.panels.limit_lines import LimitSubject
from gui.plots.figure import Figure, Page
from gui.plots.time.figure import time_figure
from gui.plots.time.limit_drag import LimitDrag
from gui.plots.time.rows import Frame, PlotRow, Reader, RowData, Trace, no_values
from gui.plots.time.stack import TimeStack
from gui.plots.value_axis import duration_text
from gui.plots.view import View
from gui.widgets.layout import fill
from gui.widgets.menus import MenuEntry, MenuPlace
from gui.widgets.painting import PlainLabel
from gui.widgets.theme import Theme

_STALE_STATES = ("stale", "silent")
_MAX_MARKS = 200


class TimePanel(Panel):
    """Panel with a stack of rows below a line of controls.

    Parameters
    ----------
    view, theme : as for `Panel`.
    nothing : text shown while there are no rows.

    Signals
    -------
    limits_requested : the `LimitSubject` whose limits are to be edited.
    """

    limits_requested = Signal(object)

    def __init__(self, view: View, theme: Theme, nothing: str) -> None:
        super().__init__(view, theme)
        self._history: History | None = None
        self._drawn: tuple[object, ...] | None = None
        self._available: tuple[tuple[PlotRow, str], ...] = ()
        self._choices: tuple[RowChoice, ...] | None = None
        self._shown: tuple[str, ...] | None = None
        self.stack = TimeStack(view, theme, self)
        self.limit_drag = LimitDrag(self.stack)
        self.stack.message = self._nothing = nothing
        self.heading = PlainLabel(self)
        self.controls = fill(QHBoxLayout(), (self.heading, 1), margins=(6, 2, 6, 0), spacing=8)
        self.menu = RowMenu(self)
        self.statistics = StatisticsTable(self)
        tip = "Minimum, maximum, mean, RMS, slope and difference between two cursors"
        self.statistics_button = toggle_button("Statistics", tip)
        self.statistics_button.toggled.connect(self._show_statistics)
        self.statistics.between.activated.connect(self._redraw)
        self._clock_time = False
        self._interval: tuple[float, float] | None = None
        self._summarized: object = None
        self.controls.addWidget(self.statistics_button)
        self.controls.addWidget(self.menu)
        fill(QVBoxLayout(self), self.controls, (self.stack, 1), self.statistics, margins=(0, 0, 0, 0), spacing=0)
        # the plot handles the keys
        self.setFocusProxy(self.stack)
        self.menu.chosen.connect(self.show_rows)
        view.restored.connect(self._restore_rows)
        self.stack.rows_revealed.connect(self._redraw)
        self.stack.menu_requested.connect(self._show_row_menu)
        self.stack.limits_requested.connect(self._request_limits)

    def choices(self) -> tuple[RowChoice, ...]:
        """Return the available rows as menu items."""
        return tuple(
            RowChoice(
                row.key,
                f"{row.name} {row.quantity}".strip(),
                group,
                tuple(curve.signal for curve in row.curves if curve.signal),
            )
            for row, group in self._available
        )

    @property
    def shown(self) -> tuple[str, ...]:
        """Keys of the shown rows."""
        return tuple(row.key for row in self.stack.rows)

    def show_rows(self, keys: Sequence[str]) -> None:
        """Show the available rows with these keys only."""
        with self.view.step("", lambda: {f"rows of {self.key}": self.shown}):
            self._shown = tuple(keys)
            self._set_rows()
        self.menu.set_checked(self.shown)
        self._redraw()

    def _restore_rows(self, parts: Mapping[str, Any]) -> None:
        """Show the rows in parts of the view that were restored."""
        if (keys := parts.get(f"rows of {self.key}")) is not None:
            self._shown = keys
            self._set_rows()
            self.menu.set_checked(self.shown)
            self._redraw()

    def menu_entries(self, place: MenuPlace) -> Iterable[Iterable[MenuEntry]]:
        """Return what can be done with a row, its limits, the zoom and the cursor."""
        view, stack = self.view, self.stack
        number = next((i for i, row in enumerate(stack.rows) if row.key == place.row), None)
        if number is not None:
            yield self._scale_entries(number)
            key, labels = place.row, [curve.label for curve in stack.rows[number].curves if curve.label]
            yield [
                MenuEntry(f"Curve {each}…", partial(stack.show_curve_menu, key, each, place.at)) for each in labels
            ]
        if stack.rows:
            steps = view.steps
            yield (MenuEntry("Undo", view.undo, steps.has_back), MenuEntry("Redo", view.redo, steps.has_forward))
        if place.x is not None and view.can_pin:
            pin = partial(view.pin, place.x)
            yield [
                MenuEntry("Move the play head here" if view.recorded else "Pin cursor here", pin),
                MenuEntry("Add a cursor here", partial(view.add_mark, place.x)),
            ]
        if view.marks and place.x is not None:
            nearest = min(view.marks, key=lambda mark: abs(mark - (place.x or 0.0)))
            others = [mark for mark in view.marks if mark != nearest]
            text = f"Remove cursor {view.marks.index(nearest) + 1}"
            yield [MenuEntry(text, partial(view.set_marks, others))]
        if view.pinned is not None and not view.recorded:
            yield [MenuEntry("Unpin cursor", partial(view.pin, None))]
        if number is not None:
            yield self.row_entries(place.row)

    def _scale_entries(self, row: int) -> Iterable[MenuEntry]:
        stack, shown = self.stack, self.stack.rows[row]
        if stack.is_manual(row):
            yield MenuEntry("Fit scale", partial(stack.enable_auto_range, row))
        elif shown.fixed is None:
            yield MenuEntry("Keep this scale", partial(stack.keep_scale, row))
        subjects = {curve.label: self.limit_subject(shown.key, curve.label) for curve in shown.curves}
        # display limits are those of all curves
        limited = [label for label, each in subjects.items() if each.watched] or [
            label for label, each in subjects.items() if each.has_limits
        ][:1]
        for label in limited:
            text = "Limits…" if len(limited) == 1 else f"Limits of {label}…"
            yield MenuEntry(text, partial(self._request_limits, shown.key, label))

    def row_entries(self, key: str) -> Iterable[MenuEntry]:
        """Return the entries of the menu that choose rows."""
        hide = partial(self.show_rows, [shown for shown in self.shown if shown != key])
        return [MenuEntry("Hide this row", hide)]

    def limit_subject(self, row: str, label: str) -> LimitSubject:
        """Return the results of a curve, by its row and label, that limits may be on; by default none."""
        shown = next(each for each in self.stack.rows if each.key == row)
        return LimitSubject(" ".join(dict.fromkeys(filter(None, (shown.name, shown.quantity, label)))))

    def _show_row_menu(self, key: str, x: float | None, at: QPoint) -> None:
        self.show_menu(MenuPlace(at, key, x))

    def _request_limits(self, row: str, label: str) -> None:
        self.limits_requested.emit(self.limit_subject(row, label))

    def configure(self, history: History) -> None:
        """Set the rows for the channels and columns of a history."""
        if history is not self._history:
            # results of a recording come while its signals are looked at
            self.stack.reset_scales()
        self._history = history
        self._update_rows()

    def refresh(self, history: History) -> None:
        """Draw, unless nothing has changed."""
        self._history = history
        view, stack = self.view, self.stack
        stack.message = self._nothing if history.computed is None else COMPUTING
        self._update_statistics(history)
        stale = self._stale(history)
        now = (history.version, view.left, view.right, stack.columns, stack.seen, stale)
        if now == self._drawn or not stack.rows:
            stack.flush_readouts()
            return
        self._drawn = now
        left, right = view.left, view.right
        rows = self.rows_data(history, left, right)
        frame = self._frame(history, left, right, rows)
        stack.draw(replace(frame, read=self.reader(history), stale=stale), more=view.following)

    def apply_theme(self, theme: Theme) -> None:
        """Apply the colours of a theme."""
        super().apply_theme(theme)
        self.stack.apply_theme(theme)

    def figure(self, page: Page, history: History) -> Figure:
        """Return all rows over the time in view, from the first sample to the newest."""
        stack, begin, end = self.stack, history.begin_x, history.end_x
        left, right = max(self.view.left, begin), min(self.view.right, end)
        if not stack.rows or not left < right:
            raise ValueError(f"{self.title}: there is nothing to draw")
        with stack.whole(page.columns):
            rows = self.rows_data(history, left, right)
        # the picture on the screen has other buckets
        self._drawn = None
        frame = self._frame(history, left, right, rows)
        subject = " · ".join(filter(None, (self.heading.text(), span_text(history.timeline, left, right))))
        return replace(time_figure(self.title, stack, frame, page), subject=subject)

    def _frame(self, history: History, left: float, right: float, rows: tuple[RowData | None, ...]) -> Frame:
        """Return rows with the newest events of a span, and the spans in which alarms were active."""
        marks = tuple(mark for mark in history.events if left <= mark.x <= right)[-_MAX_MARKS:]
        states = tuple(span for span in history.alarm_spans if span.begin <= right and span.end >= left)
        return Frame(left, right, rows, self._segments(history), marks, states)

    @abstractmethod
    def available_rows(self, history: History) -> tuple[tuple[PlotRow, str], ...]:
        """Return all rows that can be shown, each with its section in the menu."""

    @abstractmethod
    def default_rows(self, history: History) -> Sequence[str]:
        """Return the keys of the rows that are shown by default."""

    @abstractmethod
    def visible_data(self, history: History, rows: Sequence[PlotRow], left: float, right: float) -> Sequence[RowData]:
        """Return the data of the visible rows, in order; none while there are none."""

    def rows_data(self, history: History, left: float, right: float) -> tuple[RowData | None, ...]:
        """Return the data of all rows of the stack; None for those that are not visible."""
        rows, seen = self.stack.rows, self.stack.seen
        data = self.visible_data(history, [rows[i] for i in seen], left, right)
        found = dict(zip(seen, data, strict=bool(data)))
        return tuple(found.get(i) for i in range(len(rows)))

    def reader(self, history: History) -> Reader:  # noqa: ARG002 - for subclasses
        """Return the function that reads the values of all rows at an x."""
        return no_values

    def row_statistics(self, history: History, rows: range, x0: float, x1: float) -> list[list[CurveStatistics]]:  # noqa: ARG002
        """Return the statistics of the curves of `rows` from `x0` to `x1`; by default those of the picture."""
        return [[trace_statistics(trace, x0, x1) for trace in self._traces(row)] for row in rows]

    def _traces(self, row: int) -> Sequence[Trace]:
        found = self.stack.frame.rows[row] if row < len(self.stack.frame.rows) else None
        return () if found is None else found.curves

    def _show_statistics(self, on: bool) -> None:
        self.statistics.setVisible(on)
        self._summarized = None
        self._redraw()

    def _update_statistics(self, history: History) -> None:
        """Show the statistics between the cursors; when the mouse has left, those of its last place remain."""
        view, stack = self.view, self.stack
        if not self.statistics_button.isChecked():
            return
        self.statistics.set_marks(view.marks)
        if (region := self.statistics.region) is not None:
            self._interval = region
        elif view.pinned is None:
            self._interval = None
        elif view.cursor is not None:
            self._interval = min(view.pinned, view.cursor), max(view.pinned, view.cursor)
        state = self._interval, stack.seen, stack.rows, history.generation
        if state == self._summarized:
            return
        self._summarized = state
        if self._interval is None:
            self.statistics.show_lines(HINT, ())
            return
        x0, x1 = self._interval
        changes = stack.changes(x0, x1)
        lines = [
            StatisticsLine(f"{row.name or row.quantity} {curve.label}".strip(), stack.scene.unit(i), values, change)
            for i, found in zip(stack.seen, self.row_statistics(history, stack.seen, x0, x1), strict=True)
            for row in (stack.rows[i],)
            for curve, values, change in zip(row.curves, found, changes[i], strict=False)
            if not (curve.hidden or curve.filled)
        ]
        heading = f"Statistics from {stack.instant(x0)} to {stack.instant(x1)}, Δt {duration_text(x1 - x0)}"
        self.statistics.show_lines(heading, lines)

    def _update_rows(self) -> None:
        """Rebuild the available rows; those that were shown remain shown."""
        history = self._history
        if history is None:
            return
        self._available = self.available_rows(history)
        self._set_rows()
        choices = self.choices()
        if choices != self._choices:
            self._choices = choices
            self.menu.set_choices(choices, self.shown)
        else:
            # an open menu remains open
            self.menu.set_checked(self.shown)

    def set_clock_time(self, on: bool) -> None:
        """Label the time axis with clock time, also where the rig's time is since its own start."""
        self._clock_time = on
        self._drawn = None

    def _segments(self, history: History) -> Sequence[ClockSegment]:
        segments = history.timeline.segments
        return history.wall_clock.applied(segments) if self._clock_time else segments

    def _set_rows(self) -> None:
        if self._history is None:
            return
        chosen = self._shown
        if chosen is None or not any(row.key in chosen for row, _ in self._available):
            chosen = tuple(self.default_rows(self._history)) if chosen is None or chosen else ()
        self.stack.set_rows([row for row, _ in self._available if row.key in chosen])
        self._drawn = None

    def _redraw(self) -> None:
        if self._history is not None:
            self.refresh(self._history)

    def _stale(self, history: History) -> str:
        """Return the state of the service where the newest values are shown and are stale; else empty."""
        if not self.view.following:
            return ""
        state = history.state
        return state.words if state.key in _STALE_STATES else ""
