"""What every panel is to the window."""

from __future__ import annotations

from typing import ClassVar

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from gui.model.history.history import History
from gui.plots.view import View
from gui.widgets.theme import Theme
from monitor.config import IndicatorSettings


class Panel(QWidget):
    """A picture of a history. `configure` makes what depends on the channels, `refresh` draws; nothing else does.

    Parameters
    ----------
    view : what is looked at; shared by all panels.
    theme : colours to begin with.
    """

    key: ClassVar[str]
    title: ClassVar[str]

    def __init__(self, view: View, theme: Theme) -> None:
        super().__init__()
        self.view = view
        self.theme = theme
        self.window_seconds = IndicatorSettings().window
        """s, of the indicators' windows; set from what the service says."""
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    def configure(self, history: History) -> None:
        """Make what depends on channels and columns, which are new or other ones; there may be none."""
        raise NotImplementedError

    def refresh(self, history: History) -> None:
        """Draw the history as `view` looks at it."""
        raise NotImplementedError

    def apply_theme(self, theme: Theme) -> None:
        """Take other colours; `refresh` follows."""
        self.theme = theme
