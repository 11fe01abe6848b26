"""Controls that panels share: menu buttons, the menu that chooses rows, the table of statistics of a span."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QEvent, QPoint, Qt, Signal
from PySide6.QtGui import QAction, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import (
    QApplication,
    QComboBox,
    QHBoxLayout,
    QHeaderView,
    QMenu,
    QStyleOptionToolButton,
    QTableView,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from gui.model.statistics import CurveStatistics, statistics
from gui.plots.time.axis import ShownUnit
from gui.plots.time.rows import Interval, Trace, extent
from gui.plots.value_axis import MINUS, value_text
from gui.widgets.layout import fill
from gui.widgets.lists import ListModel, set_list_style
from gui.widgets.painting import PlainLabel
from gui.widgets.signal_drag import drag_signals
from gui.widgets.theme import LIGHT
from monitor.text.numbers import DASH


class MenuButton(QToolButton):
    """Tool button that shows its menu indicator as text, ``Rows ▾``."""

    def initStyleOption(self, option: QStyleOptionToolButton) -> None:
        """Remove Qt's menu indicator."""
        super().initStyleOption(option)
        # the stubs of PySide 6.9 do not know the attribute
        option.features &= ~QStyleOptionToolButton.ToolButtonFeature.HasMenu  # type: ignore[attr-defined,unused-ignore]


def toggle_button(text: str, tip: str) -> QToolButton:
    """Return a flat button that stays pressed."""
    button = QToolButton(autoRaise=True)
    button.setText(text)
    button.setToolTip(tip)
    button.setCheckable(True)
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    return button


@dataclass(frozen=True, slots=True)
class RowChoice:
    """A row in the menu.

    Parameters
    ----------
    key : of the row.
    text : of the menu item.
    group : section of the menu.
    signals : that are dragged with the item onto plots.
    """

    key: str
    text: str
    group: str = ""
    signals: tuple[str, ...] = ()


class _CheckMenu(QMenu):
    """Menu that stays open while items are checked; Enter checks and closes, Esc closes; items can be dragged."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._pressed: QPoint | None = None

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._pressed = event.position().toPoint()
        super().mousePressEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._pressed is not None and event.buttons() & Qt.MouseButton.LeftButton:
            moved = event.position().toPoint() - self._pressed
            action = self.actionAt(self._pressed)
            names = None if action is None else action.data()
            if names and moved.manhattanLength() >= QApplication.startDragDistance():
                self._pressed = None
                # a menu grabs the mouse
                self.close()
                drag_signals(self.parentWidget() or self, names)
                return
        super().mouseMoveEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._pressed = None
        if not self._toggle(self.activeAction()):
            super().mouseReleaseEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() != Qt.Key.Key_Space or not self._toggle(self.activeAction()):
            super().keyPressEvent(event)

    def _toggle(self, action: QAction | None) -> bool:
        if action is None or not action.isCheckable() or not action.isEnabled():
            return False
        action.trigger()
        return True


class RowMenu(MenuButton):
    """Menu button to choose the rows of a panel, with a `command` below them where that is not empty.

    Signals
    -------
    chosen : keys of the checked items, in menu order.
    commanded : the command below the rows.
    """

    chosen = Signal(tuple)
    commanded = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setText("Rows ▾")
        self.setToolTip("Choose which rows are shown")
        self.setAccessibleName("rows that are shown")
        self.setAutoRaise(True)
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.setMenu(_CheckMenu(self))
        self._actions: dict[str, QAction] = {}
        self.command = ""

    def set_choices(self, choices: Sequence[RowChoice], shown: Sequence[str]) -> None:
        """Set the items of the menu; those of `shown` are checked."""
        menu = self.menu()
        menu.clear()
        self._actions = {}
        group = ""
        for choice in choices:
            if choice.group != group:
                group = choice.group
                menu.addSection(group)
            action = menu.addAction(choice.text)
            action.setCheckable(True)
            action.setData(list(choice.signals))
            action.setChecked(choice.key in shown)
            action.triggered.connect(self._changed)
            self._actions[choice.key] = action
        if self.command:
            menu.addSeparator()
            menu.addAction(self.command).triggered.connect(self.commanded)
        self.setEnabled(bool(choices))

    def set_checked(self, shown: Sequence[str]) -> None:
        """Check the items of `shown` only."""
        for key, action in self._actions.items():
            action.setChecked(key in shown)

    def _changed(self) -> None:
        self.chosen.emit(tuple(key for key, action in self._actions.items() if action.isChecked()))


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
    numbers = (1, 2, 3, 4, 5, 6, 8)

    def text(self, row: tuple[str, ...], column: int) -> str:
        """Return the text of a cell."""
        return row[column]


class StatisticsTable(QWidget):
    """Table with a line for each curve, and the interval above it; hidden by default."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._lines: Sequence[StatisticsLine] = ()
        self.heading = PlainLabel(self)
        self.between = QComboBox(self)
        self.between.setAccessibleName("cursors between which the statistics are")
        self.between.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.model = _Model(LIGHT)
        self.table = QTableView(self)
        self.table.setModel(self.model)
        set_list_style(self.table, "statistics between the cursors")
        self.table.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        for header in (self.table.verticalHeader(), self.table.horizontalHeader()):
            header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        box = QVBoxLayout(self)
        box.setContentsMargins(_MARGIN, 2, _MARGIN, 2)
        box.setSpacing(2)
        above = fill(QHBoxLayout(), self.between, (self.heading, 1))
        box.addLayout(above)
        box.addWidget(self.table)
        self.hide()
        self._marks: tuple[float, ...] | None = None
        self.set_marks(())
        self.show_lines(HINT, ())

    @property
    def texts(self) -> list[tuple[str, ...]]:
        """The cells of all lines."""
        return [*self.model.rows]

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
        self.model.set_rows([line.texts for line in lines])
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
