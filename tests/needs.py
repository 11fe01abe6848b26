"""What tests use beyond pip: programs and libraries. A test that lacks one is skipped, with its name."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from ctypes import CDLL
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

from gui.window.launch import LIBRARIES

ROOT = Path(__file__).parents[1]
# daemons are not in every user's PATH
_PATH = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/local/sbin", "/usr/sbin"))
_DEBIAN = {
    "c++": "g++",
    "cc": "gcc",
    "node": "nodejs",
    "promtool": "prometheus",
    "systemd-analyze": "systemd",
    "Qt": f"its libraries, {LIBRARIES}",
    "Qt on X11": f"its libraries, {LIBRARIES}",
    "Xvfb": "xvfb",
    "mosquitto_passwd": "mosquitto",
    "zmq.h": "libzmq3-dev",
    "@mcap/core": "npm install --no-save @mcap/core @mcap/support",
}
"""Packages of Debian where they have other names."""


def program(name: str) -> str | None:
    """Return the path of a program."""
    return shutil.which(name, path=_PATH)


@cache
def absent(*names: str) -> str:
    """Return which of these are not installed, and the packages that have them; empty where all are."""
    missing = [name for name in names if not _PROBES.get(name, program)(name)]
    return "; ".join(f"not installed: {name} (Debian: {_DEBIAN.get(name, name)})" for name in missing)


def needs(*names: str) -> pytest.MarkDecorator:
    """Mark tests that are skipped where one of these is absent."""
    return pytest.mark.skipif(bool(absent(*names)), reason=absent(*names))


def require(*names: str) -> None:
    """Skip the test that runs where one of these is absent."""
    if why := absent(*names):
        pytest.skip(why)


def opensees_environment() -> dict[str, str]:
    """Return an environment in which OpenSeesPy finds the libraries that it brings, or skip the test without it."""
    found = find_spec("openseespylinux") if sys.platform == "linux" else None
    if found is None or not found.submodule_search_locations:
        pytest.skip("OpenSeesPy is not installed: pip install synchroscope[opensees]")
    return {"LD_LIBRARY_PATH": str(Path(found.submodule_search_locations[0]) / "lib")}


def _qt(_: str) -> bool:
    try:
        import PySide6.QtTest
        import PySide6.QtWidgets  # noqa: F401
    except ImportError:
        return False
    return True


def _qt_on_x11(name: str) -> bool:
    found = find_spec("PySide6")
    if not _qt(name) or found is None or found.origin is None or sys.platform != "linux":
        return False
    try:
        CDLL(str(Path(found.origin).parent / "Qt" / "plugins" / "platforms" / "libqxcb.so"))
    except OSError:
        return False
    return True


def _zmq_header(_: str) -> bool:
    compiler = program("cc")
    said = compiler and subprocess.run([compiler, "-E", "-"], input=b"#include <zmq.h>", capture_output=True)
    return bool(said and not said.returncode)


_PROBES = {
    "Qt": _qt,
    "Qt on X11": _qt_on_x11,
    "zmq.h": _zmq_header,
    "octave": lambda _: program("octave-cli") or program("octave"),
    "chromium": lambda _: program("chromium") or program("chromium-browser") or program("google-chrome"),
    "@mcap/core": lambda _: program("node") and (ROOT / "node_modules" / "@mcap" / "core").is_dir(),
}
