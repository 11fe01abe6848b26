"""A fault of the actuator: from a time on it lags."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from monitor.messages.blocks import Samples, SignalBlock
from replay.faults.disturbance import ROUNDING, Passing, measured_columns, sample_at
from replay.faults.sample_count import SampleCount


class DelayStep(Passing):
    """Lets the measured channels lag by `delay` seconds from `time` seconds on.

    Samples between samples are interpolated linearly; before the first sample that is known, the first is held.
    """

    def __init__(self, time: float, delay: float) -> None:
        self._time, self._delay = time, delay
        self._count = SampleCount()
        self._zero = 0  # the sample from which `time` counts
        self._epoch: int | None = None
        self._history: Samples | None = None
        self._next = 0

    def again(self, time: float, delay: float) -> None:
        """Lag by `delay` instead, from `time` seconds after the next sample that comes; what is known stays known."""
        self._time, self._delay, self._zero = time, delay, self._count.end

    def apply(self, block: SignalBlock) -> Sequence[SignalBlock]:
        """Return the block with the measured channels of an earlier moment."""
        if not len(block):
            return (block,)
        if block.stream.epoch != self._epoch:
            self._epoch, self._history = block.stream.epoch, None
        rate = block.stream.sample_rate
        lag = self._delay * rate
        whole = round(lag) if abs(lag - round(lag)) < ROUNDING else int(lag)
        part = max(lag - whole, 0.0)
        depth = whole + 1
        start = self._count.start_of(block)
        columns = measured_columns(block.stream)
        now = block.samples[:, columns]
        known = np.concatenate((self._remembered(now, start, depth), now))
        self._history, self._next = known[-depth:], start + len(block)
        late = known[depth - whole : len(known) - whole]
        if part > ROUNDING:
            late = (1.0 - part) * late + part * known[depth - whole - 1 : len(known) - whole - 1]
        step = max(self._zero + sample_at(self._time, rate) - start, 0)
        samples = block.samples.copy()
        samples[step:, columns] = late[step:]
        return (replace(block, samples=samples),)

    def _remembered(self, now: Samples, start: int, depth: int) -> Samples:
        """Return the `depth` samples before `start`, NaN where they were in a gap."""
        if self._history is None:
            return np.repeat(now[:1], depth, axis=0)
        unknown = max(depth - len(self._history), 0)  # of a lag that has grown
        history = np.concatenate((np.repeat(self._history[:1], unknown, axis=0), self._history))[-depth:]
        missing = min(start - self._next, depth)
        if missing <= 0:
            return history
        return np.concatenate((history[missing:], np.full((missing, now.shape[1]), np.nan)))
