"""Figures of two signals that come in pieces: moments, constant runs and repeated extremes, in bounded memory."""

from __future__ import annotations

import numpy as np

from monitor.messages.blocks import Samples

# shorter runs of one value are those of a coarse sensor
_FEWEST = 16
# longest hold, samples; share of values that are held alike, and how many suffice; of a coarse sensor's steps, most
_HELD, _MOST_HELD, _ENOUGH, _COARSE = 256, 0.95, 50, 3.5


class Moments:
    """Means, variances and covariance of command and measured; the range of the command.

    Pieces are merged by their means and sums of squares (Chan, Golub and LeVeque 1983), so that no digits are lost
    to a large mean.
    """

    def __init__(self) -> None:
        self.n = 0
        self._means = np.zeros(2)
        self._sums = np.zeros(3)
        self._low, self._high = np.inf, -np.inf

    def add(self, command: Samples, measured: Samples) -> None:
        """Include (n,) more samples of both, at least one."""
        n = len(command)
        means = np.array([command.mean(), measured.mean()])
        c, m = command - means[0], measured - means[1]
        step = means - self._means
        weight = self.n * n / (self.n + n)
        self._sums += np.einsum("ki,ki->k", np.stack([c, m, c]), np.stack([c, m, m]))
        self._sums += weight * np.array([step[0] ** 2, step[1] ** 2, step[0] * step[1]])
        self._means += step * (n / (self.n + n))
        self.n += n
        self._low, self._high = min(self._low, float(command.min())), max(self._high, float(command.max()))

    @property
    def means(self) -> tuple[float, float]:
        """Of command and measured."""
        return float(self._means[0]), float(self._means[1])

    @property
    def variances(self) -> tuple[float, float, float]:
        """Of command and measured, and their covariance."""
        command, measured, common = (self._sums / self.n).tolist()
        return command, measured, common

    @property
    def command_range(self) -> tuple[float, float]:
        """The lowest and the highest value of the command."""
        return self._low, self._high


class ConstantRuns:
    """The longest run in which the measured signal is constant, among those in which the command moves far."""

    def __init__(self) -> None:
        # a row for each run that may be the longest: samples, range of the command, first and last time
        self._runs = np.empty((0, 4))
        self._lengths = np.zeros(_HELD + 2)  # how many runs have so many samples
        self._steps = np.array([np.inf, 0.0])  # the smallest and the largest between two of them
        # the run at the end: samples, value of measured, lowest and highest command, first and last time
        self._open = (0, np.nan, np.inf, -np.inf, np.nan, np.nan)

    def add(self, command: Samples, measured: Samples, time: Samples) -> None:
        """Include (n,) more samples, at least one."""
        starts = np.concatenate([[0], np.flatnonzero(np.diff(measured) != 0.0) + 1])
        stops = np.append(starts[1:], len(measured))
        lengths, values = stops - starts, measured[starts]
        low, high = np.minimum.reduceat(command, starts), np.maximum.reduceat(command, starts)
        begins = time[starts]
        samples, value, open_low, open_high, begin, end = self._open
        rows: list[Samples] = []
        if samples and value == values[0]:
            lengths[0] += samples
            low[0], high[0], begins[0] = min(low[0], open_low), max(high[0], open_high), begin
        elif samples:
            rows.append(np.array([[samples, open_high - open_low, begin, end]]))
        rows.append(np.column_stack([lengths, high - low, begins, time[stops - 1]])[:-1])
        self._open = (int(lengths[-1]), values[-1], low[-1], high[-1], begins[-1], time[-1])
        self._runs = _undominated(np.concatenate([self._runs, *rows]))
        steps = np.abs(np.diff(values))
        self._steps = np.array([steps.min(initial=self._steps[0]), steps.max(initial=self._steps[1])])
        for ended in rows:
            self._lengths += np.bincount(np.minimum(ended[:, 0], _HELD + 1).astype(int), minlength=_HELD + 2)

    @property
    def held(self) -> float:
        """Samples for which measured holds each of its values, between two whole numbers at most; 1: it does not.

        The values of a coarse sensor, which a steady motion holds alike too, are one step apart.
        """
        alike = self._lengths[:-1] + self._lengths[1:]
        length = 2 + int(np.argmax(alike[2:]))
        one, two = self._lengths[length : length + 2]
        enough = one + two > max(_ENOUGH, _MOST_HELD * self._lengths.sum())
        coarse = self._steps[1] < _COARSE * self._steps[0]
        return float((length * one + (length + 1) * two) / (one + two)) if enough and not coarse else 1.0

    def longest(self, least: float) -> tuple[float, float] | None:
        """Return the first and last time of the longest run in which the command's range exceeds `least`; or None."""
        samples, _, low, high, begin, end = self._open
        runs = _undominated(np.concatenate([self._runs, [[samples, high - low, begin, end]]]))
        runs = runs[runs[:, 1] > least]
        return (float(runs[0, 2]), float(runs[0, 3])) if len(runs) else None


def _undominated(runs: Samples) -> Samples:
    """Return the runs, longest first, without those that are short, or shorter than one with at least their range."""
    runs = runs[runs[:, 0] >= _FEWEST]
    runs = runs[np.argsort(-runs[:, 0], kind="stable")]
    widest = np.maximum.accumulate(runs[:, 1])
    return runs[np.diff(widest, prepend=-np.inf) > 0.0]


class ExtremeValue:
    """How often the measured signal is exactly at its largest value, and at the next one below.

    Attributes
    ----------
    value : the largest.
    samples, next_samples : number of samples at it, and at the largest one below it.
    runs : in which `samples` are.
    """

    def __init__(self) -> None:
        self.value = self._next = -np.inf
        self.samples = self.next_samples = self.runs = 0
        self._low, self._high = np.inf, -np.inf
        self._at_end = False

    @property
    def command_range(self) -> float:
        """Range of the command at the largest value."""
        return self._high - self._low

    def add(self, command: Samples, measured: Samples) -> None:
        """Include (n,) more samples, at least one."""
        largest = float(measured.max())
        at = measured == largest
        below = measured[~at]
        second = float(below.max()) if len(below) else -np.inf
        if largest > self.value:
            self._count_next(self.value, self.samples)
            self.value, self.samples, self.runs, self._at_end = largest, 0, 0, False
            self._low, self._high = np.inf, -np.inf
        if largest == self.value:
            moved = command[at]
            self.samples += len(moved)
            self.runs += int(np.sum(np.diff(at.astype(np.int8), prepend=np.int8(self._at_end)) == 1))
            self._low, self._high = min(self._low, float(moved.min())), max(self._high, float(moved.max()))
            self._at_end = bool(at[-1])
            self._count_next(second, int((below == second).sum()))
        else:
            self._at_end = False
            self._count_next(largest, int(at.sum()))

    def _count_next(self, value: float, samples: int) -> None:
        if value > self._next:
            self._next, self.next_samples = value, samples
        elif value == self._next:
            self.next_samples += samples
