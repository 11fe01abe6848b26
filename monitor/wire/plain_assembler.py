"""Plain messages to signal blocks: epoch, sample indices and sample rate of senders that do not send them."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from monitor.messages.blocks import Channel, Samples, SignalBlock, Stream
from monitor.wire.native import MAX_RATE, MIN_RATE, WireError
from monitor.wire.plain import MAX_INDEX, PlainMessage

DEFAULT_RIG = "rig"
MIN_RATE_SAMPLES = 16
MAX_JUMPS = 1000

# fraction of a deviation that the clock is corrected by: an eighth follows a rate that is 3 % wrong
_CORRECTION = 1 / 8
_RATE_TOLERANCE = 0.005
_COMMON_RATES = (
    *(1.0, 1.2, 1.25, 1.5, 2.0, 2.4, 2.5, 3.0, 4.0, 4.8, 5.0, 6.0, 7.0, 7.5, 8.0, 9.0, 9.6, 10.0),
    *(1.6, 3.2, 6.4, 1.28, 2.56, 5.12, 1.024, 2.048, 4.096, 8.192, 1.6384, 3.2768, 6.5536),
)


class PlainAssembler:
    """Make signal blocks of the plain messages of one sender.

    Rig, units and sample rate that a message omits are those of the message before.

    Parameters
    ----------
    sample_rate : Hz, for a sender that does not send it; by default it is estimated from `t`.

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
        self._clock: SampleClock | None = None
        self._key: tuple[object, ...] = ()
        self._channels: tuple[Channel, ...] = ()
        self._stream: Stream | None = None
        self._held: list[PlainMessage] = []

    def accept(self, message: PlainMessage) -> tuple[SignalBlock, ...]:
        """Return the blocks that `message` completes, in order; none while the rate is being estimated.

        Raises
        ------
        WireError : the sample rate is neither given nor can be estimated from `t`, or `t` is out of bounds.
        """
        if message.sample_rate is not None:
            self._rate, self._estimated = message.sample_rate, False
        elif self._estimated and self._clock and self._restarts(self._clock, message):
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

    def _restarts(self, clock: SampleClock, message: PlainMessage) -> bool:
        if message.epoch is not None:
            return message.epoch != self._epoch
        if self._ended and len(message):
            return True
        if message.index is not None:
            return clock.restarts_at_index(message.index)
        return bool(message.times) and clock.restarts_at_time(message.times[0])

    def _blocks(self, message: PlainMessage, rate: float) -> tuple[SignalBlock, ...]:
        clock, epoch = self._clock, self._epoch
        if clock is None or self._restarts(clock, message):
            epoch = message.epoch if message.epoch is not None else epoch + (clock is not None)
            clock = SampleClock(rate)
        # a rejected message changes nothing
        clock = copy.copy(clock)
        clock.rate = rate
        try:
            pieces = _pieces(clock, message)
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
            clock.add_indices(block.index, len(block))
        if message.times and len(message):
            newest = max(message.times[0] + (len(message) - 1) / rate, *message.times)
            clock.add_times(message.times[0], newest)
        self._clock, self._epoch, self._ended = clock, epoch, message.last
        return blocks

    def _samples(self, message: PlainMessage) -> Samples:
        """Return the columns in the order of the first message: the keys of a map have none."""
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


def _pieces(clock: SampleClock, message: PlainMessage) -> list[tuple[int, int, float]]:
    """Return row, index and time of the start of each run of consecutive samples."""
    times = message.times
    if message.index is None and times:
        indices = [clock.index_at(t) for t in times]
        jumps = [row for row, (a, b) in enumerate(pairwise(indices), 1) if b != a + 1]
        if len(jumps) > MAX_JUMPS:
            raise ValueError(f"t jumps {len(jumps)} times in one message; the limit is {MAX_JUMPS}")
        return [(row, indices[row], times[row]) for row in (0, *jumps)]
    index = clock.next if message.index is None else message.index
    if times and len(message):
        clock.set_reference(index, times[0])
    return [(0, index, times[0] if times else clock.time_of(index))]


def _enough(held: list[PlainMessage]) -> bool:
    times = sum(len(message.times) for message in held)
    samples = sum(len(message) for message in held)
    lists = len(held) > 1 and any(len(message.times) > 1 for message in held)
    return held[-1].last or (times > 3 and (lists or samples >= MIN_RATE_SAMPLES))


def _estimate(held: list[PlainMessage]) -> float:
    positions: list[int] = []
    times: list[float] = []
    count = 0
    for message in held:
        if len(message):
            positions += range(count, count + len(message.times))
            times += message.times
        count += len(message)
    rate = estimate_sample_rate(positions, times)
    if rate is None:
        raise WireError("the sample rate cannot be determined from t, which does not advance: send sample_rate")
    return rate


@dataclass(frozen=True, slots=True)
class _Extent:
    """Range of the times or indices of a sender: first value, first of the newest message, newest value."""

    first: float
    start: float
    newest: float

    def is_restart(self, value: float, tolerance: float) -> bool:
        """Whether `value` is too far back for a late or repeated sample."""
        return value < self.newest - tolerance or value < self.first + (self.start - self.first) / 2

    def extended(self, start: float, newest: float) -> _Extent:
        return _Extent(self.first, max(self.start, start), max(self.newest, newest))


class SampleClock:
    """Sample times to sample indices, for one run of a sender that does not number its samples.

    The clock and the sampling of a sender never agree exactly, and its times jitter. The clock is corrected slowly,
    so that neither appears as a lost or repeated sample, while a missing message does.

    Parameters
    ----------
    rate : Hz.
    """

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self.next = 0
        self._anchor: tuple[int, float] | None = None
        self._times: _Extent | None = None
        self._indices: _Extent | None = None

    def restarts_at_time(self, t: float) -> bool:
        """Whether `t` is more than a second back, or in the first half of the run."""
        return self._times is not None and self._times.is_restart(t, 1.0)

    def restarts_at_index(self, index: int) -> bool:
        """Whether `index` is more than a second back, or in the first half of the run."""
        return self._indices is not None and self._indices.is_restart(index, self.rate)

    def index_at(self, t: float) -> int:
        """Return the index of the sample taken at `t`, and correct the clock by it.

        Raises
        ------
        ValueError : `t` is too far from the samples before.
        """
        if self._anchor is None:
            self._anchor = (self.next, t)
        index, time = self._anchor
        steps = (t - time) * self.rate
        if not abs(steps) < MAX_INDEX - index:
            raise ValueError(f"t {t} s is too far from the samples before it")
        whole = round(steps)
        if whole > 0:
            self._anchor = (index + whole, t - (1.0 - _CORRECTION) * (steps - whole) / self.rate)
        # a time later than all before is a new sample, even if rounding says otherwise
        newer = self._times is not None and t > self._times.newest
        return max(index + whole, self.next if newer else 0)

    def set_reference(self, index: int, t: float) -> None:
        """Set that sample `index` was taken at `t`."""
        self._anchor = (index, t)

    def time_of(self, index: int) -> float:
        """Return the time of sample `index`; sample 0 is at 0 s if the sender sends no times."""
        start, time = self._anchor or (0, 0.0)
        return time + (index - start) / self.rate

    def add_indices(self, index: int, count: int) -> None:
        """Record the reception of samples ``index .. index + count - 1``; `count` may be 0."""
        newest = index + max(count - 1, 0)
        self._indices = (self._indices or _Extent(index, index, newest)).extended(index, newest)
        self.next = max(self.next, index + count)

    def add_times(self, start: float, newest: float) -> None:
        """Record the first and the newest time of a message."""
        self._times = (self._times or _Extent(start, start, newest)).extended(start, newest)


def estimate_sample_rate(positions: Sequence[int], times: Sequence[float]) -> float | None:
    """Return the sample rate in Hz, or None if the times do not advance.

    Parameters
    ----------
    positions : number of each sample in order of reception, lost samples not counted.
    times : s.

    Notes
    -----
    The median difference gives the number of samples between two times, including lost ones; the mean over all gives
    the rate, which is rounded to a common one within 0.5 %.
    """
    counts = np.diff(np.asarray(positions, dtype=np.float64))
    with np.errstate(over="ignore"):
        spans = np.diff(np.asarray(times, dtype=np.float64))
    # times further apart than that are not consecutive samples at any allowed rate
    usable = (counts > 0) & (spans > 0) & (spans < MAX_INDEX / MIN_RATE)
    counts, spans = counts[usable], spans[usable]
    if not len(spans):
        return None
    # the lower median: gaps only make differences larger
    period = float(np.quantile(spans / counts, 0.5, method="lower"))
    if not MIN_RATE <= 1.0 / max(period, 0.5 / MAX_RATE) <= MAX_RATE:
        return None
    return round_to_common_rate(float(np.sum(np.rint(spans / period)) / np.sum(spans)))


def round_to_common_rate(rate: float) -> float:
    """Return the common rate (1000, 1024, 51.2, ... Hz) within 0.5 % of `rate`, else `rate`."""
    power = math.floor(math.log10(rate))
    # through text, because 5.12 * 10**-2 is not the number nearest to 0.0512
    common = min((float(f"{m}e{power}") for m in _COMMON_RATES), key=lambda candidate: abs(candidate - rate))
    return common if abs(common - rate) <= _RATE_TOLERANCE * rate else rate
