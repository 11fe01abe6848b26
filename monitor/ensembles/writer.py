"""Write an ensemble file: realizations as they come, then their order."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from monitor.ensembles.layout import (
    DAMAGE,
    ORDER,
    PAGE,
    PART,
    PROGRESS,
    QUANTITY,
    RESPONSE,
    SOURCE,
    TIME,
    UNIT,
    reason,
    text,
)
from monitor.messages.blocks import Samples
from monitor.reliability.ensemble import EnsembleError, check_time, sort_rows

# for what HDF5 writes about the arrays
_SLACK = 1 << 16


def make_empty(path: Path, time: Samples, n_realizations: int, attributes: Mapping[str, str]) -> None:
    """Make the file; it has its name when everything is in its place, and leaves nothing behind if it gets none.

    Parameters
    ----------
    path : of the file.
    time : (n_times,), s.
    n_realizations : how many there is to be room for.
    attributes : of the file.

    Raises
    ------
    OSError, RuntimeError, ValueError : the disk refuses, at the latest for want of room.
    """
    shape = len(time), n_realizations
    size = 12 * shape[0] * shape[1] + time.nbytes + _SLACK
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        # tried before, because HDF5 crashes where a write of its own fails
        _reserve(temporary, "wb", size)
        _lay_out(temporary, time, shape, attributes)
        _reserve(temporary, "r+b", size)
        temporary.rename(path)
    finally:
        temporary.unlink(missing_ok=True)


def _reserve(path: Path, mode: str, size: int) -> None:
    with path.open(mode) as file:
        if sys.platform == "linux":
            os.posix_fallocate(file.fileno(), 0, size)
        else:
            file.truncate(size)


def _lay_out(path: Path, time: Samples, shape: tuple[int, int], attributes: Mapping[str, str]) -> None:
    with h5py.File(path, "w", alignment_threshold=PAGE, alignment_interval=PAGE) as file:
        file.attrs.update(attributes)
        file[TIME] = time
        file[PROGRESS] = np.zeros(2, dtype="<i8")
        for name, dtype in ((RESPONSE, "<f8"), (ORDER, "<u4")):
            creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            # a place in the file from the start, and nothing written into it
            creation.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
            creation.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
            space = h5py.h5s.create_simple(shape)
            h5py.h5d.create(file.id, name.encode(), h5py.h5t.py_create(np.dtype(dtype)), space, creation)


# of the response and its order, that are sorted at once
_SORTED_BYTES = 1 << 26


class EnsembleWriter:
    """An ensemble file in the making: ``<path>.part`` until it is finished.

    One that was broken off goes on where it stopped, if it is of the same source. Its arrays are written where they
    lie, past HDF5, which neither survives a write that fails nor leaves a file that always opens after a kill.

    Parameters
    ----------
    path : of the finished file; one that is there is replaced when the new one is finished.
    time : (n_times,), s.
    n_realizations : how many there will be.
    unit, quantity : of the response.
    source : what makes the realizations, in words that are the same only for the same ones.

    Raises
    ------
    EnsembleError : nothing is to be written, the unfinished file is of another source, or the disk refuses.
    """

    def __init__(
        self, path: Path, time: Samples, n_realizations: int, *, unit: str = "", quantity: str = "", source: str = ""
    ) -> None:
        check_time(time, str(path))
        if n_realizations < 1:
            raise EnsembleError(f"{path}: {n_realizations} realizations: there must be one or more")
        self._path, self._part = path, path.with_name(path.name + PART)
        self._shape = len(time), n_realizations
        try:
            if not self._part.exists():
                make_empty(self._part, time, n_realizations, {UNIT: unit, QUANTITY: quantity, SOURCE: source})
        except DAMAGE as problem:
            raise EnsembleError(f"{self._part}: cannot be made ({reason(problem)})") from problem
        try:
            # opened for writing for the lock that comes with it
            self._file = h5py.File(self._part, "r+")
        except DAMAGE as problem:
            raise EnsembleError(
                f"{self._part}: cannot be gone on with ({reason(problem)}): delete or rename it"
            ) from problem
        try:
            self._written, self._sorted = self._resume(time, source)
            self._offset = {name: self._file[name].id.get_offset() for name in (RESPONSE, ORDER, PROGRESS)}
            self._bytes = self._part.open("r+b", buffering=0)
        except BaseException:
            self._file.close()
            raise

    def _resume(self, time: Samples, source: str) -> tuple[int, int]:
        """Return how many realizations are written and how many instants are sorted already."""
        try:
            of_source = text(self._file.attrs[SOURCE])
            shape = self._file[RESPONSE].shape
            same = of_source == source and shape == self._shape and np.array_equal(self._file[TIME], time)
            written, sorted_ = self._file[PROGRESS][()].tolist()
        except DAMAGE as problem:
            raise EnsembleError(
                f"{self._part}: is no unfinished ensemble ({reason(problem)}): delete or rename it"
            ) from problem
        if not same:
            raise EnsembleError(
                f"{self._part}: is the unfinished ensemble of another source, time or size "
                f"({of_source}; {shape[0]} instants, {shape[1]} realizations): delete or rename it"
            )
        return written, sorted_

    @property
    def written(self) -> int:
        """How many realizations are there already."""
        return self._written

    def write(self, response: Samples) -> None:
        """Add the next realizations, (n_times, n), and see that they are on their way to the disk.

        Raises
        ------
        EnsembleError : they do not fit, one is not finite, or the disk refuses; what was written before is kept.
        """
        n_times, n_realizations = self._shape
        start = self._written
        if response.ndim != 2 or len(response) != n_times or response.shape[1] > n_realizations - start:
            raise EnsembleError(
                f"{self._path}: response has shape {response.shape}: it must be ({n_times}, n), "
                f"with n no more than the {n_realizations - start} realizations that are missing"
            )
        wrong = np.argwhere(~np.isfinite(response))
        if len(wrong):
            raise EnsembleError(
                f"{self._path}: realization {start + wrong[0, 1]} is not finite at instant {wrong[0, 0]}"
            )
        response = np.ascontiguousarray(response, dtype="<f8")
        try:
            for instant, row in enumerate(response):
                self._put(RESPONSE, 8 * (instant * n_realizations + start), row)
            self._note_progress(start + response.shape[1], self._sorted)
        except OSError as problem:
            raise self._refused(problem) from problem

    def finish(self, progress: Callable[[int, int], None] = lambda _done, _all: None) -> None:
        """Sort every instant and give the file its name.

        Parameters
        ----------
        progress : told how many instants of how many are sorted.

        Raises
        ------
        EnsembleError : realizations are missing, or the disk refuses.
        """
        n_times, n_realizations = self._shape
        if self._written != n_realizations:
            raise EnsembleError(f"{self._path}: {self._written} of {n_realizations} realizations are there")
        rows = max(1, _SORTED_BYTES // (12 * n_realizations))
        try:
            for start in range(self._sorted, n_times, rows):
                place = start * n_realizations
                count = min(rows, n_times - start) * n_realizations
                response = np.fromfile(self._part, "<f8", count, offset=self._offset[RESPONSE] + 8 * place)
                order = sort_rows(response.reshape(-1, n_realizations))
                self._put(ORDER, 4 * place, order.astype("<u4", copy=False))
                self._note_progress(self._written, min(start + rows, n_times))
                progress(self._sorted, n_times)
            self.close()
            self._part.replace(self._path)
        except OSError as problem:
            raise self._refused(problem) from problem

    def close(self) -> None:
        """Let go of the file; one that is not finished can be gone on with."""
        self._bytes.close()
        self._file.close()

    def _note_progress(self, written: int, sorted_: int) -> None:
        self._put(PROGRESS, 0, np.array([written, sorted_], dtype="<i8"))
        self._written, self._sorted = written, sorted_

    def _put(self, name: str, offset: int, values: NDArray[Any]) -> None:
        """Write values into an array of the file."""
        self._bytes.seek(self._offset[name] + offset)
        left = values.reshape(-1).view(np.uint8).data
        while left:
            left = left[self._bytes.write(left) :]

    def _refused(self, problem: OSError) -> EnsembleError:
        return EnsembleError(
            f"{self._part}: cannot be written ({reason(problem)}): what is there can be gone on with"
        )
