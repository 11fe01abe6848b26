"""A recording whose samples are computed as they are read, so that a long simulation starts at once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from monitor.messages.blocks import Samples, Stream
from replay.formats.recordings import EvenRecording

_KEPT_BYTES = 1 << 27


class ComputedRecording(EvenRecording):
    """A recording of a simulation that runs while it is read.

    Samples that were computed are kept up to a limit, beyond which the oldest are dropped. Where they are read again,
    as after a seek back, the simulation runs again from its start.

    Parameters
    ----------
    stream : what the columns are.
    n_samples : how many there will be.
    columns : of what is computed, in ascending order.
    pieces : starts the simulation and gives its samples in order, (rows, columns) at a time. An ArithmeticError, such
        as that of a test that leaves its stroke, is a ValueError of who reads.
    known : times (n,) [s] -> (n, other columns), what is known in advance, such as the injected truth.
    kept_bytes : the limit.
    """

    def __init__(
        self,
        stream: Stream,
        n_samples: int,
        columns: list[int],
        pieces: Callable[[], Iterator[Samples]],
        known: Callable[[Samples], Samples],
        kept_bytes: int = _KEPT_BYTES,
    ) -> None:
        self.stream, self.start_time, self.index = stream, 0.0, None
        self.notes: tuple[str, ...] = ()
        self._n_samples, self._kept_bytes = n_samples, kept_bytes
        self._columns = columns
        self._others = [column for column in range(len(stream.channels)) if column not in columns]
        self._start, self._known = pieces, known
        self._restart()

    @property
    def n_samples(self) -> int:
        """Samples that there will be."""
        return self._n_samples

    @property
    def computed(self) -> int:
        """Samples that the simulation, as it runs, has come to."""
        return self._ready

    @property
    def samples(self) -> Samples:
        """(n_samples, n_channels), computed to the end."""
        return self._rows(0, self.n_samples)

    def known_at(self, numbers: NDArray[np.int64]) -> Samples:
        """Return (n, n_channels) of the samples with these numbers; NaN in what has to be computed."""
        found = np.full((len(numbers), len(self.stream.channels)), np.nan)
        found[:, self._others] = self._known(numbers / self.stream.sample_rate)
        return found

    def _pieces(self, begin: int, end: int, step: int) -> Iterator[tuple[int, Samples]]:
        for row in range(begin, end, step):
            yield row, self._rows(row, min(row + step, end))

    def _restart(self) -> None:
        self._running = self._start()
        self._kept: list[Samples] = []
        self._first_rows: list[int] = []
        self._ready = self._size = 0

    def _rows(self, begin: int, end: int) -> Samples:
        if begin < (self._first_rows[0] if self._kept else self._ready):
            self._restart()
        while self._ready < end:
            self._compute(begin)
        at = max(0, bisect_right(self._first_rows, begin) - 1)
        parts = []
        while begin < end:
            first = self._first_rows[at]
            parts.append(self._kept[at][begin - first : end - first])
            begin += len(parts[-1])
            at += 1
        return parts[0] if len(parts) == 1 else np.concatenate([np.empty((0, len(self.stream.channels))), *parts])

    def _compute(self, needed: int) -> None:
        """Compute the next piece, and drop the oldest before row `needed`."""
        try:
            piece = next(self._running)
        except ArithmeticError as problem:
            raise ValueError(f"the simulation ends early: {problem}") from problem
        except StopIteration:
            raise ValueError(f"the simulation ends early, after {self._ready} samples") from None
        rows = self.known_at(np.arange(self._ready, self._ready + len(piece)))
        rows[:, self._columns] = piece
        self._kept.append(rows)
        self._first_rows.append(self._ready)
        self._ready += len(rows)
        self._size += rows.nbytes
        while self._size > self._kept_bytes and len(self._kept) > 1 and self._first_rows[1] <= needed:
            self._size -= self._kept.pop(0).nbytes
            del self._first_rows[0]
