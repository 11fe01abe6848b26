"""A signal ends a program that compiles a kernel, though the compiler is in code that nothing interrupts."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePath
from types import FrameType

from monitor.commands.process import exit_immediately

_GRACE = 1.0  # s from the signal, in which the interpreter may raise its KeyboardInterrupt
_POLL_INTERVAL = 0.1  # s
_READ_BYTES = 64
_INTERRUPTED = 130


@contextmanager
def ending_compilation() -> Iterator[None]:
    """End the process with exit code 130 where the main thread compiles and a signal has not interrupted it for 1 s.

    It concerns signals with a handler of Python; the system's default ends a process at once. A program in another
    state, such as one that closes its files, is left alone. Only in the main thread.
    """
    main = threading.current_thread()
    if main is not threading.main_thread():
        yield
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    closed = threading.Event()
    watch = threading.Thread(target=_watch, args=(reader, closed, main.ident), name="compilation-watch", daemon=True)
    watch.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        closed.set()
        # ends the read
        os.close(writer)
        watch.join()
        os.close(reader)


def _watch(reader: int, closed: threading.Event, main: int | None) -> None:
    while os.read(reader, _READ_BYTES):
        deadline = time.monotonic() + _GRACE
        while not closed.wait(_POLL_INTERVAL):
            frame = sys._current_frames().get(main or 0)
            if not compiles(frame):
                break
            if time.monotonic() >= deadline:
                exit_immediately(_INTERRUPTED)


def compiles(frame: FrameType | None) -> bool:
    """Whether numba's compiler is among the callers of a frame."""
    while frame is not None:
        code = frame.f_code
        if code.co_name == "compile" and PurePath(code.co_filename).parts[-3:] == ("numba", "core", "dispatcher.py"):
            return True
        frame = frame.f_back
    return False
