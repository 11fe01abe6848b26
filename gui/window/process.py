"""The process of the window: its settings file, its event loop, signals and uncaught exceptions."""

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
from gui.window.application import Program
from gui.window.launch import LaunchOptions

_NICE_INCREMENT = 5  # of 19: a service on the same machine has priority


def run_window(options: LaunchOptions, offers: Catalogue) -> int:
    """Show the window until it is closed; return the exit code."""
    if options.connect and hasattr(os, "nice"):
        # not where this window starts the service, which would inherit it
        os.nice(_NICE_INCREMENT)
    QGuiApplication.setApplicationName("synchroscope")
    QGuiApplication.setApplicationDisplayName("Synchroscope")
    QGuiApplication.setDesktopFileName("synchroscope")
    application = QApplication(sys.argv[:1])
    store, warning = _open_store()
    program = Program(offers, store, options)
    _install_handlers(program)
    if warning:
        program.notify("warning", warning)
    program.start()
    try:
        return application.exec()
    finally:
        program.finish()


def _open_store() -> tuple[QSettings, str]:
    """Return the settings of the program, and a warning where their file is damaged; it is overwritten at the end."""
    store = QSettings(QSettings.Format.IniFormat, QSettings.Scope.UserScope, "synchroscope", "synchroscope")
    if store.status() is QSettings.Status.NoError:
        return store, ""
    path = Path(store.fileName())
    backup = path.with_name(f"{path.name}.damaged")
    try:
        shutil.copyfile(path, backup)
    except OSError as problem:
        return store, f"{path} cannot be read ({problem.strerror}): defaults are used"
    return store, f"{path} is damaged: defaults are used, and {backup.name} is a copy of it"


def _install_handlers(program: Program) -> None:
    """Close the window at Ctrl-C and SIGTERM; report uncaught exceptions in the window, which keeps running."""

    def close_window() -> None:
        program.window.close_now()
        # the last window may have been closed before the event loop started
        QApplication.quit()

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        # deferred: it may have come in the middle of a frame
        QTimer.singleShot(0, close_window)

    def on_exception(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        traceback.print_exception(kind, error, trace)
        program.notify(
            "error", f"internal error of the window ({kind.__name__}: {error}); the service is not affected"
        )

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, on_signal)
    sys.excepthook = on_exception
