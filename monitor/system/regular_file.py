"""Files that end: no pipe that nobody writes to, no device that never stops."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path


def check_regular(path: Path, most: int | None = None) -> None:
    """Refuse what is no ordinary file, before it is opened: a pipe would wait for ever, a device never end.

    Parameters
    ----------
    most : bytes that it may have.

    Raises
    ------
    OSError : it is not there, no ordinary file, or larger.
    """
    found = path.stat()
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "not an ordinary file, but a pipe or a device", str(path))
    if most is not None and found.st_size > most:
        raise OSError(errno.EFBIG, f"has {found.st_size} bytes, more than {most}", str(path))
