"""A recording that is to be compared: its assessment, and its samples as long as they are needed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from monitor.config import IndicatorSettings
from monitor.messages.blocks import Pair, Samples, units_differ
from replay import Progress, silent
from replay.assessment import Assessment, assess
from replay.assessment.record_signals import RecordSignals, read_signals
from replay.assessment.summary import RunSummary, summarise
from replay.comparison.stretch import TrackedPart
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
