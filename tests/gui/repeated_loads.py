"""Recordings that several tests open: computed once by a process, whose messages then come from a file."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from monitor.system.worker_process import start_python
from replay.formats.sidecar import sidecar_of

_OF_ONE_TEST = ("PYTEST_CURRENT_TEST",)


class RepeatedLoads:
    """Starts processes for `RunLoader`: `assess` itself, and `cat` where it has sent the same before.

    The same are options, environment, and name and bytes of the file; a process that fails is always started again.

    Parameters
    ----------
    folder : for the messages.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def start(self, words: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
        """Start it, see `start_python`."""
        saved = self._saved(words)
        if saved is not None and saved.exists():
            return subprocess.Popen(["cat", saved], stdin=subprocess.PIPE, start_new_session=True, **options)
        process = start_python(words, **options)
        if saved is not None:
            assert process.stdout is not None
            process.stdout = _SavingPipe(process, process.stdout, saved)
        return process

    def _saved(self, words: Sequence[str]) -> Path | None:
        """Return the file of the messages; None: more than one file decides what they are."""
        command, path = words[2], Path(words[3])
        others = [word for word in words[4:] if Path(word).exists()]
        if command != "assess" or others or not path.is_file() or sidecar_of(path).exists():
            return None
        environment = sorted(item for item in os.environ.items() if item[0] not in _OF_ONE_TEST)
        what = repr((words[:3], path.name, words[4:], environment)).encode() + path.read_bytes()
        return self._folder / hashlib.sha256(what).hexdigest()


class _SavingPipe:
    """Standard output of a process, saved once it has been read to its end and the process has succeeded."""

    def __init__(self, process: subprocess.Popen[bytes], pipe: IO[bytes], saved: Path) -> None:
        self._process, self._pipe, self._saved = process, pipe, saved
        self._pieces: list[bytes] = []

    def read(self, size: int) -> bytes:
        piece = self._pipe.read(size)
        self._pieces.append(piece)
        return piece

    def close(self) -> None:
        # a pipe that was left before its end may have no more for a while
        ended = self._pieces[-1:] == [b""] and self._pipe.read(1) == b""
        self._pipe.close()
        if ended and self._process.wait() == 0:
            self._saved.write_bytes(b"".join(self._pieces))
