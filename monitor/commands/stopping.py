"""Ctrl-C and SIGTERM: taken note of, or at once while something takes its time."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class StopSignals:
    """Take note of both signals from now on; only the main thread may."""

    def __init__(self) -> None:
        self.told = False
        self._at_once = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._take)

    def _take(self, _number: int, _frame: FrameType | None) -> None:
        # it may be interrupted by the next signal: it must not take a lock, as an Event would
        self.told = True
        if self._at_once:
            raise KeyboardInterrupt

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Within, raise `KeyboardInterrupt` when told to stop; also if that was before."""
        self._at_once = True
        try:
            if self.told:
                raise KeyboardInterrupt
            yield
        finally:
            self._at_once = False
