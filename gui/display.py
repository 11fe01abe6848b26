"""Whether a window can be opened here: Qt itself ends the process where it cannot."""

from __future__ import annotations

import ctypes
import os
import sys


def why_no_display() -> str:
    """Return why there can be no window, in one line; empty where there can."""
    if not sys.platform.startswith("linux") or os.environ.get("QT_QPA_PLATFORM"):
        return ""
    if os.environ.get("WAYLAND_DISPLAY"):
        return ""
    display = os.environ.get("DISPLAY")
    if not display:
        return "there is no display here (DISPLAY and WAYLAND_DISPLAY are empty)"
    try:
        x11 = ctypes.CDLL("libX11.so.6")
    except OSError:
        # Qt says better what is missing
        return ""
    x11.XOpenDisplay.restype = ctypes.c_void_p
    x11.XCloseDisplay.argtypes = [ctypes.c_void_p]
    connection = x11.XOpenDisplay(None)
    if not connection:
        return f"the display {display} does not answer"
    x11.XCloseDisplay(connection)
    return ""
