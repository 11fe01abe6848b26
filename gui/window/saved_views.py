"""Views of a recording: saved as files that a colleague opens, and kept over a reload or the end of the program."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Callable
from contextlib import suppress
from enum import IntEnum
from functools import partial
from pathlib import Path

import msgspec
from PySide6.QtCore import QFileSystemWatcher, QLockFile, QTimer

from gui.model.history import History
from gui.panels.over_time import TimePanel
from gui.plots.value_axis import Bounds
from gui.sources.processes.recording import JOIN, OpenRecording, n_files, parts_of
from gui.sources.processes.session import SourceSpec
from gui.widgets.menus import ask_path
from gui.window.launch import VIEW
from gui.window.layout_controller import LayoutController
from gui.window.runs import ComparedFile, ComparisonController
from gui.window.source_controller import SourceController
from gui.window.window import Controller, MainWindow
from monitor.messages.requests import NoteRequest
from monitor.system.files import WriteError, atomic_write, check_regular

_MOST = 1 << 20  # bytes; longer files are not ours
_KINDS = f"Views (*{VIEW})"
_CHANGED = "was written again"
_FOLLOWS = "was written: it may be the next part of this run"
UNCLOSED = "view/unclosed"
"""Key of the settings with the view of a window that is open."""
_KEEP_INTERVAL = 20_000  # ms


class SavedView(msgspec.Struct, frozen=True, tag_field="synchroscope", tag="view 1"):
    """What is shown of a recording.

    Parameters
    ----------
    recording : its file and the words that choose its columns.
    span, instant, cursors : of the view, the play head and the numbered cursors, s on the display's axis.
    rows : shown by each panel over time.
    scales : set by hand, of the rows of each panel.
    notes : added to the recording.
    layout, arrangement : name of the layout, and where the panels are, in base64.
    """

    recording: tuple[str, ...]
    span: tuple[float, float]
    instant: float | None = None
    cursors: tuple[float, ...] = ()
    actuator: str = ""
    rows: dict[str, tuple[str, ...]] = {}
    scales: dict[str, dict[str, Bounds]] = {}
    compared: tuple[ComparedFile, ...] = ()
    notes: tuple[NoteRequest, ...] = ()
    layout: str = ""
    arrangement: str = ""


def write_view(view: SavedView, path: Path) -> None:
    """Write a view; its recordings are named as seen from its folder, so that both can be moved together.

    Raises
    ------
    WriteError : it cannot be written.
    """

    def seen(file: str) -> str:
        try:
            return os.path.relpath(file, path.parent)
        except ValueError:
            # on another drive
            return file

    with atomic_write(path) as file:
        file.write(msgspec.json.format(msgspec.json.encode(_renamed(view, seen)), indent=2))


def _renamed(view: SavedView, name: Callable[[str], str]) -> SavedView:
    """Return a view with other names of its files."""

    def named(words: tuple[str, ...]) -> tuple[str, ...]:
        n = n_files(words)
        return *map(name, words[:n]), *words[n:]

    compared = tuple(msgspec.structs.replace(each, source=named(each.source)) for each in view.compared)
    return msgspec.structs.replace(view, recording=named(view.recording), compared=compared)


def read_view(path: Path) -> SavedView:
    """Return a view whose recordings are there, with their absolute paths.

    Raises
    ------
    ValueError : it is none of ours, or a recording is gone.
    OSError : it cannot be read.
    """
    check_regular(path, _MOST)
    try:
        view = msgspec.json.decode(path.read_bytes(), type=SavedView)
        base64.b64decode(view.arrangement, validate=True)
        if not all([view.recording, *(each.source for each in view.compared)]):
            raise ValueError("it names no recording")
    except (msgspec.DecodeError, ValueError, RecursionError) as problem:
        raise ValueError(f"{path}: is no view that File > Save view as wrote ({problem})") from problem
    return _renamed(view, partial(_found, path))


def _found(path: Path, name: str) -> str:
    """Return where a recording is: as seen from the view's folder, or in that folder."""
    for place in (path.parent / name, path.parent / Path(name).name):
        if place.is_file():
            return str(place.resolve())
    raise ValueError(f"{path}: its recording {name} is gone: put it beside the view")


class _Stage(IntEnum):
    """How far a view is shown: its recording is asked for, opened, has its signals, and the span is set."""

    ASKED = 0
    OPENED = 1
    LOADED = 2
    PLACED = 3


class ViewController(Controller):
    """Saves and opens views, and reloads a recording without losing its view.

    Parameters
    ----------
    window, layouts : what is saved and shown again; the settings have the view of a window that was not closed.
    sources, comparison : open the recordings.
    """

    def __init__(
        self,
        window: MainWindow,
        sources: SourceController,
        comparison: ComparisonController,
        layouts: LayoutController,
    ) -> None:
        super().__init__(window)
        self._sources, store = sources, window.store
        # one window keeps its view; the lock of a process that has ended is free
        with suppress(OSError):
            Path(store.fileName()).parent.mkdir(parents=True, exist_ok=True)
        self._lock, self._timer = QLockFile(f"{store.fileName()}.view"), QTimer(self)
        self._lock.setStaleLockTime(0)
        if self._lock.tryLock(0):
            self._timer.timeout.connect(self.keep)
            self._timer.start(_KEEP_INTERVAL)
            window.closing.connect(self._close)
        self._comparison, self._layouts = comparison, layouts.layouts
        self._wanted: SavedView | None = None
        self._stage = _Stage.ASKED
        self._read: tuple[int, int, int] | None = None
        self._next: Path | None = None
        self._watcher = QFileSystemWatcher(self)
        self._watcher.fileChanged.connect(self._check_file)
        self._watcher.directoryChanged.connect(self._check_file)
        sources.opened.connect(self._on_opened)
        sources.opener.failed.connect(self._forget)
        sources.sessions.loaded.connect(self._on_loaded)
        sources.sessions.changed.connect(self._on_changed)
        window.ticked.connect(self._show_wanted)
        self._actions.connect(
            {"file.save_view": self._ask_save, "file.open_view": self._ask, "file.reload": self.reload}
        )

    def offer_unclosed(self) -> None:
        """Offer the view of a window that was not closed, as after a power failure."""
        with suppress(msgspec.DecodeError):
            if self._timer.isActive() and (kept := str(self._store.value(UNCLOSED, ""))):
                self._store.remove(UNCLOSED)
                view = msgspec.json.decode(kept, type=SavedView)
                text = f"{Path(view.recording[0]).name} was shown when the window ended without being closed"
                self._window.notification_bar.offer(text, "Show it again", partial(self._show, view))

    def keep(self) -> None:
        """Keep the view of the recording that is shown, until the window is closed."""
        if isinstance(self._sources.source, OpenRecording) and self._window.is_configured:
            view = _renamed(self.current, os.path.abspath)
            self._store.setValue(UNCLOSED, msgspec.json.encode(view).decode())
        else:
            self._store.remove(UNCLOSED)
        self._store.sync()

    def _close(self) -> None:
        self._timer.stop()
        self._store.remove(UNCLOSED)
        self._lock.unlock()

    def save(self, path: Path) -> None:
        """Write the view of the recording that is shown."""
        try:
            write_view(self.current, path)
        except WriteError as problem:
            self._notify("error", str(problem))
        else:
            self._notify("info", f"view saved as {path}")

    def open(self, path: Path) -> None:
        """Open the recordings of a saved view, and show them as they were."""
        try:
            self._show(read_view(path))
        except (ValueError, OSError) as problem:
            self._notify("error", str(problem))

    def reload(self) -> None:
        """Read the recording that is shown again, and show it as it is shown now."""
        self._show(self.current)

    def append(self, part: Path) -> None:
        """Read the recording that is shown with a further part of its run, and show it as it is shown now."""
        view = self.current
        path, *words = view.recording
        parts = parts_of(words)
        joined = (path, *parts[:-1], str(part), JOIN, *words[len(parts) :])
        self._show(msgspec.structs.replace(view, recording=joined))

    @property
    def current(self) -> SavedView:
        """The view of the recording that is shown, or that which is still to be shown of it."""
        if self._wanted is not None and self._stage >= _Stage.LOADED:
            return self._wanted
        window, source = self._window, self._sources.source
        assert isinstance(source, OpenRecording)
        panels = [panel for panel in window.dock_area.panels.values() if isinstance(panel, TimePanel)]
        return SavedView(
            (str(source.path), *source.words),
            (window.view.left, window.view.right),
            window.view.pinned,
            window.view.marks,
            window.view.actuator,
            # a panel without rows to choose from has no choice to keep
            {panel.key: panel.shown for panel in panels if panel.choices()},
            {panel.key: panel.stack.manual_scales for panel in panels},
            tuple(ComparedFile(run.source, run.lag) for run in window.connection.history.compared),
            window.connection.history.notes,
            self._layouts.current,
            base64.b64encode(self._layouts.state.data()).decode(),
        )

    def _show(self, view: SavedView) -> None:
        self._wanted, self._stage = view, _Stage.ASKED
        path, *words = view.recording
        self._sources.opener.open_path(path, tuple(words))

    def _on_opened(self, source: SourceSpec) -> None:
        """Watch the file of a recording; another source than that of a view has its own view."""
        if watched := [*self._watcher.files(), *self._watcher.directories()]:
            self._watcher.removePaths(watched)
        self._read = self._next = None
        if isinstance(source, OpenRecording):
            self._read = _signature(source.path)
            # a file that is replaced is not watched any more, its folder is
            self._watcher.addPaths([str(source.path), str(source.path.parent)])
            following = _next_part(Path((str(source.path), *parts_of(source.words)[:-1])[-1]))
            # one that is there already may be of an earlier run
            self._next = None if following.exists() or following.suffix != ".h5" else following
        self._stage = _Stage.OPENED
        if self._wanted is not None and (
            not isinstance(source, OpenRecording) or str(source.path) != self._wanted.recording[0]
        ):
            self._forget()

    def _on_changed(self) -> None:
        # closed, or it has failed; while it is asked for, the one before is closed
        if self._sources.sessions.current is None and self._stage >= _Stage.OPENED:
            self._forget()

    def _forget(self) -> None:
        self._wanted = None

    def _check_file(self) -> None:
        source, bar = self._sources.source, self._window.notification_bar
        if not isinstance(source, OpenRecording):
            return
        if self._next is not None and self._next.exists():
            following, self._next = self._next, None
            bar.offer(f"{following.name} {_FOLLOWS}", "Append it", partial(self.append, following))
        now = _signature(source.path)
        if self._read is not None and now is not None and now != self._read:
            # offered once
            self._read = None
            bar.offer(f"{source.path.name} {_CHANGED}", "Reload (F5)", self.reload)

    def _on_loaded(self, history: History) -> None:
        wanted, shown = self._wanted, history.recording
        if wanted is not None and shown is not None and shown.path == wanted.recording[0] and not shown.coarse:
            self._stage = _Stage.LOADED
            self._comparison.open_runs(wanted.compared, over=Path(wanted.recording[0]))

    def _show_wanted(self) -> None:
        """Show a view once its recordings are loaded; its rows once those of the results are known."""
        view, window = self._wanted, self._window
        if view is None or self._stage < _Stage.LOADED or self._comparison.busy:
            return
        history = window.connection.history
        reached = max(view.span[1], view.instant or 0.0, *view.cursors)
        if history.computed is not None and history.end_x < reached:
            # after a restart of the rig signals come beside their results
            return
        if self._stage < _Stage.PLACED:
            self._stage = _Stage.PLACED
            self._layouts.restore(view.layout, base64.b64decode(view.arrangement))
            window.view.select_actuator(view.actuator)
            window.view.show(*view.span)
            window.view.pin(view.instant)
            window.view.set_marks(view.cursors)
            for note in view.notes:
                history.add_note(note)
        if (history.computed is not None and history.results is None) or not window.is_configured:
            return
        self._wanted = None
        # one step to undo
        with window.view.step():
            for key, rows in view.rows.items():
                panel = window.dock_area.panels.get(key)
                if isinstance(panel, TimePanel) and panel.choices():
                    panel.show_rows(rows)
                    panel.stack.restore_scales(view.scales.get(key, {}))
        window.redraw()

    def _ask_save(self) -> None:
        name = str(Path(self.current.recording[0]).with_suffix(VIEW))
        ask_path(self._window, "Save view", name, lambda text: self.save(Path(text)), kinds=_KINDS, suffix=VIEW[1:])

    def _ask(self) -> None:
        source = self._sources.source
        folder = str(source.path.parent) if isinstance(source, OpenRecording) else ""
        ask_path(self._window, "Open view", folder, lambda text: self.open(Path(text)), kinds=_KINDS)


def _signature(path: Path) -> tuple[int, int, int] | None:
    """Return what changes when a file is written again; None where it is gone."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _next_part(path: Path) -> Path:
    """Return the name that a recorder gives to the next part of a run: ``run-2.h5`` after ``run.h5``."""
    found = re.fullmatch(r"(.*)-(\d+)", path.stem)
    stem, number = (found[1], int(found[2])) if found is not None else (path.stem, 1)
    return path.with_name(f"{stem}-{number + 1}{path.suffix}")
