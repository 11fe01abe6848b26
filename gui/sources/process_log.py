"""What a process says that must go on when nobody hears it any more: a file, where a pipe would break."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


class ProcessLog:
    """A file that is written by the process and read from here."""

    def __init__(self) -> None:
        handle, name = tempfile.mkstemp(prefix="synchroscope-", suffix=".log")
        os.close(handle)
        self.path = Path(name)
        self._read = 0

    def read(self) -> bytes:
        """Return what is new."""
        try:
            with self.path.open("rb") as file:
                file.seek(self._read)
                new = file.read()
        except OSError:
            return b""
        self._read += len(new)
        return new

    def remove(self) -> None:
        """Delete it, where the system lets us."""
        try:
            self.path.unlink(missing_ok=True)
        except OSError:
            return
