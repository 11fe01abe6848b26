"""The command palette (Ctrl+K): finds an action by name, or an instant to go to."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QHeaderView, QLineEdit, QTreeWidget, QTreeWidgetItem, QVBoxLayout, QWidget

from gui.widgets.layout import set_row_padding
from gui.window.actions import Actions, action_text, shortcuts_text

_SECONDS = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
_NUMBER = re.compile(r"(?P<number>\d+(?:[.,]\d*)?|[.,]\d+)\s*(?P<unit>ms|s|min|h)?")
_CLOCK = re.compile(r"(?:(?P<hours>\d+):)?(?P<minutes>\d{1,2}):(?P<seconds>\d{1,2}(?:[.,]\d*)?)")
_OF_TIP, _OF_SIMULATION = 100.0, 1000.0  # distances of what is found by its tip, and of simulations


def rank(wanted: str, text: str) -> float | None:
    """Return the distance of `text` from what is `wanted`, 0 for its very beginning; None if it does not match.

    Every word of `wanted` must be the beginning of a word.
    """
    begins = [re.search(rf"(?<!\w){re.escape(word)}", text.casefold()) for word in wanted.casefold().split()]
    found = [0.01 * begin.start() for begin in begins if begin]
    return sum(found) if len(found) == len(begins) else None


def seconds(text: str) -> float | None:
    """Return the seconds in ``12.5``, ``12.5 s``, ``800 ms``, ``2:03.5`` or ``1:02:03``; None in others."""
    text = text.strip().casefold()
    number = _NUMBER.fullmatch(text)
    if number:
        return float(number["number"].replace(",", ".")) * _SECONDS[number["unit"] or "s"]
    clock = _CLOCK.fullmatch(text)
    if clock is None:
        return None
    whole = 3600.0 * int(clock["hours"] or 0) + 60.0 * int(clock["minutes"])
    return whole + float(clock["seconds"].replace(",", "."))


def has_unit(text: str) -> bool:
    """Whether a text is a time with a unit or a colon, and so cannot be anything else."""
    return seconds(text) is not None and not text.strip().replace(",", "").replace(".", "").isdecimal()


_WIDTH, _ROWS = 560, 14
_MOVES = frozenset((Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown))


@dataclass(frozen=True, slots=True)
class PaletteEntry:
    """A line of the palette: menu or panel, text, what it does, and its keys."""

    menu: str
    text: str
    run: Callable[[], object]
    shortcuts: str = ""


class CommandPalette(QFrame):
    """A popup with a search line and the matching actions; Esc or a click elsewhere closes it.

    Parameters
    ----------
    actions : listed where they are enabled and visible.
    window : its parent.

    Attributes
    ----------
    rows : returns the rows of plots that can be shown.
    """

    def __init__(self, actions: Actions, window: QWidget) -> None:
        super().__init__(window, Qt.WindowType.Popup | Qt.WindowType.FramelessWindowHint)
        self._actions, self._window = actions, window
        self._instants: Mapping[str, Callable[[float], object]] = {}
        self._entries: list[PaletteEntry] = []
        self.rows: Callable[[], Iterable[PaletteEntry]] = tuple
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self.setAccessibleName("Find a command")
        self.line = QLineEdit()
        self.line.setPlaceholderText("A command, or an instant such as 12.5 s")
        self.line.setAccessibleName("Command or instant")
        self.line.setClearButtonEnabled(True)
        self.list = QTreeWidget()
        self.list.setColumnCount(3)
        self.list.setHeaderHidden(True)
        self.list.setRootIsDecorated(False)
        self.list.setUniformRowHeights(True)
        set_row_padding(self.list)
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.setAccessibleName("Matching commands")
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        header = self.list.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(1, QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(2, QHeaderView.ResizeMode.ResizeToContents)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(6, 6, 6, 6)
        layout.addWidget(self.line)
        layout.addWidget(self.list)
        self.line.textChanged.connect(self._filter)
        self.line.returnPressed.connect(self._run)
        self.list.itemClicked.connect(self._run)
        self.line.installEventFilter(self)

    def set_instants(self, instants: Mapping[str, Callable[[float], object]]) -> None:
        """Set the handlers for an instant [s] by label: ``{"Look at": ...}``; empty without a time axis."""
        self._instants = dict(instants)

    def present(self) -> None:
        """Open the palette at the top of the window."""
        self.line.clear()
        self._filter("")
        row = max(self.list.sizeHintForRow(0), self.fontMetrics().height() + 4)
        window = self._window
        width = min(max(_WIDTH, window.width() // 2), max(320, window.width() - 40))
        self.resize(width, self.line.sizeHint().height() + _ROWS * row + 24)
        corner = window.mapToGlobal(window.rect().topLeft())
        self.move(corner.x() + (window.width() - self.width()) // 2, corner.y() + min(80, window.height() // 8))
        self.show()
        self.line.setFocus(Qt.FocusReason.PopupFocusReason)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Move through the list while the search line has the focus."""
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent) and event.key() in _MOVES:
            step = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1, Qt.Key.Key_PageUp: -_ROWS, Qt.Key.Key_PageDown: _ROWS}
            self._choose(self._chosen() + step[Qt.Key(event.key())])
            return True
        return super().eventFilter(watched, event)

    def _filter(self, text: str) -> None:
        self._entries = self._matches(text)
        self.list.clear()
        self.list.addTopLevelItems([QTreeWidgetItem([e.menu, e.text, e.shortcuts]) for e in self._entries])
        muted = self.palette().placeholderText()
        for place in range(len(self._entries)):
            item = self.list.topLevelItem(place)
            if item is not None:
                item.setForeground(0, muted)
                item.setForeground(2, muted)
        self._choose(0)

    def _matches(self, text: str) -> list[PaletteEntry]:
        """Return the matching entries, the best first, and otherwise in the order of the menus."""
        ranked: list[tuple[float, PaletteEntry]] = []
        for spec, action in self._actions:
            if action.isEnabled() and action.isVisible() and spec.key != "help.palette":
                entry = PaletteEntry(spec.menu, action_text(action), action.trigger, shortcuts_text(action))
                distance = rank(text, entry.text)
                if distance is None:
                    # words of the menu and of the tip match too, with a lower rank
                    distance = rank(text, f"{entry.text} {entry.menu} {spec.tip}")
                    distance = None if distance is None else distance + _OF_TIP
                if distance is not None:
                    ranked.append((distance + _OF_SIMULATION * spec.key.startswith("source.simulate."), entry))
        rows = self.rows() if text.strip() else ()
        ranked += [(distance, row) for row in rows if (distance := rank(text, row.text)) is not None]
        found = [entry for _, entry in sorted(ranked, key=lambda pair: pair[0])]
        at = seconds(text)
        if at is None:
            return found
        instants = [
            PaletteEntry("Time", f"{word} {at:.10g} s", partial(act, at)) for word, act in self._instants.items()
        ]
        return instants + found if has_unit(text) else found + instants

    def _chosen(self) -> int:
        return self.list.currentIndex().row()

    def _choose(self, place: int) -> None:
        if self._entries:
            place = min(max(place, 0), len(self._entries) - 1)
            self.list.setCurrentIndex(self.list.model().index(place, 0))

    def _run(self) -> None:
        place = self._chosen()
        if 0 <= place < len(self._entries):
            entry = self._entries[place]
            # closed first, so that it does not cover what the action opens
            self.close()
            entry.run()
