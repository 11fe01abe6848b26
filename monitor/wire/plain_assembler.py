"""Plain messages to signal blocks: epoch, sample indices and sample rate of senders that do not send them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from monitor.messages.blocks import Channel, Event, EventKind, Role, Samples, SignalBlock, Stream
from monitor.wire.native import WireError
from monitor.wire.plain import PlainMessage
from monitor.wire.sample_numbering import Run, SampleNumbering
from monitor.wire.sample_rate import estimate_sample_rate, rate_contradicted, rate_implausible, round_to_common_rate
from monitor.wire.sender_run import OWN_RIG, RepeatedMessages, SenderRun, TimeUnit, UnnumberedCheck

DEFAULT_RIG = "rig"
MIN_RATE_SAMPLES = 16
MAX_HELD = 2048  # samples whose times do not advance
_SURE, _TIMES = 0.0025, 4  # relative error of a rate, and the times that it takes
_LONG_ENOUGH = 1.0  # s by which a rate is estimated, sure or not
_BURST = 0.25  # s
_APART = 1.0  # s between samples that are neither late, repeated nor lost
_SLOWEST = 2.5  # Hz by the first times of two messages or more, below which the unit of `t` is doubted
_PAUSED, _MOST_PAUSED = 4.0, 8 * MAX_HELD  # s and samples that are held, at most, until their pace tells the unit
_DOUBTED = 16  # messages that are held, at most, while the unit of `t` is doubted
_TOLD_SPREAD = 0.04  # s, and eight samples

Items = tuple[SignalBlock | Event, ...]


class PlainAssembler:
    """Make signal blocks of the plain messages of one sender, and events where these contradict themselves.

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
        self._declared = self._rate = sample_rate
        self._rig = DEFAULT_RIG
        self._units: Mapping[str, str] = {}
        self._epoch = 0
        self._ended = False
        self._newest: PlainMessage | None = None
        self._run: SenderRun | None = None
        self._key: tuple[object, ...] = ()
        self._channels: tuple[Channel, ...] = ()
        self._stream: Stream | None = None
        self._held: list[tuple[PlainMessage, float]] = []
        self._look_at = MIN_RATE_SAMPLES
        self._time_unit = TimeUnit()
        self._unnumbered = UnnumberedCheck()
        self._repeated = RepeatedMessages()
        self._words: list[tuple[EventKind, str]] = []
        self._told: set[str] = set()

    @property
    def held(self) -> int:
        """Samples that are held until it is clear what they are."""
        waiting = 0 if self._rate is None else sum(len(message) for message, _ in self._held)
        return waiting + (0 if self._run is None else self._run.numbering.held)

    @property
    def ended(self) -> bool:
        """The sender's last message was its end."""
        return self._ended

    @property
    def position(self) -> tuple[float, int]:
        """Time [s] and number of the next sample; zeros before the first."""
        if self._run is None:
            return 0.0, 0
        return self._run.time_of(self._run.numbering.next), self._run.numbering.next

    @property
    def rate(self) -> float:
        """The sample rate, Hz; 0 if it is not known yet."""
        return self._rate or 0.0

    def differs(self, message: PlainMessage) -> str:
        """Return the key by which `message` does not continue the samples before; empty: it does, or may."""
        run = self._run
        if run is None or self._ended or not len(message):
            return ""
        if message.sample_rate is not None and message.sample_rate != self._declared:
            return "sample_rate"
        if message.channels != self._channels and _actuators(message.channels) != _actuators(self._channels):
            return "actuators"
        if message.epoch is not None:
            return "epoch" if message.epoch != self._epoch else ""
        if message.index is not None:
            ahead = message.index - run.numbering.next > _APART * run.numbering.rate
            return "index" if ahead or run.restarts_at_index(message.index) or self._repeats(message) else ""
        if not message.times or not run.times:
            return ""
        t = self._time_unit.scale * message.times[0]
        ahead = t - run.times.newest > _APART + 2.0 * run.numbering.spread
        if ahead and not self._time_unit.known:
            ahead = not self._time_unit.fits(run.numbering.next + self.held, message.times[0], run.numbering.rate)
        return "t" if ahead or run.restarts_at_time(t) else ""

    def _repeats(self, message: PlainMessage) -> bool:
        """Whether the newest `index` comes again, with other values."""
        newest = self._newest
        if newest is None or message.index != newest.index or message.channels != newest.channels:
            return False
        return not np.array_equal(message.samples, newest.samples, equal_nan=True)

    def accept(self, message: PlainMessage, arrived: float = math.nan) -> Items:
        """Return the blocks that `message` completes, and events, in order; none while the rate is being estimated.

        Parameters
        ----------
        arrived : s, monotonic.

        Raises
        ------
        WireError : the sample rate is neither given nor can be estimated from `t`.
        """
        stamped = message.index is None and message.times and len(message)
        if stamped and self._repeated.add(message.times, message.samples):
            time, index = self._time_unit.scale * message.times[0], max(0, self.position[1] - len(message))
            return (Event(EventKind.DUPLICATE, time, index, len(message)),)
        if message.sample_rate is not None and message.sample_rate != self._declared:
            self._declared = self._rate = message.sample_rate
            self._time_unit.reset()
        elif self._declared is None and self._run is not None and self._restarts(self._run, message):
            self._rate = None
        if self._rate is None and not len(message) and not message.last:
            return ()
        if self._rate is None and len(message) and not message.times:
            raise WireError("the sample rate is not known: send sample_rate, or t with every message")
        if self._rate is not None and len(message) and message.times:
            following = 0 if self._run is None else self._run.numbering.next
            self._find_time_unit(following + self.held, message.times[0], self._rate)
            if self._time_unit.doubted and len(self._held) < _DOUBTED and not message.last:
                self._held.append((message, arrived))
                return ()
        self._held.append((message, arrived))
        if self._rate is None:
            self._rate = self._estimated_rate()
        if self._rate is None:
            return ()
        blocks = self._blocks_of_held()
        return self._with_events(blocks) if self._words else tuple(blocks)

    def _blocks_of_held(self) -> list[SignalBlock]:
        held, self._held, self._look_at = self._held, [], MIN_RATE_SAMPLES
        return [block for each, at in held for block in self._blocks(each, at)]

    def flush(self) -> Items:
        """Return what is held: no more comes for now."""
        if self._run is None:
            return ()
        blocks = [] if self._rate is None else self._blocks_of_held()
        return self._with_events([*blocks, *self._from_times(self._run, self._run.numbering.flush(), last=False)])

    def _with_events(self, blocks: Sequence[SignalBlock]) -> Items:
        words, self._words = self._words, []
        at = (blocks[0].time, blocks[0].index) if blocks else self.position
        return (*(Event(kind, *at, 0, text) for kind, text in words), *blocks)

    def _say(self, text: str, kind: EventKind = EventKind.CONTRADICTION, *, once: str = "") -> None:
        """Make an event of a text; of those with the same `once`, one."""
        if once not in self._told:
            self._words.append((kind, text))
            self._told |= {once} - {""}

    def _estimated_rate(self) -> float | None:
        """Return the rate by the times of the messages that are held; None: not yet.

        It is looked at after 16 samples, and whenever there are twice as many, until it is sure or a second long.
        """
        samples = sum(len(message) for message, _ in self._held)
        last, lists = self._held[-1][0].last, any(len(message.times) > 1 for message, _ in self._held)
        if not last and not (lists and len(self._held) > 1) and samples < self._look_at:
            return None
        self._look_at = 2 * samples
        stamps = list(_stamps(message for message, _ in self._held))
        for number, _, t in stamps:
            self._find_time_unit(number, t, 0.0)
        times = [self._time_unit.scale * t for _, _, t in stamps]
        span, pace = max(times, default=0.0) - min(times, default=0.0), self._held[-1][1] - self._held[0][1]
        if span * _SLOWEST > samples:
            unit = None if pace < _BURST else self._time_unit.compare(span, pace)
            # messages that a pause has kept come faster than they were sent
            if unit is None and pace < _PAUSED and not last and samples < _MOST_PAUSED:
                return None
            if unit:
                self._say(f"`t` is read in {unit}, by the pace of the samples: send it in s")
            times = [self._time_unit.scale * t for t in times]
            span = max(times) - min(times)
        estimate = estimate_sample_rate([first for first, _, _ in stamps], times)
        other = estimate_sample_rate([of_last for _, of_last, _ in stamps], times)
        if estimate is not None and other is not None and other.error < 0.25 * estimate.error:
            estimate = other
        if estimate is None and (last or samples >= MAX_HELD):
            self._held, self._look_at = [], MIN_RATE_SAMPLES
            raise WireError("the sample rate cannot be determined from t, which does not advance: send sample_rate")
        if estimate is None:
            return None
        sure = estimate.error <= _SURE and estimate.times >= _TIMES
        if not (last or sure or span >= _LONG_ENOUGH):
            return None
        rate = round_to_common_rate(estimate.rate)
        if rate_implausible(0.0, rate):
            # the first ones may be a burst
            if not last and pace < _BURST and samples < MAX_HELD:
                return None
            self._held, self._look_at = [], MIN_RATE_SAMPLES
            raise WireError(f"by `t` the sample rate is {rate:.4g} Hz, beyond 1 MHz: send `t` in s, not in days")
        self._say(f"sample_rate is not sent: by `t` it is {rate:.6g} Hz", EventKind.NOTE)
        return rate

    def _restarts(self, run: SenderRun, message: PlainMessage) -> bool:
        if message.epoch is not None:
            return message.epoch != self._epoch
        if self._ended and len(message):
            return True
        if message.index is not None:
            return run.restarts_at_index(message.index)
        return bool(message.times) and run.restarts_at_time(self._time_unit.scale * message.times[0])

    def _blocks(self, message: PlainMessage, arrived: float) -> Iterator[SignalBlock]:
        rate, run = self.rate, self._run
        if run is None or self._restarts(run, message):
            if run is not None:
                yield from self._from_times(run, run.numbering.flush(), last=False)
            run = self._begin(message, rate)
        elif run.numbering.rate != rate:
            run.follow(rate)
        self._ended, self._newest = message.last, message
        samples = self._samples(message)
        self._rig = self._rig if message.rig is None else message.rig
        self._units = self._units if message.units is None else message.units
        times: Sequence[float] = message.times if len(message) else message.times[:0]
        if times:
            if self._time_unit.scale != 1.0:
                times = [self._time_unit.scale * t for t in times]
            run.add_times(times[0], max(times[0] + (len(message) - 1) / rate, *times))
        if times and message.index is None:
            following = run.numbering.accept_next(times[0], samples)
            runs = run.numbering.accept(np.asarray(times), samples) if following is None else (following,)
            yield from self._from_times(run, runs, last=message.last)
            self._say_of_times(run.numbering, 1 if len(times) > 1 else len(samples))
            return
        index = run.numbering.next if message.index is None else message.index
        if times:
            rate = self._check_rate(run, index, times[0], rate)
            times = [run.steady_time(index, times[0])]
        elif message.index is None and (text := self._unnumbered.add(samples, rate, arrived)):
            self._say(text)
        empty = self._time_unit.scale * message.times[0] if message.times else run.time_of(index)
        time = times[0] if times else empty
        run.add_indices(index, len(message))
        yield SignalBlock(self._stream_of(rate), index, time, samples, message.last)

    def _begin(self, message: PlainMessage, rate: float) -> SenderRun:
        """Begin another run of the sender."""
        run, self._run = self._run, SenderRun(rate)
        if run is not None:
            inferred = message.epoch is None and message.index is None and not self._ended
            if inferred and message.times and run.times:
                back = run.times.newest - self._time_unit.scale * message.times[0]
                self._say(f"`t` goes back by {back:.3f} s: the sender has restarted, or its clock was set back")
            self._epoch += 1
        if message.epoch is not None:
            self._epoch = message.epoch
        return self._run

    def _from_times(self, run: SenderRun, runs: Iterable[Run], *, last: bool) -> Iterator[SignalBlock]:
        """Yield the blocks of samples that are numbered by `t`."""
        if last:
            runs = chain(runs, run.numbering.flush())
        block: SignalBlock | None = None
        rate = run.numbering.rate
        for each in runs:
            if block is not None:
                yield block
            if each.rate != rate:
                self._correct_rate(run, rate := each.rate)
            else:
                rate = self._check_rate(run, each.number, each.stamp, rate)
            run.set_reference(each.number, each.time)
            run.add_indices(each.number, len(each.samples))
            samples = np.ascontiguousarray(each.samples)
            block = SignalBlock(self._stream_of(rate), each.number, each.time, samples, joint=each.joint)
        if block is not None:
            yield replace(block, last=last) if last else block

    def _find_time_unit(self, number: int, time: float, rate: float) -> None:
        if unit := self._time_unit.find(number, time, rate):
            self._say(f"`t` is read in {unit}: send it in s")
            if self._run is not None:
                self._run.forget_times()

    def _check_rate(self, run: SenderRun, number: int, time: float, rate: float) -> float:
        """Return `rate`, or that of the times where they contradict it."""
        found = run.check.add(number, time)
        if found is None:
            return rate
        if rate_implausible(rate, found):
            self._say(rate_contradicted(rate, found))
            return rate
        self._correct_rate(run, found)
        return found

    def _correct_rate(self, run: SenderRun, rate: float) -> None:
        """Use the rate that the times have."""
        before, self._rate = self._rate or rate, rate
        run.follow(rate)
        if self._declared is None:
            self._say(f"by `t` the sample rate is {rate:.6g} Hz, not {before:.6g} Hz as estimated before")
        else:
            self._say(rate_contradicted(self._declared, rate))

    def _say_of_times(self, numbering: SampleNumbering, samples: int) -> None:
        if numbering.spread > max(_TOLD_SPREAD, max(8, 2 * samples) / numbering.rate) and "bursts" not in self._told:
            late = f"{1000.0 * numbering.spread:.3g} ms"
            self._say(
                f"`t` comes in bursts or rounded, up to {late} late: samples are numbered in order of arrival",
                EventKind.NOTE,
                once="bursts",
            )
        if numbering.jumbled > MIN_RATE_SAMPLES:
            self._say(
                "`t` goes back and forth: samples are numbered in order of arrival; "
                f"if two senders are mixed, {OWN_RIG}",
                once="jumbled",
            )

    def _samples(self, message: PlainMessage) -> Samples:
        """Return the columns in the order of the first message: the keys of a map have none.

        Forces and auxiliary channels that are not in every message are NaN where they are missing.
        """
        if message.channels == self._channels:
            return message.samples
        if _actuators(message.channels) != _actuators(self._channels):
            self._channels = message.channels
            return message.samples
        places = {channel: column for column, channel in enumerate(self._channels)}
        for channel in message.channels:
            places.setdefault(channel, len(places))
        self._channels = tuple(places)
        if len(places) > len(message.channels) and len(message):
            missing = next(c.name for c in self._channels if c not in message.channels)
            self._say(f"{missing} is not in every message: NaN where it is missing", EventKind.NOTE, once="missing")
        samples = np.full((len(message), len(places)), np.nan)
        samples[:, [places[channel] for channel in message.channels]] = message.samples
        return samples

    def _stream_of(self, rate: float) -> Stream:
        key = (self._rig, self._epoch, rate, self._units, self._channels)
        if self._stream is None or key != self._key:
            units = self._units
            channels = (replace(c, unit=units.get(c.name, units.get(c.role, ""))) for c in self._channels)
            self._stream, self._key = Stream(self._rig, self._epoch, rate, tuple(channels)), key
        return self._stream


def _stamps(messages: Iterable[PlainMessage]) -> Iterator[tuple[int, int, float]]:
    """Yield each time with the number of its sample, if that is a message's first one, and if it is its last one."""
    count = 0
    for message in messages:
        last = 0 if len(message.times) > 1 else len(message) - 1
        for place, t in enumerate(message.times if len(message) else ()):
            if t == t:
                yield count + place, count + place + last, t
        count += len(message)


def _actuators(channels: Iterable[Channel]) -> set[Channel]:
    return {channel for channel in channels if channel.role in (Role.COMMAND, Role.MEASURED)}
