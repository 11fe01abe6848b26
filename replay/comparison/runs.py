"""A run compared with a reference: actuators paired, time axes aligned, signals subtracted."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from monitor.alignment import correlation_coefficient, estimate_lag, interpolated
from monitor.config import IndicatorSettings
from monitor.messages.blocks import Pair, Samples, units_differ
from replay import Progress, silent
from replay.assessment import Assessment, assess
from replay.assessment.record_survey import RecordSignals, read_signals
from replay.assessment.summary import RunSummary, summarise
from replay.comparison.quantities import (
    FEWEST_WINDOWS,
    Quantity,
    Tolerance,
    TrackedPart,
    actuator_quantities,
    compare_parts,
    run_quantities,
)
from replay.formats import Recording, naming_file

_LONGEST = 1 << 27  # samples with those that are missing in gaps


@dataclass(frozen=True, slots=True, eq=False)
class AssessedRun:
    """A recording, its assessment and its signals.

    Parameters
    ----------
    path : of its file.
    first : s, time of its first sample in the record.
    signals : None once it is compared: of many runs, the samples are in memory one run at a time.
    """

    path: Path
    assessment: Assessment
    summary: RunSummary
    first: float
    signals: RecordSignals | None

    @property
    def samples(self) -> RecordSignals:
        """Its signals.

        Raises
        ------
        ValueError : they were released.
        """
        if self.signals is None:
            raise ValueError(f"{self.path}: its samples are no longer in memory")
        return self.signals

    @property
    def rate(self) -> float:
        """Samples a second, Hz."""
        return self.assessment.stream.sample_rate

    @property
    def remarks(self) -> tuple[str, ...]:
        """Notes and warnings on the recording, a line each, with the actuator where there are several."""
        several = len(self.assessment.pairs) > 1
        warnings = (
            f"{each.actuator}: {each.text}" if several and each.actuator else each.text
            for each in self.assessment.warnings
        )
        return tuple(dict.fromkeys([*self.assessment.notes, *warnings]))

    def curve(self, column: int) -> Samples:
        """Return a channel, (n,), at even times from its first sample on; NaN in gaps."""
        numbers = np.rint((self.samples.time - self.first) * self.rate).astype(np.int64)
        if numbers[-1] >= _LONGEST:
            raise ValueError(f"{self.path}: {numbers[-1] / self.rate:.4g} s with its gaps is too long; export a part")
        values = np.full(int(numbers[-1]) + 1, np.nan)
        values[numbers] = self.samples.samples[:, column]
        return values

    @property
    def length(self) -> float:
        """Seconds from the first sample to after the last; gaps count."""
        return float(self.samples.time[-1]) - self.first + 1.0 / self.rate

    def part(self, pair: Pair, start: float, stop: float) -> TrackedPart:
        """Return what an actuator did between two instants, s after the first sample: only windows within them.

        Its command and measured signal are empty where the samples were released.
        """
        channels, settings = self.assessment.stream.channels, self.assessment.settings
        series = self.assessment.series
        time = series.elapsed - self.first - start
        # of a window of n samples, the last is n - 1 after the first
        rows = (time > settings.window - 1.5 / self.rate) & (time < stop - start - 0.5 / self.rate)
        at, command, measured = np.empty((3, 0))
        if self.signals is not None:
            at = self.signals.time - self.first - start
            inside = (at > -0.5 / self.rate) & (at < stop - start - 0.5 / self.rate)
            command, measured = (self.signals.samples[inside, i] for i in (pair.command, pair.measured))
            at = at[inside]
        if units_differ(channels[pair.command], channels[pair.measured]):
            measured = np.full(len(measured), np.nan)
        values = {name: each[rows] for name, each in series.of(pair.actuator).items()}
        return TrackedPart(time[rows], values, settings.relative_gate, at, command, measured)

    def channel(self, pair: Pair, role: str) -> int:
        """Return the column of the ``command`` or ``measured`` signal."""
        return pair.command if role == "command" else pair.measured


def assess_run(
    path: Path, recording: Recording, settings: IndicatorSettings, *, thin: bool = True, progress: Progress = silent
) -> AssessedRun:
    """Return a recording with its assessment; see `replay.assessment.assess`.

    Raises
    ------
    ValueError : it cannot be assessed with these settings.
    RecordingError : it has become unreadable.
    """
    with naming_file(path):
        try:
            assessment = assess(recording, settings, thin=thin, progress=progress)
        except ValueError as problem:
            raise ValueError(f"{path}: {problem}") from problem
        signals = read_signals(recording)
    return AssessedRun(path, assessment, summarise(path, recording, assessment), float(signals.time[0]), signals)


_FEWEST = 8  # common samples
_SAME_MOTION = 10.0  # percent of the command's rms


@dataclass(frozen=True, slots=True)
class Alignment:
    """How a run is placed on the time axis of the reference.

    Parameters
    ----------
    lag : s by which its motion is later than the reference's, both counted from their first sample.
    correlation : of the signal at this lag, over the common time; NaN where the signals do not move.
    signal : the reference's channel by which the lag was found; empty where it was given, or is none.
    start, stop : of the compared stretch, s after the reference's first sample.
    overlap : s of it in which both have samples.
    """

    lag: float
    correlation: float
    signal: str
    start: float
    stop: float
    overlap: float


@dataclass(frozen=True, slots=True, eq=False)
class ActuatorComparison:
    """One actuator in both runs, whose names may differ, and its figures."""

    own: Pair
    theirs: Pair
    quantities: tuple[Quantity, ...]

    @property
    def actuator(self) -> str:
        """Its name in the reference."""
        return self.own.actuator

    @property
    def other(self) -> str:
        """Its name in the other run."""
        return self.theirs.actuator

    def quantity(self, key: str) -> Quantity:
        """Return one of its figures."""
        return next(each for each in self.quantities if each.key == key)

    @property
    def motions_differ(self) -> bool:
        """Whether the commands differ by more than 10 % of their rms: errors then differ by the motion alone."""
        return self.quantity("command_rms_percent").value > _SAME_MOTION

    @property
    def pairing(self) -> str:
        """What its differences with a standard deviation are of, as a line; empty where there is none."""
        known = [each for each in self.quantities if math.isfinite(each.estimate.difference_sd)]
        alone = [each.key for each in known if not each.estimate.paired]
        if not known:
            return ""
        if len(alone) == len(known):
            return f"{self.actuator}: differences are those of the values of two independent runs: not one motion"
        but = f", but {', '.join(alone)} those of the values" if alone else ""
        return f"{self.actuator}: differences are those at the same instants of one motion{but}"


@dataclass(frozen=True, slots=True, eq=False)
class RunComparison:
    """A run, without its samples, compared with the reference; notes are what was taken for granted, a line each."""

    reference: AssessedRun
    run: AssessedRun
    alignment: Alignment
    quantities: tuple[Quantity, ...]
    actuators: tuple[ActuatorComparison, ...]
    notes: tuple[str, ...]

    @property
    def path(self) -> Path:
        """Of the file of the run."""
        return self.run.path

    def all_quantities(self) -> Iterator[Quantity]:
        """Yield the figures of the run, then of each actuator."""
        yield from self.quantities
        for actuator in self.actuators:
            yield from actuator.quantities


def compare_runs(
    reference: AssessedRun,
    other: AssessedRun,
    *,
    lag: float | None = None,
    align_by: str = "command",
    start: float = 0.0,
    stop: float = math.inf,
    tolerances: Mapping[str, Tolerance] | None = None,
) -> RunComparison:
    """Return a run compared with the reference.

    Parameters
    ----------
    lag : s, see `Alignment`; None: estimated.
    align_by : ``command`` or ``measured``, the signal by which it is estimated; where it does not move, the other.
    start, stop : s after the reference's first sample, between which they are compared.
    tolerances : by key.

    Raises
    ------
    ValueError : an actuator is missing, units differ, no signal moves, or the runs have no time in common.
    """
    pairs, notes = _paired(reference, other)
    alignment = _align(reference, other, pairs, lag, align_by, (start, stop))
    given = {} if tolerances is None else tolerances
    begin, end = alignment.start, alignment.stop
    actuators = []
    for own, theirs in pairs:
        signals = {}
        for role in ("command", "measured"):
            one, two = reference.channel(own, role), other.channel(theirs, role)
            signals[role] = _sizes(*_common(reference, one, other, two, alignment.lag, (begin, end)))
        estimates = compare_parts(
            reference.part(own, begin, end),
            other.part(theirs, begin + alignment.lag, end + alignment.lag),
            end - begin,
            reference.assessment.settings.window,
            paired=signals["command"][0] <= _SAME_MOTION,
        )
        quantities = actuator_quantities(estimates, signals, given)
        compared = ActuatorComparison(own, theirs, quantities)
        actuators.append(compared)
        if compared.motions_differ:
            differ = compared.quantity("command_rms_percent").value
            notes.append(
                f"{own.actuator}: not the same motion: the commands differ by {differ:.3g} % rms, so that "
                "differences of errors are not those of the tracking alone"
            )
    needed = FEWEST_WINDOWS * reference.assessment.settings.window
    if end - begin < needed:
        notes.append(f"{end - begin:.4g} s are too short for standard deviations: {needed:.4g} s are needed")
    whole = run_quantities(reference.summary.row(), other.summary.row(), given)
    return RunComparison(reference, replace(other, signals=None), alignment, whole, tuple(actuators), tuple(notes))


def _paired(reference: AssessedRun, other: AssessedRun) -> tuple[list[tuple[Pair, Pair]], list[str]]:
    """Return the actuators of the reference, each with its counterpart: of the same name, else in order."""
    ours, theirs = reference.assessment.stream, other.assessment.stream
    named = {pair.actuator: pair for pair in theirs.pairs}
    names = {pair.actuator for pair in ours.pairs}
    unnamed = [pair for pair in theirs.pairs if pair.actuator not in names]
    pairs, notes = [], []
    for pair in ours.pairs:
        found = named.get(pair.actuator)
        if found is None:
            if not unnamed:
                raise ValueError(
                    f"{other.path}: no actuator is left for {pair.actuator!r} of {reference.path}: it has "
                    f"{', '.join(repr(each.actuator) for each in theirs.pairs)}"
                )
            found = unnamed.pop(0)
            notes.append(f"{pair.actuator} is compared with {found.actuator}, in order: their names differ")
        for own_column, column in ((pair.command, found.command), (pair.measured, found.measured)):
            one, two = ours.channels[own_column], theirs.channels[column]
            if units_differ(one, two):
                raise ValueError(
                    f"{other.path}: {two.name} is in {two.unit}, {one.name} of {reference.path} in {one.unit}: "
                    "convert one of the files"
                )
        pairs.append((pair, found))
    notes += [f"{each.actuator} has no counterpart in the reference: left out" for each in unnamed]
    return pairs, notes


def _align(
    reference: AssessedRun,
    other: AssessedRun,
    pairs: list[tuple[Pair, Pair]],
    lag: float | None,
    align_by: str,
    limits: tuple[float, float],
) -> Alignment:
    """Return the lag of a run, from the first actuator whose signal moves in both, and the stretch in common."""
    roles = (align_by, "measured" if align_by == "command" else "command")
    signal = ""
    for role, (own, theirs) in ((role, pair) for role in roles for pair in pairs):
        column, counterpart = reference.channel(own, role), other.channel(theirs, role)
        found = lag
        if found is None:
            found = estimate_lag(reference.curve(column), other.curve(counterpart), reference.rate, other.rate)
            if not math.isfinite(found):
                continue
            signal = reference.assessment.stream.channels[column].name
        start = max(0.0, -found, limits[0])
        stop = min(reference.length, other.length - found, limits[1])
        # a lag beyond both records is no place in them
        base = there = np.empty(0)
        if start < stop:
            base, there = _common(reference, column, other, counterpart, found, (start, stop))
        if len(base) < _FEWEST:
            part = "" if limits == (0.0, math.inf) else f" from {limits[0]:g} to {limits[1]:g} s"
            raise ValueError(
                f"{other.path}: no time in common with {reference.path}{part} at a lag of {found:.6g} s: they last "
                f"{other.assessment.duration:.4g} and {reference.assessment.duration:.4g} s; give another --lag"
            )
        overlap = len(base) / reference.rate
        return Alignment(found, correlation_coefficient(base, there), signal, start, stop, overlap)
    raise ValueError(
        f"{other.path}: no lag to {reference.path}: no command or measured signal moves in both; "
        "give --lag or --no-align"
    )


def _common(
    reference: AssessedRun, column: int, other: AssessedRun, there: int, lag: float, limits: tuple[float, float]
) -> tuple[Samples, Samples]:
    """Return a channel of both runs at the reference's samples within limits [s] at which both have values, (n,)."""
    one = reference.curve(column)
    time = np.arange(len(one)) / reference.rate
    two = interpolated(other.curve(there), (time + lag) * other.rate)
    inside = (time > limits[0] - 0.5 / reference.rate) & (time < limits[1] - 0.5 / reference.rate)
    known = np.isfinite(one) & np.isfinite(two) & inside
    return one[known], two[known]


def _sizes(base: Samples, there: Samples) -> tuple[float, float]:
    """Return rms and peak of a difference, percent of standard deviation and largest value as in J2 and J3."""
    if not len(base):
        return math.nan, math.nan
    difference = there - base
    spread, largest = float(np.std(base)), float(np.max(np.abs(base)))
    rms, peak = math.sqrt(float(np.mean(difference**2))), float(np.max(np.abs(difference)))
    return (
        100.0 * rms / spread if np.ptp(base) > 0.0 else math.nan,
        100.0 * peak / largest if largest > 0.0 else math.nan,
    )
