"""Plain messages of one sender -> signal blocks: who lacks an epoch, an index or a rate gets them here."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise

import numpy as np

from monitor.messages.blocks import Channel, Samples, SignalBlock, Stream
from monitor.wire.native import WireError
from monitor.wire.plain_message import PlainMessage, decode_plain
from monitor.wire.timeline import Timeline, estimate_rate

__all__ = ["PlainAssembler", "PlainMessage", "decode_plain"]

DEFAULT_RIG = "rig"
RATE_SAMPLES = 16
MAX_JUMPS = 1000


class PlainAssembler:
    """Gives the samples of one sender their stream and their indices.

    What a message leaves out (rig, units, sample rate) stays as the sender said it last.

    Parameters
    ----------
    sample_rate : Hz, for a sender that does not say it; without either it is estimated from `t`.

    Raises
    ------
    ValueError : the rate is not a positive number.
    """

    def __init__(self, sample_rate: float | None = None) -> None:
        if sample_rate is not None and not 0.0 < sample_rate < math.inf:
            raise ValueError(f"sample rate {sample_rate} Hz: must be a positive number")
        self._rate = sample_rate
        self._estimated = False
        self._rig = DEFAULT_RIG
        self._units: Mapping[str, str] = {}
        self._epoch = 0
        self._ended = False
        self._timeline: Timeline | None = None
        self._key: tuple[object, ...] = ()
        self._channels: tuple[Channel, ...] = ()
        self._stream: Stream | None = None
        self._held: list[PlainMessage] = []

    def accept(self, message: PlainMessage) -> tuple[SignalBlock, ...]:
        """Return the blocks that `message` completes, in order; none while the rate is being estimated.

        Raises
        ------
        WireError : the sample rate is neither said nor to be had from `t`, or `t` is out of all bounds.
        """
        if message.sample_rate is not None:
            self._rate, self._estimated = message.sample_rate, False
        elif self._estimated and self._timeline and self._restarts(self._timeline, message):
            self._rate = None
        rate = self._rate
        if rate is None:
            if not len(message) and not message.last:
                return ()
            if len(message) and not message.times:
                raise WireError("the sample rate is not known: send sample_rate, or t with every message")
            self._held.append(message)
            if not _enough(self._held):
                return ()
            held, self._held = self._held, []
            self._rate = rate = _estimate(held)
            self._estimated = True
        else:
            held, self._held = [*self._held, message], []
        return tuple(block for one in held for block in self._blocks(one, rate))

    def _restarts(self, timeline: Timeline, message: PlainMessage) -> bool:
        if message.epoch is not None:
            return message.epoch != self._epoch
        if self._ended and len(message):
            return True
        if message.index is not None:
            return timeline.restarts_at_index(message.index)
        return bool(message.times) and timeline.restarts_at_time(message.times[0])

    def _blocks(self, message: PlainMessage, rate: float) -> tuple[SignalBlock, ...]:
        timeline, epoch = self._timeline, self._epoch
        if timeline is None or self._restarts(timeline, message):
            epoch = message.epoch if message.epoch is not None else epoch + (timeline is not None)
            timeline = Timeline(rate)
        # a message that is refused leaves no trace
        timeline = copy.copy(timeline)
        timeline.rate = rate
        try:
            pieces = _pieces(timeline, message)
        except ValueError as problem:
            raise WireError(str(problem)) from problem
        samples = self._samples(message)
        stream = self._stream_of(message, epoch, rate)
        stops = [*(row for row, _, _ in pieces[1:]), len(message)]
        blocks = tuple(
            SignalBlock(stream, index, t, samples[row:stop], message.last and stop == len(message))
            for (row, index, t), stop in zip(pieces, stops, strict=True)
        )
        for block in blocks:
            timeline.passed_indices(block.index, len(block))
        if message.times and len(message):
            newest = max(message.times[0] + (len(message) - 1) / rate, *message.times)
            timeline.passed_times(message.times[0], newest)
        self._timeline, self._epoch, self._ended = timeline, epoch, message.last
        return blocks

    def _samples(self, message: PlainMessage) -> Samples:
        """Bring the columns into their usual order: a map has none, and some senders shuffle theirs."""
        if message.channels == self._channels:
            return message.samples
        if set(message.channels) != set(self._channels):
            self._channels = message.channels
            return message.samples
        return np.take(message.samples, [message.channels.index(c) for c in self._channels], axis=1)

    def _stream_of(self, message: PlainMessage, epoch: int, rate: float) -> Stream:
        self._rig = self._rig if message.rig is None else message.rig
        self._units = self._units if message.units is None else message.units
        key = (self._rig, epoch, rate, self._units, self._channels)
        if self._stream is None or key != self._key:
            units = self._units
            channels = (replace(c, unit=units.get(c.name, units.get(c.role, ""))) for c in self._channels)
            self._stream, self._key = Stream(self._rig, epoch, rate, tuple(channels)), key
        return self._stream


def _pieces(timeline: Timeline, message: PlainMessage) -> list[tuple[int, int, float]]:
    """Return row, index and time where each run of consecutive samples starts."""
    times = message.times
    if message.index is None and times:
        indices = [timeline.locate(t) for t in times]
        jumps = [row for row, (a, b) in enumerate(pairwise(indices), 1) if b != a + 1]
        if len(jumps) > MAX_JUMPS:
            raise ValueError(f"t jumps {len(jumps)} times in one message; the limit is {MAX_JUMPS}")
        return [(row, indices[row], times[row]) for row in (0, *jumps)]
    index = timeline.next if message.index is None else message.index
    if times and len(message):
        timeline.pin(index, times[0])
    return [(0, index, times[0] if times else timeline.time_of(index))]


def _enough(held: list[PlainMessage]) -> bool:
    times = sum(len(message.times) for message in held)
    samples = sum(len(message) for message in held)
    lists = len(held) > 1 and any(len(message.times) > 1 for message in held)
    return held[-1].last or (times > 3 and (lists or samples >= RATE_SAMPLES))


def _estimate(held: list[PlainMessage]) -> float:
    positions: list[int] = []
    times: list[float] = []
    count = 0
    for message in held:
        if len(message):
            positions += range(count, count + len(message.times))
            times += message.times
        count += len(message)
    rate = estimate_rate(positions, times)
    if rate is None:
        raise WireError("the sample rate cannot be determined from t, which does not advance: send sample_rate")
    return rate
