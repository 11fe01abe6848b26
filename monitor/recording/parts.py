"""The parts of an open run file, each looked at before it is read: type, shape, size, and that it is in the file.

A file may be damaged, or made by a stranger: what it claims is not believed before memory is asked for.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import h5py
import numpy as np
from numpy.typing import NDArray

from monitor.recording import layout
from monitor.recording.checksums import CHECK_TYPE
from monitor.system.hdf5_file import is_inside, is_stored_inside
from monitor.wire.timeline import MAX_RATE, MIN_RATE

HDF5_ERRORS = (OSError, RuntimeError, ValueError, KeyError, TypeError, MemoryError)
"""What h5py raises on bytes that are not what they should be."""

MOST_COLUMNS = 1 << 16
_MOST_AT_ONCE = 1 << 28  # bytes of a part that is read as a whole
_MOST_CHUNK = 1 << 26


class PartError(ValueError):
    """A part of a run file is missing, or is not as it must be; the text says which, and what is wrong."""


class _Form(NamedTuple):
    """Kinds (as NumPy has them) of the values, or of the fields of a table, and the dimensions."""

    kinds: str | dict[str, str]
    dimensions: int


_TEXTS = {"name": "S", "unit": "S", "actuator": "S"}
_SERIES = {"time": _Form("f", 1), "epoch": _Form("i", 1), "index": _Form("i", 1)}
_FORMS = {
    **{f"{group}/{name}": form for group in layout.DATA for name, form in _SERIES.items()},
    **{f"{group}/{name}": _Form("f", 2) for group, name in layout.DATA.items()},
    layout.SETTINGS: _Form("S", 0),
    layout.OUTCOME: _Form("S", 0),
    layout.CHANNELS: _Form(_TEXTS | {"role": "S"}, 1),
    layout.COLUMNS: _Form(_TEXTS, 1),
    layout.EVENTS: _Form({"time": "f", "index": "i", "count": "i", "kind": "S", "detail": "S"}, 1),
    layout.CHECKS: _Form({name: CHECK_TYPE[name].kind for name in CHECK_TYPE.names or ()}, 1),
}


def dataset(file: h5py.File, name: str) -> h5py.Dataset:
    """Return a dataset of a run file, such as ``signals/time``; what it says of itself can be believed.

    Raises
    ------
    PartError : it is not there, or not what a run file has there.
    OSError, RuntimeError, KeyError, ValueError : HDF5 cannot make sense of the bytes.
    """
    if not is_inside(file, name):
        raise PartError(f"/{name} is missing")
    data = file[name]
    if not isinstance(data, h5py.Dataset):
        raise PartError(f"/{name} is missing")
    form = _FORMS[name]
    if data.shape is None or len(data.shape) != form.dimensions or not _is_of(data.dtype, form.kinds):
        raise PartError(f"/{name} is of another type")
    _check_size(data, name)
    return data


def whole(file: h5py.File, name: str) -> NDArray[Any]:
    """Return all of a small dataset, with the type it is stored in; raises as `dataset`."""
    data = dataset(file, name)
    return np.array(data[()], data.dtype)


def series(file: h5py.File, group: str) -> tuple[h5py.Dataset, ...]:
    """Return the datasets of `group` in the order of writing; raises as `dataset`."""
    return tuple(dataset(file, f"{group}/{name}") for name in layout.series_names(group))


def number(file: h5py.File, name: str) -> float:
    """Return the number that is the attribute `name`.

    Raises
    ------
    PartError : there is none, or it is none.
    """
    value = file.attrs.get(name)
    if not isinstance(value, int | float | np.number) or not math.isfinite(value):
        raise PartError(f"the attribute {name} is missing or no number")
    return float(value)


def sample_rate(file: h5py.File) -> float:
    """Return the sample rate, Hz; raises as `number`, also where no sample could be counted with it."""
    rate = number(file, "sample_rate")
    if not MIN_RATE <= rate <= MAX_RATE:
        raise PartError(f"the sample rate of {rate:g} Hz cannot be")
    return rate


def _is_of(kind: np.dtype[np.generic], wanted: str | dict[str, str]) -> bool:
    if isinstance(wanted, str):
        return kind.kind == wanted and (wanted == "S" or kind.itemsize == 8)
    fields = kind.fields
    if fields is None:
        return False
    return all(name in fields and fields[name][0].kind == own for name, own in wanted.items())


def _check_size(data: h5py.Dataset, name: str) -> None:
    if not is_stored_inside(data):
        raise PartError(f"/{name} is stored in another file")
    if data.ndim == 2 and data.shape[1] > MOST_COLUMNS:
        raise PartError(f"/{name} has {data.shape[1]} columns")
    stored = math.prod(data.shape) * data.dtype.itemsize
    if data.chunks is not None:
        if math.prod(data.chunks) * data.dtype.itemsize > _MOST_CHUNK:
            raise PartError(f"/{name} is stored in chunks that are too large")
    elif stored > data.id.get_storage_size():
        raise PartError(f"/{name} claims more than the file holds")
    if "/" not in name and stored > _MOST_AT_ONCE:
        raise PartError(f"/{name} claims more than a run file holds")
