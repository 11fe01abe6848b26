"""Limits of alarms that the operator changes: the dialog, and requests that are pending until the service answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from msgspec.structs import replace
from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QGridLayout,
    QLineEdit,
    QMessageBox,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from gui.model.alarms import NormalRange, display_limits_apply
from gui.model.history import History
from gui.panels.alarm_list import AlarmList
from gui.panels.events import EventsPanel
from gui.panels.limit_lines import LimitSubject
from gui.panels.over_time import TimePanel
from gui.plots.time.rows import LimitHandle
from gui.widgets.painting import PlainLabel
from gui.window.service_connection import RequestSender
from gui.window.window import Controller, MainWindow
from gui.wording.event_text import (
    alarm_source,
    alarm_value,
    normal_range,
    range_change,
    scale_of,
    severity_shape,
    severity_word,
)
from monitor.messages.alarms import Alarm, Severity
from monitor.messages.requests import MAX_NAME, MAX_NEW_LIMITS, MAX_REQUEST, NewLimits, SetLimitsRequest
from monitor.transport.zeromq.requests import user_name

_DIGITS = 9
_SIDES = ("low", "high")


def limit_pair(alarms: Sequence[Alarm], name: str) -> tuple[Alarm, ...]:
    """Return the warning and the trip alarm of the value of an alarm, as far as requests may change them."""
    base = name.rpartition(".")[0]
    names = [f"{base}.{severity}" for severity in (Severity.WARN, Severity.TRIP)]
    return tuple(alarm for alarm in alarms if alarm.name in names and alarm.changeable)


class LimitDialog(QDialog):
    """Form with a low and a high limit for the warning and the trip of one value; an empty field is no limit.

    It is not modal: the window goes on showing data. It shows what is wrong with the input, and Apply is enabled once
    nothing is.

    Parameters
    ----------
    alarms : warning, trip or both, see `limit_pair`.

    Signals
    -------
    requested : new normal ranges by the name of the alarm, in its unit; only those that were changed.
    """

    requested = Signal(object)

    def __init__(self, alarms: Sequence[Alarm], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._alarms = tuple(alarms)
        self._factor, unit = scale_of(alarms[0].value, alarms[0].unit)
        self.fields: dict[tuple[str, str], QLineEdit] = {}
        self._former: dict[tuple[str, str], tuple[str, float | None]] = {}
        self._now, self.problem = PlainLabel(), PlainLabel(wordWrap=True)
        self.setObjectName("limits")
        self.setWindowTitle(f"Limits of {alarm_source(alarms[0])}")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Apply | QDialogButtonBox.StandardButton.Cancel)
        self.apply = buttons.button(QDialogButtonBox.StandardButton.Apply)
        self.restore = QPushButton("Restore settings")
        self.restore.setToolTip("Fill in the limits of the settings of the service")
        buttons.addButton(self.restore, QDialogButtonBox.ButtonRole.ResetRole)
        self._lay_out(unit, buttons)
        self.apply.setDefault(True)
        next(field for field in self.fields.values() if field.text()).setFocus()
        self.apply.clicked.connect(self._accept)
        self.restore.clicked.connect(self._restore)
        buttons.rejected.connect(self.reject)
        self._check()

    def _lay_out(self, unit: str, buttons: QDialogButtonBox) -> None:
        grid = QGridLayout()
        grid.setColumnStretch(1, 1)
        grid.setColumnStretch(2, 1)
        for column, heading in enumerate(("Lowest normal", "Highest normal"), 1):
            grid.addWidget(PlainLabel(heading), 0, column)
        for row, alarm in enumerate(self._alarms, 1):
            grid.addWidget(PlainLabel(f"{severity_shape(alarm.severity)} {severity_word(alarm.severity)}"), row, 0)
            for column, (side, limit) in enumerate(zip(_SIDES, (alarm.low, alarm.high), strict=True), 1):
                field = QLineEdit(self._number(limit), placeholderText="none")
                field.setAccessibleName(f"{severity_word(alarm.severity)}, {side}")
                field.textChanged.connect(self._check)
                self.fields[alarm.name, side] = field
                self._former[alarm.name, side] = field.text(), limit
                grid.addWidget(field, row, column)
            grid.addWidget(PlainLabel("" if unit == "1" else unit), row, 3)
            note = f"settings: {self._configured(alarm)}" if alarm.configured is not None else ""
            grid.addWidget(PlainLabel(note), row, 4)
        layout = QVBoxLayout(self)
        layout.addWidget(self._now)
        self.show_now(self._alarms)
        layout.addLayout(grid)
        layout.addWidget(self.problem)
        layout.addWidget(buttons)

    def show_now(self, alarms: Sequence[Alarm]) -> None:
        """Show the newest value, from the newest alarms of the service."""
        name = self._alarms[-1].name
        for alarm in alarms:
            if alarm.name == name:
                self._now.setText(f"{alarm_source(alarm)} is now {alarm_value(alarm, alarm.last)}")

    def _number(self, limit: float | None) -> str:
        return "" if limit is None else f"{limit * self._factor:.{_DIGITS}g}"

    def _configured(self, alarm: Alarm) -> str:
        low, high = alarm.configured or (None, None)
        return normal_range(replace(alarm, low=low, high=high))

    def _restore(self) -> None:
        for alarm in self._alarms:
            limits = (alarm.low, alarm.high) if alarm.configured is None else alarm.configured
            for side, limit in zip(_SIDES, limits, strict=True):
                self.fields[alarm.name, side].setText(self._number(limit))

    def _accept(self) -> None:
        changed, problem = self._read()
        if changed and not problem:
            self.requested.emit(changed)
            self.accept()

    def _check(self) -> None:
        changed, problem = self._read()
        self.problem.setText(problem)
        self.apply.setEnabled(bool(changed) and not problem)
        self.restore.setEnabled(any(alarm.configured is not None for alarm in self._alarms))

    def _read(self) -> tuple[dict[str, NormalRange], str]:
        """Return the ranges that were changed, and what is wrong with the input; empty if nothing is."""
        ranges: dict[str, NormalRange] = {}
        for alarm in self._alarms:
            word = severity_word(alarm.severity)
            try:
                low, high = (self._limit(alarm.name, side) for side in _SIDES)
            except ValueError as problem:
                return {}, f"{word}: {problem}"
            if low is None and high is None:
                return {}, f"{word}: one limit is needed at least"
            if low is not None and high is not None and low > high:
                return {}, f"{word}: the lowest is above the highest"
            ranges[alarm.name] = low, high
        if len(ranges) == 2:
            warn, trip = ranges.values()
            if _bound(trip[0], min) > _bound(warn[0], min) or _bound(trip[1], max) < _bound(warn[1], max):
                return {}, "the trip limits must not be inside the warning limits"
        before = {alarm.name: (alarm.low, alarm.high) for alarm in self._alarms}
        return {name: each for name, each in ranges.items() if each != before[name]}, ""

    def _limit(self, name: str, side: str) -> float | None:
        text = self.fields[name, side].text().strip()
        former, limit = self._former[name, side]
        if text == former:
            # without rounding
            return limit
        if not text:
            return None
        try:
            number = float(text.replace(",", ".").replace("−", "-"))
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise ValueError(f"{text} is not a number")
        return float(f"{number / self._factor:.12g}")


def _bound(limit: float | None, side: Callable[[float, float], float]) -> float:
    return side(-math.inf, math.inf) if limit is None else limit


_SHORT_NAME = 50  # characters
_MAX_REPORTS = 5  # reports of the service after an answer, in one of which the new limits are


@dataclass(eq=False)
class _Request:
    """Requested ranges by the name of the alarm; `reports` of the service since it has answered."""

    ranges: Mapping[str, NormalRange]
    history: History
    answered: bool = False
    reports: int = 0


def requests_of(ranges: Mapping[str, NormalRange], by: str) -> list[SetLimitsRequest]:
    """Return one request for new normal ranges by the name of the alarm; several where they are too many for one."""
    limits = [NewLimits(alarm=name, low=low, high=high) for name, (low, high) in ranges.items()]
    # as long as the longest names allow
    step = MAX_REQUEST // (4 * MAX_NAME) if any(len(name) > _SHORT_NAME for name in ranges) else MAX_NEW_LIMITS
    return [SetLimitsRequest(limits=tuple(limits[i : i + step]), by=by) for i in range(0, len(limits), step)]


class LimitController(Controller):
    """Sends changes of limits to the service; shows them as pending until it reports them, or refuses.

    Parameters
    ----------
    window : has the alarm list and the plots.
    show_display_limits : shows the settings of the display limits of a quantity.
    """

    def __init__(self, window: MainWindow, show_display_limits: Callable[[str], None]) -> None:
        super().__init__(window)
        self._show_display_limits = show_display_limits
        self._sender = RequestSender[_Request](window.connection)
        self._requests: list[_Request] = []
        self._alarms: tuple[Alarm, ...] | None = None
        self._dialog: LimitDialog | None = None
        self._question: QMessageBox | None = None
        self._read_only = False
        self._list.limits_requested.connect(self._present)
        for panel in self._time_panels:
            panel.limit_drag.moved.connect(self._move)
            panel.limits_requested.connect(self.present)
        window.ticked.connect(self._update)

    @property
    def _list(self) -> AlarmList:
        return self._window.dock_area.panel(EventsPanel).alarms

    @property
    def _time_panels(self) -> list[TimePanel]:
        return [panel for panel in self._window.dock_area.panels.values() if isinstance(panel, TimePanel)]

    def set_read_only(self, read_only: bool) -> None:
        """Enable or disable changes; in operator mode nothing is sent."""
        self._read_only = read_only
        for panel in self._time_panels:
            panel.limit_drag.enabled = not read_only
        if read_only:
            for box in (self._dialog, self._question):
                if box is not None:
                    box.close()

    def change(self, ranges: Mapping[str, NormalRange]) -> None:
        """Request new normal ranges, by the name of the alarm; ask first if the settings want it."""
        history = self._history
        known = {alarm.name: alarm for alarm in history.alarms or ()}
        changes = [range_change(known[name], low, high) for name, (low, high) in ranges.items() if name in known]
        if self._read_only or not changes:
            return
        if not self._list.confirm_limits:
            self._send(ranges)
            return
        more = f"\nand {len(changes) - 8} more" if len(changes) > 8 else ""
        box = QMessageBox(QMessageBox.Icon.Question, "Change limits", "\n".join(changes[:8]) + more)
        box.setParent(self._window, box.windowFlags())
        box.setTextFormat(Qt.TextFormat.PlainText)
        box.setModal(False)
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.setStandardButtons(QMessageBox.StandardButton.Cancel)
        accept = box.addButton("Change", QMessageBox.ButtonRole.AcceptRole)
        box.setDefaultButton(accept)
        accept.clicked.connect(partial(self._send, ranges))
        if self._question is not None:
            self._question.close()
        box.finished.connect(self._forget_question)
        self._question = box
        box.show()

    def _send(self, ranges: Mapping[str, NormalRange], _checked: bool = False) -> None:
        by = self._list.operator or user_name()
        for message in requests_of(ranges, by):
            part = {each.alarm: (each.low, each.high) for each in message.limits}
            request = _Request(part, self._history)
            try:
                self._sender.send(message, request)
            except (ValueError, OSError) as problem:
                self._report_refusal(str(problem))
                return
            self._requests.append(request)
        self._show_pending()

    def _update(self) -> None:
        """Read answers, and end what is pending once the service has reported it."""
        history = self._history
        if self._dialog is not None:
            self._dialog.show_now(history.alarms_at(None))
        if not self._requests:
            return
        for request, refusal in self._sender.answers():
            request.answered = True
            if refusal and request in self._requests:
                self._requests.remove(request)
                self._report_refusal(refusal)
        if history.alarms is not self._alarms:
            self._alarms = history.alarms
            reported = {alarm.name: (alarm.low, alarm.high) for alarm in history.alarms or ()}
            for request in [each for each in self._requests if each.answered]:
                request.reports += 1
                confirmed = all(reported.get(name) == each for name, each in request.ranges.items())
                if confirmed or request.reports >= _MAX_REPORTS:
                    self._requests.remove(request)
        self._requests = [each for each in self._requests if each.history is history]
        self._show_pending()

    def _show_pending(self) -> None:
        pending = {name: each for request in self._requests for name, each in request.ranges.items()}
        history = self._history
        if pending != history.requested_limits:
            history.request_limits(pending)
            self._window.redraw()

    def _move(self, handle: LimitHandle, value: float) -> None:
        """Request the limits of a line that was dragged; the other side of its alarms remains."""
        known = {alarm.name: alarm for alarm in self._history.alarms or ()}
        alarms = [known[name] for name in handle.alarms if name in known]
        self.change({each.name: (each.low, value) if handle.upper else (value, each.high) for each in alarms})

    def present(self, subject: LimitSubject) -> None:
        """Show the dialog for the alarm limits of a curve; where it has none, the settings of its display limits."""
        history = self._history
        if self._read_only:
            self._notify("info", "limits are not changed in operator mode")
            return
        alarms = [each for each in history.alarms or () if (each.actuator, each.value) in subject.results]
        changeable = next((each for each in alarms if each.changeable), None)
        if changeable is not None:
            self._present(changeable.name)
            return
        watched = any((each.actuator, each.value) in subject.results for each in history.limits)
        hidden = "display limits are shown only where no alarm is on an actuator"
        if not subject.quantity:
            fixed = f"the alarm limits of {subject.name} cannot be changed here"
            self._notify("info", fixed if watched else f"there are no limits for {subject.name}")
            return
        self._show_display_limits(subject.quantity)
        if watched:
            self._notify("info", f"the alarm limits of {subject.name} cannot be changed here; {hidden}")
        elif not display_limits_apply(history.limits):
            self._notify("info", f"no alarm is on {subject.name}; {hidden}")

    def _present(self, name: str) -> None:
        """Show the dialog for the limits of an alarm."""
        pair = limit_pair(self._history.alarms or (), name)
        if self._read_only or not pair:
            return
        if self._dialog is not None:
            self._dialog.close()
        self._dialog = LimitDialog(pair, self._window)
        self._dialog.requested.connect(self.change)
        self._dialog.finished.connect(self._forget_dialog)
        self._dialog.show()

    def _forget_dialog(self) -> None:
        self._dialog = None

    def _forget_question(self) -> None:
        self._question = None

    def _report_refusal(self, why: str) -> None:
        self._notify("error", f"limits not changed: {why}")
