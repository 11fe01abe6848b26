"""State of the service: the banner with its alarms above the panels, the strip with its health below them."""

from __future__ import annotations

from datetime import datetime

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetricsF,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPalette,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import QApplication, QLabel, QSizePolicy, QWidget

from gui.model.alarms import AlarmSummary
from gui.model.health_items import HealthItem, fit, health_items
from gui.model.history import History
from gui.model.service_state import ServiceState
from gui.widgets.painting import PlainLabel, font_like, painting, plain_tip
from gui.widgets.theme import Theme, level_colour
from gui.wording.event_text import NOT_JUDGED_SHAPE, alarm_line, severity_shape, severity_word, state_text
from gui.wording.level import Level
from monitor.text.numbers import duration_text

BLINK = 0.5
"""s that it is filled, and s that it is not."""
SOUND_INTERVAL = 2.0
"""s from one alert sound to the next."""
_SCALE, _LARGE_SCALE = 1.25, 2.6  # of the window's font; the second in operator mode
_HEIGHT = 1.75  # in heights of its font
_MARGIN = 10.0
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_HELP = "Click to show the list of alarms."
_ACTUATORS = " actuators"


def wall_sentence(history: History) -> str:
    """Return how the test is in one sentence, to be read from a distance.

    ``■ TRIP north delay 60 ms``, ``⊘ 1 of 64 NOT JUDGED``, ``● TEST OK · 12 min · recording``.
    """
    summary, state, alarms = history.summary, history.state, history.alarms_at(None)
    if summary.first is not None:
        more = summary.trips + summary.warns - 1
        first = f"{severity_shape(summary.first.severity)} {severity_word(summary.first.severity)} "
        first += alarm_line(summary.first).partition(", limit")[0] + (f" (+{more} more)" if more else "")
        return first if state.current else f"{first} · {state.words}"
    if state.key != "receiving":
        return f"{state.shape} {state.words}"
    # of actuators, where the alarms are on them
    judged = {alarm.actuator or alarm.name: True for alarm in alarms}
    judged |= {alarm.actuator or alarm.name: False for alarm in alarms if alarm.not_judged}
    if missing := sum(not each for each in judged.values()):
        return f"{NOT_JUDGED_SHAPE} {missing} of {len(judged)} NOT JUDGED"
    recording = history.health is not None and history.health.recording and history.progress.stopped_since is None
    words = "recording" if recording else "not recording"
    doubt = _unlimited(history).removesuffix(_ACTUATORS).upper() if alarms else "NO ALARMS"
    sentence = f"○ {doubt}" if doubt else "● TEST OK"
    return f"{sentence} · {duration_text(history.end_x)} · {words}"


def _unlimited(history: History) -> str:
    """Return on how many actuators no alarm is; empty: on each is one."""
    actuators = () if history.results is None else history.results.actuators
    missing = len({*actuators} - {alarm.actuator for alarm in history.alarms or ()})
    return f"no limits on {missing} of {len(actuators)}{_ACTUATORS}" if missing else ""


def rig_and_clock(history: History) -> str:
    """Return the name of the rig and the time of day."""
    rig = "" if history.health is None else history.health.rig
    return f"{rig}   {datetime.now():%H:%M:%S}".strip()


class AlarmBanner(QWidget):
    """A bar over the panels, whose height does not depend on alarms, so that panels do not move.

    It blinks while an alarm is unacknowledged, unless that is switched off; the text stays readable. If `sounds` is
    set the desktop's alert sound is played meanwhile, at once and then every `SOUND_INTERVAL` s.

    Signals
    -------
    clicked : show the list of alarms.
    """

    clicked = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._large = False
        self._inverted = False
        self._stale = ""
        self._state: ServiceState | None = None  # unless it is receiving
        self._limits = False, ""  # whether there are alarms, and on how many actuators there is none
        self._wall = "", ""
        self.blinks, self.sounds = True, False
        self._sounded: float | None = None
        self.summary = AlarmSummary()
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setToolTip(_HELP)
        self.setAccessibleName("alarms")

    @property
    def text(self) -> str:
        """The whole text: counts and the first alarm, or the sentence of a wall."""
        return "   ".join(filter(None, self._wall if self._large else (self._counts, self._details)))

    @property
    def filled(self) -> bool:
        """Whether the background has the colour of the alarm, and not the text."""
        return self.summary.any_active and not self._inverted

    def show_alarms(self, history: History, now: float) -> None:
        """Show the alarms; `now` [s] is the phase of the blinking."""
        state, summary = history.state, history.summary
        stale = state.words if state.key in ("silent", "connecting") else ""
        self._sound(now, wanted=self.sounds and summary.unacknowledged > 0 and not stale)
        inverted = self.blinks and summary.unacknowledged > 0 and not stale and now % (2.0 * BLINK) >= BLINK
        wall = (wall_sentence(history), rig_and_clock(history)) if self._large else ("", "")
        limits = bool(history.alarms), _unlimited(history)
        shown = summary, stale, None if state.key == "receiving" else state, inverted, limits, wall
        if shown != (self.summary, self._stale, self._state, self._inverted, self._limits, self._wall):
            self.summary, self._stale, self._state, self._inverted, self._limits, self._wall = shown
            self.setToolTip(plain_tip(f"{self.text}\n{_HELP}"))
            self.setAccessibleDescription(self.text)
            self.update()

    def _sound(self, now: float, *, wanted: bool) -> None:
        if not wanted:
            self._sounded = None
        elif self._sounded is None or not 0.0 <= now - self._sounded < SOUND_INTERVAL:
            self._sounded = now
            QApplication.beep()

    def set_large(self, large: bool) -> None:
        """Show one sentence in a large font, for the operator mode and a wall."""
        self._large = large
        self.updateGeometry()
        self.update()

    def apply_theme(self, theme: Theme) -> None:
        """Apply a theme and the font."""
        self._theme = theme
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        """Return the height of one line."""
        return QSize(400, round(_HEIGHT * QFontMetricsF(self._font(bold=True)).height() / 1.2))

    def minimumSizeHint(self) -> QSize:
        """Return the height of one line."""
        return QSize(0, self.sizeHint().height())

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Emit `clicked`."""
        if event.button() is Qt.MouseButton.LeftButton:
            self.clicked.emit()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002 - Qt's arguments
        """Draw the counts in bold, and the first alarm beside them."""
        with painting(self) as painter:
            theme = self._theme
            level = level_colour(theme, self._level)
            background, colour = (level, theme.base) if self.filled else (theme.window, level)
            if self._stale:
                background, colour = theme.invalid, theme.text
            painter.fillRect(self.rect(), QColor(background))
            if self.summary.any_active:
                pen = QPen(QColor(level), 4.0, Qt.PenStyle.DashLine if self._stale else Qt.PenStyle.SolidLine)
                painter.setPen(pen)
                painter.drawRect(QRectF(self.rect()).adjusted(2.0, 2.0, -2.0, -2.0))
            area = QRectF(self.rect()).adjusted(_MARGIN, 0.0, -_MARGIN, 0.0)
            if self._large:
                sentence, aside = self._wall
                room = QFontMetricsF(self._font(bold=False)).horizontalAdvance(aside) + _MARGIN
                self._write(painter, area.adjusted(0.0, 0.0, -room, 0.0), sentence, colour, bold=True)
                area.setLeft(area.right() - room + _MARGIN)
                self._write(painter, area.adjusted(0.0, 0.0, _MARGIN, 0.0), aside, colour, bold=False)
                return
            used = self._write(painter, area, self._counts, colour, bold=self.summary.any_active)
            area.setLeft(area.left() + used + 2.0 * _MARGIN)
            self._write(painter, area, self._details, colour, bold=False)

    @property
    def _level(self) -> Level:
        """Level of the overall state."""
        if self.summary.any_active:
            return self.summary.level
        if self._state is not None:
            return self._state.level
        return Level.GOOD if self._limits == (True, "") and not self.summary.not_judged else Level.NONE

    @property
    def _counts(self) -> str:
        if self.summary.any_active:
            return self.summary.words
        if self._state is not None:
            return f"{self._state.shape} {self._state.words}"
        if n := self.summary.not_judged:
            return f"{NOT_JUDGED_SHAPE} {n} {'alarm' if n == 1 else 'alarms'} not judged"
        known, unlimited = self._limits
        sound = f"○ {unlimited}" if unlimited else "● no active alarms"
        return sound if known else "○ this service has no alarms"

    @property
    def _details(self) -> str:
        summary, first = self.summary, self.summary.first
        words = "" if self._state is None else self._state.words
        if first is not None:
            last_known = f"{words}; last known: " if self._stale else ""
            parts = [f"{last_known}{alarm_line(first)}", state_text(first), "" if self._stale else words]
        elif self._stale:
            parts = ["alarms unknown"]
        else:
            known, unlimited = self._limits
            parts = ["no active alarms" if known and (words or summary.not_judged or unlimited) else ""]
            parts += [f"{summary.configured} configured" if known else ""]
        # the count stands first where nothing else does
        parts += summary.aside[bool(summary.not_judged and not summary.any_active and not words) :]
        return ", ".join(filter(None, parts))

    def _font(self, *, bold: bool) -> QFont:
        times = (_LARGE_SCALE if self._large else _SCALE) if bold else (0.6 * _LARGE_SCALE if self._large else 1.0)
        return font_like(self.font(), times, bold=bold)

    def _write(self, painter: QPainter, area: QRectF, text: str, colour: str, *, bold: bool) -> float:
        """Draw text at the left of an area, elided; return its width."""
        font = self._font(bold=bold)
        metrics = QFontMetricsF(font)
        shown = metrics.elidedText(text, Qt.TextElideMode.ElideRight, max(0.0, area.width()))
        painter.setFont(font)
        painter.setPen(QColor(colour))
        painter.drawText(area, _LEFT, shown)
        return metrics.horizontalAdvance(shown)


_INDENT, _GAP, _PADDING = 8, 12, 3
_OPERATOR_MODE = HealthItem(
    "mode",
    "operator mode: read-only, F11 or Esc leaves it",
    "operator mode: read-only; F11 or Esc leaves it",
    rank=1,
    brief="F11 leaves operator mode",
)


class HealthStrip(QWidget):
    """One line; items of low priority are hidden where it is too narrow, and tool tips have the details."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._items: tuple[HealthItem, ...] = ()
        self._in_operator_mode = False
        self._labels: dict[str, QLabel] = {}
        self._set_metrics()
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("health of the service")
        self.show_disconnected()

    @property
    def texts(self) -> tuple[str, ...]:
        """The visible texts, from left to right."""
        visible = [label for label in self._labels.values() if not label.isHidden()]
        return tuple(label.text() for label in sorted(visible, key=QWidget.x))

    def show_health(self, history: History, dropped: int = 0, loading: float | None = None) -> None:
        """Show the health of the service, samples that this window has dropped, and progress as in `health_items`."""
        self._show(health_items(history, dropped, loading))

    def show_disconnected(self, waiting_for: str = "") -> None:
        """Show that no service is connected, or what is waited for."""
        text = f"○ {waiting_for or 'not connected'}"
        self._show((HealthItem("state", text, text, Level.WARN if waiting_for else Level.NONE, 0),))

    def show_operator_mode(self, on: bool) -> None:
        """Show, after the other items, how the operator mode is left."""
        self._in_operator_mode = on
        self._show(self._items[:-1] if not on and _OPERATOR_MODE in self._items else self._items)

    def apply_theme(self, theme: Theme) -> None:
        """Apply a theme."""
        self._theme = theme
        self._update_layout()

    def sizeHint(self) -> QSize:
        """Return the height of one line; it uses the width that there is."""
        return QSize(600, round(self._metrics.height()) + 10)

    def minimumSizeHint(self) -> QSize:
        """Return the height of one line."""
        return QSize(0, self.sizeHint().height())

    def changeEvent(self, event: QEvent) -> None:
        """Use another font."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._set_metrics()
            for label in self._labels.values():
                label.setFont(self._font)
            self.updateGeometry()
            self._update_layout()

    def _set_metrics(self) -> None:
        self._font = font_like(self.font(), tabular=True)
        self._metrics = QFontMetricsF(self._font)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Lay out the items in the new width."""
        super().resizeEvent(event)
        self._update_layout()

    def _show(self, items: tuple[HealthItem, ...]) -> None:
        if self._in_operator_mode and _OPERATOR_MODE not in items:
            items = (*items, _OPERATOR_MODE)
        if items != self._items:
            self._items = items
            self._update_layout()

    def _update_layout(self) -> None:
        room = self.width() - 2 * _INDENT
        fitted = fit(self._items, room, self._width_of, _GAP)
        left = float(_INDENT)
        for item, text in fitted:
            label = self._labels.get(item.key) or self._label(item.key)
            width = min(self._width_of(text), max(0.0, _INDENT + room - left))
            elided = self._metrics.elidedText(text, Qt.TextElideMode.ElideRight, width - 2 * _PADDING + 0.5)
            label.setText(elided)
            label.setToolTip(plain_tip(item.tip))
            label.setAccessibleName(item.tip)
            self._colour(label, item)
            label.setGeometry(round(left), 2, round(width), self.height() - 4)
            label.show()
            left += width + _GAP
        shown = {item.key for item, _ in fitted}
        for key, label in self._labels.items():
            label.setVisible(key in shown)

    def _width_of(self, text: str) -> float:
        return self._metrics.horizontalAdvance(text) + 2 * _PADDING + 1

    def _label(self, key: str) -> QLabel:
        label = self._labels[key] = PlainLabel(self)
        label.setFont(self._font)
        label.setMargin(_PADDING)
        label.setAutoFillBackground(True)
        return label

    def _colour(self, label: QLabel, item: HealthItem) -> None:
        theme, palette = self._theme, QPalette(label.palette())
        plain = item.level is Level.NONE
        background, foreground = theme.window, theme.text if plain else level_colour(theme, item.level)
        if item.level is Level.BAD:
            # inverted, so that it is seen from a distance
            background, foreground = foreground, theme.base
        palette.setColor(QPalette.ColorRole.Window, QColor(background))
        palette.setColor(QPalette.ColorRole.WindowText, QColor(foreground))
        if palette != label.palette():
            label.setPalette(palette)
