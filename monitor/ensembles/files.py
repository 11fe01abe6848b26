"""Ensemble files: their layout, reading and writing them.

HDF5, or NumPy's npz with the first two arrays only:

- ``time`` (n_times,), s; ``response`` (n_times, n_realizations), float64.
- Written by this program also: ``order`` (n_times, n_realizations), uint32, the realizations of each instant by
  increasing response; ``progress`` (2,), int64, the number of realizations written and of instants sorted. Response
  and order are contiguous and, unless smaller than a page, aligned to pages, so that they can be memory-mapped.
"""

from __future__ import annotations

import os
import struct
import sys
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from monitor.messages.blocks import Samples
from monitor.reliability.ensemble import Ensemble, EnsembleError, Ranks, check_time, sort_ensemble, sort_rows
from monitor.system.files import HDF5_SIGNATURE, check_regular
from monitor.system.hdf5_file import is_inside, is_stored_inside
from monitor.system.safe_text import printable

TIME, RESPONSE, ORDER, PROGRESS = "time", "response", "order", "progress"
# attributes of the file
UNIT, QUANTITY, SOURCE = "unit", "quantity", "source"
PAGE = 4096
PART = ".part"
"""Suffix of an unfinished file."""

DAMAGE = (
    *(OSError, RuntimeError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError, EOFError),
    *(MemoryError, SyntaxError, struct.error, tokenize.TokenError, zlib.error, zipfile.BadZipFile),
)
"""What NumPy and h5py raise on invalid bytes, or on too many of them."""

_UNCHECKED_BYTES = 1 << 28
_MAX_COMPRESSION = 50  # measured and simulated responses compress to a tenth at best
_MAX_LISTED = 200  # characters of a list of arrays in a message
_CHECKED_INSTANTS = 64  # whose order is verified


def read_ensemble(path: Path | str) -> Ensemble:
    """Return the ensemble in an ``.npz`` or HDF5 file; a file without order is sorted in memory.

    A file with order is memory-mapped, not loaded. Whether the order still belongs to the response is verified at up
    to 64 instants, the first and the last among them; if it does not, for example because the response was edited in
    place, the file is loaded and sorted again. Edits between these instants, or while the file is mapped, are not
    detected: write a new file instead.

    Parameters
    ----------
    path : with the arrays ``time`` and ``response``.

    Raises
    ------
    EnsembleError : the file is missing, truncated, or not an ensemble; the message names it.
    """
    path = Path(path)
    try:
        check_regular(path)
        # `simulate` writes HDF5 into a file of any name
        is_npz = path.suffix.lower() == ".npz" and not _starts_as_hdf5(path)
        return _from_npz(path) if is_npz else _from_hdf5(path)
    except EnsembleError as problem:
        message = str(problem)
        raise EnsembleError(message if message.startswith(str(path)) else f"{path}: {message}") from None
    except FileNotFoundError as problem:
        unfinished = path.with_name(path.name + PART)
        more = f"; {unfinished.name} is there: it is not finished" if unfinished.exists() else ""
        raise EnsembleError(f"{path}: there is no such file{more}") from problem
    except DAMAGE as problem:
        raise EnsembleError(
            f"{path}: cannot be read as an ensemble, truncated or of another format ({reason(problem)})"
        ) from problem


def _starts_as_hdf5(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(HDF5_SIGNATURE)) == HDF5_SIGNATURE


def _from_npz(path: Path) -> Ensemble:
    # pickled objects would run code from the file; opened here, because NumPy leaves a file open that it rejects
    with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        _require(arrays)
        _check_size(path, sum(arrays.zip.getinfo(f"{name}.npy").file_size for name in (TIME, RESPONSE)))
        return sort_ensemble(arrays[TIME], arrays[RESPONSE], name=str(path))


def _from_hdf5(path: Path) -> Ensemble:
    with h5py.File(path, "r") as file:
        _require(file)
        _check_size(
            path, sum(_dataset(file, name).nbytes for name in (TIME, RESPONSE, ORDER, PROGRESS) if name in file)
        )
        time, response, order = np.asarray(file[TIME], dtype=np.float64), file[RESPONSE], file.get(ORDER)
        unit = text(file.attrs.get(UNIT, ""))
        name = text(file.attrs.get(QUANTITY, "")) or str(path)
        ours = PROGRESS in file
        if ours and file[PROGRESS][()].tolist() != [*reversed(response.shape)]:
            raise EnsembleError("is not finished: run again the command that was writing it")
        if not (ours and _mappable(response, "<f8") and _mappable(order, "<u4")):
            return sort_ensemble(time, response[...], unit, name)
        arrays = [(data.id.get_offset(), data.shape, data.dtype) for data in (response, order)]
    mapped: list[Any] = [np.asarray(np.memmap(path, dtype, "r", offset, shape)) for offset, shape, dtype in arrays]
    response, order = mapped
    if not _in_order(response, order):
        return sort_ensemble(time, np.array(response), unit, name)
    return Ensemble(time, response, order, unit, name)


def _dataset(file: h5py.File, name: str) -> h5py.Dataset:
    """Return a dataset that is stored in the file itself."""
    if is_inside(file, name) and isinstance(file[name], h5py.Dataset) and is_stored_inside(file[name]):
        return file[name]
    raise EnsembleError(f"{name} is not an array, is a link, or is stored in another file: not an ensemble")


def _check_size(path: Path, claimed: int) -> None:
    """Raise EnsembleError if the arrays would need far more memory than the file has bytes, before allocating it."""
    stored = path.stat().st_size
    if claimed > max(_UNCHECKED_BYTES, _MAX_COMPRESSION * stored):
        raise EnsembleError(f"claims {claimed / 1e9:.3g} GB of numbers in a file of {stored / 1e6:.3g} MB")


def _in_order(response: Samples, order: Ranks) -> bool:
    """Whether, at the verified instants, `order` is a permutation that sorts a finite response."""
    if order.shape != response.shape or not response.size:
        return False
    for row in np.unique(np.linspace(0, len(response) - 1, _CHECKED_INSTANTS).astype(np.int64)).tolist():
        ranks = order[row]
        if int(ranks.max()) >= len(ranks) or (np.bincount(ranks, minlength=len(ranks)) != 1).any():
            return False
        sorted_ = response[row][ranks]
        # NaN and infinity are sorted to the ends
        if not np.isfinite(sorted_[[0, -1]]).all() or not (sorted_[1:] >= sorted_[:-1]).all():
            return False
    return True


def _mappable(data: h5py.Dataset | None, dtype: str) -> bool:
    if not isinstance(data, h5py.Dataset):
        return False
    offset = data.id.get_offset()
    return data.dtype == np.dtype(dtype) and data.ndim == 2 and offset is not None and offset % PAGE == 0


def _require(arrays: Any) -> None:
    for name in (TIME, RESPONSE):
        if name not in arrays:
            names = printable(", ".join(sorted(arrays)))[:_MAX_LISTED] or "nothing"
            raise EnsembleError(
                f"has {names}, but not {name!r}: needs time (n_times,) and response (n_times, n_realizations)"
            )


def text(value: object) -> str:
    """Return stored text; MATLAB and others store it as bytes of a fixed length."""
    return value.decode(errors="replace").rstrip("\0 ") if isinstance(value, bytes) else str(value)


def reason(problem: BaseException) -> str:
    """Return the message of an error in one line."""
    message = problem.strerror if isinstance(problem, OSError) and problem.strerror else str(problem)
    return printable(" ".join(message.split()))[:200] or type(problem).__name__


_METADATA_BYTES = 1 << 16  # of HDF5
_BYTES_AT_ONCE = 1 << 26  # of response and order, sorted in one step


def _create(path: Path, time: Samples, n_realizations: int, attributes: Mapping[str, str]) -> None:
    """Create the file with all its space; atomic: on an error nothing is left.

    Raises
    ------
    OSError, RuntimeError, ValueError : the file cannot be written, for example because the disk is full.
    """
    shape = len(time), n_realizations
    size = 12 * shape[0] * shape[1] + time.nbytes + _METADATA_BYTES
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        # reserved first, because HDF5 crashes if a write fails
        _reserve(temporary, "wb", size)
        _write_layout(temporary, time, shape, attributes)
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


def _write_layout(path: Path, time: Samples, shape: tuple[int, int], attributes: Mapping[str, str]) -> None:
    with h5py.File(path, "w", alignment_threshold=PAGE, alignment_interval=PAGE) as file:
        file.attrs.update(attributes)
        file[TIME] = time
        file[PROGRESS] = np.zeros(2, dtype="<i8")
        for name, dtype in ((RESPONSE, "<f8"), (ORDER, "<u4")):
            creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            # allocated now, not written
            creation.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
            creation.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
            # the same ensemble has the same bytes whenever it is written
            creation.set_obj_track_times(False)
            space = h5py.h5s.create_simple(shape)
            h5py.h5d.create(file.id, name.encode(), h5py.h5t.py_create(np.dtype(dtype)), space, creation)


class EnsembleWriter:
    """Writer of an ensemble file, which is ``<path>.part`` until it is finished.

    An interrupted file is resumed where it stopped, if it has the same source. The arrays are written directly, not
    by HDF5, which neither survives a failed write nor leaves a file that can always be opened after a kill.

    Parameters
    ----------
    path : of the finished file; an existing file is replaced at the end.
    time : (n_times,), s.
    n_realizations : to be written in all.
    unit, quantity : of the response.
    source : identifies the simulation and its parameters; equal only for the same realizations.

    Raises
    ------
    EnsembleError : there is nothing to write, the unfinished file has another source, or it cannot be written.
    """

    def __init__(
        self, path: Path, time: Samples, n_realizations: int, *, unit: str = "", quantity: str = "", source: str = ""
    ) -> None:
        check_time(time, str(path))
        if n_realizations < 1:
            raise EnsembleError(f"{path}: {n_realizations} realizations: must be one or more")
        self._path, self._part = path, path.with_name(path.name + PART)
        self._shape = len(time), n_realizations
        try:
            if not self._part.exists():
                _create(self._part, time, n_realizations, {UNIT: unit, QUANTITY: quantity, SOURCE: source})
        except DAMAGE as problem:
            raise EnsembleError(f"{self._part}: cannot be created ({reason(problem)})") from problem
        try:
            # opened for writing for its lock
            self._file = h5py.File(self._part, "r+")
        except DAMAGE as problem:
            raise EnsembleError(
                f"{self._part}: cannot be resumed ({reason(problem)}): delete or rename it"
            ) from problem
        try:
            self.written, self._sorted = self._resume(time, source)
            """Number of realizations written."""
            self._offset = {name: self._file[name].id.get_offset() for name in (RESPONSE, ORDER, PROGRESS)}
            self._bytes = self._part.open("r+b", buffering=0)
        except BaseException:
            self._file.close()
            raise

    def _resume(self, time: Samples, source: str) -> tuple[int, int]:
        """Return the number of realizations written and of instants sorted."""
        try:
            stored_source = text(self._file.attrs[SOURCE])
            shape = self._file[RESPONSE].shape
            same = stored_source == source and shape == self._shape and np.array_equal(self._file[TIME], time)
            written, sorted_ = self._file[PROGRESS][()].tolist()
        except DAMAGE as problem:
            raise EnsembleError(
                f"{self._part}: is not an unfinished ensemble ({reason(problem)}): delete or rename it"
            ) from problem
        if not same:
            raise EnsembleError(
                f"{self._part}: is unfinished and has another source, time or size "
                f"({stored_source}; {shape[0]} instants, {shape[1]} realizations): delete or rename it"
            )
        return written, sorted_

    def write(self, response: Samples) -> None:
        """Write the next realizations, (n_times, n).

        Raises
        ------
        EnsembleError : the shape is wrong, a value is not finite, or the disk is full; those before remain.
        """
        n_times, n_realizations = self._shape
        start = self.written
        if response.ndim != 2 or len(response) != n_times or response.shape[1] > n_realizations - start:
            raise EnsembleError(
                f"{self._path}: response has shape {response.shape}: must be ({n_times}, n), "
                f"with n at most {n_realizations - start}, the number of missing realizations"
            )
        invalid = np.argwhere(~np.isfinite(response))
        if len(invalid):
            raise EnsembleError(
                f"{self._path}: realization {start + invalid[0, 1]} is not finite at instant {invalid[0, 0]}"
            )
        response = np.ascontiguousarray(response, dtype="<f8")
        try:
            for instant, row in enumerate(response):
                self._put(RESPONSE, 8 * (instant * n_realizations + start), row)
            self._set_progress(start + response.shape[1], self._sorted)
        except OSError as problem:
            raise self._write_error(problem) from problem

    def finish(self, progress: Callable[[int, int], None] = lambda _done, _all: None) -> None:
        """Sort the realizations of every instant and rename the file.

        Parameters
        ----------
        progress : called with the number of sorted instants and of all.

        Raises
        ------
        EnsembleError : realizations are missing, or the file cannot be written.
        """
        n_times, n_realizations = self._shape
        if self.written != n_realizations:
            raise EnsembleError(f"{self._path}: {self.written} of {n_realizations} realizations are written")
        rows = max(1, _BYTES_AT_ONCE // (12 * n_realizations))
        try:
            for start in range(self._sorted, n_times, rows):
                first = start * n_realizations
                count = min(rows, n_times - start) * n_realizations
                response = np.fromfile(self._part, "<f8", count, offset=self._offset[RESPONSE] + 8 * first)
                order = sort_rows(response.reshape(-1, n_realizations))
                self._put(ORDER, 4 * first, order.astype("<u4", copy=False))
                self._set_progress(self.written, min(start + rows, n_times))
                progress(self._sorted, n_times)
            self.close()
            self._part.replace(self._path)
        except OSError as problem:
            raise self._write_error(problem) from problem

    def close(self) -> None:
        """Close the file; an unfinished one can be resumed."""
        self._bytes.close()
        self._file.close()

    def _set_progress(self, written: int, sorted_: int) -> None:
        self._put(PROGRESS, 0, np.array([written, sorted_], dtype="<i8"))
        self.written, self._sorted = written, sorted_

    def _put(self, name: str, offset: int, values: NDArray[Any]) -> None:
        """Write `values` at `offset` bytes into an array."""
        self._bytes.seek(self._offset[name] + offset)
        remaining = values.reshape(-1).view(np.uint8).data
        while remaining:
            remaining = remaining[self._bytes.write(remaining) :]

    def _write_error(self, problem: OSError) -> EnsembleError:
        return EnsembleError(f"{self._part}: cannot be written ({reason(problem)}): it can be resumed")
