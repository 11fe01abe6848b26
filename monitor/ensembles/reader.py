"""Ensemble files: their layout, and reading them.

HDF5, or NumPy's npz with the first two arrays only:

- ``time`` (n_times,), s; ``response`` (n_times, n_realizations), float64.
- Written by this program also: ``order`` (n_times, n_realizations), uint32, the realizations of each instant by
  increasing response; ``progress`` (2,), int64, the number of realizations written and of instants sorted. Response
  and order are contiguous and, unless smaller than a page, aligned to pages, so that they can be memory-mapped.
"""

from __future__ import annotations

import struct
import tokenize
import zipfile
import zlib
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from monitor.messages.blocks import Samples
from monitor.reliability.ensemble import Ensemble, EnsembleError, Ranks, sort_ensemble
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
