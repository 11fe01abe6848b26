"""Events panel: a filtered event table that follows the newest event, below the alarm list."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice

from PySide6.QtCore import QModelIndex, QObject, QPersistentModelIndex, QPoint, Qt, Signal
from PySide6.QtGui import QAction, QFont, QFontMetrics, QGuiApplication
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QLineEdit,
    QMenu,
    QSplitter,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from gui.model.history import History, PlacedEvent
from gui.panels.alarm_list import AlarmList
from gui.panels.base import Panel
from gui.panels.controls import MenuButton
from gui.plots.view import View
from gui.widgets.layout import fill
from gui.widgets.lists import ListModel, ListView, row_text
from gui.widgets.menus import MenuEntry, show_context_menu
from gui.widgets.painting import PlainLabel, font_like
from gui.widgets.theme import Theme, level_colour
from gui.wording.event_text import event_level, event_sentence, kind_name, kind_shape
from gui.wording.level import Level
from monitor.messages.blocks import EventKind
from monitor.text.numbers import count, instant_text

_MAX_EVENTS = 10_000
_DECIMALS = 3


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Filter of the shown events.

    Parameters
    ----------
    hidden : kinds that are not shown.
    text : contained in the description, case-insensitive; empty for any.
    """

    hidden: frozenset[EventKind] = frozenset()
    text: str = ""

    def matches(self, placed: PlacedEvent) -> bool:
        """Whether an event is shown."""
        event = placed.event
        if event.kind in self.hidden:
            return False
        return not self.text or self.text.casefold() in f"{kind_name(event.kind)} {event_sentence(event)}".casefold()


class EventTable(ListModel):
    """Model of the newest `most` events, oldest first."""

    headings = ("Time", "Kind", "Description")
    numbers = (0,)

    def __init__(self, theme: Theme, most: int = _MAX_EVENTS, parent: QObject | None = None) -> None:
        super().__init__(theme, parent)
        self._filter = EventFilter()
        self._all: deque[PlacedEvent] = deque(maxlen=most)
        # those of `_all` that match the filter
        self.rows: deque[PlacedEvent] = deque()
        self._italic = QFont()
        self._italic.setItalic(True)

    @property
    def known(self) -> int:
        """Number of stored events, shown or not."""
        return len(self._all)

    def set_events(self, events: Sequence[PlacedEvent]) -> None:
        """Append the new ones of `events`, oldest first; an unrelated sequence replaces all."""
        new = self._new_events(events)
        # one that came late is not after the newest
        if new is None or len(self._all) + len(new) < min(len(events), self._all.maxlen or 0):
            self.beginResetModel()
            self._all = deque(events, self._all.maxlen)
            self._apply_filter()
            self.endResetModel()
            return
        if new:
            self._remove_oldest(len(self._all) + len(new) - (self._all.maxlen or 0))
            self._append(new)

    def show_only(self, event_filter: EventFilter) -> None:
        """Set the filter."""
        if event_filter != self._filter:
            self.beginResetModel()
            self._filter = event_filter
            self._apply_filter()
            self.endResetModel()

    def _new_events(self, events: Sequence[PlacedEvent]) -> list[PlacedEvent] | None:
        """Return the events after the newest stored one; None where that one is not among them."""
        if not self._all:
            return None if events else []
        newest = self._all[-1]
        new: list[PlacedEvent] = []
        for placed in islice(reversed(events), self._all.maxlen):
            if placed is newest:
                return new[::-1]
            new.append(placed)
        return None

    def _remove_oldest(self, n: int) -> None:
        removed = sum(self._filter.matches(self._all.popleft()) for _ in range(min(n, len(self._all))))
        if removed:
            self.beginRemoveRows(QModelIndex(), 0, removed - 1)
            for _ in range(removed):
                self.rows.popleft()
            self.endRemoveRows()

    def _append(self, new: Iterable[PlacedEvent]) -> None:
        self._all.extend(new)
        shown = [placed for placed in new if self._filter.matches(placed)]
        if shown:
            self.beginInsertRows(QModelIndex(), len(self.rows), len(self.rows) + len(shown) - 1)
            self.rows.extend(shown)
            self.endInsertRows()

    def _apply_filter(self) -> None:
        self.rows = deque(placed for placed in self._all if self._filter.matches(placed))

    def text(self, placed: PlacedEvent, column: int) -> str:
        """Return the text of a cell."""
        event = placed.event
        if column == 0:
            return instant_text(event.time, _DECIMALS)
        return f"{kind_shape(event.kind)} {kind_name(event.kind)}" if column == 1 else event_sentence(event)

    def tip(self, placed: PlacedEvent) -> str:
        """Return the sentence of an event."""
        return event_sentence(placed.event)

    def font(self, placed: PlacedEvent) -> QFont | None:
        """Return that notes are in italics."""
        return self._italic if placed.event.kind is EventKind.NOTE else None

    def colour(self, placed: PlacedEvent, column: int) -> str:
        """Return the colour of a warning, which has a shape too, of a note, or of a time."""
        if placed.event.kind is EventKind.NOTE:
            return self.theme.accent
        if column == 0:
            return self.theme.muted
        level = event_level(placed.event)
        return level_colour(self.theme, level) if level in (Level.WARN, Level.BAD) and column == 1 else ""


_ALL_KINDS = "Kinds ▾"
_TIME, _KIND = "00:00:00.000", "✎ clock jump"  # widest texts of these columns


class _EventList(QWidget):
    """Event table; it scrolls with the newest event while that is visible. Its filter is in `bar`.

    Parameters
    ----------
    normal : entry of the menu of kinds that lists normal alarms too.
    theme : initial colours.

    Signals
    -------
    activated : x [s] of the event that was clicked, or selected with Enter.
    """

    activated = Signal(float)

    def __init__(self, normal: QAction, theme: Theme) -> None:
        super().__init__()
        self.table = EventTable(theme, parent=self)
        self.view = _EventView(self.table)
        self.view.row_activated.connect(self._on_activated)
        self.view.menu_requested.connect(self._show_menu)
        self._text = QLineEdit(placeholderText="filter", clearButtonEnabled=True)
        self._text.setAccessibleName("show only events with this text")
        self._text.textChanged.connect(self._filter)
        self._kinds = MenuButton()
        self._kinds.setText(_ALL_KINDS)
        self._kinds.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self._kinds.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._kinds.setToolTip("Filter by kind of event")
        self._kinds.setMenu(self._kind_menu(normal))
        self._count = PlainLabel()
        self.bar = fill(QHBoxLayout(), self._kinds, (self._text, 1), self._count, margins=(4, 2, 4, 0))
        fill(QVBoxLayout(self), self.view, margins=(0, 0, 0, 0))
        self.setFocusProxy(self.view)
        scroll_bar = self.view.verticalScrollBar()
        self._follows = True
        scroll_bar.valueChanged.connect(self._on_scrolled)
        scroll_bar.rangeChanged.connect(self._on_resized)
        self._update_count()

    def set_events(self, events: Sequence[PlacedEvent]) -> None:
        """Add new events; keep the scroll position unless the newest event was visible."""
        following = self._follows
        top = QPersistentModelIndex(self.view.indexAt(self.view.viewport().rect().topLeft()))
        before = self.table.rowCount(), self.table.known
        self.table.set_events(events)
        if following:
            self.view.scrollToBottom()
        elif top.isValid():
            self.view.scrollTo(self.table.index(top.row(), 0), QAbstractItemView.ScrollHint.PositionAtTop)
        # a model that is reset scrolls by itself
        self._follows = following
        if before != (self.table.rowCount(), self.table.known):
            self._update_count()

    def apply_theme(self, theme: Theme) -> None:
        """Apply the colours of a theme."""
        self.table.apply_theme(theme)

    def _on_scrolled(self, value: int) -> None:
        self._follows = value >= self.view.verticalScrollBar().maximum()

    def _on_resized(self) -> None:
        """Keep the newest event visible where the list has become lower."""
        if self._follows:
            self.view.scrollToBottom()

    def _kind_menu(self, normal: QAction) -> QMenu:
        menu = QMenu(self._kinds)
        self._filters: list[QAction] = []
        for kind in EventKind:
            action = QAction(f"{kind_shape(kind)} {kind_name(kind)}", menu, checkable=True, checked=True)
            action.setData(kind.value)
            action.toggled.connect(self._filter)
            self._filters.append(action)
        menu.addActions(self._filters)
        menu.addSeparator()
        menu.addAction(normal)
        return menu

    def _filter(self) -> None:
        hidden = frozenset(EventKind(a.data()) for a in self._filters if not a.isChecked())
        self._kinds.setText(f"Kinds ({len(EventKind) - len(hidden)} of {len(EventKind)}) ▾" if hidden else _ALL_KINDS)
        self.table.show_only(EventFilter(hidden, self._text.text().strip()))
        self.view.scrollToBottom()
        self._update_count()

    def _update_count(self) -> None:
        shown, known = self.table.rowCount(), self.table.known
        self._count.setText(f"{count(shown)} of {count(known)}" if shown != known else count(known))
        self._count.setToolTip(f"events shown: {count(shown)}, stored: {count(known)}")

    def _show_menu(self, index: QModelIndex, at: QPoint) -> None:
        """Offer what can be done with an event."""
        entries = (
            MenuEntry("Show this instant", partial(self._on_activated, index)),
            MenuEntry("Show only events of this kind", partial(self._show_kind_of, index)),
            MenuEntry("Copy", partial(QGuiApplication.clipboard().setText, row_text(index))),
        )
        show_context_menu(self.view, at, entries)

    def _show_kind_of(self, index: QModelIndex) -> None:
        kind = self.table.rows[index.row()].event.kind
        for action in self._filters:
            action.setChecked(action.data() == kind.value)

    def _on_activated(self, index: QModelIndex) -> None:
        self.activated.emit(self.table.rows[index.row()].x)


class _EventView(ListView):
    """View of the events, where a click acts like Enter."""

    def __init__(self, table: EventTable) -> None:
        super().__init__(table, "events; Enter shows the instant of an event")
        self.clicked.connect(self.row_activated)
        self.setFont(font_like(self.font(), tabular=True))
        columns = self.horizontalHeader()
        columns.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        self.fit_to_font()
        columns.setStretchLastSection(True)

    def fit_to_font(self) -> None:
        """Set the height of the rows and the width of the columns."""
        metrics = QFontMetrics(self.font())
        self.verticalHeader().setDefaultSectionSize(metrics.height() + 4)
        for section, text in enumerate((_TIME, _KIND)):
            self.horizontalHeader().resizeSection(section, metrics.horizontalAdvance(text) + 16)


class EventsPanel(Panel):
    """Alarm list, where the service has alarms, over the event list, with one bar for both."""

    key = "events"
    title = "Events"

    def __init__(self, view: View, theme: Theme) -> None:
        super().__init__(view, theme)
        self.alarms = AlarmList(theme)
        self.alarms.instant_requested.connect(self._show_time)
        self.events = _EventList(self.alarms.normal, theme)
        self.events.activated.connect(self._show_instant)
        self.events.bar.insertWidget(0, self.alarms.acknowledge_all)
        parts = QSplitter(Qt.Orientation.Vertical, childrenCollapsible=False)
        for part in (self.alarms, self.events):
            parts.addWidget(part)
        # alarms first: seven of them are seen on a small screen
        parts.setSizes([7000, 3000])
        fill(QVBoxLayout(self), self.events.bar, parts, margins=(0, 0, 0, 0), spacing=4)
        self.setFocusProxy(self.events)
        self._history: History | None = None
        self.alarms.hide()

    def configure(self, history: History) -> None:
        """Show another history; events do not depend on channels."""
        self.refresh(history)

    def refresh(self, history: History) -> None:
        """Add new events and update the alarms."""
        self._history = history
        self.alarms.refresh(history)
        self.events.set_events(history.events)

    def apply_theme(self, theme: Theme) -> None:
        """Apply the colours of a theme."""
        super().apply_theme(theme)
        self.alarms.apply_theme(theme)
        self.events.apply_theme(theme)

    def _show_time(self, time: float) -> None:
        """Show an instant of the rig's time."""
        if self._history is not None:
            self._show_instant(self._history.timeline.x_of(time))

    def _show_instant(self, x: float) -> None:
        """Pause the view with `x` in its centre; near the newest sample it is right of the centre."""
        if self.view.recorded:
            self.view.move_head(x)
            return
        self.view.set_right(x + 0.5 * self.view.span)
        if self.view.following:
            self.view.pause()
