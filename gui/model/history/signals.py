"""What the rig's channels did, on the display's axis."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from gui.model.history.envelope import Envelope
from gui.model.history.pyramid import Pyramid, signal_levels
from monitor.messages.blocks import Channel, Pair, Samples, Stream

_MOST = 1 << 20


class SignalHistory:
    """Every sample of the last minutes, and the least and greatest of buckets for a day.

    Row r stands at x = r / sample_rate. What is infinite is kept as NaN: a picture has no place for it.

    Parameters
    ----------
    stream : what the columns are.
    minutes : how far back every sample is kept, where memory allows.
    memory : bytes at most; taken at once.
    """

    def __init__(self, stream: Stream, minutes: float, memory: int) -> None:
        self.stream = stream
        width = len(stream.channels)
        self._rows = Pyramid(width, signal_levels(stream.sample_rate, width, minutes, memory))

    @property
    def channels(self) -> tuple[Channel, ...]:
        """One a column."""
        return self.stream.channels

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """The columns of each actuator."""
        return self.stream.pairs

    @property
    def sample_rate(self) -> float:
        """Hz."""
        return self.stream.sample_rate

    @property
    def begin_x(self) -> float:
        """Where the oldest that is known begins, s; NaN before the first sample."""
        return self._rows.begin / self.sample_rate if self._rows.end else math.nan

    @property
    def kept_x(self) -> float:
        """Of the oldest sample that is kept as it came, s; NaN before the first."""
        return self._rows.kept / self.sample_rate if self._rows.end else math.nan

    @property
    def end_x(self) -> float:
        """Of the newest sample, s; NaN before the first."""
        return (self._rows.end - 1) / self.sample_rate if self._rows.end else math.nan

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self._rows.nbytes

    def append(self, x: float, samples: Samples) -> None:
        """Take consecutive samples, (n_samples, n_channels), the first of them at `x`."""
        if not np.isfinite(samples).all():
            samples = np.where(np.isfinite(samples), samples, np.nan)
        self._rows.append(round(x * self.sample_rate), samples)

    def envelope(self, x0: float, x1: float, n_columns: int, columns: Sequence[int]) -> Envelope:
        """Return what curves of `columns` from `x0` to `x1` are drawn from; its edges are x."""
        rate = self.sample_rate
        return self._rows.envelope(x0 * rate, x1 * rate, n_columns, columns).scaled(1.0 / rate)

    def samples(self, x0: float, x1: float, most: int = _MOST) -> tuple[Samples, Samples]:
        """Return x, (n,), and samples, (n, n_channels), from `x0` to `x1` inclusive: of these the newest `most`."""
        rate = self.sample_rate
        stop = min(self._rows.end, math.floor(x1 * rate + 1e-6) + 1)
        start = max(self._rows.kept, math.ceil(x0 * rate - 1e-6), stop - most)
        found = self._rows.rows(start, stop)
        return np.arange(start, start + len(found)) / rate, found

    def at(self, x: float, columns: Sequence[int] | None = None) -> Samples:
        """Return the values, (n_columns,), of the sample nearest to `x`; NaN where there is none."""
        width = len(self.channels) if columns is None else len(columns)
        if not math.isfinite(x):
            return np.full(width, np.nan)
        row = round(x * self.sample_rate)
        found: Samples = self._rows.rows(row, row + 1, columns)[0]
        return found

    def between(self, x: float, columns: Sequence[int]) -> tuple[Samples, Samples]:
        """Return what is known of the sample nearest to `x`: the least and the greatest it can be, (n_columns,) each.

        The two are one where it is kept as it came; else they are those of its bucket, NaN where nothing is known.
        """
        if not math.isfinite(x):
            nothing = np.full(len(columns), np.nan)
            return nothing, nothing
        half = 0.5 / self.sample_rate
        return self.envelope(x, x, 1, columns).at(x + half)
