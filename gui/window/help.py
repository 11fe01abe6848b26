"""Help: the list of shortcuts and mouse gestures, F1, and where the documentation is."""

from __future__ import annotations

from importlib.metadata import metadata, version

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

from gui.widgets.row_padding import make_roomy
from gui.window.actions import Actions, shown_keys, shown_text
from monitor.system.files import documentation

_ABOUT = (
    "Synchroscope {version}\n\n"
    "Live tracking indicators for hybrid simulation:\nhow late and how large each actuator is.\n"
    "BSD-3-Clause. Soft real time: it is no interlock."
)

GESTURES = (
    ("wheel", "zoom in time, around the mouse"),
    ("Ctrl+wheel", "zoom the values of the row under the mouse"),
    ("drag", "scrub back and forth"),
    ("point", "values under the cursor, in all panels"),
    ("click", "pin the cursor; again: let it go"),
    ("double click", "fit the values again"),
    ("click on a tile", "choose its actuator"),
    ("click on an event", "look at its instant"),
    ("double click on an alarm", "look at the instant of its last change"),
    ("drop a file", "open it"),
)
"""What the mouse does in the panels."""
PLOT_KEYS = (
    ("Ctrl+Left, Ctrl+Right", "move the cursor"),
    ("Enter", "pin the cursor; again: let it go"),
    ("Shift+Up, Shift+Down", "zoom the values of all rows in or out"),
    ("Shift+Home", "let the scales follow the values again"),
    ("PgUp, PgDown", "scroll the rows"),
)
"""Of the plot of a panel over time."""
TILE_KEYS = (
    ("Left, Right, Up, Down", "choose the actuator beside, above or below"),
    ("Home, End", "choose the first or the last actuator"),
)
"""Of the tiles."""
EVENT_KEYS = (
    ("Up, Down", "go through the events"),
    ("Enter", "look at its instant"),
)
"""Of the list of events."""
ALARM_KEYS = (
    ("Up, Down", "go through the alarms"),
    ("A, Enter", "acknowledge the one that is chosen"),
    ("Shift+S", "shelve it, then 1, 2, 3 for how long; or take it off the shelf"),
    ("R", "reset it, where it is latched and its condition has gone"),
)
"""Of the list of alarms."""
TIMELINE_KEYS = (
    ("Left, Right", "play from 1 s earlier or later"),
    ("PgUp, PgDown", "play from 10 s earlier or later"),
    ("Home, End", "play from the beginning, or go to the end"),
    ("Up, Down", "show the curve of another channel"),
)
"""Of the timeline of a replay."""
ESCAPE = (("Esc", "dismiss a message; leave a note or a menu"),)
"""Wherever the focus is."""
SECTIONS = (
    ("Mouse in the panels", GESTURES),
    ("A plot over time that has the focus", PLOT_KEYS),
    ("Tiles that have the focus", TILE_KEYS),
    ("Alarms that have the focus", ALARM_KEYS),
    ("Events that have the focus", EVENT_KEYS),
    ("The timeline of a replay that has the focus", TIMELINE_KEYS),
    ("Anywhere", ESCAPE),
)
"""As the list of keys shows them."""


class ShortcutList(QDialog):
    """A window beside the other one; nothing waits for it.

    Parameters
    ----------
    actions : whose keys are listed.
    window : it belongs to this one, and closes with it.
    """

    def __init__(self, actions: Actions, window: QWidget) -> None:
        super().__init__(window)
        self.setWindowTitle("Shortcuts - Synchroscope")
        self.setModal(False)
        self._actions = actions
        self.line = QLineEdit()
        self.line.setPlaceholderText("Find")
        self.line.setAccessibleName("Find a key or what it does")
        self.line.setClearButtonEnabled(True)
        self.tree = QTreeWidget()
        self.tree.setHeaderLabels(["Key", "Does", "Explanation"])
        self.tree.setRootIsDecorated(False)
        self.tree.setIndentation(12)
        self.tree.setUniformRowHeights(True)
        make_roomy(self.tree)
        self.tree.setAccessibleName("Keys")
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
        self.line.textChanged.connect(self._narrow)
        self.resize(760, 620)

    def present(self) -> None:
        """Show the keys as they are now."""
        self._fill()
        self._narrow(self.line.text())
        self.show()
        self.raise_()
        self.activateWindow()
        self.line.setFocus(Qt.FocusReason.ActiveWindowFocusReason)

    def _fill(self) -> None:
        self.tree.clear()
        rows: dict[str, list[tuple[str, str, str]]] = {}
        for command, action in self._actions:
            if action.shortcuts() and action.isVisible():
                row = (shown_keys(action), shown_text(action), command.tip)
                rows.setdefault(command.group, []).append(row)
        rows |= {title: [(keys, does, "") for keys, does in lines] for title, lines in SECTIONS}
        bold = QFont(self.font())
        bold.setBold(True)
        for group, lines in rows.items():
            head = QTreeWidgetItem([group])
            head.setFont(0, bold)
            head.setFlags(Qt.ItemFlag.ItemIsEnabled)
            head.addChildren([QTreeWidgetItem(list(line)) for line in lines])
            self.tree.addTopLevelItem(head)
            head.setFirstColumnSpanned(True)
        self.tree.expandAll()

    def _narrow(self, text: str) -> None:
        """Leave the lines that hold every word; a group that fits is shown whole."""
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
    """Open the documentation in a window of its own: the README, and the pages that it leads to where they are."""
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
    text = _ABOUT.format(version=version("synchroscope"))
    box = QMessageBox(QMessageBox.Icon.NoIcon, "About", text, parent=window)
    box.setModal(False)
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.show()
