"""Time stamps of an LSL stream -> sample numbers, in which lost samples are gaps and jitter is not."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from monitor.messages.blocks import Samples

_LATE = 0.5  # of a sampling interval, beyond which a stamp is not the next sample's
_HOLD, _HOLD_SAMPLES = 0.1, 8  # s, and samples, at least, after which what is late is a gap
_GAIN = 1 / 16  # by which the clock follows the stamps, per sample: a rate that is 3 % wrong is followed
_AVERAGED = 16  # newest samples
_REGULAR, _FOLLOWED = 8, 1.03  # gaps of one sample, and interval that is followed [nominal ones]: beyond, it is slow


class Run(NamedTuple):
    """Consecutive samples: number and time [s] of the first, and (n_samples, n_channels)."""

    number: int
    time: float
    samples: Samples


class SampleNumbering:
    """Number the samples of a regular stream by their time stamps.

    LSL delivers every sample that was sent, in order, but numbers none: what the device, or a full queue, has lost
    is seen in the stamps alone. Programs stamp samples when they send them, so that stamps are late by some ms at
    times, and catch up: those samples are consecutive. A delay that lasts is a gap. Samples that are late are
    therefore held until one is on time again, or for 0.1 s of stamps, after which the least delay is that of the gap.
    A sender slower than its nominal rate by more than 3 % thus has a gap of one sample again and again: `slow_rate`.
    A stamp that is not finite is that of the sample after the one before.

    Parameters
    ----------
    sample_rate : Hz.
    """

    def __init__(self, sample_rate: float) -> None:
        self._dt = 1.0 / sample_rate
        self._hold = max(_HOLD, _HOLD_SAMPLES * self._dt)
        self._due = np.nan  # stamp that the next sample should have
        self._stamps = np.empty(0)
        self._samples: Samples | None = None
        self._placed = False  # whether there was a stamp
        self._slow = _SlowSender(self._dt)
        self.next = 0
        """Number of the next sample."""

    @property
    def time(self) -> float:
        """Time of the next sample, s; NaN before the first."""
        return float(self._due)

    @property
    def slow_rate(self) -> float:
        """Rate by the stamps of a sender that is slower than its nominal rate, Hz; 0 of any other."""
        return self._slow.rate

    @property
    def held(self) -> int:
        """Samples that are held."""
        return len(self._stamps)

    def accept(self, stamps: Samples, samples: Samples) -> Iterator[Run]:
        """Yield the runs of consecutive samples that are complete.

        Parameters
        ----------
        stamps : (n_samples,), s on the sender's clock.
        samples : (n_samples, n_channels).
        """
        if self._samples is not None:
            stamps, samples = np.concatenate((self._stamps, stamps)), np.concatenate((self._samples, samples))
            self._stamps, self._samples = np.empty(0), None
        if len(stamps):
            stamps = self._finite(stamps)
        while len(stamps):
            delay = stamps - (self._due + self._dt * np.arange(len(stamps)))
            if count := self._consecutive(stamps, delay):
                self._slow.accept(stamps[:count])
                yield self._run(samples[:count], delay[:count])
                stamps, samples = stamps[count:], samples[count:]
            elif stamps[-1] - stamps[0] >= self._hold:
                lost = self._skip(float(np.min(delay[stamps - stamps[0] < self._hold])))
                self._slow.gap(lost, float(stamps[0]))
            else:
                self._stamps, self._samples = stamps, samples
                return

    def _finite(self, stamps: Samples) -> Samples:
        """Return the stamps; one that is not finite has the delay of the one before."""
        finite, position = np.isfinite(stamps), np.arange(len(stamps))
        if not self._placed:
            self._placed = bool(finite.any())
            first = int(np.argmax(finite))
            self._due = float(stamps[first]) - self._dt * first if self._placed else np.nan_to_num(self._due)
        if finite.all():
            return stamps
        due = self._due + self._dt * position
        before = np.maximum.accumulate(np.where(finite, position, -1))
        return np.where(before >= 0, stamps[before] + self._dt * (position - before), due)

    def _consecutive(self, stamps: Samples, delay: Samples) -> int:
        """Return how many samples are consecutive, that is how many end with one on time, after a short delay."""
        on_time = np.flatnonzero(delay < _LATE * self._dt)
        if not len(on_time):
            return 0
        late_since = stamps[np.concatenate(([0], on_time[:-1] + 1))]
        long = np.flatnonzero(stamps[on_time] - late_since >= self._hold)
        whole = int(long[0]) if len(long) else len(on_time)
        return int(on_time[whole - 1]) + 1 if whole else 0

    def flush(self) -> Iterator[Run]:
        """Yield the samples that are held, after a gap: no more will come."""
        if self._samples is not None:
            delay = self._stamps - (self._due + self._dt * np.arange(len(self._stamps)))
            self._skip(float(np.min(delay)))
            samples, self._stamps, self._samples = self._samples, np.empty(0), None
            yield self._run(samples, np.zeros(len(samples)))

    def _skip(self, seconds: float) -> int:
        lost = round(seconds / self._dt)
        self.next += lost
        self._due += seconds
        return lost

    def _run(self, samples: Samples, delay: Samples) -> Run:
        run = Run(self.next, self._due, samples)
        count = len(samples)
        # stamps are never early: a sample that is shows that the clock was set by late ones
        early = float(np.min(delay, initial=0.0))
        if early < -_LATE * self._dt:
            correction = early
        else:
            correction = (1.0 - (1.0 - _GAIN) ** count) * float(np.mean(delay[-_AVERAGED:]))
        self.next += count
        self._due += count * self._dt + correction
        return run


class _SlowSender:
    """Detect a sender whose intervals exceed the nominal one, by repeated gaps of one sample.

    Where samples are lost instead, most intervals are the nominal one.

    Parameters
    ----------
    dt : nominal interval, s.
    """

    def __init__(self, dt: float) -> None:
        self._followed = _FOLLOWED * dt
        self._start = self._newest = math.nan  # stamps of the sample after the first gap, and of the newest, s
        self._gaps = self._received = self._long = 0  # gaps, intervals, and those that are too long since then
        self.rate = 0.0
        """By the stamps, Hz; 0: not slow."""

    def accept(self, stamps: Samples) -> None:
        """Accept the stamps of consecutive samples."""
        if self._gaps and not self.rate:
            intervals = np.diff(stamps, prepend=self._newest)
            self._received += len(intervals)
            self._long += int(np.count_nonzero(intervals > self._followed))
            self._newest = float(stamps[-1])

    def gap(self, lost: int, stamp: float) -> None:
        """Accept a gap of `lost` samples before the one with this stamp."""
        if lost != 1:
            self._gaps = 0
        elif not self._gaps:
            self._start = self._newest = stamp
            self._gaps, self._received, self._long = 1, -1, 0
        else:
            self._gaps += 1
            interval = (self._newest - self._start) / max(1, self._received)
            if self._gaps > _REGULAR and 2 * self._long > self._received and interval > self._followed:
                self.rate = 1.0 / interval
