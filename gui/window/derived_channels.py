"""Derived channels: the dialog that defines them by formulas, and their controller."""

from __future__ import annotations

from collections.abc import Sequence
from weakref import ref

from PySide6.QtCore import QSignalBlocker, QSize, Qt, Signal
from PySide6.QtWidgets import (
    QDialog,
    QFormLayout,
    QHBoxLayout,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from gui.model.derived import MAX_DERIVED, DerivedChannel, check_names, from_text, to_text
from gui.model.formula import FUNCTIONS, MAX_LENGTH, FormulaError, compile_formula, reference
from gui.model.history import History
from gui.panels.histories import HistoriesPanel
from gui.widgets.layout import fill
from gui.widgets.painting import ElidedLabel, PlainLabel, plain_tip
from gui.widgets.signal_drag import drag_signals
from gui.window.window import Controller, MainWindow

_NAME = Qt.ItemDataRole.UserRole
_NO_SIGNALS = "open a source with signals first: formulas are checked against its channels"
_HEIGHT = 5  # lines of a list, at least
_SIZE = 138, 36  # of the dialog, characters and lines


class _List(QListWidget):
    """List of texts with names; those of signals can be dragged onto plots."""

    def __init__(self, name: str, *, signals: bool = False) -> None:
        super().__init__()
        self.setAccessibleName(name)
        self.setDragEnabled(signals)
        self.setMinimumHeight(_HEIGHT * self.fontMetrics().lineSpacing())
        self.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)

    def add(self, name: str, text: str, tip: str = "") -> None:
        """Add an item."""
        item = QListWidgetItem(text, self)
        item.setData(_NAME, name)
        item.setToolTip(plain_tip(tip or text))

    @property
    def current(self) -> str:
        """Name of the selected item; empty where there is none."""
        item = self.currentItem()
        return "" if item is None else str(item.data(_NAME))

    def startDrag(self, supported: Qt.DropAction) -> None:  # noqa: ARG002, N802 - Qt's name and arguments
        """Drag the selected signal."""
        if self.current:
            drag_signals(self, [self.current])


class DerivedDialog(QDialog):
    """Defines derived channels; it is not modal: the window continues to show data.

    Signals
    -------
    changed : all definitions, and the name of the one that was added or changed; empty where one was deleted.
    """

    changed = Signal(tuple, str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("derived")
        self.setWindowTitle("Derived channels")
        self._definitions: tuple[DerivedChannel, ...] = ()
        self._names: tuple[str, ...] | None = None
        self._rate = 1.0
        self.defined, self.signals = _List("derived channels"), _List("channels", signals=True)
        self.functions = _List("functions")
        self.name, self.unit, self.formula = QLineEdit(), QLineEdit(), QLineEdit()
        self.problem = PlainLabel(" ", wordWrap=True)
        # so that a wrapped message is not cut
        self.problem.setMinimumHeight(2 * self.fontMetrics().lineSpacing())
        self.problem.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.add, self.change = QPushButton("Add"), QPushButton("Change")
        self.delete, close = QPushButton("Delete"), QPushButton("Close")
        self._lay_out(close)
        for text, meaning in FUNCTIONS.items():
            for each in text.split("), "):
                written = each if each.endswith(")") else f"{each})"
                self.functions.add(written, f"{written}   {meaning}" if meaning else written)
        for field in (self.name, self.unit, self.formula):
            field.textEdited.connect(self._check)
        self.defined.currentRowChanged.connect(self._select)
        for chosen in (self.signals, self.functions):
            chosen.itemActivated.connect(self._insert)
        self.add.clicked.connect(lambda: self._save(replacing=False))
        self.change.clicked.connect(lambda: self._save(replacing=True))
        self.delete.clicked.connect(self._delete)
        close.clicked.connect(self.close)
        self._check()

    def _lay_out(self, close: QPushButton) -> None:
        self.formula.setMaxLength(2 * MAX_LENGTH)
        self.formula.setPlaceholderText("(north.command - north.measured) * 1e3")
        self.unit.setPlaceholderText("as mm; empty: unknown")
        form = QFormLayout()
        for label, field in (("&Name", self.name), ("&Unit", self.unit), ("&Formula", self.formula)):
            form.addRow(label, field)
            field.setAccessibleName(label.replace("&", "").lower())
        commands = QHBoxLayout()
        for button in (self.add, self.change, self.delete):
            # Enter in a field is handled by that field
            button.setAutoDefault(button is self.add)
            commands.addWidget(button)
        commands.addStretch(1)
        commands.addWidget(close)
        close.setAutoDefault(False)
        lists = QHBoxLayout()
        for title, part, share in (("Channels", self.signals, 2), ("Functions", self.functions, 3)):
            column = fill(QVBoxLayout(), PlainLabel(title), part)
            lists.addLayout(column, share)
        fill(
            QVBoxLayout(self),
            (self.defined, 2),
            form,
            self.problem,
            ElidedLabel("A double click inserts; channels can be dragged onto plots."),
            (lists, 3),
            commands,
        )
        metrics, screen = self.fontMetrics(), self.screen().availableSize()
        wanted = QSize(_SIZE[0] * metrics.averageCharWidth(), _SIZE[1] * metrics.lineSpacing())
        self.resize(wanted.boundedTo(screen))

    def show_channels(self, definitions: Sequence[DerivedChannel], history: History) -> None:
        """Show the definitions, and the signals of a history."""
        signals = history.signals
        self._definitions = tuple(definitions)
        self._names = None if signals is None else tuple(signals.named)
        self._rate = 1.0 if signals is None else signals.sample_rate
        selected = self.defined.current
        problems = {} if signals is None else signals.derived_problems
        with QSignalBlocker(self.defined):
            self.defined.clear()
            for each in definitions:
                unit, problem = f" [{each.unit}]" if each.unit else "", problems.get(each.name, "")
                text = f"{each.name}{unit} = {each.formula}"
                self.defined.add(each.name, f"▲ {text}   not computed: {problem}" if problem else text)
            self._choose(selected)
        self.signals.clear()
        for signal in () if signals is None else signals.named.values():
            unit = f" [{signal.unit}]" if signal.unit else ""
            self.signals.add(signal.name, f"{signal.name}{unit}")
        self._check()

    def _select(self, row: int) -> None:
        if 0 <= row < len(self._definitions):
            chosen = self._definitions[row]
            for field, text in ((self.name, chosen.name), (self.unit, chosen.unit), (self.formula, chosen.formula)):
                field.setText(text)
        self._check()

    def _insert(self, item: QListWidgetItem) -> None:
        """Write a signal or function at the cursor of the formula."""
        name = str(item.data(_NAME))
        self.formula.insert(reference(name) if item.listWidget() is self.signals else name)
        self.formula.setFocus()
        self._check()

    @property
    def _typed(self) -> DerivedChannel:
        return DerivedChannel(self.name.text().strip(), self.unit.text().strip(), self.formula.text().strip())

    def _problem(self, *, replacing: bool) -> str:
        """Return why what is typed cannot be added, or replace the selected channel; empty if it can."""
        if self._names is None:
            return _NO_SIGNALS
        if not replacing and len(self._definitions) >= MAX_DERIVED:
            return f"at most {MAX_DERIVED} derived channels are possible"
        selected = self.defined.currentRow() if replacing else len(self._definitions)
        earlier = [each.name for each in self._definitions[:selected]]
        later = [each.name for each in self._definitions[selected + 1 :]]
        basic = [name for name in self._names if name not in (each.name for each in self._definitions)]
        typed = self._typed
        if problem := check_names(typed, [*basic, *earlier, *later]):
            return problem
        try:
            compile_formula(self.formula.text(), [*basic, *earlier], self._rate)
        except FormulaError as refused:
            return str(refused)
        old = self._definitions[selected].name if replacing else typed.name
        return self._used(old, but=selected) if old != typed.name else ""

    def _used(self, name: str, *, but: int = -1) -> str:
        """Return which channel uses a derived channel; empty if none does."""
        names = [*(self._names or ()), *(each.name for each in self._definitions)]
        for place, each in enumerate(self._definitions):
            try:
                inputs = compile_formula(each.formula, names, self._rate).inputs
            except FormulaError:
                continue
            if place != but and name in inputs:
                return f"{name} is used by {each.name}"
        return ""

    def _check(self) -> None:
        """Enable what is possible; the message is that of the typed channel."""
        untouched = not (self.name.text() or self.formula.text())
        selected = self.defined.currentRow() >= 0
        adding = self._problem(replacing=False)
        changing = self._problem(replacing=True) if selected else adding
        same = selected and self._typed == self._definitions[self.defined.currentRow()]
        used = self._used(self.defined.current) if selected else ""
        self.add.setEnabled(not adding)
        self.change.setEnabled(selected and not changing and not same)
        self.delete.setEnabled(selected and not used)
        self.delete.setToolTip(used)
        self.change.setToolTip(changing if selected else "")
        # another name than that of the selected channel is for a new one
        problem = changing if selected and self._typed.name == self.defined.current else adding
        quiet = not problem or (untouched and self._names is not None)
        self.problem.setText(" " if quiet else problem)

    def _save(self, *, replacing: bool) -> None:
        if self._problem(replacing=replacing):
            return
        typed, definitions = self._typed, [*self._definitions]
        if replacing:
            definitions[self.defined.currentRow()] = typed
        else:
            definitions.append(typed)
        self._emit(definitions, typed.name)

    def _delete(self) -> None:
        definitions = [*self._definitions]
        del definitions[self.defined.currentRow()]
        self._emit(definitions, "")

    def _emit(self, definitions: Sequence[DerivedChannel], name: str) -> None:
        self.changed.emit(tuple(definitions), name)
        self._choose(name)
        self._check()

    def _choose(self, name: str) -> None:
        """Select a definition; none where there is none of that name."""
        names = [each.name for each in self._definitions]
        self.defined.setCurrentRow(names.index(name) if name in names else -1)


_KEY = "channels/derived"


class DerivedChannelController(Controller):
    """Shows the dialog, and stores what is defined."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._panel = window.dock_area.panel(HistoriesPanel)
        self._dialog: DerivedDialog | None = None
        self._shown: tuple[object, ...] = ()
        try:
            stored = self._store.value(_KEY, "")
            window.connection.derive(from_text(stored) if isinstance(stored, str) and stored else ())
        except ValueError:
            self._notify("warning", "the stored derived channels cannot be read: none are shown")
        self._actions.connect({"window.derived": self._present})
        self._panel.derived_wanted.connect(self._actions["window.derived"].trigger)
        window.ticked.connect(self._update)

    def _present(self) -> None:
        if self._dialog is None:
            self._dialog = DerivedDialog(self._window)
            self._dialog.changed.connect(self._set)
        self._dialog.show()
        self._dialog.raise_()
        self._dialog.activateWindow()
        self._dialog.name.setFocus()
        self._shown = ()
        self._update()

    def _set(self, definitions: tuple[DerivedChannel, ...], name: str) -> None:
        self._window.connection.derive(definitions)
        self._store.setValue(_KEY, to_text(definitions))
        if name:
            self._panel.show_derived(name)
        self._update()
        self._window.redraw()

    def _update(self) -> None:
        """Show other definitions and channels in the dialog."""
        connection = self._window.connection
        # not the history itself: its memory is freed when another one is opened
        state = ref(connection.history), connection.history.generation, connection.derived
        if self._dialog is None or not self._dialog.isVisible() or state == self._shown:
            return
        self._shown = state
        self._dialog.show_channels(connection.derived, connection.history)
