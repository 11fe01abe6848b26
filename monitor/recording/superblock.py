"""The first bytes of an HDF5 file, and a view of a broken file as HDF5 would like to see it.

HDF5 refuses a file whose writer was killed (a flag says that it is being written) and one that is
shorter than its superblock says. The flag and the length are all that is wrong with it.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import IO

_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_WORD = 0xFFFFFFFF
_SIZE = 48
_GROWTH = 1 << 40


class NotHdf5Error(ValueError):
    """The bytes do not begin as an HDF5 file does."""


@dataclass(frozen=True, slots=True)
class Superblock:
    """What a file says of itself: whether somebody writes it, where it ends, how long it really is."""

    writing: bool
    stored_end: int
    size: int
    head: bytes

    @property
    def cut(self) -> bool:
        """The file is shorter than it says; a file being written does not say."""
        return not self.writing and self.size < self.stored_end

    @property
    def end(self) -> int:
        """Where HDF5 may take the file to end; one being written may have grown since."""
        return max(self.size, self.stored_end) + _GROWTH * self.writing

    def repaired(self) -> bytes:
        """Return the first bytes with the flag cleared and `end` as the end."""
        if self.head[8] < 2:
            return self.head
        head = self.head[:11] + b"\0" + self.head[12:28] + self.end.to_bytes(8, "little") + self.head[36:44]
        return head + checksum(head).to_bytes(4, "little")


def read_superblock(path: Path) -> Superblock:
    """Return the superblock of `path`.

    Raises
    ------
    OSError : the file cannot be read.
    NotHdf5Error : it is not an HDF5 file with offsets of eight bytes.
    """
    with path.open("rb") as file:
        return superblock_of(file)


def superblock_of(file: IO[bytes]) -> Superblock:
    """Return the superblock of an open file; raises as `read_superblock` does."""
    file.seek(0)
    head = file.read(_SIZE)
    size = file.seek(0, io.SEEK_END)
    if len(head) < _SIZE or not head.startswith(_SIGNATURE) or head[8] > 3:
        raise NotHdf5Error("not an HDF5 file")
    version = head[8]
    if head[13 if version < 2 else 9] != 8:
        raise NotHdf5Error("its offsets do not have eight bytes")
    start = {0: 40, 1: 44}.get(version, 28)
    stored = int.from_bytes(head[start : start + 8], "little")
    return Superblock(version >= 2 and bool(head[11] & 1), stored, size, head)


class FileImage(io.RawIOBase):
    """The bytes of a file with a repaired superblock; what is cut off reads as zeros."""

    def __init__(self, path: Path, block: Superblock) -> None:
        self._head = block.repaired()
        self._end = block.end
        self._position = 0
        self._file = path.open("rb")

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def seekable(self) -> bool:
        """Say that it can be sought."""
        return True

    def tell(self) -> int:
        """Return the position."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move as files do."""
        self._position = offset + (0, self._position, self._end)[whence]
        return self._position

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
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
        """Close the file behind."""
        if not self.closed:
            self._file.close()
        super().close()


def _rotate(value: int, bits: int) -> int:
    return (value << bits | value >> (32 - bits)) & _WORD


def checksum(data: bytes) -> int:
    """Return Jenkins' lookup3 hash of `data` (whole words), by which HDF5 guards its metadata."""
    a = b = c = (0xDEADBEEF + len(data)) & _WORD
    words = [int.from_bytes(data[i : i + 4], "little") for i in range(0, len(data), 4)]
    while len(words) > 3:
        a, b, c = (a + words[0]) & _WORD, (b + words[1]) & _WORD, (c + words[2]) & _WORD
        del words[:3]
        for first, second, third in ((4, 6, 8), (16, 19, 4)):
            a, c = ((a - c) & _WORD) ^ _rotate(c, first), (c + b) & _WORD
            b, a = ((b - a) & _WORD) ^ _rotate(a, second), (a + c) & _WORD
            c, b = ((c - b) & _WORD) ^ _rotate(b, third), (b + a) & _WORD
    a, b, c = ((x + w) & _WORD for x, w in zip((a, b, c), [*words, 0, 0, 0], strict=False))
    target, other, spare = c, b, a
    for bits in (14, 11, 25, 16, 4, 14, 24):
        target, other, spare = spare, ((target ^ other) - _rotate(other, bits)) & _WORD, other
    return other
