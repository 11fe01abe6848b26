"""One actuator in the chooser of columns: three lists, and what is wrong below each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QComboBox, QGridLayout, QToolButton, QWidget

from gui.sources.column_choice import ActuatorColumns, Field
from gui.widgets.labels import PlainLabel
from gui.widgets.theme import Theme
from monitor.messages.recordings import FileColumn

ROLES = ("command", "measured", "force")
NOTHING = "—"


class ColumnBox(QComboBox):
    """A list of columns, with nothing at its head."""

    def __init__(self, columns: Sequence[FileColumn], nothing: str = NOTHING) -> None:
        super().__init__()
        self.addItem(nothing, "")
        for column in columns:
            self.addItem(f"{column.name} [{column.unit}]" if column.unit else column.name, column.word)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(12)

    @property
    def column(self) -> str:
        """Reference of the one that is chosen; empty for nothing."""
        return str(self.currentData() or "")

    def choose(self, column: str) -> None:
        """Choose a column by its reference; nothing where it is not there."""
        self.setCurrentIndex(max(0, self.findData(column)))


class ActuatorRow(QWidget):
    """The columns of one actuator.

    Signals
    -------
    changed : another column is chosen.
    removed : the actuator shall go.
    """

    changed = Signal()
    removed = Signal(object)

    def __init__(self, columns: Sequence[FileColumn], chosen: ActuatorColumns, theme: Theme) -> None:
        super().__init__()
        self.theme = theme
        self.boxes = {role: ColumnBox(columns) for role in ROLES}
        self.faults = {role: PlainLabel() for role in ROLES}
        self.heads = {role: PlainLabel(role if role != "force" else "force, where there is one") for role in ROLES}
        self.title = PlainLabel()
        self.remove = QToolButton()
        self.remove.setText("✕")
        self.remove.setAutoRaise(True)
        self.remove.setToolTip("Take this actuator away")
        self.remove.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        layout = QGridLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setVerticalSpacing(1)
        layout.addWidget(self.title, 1, 0)
        layout.addWidget(self.remove, 1, len(ROLES) + 1)
        for column, role in enumerate(ROLES, 1):
            box, fault = self.boxes[role], self.faults[role]
            box.choose(getattr(chosen, role))
            box.currentIndexChanged.connect(self.changed)
            fault.setStyleSheet(f"color: {theme.bad}")
            fault.setWordWrap(True)
            layout.addWidget(self.heads[role], 0, column)
            layout.addWidget(box, 1, column)
            layout.addWidget(fault, 2, column)
            layout.setColumnStretch(column, 1)
        self.remove.clicked.connect(self._remove)
        self.name(0)

    @property
    def columns(self) -> ActuatorColumns:
        """What is chosen."""
        return ActuatorColumns(*(self.boxes[role].column for role in ROLES))

    def name(self, place: int) -> None:
        """Say which one it is, counted from 0."""
        self.title.setText(f"Actuator {place + 1}")
        # as the head of a table: above the first only
        for head in self.heads.values():
            head.setVisible(place == 0)
        self.remove.setAccessibleName(f"remove actuator {place + 1}")
        for role, box in self.boxes.items():
            box.setAccessibleName(f"{role} of actuator {place + 1}")

    def show_problems(self, place: int, problems: Mapping[Field, str]) -> None:
        """Show what is wrong, below the field where it is."""
        for role, fault in self.faults.items():
            text = problems.get((place, role), "")
            fault.setText(text)
            fault.setVisible(bool(text))
            self.boxes[role].setToolTip(text)

    def _remove(self) -> None:
        self.removed.emit(self)
