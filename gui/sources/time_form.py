"""Where the times of a file come from: a column, or an even rate."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFormLayout, QLineEdit, QWidget

from gui.sources.actuator_row import ColumnBox
from gui.widgets.labels import PlainLabel
from gui.widgets.theme import Theme
from monitor.messages.recordings import FileColumn


class TimeForm(QWidget):
    """Ask for the time column or the sample rate.

    Signals
    -------
    changed : something else is said.
    """

    changed = Signal()

    def __init__(self, columns: Sequence[FileColumn], time: str, rate: str, theme: Theme) -> None:
        super().__init__()
        self.column = ColumnBox(columns, "automatic")
        self.column.choose(time)
        self.column.setAccessibleName("time column")
        self.rate = QLineEdit(rate, placeholderText="only where no column tells the time")
        self.rate.setAccessibleName("sample rate in Hz")
        self.fault = PlainLabel()
        self.fault.setStyleSheet(f"color: {theme.bad}")
        layout = QFormLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addRow("&Time column", self.column)
        layout.addRow("Sample &rate [Hz]", self.rate)
        layout.addRow("", self.fault)
        self.column.currentIndexChanged.connect(self.changed)
        self.rate.textChanged.connect(self.changed)
        self.show_problem("")

    @property
    def rate_text(self) -> str:
        """The rate as it is typed, with a decimal point."""
        return self.rate.text().strip().replace(",", ".")

    def show_problem(self, text: str) -> None:
        """Show what is wrong with the rate."""
        self.fault.setText(text)
        self.fault.setVisible(bool(text))
        # the rate makes the times of the file of no interest
        self.column.setEnabled(not self.rate_text)
