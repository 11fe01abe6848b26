"""File opener: describes a file in another process, asks for its columns if needed, and emits the source."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import msgspec
from PySide6.QtCore import QObject, QSettings, Signal
from PySide6.QtWidgets import QFileDialog, QWidget

from gui.sources.opening.column_chooser import ColumnChooser
from gui.sources.opening.columns import ColumnChoice, choice_of
from gui.sources.opening.connect_dialog import RecentList
from gui.sources.processes.catalogue import Catalogue, describe_job
from gui.sources.processes.child_process import ChildProcess, CommandJob, ProcessFactory
from gui.sources.processes.recording import JOIN, OpenRecording, parts_of
from monitor.messages.recordings import Description, FileColumn

_MOST = 50
_decoder = msgspec.json.Decoder(ColumnChoice)


class ColumnMemory:
    """The last fifty choices of columns.

    Parameters
    ----------
    settings : that store them.
    """

    def __init__(self, settings: QSettings) -> None:
        self._settings = settings
        self._known = RecentList(settings, "columns/known", _MOST)

    def recall(self, columns: Sequence[FileColumn]) -> ColumnChoice | None:
        """Return the last choice for these columns; None if there is none, or the settings are damaged."""
        try:
            choice: ColumnChoice = _decoder.decode(str(self._settings.value(_key(columns), "")))
        except msgspec.DecodeError:
            return None
        return choice if choice.fits(columns) and not choice.problems() else None

    def remember(self, columns: Sequence[FileColumn], choice: ColumnChoice) -> None:
        """Store a choice, and drop the oldest if there are too many."""
        before, key = self._known.texts, _key(columns)
        self._settings.setValue(key, msgspec.json.encode(choice).decode())
        self._known.add(key)
        for forgotten in set(before) - set(self._known.texts):
            self._settings.remove(forgotten)


def _key(columns: Sequence[FileColumn]) -> str:
    # independent of the order: a choice names its columns
    names = "\n".join(sorted(column.option_value for column in columns))
    return f"columns/{hashlib.sha256(names.encode()).hexdigest()[:24]}"


def _part_order(path: Path) -> tuple[list[str], list[int]]:
    """Sort ``run`` before ``run-2``, and that before ``run-10``."""
    return re.findall(r"\D+", path.stem)[:1], [int(digits) for digits in re.findall(r"\d+", path.stem)]


_FOLDER = "open/folder"
_NO_ROLES = "no command and no measured signal"
_REMEMBER = "--remember"  # option that writes the choice beside the file
_SHOWN_AS_EVENTS = ("note at ", "alarm ")  # of a run file


class Opener(QObject):
    """Opens one file at a time, without blocking.

    Parameters
    ----------
    window : parent of the dialogs.
    settings : that store the choices.
    offers : file formats.
    launch : creates processes.

    Signals
    -------
    opened : an `OpenRecording`.
    progress : status text; empty: none.
    notified : level and text.
    failed : why the file cannot be opened.
    """

    opened = Signal(object)
    progress = Signal(str)
    notified = Signal(str, str)
    failed = Signal(str)

    def __init__(
        self,
        window: QWidget,
        settings: QSettings,
        offers: Catalogue,
        *,
        launch: ProcessFactory = ChildProcess,
    ) -> None:
        super().__init__(window)
        self.chooser: ColumnChooser | None = None
        self._window, self._settings, self._offers, self._launch = window, settings, offers, launch
        self._memory = ColumnMemory(settings)
        self._path = Path()
        self._words: tuple[str, ...] = ()
        self._parts: tuple[str, ...] = ()
        self._choose = False
        self._whole: tuple[str, ...] = ()
        self._choice: ColumnChoice | None = None
        self._first: Description | None = None
        self._asked: list[CommandJob] = []

    def ask(self) -> None:
        """Choose a file in a dialog."""
        folder = str(self._settings.value(_FOLDER, ""))
        dialog = QFileDialog(self._window, "Open a recording", folder, self._offers.filters)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
        dialog.setLabelText(QFileDialog.DialogLabel.FileName, "File, or parts of a run")
        dialog.filesSelected.connect(self.open_paths)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def open_paths(self, paths: Sequence[str]) -> None:
        """Open a file, or several as the parts of one run, in the order of the numbers in their names."""
        first, *others = sorted(map(Path, paths), key=_part_order)
        self.open_path(first, (*(str(path.absolute()) for path in others), *([JOIN] if others else [])))

    def open_path(
        self, path: str | Path, words: tuple[str, ...] = (), *, choose: bool = False, whole: bool = False
    ) -> None:
        """Open a file; `words` are options of `replay` for its columns, after further parts of the run and `JOIN`.

        `choose`: always show the dialog. `whole`: a long file is described by all of its rows.
        """
        self.stop()
        # made absolute, a name cannot look like an option
        self._path = Path(path).absolute()
        self._parts = parts_of(words)
        words = words[len(self._parts) :]
        self._words, self._choose, self._choice = words, choose, None
        self._whole = ("--whole",) if whole else ()
        self._settings.setValue(_FOLDER, str(self._path.parent))
        self._describe(words).done.connect(self._accept_first)

    def stop(self) -> None:
        """Cancel."""
        self._cancel_description()
        if self.chooser is not None:
            self.chooser.reject()

    @property
    def busy(self) -> bool:
        """Whether a file is being read, or its columns are being chosen."""
        return bool(self.processes) or self.chooser is not None

    @property
    def reading(self) -> str:
        """Name of the file that is being read; empty: none, or its columns are being chosen."""
        return self._path.name if self.processes and self.chooser is None else ""

    @property
    def processes(self) -> tuple[ChildProcess, ...]:
        """The running processes."""
        return tuple(each.process for each in self._asked if each.process is not None)

    def _describe(self, words: tuple[str, ...], *, quietly: bool = False) -> CommandJob:
        describing = describe_job((str(self._path), *self._parts, *words, *self._whole), self, launch=self._launch)
        self._asked.append(describing)
        if not quietly:
            self.progress.emit(f"reading {self._path.name} ...")
            describing.done.connect(self._arrived)
            describing.failed.connect(self._fail)
        describing.start()
        return describing

    def _cancel_description(self) -> None:
        for describing in self._asked:
            describing.stop()
        self._asked.clear()
        self.progress.emit("")

    def _arrived(self) -> None:
        self.progress.emit("")

    def _fail(self, why: str) -> None:
        self.progress.emit("")
        if self.chooser is not None:
            self.chooser.refuse(why)
        elif self._choice is not None and self._first is not None:
            # the stored choice is no longer valid
            self._ask_columns(self._first, self._choice, why)
        else:
            self.failed.emit(why)

    def _accept_first(self, description: Description) -> None:
        """Open the file if no choice is needed; else use the stored choice, or show the dialog."""
        self._first = description
        given = bool(set(self._words) - {_REMEMBER}) or description.remembered
        known = self._memory.recall(description.columns) if description.columns and not given else None
        if self._choose and description.columns:
            self._ask_columns(description, known or choice_of(description.guess))
        elif known is not None:
            self._choice = known
            self._describe((*known.words, *self._stored)).done.connect(self._accept_choice)
        elif description.problem or (description.columns and description.guess is None):
            self._ask_columns(description, choice_of(description.guess))
        else:
            self._open(self._words, description)

    def _ask_columns(self, description: Description, choice: ColumnChoice, problem: str = "") -> None:
        chooser = ColumnChooser(self._path.name, description, choice, self._window)
        # one that is remembered would else override what is chosen now
        chooser.remember.setChecked(_REMEMBER in self._words or description.remembered)
        chooser.wanted.connect(self._try)
        chooser.dataset_chosen.connect(self._read_dataset)
        chooser.rejected.connect(self._cancel_description)
        chooser.finished.connect(self._drop_chooser)
        self.chooser = chooser
        if problem:
            chooser.refuse(problem)
        self._preview_dataset(chooser.choice.dataset)
        chooser.open()

    @property
    def _stored(self) -> tuple[str, ...]:
        """The option that writes the choice beside the file, where that is wanted."""
        wanted = _REMEMBER in self._words if self.chooser is None else self.chooser.remember.isChecked()
        return (_REMEMBER,) if wanted else ()

    def _read_dataset(self, dataset: str) -> None:
        """Fill the chooser with the proposed roles of the columns of another dataset, and draw them."""
        self._cancel_description()
        if dataset:
            describing = self._describe((f"--dataset={dataset}",), quietly=True)
            describing.done.connect(self._fill)
        self._preview_dataset(dataset)

    def _fill(self, description: Description) -> None:
        if self.chooser is not None:
            self.chooser.fill(choice_of(description.guess))
            self.chooser.show_notes(description.notes)

    def _preview_dataset(self, dataset: str) -> None:
        assert self.chooser is not None
        if self.chooser.has_datasets and not dataset:
            self.chooser.show_preview(None, "choose a dataset to see its columns")
            return
        self.chooser.show_preview(None, "reading the file ...")
        self._preview(("--auxiliary", f"--dataset={dataset}") if dataset else ("--auxiliary",))

    def _preview(self, words: tuple[str, ...]) -> None:
        describing = self._describe(words, quietly=True)
        describing.done.connect(partial(self._show_preview, words))
        describing.failed.connect(self._show_no_preview)

    def _show_preview(self, words: tuple[str, ...], description: Description) -> None:
        if self.chooser is None:
            return
        if description.overview is not None and description.overview.channels:
            self.chooser.show_preview(description.overview)
            if "--rate=1" not in words:
                # but for the one on the preview itself
                self.chooser.show_notes([each for each in description.notes if not each.startswith(_NO_ROLES)])
        elif description.sample_rate is None and "--rate=1" not in words:
            # the times are not known yet, and not needed for the curves
            self._preview((*words, "--rate=1"))
        else:
            self.chooser.show_preview(None)

    def _show_no_preview(self, why: str) -> None:
        if self.chooser is not None:
            self.chooser.show_preview(None, why)

    def _try(self, choice: ColumnChoice) -> None:
        self._choice = choice
        self._describe((*choice.words, *self._stored)).done.connect(self._accept_choice)

    def _accept_choice(self, description: Description) -> None:
        choice = self._choice
        assert choice is not None
        if description.problem:
            self._fail(description.problem)
            return
        if self.chooser is not None:
            self.chooser.settle()
            self._memory.remember(description.columns, choice)
        else:
            self.notified.emit("info", f"{self._path.name}: columns as you chose them last time")
        self._open(choice.words, description)

    def _open(self, words: tuple[str, ...], description: Description) -> None:
        for note in description.notes:
            # notes and alarms of a run are among its events
            if not description.events or not note.startswith(_SHOWN_AS_EVENTS):
                self.notified.emit("info", f"{self._path.name}: {note}")
        words = tuple(word for word in words if word != _REMEMBER)
        self.opened.emit(OpenRecording(self._path, (*self._parts, *words), description))

    def _drop_chooser(self) -> None:
        if self.chooser is not None:
            self.chooser.deleteLater()
            self.chooser = None
