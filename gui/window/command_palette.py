"""The command palette (Ctrl+K): finds an action by name, or an instant to go to."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QHeaderView, QLineEdit, QTreeWidget, QTreeWidgetItem, QVBoxLayout, QWidget

from gui.widgets.layout import set_row_padding
from gui.window.actions import Actions, action_text, shortcuts_text

_SECONDS = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
_NUMBER = re.compile(r"(?P<number>\d+(?:[.,]\d*)?|[.,]\d+)\s*(?P<unit>ms|s|min|h)?")
_CLOCK = re.compile(r"(?:(?P<hours>\d+):)?(?P<minutes>\d{1,2}):(?P<seconds>\d{1,2}(?:[.,]\d*)?)")
_GAP_COST = 0.1  # for every letter that is skipped
_INNER_COST = 10.0  # of a match that is not at the start of a word


def rank(wanted: str, text: str, *, whole: bool = False) -> float | None:
    """Return the distance of `text` from what is `wanted`, 0 for its very beginning; None if it does not match.

    Every word of `wanted` must match: as a substring, preferably at the start of a word; or, unless `whole`, as a
    subsequence of letters.
    """
    costs = [_cost(word, text.casefold(), whole) for word in wanted.casefold().split()]
    found = [cost for cost in costs if cost is not None]
    return sum(found) if len(found) == len(costs) else None


def _cost(word: str, text: str, whole: bool) -> float | None:
    begins = re.search(rf"\b{re.escape(word)}", text)
    if begins:
        return 0.01 * begins.start()
    if word in text:
        return _INNER_COST + 0.01 * text.index(word)
    if whole:
        return None
    first = at = text.find(word[0])
    for letter in word[1:]:
        at = text.find(letter, at + 1) if at >= 0 else at
    if at < 0:
        return None
    return 2.0 * _INNER_COST + _GAP_COST * (at - first)


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
class _Entry:
    menu: str
    text: str
    shortcuts: str
    run: Callable[[], object]


class CommandPalette(QFrame):
    """A popup with a search line and the matching actions; Esc or a click elsewhere closes it.

    Parameters
    ----------
    actions : listed where they are enabled and visible.
    window : its parent.
    """

    def __init__(self, actions: Actions, window: QWidget) -> None:
        super().__init__(window, Qt.WindowType.Popup | Qt.WindowType.FramelessWindowHint)
        self._actions, self._window = actions, window
        self._instants: Mapping[str, Callable[[float], object]] = {}
        self._entries: list[_Entry] = []
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

    def _matches(self, text: str) -> list[_Entry]:
        """Return the matching entries, the best first, and otherwise in the order of the menus."""
        ranked: list[tuple[float, _Entry]] = []
        for spec, action in self._actions:
            if action.isEnabled() and action.isVisible() and spec.key != "help.palette":
                entry = _Entry(spec.menu, action_text(action), shortcuts_text(action), action.trigger)
                distance = rank(text, entry.text)
                if distance is None:
                    # words of the menu and of the tip match too, with a lower rank
                    distance = rank(text, f"{entry.text} {entry.menu} {spec.tip}", whole=True)
                    distance = None if distance is None else distance + 100.0
                if distance is not None:
                    ranked.append((distance, entry))
        found = [entry for _, entry in sorted(ranked, key=lambda pair: pair[0])]
        at = seconds(text)
        if at is None:
            return found
        instants = [_Entry("Time", f"{word} {at:.10g} s", "", _at(act, at)) for word, act in self._instants.items()]
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


def _at(act: Callable[[float], object], instant: float) -> Callable[[], object]:
    return lambda: act(instant)
