"""Column chooser: dialog that assigns the columns of a file to signals."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from PySide6.QtCore import QEvent, QObject, QSize, Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from gui.sources.opening.columns import (
    ACTUATORS,
    DATASET,
    FILE,
    ActuatorColumns,
    ActuatorRow,
    ColumnChoice,
    Field,
    TimeForm,
)
from gui.sources.replay_bar.overview import ColumnPreview
from gui.widgets.layout import fill
from gui.widgets.painting import MutedLabel, PlainLabel, ProblemLabel, plain_tip
from gui.widgets.theme import applied_theme
from monitor.messages.recordings import Description, FileColumn, Overview

_MOST_NOTES = 5
_OPTIONS = re.compile(r"[\s:;,(]*(name them with|or name one with|name one with|give) --.*$")


class ColumnChooser(QDialog):
    """Dialog for command, measured signal and force of each actuator, and the time.

    After `wanted` it stays open until `settle` or `refuse` is called, or it is cancelled.

    Parameters
    ----------
    title : name of the file.
    description : with its columns.
    choice : initial choice.

    Signals
    -------
    wanted : a valid `ColumnChoice`, to be tried.
    dataset_chosen : another dataset of the file was chosen; empty: all of them.
    """

    wanted = Signal(object)
    dataset_chosen = Signal(str)

    def __init__(
        self, title: str, description: Description, choice: ColumnChoice, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.theme = applied_theme()
        self._columns, self._datasets = description.columns, description.datasets
        self._names = {column.option_value: column.name for column in description.columns}
        self._overview: Overview | None = None
        self._empty_text = "no preview"
        self._asking = False
        self.rows: list[ActuatorRow] = []
        self.setWindowTitle(f"Columns of {title}")
        self.heading = PlainLabel(_question(description), wordWrap=True)
        self.notes = MutedLabel()
        self.show_notes(description.notes)
        self.dataset = QComboBox()
        self.dataset.setAccessibleName("dataset of the file")
        self.dataset.addItem("all datasets", "")
        for name in self._datasets:
            n_columns = sum(column.dataset == name for column in self._columns)
            self.dataset.addItem(f"{name}   ({n_columns} {'column' if n_columns == 1 else 'columns'})", name)
        self.dataset.setCurrentIndex(max(0, self.dataset.findData(choice.dataset)))
        self.auxiliary = QCheckBox("There are no actuators: show every column as it is")
        self.auxiliary.setChecked(choice.auxiliary)
        self.add = QPushButton("&Add an actuator")
        self.time = TimeForm(self._shown_columns, choice)
        self.remember = QCheckBox("Re&member this beside the file, also for the command line")
        self.remember.setToolTip(f"Writes {title}.synchroscope.toml, which is read whenever the file is")
        self.problems = {field: ProblemLabel(self) for field in (DATASET, ACTUATORS, (FILE, "file"))}
        self.preview = ColumnPreview(self.theme)
        self.buttons = QDialogButtonBox(
            QDialogButtonBox.StandardButton.Open | QDialogButtonBox.StandardButton.Cancel, self
        )
        self._rows = QVBoxLayout()
        self._lay_out()
        for actuator in choice.actuators or (ActuatorColumns(),):
            self._add_row(actuator)
        self.add.clicked.connect(self._add_empty)
        self.auxiliary.toggled.connect(self._check)
        self.dataset.currentIndexChanged.connect(self._choose_dataset)
        self.time.changed.connect(self._check)
        self.buttons.accepted.connect(self._submit)
        self.buttons.rejected.connect(self.reject)
        self._check()

    @property
    def choice(self) -> ColumnChoice:
        """The current choice, valid or not."""
        columns = tuple(row.columns for row in self.rows)
        time = self.time
        without = self.auxiliary.isChecked()
        dataset = str(self.dataset.currentData() or "")
        return ColumnChoice(columns, time.column.column, time.rate_text, without, time.resample_text, dataset)

    @property
    def has_datasets(self) -> bool:
        """Whether the file has several datasets."""
        return bool(self._datasets)

    @property
    def can_open(self) -> bool:
        """Whether the choice is valid as far as is known without the file."""
        return not self._problems

    def fill(self, choice: ColumnChoice) -> None:
        """Set the actuators and the time column to those of a choice, in the dataset that is chosen."""
        for row in tuple(self.rows):
            self._remove_row(row)
        for actuator in choice.actuators or (ActuatorColumns(),):
            self._add_row(actuator)
        self.time.column.choose(choice.time)
        self._check()

    def show_notes(self, notes: Sequence[str]) -> None:
        """Show what the reader took for granted or left out, the first of many; the tool tip has all."""
        more = len(notes) - _MOST_NOTES
        shown = [*notes[:_MOST_NOTES], *([f"and {more} more: hold the pointer here"] if more > 0 else [])]
        self.notes.setText("\n".join(f"• {note}" for note in shown))
        self.notes.setToolTip(plain_tip("\n".join(notes)))
        self.notes.setVisible(bool(notes))

    def show_preview(self, overview: Overview | None, text: str = "no preview") -> None:
        """Draw a preview of the chosen columns; `text` is shown if there is none."""
        self._overview, self._empty_text = overview, text
        self._draw()

    def settle(self) -> None:
        """Accept the choice and close."""
        self._asking = False
        self.accept()

    def refuse(self, why: str) -> None:
        """Show why the file cannot be read with this choice."""
        self._asking = False
        self._check()
        self.problems[FILE, "file"].show_problem(why)

    def _lay_out(self) -> None:
        inner = QWidget()
        fill(QVBoxLayout(inner), self._rows, None, margins=(0, 0, 0, 0))
        scroll = _Rows(widgetResizable=True)
        scroll.setWidget(inner)
        scroll.setFrameShape(QScrollArea.Shape.NoFrame)
        # as high as the rows, if there is room; the preview uses the rest
        scroll.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        layout = fill(QVBoxLayout(self), self.heading, self.notes)
        if self._datasets:
            form = QFormLayout()
            form.addRow("&Dataset", self.dataset)
            layout.addLayout(form)
            layout.addWidget(self.problems[DATASET])
        layout.addWidget(self.auxiliary)
        layout.addWidget(scroll)
        layout.addWidget(self.problems[ACTUATORS])
        layout.addWidget(self.add, alignment=Qt.AlignmentFlag.AlignLeft)
        layout.addWidget(self.time)
        layout.addWidget(self.preview, 1)
        layout.addWidget(self.remember)
        layout.addWidget(self.problems[FILE, "file"])
        layout.addWidget(self.buttons)
        self.resize(760, 560)

    def _add_empty(self) -> None:
        self._add_row(ActuatorColumns())
        self._check()
        self.rows[-1].boxes["command"].setFocus()

    def _add_row(self, columns: ActuatorColumns) -> None:
        row = ActuatorRow(self._shown_columns, columns)
        row.changed.connect(self._check)
        row.removed.connect(self._remove_row)
        self.rows.append(row)
        self._rows.addWidget(row)

    def _remove_row(self, row: ActuatorRow) -> None:
        self.rows.remove(row)
        self._rows.removeWidget(row)
        row.hide()
        row.deleteLater()
        self._check()

    @property
    def _shown_columns(self) -> Sequence[FileColumn]:
        """The columns of the dataset that is chosen."""
        dataset = self.dataset.currentData()
        return [column for column in self._columns if not dataset or column.dataset == dataset]

    def _choose_dataset(self) -> None:
        boxes = [box for row in self.rows for box in row.boxes.values()]
        for box in (*boxes, self.time.column):
            box.set_columns(self._shown_columns)
        self._check()
        self.dataset_chosen.emit(self.choice.dataset)

    @property
    def _problems(self) -> dict[Field, str]:
        choice = self.choice
        problems = choice.problems()
        if choice.auxiliary and self.has_datasets and not choice.dataset:
            problems[DATASET] = "choose one: the columns of all were not sampled together"
        return problems

    def _check(self) -> None:
        """Show problems at their fields; without any, the button is enabled."""
        choice = self.choice
        problems = self._problems
        for place, row in enumerate(self.rows):
            row.name(place)
            row.setEnabled(not choice.auxiliary)
            row.show_problems(place, problems)
        self.add.setEnabled(not choice.auxiliary)
        self.time.show_problems(problems)
        for field in self.problems:
            self.problems[field].show_problem(problems.get(field, ""))
        self._enable(problems)
        self._draw()

    def _enable(self, problems: Mapping[Field, str]) -> None:
        button = self.buttons.button(QDialogButtonBox.StandardButton.Open)
        button.setEnabled(not problems and not self._asking)

    def _draw(self) -> None:
        choice = self.choice
        if choice.auxiliary:
            curves = list(zip((column.name for column in self._shown_columns), self.theme.series, strict=False))
        else:
            pairs = [(each.command, self.theme.command) for each in choice.actuators]
            pairs += [(each.measured, self.theme.measured) for each in choice.actuators]
            curves = [(self._names[column], colour) for column, colour in pairs if column]
        text = self._empty_text if curves else "choose columns to see them here"
        self.preview.show_curves(self._overview, curves, text)

    def _submit(self) -> None:
        if self.can_open and not self._asking:
            self._asking = True
            self._enable({})
            self.problems[FILE, "file"].show_problem("")
            self.wanted.emit(self.choice)


class _Rows(QScrollArea):
    """Scroll area that is as high as its contents."""

    def sizeHint(self) -> QSize:
        held, hint = self.widget(), super().sizeHint()
        return QSize(hint.width(), held.sizeHint().height()) if isinstance(held, QWidget) else hint

    def minimumSizeHint(self) -> QSize:
        return super().minimumSizeHint().boundedTo(self.sizeHint())

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() is QEvent.Type.LayoutRequest:
            self.updateGeometry()
        return super().eventFilter(watched, event)


def _question(description: Description) -> str:
    """Return what must be chosen, without the advice on command line options."""
    asked = _OPTIONS.sub("", description.problem)
    asked = asked[:1].upper() + asked[1:]
    if description.problem and description.guess is not None and description.guess.dataset:
        return f"{asked}: choose one."
    if description.problem and description.guess is not None:
        return f"{asked} By their values perhaps these:"
    return asked or "What do the columns of this file mean?"
