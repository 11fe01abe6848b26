"""How much room is left on a disk, looked at now and then."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from pathlib import Path

UNKNOWN = -1


class DiskSpace:
    """Look at the disk of `folder` now, and from then on every `interval` s.

    A thread does it: a network disk that hangs must hold up nobody. `look` is what it looks with.
    """

    def __init__(self, folder: Path, interval: float = 5.0, look: Callable[[Path], int] | None = None) -> None:
        self._folder = folder
        self._interval = interval
        self._look = look or _free
        self._ended = threading.Event()
        self.free = self._looked()
        self._thread = threading.Thread(target=self._run, name="disk-space", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._ended.wait(self._interval):
            self.free = self._looked()

    def _looked(self) -> int:
        try:
            return self._look(self._folder)
        except OSError:
            return UNKNOWN

    def close(self) -> None:
        """Look no more; a second call does nothing."""
        self._ended.set()
        # no longer than that for a disk that hangs
        self._thread.join(0.5)


def _free(folder: Path) -> int:
    return shutil.disk_usage(folder).free
