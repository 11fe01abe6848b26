"""Passes over a record: gaps, ranges of channels, bad samples, what compensators did, and all of its samples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monitor.indicators.parts.sample_loop import LARGEST_SAMPLE
from monitor.messages.blocks import Pair, Samples, SignalBlock, Stream
from replay.assessment.results import CompensatorSummary, RecordWarning
from replay.formats import Recording
from replay.formats.base import EpochStart
from replay.formats.parts import RecordingPart

_BLOCK = 1 << 16


class Continuity:
    """Gaps and restarts of a recording, and the time of each sample, of blocks in their order.

    Attributes
    ----------
    missing, gaps : number of missing samples, and of gaps.
    restarts : of the publisher.
    starts : of the publisher, in their order.
    """

    def __init__(self, recording: Recording) -> None:
        self.missing = self.gaps = self.restarts = 0
        self._start = recording.start if isinstance(recording, RecordingPart) else 0.0
        self._rate = recording.stream.sample_rate
        self._epoch, self._expected, self._number = recording.stream.epoch, -1, 0
        self.starts: list[EpochStart] = []

    def times(self, block: SignalBlock) -> NDArray[np.float64]:
        """Return (n,) s after the first sample of the record; gaps count, pauses at restarts do not."""
        if self._expected >= 0 and (block.stream.epoch != self._epoch or block.index < self._expected):
            self.restarts += 1
        elif self._expected >= 0 and block.index > self._expected:
            self.gaps += 1
            self.missing += block.index - self._expected
            self._number += block.index - self._expected
        if len(self.starts) <= self.restarts:
            self.starts.append(EpochStart(block.stream.epoch, block.index, self._number))
        first, self._number = self._number, self._number + len(block)
        self._expected, self._epoch = block.index + len(block), block.stream.epoch
        return np.asarray(self._start + np.arange(first, self._number) / self._rate)


@dataclass(frozen=True, slots=True)
class ChannelRange:
    """The first, the lowest and the highest of the good samples of a channel."""

    first: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class PairSurvey:
    """The samples of one actuator; good where none of its signals is NaN, infinite or absurdly large.

    Parameters
    ----------
    samples, bad : their number, and of those that are not good.
    first_bad : s, of the first that is not good; NaN without one.
    ranges : by column; empty without good samples.
    identical : measured equals the command in every good sample.
    """

    samples: int
    bad: int
    first_bad: float
    ranges: dict[int, ChannelRange]
    identical: bool


@dataclass(frozen=True, slots=True)
class RecordSurvey:
    """A record in figures.

    Parameters
    ----------
    start : s, of its first sample after that of the whole, of which it may be a part.
    missing, gaps : number of missing samples, and of gaps.
    restarts : of the publisher.
    starts : of the publisher, in their order.
    pairs : by actuator.
    compensators : by actuator, of those that have one.
    """

    start: float
    missing: int
    gaps: int
    restarts: int
    starts: tuple[EpochStart, ...]
    pairs: dict[str, PairSurvey]
    compensators: dict[str, CompensatorSummary]

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
            f"{' and '.join(parts)}: windows across a gap have no value, except where --bridge "
            "interpolates it; assess the parts between with --start and --stop",
        )


def _times(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def survey_record(recording: Recording) -> RecordSurvey:
    """Read a recording once from beginning to end."""
    continuity = Continuity(recording)
    pairs = {pair.actuator: _PairFigures(pair) for pair in recording.stream.pairs}
    compensators = _compensators(recording.stream)
    start: float | None = None
    for block in recording.blocks(_BLOCK):
        time = continuity.times(block)
        start = float(time[0]) if start is None else start
        for pair in pairs.values():
            pair.add(block.samples, time)
        for compensator in compensators.values():
            compensator.add(block.samples)
    return RecordSurvey(
        start or 0.0,
        continuity.missing,
        continuity.gaps,
        continuity.restarts,
        tuple(continuity.starts),
        {actuator: pair.survey() for actuator, pair in pairs.items()},
        {actuator: compensator.summary() for actuator, compensator in compensators.items()},
    )


def used_columns(pair: Pair) -> list[int]:
    """Return the columns of the command, the measured signal and, where there is one, the force."""
    return [pair.command, pair.measured, *([] if pair.force is None else [pair.force])]


def good_samples(samples: Samples, pair: Pair) -> NDArray[np.bool_]:
    """Return (n,) whether all signals of an actuator are numbers of a possible size."""
    return np.asarray(np.all(np.abs(samples[:, used_columns(pair)]) < LARGEST_SAMPLE, axis=1))


class _PairFigures:
    def __init__(self, pair: Pair) -> None:
        self._pair, self._columns = pair, used_columns(pair)
        self._samples = self._bad = 0
        self._first_bad = np.nan
        self._first: Samples | None = None
        self._low = np.full(len(self._columns), np.inf)
        self._high = -self._low
        self._identical = True

    def add(self, samples: Samples, time: NDArray[np.float64]) -> None:
        good = good_samples(samples, self._pair)
        self._samples += len(good)
        if not good.all():
            self._bad += int((~good).sum())
            self._first_bad = float(time[np.argmin(good)]) if np.isnan(self._first_bad) else self._first_bad
        used = samples[good][:, self._columns]
        if not len(used):
            return
        self._first = used[0].copy() if self._first is None else self._first
        self._low, self._high = np.minimum(self._low, used.min(axis=0)), np.maximum(self._high, used.max(axis=0))
        self._identical = self._identical and np.array_equal(used[:, 0], used[:, 1])

    def survey(self) -> PairSurvey:
        ranges = {}
        if self._first is not None:
            rows = zip(self._columns, self._first.tolist(), self._low.tolist(), self._high.tolist(), strict=True)
            ranges = {column: ChannelRange(*values) for column, *values in rows}
        return PairSurvey(self._samples, self._bad, self._first_bad, ranges, self._identical and bool(ranges))


_COMPENSATOR_CHANNELS = (
    "compensated_delay",
    "compensator_gain",
    "compensator_adapting",
    "compensator_limited",
    "compensator_bridged",
)


def _compensators(stream: Stream) -> dict[str, _CompensatorFigures]:
    """Return the compensators of those actuators that have channels of one."""
    places = {channel.name: i for i, channel in enumerate(stream.channels)}
    return {
        pair.actuator: _CompensatorFigures([places.get(f"{pair.actuator}.{name}") for name in _COMPENSATOR_CHANNELS])
        for pair in stream.pairs
        if f"{pair.actuator}.compensated_delay" in places
    }


class _CompensatorFigures:
    """The delay is in memory, for its percentiles; of the other channels sums are."""

    def __init__(self, columns: list[int | None]) -> None:
        self._columns = columns
        self._delays: list[Samples] = [np.empty(0)]
        self._sums, self._counts = np.zeros(4), np.zeros(4)
        self._bridged = 0.0
        self._last: float | None = None

    def add(self, samples: Samples) -> None:
        values = [np.empty(0) if column is None else samples[:, column] for column in self._columns]
        delay, *others = (each[np.isfinite(each)] for each in values)
        self._delays.append(delay)
        for number, each in enumerate(others):
            self._sums[number] += each.sum()
            self._counts[number] += len(each)
        # a count since the start: of a part of a record, what it adds
        bridged = others[-1]
        if len(bridged):
            before = bridged[0] if self._last is None else self._last
            self._bridged += float(np.maximum(np.diff(bridged, prepend=before), 0.0).sum())
            self._last = float(bridged[-1])

    def summary(self) -> CompensatorSummary:
        delay = np.concatenate(self._delays)
        low, high = np.percentile(delay, (5.0, 95.0)) if len(delay) else (np.nan, np.nan)
        gain, adapting, limited = (
            float(total / count) if count else np.nan
            for total, count in zip(self._sums[:3], self._counts[:3], strict=True)
        )
        return CompensatorSummary(
            float(delay.mean()) if len(delay) else np.nan,
            (float(low), float(high)),
            gain,
            adapting,
            limited,
            self._bridged if self._counts[3] else np.nan,
        )


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


def read_signals(recording: Recording) -> RecordSignals:
    """Read a recording once from beginning to end."""
    pieces: list[Samples] = [np.empty((0, len(recording.stream.channels)))]
    times: list[NDArray[np.float64]] = [np.empty(0)]
    continuity = Continuity(recording)
    for block in recording.blocks(_BLOCK):
        times.append(continuity.times(block))
        pieces.append(block.samples)
    return RecordSignals(
        np.concatenate(pieces), np.concatenate(times), continuity.missing, continuity.gaps, continuity.restarts
    )
