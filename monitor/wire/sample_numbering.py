"""Time stamps -> sample numbers, in which lost samples are gaps, and jitter, rounding and bursts are not."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from monitor.messages.blocks import Samples
from monitor.wire.sample_rate import estimate_sample_rate, round_to_common_rate

_ON_TIME = 0.5  # of a sampling interval, within which a stamp is that of the next sample
_HOLD, _HOLD_STAMPS, _HOLD_SAMPLES = 0.1, 8, 4096  # s and stamps, at least, and samples, at most
_GAIN = 1 / 16  # by which the clock follows the stamps, per sample: a rate that is 3 % wrong is followed
_BLOCK_GAIN, _BLOCK_ON_TIME = 0.5, 0.06  # least gain of the stamp of a block; of a block, as `_ON_TIME`
_FOLLOWED = 0.03
_BLOCKS = 5  # whose stamps tell of which sample they are
_AT_ONCE = 1024  # stamps
_LOOKED_AT, _ENOUGH = 64, 8  # stamps by which a rate is judged
_FORGOTTEN = 30.0  # s, in which the spread decays
_WIDEST = 2.0  # s
# times the longest delay so far: a longer one is held; the first group of rounded stamps is half a one
_SPREAD = 2.25
_LONGEST_GAP = 86400.0  # s, beyond which the clock was set
_EXACT = 1e-3  # of a sampling interval
_PRECISION = 1e-9  # of the stamps, relative


class Run(NamedTuple):
    """Consecutive samples: number, time and stamp [s] of the first, (n_samples, n_channels), and their rate [Hz].

    ``back`` : s by which the sender's clock was set back (or forward, below 0) before them; how many samples are
    missing is unknown.
    """

    number: int
    time: float
    stamp: float
    samples: Samples
    rate: float
    back: float = 0.0

    @property
    def joint(self) -> str:
        """Why samples may be missing before them although the numbers continue; empty: none are."""
        if not self.back:
            return ""
        way = "back" if self.back > 0.0 else "forward"
        return f"the sender's clock was set {way} by {abs(self.back):.3f} s"


class SampleNumbering:
    """Number the samples of a regular stream by their time stamps, in the order in which they come.

    Every sample is a new one. Programs stamp samples when they send them, or round the stamps: those that are late
    and catch up are consecutive, and a delay that lasts is a gap. Samples that are late are therefore held until one
    is on time again, or for 0.1 s and eight stamps, after which the least delay is that of the gap. Delays that were
    caught up once, as those of every burst are, hold nothing up again; a gap shorter than these is seen when no
    stamp has been on time for three of them. Blocks of several lengths show whether their stamp is that of the first
    or of the last sample. Stamps that go back and stay there are a clock that was set back.
    Where the stamps contradict the rate by more than 3 %, which cannot be followed, theirs is used: `rate`.
    A stamp that is not finite is that of the sample after the one before.

    Parameters
    ----------
    sample_rate : Hz.
    """

    def __init__(self, sample_rate: float) -> None:
        self.rate = sample_rate
        self._dt = 1.0 / sample_rate
        self.time = math.nan
        """Time of the next sample, the stamp that it should have, s; NaN before the first."""
        self._placed = False  # whether there was a stamp
        self._newest = -math.inf  # stamp
        self._spread = 0.0  # s by which stamps are late and catch up
        # samples since one was on time, and their least and longest delay, s
        self._late, self._least, self._most = 0, math.inf, 0.0
        self._held: list[tuple[float, Samples]] = []
        self._stamps: deque[tuple[int, float]] = deque(maxlen=_LOOKED_AT)
        self._received = self._followed = 0  # samples, and those before the rate was set
        self._before = 1  # samples of the stamp before
        self._blocks: deque[tuple[int, int, float]] = deque(maxlen=16)  # samples before them, theirs, and stamps
        self._of_last = False  # the stamp of a block is that of its last sample
        self.held = 0
        """Samples that are held."""
        self.next = 0
        """Number of the next sample."""
        self.jumbled = 0
        """Stamps that came before the sample was due, and all that were held where they went back and forth."""

    @property
    def spread(self) -> float:
        """By how much stamps are late and catch up, s; 0 until that is known."""
        return self._spread if self._received - self._followed > 4 * _LOOKED_AT else 0.0

    def follow(self, sample_rate: float) -> None:
        """Set the rate, Hz; the numbers continue."""
        self.rate, self._dt = sample_rate, 1.0 / sample_rate
        self._late, self._least, self._most, self._followed = 0, math.inf, 0.0, self._received

    def accept_next(self, stamp: float, samples: Samples) -> Run | None:
        """Return the run of a sample that is simply the next one, which it nearly always is; None: see `accept`."""
        delay = stamp - self.time
        if self._held or self._late or len(samples) != 1 or not abs(delay) <= _ON_TIME * self._dt:
            return None
        self._stamps.append((self._received, stamp))
        self._received += 1
        if stamp > self._newest:
            self._newest = stamp
        if abs(delay) <= _EXACT * self._dt:
            self.time, delay = stamp, 0.0  # so that the rounding of sums does not add up
        run = Run(self.next, self.time, stamp, samples, self.rate)
        self.next += 1
        self.time += self._dt + _GAIN * delay
        self._before = 1
        self._spread *= 1.0 - self._dt / _FORGOTTEN if self._dt < _FORGOTTEN else 0.0
        return run

    def accept(self, stamps: Samples, samples: Samples) -> Iterator[Run]:
        """Yield the runs of consecutive samples that are complete.

        Parameters
        ----------
        stamps : (n_samples,), s on the sender's clock; or (1,), that of the first sample.
        samples : (n_samples, n_channels).
        """
        if not len(stamps):
            return
        if not self._placed:
            self._place(stamps)
        if len(stamps) < len(samples):
            self._find_place(float(stamps[0]), len(samples))
            yield from self._add(float(stamps[0]) - self._dt * self._place_of_stamp(len(samples)), samples)
        else:
            yield from _joined(self._each(stamps, samples))

    def _place_of_stamp(self, samples: int) -> int:
        return samples - 1 if self._of_last else 0

    def _find_place(self, stamp: float, samples: int) -> None:
        """Find whether the stamps of blocks are those of their last samples: blocks of several lengths tell."""
        self._blocks.append((self._received, samples, stamp))
        if len(self._blocks) < _BLOCKS or self._of_last:
            return
        before, lengths, stamps = np.asarray(self._blocks).T
        if np.ptp(lengths) == 0.0:
            return
        first = stamps - self._dt * before
        last = first - self._dt * (lengths - 1.0)
        if not (np.ptp(first) > 2.0 * self._dt and np.ptp(last) < 0.25 * np.ptp(first)):
            return
        self._of_last = True
        self.time = float(np.median(last)) + self._dt * (self._received - self.held)
        self._held = [(at - self._dt * (len(each) - 1), each) for at, each in self._held]
        self._stamps.clear()
        self._spread = 0.0

    def _each(self, stamps: Samples, samples: Samples) -> Iterator[Run]:
        at = 0
        while at < len(stamps):
            on_time = 0 if self._held else self._count_on_time(stamps[at : at + _AT_ONCE])
            if on_time > 1:
                yield self._take_on_time(stamps[at : at + on_time], samples[at : at + on_time])
            else:
                on_time = 1
                yield from self._add(float(stamps[at]), samples[at : at + 1])
            at += on_time

    def _count_on_time(self, stamps: Samples) -> int:
        if not abs(float(stamps[0]) - self.time) <= _ON_TIME * self._dt:
            return 0
        on_time = np.abs(stamps - self.time - self._dt * np.arange(len(stamps))) <= _ON_TIME * self._dt
        return len(stamps) if on_time.all() else int(np.argmin(on_time))

    def _take_on_time(self, stamps: Samples, samples: Samples) -> Run:
        self._before, count = 1, len(stamps)
        newest = range(max(0, count - _LOOKED_AT), count)
        self._stamps.extend((self._received + each, float(stamps[each])) for each in newest)
        self._received += count
        self._newest = max(self._newest, float(stamps[-1]))
        return self._run(float(stamps[0]), samples, stamps - self.time - self._dt * np.arange(count))

    def flush(self) -> Iterator[Run]:
        """Yield the samples that are held: no more will come."""
        while self._held:
            yield from _joined(self._decide())

    def _place(self, stamps: Samples) -> None:
        """Set the clock by the first stamp that is finite."""
        finite = np.flatnonzero(np.isfinite(stamps))
        if len(finite):
            self._placed = True
            self.time = float(stamps[finite[0]]) - self._dt * float(finite[0])
        else:
            self.time = float(np.nan_to_num(self.time))

    def _add(self, stamp: float, samples: Samples) -> Iterator[Run]:
        """Yield what a stamp completes."""
        if not math.isfinite(stamp):
            stamp = self.time + self._dt * self.held
        self._stamps.append((self._received, stamp))
        self._received += len(samples)
        yield from self._settle(stamp, samples)

    def _settle(self, stamp: float, samples: Samples) -> Iterator[Run]:
        delay = stamp - self.time - self._dt * self.held
        on_time = self._is_on_time(delay, len(samples))
        back = False
        if delay < 0.0 and not on_time:
            before = 0.0 if self._before == 1 else self._usual_interval() * (self._before - 1)
            back = stamp < self._newest + before - _PRECISION * abs(stamp)
        self._newest = max(self._newest, stamp)
        self._before = len(samples)
        if self._held:
            self._hold(stamp, samples)
            if on_time or (delay < 0.0 and (self._fits_in_order() if back else self._held[0][0] >= self.time)):
                yield from self._release()
            elif self._held_long():
                yield from self._decide()
        elif not on_time and (delay > _SPREAD * self._spread or (delay < 0.0 and back)):
            self._hold(stamp, samples)
        else:
            yield from self._take(stamp, samples, delay)

    def _hold(self, stamp: float, samples: Samples) -> None:
        self._held.append((stamp, samples))
        self.held += len(samples)

    def _take_held(self) -> list[tuple[float, Samples]]:
        held, self._held, self.held = self._held, [], 0
        return held

    def _is_on_time(self, delay: float, samples: int) -> bool:
        # the rate may be wrong by as much as can be followed, over the block before
        return abs(delay) <= max(_ON_TIME, _BLOCK_ON_TIME * max(samples, self._before)) * self._dt

    def _take(self, stamp: float, samples: Samples, delay: float) -> Iterator[Run]:
        """Yield samples that are on time, or as late as others were, or early."""
        on_time = self._is_on_time(delay, len(samples))
        if delay < 0.0 and not on_time:
            # the clock was set by late stamps
            self.time += delay
            self._widen(self._spread - delay)
            delay, on_time = 0.0, True
        if not on_time:
            self._late += len(samples)
            self._least, self._most = min(self._least, delay), max(self._most, delay)
            if self._late * self._dt > max(_HOLD, 3.0 * self._spread):
                self._slip(self._least)
            yield self._run(stamp, samples)
        else:
            yield self._run(stamp, samples, np.asarray([delay]))

    def _held_long(self) -> bool:
        seconds = max(self._held[-1][0] - self._held[0][0], self._dt * self.held)
        return (
            len(self._held) >= _HOLD_STAMPS and seconds >= max(_HOLD, 2.0 * self._spread)
        ) or self.held > _HOLD_SAMPLES

    def _delays(self, held: list[tuple[float, Samples]]) -> Samples:
        before = np.cumsum([0, *(len(samples) for _, samples in held[:-1])])
        return np.asarray([stamp for stamp, _ in held]) - self.time - self._dt * before

    def _fits_in_order(self) -> bool:
        """Whether what is held is on time in the order of its stamps."""
        return bool(np.all(np.abs(self._delays(sorted(self._held, key=lambda each: each[0]))) <= _ON_TIME * self._dt))

    def _release(self) -> Iterator[Run]:
        """Yield what is held, whose last one is on time, or early."""
        in_order = self._fits_in_order()
        held = self._take_held()
        if in_order:
            held = sorted(held, key=lambda each: each[0])  # sent in another order than sampled
        delays = self._delays(held)
        self.jumbled += int(np.count_nonzero(delays < -_ON_TIME * self._dt))
        if delays[-1] < -_ON_TIME * self._dt:
            self.time += float(delays[-1])
            delays -= delays[-1]
        self._widen(float(np.max(delays)))
        self._late, self._least, self._most = 0, math.inf, 0.0
        yield self._run(held[0][0], np.concatenate([samples for _, samples in held]))

    def _decide(self) -> Iterator[Run]:
        """Yield what is held after a gap, a clock that was set back, or with another rate."""
        held = self._take_held()
        if self._correct_rate():
            self.time = held[0][0]
        delays, back = self._delays(held), 0.0
        if np.all(delays > _LONGEST_GAP):
            back = -float(np.min(delays))
            self.time -= back
        elif np.all(delays > _ON_TIME * self._dt):
            self._slip(float(np.min(delays)))
            for stamp, samples in held:
                yield from self._settle(stamp, samples)
            return
        elif np.all(delays < -_ON_TIME * self._dt):
            back = -float(np.median(delays))
            self.time -= back
            self._newest = max(stamp for stamp, _ in held)
        elif np.any(delays < -_ON_TIME * self._dt):
            self.jumbled += len(held)
        else:
            self._widen(float(np.max(delays)))
        self._late, self._least, self._most = 0, math.inf, 0.0
        yield self._run(held[0][0], np.concatenate([samples for _, samples in held]))._replace(back=back)

    def _usual_interval(self) -> float:
        """Return the median interval of the newest stamps, s a sample; 0 if there are too few."""
        if len(self._stamps) <= 3:
            return 0.0
        received, stamps = zip(*self._stamps, strict=True)
        return float(np.median(np.diff(stamps) / np.diff(received)))

    def _widen(self, delay: float) -> None:
        self._spread = min(max(self._spread, delay), _WIDEST)

    def _correct_rate(self) -> bool:
        """Use the rate of the stamps, if it is lower: most of them are late then, as after a gap."""
        if len(self._stamps) < _ENOUGH:
            return False
        estimate = estimate_sample_rate(*zip(*self._stamps, strict=True))
        # where samples are lost, most intervals are right
        if abs(self._usual_interval() * self.rate - 1.0) <= _FOLLOWED or estimate is None or estimate.times < _ENOUGH:
            return False
        # a faster sender is no gap, but may be a burst: its numbers and times tell over seconds
        if estimate.rate > self.rate or not estimate.contradicts(self.rate, _FOLLOWED):
            return False
        self.follow(round_to_common_rate(estimate.rate))
        self._stamps.clear()
        self._spread = 0.0
        return True

    def _slip(self, seconds: float) -> None:
        """Skip the samples of a gap; less than one is a clock that differs."""
        self.next += round(seconds / self._dt)
        self.time += seconds
        self._late, self._least, self._most = 0, math.inf, 0.0

    def _run(self, stamp: float, samples: Samples, delay: Samples | None = None) -> Run:
        if delay is not None and abs(delay[0]) <= _EXACT * self._dt:
            self.time += float(delay[0])
            delay = delay - delay[0]
        run, count = Run(self.next, self.time, stamp, samples, self.rate), len(samples)
        self.next += count
        self.time += count * self._dt
        if delay is not None:
            gain = 1.0 - (1.0 - _GAIN) ** count
            gain = max(gain, _BLOCK_GAIN) if len(delay) < count else gain
            self.time += gain * float(np.mean(delay[-16:]))
            self._widen(self._most)  # they have caught up
            self._late, self._least, self._most = 0, math.inf, 0.0
        self._spread *= max(0.0, 1.0 - count * self._dt / _FORGOTTEN)
        return run


def _joined(runs: Iterable[Run]) -> Iterator[Run]:
    """Yield runs that are consecutive as one."""
    first: Run | None = None
    parts: list[Samples] = []
    following = 0
    for run in runs:
        if first is not None and (run.number, run.rate, run.back) == (following, first.rate, 0.0):
            parts.append(run.samples)
            following += len(run.samples)
            continue
        if first is not None:
            yield first._replace(samples=np.concatenate(parts))
        first, parts, following = run, [run.samples], run.number + len(run.samples)
    if first is not None:
        yield first._replace(samples=np.concatenate(parts))
