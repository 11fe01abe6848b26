"""List of the differences of compared recordings, within tolerance or not, as `synchroscope compare` finds them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QVBoxLayout, QWidget

from gui.model.comparison import ComparedRun, Quantity
from gui.widgets.layout import fill
from gui.widgets.lists import Index, ListModel, set_list_style
from gui.widgets.painting import ElidedLabel
from gui.widgets.theme import Theme, level_colour
from gui.wording.level import Level
from monitor.text.numbers import number, plus_minus

_TOLERANCE, _VERDICT = 4, 5
_VERDICTS = {
    "within": ("● pass", Level.GOOD),
    "exceeded": ("■ fail", Level.BAD),
    "unknown": ("⊘ unknown", Level.WARN),
}
_PENDING = "…"
_ROUNDING = 1e-9  # of a difference
_UNITS = {"ms": " [ms]", "s": " [s]", "percent": " [%]"}
_WORDS = {"command_": "commands apart, ", "measured_": "measured apart, ", "_": " ", "fdb": "FDB", "paei": "PAEI"}
_HINT = "a tolerance is a number in the unit of its quantity, or a percentage such as 5 %"


class _Row(NamedTuple):
    run: str
    actuator: str
    key: str
    quantity: Quantity
    judged: bool


def quantity_text(key: str) -> str:
    """Return the key of a quantity as words: ``fdb_delay_ms`` is ``FDB delay [ms]``."""
    name, _, unit = key.rpartition("_")
    words = f"{name}{_UNITS[unit]}" if name and unit in _UNITS else key
    for short, text in _WORDS.items():
        words = words.replace(short, text)
    return words


class DifferenceTable(ListModel):
    """Model with a row for each quantity of each compared run.

    Signals
    -------
    tolerance_entered : key of a quantity, and its tolerance as text, empty for none.
    """

    headings = ("Quantity", "Shown", "Compared", "Difference", "Tolerance", "Verdict")
    numbers = (1, 2, 3, 4)
    tolerance_entered = Signal(str, str)

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(theme, parent)
        self.rows: tuple[_Row, ...] = ()
        self._tolerances: Mapping[str, str] = {}

    def set_runs(self, runs: Sequence[ComparedRun], tolerances: Mapping[str, str]) -> None:
        """Show the quantities that have a value, or a tolerance; a row that is being edited stays."""
        several = len(runs) > 1
        actuators = {actuator for run in runs for actuator, _ in run.judgement.quantities if actuator}
        rows = tuple(
            _Row(run.name if several else "", actuator if len(actuators) > 1 else "", key, found, run.judged)
            for run in runs
            for (actuator, key), found in run.judgement.quantities.items()
            if found.difference is not None or found.result
        )
        same = [row[:3] for row in rows] == [row[:3] for row in self.rows]
        self._tolerances = dict(tolerances)
        if same:
            self.rows = rows
            self.emit_changed()
        else:
            self.set_rows(rows)

    @property
    def texts(self) -> list[tuple[str, ...]]:
        """The cells of all rows."""
        return [tuple(map(self.text, [row] * len(self.headings), range(len(self.headings)))) for row in self.rows]

    @property
    def summary(self) -> str:
        """How many quantities with a tolerance are within it."""
        results = [row.quantity.result for row in self.rows if row.quantity.result]
        return f"{results.count('within')} of {len(results)} within tolerance" if results else _HINT

    def tip(self, row: _Row) -> str:
        """Return what chance has to do with a difference."""
        known = row.quantity.probability
        return "" if known is None else f"probability of so large a difference by noise alone: {known:.3g}"

    def colour(self, row: _Row, column: int) -> str:
        """Return the colour of a verdict."""
        if column != _VERDICT or not row.judged:
            return ""
        return level_colour(self.theme, _VERDICTS.get(row.quantity.result or "", ("", Level.NONE))[1])

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:  # noqa: N802
        """Accept a tolerance: a number from 0 on, also with a percent sign, or nothing."""
        text = str(value).replace(" ", "")
        try:
            amount = float(text.removesuffix("%")) if text else 0.0
        except ValueError:
            return False
        if role != Qt.ItemDataRole.EditRole or not 0.0 <= amount < math.inf:
            return False
        self.tolerance_entered.emit(self.rows[index.row()].key, text)
        return True

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Return that tolerances can be edited."""
        editable = Qt.ItemFlag.ItemIsEditable if index.column() == _TOLERANCE else Qt.ItemFlag.NoItemFlags
        return super().flags(index) | editable

    def text(self, row: _Row, column: int) -> str:
        """Return the text of a cell."""
        found = row.quantity
        match column:
            case 0:
                return " · ".join(filter(None, (row.run, row.actuator, quantity_text(row.key))))
            case 1:
                return _with_deviation(found.reference, found.reference_sd)
            case 2:
                return _with_deviation(found.value, found.sd)
            case 3:
                return _with_deviation(found.difference, found.difference_sd)
            case 4:
                return self._tolerances.get(row.key, "").replace("%", " %")
            case _:
                return _VERDICTS.get(found.result or "", ("", Level.NONE))[0] if row.judged else _PENDING


def _with_deviation(value: float | None, sd: float | None) -> str:
    """Return a value with its standard deviation, as the command prints it."""
    if value is None or sd is None:
        return number(value, ".4g", rounding=_ROUNDING)
    return plus_minus(value, sd, digits=2, most=9)


class DifferenceList(QWidget):
    """The table with a line above it: how many are within tolerance, or why none is compared; hidden by default."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.heading = ElidedLabel()
        self.model = DifferenceTable(theme, self)
        self.table = QTableView()
        self.table.setModel(self.model)
        set_list_style(self.table, "differences of the compared recordings")
        triggers = QAbstractItemView.EditTrigger
        self.table.setEditTriggers(triggers.DoubleClicked | triggers.EditKeyPressed | triggers.AnyKeyPressed)
        self.table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectItems)
        for header in (self.table.verticalHeader(), self.table.horizontalHeader()):
            header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        fill(QVBoxLayout(self), self.heading, (self.table, 1), margins=(6, 2, 6, 2), spacing=2)
        self.hide()

    def show_runs(self, runs: Sequence[ComparedRun], tolerances: Mapping[str, str]) -> None:
        """Show what was found on these runs."""
        self.model.set_runs(runs, tolerances)
        problems = [f"{run.name}: {run.judgement.problem}" for run in runs if run.judgement.problem]
        pending = "comparing …" if not all(run.judged for run in runs) else ""
        self.heading.setText("; ".join(problems) or pending or (self.model.summary if runs else ""))

    def apply_theme(self, theme: Theme) -> None:
        """Apply the colours of a theme."""
        self.model.theme = theme
