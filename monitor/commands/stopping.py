"""Ctrl-C and SIGTERM: taken note of, or at once while something takes its time."""

from __future__ import annotations

import os
import signal
import sys
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
