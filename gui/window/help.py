"""Help: the command palette (Ctrl+K), the list of shortcuts and gestures (F1), documentation, about box."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.metadata import metadata

from PySide6.QtCore import QEvent, QObject, Qt, QUrl
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QFrame,
    QHeaderView,
    QLineEdit,
    QMessageBox,
    QTextBrowser,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from gui.widgets.layout import fill
from gui.widgets.lists import set_row_padding
from gui.widgets.painting import font_like
from gui.window.actions import Actions, action_text, shortcuts_text
from monitor import __version__
from monitor.system.files import documentation

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
        self.line = QLineEdit(placeholderText="A command, or an instant such as 12.5 s", clearButtonEnabled=True)
        self.line.setAccessibleName("Command or instant")
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
        fill(QVBoxLayout(self), self.line, self.list, margins=(6, 6, 6, 6))
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


_ABOUT = (
    "Synchroscope {version}\n\n"
    "Live tracking indicators for hybrid simulation:\ndelay and amplitude error of each actuator.\n"
    "BSD-3-Clause. Soft real time: not an interlock."
)

GESTURES = (
    ("wheel", "zoom in time, around the pointer"),
    ("Ctrl+wheel", "zoom the values of the row under the pointer"),
    ("drag", "move back and forth in time"),
    ("drag with the right button, Ctrl+drag", "zoom to a span, to values or to both"),
    ("click with the right button", "menu of the row and instant: scale, zoom, cursor, note, limits, exports"),
    ("back and forward buttons", "undo and redo changes of the view"),
    ("drag a legend or the name of a row", "show its signals in another row, in the spectrum or in XY"),
    ("drag a limit line", "change the limit of an alarm (Esc cancels)"),
    ("hover", "show the values at an instant, in all panels"),
    ("click", "pin the cursor; again: unpin it"),
    ("double click", "scale the values automatically again"),
    ("click on a curve in a legend", "hide or show it; with the right button: its colour and limits"),
    ("click on a tile", "select its actuator"),
    ("click on an event", "show its instant"),
    ("double click on an alarm", "show the instant of its last change"),
    ("drop a file", "open it"),
)
"""What the mouse does in the panels."""
PLOT_KEYS = (
    ("Ctrl+Left, Ctrl+Right", "move the cursor"),
    ("Enter", "pin the cursor; again: unpin it"),
    ("Shift+Up, Shift+Down", "zoom the values of all rows in or out"),
    ("Shift+Home", "scale the values automatically again"),
    ("PgUp, PgDown", "scroll the rows"),
)
"""In a plot over time."""
ROW_KEYS = (
    ("L", "take the next limit line: Up and Down move it, with Shift further, Enter sets it, Esc cancels"),
    ("Menu, Shift+F10", "menu of the row: scale, curves, cursors, note, limits, exports"),
)
"""In a plot over time, where a row has limits or a menu."""
TILE_KEYS = (
    ("Left, Right, Up, Down", "select the actuator beside, above or below"),
    ("Home, End", "select the first or the last actuator"),
)
"""In the tiles."""
EVENT_KEYS = (("Up, Down", "select an event"), ("Enter", "show its instant"))
"""In the list of events."""
ALARM_KEYS = (
    ("Up, Down", "select an alarm"),
    ("A, Enter", "acknowledge the selected alarm"),
    ("Shift+S", "shelve it, then 1, 2, 3 for how long; or unshelve it"),
    ("R", "reset it, where it is latched and has returned to normal"),
    ("L", "edit its limits"),
)
"""In the list of alarms."""
TIMELINE_KEYS = (
    ("Left, Right", "play from 1 s earlier or later"),
    ("PgUp, PgDown", "play from 10 s earlier or later"),
    ("Home, End", "play from the beginning, or go to the end"),
    ("Up, Down", "show the curve of another channel"),
)
"""In the timeline of a replay."""
ESCAPE = (("Esc", "dismiss a message; cancel a note; close a menu"),)
"""Anywhere."""
SECTIONS = (
    ("Mouse in the panels", GESTURES),
    ("In a plot over time", (*PLOT_KEYS, *ROW_KEYS)),
    ("In the tiles", TILE_KEYS),
    ("In the list of alarms", ALARM_KEYS),
    ("In the list of events", EVENT_KEYS),
    ("In the timeline of a replay", TIMELINE_KEYS),
    ("Anywhere", ESCAPE),
)
"""Sections of the list, after those of the menus."""


class ShortcutDialog(QDialog):
    """All shortcuts and mouse gestures, in a dialog that is not modal.

    Parameters
    ----------
    actions : their shortcuts are listed.
    window : its parent.
    """

    def __init__(self, actions: Actions, window: QWidget) -> None:
        super().__init__(window)
        self.setWindowTitle("Shortcuts - Synchroscope")
        self._actions = actions
        self.line = QLineEdit(placeholderText="Find", clearButtonEnabled=True)
        self.line.setAccessibleName("Find a shortcut or what it does")
        self.tree = QTreeWidget()
        self.tree.setHeaderLabels(["Shortcut", "Action", "Description"])
        self.tree.setRootIsDecorated(False)
        self.tree.setIndentation(12)
        self.tree.setUniformRowHeights(True)
        set_row_padding(self.tree)
        self.tree.setAccessibleName("Shortcuts")
        for column in (0, 1):
            self.tree.header().setSectionResizeMode(column, QHeaderView.ResizeMode.ResizeToContents)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        # Enter ends a search, not the dialog
        buttons.button(QDialogButtonBox.StandardButton.Close).setAutoDefault(False)
        buttons.rejected.connect(self.close)
        fill(QVBoxLayout(self), self.line, self.tree, buttons)
        self.line.textChanged.connect(self._filter)
        self.resize(1000, 640)

    def present(self) -> None:
        """Show the current shortcuts."""
        self._fill()
        self._filter(self.line.text())
        self.show()
        self.raise_()
        self.activateWindow()
        self.line.setFocus(Qt.FocusReason.ActiveWindowFocusReason)

    def _fill(self) -> None:
        self.tree.clear()
        rows: dict[str, list[tuple[str, str, str]]] = {}
        for spec, action in self._actions:
            if action.shortcuts() and action.isVisible():
                row = (shortcuts_text(action), action_text(action), spec.tip)
                rows.setdefault(spec.menu, []).append(row)
        rows |= {title: [(keys, effect, "") for keys, effect in lines] for title, lines in SECTIONS}
        bold = font_like(self.font(), bold=True)
        for title, lines in rows.items():
            head = QTreeWidgetItem([title])
            head.setFont(0, bold)
            head.setFlags(Qt.ItemFlag.ItemIsEnabled)
            head.addChildren([QTreeWidgetItem(list(line)) for line in lines])
            self.tree.addTopLevelItem(head)
            head.setFirstColumnSpanned(True)
        self.tree.expandAll()

    def _filter(self, text: str) -> None:
        """Show the lines that contain every word, in the line or in its heading."""
        words = text.casefold().split()
        for place in range(self.tree.topLevelItemCount()):
            head = self.tree.topLevelItem(place)
            if head is None:
                continue
            lines = [line for i in range(head.childCount()) if (line := head.child(i)) is not None]
            for line in lines:
                held = " ".join([head.text(0), *(line.text(column) for column in range(3))]).casefold()
                line.setHidden(not all(word in held for word in words))
            head.setHidden(all(line.isHidden() for line in lines))


def show_documentation(window: QWidget) -> None:
    """Open the documentation in a dialog: the README, and the pages it links to where they are installed."""
    dialog = QDialog(window)
    dialog.setObjectName("documentation")
    dialog.setWindowTitle("Documentation - Synchroscope")
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    pages = QTextBrowser()
    pages.setOpenExternalLinks(True)
    pages.setAccessibleName("Documentation")
    readme = documentation()
    if readme is None:
        pages.setMarkdown(metadata("synchroscope")["Description"])
    else:
        pages.setSource(QUrl.fromLocalFile(str(readme)))
    fill(QVBoxLayout(dialog), pages, margins=(0, 0, 0, 0))
    dialog.resize(820, 720)
    dialog.show()


def show_about(window: QWidget) -> None:
    """Show version and licence."""
    text = _ABOUT.format(version=__version__)
    box = QMessageBox(QMessageBox.Icon.NoIcon, "About", text, parent=window)
    box.setModal(False)
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.show()
