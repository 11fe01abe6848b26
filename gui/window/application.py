"""The window as a process: begun, shown, told to stop, and put away."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import traceback
from pathlib import Path
from types import FrameType, TracebackType

from PySide6.QtCore import QSettings, QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from gui.sources.processes.catalogue import Catalogue
from gui.window.opening import Opening
from gui.window.program import Program

_POLITENESS = 5  # of 19: a service on the same machine goes first


def run_window(opening: Opening, offers: Catalogue) -> int:
    """Show the window until it is closed; return the exit code."""
    if opening.connect and hasattr(os, "nice"):
        # only here: a service that this window starts would be as nice, and a recording must not be
        os.nice(_POLITENESS)
    QGuiApplication.setApplicationName("synchroscope")
    QGuiApplication.setApplicationDisplayName("Synchroscope")
    QGuiApplication.setDesktopFileName("synchroscope")
    application = QApplication(sys.argv[:1])
    store, told = _open_store()
    program = Program(offers, store, opening)
    _listen(program)
    if told:
        program.say("warning", told)
    program.start()
    try:
        return application.exec()
    finally:
        program.finish()


def _open_store() -> tuple[QSettings, str]:
    """Return what is remembered, and a line that says that it cannot be used; it is replaced at the end."""
    place = QSettings.Format.IniFormat, QSettings.Scope.UserScope, "synchroscope", "synchroscope"
    store = QSettings(*place)
    if store.status() is QSettings.Status.NoError:
        return store, ""
    path = Path(store.fileName())
    kept = path.with_name(f"{path.name}.damaged")
    try:
        shutil.copyfile(path, kept)
    except OSError as problem:
        return store, f"{path} cannot be read ({problem.strerror}): everything is as at first"
    return store, f"{path} is damaged: everything is as at first, and a copy is {kept.name}"


def _listen(program: Program) -> None:
    """Let Ctrl-C and SIGTERM close the window, and tell what goes wrong within it instead of dying of it."""

    def leave() -> None:
        program.window.close()
        # the last window may have been closed before Qt waited for that
        QApplication.quit()

    def close(_number: int, _frame: FrameType | None) -> None:
        # not at once: it may have come in the middle of a frame
        QTimer.singleShot(0, leave)

    def tell(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        traceback.print_exception(kind, error, trace)
        program.say("error", f"something went wrong in this window ({kind.__name__}: {error}); the service goes on")

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, close)
    sys.excepthook = tell
