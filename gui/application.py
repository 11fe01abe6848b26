"""The window as a process: begun, shown, told to stop, and put away."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from types import FrameType, TracebackType

from PySide6.QtCore import QSettings
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from gui.opening import Opening
from gui.program import Program
from gui.sources.offers import Offers

_POLITENESS = 5  # of 19: a service on the same machine goes first


def run_window(opening: Opening, offers: Offers) -> int:
    """Show the window until it is closed; return the exit code."""
    if hasattr(os, "nice"):
        os.nice(_POLITENESS)
    QGuiApplication.setApplicationName("synchroscope")
    QGuiApplication.setApplicationDisplayName("Synchroscope")
    QGuiApplication.setDesktopFileName("synchroscope")
    application = QApplication(sys.argv[:1])
    place = QSettings.Format.IniFormat, QSettings.Scope.UserScope, "synchroscope", "synchroscope"
    program = Program(offers, QSettings(*place), opening)
    _listen(program)
    program.start()
    try:
        return application.exec()
    finally:
        program.finish()


def _listen(program: Program) -> None:
    """Let Ctrl-C and SIGTERM close the window, and tell what goes wrong within it instead of dying of it."""

    def close(_number: int, _frame: FrameType | None) -> None:
        program.window.close()

    def tell(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        traceback.print_exception(kind, error, trace)
        program.say("error", f"something went wrong in this window ({kind.__name__}: {error}); the service goes on")

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, close)
    sys.excepthook = tell
