"""Checks of the samples: dead, stuck, clipped, held, offset, not finite; and the running figures behind them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from monitor.messages.blocks import Channel, Pair, Samples, units_differ
from replay.assessment.record_survey import Continuity, PairSurvey, RecordSurvey, good_samples
from replay.assessment.results import PairAssessment, RecordWarning
from replay.formats import Recording

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


_BLOCK = 1 << 16

# range over the largest value, below which a channel is constant
_CONSTANT = 1e-9
# a sensor is stuck if it is constant for some time while the command covers this part of its range
_STUCK_RANGE = 0.3
# samples at the extreme, their ratio to those at the next value, and the command's range during them
_CLIPPED_SAMPLES, _CLIPPED_TIMES, _CLIPPED_RANGE = 10, 5, 0.01
# of the command's standard deviation: a larger mean difference affects the error measures
_OFFSET = 0.2
# correlation from which the measured signal follows the command
_SAME_MOTION = 0.9


def signal_warnings(
    recording: Recording, survey: RecordSurvey, pairs: Sequence[PairAssessment]
) -> dict[str, list[RecordWarning]]:
    """Check the signals of all actuators, and return the warnings of each, in one pass over the record.

    Parameters
    ----------
    survey : of the record.
    pairs : results of the actuators; the headline's delay and ratio align the two signals for the comparison.
    """
    channels, rate = recording.stream.channels, recording.stream.sample_rate
    found: dict[str, list[RecordWarning]] = {}
    aligned: dict[str, _AlignedFigures] = {}
    for pair in pairs:
        actuator = pair.pair.actuator
        signals = survey.pairs[actuator]
        dead = list(_dead(signals, channels, pair.pair))
        found[actuator] = [*dead, *_not_numbers(signals, actuator)]
        if dead or not signals.ranges:
            continue
        if signals.identical:
            text = "a copy of it, or a simulation without an actuator; a sensor never does: check the column"
            found[actuator].append(
                RecordWarning(
                    "identical", f"the measured signal equals the command in every sample: {text}", actuator
                )
            )
            continue
        aligned[actuator] = _AlignedFigures(pair, rate)
    if aligned:
        continuity = Continuity(recording)
        for block in recording.blocks(_BLOCK):
            time = continuity.times(block)
            for figures in aligned.values():
                figures.add(block.samples, time)
    for pair in pairs:
        if pair.pair.actuator in aligned:
            found[pair.pair.actuator] += _aligned_warnings(aligned[pair.pair.actuator], channels, pair)
    return found


def _not_numbers(signals: PairSurvey, actuator: str) -> Iterator[RecordWarning]:
    if signals.bad:
        yield RecordWarning(
            "not_numbers",
            f"{signals.bad} of {signals.samples} samples are not finite or absurdly large, the first after "
            f"{signals.first_bad:.4g} s: windows with one have no value, except in gaps that --bridge interpolates; "
            "check for a loose cable or a lost packet there",
            actuator,
        )


def _dead(signals: PairSurvey, channels: Sequence[Channel], pair: Pair) -> Iterator[RecordWarning]:
    advice = {
        "command": "is it the right column, and did the test run?",
        "measured": "check the sensor, its cable and the column",
        "force": "check the load cell and the column; hsem means nothing",
    }
    for column, found in signals.ranges.items():
        channel = channels[column]
        if found.high - found.low <= _CONSTANT * max(abs(found.low), abs(found.high)):
            level = f"{found.first + 0.0:.4g} {channel.unit}".strip()
            text = f"{channel.name} is constant at {level}: a dead channel; {advice[channel.role]}"
            yield RecordWarning("dead_channel", text, pair.actuator)


class _AlignedFigures:
    """Figures of the good samples of one actuator, the measured signal aligned by the delay to the nearest sample."""

    def __init__(self, found: PairAssessment, rate: float) -> None:
        self._pair, self.rate = found.pair, rate
        delay = found.headline.delay if found.headline is not None else np.nan
        self._lag = round(delay * rate) if np.isfinite(delay) else 0
        # of the signal that leads, so many samples wait for those of the other
        self._waiting = np.empty((0, 3))
        self._to_skip = abs(self._lag)
        self.moments, self.constant, self.of_command = Moments(), ConstantRuns(), ConstantRuns()
        self.highest, self.lowest = ExtremeValue(), ExtremeValue()

    def add(self, samples: Samples, time: Samples) -> None:
        good = good_samples(samples, self._pair)
        used = np.column_stack([samples[:, [self._pair.command, self._pair.measured]], time])[good]
        skipped = min(self._to_skip, len(used))
        self._to_skip -= skipped
        early = np.concatenate([self._waiting, used])
        late = used[skipped:]
        self._waiting = early[len(late) :]
        if not len(late):
            return
        early = early[: len(late)]
        (c, m, at) = (early[:, 0], late[:, 1], late[:, 2]) if self._lag >= 0 else (late[:, 0], *early[:, 1:].T)
        self.moments.add(c, m)
        self.constant.add(c, m, at)
        self.of_command.add(m, c, at)
        self.highest.add(c, m)
        self.lowest.add(c, -m)


def _aligned_warnings(
    figures: _AlignedFigures, channels: Sequence[Channel], found: PairAssessment
) -> Iterator[RecordWarning]:
    if not figures.moments.n:
        return
    pair = found.pair
    yield from _stationary(figures, channels[pair.measured], pair.actuator)
    yield from _held(figures.of_command.held, figures.constant.held, figures.rate, pair.actuator)
    if not units_differ(channels[pair.command], channels[pair.measured]):
        yield from _offset(figures.moments, found, channels[pair.measured].unit)


def _stationary(figures: _AlignedFigures, channel: Channel, actuator: str) -> Iterator[RecordWarning]:
    """Warn of a measured signal that is clipped or stuck while the command moves."""
    low, high = figures.moments.command_range
    stuck = figures.constant.longest(_STUCK_RANGE * (high - low))
    for name, sign, extreme in (("highest", 1.0, figures.highest), ("lowest", -1.0, figures.lowest)):
        # a coarse sensor repeats the peak of every sine too, but there the command hardly moves
        often = extreme.samples >= max(_CLIPPED_SAMPLES, _CLIPPED_TIMES * extreme.next_samples)
        if often and extreme.command_range > _CLIPPED_RANGE * (high - low):
            if extreme.runs > 1 or stuck is None:
                level = f"{sign * extreme.value + 0.0:.4g} {channel.unit}".strip()
                yield RecordWarning(
                    "clipped",
                    f"{extreme.samples} samples of the measured signal are exactly at its {name} value, {level}, "
                    "while the command goes further: the sensor's range or the stroke is at its limit, and so are "
                    "ratio and errors there; use a smaller motion or a wider range",
                    actuator,
                )
                return
            break
    if stuck is not None:
        yield RecordWarning(
            "stuck",
            f"the measured signal is constant for {stuck[1] - stuck[0]:.3g} s from {stuck[0]:.4g} s on "
            "while the command moves: the actuator stopped, or the sensor froze; assess the part before "
            "it with --stop",
            actuator,
        )


def _held(command: float, measured: float, rate: float, actuator: str) -> Iterator[RecordWarning]:
    """Warn of two signals whose values are held for different times, which is read as a delay."""
    held, other = max(command, measured), min(command, measured)
    if held - other >= 1.0:
        name, sign = ("measured", "later") if measured > command else ("the command", "earlier")
        yield RecordWarning(
            "held",
            f"{name} was sampled at {rate / held:.4g} Hz, its values are held for {held:.3g} samples: measured seems "
            f"{500.0 * (held - other) / rate:.3g} ms {sign} than it is; record both at one rate",
            actuator,
        )


def _offset(moments: Moments, found: PairAssessment, unit: str) -> Iterator[RecordWarning]:
    ratio = found.headline.ratio if found.headline is not None else np.nan
    if not np.isfinite(ratio):
        return
    (mean_c, mean_m), (var_c, var_m, common) = moments.means, moments.variances
    spread, offset = float(np.sqrt(var_c)), mean_m - mean_c
    same = common >= _SAME_MOTION * spread * float(np.sqrt(var_m))
    # the command's mean times a wrong gain is not a sensor offset
    unexplained = mean_m - mean_c / ratio
    if not same or min(abs(offset), abs(unexplained)) <= _OFFSET * spread:
        return
    where = "above" if offset > 0.0 else "below"
    yield RecordWarning(
        "offset",
        f"the measured signal lies {f'{abs(offset):.3g} {unit}'.strip()} {where} the command on average, "
        f"{abs(offset) / spread:.2g} times the command's rms motion: zero the sensors, or filter with --bandpass; "
        "it counts as error in nrmse, peak_error and J3, not in the delays and ratios",
        found.pair.actuator,
    )
