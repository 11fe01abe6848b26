"""Checks of the samples: missing, dead, stuck, clipped, offset, not finite."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.indicators.parts.sample_loop import LARGEST_SAMPLE
from monitor.messages.blocks import Channel, Pair, Samples, Stream, units_differ
from replay.assessment.results import CompensatorSummary, PairAssessment, RecordWarning
from replay.formats import Recording
from replay.formats.parts import RecordingPart

_BLOCK = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class RecordSignals:
    """The samples of a record, and how many are missing.

    Parameters
    ----------
    samples : (n, n_channels).
    time : (n,) s after the first sample of the record, also where only a part of it is read; gaps count, pauses at
        restarts do not.
    missing, gaps : number of missing samples, and of gaps.
    restarts : of the publisher.
    """

    samples: Samples
    time: NDArray[np.float64]
    missing: int
    gaps: int
    restarts: int

    def warnings(self, rate: float) -> Iterator[RecordWarning]:
        """Warn of gaps and restarts in a record of `rate` samples a second."""
        if not (self.gaps or self.restarts):
            return
        parts = []
        if self.gaps:
            parts.append(
                f"{self.missing} samples ({self.missing / rate:.3g} s) are missing in {_times(self.gaps, 'gap')}"
            )
        if self.restarts:
            parts.append(f"the publisher restarted {_times(self.restarts, 'time')}")
        yield RecordWarning(
            "gaps",
            f"{' and '.join(parts)}: windows across a gap have no value, and the whole-record figures are of "
            "the longest gap-free segment; assess the parts between with --start and --stop",
        )


def read_signals(recording: Recording) -> RecordSignals:
    """Read a recording once from beginning to end."""
    pieces: list[Samples] = [np.empty((0, len(recording.stream.channels)))]
    missing = gaps = restarts = 0
    numbers: list[NDArray[np.int64]] = [np.empty(0, dtype=np.int64)]
    expected: int | None = None
    number = 0
    epoch = recording.stream.epoch
    for block in recording.blocks(_BLOCK):
        if expected is not None and (block.stream.epoch != epoch or block.index < expected):
            restarts += 1
        elif expected is not None and block.index > expected:
            gaps += 1
            missing += block.index - expected
            number += block.index - expected
        pieces.append(block.samples)
        numbers.append(np.arange(number, number + len(block)))
        number += len(block)
        expected, epoch = block.index + len(block), block.stream.epoch
    start = recording.start if isinstance(recording, RecordingPart) else 0.0
    time = start + np.concatenate(numbers) / recording.stream.sample_rate
    return RecordSignals(np.concatenate(pieces), time, missing, gaps, restarts)


_COMPENSATOR_CHANNELS = (
    "compensated_delay",
    "compensator_gain",
    "compensator_adapting",
    "compensator_limited",
    "compensator_bridged",
)


def summarise_compensators(signals: RecordSignals, stream: Stream) -> dict[str, CompensatorSummary]:
    """Return what the compensator of each actuator did, by actuator; without those that have no channels of one."""
    places = {channel.name: i for i, channel in enumerate(stream.channels)}
    found = {}
    for pair in stream.pairs:
        if f"{pair.actuator}.compensated_delay" not in places:
            continue
        values = {}
        for name in _COMPENSATOR_CHANNELS:
            place = places.get(f"{pair.actuator}.{name}")
            samples = np.empty(0) if place is None else signals.samples[:, place]
            values[name] = samples[np.isfinite(samples)]
        delay, *shares, bridged = values.values()
        low, high = np.percentile(delay, (5.0, 95.0)) if len(delay) else (np.nan, np.nan)
        gain, adapting, limited = (float(each.mean()) if len(each) else np.nan for each in shares)
        found[pair.actuator] = CompensatorSummary(
            float(delay.mean()) if len(delay) else np.nan,
            (float(low), float(high)),
            gain,
            adapting,
            limited,
            # a count since the start: of a part of a record, what it adds
            float(np.maximum(np.diff(bridged), 0.0).sum()) if len(bridged) else np.nan,
        )
    return found


def _times(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


# range over the largest value, below which a channel is constant
_CONSTANT = 1e-9
# a sensor is stuck if it is constant for so many samples while the command covers this part of its range
_STUCK_RANGE, _STUCK_SAMPLES = 0.3, 16
# samples at the extreme, their ratio to those at the next value, and the command's range during them
_CLIPPED_SAMPLES, _CLIPPED_TIMES, _CLIPPED_RANGE = 10, 5, 0.01
# of the command's standard deviation: a larger mean difference affects the error measures
_OFFSET = 0.2
# correlation from which the measured signal follows the command
_SAME_MOTION = 0.9


class _Clipped(NamedTuple):
    """An extreme value that many samples have: which, how many, its value, and in how many runs."""

    name: str
    samples: int
    level: float
    runs: int


def signal_warnings(
    signals: RecordSignals, channels: Sequence[Channel], rate: float, found: PairAssessment
) -> Iterator[RecordWarning]:
    """Check the signals of one actuator.

    Parameters
    ----------
    signals : of the record.
    rate : Hz.
    found : results of the actuator; the headline's delay and ratio align the two signals for the comparison.
    """
    pair, samples = found.pair, signals.samples
    used = [pair.command, pair.measured, *([] if pair.force is None else [pair.force])]
    good: NDArray[np.bool_] = np.all(np.abs(samples[:, used]) < LARGEST_SAMPLE, axis=1)
    dead = list(_dead(samples[good], channels, pair))
    yield from dead
    if not good.all():
        first = signals.time[np.argmin(good)]
        yield RecordWarning(
            "not_numbers",
            f"{np.sum(~good)} of {len(good)} samples are not finite or absurdly large, the first after "
            f"{first:.4g} s: windows with one have no value; check for a loose cable or a lost packet there",
            pair.actuator,
        )
    if dead or not good.any():
        return
    if np.array_equal(samples[good, pair.command], samples[good, pair.measured]):
        text = "a copy of it, or a simulation without an actuator; a sensor never does: check the column"
        yield RecordWarning(
            "identical", f"the measured signal equals the command in every sample: {text}", pair.actuator
        )
        return
    c, m, time = _aligned(samples[good], signals.time[good], pair, found, rate)
    yield from _stationary(c, m, time, channels[pair.measured], pair.actuator)
    if not units_differ(channels[pair.command], channels[pair.measured]):
        yield from _offset(c, m, found, channels[pair.measured].unit)


def _dead(samples: Samples, channels: Sequence[Channel], pair: Pair) -> Iterator[RecordWarning]:
    advice = {
        "command": "is it the right column, and did the test run?",
        "measured": "check the sensor, its cable and the column",
        "force": "check the load cell and the column; hsem means nothing",
    }
    for column in (pair.command, pair.measured, pair.force):
        if column is None or not len(samples):
            continue
        signal, channel = samples[:, column], channels[column]
        if np.ptp(signal) <= _CONSTANT * np.abs(signal).max():
            level = f"{signal[0] + 0.0:.4g} {channel.unit}".strip()
            text = f"{channel.name} is constant at {level}: a dead channel; {advice[channel.role]}"
            yield RecordWarning("dead_channel", text, pair.actuator)


def _aligned(
    samples: Samples, time: Samples, pair: Pair, found: PairAssessment, rate: float
) -> tuple[Samples, Samples, Samples]:
    """Return command, measured signal and its time, aligned by the delay to the nearest sample."""
    c, m = samples[:, pair.command], samples[:, pair.measured]
    delay = found.headline.delay if found.headline is not None else np.nan
    lag = round(delay * rate) if np.isfinite(delay) else 0
    n = len(c) - abs(lag)
    return (c[:n], m[lag:], time[lag:]) if lag >= 0 else (c[-lag:], m[:n], time[:n])


def _stationary(c: Samples, m: Samples, time: Samples, channel: Channel, actuator: str) -> Iterator[RecordWarning]:
    """Warn of a measured signal that is clipped or stuck while the command moves."""
    start, stop = _longest_constant_run(c, m)
    clipped = _clipped_level(c, m)
    if clipped is not None and (clipped.runs > 1 or start == stop):
        yield RecordWarning(
            "clipped",
            f"{clipped.samples} samples of the measured signal are exactly at its {clipped.name} value, "
            f"{f'{clipped.level:.4g} {channel.unit}'.strip()}, while the command goes further: the sensor's range or "
            "the stroke is at its limit, and so are ratio and errors there; use a smaller motion or a wider "
            "range",
            actuator,
        )
    elif stop > start:
        yield RecordWarning(
            "stuck",
            f"the measured signal is constant for {time[stop - 1] - time[start]:.3g} s from {time[start]:.4g} s on "
            "while the command moves: the actuator stopped, or the sensor froze; assess the part before "
            "it with --stop",
            actuator,
        )


def _longest_constant_run(c: Samples, m: Samples) -> tuple[int, int]:
    """Return start and stop of the longest run in which m is constant while c moves far; equal if there is none."""
    edges = np.flatnonzero(np.diff(m, prepend=np.nan, append=np.nan) != 0.0)
    lengths = np.diff(edges)
    for i in np.argsort(-lengths, kind="stable").tolist():
        start, stop = int(edges[i]), int(edges[i + 1])
        if stop - start < _STUCK_SAMPLES:
            break
        if np.ptp(c[start:stop]) > _STUCK_RANGE * np.ptp(c):
            return start, stop
    return 0, 0


def _clipped_level(c: Samples, m: Samples) -> _Clipped | None:
    for name, signal in (("highest", m), ("lowest", -m)):
        extreme = signal == signal.max()
        below = signal[~extreme]
        at, next_to = int(extreme.sum()), int((below == below.max()).sum()) if len(below) else 0
        # a coarse sensor repeats the peak of every sine too, but there the command hardly moves
        if at >= max(_CLIPPED_SAMPLES, _CLIPPED_TIMES * next_to) and np.ptp(c[extreme]) > _CLIPPED_RANGE * np.ptp(c):
            runs = int(np.sum(np.diff(extreme.astype(np.int8), prepend=0) == 1))
            return _Clipped(name, at, float(m[extreme][0]), runs)
    return None


def _offset(c: Samples, m: Samples, found: PairAssessment, unit: str) -> Iterator[RecordWarning]:
    ratio = found.headline.ratio if found.headline is not None else np.nan
    if not np.isfinite(ratio):
        return
    spread, offset = float(np.std(c)), float(np.mean(m) - np.mean(c))
    same = float(np.mean((c - c.mean()) * (m - m.mean()))) >= _SAME_MOTION * spread * float(np.std(m))
    # the command's mean times a wrong gain is not a sensor offset
    unexplained = float(np.mean(m) - np.mean(c) / ratio)
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
