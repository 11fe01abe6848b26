"""What a file or a simulation holds, without playing it: for whoever must choose what to play, and how."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from pathlib import Path

import msgspec

from monitor.messages.alarms import Transition
from monitor.messages.blocks import Channel, EventKind
from replay.formats import FileColumn, Recording, Selection, inspect_recording
from replay.formats.run_file import RunRecording
from replay.playback.overview import Overview, overview


@dataclass(frozen=True, slots=True)
class Guess:
    """Which columns mean what, by their references; an actuator a place."""

    command: tuple[str, ...]
    measured: tuple[str, ...]
    force: tuple[str, ...]
    time: str | None
    auxiliary: bool


class DescribedEvent(msgspec.Struct, frozen=True, omit_defaults=True):
    """What happened in a recorded run, `time` s after its first sample."""

    time: float
    kind: str
    detail: str
    alarm: Transition | None = None


@dataclass(frozen=True, slots=True)
class Description:
    """What there is to know of a recording before it is played.

    Parameters
    ----------
    format : the kind of file, or ``simulation``.
    rig : its name in the stream.
    sample_rate : Hz; None, like rig, duration and start_time, while the columns are not clear.
    n_samples : samples that are there, or rows of a file whose columns are not clear.
    duration : s, from the first sample to the one that would follow the last.
    start_time : of the first sample, on the clock of the recording, s.
    channels : as they are sent.
    columns : of a file whose columns the user may choose, in file order; else empty.
    guess : what these were taken for; None with a problem, or without columns.
    problem : one line that says what must be chosen; empty when nothing must.
    notes : what the reader took for granted.
    doubts : those of the notes that say what is damaged.
    events : what happened in a recorded run.
    overview : the least and the largest value over time; None where nobody asked.
    """

    format: str
    rig: str | None
    sample_rate: float | None
    n_samples: int
    duration: float | None
    start_time: float | None
    channels: tuple[Channel, ...]
    columns: tuple[FileColumn, ...] = ()
    guess: Guess | None = None
    problem: str = ""
    notes: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    events: tuple[DescribedEvent, ...] = ()
    overview: Overview | None = None


def describe_file(path: str | Path, selection: Selection | None = None, n_columns: int = 0) -> Description:
    """Return what the file holds; as `open_described`, without the recording."""
    return open_described(path, selection, n_columns)[0]


def open_described(
    path: str | Path, selection: Selection | None = None, n_columns: int = 0
) -> tuple[Description, Recording | None]:
    """Return what the file holds and the recording itself, None where its columns must be chosen first.

    Parameters
    ----------
    path : the file.
    selection : which columns mean what; what is left empty is guessed.
    n_columns : of the overview, at most; none with 0.

    Raises
    ------
    RecordingError : it is no recording, or damaged; one line.
    """
    known, found = inspect_recording(path, selection or Selection())
    chosen = found.selection
    guess = None
    if chosen is not None:
        guess = Guess(chosen.command, chosen.measured, chosen.force, chosen.time, chosen.auxiliary)
    told = found.n_rows, found.columns, guess, found.problem
    return _describe(known.name, found.recording, n_columns, *told), found.recording


def describe_recording(recording: Recording, form: str = "simulation", n_columns: int = 0) -> Description:
    """Return what an open recording holds, under the name `form`; the overview as for a file."""
    return _describe(form, recording, n_columns, recording.n_samples)


def _describe(
    form: str,
    recording: Recording | None,
    n_columns: int,
    n_rows: int,
    columns: tuple[FileColumn, ...] = (),
    guess: Guess | None = None,
    problem: str = "",
) -> Description:
    if recording is None:
        return Description(form, None, None, n_rows, None, None, (), columns, guess, problem)
    stream = recording.stream
    first = next(iter(recording.blocks(1)), None)
    return Description(
        format=form,
        rig=stream.rig,
        sample_rate=stream.sample_rate,
        n_samples=recording.n_samples,
        duration=recording.duration,
        start_time=first.time if first is not None else None,
        channels=stream.channels,
        columns=columns,
        guess=guess,
        problem=problem,
        notes=recording.notes,
        doubts=recording.doubts if isinstance(recording, RunRecording) else (),
        events=_events(recording) if isinstance(recording, RunRecording) else (),
        overview=overview(recording, n_columns) if n_columns else None,
    )


def _events(run: RunRecording) -> tuple[DescribedEvent, ...]:
    """Put the events, which know the index of their publisher, on the time of the whole run."""
    rate, epochs = run.stream.sample_rate, run.epochs
    # the starts whose first sample has that index and time, in their order
    starts: dict[tuple[int, float], list[int]] = {}
    for number, epoch in enumerate(epochs):
        starts.setdefault((epoch.index, epoch.time), []).append(number)
    number = 0
    found = []
    for event in run.events():
        if event.kind is EventKind.RESTART:
            alike = starts.get((event.index, event.time), [])
            at = bisect_right(alike, number)
            number = alike[at] if at < len(alike) else number
        at = epochs[number].passed + event.index - epochs[number].index if epochs else 0
        seconds = min(max(at / rate, 0.0), run.duration)
        found.append(DescribedEvent(seconds, event.kind.value, event.detail, event.alarm))
    return tuple(found)
