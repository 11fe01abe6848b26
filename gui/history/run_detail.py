"""What is older than memory in all its detail, from the run file that the service records."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from gui.history.envelope import Envelope
from gui.history.pyramid import Pyramid
from monitor.blocks import Samples
from monitor.recording.layout import RunFileError
from monitor.recording.spans import SignalSpan, read_signals

_MOST_BYTES = 1 << 25
# s by which times may be off index and rate from one row to the next
_JUMP = 0.1


class RunDetail:
    """Look into a run file, which may be written at the same time.

    Each call opens the file anew and takes some milliseconds, and more where much is read.

    Parameters
    ----------
    path : the file, on this machine.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def envelope(self, epoch: int, t0: float, t1: float, n_columns: int, columns: Sequence[int]) -> Envelope | None:
        """Return what curves of the channels `columns` from `t0` to `t1` are drawn from.

        Times, and the edges of what is returned, are those of the rig, s. It is None where more than 32 MB would have
        to be read, where the file does not have it, and where it is damaged or gone.
        """
        if not (math.isfinite(t0) and math.isfinite(t1) and t0 < t1):
            return None
        beside = (t1 - t0) / max(1, n_columns)
        try:
            span = read_signals(self.path, epoch, t0 - 2.0 * beside, t1 + 2.0 * beside, _MOST_BYTES)
        except (RunFileError, OSError):
            return None
        if span is None or any(not 0 <= column < span.samples.shape[1] for column in columns):
            return None
        return _envelope(_steady(span), t0, t1, n_columns, list(columns))


def _steady(span: SignalSpan) -> SignalSpan:
    """Return the longest part in which the clock goes with the index."""
    step = np.diff(span.index)
    off = np.abs(np.diff(span.time) - step / span.sample_rate)
    allowed = np.maximum(_JUMP, 2.5 / span.sample_rate)
    # a NaN is not allowed either
    cuts = np.flatnonzero((step <= 0) | ~(off <= allowed)) + 1
    edges = np.concatenate([[0], cuts, [len(span.index)]])
    longest = int(np.argmax(np.diff(edges)))
    part = slice(int(edges[longest]), int(edges[longest + 1]))
    return SignalSpan(span.sample_rate, span.index[part], span.time[part], span.samples[part])


def _envelope(span: SignalSpan, t0: float, t1: float, n_columns: int, columns: list[int]) -> Envelope | None:
    if not len(span.index):
        return None
    rate, first = span.sample_rate, int(span.index[0])
    n_rows = int(span.index[-1]) - first + 1
    if 8 * n_rows * max(1, len(columns)) > _MOST_BYTES:
        return None
    rows = np.full((n_rows, len(columns)), np.nan)
    rows[span.index - first] = span.samples[:, columns]
    rows[np.isinf(rows)] = np.nan
    pyramid = Pyramid(len(columns), (n_rows,))
    pyramid.append(first, rows)
    start = first + (t0 - float(span.time[0])) * rate
    found = pyramid.envelope(start, start + (t1 - t0) * rate, n_columns, range(len(columns)))
    return Envelope(_times(span, found.edges), found.low, found.high, found.rows)


def _times(span: SignalSpan, edges: Samples) -> Samples:
    """Return when the rows with these numbers were taken, s; beyond the first and the last, by the rate."""
    inside = np.clip(edges, span.index[0], span.index[-1])
    times: Samples = np.interp(inside, span.index, span.time) + (edges - inside) / span.sample_rate
    return times
