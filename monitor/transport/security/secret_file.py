"""Files that decide who is believed: opened once, looked at while open, and refused where others could reach them."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

OTHERS_READ, OTHERS_WRITE = 0o077, 0o022
"""Rights that a secret file may not give to others, and those that no file that counts may."""


class UnsafeFileError(ValueError):
    """A file cannot be read, or others could change or read it; the text says which and what to do."""


def opened(path: Path, forbidden: int = OTHERS_READ) -> BinaryIO:
    """Open a file of ours or of root's that gives others none of the `forbidden` rights; never wait.

    Raises
    ------
    UnsafeFileError : it is not there, no file, a link, another user's, or too open.
    """
    try:
        # not through a link: what it points to could be exchanged between the look and the reading
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        descriptor = os.open(path, flags)
    except OSError as problem:
        if path.is_symlink():
            raise UnsafeFileError(f"{path} is a symbolic link: give the file itself") from problem
        raise UnsafeFileError(f"{path} cannot be read: {problem.strerror}") from problem
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise UnsafeFileError(f"{path} is not a file")
        check_guarded(path, found, forbidden)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def check_guarded(path: Path, found: os.stat_result, forbidden: int) -> None:
    """Raise `UnsafeFileError` where others than root and ourselves have one of the `forbidden` rights."""
    if os.name != "posix":
        return
    if found.st_uid not in (os.geteuid(), 0):
        raise UnsafeFileError(f"{path} belongs to another user, who can change it: chown {os.geteuid()} {path}")
    if found.st_mode & forbidden:
        done, remedy = ("read", "600") if forbidden & 0o044 else ("written", "go-w")
        raise UnsafeFileError(f"{path} can be {done} by others: chmod {remedy} {path}")


def handed_over(path: Path) -> bool:
    """Tell whether it is a credential of systemd, whose access list for the service shows as a right of the group."""
    folder = os.environ.get("CREDENTIALS_DIRECTORY")
    return folder is not None and path.absolute().parent == Path(folder).absolute()
