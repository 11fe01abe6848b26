"""What is older than memory in all its detail, from the run file that the service records."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from gui.model.envelope import Envelope, bucket_rows
from gui.model.pyramid import Pyramid
from monitor.recording.layout import RunFileError
from monitor.recording.reader import SignalSpan, read_signals

_MOST_BYTES = 1 << 25


class RunDetail:
    """Look into a run file, which may be written at the same time.

    Each call opens the file again and takes some milliseconds, and more where much is read.

    Parameters
    ----------
    path : the file, on this machine.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def envelope(
        self, epoch: int, first: float, stop: float, n_columns: int, columns: Sequence[int]
    ) -> Envelope | None:
        """Return what curves of the channels `columns` are drawn from, from sample `first` of an epoch to `stop`.

        Its edges are sample numbers too: memory places samples by these, whatever the rig's clock says. Its buckets
        are whole, as those of `Pyramid.envelope`, and reach beyond what was asked for. It is None where more than
        32 MB would have to be read, where the file does not have it, and where it is damaged or gone.
        """
        if not (first < stop and math.isfinite(stop - first)):
            return None
        w = bucket_rows(stop - first, n_columns)
        begin, end = (math.floor(first / w) - 1) * w, (math.floor(stop / w) + 2) * w
        try:
            span = read_signals(self.path, epoch, begin, end, _MOST_BYTES)
        except (RunFileError, OSError):
            return None
        if span is None or any(not 0 <= column < span.samples.shape[1] for column in columns):
            return None
        return _envelope(span, first, stop, n_columns, list(columns))


def _envelope(span: SignalSpan, first: float, stop: float, n_columns: int, columns: list[int]) -> Envelope | None:
    if not len(span.index):
        return None
    begin = int(span.index.min())
    n_rows = int(span.index.max()) - begin + 1
    if 8 * n_rows * max(1, len(columns)) > _MOST_BYTES:
        return None
    rows = np.full((n_rows, len(columns)), np.nan)
    rows[span.index - begin] = span.samples[:, columns]
    rows[np.isinf(rows)] = np.nan
    pyramid = Pyramid(len(columns), (n_rows,))
    pyramid.append(begin, rows)
    return pyramid.envelope(first, stop, n_columns, range(len(columns)))
