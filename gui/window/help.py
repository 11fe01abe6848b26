"""F1: all keys by menu, those of panels, what the mouse does, and a line to find one of them."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QFont
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QHeaderView,
    QLineEdit,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from gui.widgets.row_padding import make_roomy
from gui.window.actions import Actions, shown_keys, shown_text
from gui.window.panel_keys import SECTIONS


class KeyList(QDialog):
    """A window beside the other one; nothing waits for it.

    Parameters
    ----------
    actions : whose keys are listed.
    window : it belongs to this one, and closes with it.
    """

    def __init__(self, actions: Actions, window: QWidget) -> None:
        super().__init__(window)
        self.setWindowTitle("Keys - Synchroscope")
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
