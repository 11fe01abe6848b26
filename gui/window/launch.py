"""Before Qt is loaded: what the window is opened on, and whether there is a display to open it on."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Opening:
    """What the words of the command line ask for; at most one of connect, serve, file and simulation is not empty.

    Parameters
    ----------
    connect : a service's endpoint.
    keys : folder of the keys that were handed over for it; empty: none.
    serve : a rig's endpoint, for which a service is started.
    alarms : limits for that service, as ``--alarm`` takes them.
    file : a recording.
    simulation : its name.
    words : options of `synchroscope replay` for the file or simulation, such as those that choose columns.
    config : settings of the service that the window starts; empty: those of the settings dialog.
    record : where that service keeps the run.
    layout, theme : instead of those that were used last.
    operator : full screen, read-only.
    """

    connect: str = ""
    serve: str = ""
    file: str = ""
    simulation: str = ""
    words: tuple[str, ...] = ()
    config: str = ""
    record: str = ""
    layout: str = ""
    theme: Literal["system", "light", "dark"] | None = None
    operator: bool = False
    keys: str = ""
    alarms: tuple[str, ...] = ()


_NEEDED = "libegl1 libgl1 libfontconfig1 libxkbcommon-x11-0 libxcb-cursor0 libxcb-icccm4 libxcb-keysyms1"
_TRY = (
    "import resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0));"
    "from PySide6.QtWidgets import QApplication; QApplication([])"
)
_DISPLAYS = ("WAYLAND_DISPLAY", "DISPLAY")
_TRIAL_TIMEOUT = 60.0  # s; a display behind a network may never answer
_MAY_FAIL = sys.platform.startswith("linux")


class NoDisplayError(ValueError):
    """There can be no window; one line that says why and what to do."""


def why_no_display() -> str:
    """Return why there can be no window, as far as the environment tells; empty where it names a display."""
    if not _MAY_FAIL or any(map(os.environ.get, ("QT_QPA_PLATFORM", *_DISPLAYS))):
        return ""
    return "there is no display here (DISPLAY and WAYLAND_DISPLAY are empty)"


class DisplayTrial:
    """Let another process open the display, while this one goes on with its imports.

    Raises
    ------
    NoDisplayError : the environment names none.
    """

    def __init__(self) -> None:
        reason = why_no_display()
        if reason:
            raise NoDisplayError(_advised(reason))
        self._process: subprocess.Popen[str] | None = None
        if _MAY_FAIL:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _TRY],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                errors="replace",
            )

    def require(self) -> None:
        """Wait for the outcome.

        Raises
        ------
        NoDisplayError : it cannot be opened, or Qt lacks something of the system.
        """
        if self._process is None:
            return
        with self._process as process:
            try:
                said = process.communicate(timeout=_TRIAL_TIMEOUT)[1]
            except subprocess.TimeoutExpired:
                process.kill()
                raise NoDisplayError(_advised("the display does not answer")) from None
        if process.returncode:
            raise NoDisplayError(_reason(said))


def _reason(said: str) -> str:
    """Return what Python or Qt has said last or first, in one line."""
    lines = [line.strip() for line in said.splitlines() if line.strip()] or ["it does not say why"]
    if lines[0].startswith("Traceback"):
        return f"Qt cannot be loaded ({lines[-1]}); on Debian: apt install {_NEEDED}"
    if "could not connect to display" in said:
        named = [name for name in map(os.environ.get, _DISPLAYS) if name]
        return _advised(f"the display {' or '.join(named)} does not answer" if named else "DISPLAY is empty")
    if "is needed to load" in lines[0]:
        return f"Qt cannot be loaded ({lines[0]}); on Debian: apt install {_NEEDED}"
    return _advised(f"Qt can open no window here ({lines[0]})")


def _advised(reason: str) -> str:
    return f"{reason}: synchroscope watch shows the same in a terminal"
