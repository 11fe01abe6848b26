"""The real window without a screen and without a human: with its service and player in processes of their own."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import QSettings, QSize
from PySide6.QtWidgets import QApplication, QWidget

from docs.picturing.small_png import write_png
from gui.window.application import Program
from gui.window.launch import LaunchOptions
from monitor.__main__ import offers

_START_TIMEOUT = 180.0  # s: kernels may have to be compiled
_SETTLED = 0.3  # s, until what was asked for is drawn
WINDOW = QSize(1440, 900)


@dataclass(frozen=True)
class Stage:
    """A program at work, and what a photographer can ask of it."""

    program: Program

    def trigger(self, *keys: str) -> None:
        """Give commands, as a menu would."""
        for key in keys:
            self.program.actions[key].trigger()
        self.wait(_SETTLED)

    def theme(self, name: str) -> None:
        """Take the colours of a theme."""
        self.trigger(f"theme.{name}")

    def layout(self, name: str, size: QSize = WINDOW) -> None:
        """Arrange the panels."""
        self.program.window.resize(size)
        self.wait(_SETTLED)
        self.program.layouts.layouts.apply(name)
        self.wait(_SETTLED)

    def live_until(self, seconds: float) -> None:
        """Let the rig run until so many of its seconds are shown."""
        self.until(lambda: self.program.connection.history.end_x >= seconds)

    def until(self, condition: Callable[[], bool]) -> None:
        """Let time pass until something is so."""
        limit = time.monotonic() + _START_TIMEOUT
        while not condition():
            if time.monotonic() > limit:
                said = [str(notice) for notice in self.program.window.notification_bar.log.entries]
                raise TimeoutError(f"the window did not reach its state in {_START_TIMEOUT:g} s: {said}")
            self.wait(0.02)

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            QApplication.processEvents()
            time.sleep(0.002)

    def shoot(self, path: Path, widget: QWidget | None = None) -> None:
        """Take a picture of the window, or of a part of it."""
        # the mouse is not over it
        focused = QApplication.focusWidget()
        if focused is not None:
            focused.clearFocus()
        write_png((widget or self.program.window).grab().toImage(), path)

    def shoot_panel(self, key: str, size: QSize, path: Path) -> None:
        """Take a picture of a panel alone, in a dock that floats."""
        dock = self.program.window.dock_area.docks[key]
        hidden = dock.isHidden()
        dock.setFloating(True)
        dock.show()
        dock.resize(size)
        self.wait(_SETTLED)
        self.shoot(path, dock.widget())
        dock.setFloating(False)
        dock.setHidden(hidden)


@contextmanager
def stage(options: LaunchOptions, size: QSize = WINDOW) -> Iterator[Stage]:
    """Open a window with default settings, and close it with all that it started."""
    application = QApplication.instance() or QApplication([])
    with tempfile.TemporaryDirectory() as folder:
        store = QSettings(str(Path(folder) / "settings.ini"), QSettings.Format.IniFormat)
        program = Program(offers(), store, options)
        try:
            program.start()
            program.window.resize(size)
            yield Stage(program)
        finally:
            program.window.close()
            program.finish()
            program.deleteLater()
            application.processEvents()
