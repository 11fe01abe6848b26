"""A menu of channels, one of which is shown."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QMenu, QWidget


class ChannelMenu(QMenu):
    """Let another channel be chosen; gone when it is closed.

    Signals
    -------
    chosen : name of the channel.
    """

    chosen = Signal(str)

    def __init__(self, channels: Sequence[str], shown: str, parent: QWidget) -> None:
        super().__init__("Channel of the overview", parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        group = QActionGroup(self)
        for name in channels:
            action = QAction(name, self, checkable=True, checked=name == shown)
            # the text may be changed by Qt, which underlines letters
            action.setData(name)
            group.addAction(action)
            self.addAction(action)
        group.triggered.connect(self._choose)

    def _choose(self, action: QAction) -> None:
        self.chosen.emit(str(action.data()))
