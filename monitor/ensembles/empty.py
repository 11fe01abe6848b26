"""An ensemble file with room for its realizations, and none in it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import h5py
import numpy as np

from monitor.ensembles.layout import ORDER, PAGE, PROGRESS, RESPONSE, TIME
from monitor.messages.blocks import Samples

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
