"""Time stamps of an LSL stream -> sample numbers, in which lost samples are gaps and jitter is not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from monitor.messages.blocks import Samples

_LATE = 0.5  # of a sampling interval, beyond which a stamp is not the next sample's
_HOLD, _HOLD_SAMPLES = 0.1, 8  # s, and samples, at least, after which what is late is a gap
_GAIN = 1 / 16  # by which the clock follows the stamps, per sample: a rate that is 3 % wrong is followed
_AVERAGED = 16  # newest samples


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
        self.next = 0
        """Number of the next sample."""

    @property
    def time(self) -> float:
        """Time of the next sample, s; NaN before the first."""
        return float(self._due)

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
        if np.isnan(self._due) and len(stamps):
            self._due = float(stamps[0]) if np.isfinite(stamps[0]) else 0.0
        while len(stamps):
            delay = stamps - (self._due + self._dt * np.arange(len(stamps)))
            if count := self._consecutive(stamps, delay):
                yield self._run(samples[:count], delay[:count])
                stamps, samples = stamps[count:], samples[count:]
            elif stamps[-1] - stamps[0] >= self._hold:
                self._skip(float(np.min(delay[stamps - stamps[0] < self._hold])))
            else:
                self._stamps, self._samples = stamps, samples
                return

    def _consecutive(self, stamps: Samples, delay: Samples) -> int:
        """Return how many samples are consecutive, that is how many end with one on time, after a short delay."""
        on_time = np.flatnonzero(~(delay >= _LATE * self._dt))
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

    def _skip(self, seconds: float) -> None:
        self.next += round(seconds / self._dt)
        self._due += seconds

    def _run(self, samples: Samples, delay: Samples) -> Run:
        run = Run(self.next, self._due, samples)
        count = len(samples)
        # stamps are never early: a sample that is shows that the clock was set by late ones
        early = float(np.nanmin(delay, initial=0.0))
        if early < -_LATE * self._dt:
            correction = early
        else:
            correction = (1.0 - (1.0 - _GAIN) ** count) * float(np.nan_to_num(np.mean(delay[-_AVERAGED:])))
        self.next += count
        self._due += count * self._dt + correction
        return run
