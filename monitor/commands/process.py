"""The process of a command: stop signals, end of standard input, limits of descriptors and memory."""

from __future__ import annotations

import _thread
import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn


class StopSignals:
    """Take note of signals from now on; only the main thread may.

    Parameters
    ----------
    numbers : which; by default both.
    """

    def __init__(self, *numbers: signal.Signals) -> None:
        self.told = False
        self.since = 0.0  # s, monotonic
        self._at_once = False
        self._numbers = numbers or (signal.SIGINT, signal.SIGTERM)
        for number in self._numbers:
            signal.signal(number, self._take)

    def ignore(self) -> None:
        """Ignore them from now on: the program ends, and its exit code says how."""
        # the interpreter gives up handlers before it has ended, and then a signal would end it
        for number in self._numbers:
            signal.signal(number, signal.SIG_IGN)

    def check(self) -> None:
        """Raise `KeyboardInterrupt` if told to stop: an import in which it was raised may have swallowed it."""
        if self.told:
            raise KeyboardInterrupt

    def _take(self, _number: int, _frame: FrameType | None) -> None:
        # it may be interrupted by the next signal: it must not take a lock, as an Event would
        if not self.told:
            self.since = time.monotonic()
        self.told = True
        if self._at_once:
            raise KeyboardInterrupt

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Within, raise `KeyboardInterrupt` when told to stop; also if that was before."""
        self._at_once = True
        try:
            self.check()
            yield
        finally:
            self._at_once = False


def leave_at_once(code: int) -> NoReturn:
    """End the process where a thread hangs in a call to the system: the interpreter's own end would wait for it."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


_STANDARD_INPUT = 0
_MOST = 1 << 12


def exit_on_stdin_eof(number: signal.Signals = signal.SIGTERM) -> None:
    """Act from now on as a signal would when standard input is closed; what is written to it is not looked at.

    The signal must have a handler: what the system does by default is not done.
    """
    threading.Thread(target=_wait, args=(number,), name="standard-input", daemon=True).start()


def _wait(number: signal.Signals) -> None:
    # not through sys.stdin, whose lock the interpreter wants at its end
    with contextlib.suppress(OSError):
        while os.read(_STANDARD_INPUT, _MOST):
            pass
    _thread.interrupt_main(number)


if sys.platform != "win32":
    import resource

_LEAST_MEMORY = 1 << 30
"""Bytes of address space; with less OpenBLAS never comes back from being loaded."""

_LEAST_DESCRIPTORS = 64


def allow_descriptors() -> None:
    """Let this process have as many connections open as the system lets it: 1024 are soon taken by a hostile peer.

    Raises
    ------
    ValueError : those are too few to begin with.
    """
    if sys.platform == "win32":
        return
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY and most < _LEAST_DESCRIPTORS:
        raise ValueError(
            f"only {most} files and connections may be open at once: a service needs {_LEAST_DESCRIPTORS} and more;"
            " raise the limit (ulimit -n)"
        )
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    except (ValueError, OSError):
        # a container may forbid it; then it stays as it was
        return


def must_have_memory() -> None:
    """Raise ValueError where the address space is limited to less than a service can begin with."""
    if sys.platform == "win32":
        return
    allowed, _ = resource.getrlimit(resource.RLIMIT_AS)
    if allowed != resource.RLIM_INFINITY and allowed < _LEAST_MEMORY:
        raise ValueError(
            f"the address space is limited to {allowed >> 20} MB: a service needs {_LEAST_MEMORY >> 20} MB and more;"
            " raise the limit (ulimit -v), or limit the memory of its control group instead"
        )
