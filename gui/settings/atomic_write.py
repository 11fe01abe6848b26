"""Files that are there whole, or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


class ExportError(ValueError):
    """Something could not be written; the text is one line with the file's name."""


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """Write beside `path` and take its place at the end; a file that was there before stays until then.

    Raises
    ------
    ExportError : the disk refuses, or there is no such folder; nothing is left behind.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        try:
            with beside.open("wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as problem:
        raise ExportError(f"{path}: cannot be written ({problem.strerror or problem})") from problem
