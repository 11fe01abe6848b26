"""What a native sender's blocks contradict: its rate, the order of its samples, and that there is only one of it."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import replace

import numpy as np

from monitor.messages.blocks import Event, EventKind, Samples, SignalBlock, Stream
from monitor.wire.sample_rate import RateCheck, rate_contradicted, rate_implausible
from monitor.wire.sender_run import OWN_RIG

_LEAST_ROWS = 8
_ROUGHER, _UNEVEN = 10.0, 4.0  # times, beyond which one reading of a payload is rough and differences are uneven
_SURE = 8  # blocks that are rough by rows
_ALTERNATES, _AT_ONCE = 3, 1.0  # returns of the connection before the newest, each within so many s
_TRANSPOSED = "the payloads are smooth channel after channel, not row after row: transpose them before they are sent"
_SECOND = f"a second sender, by its connection, sends as the same rig: its samples are late or repeated, {OWN_RIG}"


class NativeSender:
    """A native sender: its stream with the rate that its times have, and what it contradicts, each told once."""

    def __init__(self) -> None:
        self._declared: Stream | None = None
        self._newest: Hashable = None
        self._former: Hashable = None
        self._heard = self._former_heard = math.nan
        self._returns = 0

    def accept(
        self, block: SignalBlock, origin: Hashable, arrived: float = math.nan
    ) -> tuple[Event | SignalBlock, ...]:
        """Return the block with the rate of its times, after what is wrong with it.

        Parameters
        ----------
        origin : endpoint and connection.
        arrived : s, monotonic.
        """
        if block.stream is not self._declared and block.stream != self._declared:
            self._declared = self._stream = block.stream
            self._rate = RateCheck(block.stream.sample_rate)
            self._rough = 0
        problems: list[str] = []
        if origin != self._newest:
            problems += self._second_sender(origin, arrived)
        self._heard = arrived
        if self._rough >= 0 and len(block) >= _LEAST_ROWS:
            problems += self._order(block.samples)
        rate = self._rate.add(block.index, block.time) if len(block) else None
        if rate is not None:
            problems.append(rate_contradicted(block.stream.sample_rate, rate))
            if not rate_implausible(block.stream.sample_rate, rate):
                self._stream = replace(block.stream, sample_rate=rate)
        if self._stream is not self._declared:
            block = replace(block, stream=self._stream)
        if not problems:
            return (block,)
        return (*(Event(EventKind.CONTRADICTION, block.time, block.index, 0, each) for each in problems), block)

    def _second_sender(self, origin: Hashable, arrived: float) -> list[str]:
        """Say once that two connections take turns; the number of a closed one may be another's later."""
        returns = origin == self._former and arrived - self._former_heard < _AT_ONCE
        self._former, self._former_heard, self._newest = self._newest, self._heard, origin
        self._returns += returns
        return [_SECOND] if returns and self._returns == _ALTERNATES else []

    def _order(self, samples: Samples) -> list[str]:
        """Say once that the samples are in the order of channels; a block that is smooth by rows ends the search."""
        with np.errstate(all="ignore"):
            by_rows, by_channels = _roughness(samples), _roughness(samples.reshape(samples.shape[::-1]).T)
            if by_channels > _ROUGHER * by_rows:
                self._rough = -1
            elif by_rows > _ROUGHER * by_channels and _is_even(samples):
                self._rough += 1
        if self._rough < _SURE:
            return []
        self._rough = -1
        return [_TRANSPOSED]


def _roughness(samples: Samples) -> float:
    """Return the sum of squared second differences of (n_samples, n_channels)."""
    return float(np.nansum(np.diff(samples, 2, axis=0) ** 2))


def _is_even(samples: Samples) -> bool:
    """Whether neighbours in the payload differ alike within rows and between them: equal channels do not."""
    rows, channels = samples.shape
    place = np.arange(1, samples.size)
    squares = np.diff(samples.ravel()) ** 2
    inside = place % rows != 0  # of one channel, if channel comes after channel
    between = inside & (place % channels == 0)  # none where a row's end is always a channel's, too
    return bool(between.any() and np.nanmean(squares[between]) <= _UNEVEN * np.nanmean(squares[inside]))
