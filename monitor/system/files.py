"""Files: checks before reading (regular, safe permissions), atomic writing, and the documentation's path."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO

GROUP_OTHER_ACCESS, GROUP_OTHER_WRITE = 0o077, 0o022
"""Permissions that a secret file must not give to others, and those that no trusted file may."""

HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
"""First bytes of an HDF5 file; here, because h5py takes its time to be imported."""


def check_regular(path: Path, most: int | None = None) -> None:
    """Raise OSError unless `path` is a regular file: opening a pipe could block, and a device may be endless.

    Parameters
    ----------
    most : maximum size, bytes.

    Raises
    ------
    OSError : it is missing, not a regular file, or larger.
    """
    found = path.stat()
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "is not a regular file, but a pipe or a device", str(path))
    if most is not None and found.st_size > most:
        raise OSError(errno.EFBIG, f"has {found.st_size} bytes, more than {most}", str(path))


class UnsafeFileError(ValueError):
    """A file cannot be read, or has unsafe permissions; the message names the file and a remedy."""


def open_guarded(path: Path, forbidden: int = GROUP_OTHER_ACCESS) -> BinaryIO:
    """Open a regular file owned by this user or root, without the `forbidden` permissions; does not block.

    Raises
    ------
    UnsafeFileError : it is missing, not a regular file, a link, another user's, or has forbidden permissions.
    """
    try:
        # not through a link, whose target could change between check and reading
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
    """Raise `UnsafeFileError` if other users own the file or have one of the `forbidden` permissions."""
    if os.name != "posix":
        return
    if found.st_uid not in (os.geteuid(), 0):
        raise UnsafeFileError(f"{path} belongs to another user, who can change it: chown {os.geteuid()} {path}")
    if found.st_mode & forbidden:
        done, remedy = ("read", "600") if forbidden & 0o044 else ("written", "go-w")
        raise UnsafeFileError(f"{path} can be {done} by others: chmod {remedy} {path}")


def is_systemd_credential(path: Path) -> bool:
    """Whether it is a systemd credential: its access list for the service appears as a group permission."""
    folder = os.environ.get("CREDENTIALS_DIRECTORY")
    return folder is not None and path.absolute().parent == Path(folder).absolute()


def documentation() -> Path | None:
    """Return the README, which links to the pages in ``docs``; None where only the program is installed."""
    root = Path(__file__).parents[2]
    readme = root / "README.md"
    return readme if readme.is_file() and (root / "docs").is_dir() else None


class WriteError(ValueError):
    """A file could not be written; the text is one line with its name."""


@contextmanager
def atomic_write(path: Path) -> Iterator[IO[bytes]]:
    """Write a temporary file beside `path`, which replaces it at the end; an existing file stays until then.

    Raises
    ------
    WriteError : the disk refuses, or there is no such folder; no temporary file remains.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        try:
            with temporary.open("wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as problem:
        raise WriteError(f"{path}: cannot be written ({problem.strerror or problem})") from problem
