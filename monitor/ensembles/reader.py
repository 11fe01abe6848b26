"""Ensembles out of files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np

from monitor.ensembles.layout import DAMAGE, ORDER, PAGE, PART, PROGRESS, QUANTITY, RESPONSE, TIME, UNIT, reason, text
from monitor.reliability.ensemble import Ensemble, EnsembleError, sort_ensemble


def read_ensemble(path: Path) -> Ensemble:
    """Return the ensemble in an ``.npz`` or HDF5 file; what is not sorted yet is sorted in memory.

    Of a file that was sorted when it was made only what is looked at is read: it is mapped, not loaded.

    Parameters
    ----------
    path : with the arrays ``time`` and ``response``, see `monitor.ensembles.layout`.

    Raises
    ------
    EnsembleError : the file is not there, is cut short, or does not hold an ensemble; the text names it.
    """
    try:
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
        return sort_ensemble(arrays[TIME], arrays[RESPONSE], name=str(path))


def _from_hdf5(path: Path) -> Ensemble:
    with h5py.File(path, "r") as file:
        _require(file)
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
    return Ensemble(time, mapped[0], mapped[1], unit, name)


def _mappable(data: h5py.Dataset, dtype: str) -> bool:
    offset = data.id.get_offset()
    return data.dtype == np.dtype(dtype) and data.ndim == 2 and offset is not None and offset % PAGE == 0


def _require(arrays: Any) -> None:
    for name in (TIME, RESPONSE):
        if name not in arrays:
            held = ", ".join(sorted(arrays)) or "nothing"
            raise EnsembleError(
                f"holds {held}, but no {name!r}: it needs time (n_times,) and response (n_times, n_realizations)"
            )
