"""What of a recording is exported: signals and results in pieces of bounded size, events and what the run was."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monitor import __version__
from monitor.messages.blocks import Event, ResultStream, Stream, column_names
from monitor.recording import RunReader
from monitor.recording.layout import EVENT_TYPE, SeriesRows, event_rows, stored_text
from replay import Progress
from replay.formats import Recording, Selection, open_recording
from replay.formats.run_file import RunRecording

_PIECE_BYTES = 1 << 22


@dataclass(frozen=True, slots=True)
class ExportColumn:
    """Column of values; a result has no role."""

    name: str
    unit: str = ""
    role: str = ""
    actuator: str = ""


@dataclass(frozen=True, eq=False)
class SeriesTable:
    """Rows over time.

    Parameters
    ----------
    name : ``signals`` or ``results``.
    columns : of the values.
    n_rows : number of rows.
    read : yields them in order, some megabytes at a time.
    """

    name: str
    columns: tuple[ExportColumn, ...]
    n_rows: int
    read: Callable[[], Iterator[SeriesRows]]

    def pieces(self, progress: Progress, doing: str = "writing") -> Iterator[tuple[int, SeriesRows]]:
        """Yield the rows, with the number of the first; the progress is told when they are dealt with."""
        done = 0
        for rows in self.read():
            yield done, rows
            done += len(rows)
            progress(f"{doing} {self.name}", done, self.n_rows)


@dataclass(frozen=True, eq=False)
class RunContents:
    """A recording as it is exported.

    Parameters
    ----------
    stream : channels, rig and sample rate.
    signals : every sample.
    results : as recorded; None without.
    events : each with its time in the run, s from the first sample through gaps and restarts.
    offsets : s to add to a time of each epoch for the time in the run, in the order of the epochs.
    result_stream : columns of the results, and samples from one row to the next.
    created, outcome : of a run file; empty for other files.
    settings : of the service that recorded it.
    notes : on the file, a line each.
    """

    stream: Stream
    signals: SeriesTable
    results: SeriesTable | None = None
    events: tuple[tuple[Event, float], ...] = ()
    offsets: dict[int, float] = field(default_factory=dict)
    result_stream: ResultStream | None = None
    created: str = ""
    outcome: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def tables(self) -> tuple[SeriesTable, ...]:
        """Signals, and results where there are some."""
        return (self.signals,) if self.results is None else (self.signals, self.results)

    @property
    def metadata(self) -> dict[str, Any]:
        """What a file has beside its tables."""
        return {
            "rig": self.stream.rig,
            "sample_rate": self.stream.sample_rate,
            "every": 0 if self.result_stream is None else self.result_stream.every,
            "created": self.created,
            "outcome": self.outcome,
            "version": __version__,
            "settings": self.settings,
        }


@contextmanager
def open_contents(path: Path, selection: Selection) -> Iterator[RunContents]:
    """Open a recording for its export.

    Raises
    ------
    RecordingError : it cannot be read; one line.
    """
    recording = open_recording(path, selection)
    if not isinstance(recording, RunRecording):
        yield _of_recording(recording)
        return
    with recording.opened() as reader:
        yield _of_run(recording, reader)


def event_columns(contents: RunContents) -> dict[str, NDArray[Any]]:
    """Return the events as columns: those of /events in a run file, and ``run_time``, s since the first sample.

    Texts are objects, str.
    """
    rows = event_rows([event for event, _ in contents.events]) if contents.events else np.empty(0, EVENT_TYPE)
    found: dict[str, NDArray[Any]] = {}
    for name in EVENT_TYPE.names or ():
        column = rows[name]
        texts = column.dtype.kind == "S"
        found[name] = np.array([stored_text(each) for each in column.tolist()], object) if texts else column
        if name == "time":
            found["run_time"] = np.array([seconds for _, seconds in contents.events], np.float64)
    return found


def _of_recording(recording: Recording) -> RunContents:
    stream = recording.stream
    columns = _channel_columns(stream)
    first = next(recording.blocks(1), None)

    def pieces() -> Iterator[SeriesRows]:
        for block in recording.blocks(_piece_rows(len(columns))):
            steps = np.arange(len(block))
            epoch = np.full(len(block), block.stream.epoch)
            yield SeriesRows(block.samples, block.time + steps / stream.sample_rate, epoch, block.index + steps)

    return RunContents(
        stream,
        SeriesTable("signals", columns, recording.n_samples, pieces),
        events=recording.timed_events(),
        offsets={} if first is None else {first.stream.epoch: -first.time},
        notes=recording.notes,
    )


def _of_run(recording: RunRecording, reader: RunReader) -> RunContents:
    stream, found = recording.stream, reader.result_stream
    offsets: dict[int, float] = {}
    for start in recording.epochs:
        (epoch,) = reader.signal_rows(start.row, start.row + 1)[0].tolist()
        offsets.setdefault(epoch, start.passed / stream.sample_rate - start.time)
    columns = _channel_columns(stream)
    results = None
    if found is not None:
        names = column_names(found.columns)
        named = (ExportColumn(name, c.unit, "", c.actuator) for name, c in zip(names, found.columns, strict=True))
        results = _stored_table("results", tuple(named), reader.n_results, reader.result_rows)
    return RunContents(
        stream,
        _stored_table("signals", columns, reader.n_samples, reader.signal_rows),
        results,
        recording.timed_events(),
        offsets,
        found,
        reader.created,
        reader.outcome,
        recording.settings,
        recording.remarks,
    )


_ReadRows = Callable[
    [int, int], tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]
]


def _stored_table(name: str, columns: tuple[ExportColumn, ...], n_rows: int, read: _ReadRows) -> SeriesTable:
    step = _piece_rows(len(columns))

    def pieces() -> Iterator[SeriesRows]:
        for start in range(0, n_rows, step):
            epoch, index, time, values = read(start, min(n_rows, start + step))
            yield SeriesRows(values, time, epoch, index)

    return SeriesTable(name, columns, n_rows, pieces)


def _channel_columns(stream: Stream) -> tuple[ExportColumn, ...]:
    return tuple(ExportColumn(c.name, c.unit, c.role.value, c.actuator) for c in stream.channels)


def _piece_rows(width: int) -> int:
    return max(1, _PIECE_BYTES // (8 * (width + 3)))


def unique_names(names: Iterable[str], taken: Iterable[str] = ()) -> list[str]:
    """Return the names, numbered where one is taken."""
    found = dict.fromkeys(taken)
    n_taken = len(found)
    for name in names:
        unique, number = name, 2
        while unique in found:
            unique, number = f"{name}_{number}", number + 1
        found[unique] = None
    return list(found)[n_taken:]
