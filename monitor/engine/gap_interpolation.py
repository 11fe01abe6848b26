"""Short gaps in the signals of the actuators, interpolated before anything is computed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from monitor.indicators.parts.sample_loop import LARGEST_SAMPLE
from monitor.messages.blocks import Column, Samples, SignalBlock, Stream
from monitor.messages.reasons import Reason

# windows before a result in which interpolated samples count: the window, and how long results are held
_COUNTED = 1.3
# share of a window above which interpolated samples leave nothing to be known
_MOST = 0.25


class GapInterpolation:
    """Interpolates short gaps, linearly and channel by channel: lost samples, and samples that are no numbers.

    The samples of a gap are released with the one that ends it, so that results come late by a gap only while there
    is one; of a longer gap they are released as they are. What is released does not depend on how the stream is split
    into blocks.

    Parameters
    ----------
    stream : of the signals, with one actuator or more.
    longest : s, the longest gap that is interpolated.
    window : s, of the indicators.

    Attributes
    ----------
    count : samples that were interpolated, the largest number of any actuator.
    """

    def __init__(self, stream: Stream, longest: float, window: float) -> None:
        # a little more, for a gap of exactly so many samples
        self._longest = int(longest * stream.sample_rate + 1e-6)
        self._n_window = max(1, round(window * stream.sample_rate))
        self._pairs = {
            pair.actuator: [pair.command, pair.measured, *([] if pair.force is None else [pair.force])]
            for pair in stream.pairs
        }
        self._columns = sorted({column for columns in self._pairs.values() for column in columns})
        n = len(stream.channels)
        # rows that wait for the end of a gap, which of them are interpolated, and the values before them
        self._rows, self._filled = np.empty((0, n)), np.empty((0, n), dtype=np.bool_)
        self._before = np.full(n, np.nan)
        self._next = -1
        self._numbers = {actuator: np.empty(0, dtype=np.int64) for actuator in self._pairs}
        self._counts = dict.fromkeys(self._pairs, 0)

    @property
    def count(self) -> int:
        """Samples that were interpolated, of the actuator with most of them."""
        return max(self._counts.values())

    def push(self, block: SignalBlock, *, broken: bool) -> list[tuple[SignalBlock, bool]]:
        """Return what can be computed after the next block, each part with whether samples before it are missing.

        Parameters
        ----------
        broken : samples before the block are missing, or its times do not match.
        """
        released = []
        missing = block.index - self._next if self._next >= 0 else 0
        if broken and not 0 < missing <= self._longest:
            if len(self._rows):
                # the gap goes on
                time = block.time - (missing + len(self._rows)) * block.stream.dt
                released.append((self._release(block, self._next - len(self._rows), time, len(self._rows)), False))
            self._before[:] = np.nan
            missing = 0
        else:
            broken = False
        gap = np.full((missing, block.samples.shape[1]), np.nan)
        self._rows = np.concatenate([self._rows, gap, block.samples])
        self._filled = np.concatenate([self._filled, np.zeros((missing + len(block), self._rows.shape[1]), np.bool_)])
        self._next = block.index + len(block)
        n = len(self._rows)
        ready = min([n, *map(self._interpolate, self._columns)])
        ready = n if block.last else ready
        part = self._release(block, self._next - n, block.time - (n - len(block)) * block.stream.dt, ready)
        released.append((replace(part, last=block.last), broken))
        return released

    def _interpolate(self, column: int) -> int:
        """Interpolate the gaps of a channel that have ended; return the first row of one that may still end."""
        values = self._rows[:, column]
        bad = ~(np.abs(values) < LARGEST_SAMPLE)
        edges = np.flatnonzero(np.diff(bad, prepend=False, append=False)).reshape(-1, 2)
        for begin, end in edges.tolist():
            before = values[begin - 1] if begin else self._before[column]
            if np.isnan(before) or end - begin > self._longest:
                continue
            if end == len(values):
                return int(begin)
            values[begin:end] = before + (values[end] - before) * np.arange(1, end - begin + 1) / (end - begin + 1)
            self._filled[begin:end, column] = True
        return len(values)

    def _release(self, block: SignalBlock, index: int, time: float, n: int) -> SignalBlock:
        """Return the first `n` rows that wait as a block, and count what of them is interpolated."""
        rows, filled = self._rows[:n], self._filled[:n]
        self._rows, self._filled = self._rows[n:], self._filled[n:]
        if n:
            self._before = np.where(np.abs(rows[-1]) < LARGEST_SAMPLE, rows[-1], np.nan)
        if filled.any():
            for actuator, columns in self._pairs.items():
                numbers = index + np.flatnonzero(filled[:, columns].any(axis=1))
                self._counts[actuator] += len(numbers)
                self._numbers[actuator] = np.concatenate([self._numbers[actuator], numbers])
        return SignalBlock(block.stream, index, time, rows, last=False)

    def widen(self, rows: Samples, first: int, every: int, columns: tuple[Column, ...]) -> None:
        """Widen the standard deviations of results in place, as if the window were shorter by what is interpolated.

        Where that is more than a quarter of it, no result is valid.

        Parameters
        ----------
        rows : (n, n_columns), of samples ``first``, ``first + every`` and so on.
        """
        span = int(_COUNTED * self._n_window)
        at = first + every * np.arange(len(rows))
        for actuator, numbers in self._numbers.items():
            if not len(numbers) or not len(rows):
                continue
            inside = np.searchsorted(numbers, at, side="right") - np.searchsorted(numbers, at - span, side="right")
            own = np.array([column.actuator == actuator for column in columns])
            deviations, reasons = (
                own & [column.name.endswith(end) for column in columns] for end in ("_sd", "_reason")
            )
            share = np.minimum(inside / self._n_window, _MOST)
            rows[:, deviations] /= np.sqrt(1.0 - share)[:, None]
            invalid = inside > _MOST * self._n_window
            rows[np.ix_(invalid, own & ~reasons)] = np.nan
            # what has no value for another reason keeps that
            codes = rows[:, reasons]
            codes[invalid[:, None] & (codes == Reason.VALID)] = Reason.BAD_SAMPLE
            rows[:, reasons] = codes
            self._numbers[actuator] = numbers[numbers > at[-1] - span]
