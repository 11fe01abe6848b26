"""Some samples of a run file, found without reading what lies before them."""

from __future__ import annotations

import os
from bisect import bisect_left
from dataclasses import dataclass
from pathlib import Path

import h5py

from monitor.messages.blocks import Samples
from monitor.recording import contents, layout, parts
from monitor.recording.columns import Integers


@dataclass(frozen=True, slots=True)
class SignalSpan:
    """Rows of one epoch as they were recorded.

    Parameters
    ----------
    sample_rate : Hz.
    index : (n_samples,), number of each since the publisher's start.
    samples : (n_samples, n_channels).
    """

    sample_rate: float
    index: Integers
    samples: Samples


def read_signals(
    path: str | os.PathLike[str], epoch: int, start: int, stop: int, most_bytes: int
) -> SignalSpan | None:
    """Return the samples of `epoch` numbered `start` to `stop` - 1; None where they are more than `most_bytes`.

    The file may be written meanwhile. Its rows are found by bisection; where epochs do not grow from row to row, some
    may be missed, and of an epoch that was there before those of the other time may be found.

    Raises
    ------
    RunFileError : it is not a run file, or it is damaged.
    """
    path = Path(path)
    with contents.opened(path) as (file, block):
        if block.cut:
            raise contents.damaged(path, "was cut short")
        try:
            return _read(file, epoch, start, stop, most_bytes)
        except parts.DAMAGE as problem:
            raise contents.damaged(path, "is damaged") from problem


def _read(file: h5py.File, epoch: int, start: int, stop: int, most_bytes: int) -> SignalSpan | None:
    data, _, epochs, index = parts.series(file, layout.SIGNALS)
    rate = parts.sample_rate(file)
    n = min(len(data), len(epochs), len(index))
    n = bisect_left(range(n), 1, key=lambda row: int(index[row] == layout.UNWRITTEN))

    def place(row: int) -> tuple[int, int]:
        return int(epochs[row]), int(index[row])

    first = bisect_left(range(n), (epoch, start), key=place)
    last = bisect_left(range(n), (epoch, stop), lo=first, key=place)
    if (last - first) * data.shape[1] * data.dtype.itemsize > most_bytes:
        return None
    numbers, rows = index[first:last], data[first:last]
    # of a file whose epochs or numbers fall, only what was asked for
    inside = (epochs[first:last] == epoch) & (numbers >= start) & (numbers < stop)
    return SignalSpan(rate, numbers[inside], rows[inside])
