"""A run file being written in SWMR mode: created, appended to, and closed. Used by a single thread."""

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
from monitor.recording import layout
from monitor.recording.layout import SeriesRows, event_rows
from monitor.recording.opening import SUPERBLOCK_SIZE, is_being_written, superblock_of


def _candidate_names(wanted: Path) -> Iterator[Path]:
    """Return `wanted`, then ``name-2``, ``name-3`` ..."""
    yield wanted
    for number in range(2, 1 << 31):
        yield wanted.with_name(f"{wanted.stem}-{number}{wanted.suffix}")


def rename_to_free_name(temporary: Path, wanted: Path) -> Path:
    """Rename `temporary` to the first of the candidate names that is free; return it. No file is overwritten."""
    for name in _candidate_names(wanted):
        try:
            name.hardlink_to(temporary)
        except FileExistsError:
            continue
        except OSError:
            # a file system without hard links: not atomic, but still never over another file
            if name.exists():
                continue
            return temporary.rename(name)
        temporary.unlink()
        return name
    raise OSError(errno.EEXIST, "no free name", str(wanted))


DISK_ERRORS = (OSError, RuntimeError, ValueError)
"""What h5py raises when writing fails."""

_METADATA_BYTES = 1 << 20
_ERRNO = re.compile(r"errno = (\d+)")
_RESERVE_AHEAD = 1 << 23
_CHUNK_OVERHEAD = 64
_NOT_SUPPORTED = {errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS}


class Location(StrEnum):
    """Where an open file is: still under its name, renamed, removed, or there with bytes of another program."""

    UNCHANGED = "unchanged"
    MOVED = "moved or renamed"
    REMOVED = "removed"
    OVERWRITTEN = "truncated or overwritten"


class SwmrFile:
    """A run file in SWMR mode, which other programs can read as soon as it has its name.

    Parameters
    ----------
    wanted : its name; if that exists, ``name-2``, ``name-3`` ...
    stream, results : define the columns; without `results` there is no results group.
    settings : JSON.

    Raises
    ------
    OSError, RuntimeError, ValueError : it cannot be written; no file is left behind.
    """

    def __init__(self, wanted: Path, stream: Stream, results: ResultStream | None, settings: bytes) -> None:
        temporary = wanted.with_name(f".{wanted.name}.{os.getpid()}.part")
        self.created = datetime.now(UTC).isoformat()
        image = layout.image(stream, results, settings, self.created)
        self._mark_at, self._mark = image.find(self.created.encode()), self.created.encode()
        self._size = 0  # bytes that the file had when it was last written to
        self._file: h5py.File | None = None
        self._outcome_at: int | None = None
        self._can_reserve = True
        self._consistent = False
        self._base_size = len(image) + _METADATA_BYTES
        try:
            # not created by HDF5, which crashes at exit when creating a file fails
            temporary.write_bytes(image)
            self._file = h5py.File(temporary, "r+", libver=layout.LIBRARY_VERSION, rdcc_nbytes=layout.CHUNK_CACHE)
            self._descriptor: int = self._file.id.get_vfd_handle()
            self._reserve(self._base_size)
            self._file.swmr_mode = True
            # referenced as long as the file: HDF5 also crashes when it cannot flush a released dataset
            self._outcome = self._file[layout.OUTCOME]
            self._outcome_at = self._outcome.id.get_offset()
            self.path = rename_to_free_name(temporary, wanted)
            self._created = self.path.stat()
            self._size = self._created.st_size
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
        self._consistent = True

    def append(self, rows: dict[str, SeriesRows], events: Sequence[Event]) -> None:
        """Write and flush rows and events; afterwards they survive a kill.

        Raises
        ------
        OSError, RuntimeError, ValueError : writing failed; call `close_after_error`.
        """
        self._reserve(self._base_size + self._required_size(rows, len(events)))
        self._consistent = False
        table = event_rows(events)
        checks = [
            layout.check_row(name, len(self._series[name][-1]), (c.data, c.time, c.epoch, c.index))
            for name, c in rows.items()
        ] + ([layout.check_row(layout.EVENTS, len(self._events), [table])] if events else [])
        for name, columns in rows.items():
            values = (columns.data, columns.time, columns.epoch)
            for dataset, value in zip(self._series[name], values, strict=False):
                _extend(dataset, value)
        # the index is written after all other columns are on disk: a row with an index is complete
        for name, columns in rows.items():
            _extend(self._series[name][-1], columns.index)
        if events:
            _extend(self._events, table)
        # last of all: rows with a checksum are complete
        _extend(self._checks, layout.check_table(checks))
        self._size = os.fstat(self._descriptor).st_size
        self._consistent = True

    def _required_size(self, rows: dict[str, SeriesRows], events: int) -> int:
        grown = [
            (dataset, len(rows[name]) if name in rows else 0)
            for name, datasets in self._series.items()
            for dataset in datasets
        ]
        grown += [(self._events, events), (self._checks, len(rows) + 1)]
        return sum(_allocated(dataset, len(dataset) + more) for dataset, more in grown)

    def _reserve(self, size: int) -> None:
        """Reserve disk space first: HDF5 cannot recover from a failed write."""
        if self._can_reserve and os.fstat(self._descriptor).st_size < size:
            self._can_reserve = reserve(self._descriptor, size + _RESERVE_AHEAD)

    def finish(self, outcome: str) -> None:
        """Write the outcome and close, so that any HDF5 reader can open the file.

        Raises
        ------
        OSError, RuntimeError, ValueError : writing failed; call `close_after_error`.
        """
        self._consistent = False
        assert self._file is not None
        self._outcome[()] = outcome.encode()
        self._file.flush()
        self._consistent = True
        with self._second_handle() as file:
            self._file.close()
            block = superblock_of(file)
            # with another reader in this process HDF5 does not close the file, and its end is not known yet
            if not block.writing and block.stored_end < block.size:
                file.truncate(block.stored_end)
            os.fsync(file.fileno())

    def _second_handle(self) -> IO[bytes]:
        # through the open descriptor: the name may be gone
        return self.path.open("r+b") if sys.platform == "win32" else os.fdopen(os.dup(self._descriptor), "r+b")

    def location(self) -> Location:
        """Return whether the file still has its name, and its size, superblock and root group."""
        # Windows does not let open files be renamed or truncated
        if sys.platform == "win32":
            return Location.UNCHANGED
        if not self._is_own():
            return Location.OVERWRITTEN
        own = os.fstat(self._descriptor)
        try:
            found = self.path.stat()
            # some network file systems give open files other inode numbers
            if os.path.samestat(found, own) or os.path.samestat(found, self._created):
                return Location.UNCHANGED
        except (FileNotFoundError, NotADirectoryError):
            pass
        except OSError:
            # unknown; writing still works
            return Location.UNCHANGED
        return Location.REMOVED if own.st_nlink < self._created.st_nlink else Location.MOVED

    def _is_own(self) -> bool:
        """Whether the bytes at the start of the file are still those of this run, and none are missing at its end."""
        try:
            if os.fstat(self._descriptor).st_size < self._size:
                return False
            head = os.pread(self._descriptor, SUPERBLOCK_SIZE, 0)
            mark = os.pread(self._descriptor, len(self._mark), self._mark_at)
        except OSError:
            # unknown: a disk that cannot be read is no other program
            return True
        return is_being_written(head) and mark == self._mark

    def remove(self) -> None:
        """Delete a closed file, unless another one has its name."""
        with contextlib.suppress(OSError):
            if os.path.samestat(self.path.stat(), self._created):
                self.path.unlink()

    def close_after_error(self, outcome: str) -> None:
        """Close after an error: `finish` if the file is consistent, otherwise or on failure `abandon`."""
        if self._consistent and self._file and self.location() is not Location.OVERWRITTEN:
            with contextlib.suppress(*DISK_ERRORS):
                self.finish(outcome)
                return
        self.abandon(outcome)

    def abandon(self, outcome: str) -> None:
        """Leave the file on disk as after a kill, but with its outcome; untouched if another program wrote to it."""
        if not self._file:
            return
        with contextlib.suppress(OSError):
            if self._outcome_at is not None and sys.platform != "win32" and self._is_own():
                text = outcome.encode().ljust(layout.OUTCOME_BYTES, b"\0")
                os.pwrite(self._descriptor, text, self._outcome_at)
        with contextlib.suppress(OSError):
            if sys.platform == "linux":
                # HDF5 crashes at exit if it cannot write its buffers: let it write to memory
                memory = os.memfd_create("abandoned")
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
    chunk: int = math.prod(dataset.chunks) * dataset.dtype.itemsize + _CHUNK_OVERHEAD
    chunks: int = math.ceil(rows / dataset.chunks[0])
    return chunks * chunk


def reserve(descriptor: int, size: int) -> bool:
    """Extend a file to `size` bytes of disk space; return whether that is possible at all.

    Raises
    ------
    OSError : the disk is full.
    """
    if sys.platform != "linux":
        return False
    current = os.fstat(descriptor).st_size
    try:
        os.posix_fallocate(descriptor, current, size - current)
    except OSError as problem:
        if problem.errno not in _NOT_SUPPORTED:
            raise
        return False
    return True


def error_text(problem: BaseException) -> str:
    """Return a short description of an error; HDF5 hides the error number in a long text."""
    found = _ERRNO.search(str(problem))
    number = int(found[1]) if found else problem.errno if isinstance(problem, OSError) else None
    if number is not None and number in errno.errorcode:
        return os.strerror(number)
    return " ".join(str(problem).split())[:200]
