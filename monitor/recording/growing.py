"""One run file while it grows: made, appended to, finished or given up. One thread owns it."""

from __future__ import annotations

import contextlib
import errno
import math
import os
import re
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import IO

import h5py
import numpy as np

from monitor.messages.blocks import Event, ResultStream, Stream
from monitor.recording import checksums, layout
from monitor.recording.columns import Columns
from monitor.recording.event_table import event_rows
from monitor.recording.superblock import superblock_of


def _free_names(wanted: Path) -> Iterator[Path]:
    """Return `wanted`, then ``name-2``, ``name-3`` ..."""
    yield wanted
    for number in range(2, 1 << 31):
        yield wanted.with_name(f"{wanted.stem}-{number}{wanted.suffix}")


def place(temporary: Path, wanted: Path) -> Path:
    """Rename `temporary` to the first name that is free, never over another file; return that name."""
    for name in _free_names(wanted):
        try:
            name.hardlink_to(temporary)
        except FileExistsError:
            continue
        except OSError:
            # a file system without links: not atomic, but the name is still never taken from another
            if name.exists():
                continue
            return temporary.rename(name)
        temporary.unlink()
        return name
    raise OSError(errno.EEXIST, "no free name", str(wanted))


DISK_ERRORS = (OSError, RuntimeError, ValueError)
"""What h5py raises when the disk refuses."""

_SLACK = 1 << 20
_ERRNO = re.compile(r"errno = (\d+)")
_AHEAD = 1 << 23
_BYTES_PER_CHUNK = 64
_NO_RESERVATION = {errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS}


class Fate(StrEnum):
    """What becomes of a file that is open: it stays under its name, is moved, or removed."""

    STAYS = "stays"
    MOVED = "moved"
    REMOVED = "removed"


class GrowingFile:
    """A run file in SWMR mode, readable by others from the moment its name appears.

    Parameters
    ----------
    wanted : the name; ``name-2``, ``name-3`` ... where it is taken.
    stream, results : what the columns are; without `results` there is no results group.
    settings : JSON.

    Raises
    ------
    OSError, RuntimeError, ValueError : the disk refuses; nothing is left behind.
    """

    def __init__(self, wanted: Path, stream: Stream, results: ResultStream | None, settings: bytes) -> None:
        temporary = wanted.with_name(f".{wanted.name}.{os.getpid()}.part")
        image = layout.image(stream, results, settings, datetime.now(UTC))
        self._file: h5py.File | None = None
        self._outcome_at: int | None = None
        self._may_reserve = sys.platform == "linux"
        self._sound = False
        self._fixed = len(image) + _SLACK
        try:
            # not by HDF5, which crashes at exit where a disk refuses while it makes a file
            temporary.write_bytes(image)
            self._file = h5py.File(temporary, "r+", libver=layout.LIBRARY_VERSION, rdcc_nbytes=layout.CHUNK_CACHE)
            self._descriptor: int = self._file.id.get_vfd_handle()
            self._reserve(self._fixed)
            self._file.swmr_mode = True
            # held as long as the file: HDF5 crashes, too, where what is let go cannot be written
            self._outcome = self._file[layout.OUTCOME]
            self._outcome_at = self._outcome.id.get_offset()
            self.path = place(temporary, wanted)
            self._placed = self.path.stat()
        except DISK_ERRORS:
            self.abandon(layout.TRUNCATED)
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise
        self._series = {
            name: [self._file[name][column] for column in layout.series_names(name)]
            for name in layout.DATA
            if name in self._file
        }
        self._events = self._file[layout.EVENTS]
        self._checks = self._file[layout.CHECKS]
        self._sound = True

    def append(self, rows: dict[str, Columns], events: Sequence[Event]) -> None:
        """Write rows of the groups and events, and flush them: they are safe from a kill afterwards.

        Raises
        ------
        OSError, RuntimeError, ValueError : the disk refuses; call `give_up`.
        """
        self._reserve(self._fixed + self._needed(rows, len(events)))
        self._sound = False
        table = event_rows(events)
        told = [
            checksums.check_row(name, len(self._series[name][-1]), (c.data, c.time, c.epoch, c.index))
            for name, c in rows.items()
        ] + ([checksums.check_row(layout.EVENTS, len(self._events), [table])] if events else [])
        for name, columns in rows.items():
            values = (columns.data, columns.time, columns.epoch)
            for dataset, value in zip(self._series[name], values, strict=False):
                _extend(dataset, value)
        # the index is written when all else is on disk: a row with an index is whole, whenever the kill comes
        for name, columns in rows.items():
            _extend(self._series[name][-1], columns.index)
        if events:
            _extend(self._events, table)
        # last of all: what has a check is there as a whole
        _extend(self._checks, checksums.check_table(told))
        self._sound = True

    def _needed(self, rows: dict[str, Columns], events: int) -> int:
        grown = [
            (dataset, len(rows[name]) if name in rows else 0)
            for name, datasets in self._series.items()
            for dataset in datasets
        ]
        grown += [(self._events, events), (self._checks, len(rows) + 1)]
        return sum(_allocated(dataset, len(dataset) + more) for dataset, more in grown)

    def _reserve(self, size: int) -> None:
        """Take the room first: HDF5 cannot go back once a write of its own has failed."""
        if not self._may_reserve or sys.platform != "linux":
            return
        have = os.fstat(self._descriptor).st_size
        if have >= size:
            return
        try:
            os.posix_fallocate(self._descriptor, have, size + _AHEAD - have)
        except OSError as problem:
            if problem.errno not in _NO_RESERVATION:
                raise
            self._may_reserve = False

    def finish(self, outcome: str) -> None:
        """Write the outcome and close, so that any HDF5 reader opens the file.

        Raises
        ------
        OSError, RuntimeError, ValueError : the disk refuses; call `give_up`.
        """
        self._sound = False
        assert self._file is not None
        self._outcome[()] = outcome.encode()
        self._file.flush()
        self._sound = True
        with self._opened_beside() as file:
            self._file.close()
            block = superblock_of(file)
            # another reader in this process keeps HDF5 from closing the file: its end is then not known yet
            if not block.writing and block.stored_end < block.size:
                file.truncate(block.stored_end)
            os.fsync(file.fileno())

    def _opened_beside(self) -> IO[bytes]:
        # by what is open already: the name may be gone
        return self.path.open("r+b") if sys.platform == "win32" else os.fdopen(os.dup(self._descriptor), "r+b")

    def fate(self) -> Fate:
        """Return what has become of the file."""
        # Windows keeps open files where they are
        if sys.platform == "win32":
            return Fate.STAYS
        ours = os.fstat(self._descriptor)
        try:
            there = self.path.stat()
            # some network disks number open files otherwise than names
            if os.path.samestat(there, ours) or os.path.samestat(there, self._placed):
                return Fate.STAYS
        except (FileNotFoundError, NotADirectoryError):
            pass
        except OSError:
            # nobody can tell; what is written still goes into it
            return Fate.STAYS
        return Fate.REMOVED if ours.st_nlink < self._placed.st_nlink else Fate.MOVED

    def remove(self) -> None:
        """Take the name of a closed file off the disk, as far as that can be done."""
        with contextlib.suppress(OSError):
            if os.path.samestat(self.path.stat(), self._placed):
                self.path.unlink()

    def give_up(self, outcome: str) -> None:
        """Close as well as the disk lets: finished where nothing has failed half-way, else abandoned."""
        if self._sound and self._file:
            with contextlib.suppress(*DISK_ERRORS):
                self.finish(outcome)
                return
        self.abandon(outcome)

    def abandon(self, outcome: str) -> None:
        """Leave the file as it is on disk, as a kill would, but with its outcome."""
        if not self._file:
            return
        with contextlib.suppress(OSError):
            if self._outcome_at is not None and sys.platform != "win32":
                text = outcome.encode().ljust(layout.OUTCOME_BYTES, b"\0")
                os.pwrite(self._descriptor, text, self._outcome_at)
        with contextlib.suppress(OSError):
            if sys.platform == "linux":
                # unable to write what it still holds, HDF5 crashes at exit: let it write to memory
                memory = os.memfd_create("given-up")
                os.dup2(memory, self._descriptor)
                os.close(memory)
        with contextlib.suppress(*DISK_ERRORS):
            self._file.close()


def _extend(dataset: h5py.Dataset, rows: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> None:
    start = len(dataset)
    dataset.resize(start + len(rows), axis=0)
    dataset[start:] = rows
    dataset.flush()


def _allocated(dataset: h5py.Dataset, rows: int) -> int:
    chunk: int = math.prod(dataset.chunks) * dataset.dtype.itemsize + _BYTES_PER_CHUNK
    chunks: int = math.ceil(rows / dataset.chunks[0])
    return chunks * chunk


def reason(problem: BaseException) -> str:
    """Return why in a few words; HDF5 hides the number of the error in a long text."""
    found = _ERRNO.search(str(problem))
    number = int(found[1]) if found else problem.errno if isinstance(problem, OSError) else None
    if number is not None and number in errno.errorcode:
        return os.strerror(number)
    return " ".join(str(problem).split())[:200]
