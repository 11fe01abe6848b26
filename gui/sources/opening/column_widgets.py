"""Widgets of the column chooser: the columns of an actuator, the times, and a preview of the signals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QComboBox, QFormLayout, QGridLayout, QLineEdit, QToolButton, QWidget

from gui.sources.opening.column_choice import ActuatorColumns, Field
from gui.sources.replay_bar.run_picture import draw_curve, limits
from gui.widgets.labels import PlainLabel
from gui.widgets.theme import Theme
from monitor.messages.recordings import FileColumn, Overview

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


class ColumnPreview(QWidget):
    """Draw some channels of an overview over each other, between common edges.

    Parameters
    ----------
    theme : colours.
    """

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self.overview: Overview | None = None
        self.curves: tuple[tuple[str, str], ...] = ()
        self.text = ""
        self.setMinimumSize(240, 100)
        self.setAccessibleName("preview of the chosen columns")

    def show_curves(self, overview: Overview | None, curves: Sequence[tuple[str, str]], text: str = "") -> None:
        """Draw channels, each with its colour; `text` is shown where there is nothing to draw."""
        self.overview = overview
        self.curves = tuple((name, colour) for name, colour in curves if overview and name in overview.channels)
        self.text = text
        self.update()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Return what is comfortable."""
        return QSize(520, 140)

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw."""
        painter = QPainter(self)
        where = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        painter.fillRect(where, QColor(self.theme.base))
        painter.setPen(QColor(self.theme.grid))
        painter.drawRect(where)
        if self.overview is None or not self.curves:
            painter.setPen(QColor(self.theme.muted))
            painter.drawText(where, Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap, self.text)
        else:
            self._draw(painter, self.overview, where.adjusted(4.0, 4.0, -4.0, -4.0))
        painter.end()

    def _draw(self, painter: QPainter, overview: Overview, where: QRectF) -> None:
        ranges = [limits(*overview.curve(name)[1:]) for name, _ in self.curves]
        span = min(low for low, _ in ranges), max(high for _, high in ranges)
        seconds = overview.seconds
        # the columns are equally wide; the last has no edge of its own
        end = seconds[-1] + (seconds[-1] - seconds[-2] if len(seconds) > 1 else 1.0)
        metrics = painter.fontMetrics()
        # the names stand above, so that they hide nothing
        below = where.adjusted(0.0, metrics.height() + 2.0, 0.0, 0.0)
        for name, colour in self.curves:
            draw_curve(painter, below, overview, name, end, colour, span)
        x = where.left() + 4.0
        for name, colour in self.curves:
            painter.setPen(QColor(colour))
            painter.drawText(round(x), round(where.top()) + metrics.ascent(), name)
            x += metrics.horizontalAdvance(name) + 16.0
