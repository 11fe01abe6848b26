"""Table of statistics between two cursors, below a panel over time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QHeaderView, QTableView, QVBoxLayout, QWidget

from gui.model.statistics import CurveStatistics, statistics
from gui.plots.time.axis import ShownUnit
from gui.plots.time.rows import Interval, Trace, extent
from gui.plots.value_axis import MINUS, value_text
from gui.widgets.labels import PlainLabel
from gui.widgets.lists import Index, ListModel, set_list_style
from monitor.text.numbers import DASH

HINT = "Statistics: click to pin an instant, then point at another; or add two cursors with M."
_EXTRA_DECIMALS = 2  # beyond those of the axis
_MOST_LINES = 8
_MARGIN = 6


@dataclass(frozen=True, slots=True)
class StatisticsLine:
    """One curve: its name, the unit in which it is shown, its statistics, and its change from begin to end."""

    name: str
    unit: ShownUnit
    values: CurveStatistics
    change: Interval

    @property
    def texts(self) -> tuple[str, ...]:
        """The cells."""
        found, factor, decimals = self.values, self.unit.factor, self.unit.decimals + _EXTRA_DECIMALS
        change = self.change.low if self.change.low == self.change.high else math.nan
        numbers = (found.minimum, found.maximum, found.peak_to_peak, found.mean, found.rms, change)
        slope = DASH if found.slope != found.slope else f"{found.slope * factor:.4g}".replace("-", MINUS)
        per_second = f"{self.unit.unit}/s" if self.unit.unit else "1/s"
        values = tuple(value_text(value * factor, decimals) for value in numbers)
        return (self.name, *values, self.unit.unit, f"{slope} {per_second}")


class _Model(ListModel):
    headings = ("Curve", "Min", "Max", "Peak to peak", "Mean", "RMS", "End − begin", "Unit", "Slope")

    def __init__(self) -> None:
        super().__init__()
        self._rows: tuple[tuple[str, ...], ...] = ()

    def set_lines(self, lines: Sequence[StatisticsLine]) -> None:
        self.beginResetModel()
        self._rows = tuple(line.texts for line in lines)
        self.endResetModel()

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return the text of a cell, and its alignment."""
        if role == Qt.ItemDataRole.DisplayRole:
            return self._rows[index.row()][index.column()]
        if role == Qt.ItemDataRole.TextAlignmentRole and index.column() not in (0, self.headings.index("Unit")):
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        return None


class StatisticsTable(QWidget):
    """Table with a line for each curve, and the interval above it; hidden by default."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._lines: Sequence[StatisticsLine] = ()
        self.heading = PlainLabel(self)
        self.between = QComboBox(self)
        self.between.setAccessibleName("cursors between which the statistics are")
        self.between.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.model = _Model()
        self.table = QTableView(self)
        self.table.setModel(self.model)
        set_list_style(self.table, "statistics between the cursors")
        self.table.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.table.verticalHeader().hide()
        for header in (self.table.verticalHeader(), self.table.horizontalHeader()):
            header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        box = QVBoxLayout(self)
        box.setContentsMargins(_MARGIN, 2, _MARGIN, 2)
        box.setSpacing(2)
        above = QHBoxLayout()
        above.addWidget(self.between)
        above.addWidget(self.heading, 1)
        box.addLayout(above)
        box.addWidget(self.table)
        self.hide()
        self._marks: tuple[float, ...] | None = None
        self.set_marks(())
        self.show_lines(HINT, ())

    @property
    def texts(self) -> list[tuple[str, ...]]:
        """The cells of all lines."""
        return [*self.model._rows]

    def set_marks(self, marks: tuple[float, ...]) -> None:
        """Offer the pairs of numbered cursors; where there are more or fewer, the last two are chosen."""
        if marks == self._marks:
            return
        pairs = [(a, b) for b in range(len(marks)) for a in range(b)]
        if self._marks is None or len(marks) != len(self._marks):
            self.between.clear()
            self.between.addItem("pinned and mouse")
            self.between.addItems([f"{a + 1} and {b + 1}" for a, b in pairs])
            self.between.setCurrentIndex(len(pairs))
        self.between.setVisible(bool(pairs))
        self._marks, self._pairs = marks, [(marks[a], marks[b]) for a, b in pairs]

    @property
    def region(self) -> tuple[float, float] | None:
        """The chosen numbered cursors; None: the pinned cursor and the other one."""
        chosen = self.between.currentIndex() - 1
        return self._pairs[chosen] if chosen >= 0 else None

    def show_lines(self, heading: str, lines: Sequence[StatisticsLine]) -> None:
        """Show the lines; more than eight are scrolled."""
        self.heading.setText(heading)
        self._lines = lines
        self.model.set_lines(lines)
        self.table.setVisible(bool(lines))
        rows, columns = self.table.verticalHeader(), self.table.horizontalHeader()
        height = sum(rows.sectionSize(i) for i in range(min(len(lines), _MOST_LINES)))
        if columns.length() > self.width():
            height += self.table.horizontalScrollBar().sizeHint().height()
        self.table.setFixedHeight(columns.sizeHint().height() + height + 4)

    def changeEvent(self, event: QEvent) -> None:
        """Fit rows and columns to another font."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self.show_lines(self.heading.text(), self._lines)


def trace_statistics(trace: Trace, x0: float, x1: float) -> CurveStatistics:
    """Return the statistics of a trace; of one that has only minima and maxima, these."""
    part = trace.within(x0, x1)
    if part.exact:
        return statistics(part.centers, part.low[:, np.newaxis])[0]
    return CurveStatistics(*extent([part]))
