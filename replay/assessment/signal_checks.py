"""Checks of the samples: dead, stuck, clipped, offset, not finite."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from monitor.messages.blocks import Channel, Pair, Samples, units_differ
from replay.assessment.record_survey import Continuity, PairSurvey, RecordSurvey, good_samples
from replay.assessment.results import PairAssessment, RecordWarning
from replay.assessment.running_figures import ConstantRuns, ExtremeValue, Moments
from replay.formats import Recording

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
