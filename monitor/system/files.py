"""Checks before a file is read: that it is a regular file, and that others cannot change or read a secret one."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

GROUP_OTHER_ACCESS, GROUP_OTHER_WRITE = 0o077, 0o022
"""Rights that a secret file may not give to others, and those that no file that counts may."""


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


class UnsafeFileError(ValueError):
    """A file cannot be read, or others could change or read it; the text says which and what to do."""


def open_guarded(path: Path, forbidden: int = GROUP_OTHER_ACCESS) -> BinaryIO:
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
        check_permissions(path, found, forbidden)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def check_permissions(path: Path, found: os.stat_result, forbidden: int) -> None:
    """Raise `UnsafeFileError` where others than root and ourselves have one of the `forbidden` rights."""
    if os.name != "posix":
        return
    if found.st_uid not in (os.geteuid(), 0):
        raise UnsafeFileError(f"{path} belongs to another user, who can change it: chown {os.geteuid()} {path}")
    if found.st_mode & forbidden:
        done, remedy = ("read", "600") if forbidden & 0o044 else ("written", "go-w")
        raise UnsafeFileError(f"{path} can be {done} by others: chmod {remedy} {path}")


def is_systemd_credential(path: Path) -> bool:
    """Tell whether it is a credential of systemd, whose access list for the service shows as a right of the group."""
    folder = os.environ.get("CREDENTIALS_DIRECTORY")
    return folder is not None and path.absolute().parent == Path(folder).absolute()
