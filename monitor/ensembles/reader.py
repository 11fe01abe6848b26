"""Ensembles out of files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np

from monitor.ensembles.layout import DAMAGE, ORDER, PAGE, PART, PROGRESS, QUANTITY, RESPONSE, TIME, UNIT, reason, text
from monitor.messages.blocks import Samples
from monitor.reliability.ensemble import Ensemble, EnsembleError, Ranks, sort_ensemble
from monitor.system.files import check_regular
from monitor.system.hdf5_file import is_inside, is_stored_inside
from monitor.system.safe_text import printable

_HARMLESS = 1 << 28
_MOST_PACKED = 50  # times: measured and simulated responses pack to a tenth at best
_MOST_NAMES = 200
_CHECKED = 64  # instants whose order is looked at


def read_ensemble(path: Path | str) -> Ensemble:
    """Return the ensemble in an ``.npz`` or HDF5 file; what is not sorted yet is sorted in memory.

    Of a file that was sorted when it was made only what is looked at is read: it is mapped, not loaded. That its
    order is still the response's is checked at up to 64 instants, the first and the last among them; where it is not,
    as after the response was edited in place, all is loaded and sorted anew. What was edited only between these
    instants, or while the file is mapped, goes unseen: write a new file instead.

    Parameters
    ----------
    path : with the arrays ``time`` and ``response``, see `monitor.ensembles.layout`.

    Raises
    ------
    EnsembleError : the file is not there, is cut short, or does not hold an ensemble; the text names it.
    """
    path = Path(path)
    try:
        check_regular(path)
        return _from_npz(path) if path.suffix.lower() == ".npz" else _from_hdf5(path)
    except EnsembleError as problem:
        said = str(problem)
        raise EnsembleError(said if said.startswith(str(path)) else f"{path}: {said}") from None
    except FileNotFoundError as problem:
        unfinished = path.with_name(path.name + PART)
        more = f"; {unfinished.name} is there: it is not finished" if unfinished.exists() else ""
        raise EnsembleError(f"{path}: there is no such file{more}") from problem
    except DAMAGE as problem:
        raise EnsembleError(
            f"{path}: cannot be read as an ensemble, cut short or of another kind ({reason(problem)})"
        ) from problem


def _from_npz(path: Path) -> Ensemble:
    # pickled objects would run code of whoever made the file; opened here, for NumPy leaves open what it refuses
    with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        _require(arrays)
        _check_claim(path, sum(arrays.zip.getinfo(f"{name}.npy").file_size for name in (TIME, RESPONSE)))
        return sort_ensemble(arrays[TIME], arrays[RESPONSE], name=str(path))


def _from_hdf5(path: Path) -> Ensemble:
    with h5py.File(path, "r") as file:
        _require(file)
        _check_claim(path, sum(_own(file, name).nbytes for name in (TIME, RESPONSE, ORDER, PROGRESS) if name in file))
        time, response, order = np.asarray(file[TIME], dtype=np.float64), file[RESPONSE], file.get(ORDER)
        unit = text(file.attrs.get(UNIT, ""))
        name = text(file.attrs.get(QUANTITY, "")) or str(path)
        ours = PROGRESS in file
        if ours and file[PROGRESS][()].tolist() != [*reversed(response.shape)]:
            raise EnsembleError("is not finished: go on with what was making it")
        if not (ours and _mappable(response, "<f8") and _mappable(order, "<u4")):
            return sort_ensemble(time, response[...], unit, name)
        places = [(data.id.get_offset(), data.shape, data.dtype) for data in (response, order)]
    mapped: list[Any] = [np.asarray(np.memmap(path, dtype, "r", offset, shape)) for offset, shape, dtype in places]
    response, order = mapped
    if not _in_order(response, order):
        return sort_ensemble(time, np.array(response), unit, name)
    return Ensemble(time, response, order, unit, name)


def _own(file: h5py.File, name: str) -> h5py.Dataset:
    """Return a dataset whose numbers are in the file itself."""
    if is_inside(file, name) and isinstance(file[name], h5py.Dataset) and is_stored_inside(file[name]):
        return file[name]
    raise EnsembleError(f"{name} is no array, or a link, or kept in another file: cannot be read as an ensemble")


def _check_claim(path: Path, claimed: int) -> None:
    """Refuse what would become far more in memory than it is on disk, before memory is asked for."""
    stored = path.stat().st_size
    if claimed > max(_HARMLESS, _MOST_PACKED * stored):
        raise EnsembleError(f"claims {claimed / 1e9:.3g} GB of numbers in a file of {stored / 1e6:.3g} MB")


def _in_order(response: Samples, order: Ranks) -> bool:
    """Whether the order of the instants that are looked at is a permutation along which a finite response rises."""
    if order.shape != response.shape or not response.size:
        return False
    for row in np.unique(np.linspace(0, len(response) - 1, _CHECKED).astype(np.int64)).tolist():
        ranks = order[row]
        if int(ranks.max()) >= len(ranks) or (np.bincount(ranks, minlength=len(ranks)) != 1).any():
            return False
        sorted_ = response[row][ranks]
        # not-a-number rises nowhere
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
            held = printable(", ".join(sorted(arrays)))[:_MOST_NAMES] or "nothing"
            raise EnsembleError(
                f"holds {held}, but no {name!r}: it needs time (n_times,) and response (n_times, n_realizations)"
            )
