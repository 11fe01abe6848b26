"""Help: the list of shortcuts and mouse gestures (F1), the documentation, and the about box."""

from __future__ import annotations

from importlib.metadata import metadata

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QFont
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QHeaderView,
    QLineEdit,
    QMessageBox,
    QTextBrowser,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from gui.widgets.layout import set_row_padding
from gui.window.actions import Actions, action_text, shortcuts_text
from monitor import __version__
from monitor.system.files import documentation

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
        self.setModal(False)
        self._actions = actions
        self.line = QLineEdit()
        self.line.setPlaceholderText("Find")
        self.line.setAccessibleName("Find a shortcut or what it does")
        self.line.setClearButtonEnabled(True)
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
        layout = QVBoxLayout(self)
        layout.addWidget(self.line)
        layout.addWidget(self.tree)
        layout.addWidget(buttons)
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
        bold = QFont(self.font())
        bold.setBold(True)
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
    layout = QVBoxLayout(dialog)
    layout.setContentsMargins(0, 0, 0, 0)
    layout.addWidget(pages)
    dialog.resize(820, 720)
    dialog.show()


def show_about(window: QWidget) -> None:
    """Show version and licence."""
    text = _ABOUT.format(version=__version__)
    box = QMessageBox(QMessageBox.Icon.NoIcon, "About", text, parent=window)
    box.setModal(False)
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.show()
