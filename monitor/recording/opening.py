"""Opening a run file in any state: its HDF5 superblock, and a view with a repaired superblock.

HDF5 refuses a file whose writer was killed (a flag marks it as being written) and one that is shorter than its
superblock says. Only the flag and the length are wrong with such a file.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import h5py

from monitor.recording import layout
from monitor.recording.contents import HDF5_ERRORS, number
from monitor.recording.layout import RunFileError, stored_text
from monitor.system.files import HDF5_SIGNATURE, check_regular

_WORD_MASK = 0xFFFFFFFF
SUPERBLOCK_SIZE = 48
_GROWTH = 1 << 40  # bytes


class ForeignHdf5Error(RunFileError):
    """The file is HDF5, but not a run file."""


class NotHdf5Error(ValueError):
    """The file has no HDF5 superblock that is supported here."""


@dataclass(frozen=True, slots=True)
class Superblock:
    """Superblock of an HDF5 file: whether it is marked as being written, its stored end, and its actual size."""

    writing: bool
    stored_end: int
    size: int
    head: bytes

    @property
    def cut(self) -> bool:
        """The file is shorter than its superblock says; unknown, thus False, for a file being written."""
        return not self.writing and self.size < self.stored_end

    @property
    def damaged(self) -> bool:
        """Its checksum differs, or its end of file cannot be."""
        stored = int.from_bytes(self.head[44:48], "little")
        return self.stored_end > self.end or (self.head[8] >= 2 and checksum(self.head[:44]) != stored)

    @property
    def end(self) -> int:
        """An end of file to show to HDF5: beyond all that was written, cut away or may be added meanwhile."""
        return self.size + _GROWTH

    def repaired(self) -> bytes:
        """Return the superblock with the flag cleared and `end` as its end of file."""
        if self.head[8] < 2:
            return self.head
        head = self.head[:11] + b"\0" + self.head[12:28] + self.end.to_bytes(8, "little") + self.head[36:44]
        return head + checksum(head).to_bytes(4, "little")


def read_superblock(path: Path) -> Superblock:
    """Return the superblock of `path`.

    Raises
    ------
    OSError : the file cannot be read.
    NotHdf5Error : it is not an HDF5 file with 8-byte offsets.
    """
    with path.open("rb") as file:
        return superblock_of(file)


def superblock_of(file: IO[bytes]) -> Superblock:
    """Return the superblock of an open file; raises as `read_superblock` does."""
    file.seek(0)
    head = file.read(SUPERBLOCK_SIZE)
    size = file.seek(0, io.SEEK_END)
    if len(head) < SUPERBLOCK_SIZE or not head.startswith(HDF5_SIGNATURE) or head[8] > 3:
        raise NotHdf5Error("not an HDF5 file")
    version = head[8]
    if head[13 if version < 2 else 9] != 8:
        raise NotHdf5Error("its offsets are not 8 bytes wide")
    start = {0: 40, 1: 44}.get(version, 28)
    stored = int.from_bytes(head[start : start + 8], "little")
    return Superblock(version >= 2 and bool(head[11] & 1), stored, size, head)


class FileImage(io.RawIOBase):
    """Read-only view of a file with a repaired superblock; bytes beyond its end read as zeros."""

    def __init__(self, path: Path, block: Superblock) -> None:
        self._head = block.repaired()
        self._end = block.end
        self._position = 0
        self._file = path.open("rb")

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the position."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Set the position, as files do."""
        self._position = offset + (0, self._position, self._end)[whence]
        return self._position

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # any buffer
        """Fill `buffer`."""
        view = memoryview(buffer).cast("B")
        self._file.seek(self._position)
        found = self._file.readinto(view)
        view[found:] = bytes(len(view) - found)
        head = self._head[self._position : self._position + len(view)]
        view[: len(head)] = head
        self._position += len(view)
        return len(view)

    def close(self) -> None:
        """Close the underlying file."""
        if not self.closed:
            self._file.close()
        super().close()


def _rotate(value: int, bits: int) -> int:
    return (value << bits | value >> (32 - bits)) & _WORD_MASK


def checksum(data: bytes) -> int:
    """Return Jenkins' lookup3 hash of `data` (whole 32-bit words), the checksum of HDF5 metadata."""
    a = b = c = (0xDEADBEEF + len(data)) & _WORD_MASK
    words = [int.from_bytes(data[i : i + 4], "little") for i in range(0, len(data), 4)]
    while len(words) > 3:
        a, b, c = (a + words[0]) & _WORD_MASK, (b + words[1]) & _WORD_MASK, (c + words[2]) & _WORD_MASK
        del words[:3]
        for first, second, third in ((4, 6, 8), (16, 19, 4)):
            a, c = ((a - c) & _WORD_MASK) ^ _rotate(c, first), (c + b) & _WORD_MASK
            b, a = ((b - a) & _WORD_MASK) ^ _rotate(a, second), (a + c) & _WORD_MASK
            c, b = ((c - b) & _WORD_MASK) ^ _rotate(b, third), (b + a) & _WORD_MASK
    a, b, c = ((x + w) & _WORD_MASK for x, w in zip((a, b, c), [*words, 0, 0, 0], strict=False))
    target, other, spare = c, b, a
    for bits in (14, 11, 25, 16, 4, 14, 24):
        target, other, spare = spare, ((target ^ other) - _rotate(other, bits)) & _WORD_MASK, other
    return other


def is_being_written(head: bytes) -> bool:
    """Whether the first 48 bytes of a file are the undamaged superblock of a run file that is being written."""
    marked = len(head) == SUPERBLOCK_SIZE and head.startswith(HDF5_SIGNATURE) and bool(head[11] & 1)
    return marked and checksum(head[:44]) == int.from_bytes(head[44:], "little")


@contextlib.contextmanager
def open_run_file(path: Path) -> Iterator[tuple[h5py.File, Superblock]]:
    """Open a run file for reading: finished, being written, left by a kill, or cut short.

    An unfinished file is read through `FileImage`: HDF5's own ``swmr=True`` may retry for hours when such a file is
    damaged.

    Raises
    ------
    RunFileError : it is not a run file, or its superblock or root group is damaged.
    """
    with contextlib.ExitStack() as stack:
        try:
            check_regular(path)
            block = read_superblock(path)
            if block.writing or block.cut:
                image = stack.enter_context(FileImage(path, block))
                file = stack.enter_context(h5py.File(image, "r"))
            else:
                file = stack.enter_context(h5py.File(path, "r"))
        except FileNotFoundError as problem:
            raise RunFileError(f"{path}: no such file") from problem
        except NotHdf5Error as problem:
            raise RunFileError(f"{path} is not a run file: {problem}") from problem
        except HDF5_ERRORS as problem:
            if isinstance(problem, OSError) and problem.strerror:
                raise RunFileError(f"{path} cannot be read: {problem.strerror}") from problem
            raise RunFileError(f"{path} has a damaged superblock: nothing can be read") from problem
        check_format(file, path)
        yield file, block


def damaged(path: Path, what: str) -> RunFileError:
    """Return an error that recommends ``synchroscope recover``."""
    return RunFileError(f"{path} {what}; run: synchroscope recover {path}")


def check_format(file: h5py.File, path: Path) -> None:
    """Raise RunFileError unless `file` is a run file of a supported version."""
    try:
        is_run_file = stored_text(file.attrs.get("format", b"")) == layout.FORMAT
        version = number(file, "version") if is_run_file else 0
    except HDF5_ERRORS as problem:
        raise RunFileError(f"{path} has a damaged root group: nothing can be read") from problem
    if not is_run_file:
        raise ForeignHdf5Error(
            f"{path} is an HDF5 file of another program, not a run file of Synchroscope: export its signals as CSV, "
            "a column of times and one for each signal, and open that"
        )
    if version != layout.VERSION:
        raise RunFileError(f"{path} has version {version:g}; this program reads version {layout.VERSION}")
