"""Columns of a file: their assignment to signals, its validation, and the widgets for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import QComboBox, QFormLayout, QGridLayout, QLineEdit, QToolButton, QWidget

from gui.widgets.painting import PlainLabel, ProblemLabel
from monitor.messages.recordings import ColumnGuess, FileColumn

Field = tuple[int, str]
"""Field: number of an actuator and role, ``(0, "command")``; -1 for the whole file."""
FILE = -1
RATE: Field = (FILE, "rate")
RESAMPLE: Field = (FILE, "resample")
ACTUATORS: Field = (FILE, "actuators")
DATASET: Field = (FILE, "dataset")


@dataclass(frozen=True, slots=True)
class ActuatorColumns:
    """The columns of one actuator, by reference; empty: none."""

    command: str = ""
    measured: str = ""
    force: str = ""


@dataclass(frozen=True, slots=True)
class ColumnChoice:
    """Assignment of the columns.

    Parameters
    ----------
    actuators : the columns of each.
    time : column of times; empty: detected by the reader.
    rate : Hz, as typed, of evenly spaced samples; empty where there is a time column.
    auxiliary : without actuators; every column is an auxiliary signal.
    resample : Hz, as typed, to interpolate samples at uneven times to; empty otherwise.
    dataset : that has the columns, of a file with several; empty: the columns say which.
    """

    actuators: tuple[ActuatorColumns, ...] = (ActuatorColumns(),)
    time: str = ""
    rate: str = ""
    auxiliary: bool = False
    resample: str = ""
    dataset: str = ""

    @property
    def words(self) -> tuple[str, ...]:
        """The options of `replay`; only of a valid choice."""
        return tuple(self._words())

    def _words(self) -> Iterator[str]:
        if self.auxiliary:
            yield "--auxiliary"
        else:
            for actuator in self.actuators:
                yield f"--command={actuator.command}"
                yield f"--measured={actuator.measured}"
            for actuator in self.actuators:
                if actuator.force:
                    yield f"--force={actuator.force}"
        if self.rate:
            yield f"--rate={float(self.rate):.12g}"
        elif self.time:
            yield f"--time={self.time}"
        if self.resample:
            yield f"--resample={float(self.resample):.12g}"
        if self.dataset:
            yield f"--dataset={self.dataset}"

    def problems(self) -> dict[Field, str]:
        """Return the problems by field; empty if the choice is valid."""
        found: dict[Field, str] = {}
        for field, rate in ((RATE, self.rate), (RESAMPLE, self.resample)):
            if rate and not _is_rate(rate):
                found[field] = "write a positive number of Hz"
        if self.auxiliary:
            return found
        if not self.actuators:
            found[ACTUATORS] = "add an actuator, or say that there are none"
        served: dict[str, Field] = {} if self.rate or not self.time else {self.time: (FILE, "time")}
        with_force = [bool(actuator.force) for actuator in self.actuators]
        for place, actuator in enumerate(self.actuators):
            for what, column in (
                ("command", actuator.command),
                ("measured", actuator.measured),
                ("force", actuator.force),
            ):
                if column in served:
                    found[place, what] = f"serves as {_field_text(served[column])} already"
                elif column:
                    served[column] = (place, what)
                elif what != "force":
                    found[place, what] = "choose a column"
                elif any(with_force):
                    found[place, what] = "every actuator needs one, or none has"
        return found

    def fits(self, columns: Sequence[FileColumn]) -> bool:
        """Return whether the file has all columns of the choice."""
        there = {column.option_value for column in columns} | {""}
        named = [name for each in self.actuators for name in (each.command, each.measured, each.force)]
        datasets = {column.dataset for column in columns} | {""}
        return there.issuperset(named) and self.time in there and self.dataset in datasets


def choice_of(guess: ColumnGuess | None) -> ColumnChoice:
    """Return the choice for a guess of the reader."""
    if guess is None:
        return ColumnChoice()
    forces = guess.force if len(guess.force) == len(guess.command) else ("",) * len(guess.command)
    actuators = tuple(map(ActuatorColumns, guess.command, guess.measured, forces))
    return ColumnChoice(
        actuators or (ActuatorColumns(),), guess.time or "", "", guess.auxiliary, dataset=guess.dataset or ""
    )


def _is_rate(text: str) -> bool:
    try:
        return 0.0 < float(text) < float("inf")
    except ValueError:
        return False


def _field_text(field: Field) -> str:
    place, what = field
    return what if place == FILE else f"{what} of actuator {place + 1}"


ROLES = ("command", "measured", "force")
NOTHING = "—"


class ColumnBox(QComboBox):
    """Combo box of columns, with an empty item first."""

    def __init__(self, columns: Sequence[FileColumn], nothing: str = NOTHING) -> None:
        super().__init__()
        self._nothing = nothing
        self.set_columns(columns)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(12)

    def set_columns(self, columns: Sequence[FileColumn]) -> None:
        """Offer other columns; the one that is chosen remains, if it is among them."""
        chosen = self.column
        with QSignalBlocker(self):
            self.clear()
            self.addItem(self._nothing, "")
            for column in columns:
                self.addItem(f"{column.name} [{column.unit}]" if column.unit else column.name, column.option_value)
            self.choose(chosen)

    @property
    def column(self) -> str:
        """Reference of the chosen column; empty: none."""
        return str(self.currentData() or "")

    def choose(self, column: str) -> None:
        """Choose a column by its reference; none if it does not exist."""
        self.setCurrentIndex(max(0, self.findData(column)))


class ActuatorRow(QWidget):
    """Row of widgets for the columns of one actuator.

    Signals
    -------
    changed : another column was chosen.
    removed : the button that removes the actuator was clicked.
    """

    changed = Signal()
    removed = Signal(object)

    def __init__(self, columns: Sequence[FileColumn], chosen: ActuatorColumns) -> None:
        super().__init__()
        self.boxes = {role: ColumnBox(columns) for role in ROLES}
        self.faults = {role: ProblemLabel() for role in ROLES}
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
            layout.addWidget(self.heads[role], 0, column)
            layout.addWidget(box, 1, column)
            layout.addWidget(fault, 2, column)
            layout.setColumnStretch(column, 1)
        self.remove.clicked.connect(self._remove)
        self.name(0)

    @property
    def columns(self) -> ActuatorColumns:
        """The chosen columns."""
        return ActuatorColumns(*(self.boxes[role].column for role in ROLES))

    def name(self, place: int) -> None:
        """Set the number of the actuator, from 0."""
        self.title.setText(f"Actuator {place + 1}")
        # column headings: above the first row only
        for head in self.heads.values():
            head.setVisible(place == 0)
        self.remove.setAccessibleName(f"remove actuator {place + 1}")
        for role, box in self.boxes.items():
            box.setAccessibleName(f"{role} of actuator {place + 1}")

    def show_problems(self, place: int, problems: Mapping[Field, str]) -> None:
        """Show problems below their fields."""
        for role, fault in self.faults.items():
            text = problems.get((place, role), "")
            fault.show_problem(text)
            self.boxes[role].setToolTip(text)

    def _remove(self) -> None:
        self.removed.emit(self)


class TimeForm(QWidget):
    """Form for the time column or the sample rate, and for a rate to interpolate to.

    Signals
    -------
    changed : a value has changed.
    """

    changed = Signal()

    def __init__(self, columns: Sequence[FileColumn], choice: ColumnChoice) -> None:
        super().__init__()
        self.column = ColumnBox(columns, "automatic")
        self.column.choose(choice.time)
        self.column.setAccessibleName("time column")
        self.rate = QLineEdit(choice.rate, placeholderText="only if there is no time column")
        self.rate.setAccessibleName("sample rate in Hz")
        self.resample = QLineEdit(choice.resample, placeholderText="only if the times are uneven")
        self.resample.setAccessibleName("rate to interpolate to in Hz")
        self.faults = {field: ProblemLabel() for field in (RATE, RESAMPLE)}
        layout = QFormLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addRow("&Time column", self.column)
        for label, field, edit in (
            ("Sample &rate [Hz]", RATE, self.rate),
            ("I&nterpolate to [Hz]", RESAMPLE, self.resample),
        ):
            layout.addRow(label, edit)
            layout.addRow("", self.faults[field])
            edit.textChanged.connect(self.changed)
        self.column.currentIndexChanged.connect(self.changed)
        self.show_problems({})

    @property
    def rate_text(self) -> str:
        """The rate as typed, with a decimal point."""
        return _decimal(self.rate.text())

    @property
    def resample_text(self) -> str:
        """The rate to interpolate to as typed, with a decimal point."""
        return _decimal(self.resample.text())

    def show_problems(self, problems: Mapping[Field, str]) -> None:
        """Show the problems of the rates below them."""
        for field, fault in self.faults.items():
            fault.show_problem(problems.get(field, ""))
        # with a rate the time column is not used
        self.column.setEnabled(not self.rate_text)


def _decimal(text: str) -> str:
    return text.strip().replace(",", ".")
