"""Event table: model of the newest events, and the filter of those that are shown."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from PySide6.QtCore import QModelIndex, QObject, Qt
from PySide6.QtGui import QBrush, QColor, QFont

from gui.model.history import PlacedEvent
from gui.widgets.labels import plain_tip
from gui.widgets.lists import Index, ListModel
from gui.widgets.theme import Theme, level_colour
from gui.wording.event_text import event_level, event_sentence, kind_name, kind_shape
from gui.wording.level import Level
from monitor.messages.blocks import Event, EventKind
from monitor.text.numbers import instant_text

_HEADINGS = ("Time", "Kind", "Description")
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

    headings = _HEADINGS

    def __init__(self, theme: Theme, most: int = _MAX_EVENTS, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._filter = EventFilter()
        self._all: deque[PlacedEvent] = deque(maxlen=most)
        # those of `_all` that match the filter
        self._rows: deque[PlacedEvent] = deque()
        self._italic = QFont()
        self._italic.setItalic(True)

    @property
    def known(self) -> int:
        """Number of stored events, shown or not."""
        return len(self._all)

    def set_events(self, events: Sequence[PlacedEvent]) -> None:
        """Append the new ones of `events`, oldest first; an unrelated sequence replaces all."""
        new = self._new_events(events)
        if new is None:
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

    def apply_theme(self, theme: Theme) -> None:
        """Apply the colours of a theme."""
        self._theme = theme
        if self._rows:
            last = self.index(len(self._rows) - 1, len(_HEADINGS) - 1)
            self.dataChanged.emit(self.index(0, 0), last, [Qt.ItemDataRole.ForegroundRole])

    def placed(self, row: int) -> PlacedEvent:
        """Return the event of a row."""
        return self._rows[row]

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
                self._rows.popleft()
            self.endRemoveRows()

    def _append(self, new: Iterable[PlacedEvent]) -> None:
        self._all.extend(new)
        shown = [placed for placed in new if self._filter.matches(placed)]
        if shown:
            self.beginInsertRows(QModelIndex(), len(self._rows), len(self._rows) + len(shown) - 1)
            self._rows.extend(shown)
            self.endInsertRows()

    def _apply_filter(self) -> None:
        self._rows = deque(placed for placed in self._all if self._filter.matches(placed))

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return a cell; notes are in italics, warnings have a colour and a shape."""
        event, column = self._rows[index.row()].event, index.column()
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return _text(event, column)
            case Qt.ItemDataRole.ToolTipRole:
                return plain_tip(event_sentence(event)) or None
            case Qt.ItemDataRole.TextAlignmentRole if column == 0:
                return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            case Qt.ItemDataRole.FontRole if event.kind is EventKind.NOTE:
                return self._italic
            case Qt.ItemDataRole.ForegroundRole:
                return self._brush(event, column)
        return None

    def _brush(self, event: Event, column: int) -> QBrush | None:
        if event.kind is EventKind.NOTE:
            return QBrush(QColor(self._theme.accent))
        level = event_level(event)
        if column == 0:
            return QBrush(QColor(self._theme.muted))
        severe = level in (Level.WARN, Level.BAD)
        return QBrush(QColor(level_colour(self._theme, level))) if severe and column == 1 else None


def _text(event: Event, column: int) -> str:
    if column == 0:
        return instant_text(event.time, _DECIMALS)
    return f"{kind_shape(event.kind)} {kind_name(event.kind)}" if column == 1 else event_sentence(event)
