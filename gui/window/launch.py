"""Launch options of the window, and the check for a display; does not import Qt."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from typing import Literal

VIEW = ".view.json"
"""How the names of saved views end."""


@dataclass(frozen=True, slots=True)
class LaunchOptions:
    """Options of the command line; at most one of connect, serve, file and simulation is given.

    Parameters
    ----------
    connect : endpoint of a service.
    keys : folder of the client's keys for it; empty: none.
    serve : endpoint of a rig, for which a service is started.
    alarms : alarm limits of that service, as ``--alarm`` takes them.
    file : path of a recording.
    simulation : name of a simulation.
    replay_options : of `synchroscope replay`, for the file or simulation, such as those that choose columns.
    config : settings file of the service that is started; empty: the settings of the window.
    record : file or folder of its recordings.
    layout, theme : instead of those of the last session.
    operator : operator mode: full screen, read-only.
    compare : paths of recordings that are drawn over the file.
    stream : send the file through a service, as a rig would, instead of showing it as a whole.
    """

    connect: str = ""
    serve: str = ""
    file: str = ""
    simulation: str = ""
    replay_options: tuple[str, ...] = ()
    config: str = ""
    record: str = ""
    layout: str = ""
    theme: Literal["system", "light", "dark"] | None = None
    operator: bool = False
    stream: bool = False
    compare: tuple[str, ...] = ()
    keys: str = ""
    alarms: tuple[str, ...] = ()


LIBRARIES = (
    "libglib2.0-0 libdbus-1-3 libegl1 libgl1 libfontconfig1 "
    "libxkbcommon-x11-0 libxcb-cursor0 libxcb-icccm4 libxcb-keysyms1 libxcb-shape0"
)
"""Packages of Debian with the system libraries that Qt loads."""
_OPEN_DISPLAY = (
    "import resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0));"
    "from PySide6.QtWidgets import QApplication; QApplication([])"
)
_DISPLAYS = ("WAYLAND_DISPLAY", "DISPLAY")
_TIMEOUT = 60.0  # s; a display on the network may never answer
_MAY_FAIL = sys.platform.startswith("linux")


class NoDisplayError(ValueError):
    """No window can be opened; one line with the reason and a remedy."""


def no_display_reason() -> str:
    """Return why the environment has no display; empty where it names one."""
    if not _MAY_FAIL or any(map(os.environ.get, ("QT_QPA_PLATFORM", *_DISPLAYS))):
        return ""
    return "there is no display (DISPLAY and WAYLAND_DISPLAY are empty)"


class DisplayCheck:
    """Opens the display in another process, while this one imports: Qt aborts the process where it fails.

    Raises
    ------
    NoDisplayError : the environment names no display.
    """

    def __init__(self) -> None:
        reason = no_display_reason()
        if reason:
            raise NoDisplayError(_with_advice(reason))
        self._process: subprocess.Popen[str] | None = None
        if _MAY_FAIL:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _OPEN_DISPLAY],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                errors="replace",
            )

    def require(self) -> None:
        """Wait for the result.

        Raises
        ------
        NoDisplayError : it cannot be opened, or a system library is missing.
        """
        if self._process is None:
            return
        with self._process as process:
            try:
                errors = process.communicate(timeout=_TIMEOUT)[1]
            except subprocess.TimeoutExpired:
                process.kill()
                raise NoDisplayError(_with_advice("the display does not answer")) from None
        if process.returncode:
            raise NoDisplayError(_reason(errors))


def _reason(errors: str) -> str:
    """Return the reason in the error output of Python or Qt, in one line."""
    lines = [line.strip() for line in errors.splitlines() if line.strip()] or ["no reason given"]
    if lines[0].startswith("Traceback"):
        return f"Qt cannot be loaded ({lines[-1]}); on Debian: apt install {LIBRARIES}"
    if "could not connect to display" in errors:
        named = [name for name in map(os.environ.get, _DISPLAYS) if name]
        return _with_advice(f"the display {' or '.join(named)} does not answer" if named else "DISPLAY is empty")
    if "even though it was found" in errors:
        needed = next((line for line in lines if "is needed to load" in line), lines[0])
        return f"Qt cannot be loaded ({needed}); on Debian: apt install {LIBRARIES}"
    return _with_advice(f"Qt cannot open a window ({lines[0]})")


def _with_advice(reason: str) -> str:
    return f"{reason}: synchroscope watch shows the same in a terminal"
