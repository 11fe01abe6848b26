"""A recording as arrays, for your own programs: whatever the format of its file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from monitor.messages.blocks import Channel, Event, Samples, column_names
from replay.assessment.record_survey import read_signals
from replay.formats import RecordingError, Selection
from replay.formats.base import EpochStart, sample_numbers
from replay.formats.joined import JoinedRecording, open_run
from replay.formats.run_file import RunRecording

__all__ = ["Record", "RecordingError", "read_record"]


@dataclass(frozen=True, repr=False)
class Record:
    """What a file has recorded. All times count from its first sample, in s, through gaps and restarts.

    Attributes
    ----------
    sample_rate : Hz.
    channels : name, role, unit and actuator of each signal.
    time, signals : (n,) of the samples, and by name (n,) of each signal, in its unit. Lost samples have no row.
    results_time, results : (m,) of the rows, and by name (m,) of each result that a run file has, in SI; else empty.
    events : times and events: gaps, restarts, notes, alarms of a run file, changes of columns of text of others.
    notes : what the reader took for granted, a line each.
    """

    sample_rate: float
    channels: tuple[Channel, ...]
    time: NDArray[np.float64]
    signals: Mapping[str, Samples]
    results_time: NDArray[np.float64]
    results: Mapping[str, Samples]
    events: tuple[tuple[float, Event], ...]
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        """Say how much it is."""
        return (
            f"Record({len(self.time)} samples of {len(self.signals)} signals at {self.sample_rate:g} Hz, "
            f"{len(self.results_time)} rows of {len(self.results)} results, {len(self.events)} events)"
        )


def read_record(
    path: str | Path | Sequence[str | Path],
    *,
    command: Sequence[str] = (),
    measured: Sequence[str] = (),
    force: Sequence[str] = (),
    time: str | None = None,
    rate: float | None = None,
    dataset: str | None = None,
    resample: float | None = None,
    auxiliary: bool = False,
) -> Record:
    """Read a run file, or a file of another program, into memory; several are the parts of one run in their order.

    Parameters
    ----------
    path : of the file or files.
    command, measured, force : columns of each actuator, by header or number, where their names are not clear.
    time, rate : the column of times, or Hz.
    dataset : of a file of several.
    resample : Hz, to interpolate to.
    auxiliary : take every column as a signal of its own: there are no actuators.

    Raises
    ------
    RecordingError : the file cannot be read, or it is not clear what its columns are; one line.
    """
    chosen = Selection(tuple(command), tuple(measured), tuple(force), time, rate, auxiliary, dataset, resample)
    paths = [Path(path)] if isinstance(path, str | Path) else [Path(each) for each in path]
    recording = open_run(paths, chosen)
    found, stream = read_signals(recording), recording.stream
    named = zip((channel.name for channel in stream.channels), found.samples.T.copy(), strict=True)
    parts = [(recording, 0.0)]
    if isinstance(recording, JoinedRecording):
        parts = [(part, begin) for part, _, begin in recording.begins()]
    runs = [(part, begin) for part, begin in parts if isinstance(part, RunRecording)]
    rows, results = _results(runs)
    return Record(
        sample_rate=stream.sample_rate,
        channels=stream.channels,
        time=found.time,
        signals=MappingProxyType(dict(named)),
        results_time=rows,
        results=MappingProxyType(results),
        events=tuple((seconds, event) for event, seconds in recording.timed_events()),
        notes=tuple(recording.notes),
    )


def _results(runs: Sequence[tuple[RunRecording, float]]) -> tuple[NDArray[np.float64], dict[str, Samples]]:
    """Return time and results of run files and when they begin; NaN where one lacks a result of another."""
    times, tables = [np.empty(0)], list[dict[str, Samples]]()
    for run, begin in runs:
        stream, epoch, index, values = run.results()
        if stream is not None:
            starts = [EpochStart(each.epoch, each.index, each.passed) for each in run.epochs]
            times.append(begin + sample_numbers(starts, epoch, index) / stream.sample_rate)
            tables.append(dict(zip(column_names(stream.columns), values.T, strict=True)))
    absent = [np.full(len(time), np.nan) for time in times[1:]]
    names = dict.fromkeys(name for table in tables for name in table)
    found = {
        name: np.concatenate([table.get(name, nan) for table, nan in zip(tables, absent, strict=True)])
        for name in names
    }
    return np.concatenate(times), found
