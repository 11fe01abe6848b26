"""What shows, without numbers and times, that samples are lost or that two senders are mixed: pace and values."""

from __future__ import annotations

import math
from collections import deque

import numpy as np

from monitor.messages.blocks import Samples

_WINDOW, _SILENCE = 5.0, 1.0  # s
_TOLERANCE = 0.03  # of the rate
_COMPARED, _EVERY = 64, 512  # samples that are compared, and from one comparison to the next
_IN_A_ROW, _VARIES = 4, 1.5  # comparisons that agree, and how much the differences change between them
_NEIGHBOURS = 4
_MIXED = 0.2  # of the difference from the sample before, below which the nearest of the others is

OWN_RIG = "give each sender a `rig` of its own"


class UnnumberedCheck:
    """Look at the samples of a sender that sends neither `index` nor `t`.

    The rate at which they arrive is compared with the sample rate, over five seconds without a pause of one. Now and
    then, 64 samples are compared with those before them: where another one than the last is far nearer, in every
    signal that moves, two signals alternate; hum and noise do so too, but evenly.
    """

    def __init__(self) -> None:
        self._began = self._newest = math.nan  # arrivals, s
        self._count = 0
        self._told = 1.0  # arrival rate over sample rate
        self._rows: list[Samples] = []
        self._n_rows = self._skip = 0
        self._jumps: deque[float] = deque(maxlen=_IN_A_ROW)
        self._told_mixed = False

    def add(self, samples: Samples, rate: float, arrived: float) -> str:
        """Add samples that `arrived` [s, monotonic; NaN: unknown]; return what is wrong, in one line, once."""
        return self._pace(len(samples), rate, arrived) or self._values(samples)

    def _pace(self, count: int, rate: float, arrived: float) -> str:
        elapsed = arrived - self._began
        paused = not arrived - self._newest <= _SILENCE
        if paused or elapsed >= _WINDOW:
            self._began, received, self._count = arrived, self._count, 0
        self._newest = arrived
        self._count += count
        if paused or elapsed < _WINDOW:
            return ""
        measured = received / elapsed
        pace = measured / rate
        if abs(pace - 1.0) <= _TOLERANCE or abs(pace / self._told - 1.0) <= _TOLERANCE:
            return ""
        self._told = pace
        come = f"samples without `index` and `t` come at {measured:.4g} Hz, not at the sample_rate of {rate:.6g} Hz"
        if pace < 1.0:
            return f"{come}: {100 * (1 - pace):.2g} % of them are lost, or the rate is wrong"
        return f"{come}: two senders are mixed ({OWN_RIG}), or the rate is wrong"

    def _values(self, samples: Samples) -> str:
        if self._told_mixed:
            return ""
        if self._skip > 0:
            self._skip -= len(samples)
            return ""
        self._rows.append(samples[:_COMPARED])
        self._n_rows += len(samples)
        if self._n_rows < _COMPARED:
            return ""
        rows = np.concatenate([each for each in self._rows if each.shape[1] == samples.shape[1]])
        self._rows, self._n_rows, self._skip = [], 0, _EVERY - _COMPARED
        self._jumps.append(jump_between(rows))
        jumps = self._jumps
        self._told_mixed = len(jumps) == _IN_A_ROW and min(jumps) > 0.0 and max(jumps) > _VARIES * min(jumps)
        return f"samples alternate between two signals: two senders are mixed, {OWN_RIG}" if self._told_mixed else ""


def jump_between(samples: Samples) -> float:
    """Return by how much samples (n_samples, n_channels) alternate in the first channel that moves; 0: not in all."""
    if len(samples) <= 2 * _NEIGHBOURS:
        return 0.0
    differences = [np.abs(samples[_NEIGHBOURS:] - samples[_NEIGHBOURS - k : -k]) for k in range(1, _NEIGHBOURS + 1)]
    last = np.nansum(differences[0], axis=0)
    nearest = np.nansum(np.fmin.reduce(differences), axis=0)
    moving = last > 0.0
    # a command that stands still has no hum
    alternates = np.count_nonzero(moving) > 1 and np.all(nearest[moving] < _MIXED * last[moving])
    return float(last[moving][0]) if alternates else 0.0
