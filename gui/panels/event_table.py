"""The events as rows of a table, and which of them are wanted."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from PySide6.QtCore import QModelIndex, QObject, Qt
from PySide6.QtGui import QBrush, QColor, QFont

from gui.model.history import PlacedEvent
from gui.panels.controls import Index, ListModel
from gui.widgets.labels import plain_tip
from gui.widgets.theme import Theme, level_colour
from gui.wording.event_text import event_level, event_sentence, kind_name, kind_shape
from gui.wording.level import Level
from gui.wording.numbers import instant_text
from monitor.messages.blocks import Event, EventKind

_HEADINGS = ("time", "kind", "what")
_MOST = 10_000
_DECIMALS = 3


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Which events are shown.

    Parameters
    ----------
    hidden : kinds that are not.
    text : that an event's words contain, in capitals or not; empty for any.
    """

    hidden: frozenset[EventKind] = frozenset()
    text: str = ""

    def holds(self, placed: PlacedEvent) -> bool:
        """Whether an event is wanted."""
        event = placed.event
        if event.kind in self.hidden:
            return False
        return not self.text or self.text.casefold() in f"{kind_name(event.kind)} {event_sentence(event)}".casefold()


class EventTable(ListModel):
    """The last events, oldest first; grows by what is new, and forgets the oldest beyond `most`."""

    headings = _HEADINGS

    def __init__(self, theme: Theme, most: int = _MOST, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._wanted = EventFilter()
        self._all: deque[PlacedEvent] = deque(maxlen=most)
        # of `_all`, what is wanted
        self._rows: deque[PlacedEvent] = deque()
        self._italic = QFont()
        self._italic.setItalic(True)

    @property
    def known(self) -> int:
        """How many events there are, wanted or not."""
        return len(self._all)

    def set_events(self, events: Sequence[PlacedEvent]) -> None:
        """Take over what `events`, oldest first, has beyond those taken before; other events replace all."""
        fresh = self._fresh(events)
        if fresh is None:
            self.beginResetModel()
            self._all = deque(events, self._all.maxlen)
            self._choose()
            self.endResetModel()
            return
        if fresh:
            self._forget(len(self._all) + len(fresh) - (self._all.maxlen or 0))
            self._append(fresh)

    def show_only(self, wanted: EventFilter) -> None:
        """Show these and no others."""
        if wanted != self._wanted:
            self.beginResetModel()
            self._wanted = wanted
            self._choose()
            self.endResetModel()

    def apply_theme(self, theme: Theme) -> None:
        """Take other colours."""
        self._theme = theme
        if self._rows:
            last = self.index(len(self._rows) - 1, len(_HEADINGS) - 1)
            self.dataChanged.emit(self.index(0, 0), last, [Qt.ItemDataRole.ForegroundRole])

    def placed(self, row: int) -> PlacedEvent:
        """Return the event of a row."""
        return self._rows[row]

    def _fresh(self, events: Sequence[PlacedEvent]) -> list[PlacedEvent] | None:
        """Return the events after the newest one that is known; None where that one is not among them."""
        if not self._all:
            return None if events else []
        newest = self._all[-1]
        fresh: list[PlacedEvent] = []
        for placed in islice(reversed(events), self._all.maxlen):
            if placed is newest:
                return fresh[::-1]
            fresh.append(placed)
        return None

    def _forget(self, n: int) -> None:
        gone = sum(self._wanted.holds(self._all.popleft()) for _ in range(min(n, len(self._all))))
        if gone:
            self.beginRemoveRows(QModelIndex(), 0, gone - 1)
            for _ in range(gone):
                self._rows.popleft()
            self.endRemoveRows()

    def _append(self, fresh: Iterable[PlacedEvent]) -> None:
        self._all.extend(fresh)
        wanted = [placed for placed in fresh if self._wanted.holds(placed)]
        if wanted:
            self.beginInsertRows(QModelIndex(), len(self._rows), len(self._rows) + len(wanted) - 1)
            self._rows.extend(wanted)
            self.endInsertRows()

    def _choose(self) -> None:
        self._rows = deque(placed for placed in self._all if self._wanted.holds(placed))

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return a cell; notes are in italics, what costs samples has its colour and a shape."""
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
        grave = level in (Level.WARN, Level.BAD)
        return QBrush(QColor(level_colour(self._theme, level))) if grave and column == 1 else None


def _text(event: Event, column: int) -> str:
    if column == 0:
        return instant_text(event.time, _DECIMALS)
    return f"{kind_shape(event.kind)} {kind_name(event.kind)}" if column == 1 else event_sentence(event)
