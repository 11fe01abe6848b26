"""Description of a file or a simulation without playing it, with an overview of the whole recording."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import ceil, inf
from pathlib import Path

import msgspec
import numpy as np

from monitor.messages.blocks import Samples
from monitor.messages.recordings import ColumnGuess, Description, FileColumn, Overview, RecordedEvent
from replay.faults.disturbances import SampleCount
from replay.formats import ArrayRecording, Recording, Selection, inspect_recording
from replay.formats.joined import open_joined
from replay.formats.recordings import ComputedRecording
from replay.formats.run_file import RunRecording

_BLOCK = 1 << 14
_STILL = 1e-9  # change from sample to sample of a delay [s] or a ratio that counts as constant
_INSTANTS = 1 << 17  # at which the injected truth is evaluated
_RESTS = 0.5  # s that an injected delay and ratio must be constant, to be described


def open_described(
    path: str | Path,
    selection: Selection | None = None,
    n_columns: int = 0,
    parts: Sequence[str | Path] = (),
    *,
    coarse: bool = False,
) -> tuple[Description, Recording | None]:
    """Return what the file holds and the recording itself, None where its columns must be chosen first.

    Parameters
    ----------
    path : the file.
    selection : which columns mean what; what is left empty is guessed.
    n_columns : of the overview, at most; none with 0.
    parts : further files of the run, in their order, with the same columns.
    coarse : of a long file, by some of its rows.

    Raises
    ------
    RecordingError : it is no recording, or damaged; one line.
    """
    known, found = inspect_recording(path, selection or Selection(), coarse=coarse and not parts)
    if parts and found.recording is not None:
        run = [Path(each) for each in (path, *parts)]
        found = replace(found, recording=open_joined(run, selection or Selection()))
    guess = msgspec.convert(found.selection, ColumnGuess | None, from_attributes=True)
    described = _describe(known.name, found.recording, n_columns, found.n_rows, found.columns, guess, found.problem)
    if found.coarse and found.recording is not None:
        # what is said of these rows is not said of all
        n_samples = round(found.recording.duration * found.recording.stream.sample_rate)
        share = found.recording.n_samples / n_samples
        described = msgspec.structs.replace(described, n_samples=n_samples, notes=(), events=(), share=share)
    else:
        described = msgspec.structs.replace(described, notes=described.notes or found.notes)
    return msgspec.structs.replace(described, remembered=found.remembered), found.recording


def describe_recording(recording: Recording, form: str = "simulation", n_columns: int = 0) -> Description:
    """Return what an open recording holds, under the name `form`; the overview as for a file."""
    return _describe(form, recording, n_columns, recording.n_samples)


def _describe(
    form: str,
    recording: Recording | None,
    n_columns: int,
    n_rows: int,
    columns: tuple[FileColumn, ...] = (),
    guess: ColumnGuess | None = None,
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
        events=_events(recording) or injections(recording),
        overview=overview(recording, n_columns) if n_columns else None,
    )


def _events(recording: Recording) -> tuple[RecordedEvent, ...]:
    found = recording.timed_events()
    return tuple(RecordedEvent(at, event.kind.value, event.detail, event.alarm) for event, at in found)


def injections(recording: Recording) -> tuple[RecordedEvent, ...]:
    """Return what a simulation injects, as notes at the time of each change: the delay and the ratio of an actuator.

    They are read from ``<actuator>.true_delay`` and ``.true_ratio`` where these stay the same for a while; an
    error that changes continuously, as in a sweep, is not described.
    """
    rate = recording.stream.sample_rate
    if isinstance(recording, ComputedRecording):
        # of a long one not every sample, but at least four in the time that a state must last
        step = max(1, min(recording.n_samples // _INSTANTS, int(_RESTS * rate / 4.0)))
        samples, rate = recording.known_at(np.arange(0, recording.n_samples, step)), rate / step
    elif isinstance(recording, ArrayRecording) and recording.index is None:
        samples = recording.samples
    else:
        return ()
    names = {channel.name: column for column, channel in enumerate(recording.stream.channels)}
    found: list[RecordedEvent] = []
    for pair in recording.stream.pairs:
        true_names = [f"{pair.actuator}.true_{name}" for name in ("delay", "ratio")]
        if all(name in names for name in true_names):
            truth = samples[:, [names[name] for name in true_names]]
            changes = _changes(truth, rate)
            found += [RecordedEvent(at / rate, "note", f"{pair.actuator}: injected {text}") for at, text in changes]
    return tuple(sorted(found, key=lambda event: event.time))


def _changes(truth: Samples, rate: float) -> Iterator[tuple[int, str]]:
    """Give the samples at which delay and ratio, (n, 2), begin to change, and what they change to."""
    moves = (np.abs(np.diff(truth, axis=0)) > _STILL).any(axis=1)
    edges = np.flatnonzero(np.diff(moves.astype(np.int8), prepend=1, append=1))
    before: tuple[str, str] | None = None
    begins = 0
    for start, stop in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        if stop - start < _RESTS * rate:
            continue
        delay, ratio = truth[start].tolist()
        now = f"{1e3 * delay:.1f}", f"{ratio:.3f}"
        if now != before:
            change = [old if old == new else f"{old} → {new}" for old, new in zip(before or now, now, strict=True)]
            yield begins, f"delay {change[0]} ms, amplitude ratio {change[1]}"
        before, begins = now, stop


def overview(recording: Recording, n_columns: int = 1000) -> Overview:
    """Return the minimum and maximum of every channel in at most `n_columns` columns, in one pass over the recording.

    Raises
    ------
    ValueError : the number of columns is below 1.
    RecordingError : the file has become unreadable.
    """
    if n_columns < 1:
        raise ValueError(f"an overview of {n_columns} columns: at least 1 is needed")
    rate = recording.stream.sample_rate
    whole = round(recording.duration * rate)
    width = max(1, ceil(whole / n_columns))
    low = np.full((ceil(whole / width), len(recording.stream.channels)), np.nan)
    high = low.copy()
    for number, samples in _numbered(recording):
        first = number // width
        edges = np.arange(first + 1, (number + len(samples) - 1) // width + 1) * width - number
        cuts = np.concatenate(([0], edges))
        there = slice(first, first + len(cuts))
        low[there] = np.fmin(low[there], np.fmin.reduceat(samples, cuts, axis=0))
        high[there] = np.fmax(high[there], np.fmax.reduceat(samples, cuts, axis=0))
    seconds = np.arange(len(low), dtype=np.float64) * width / rate
    names = [channel.name for channel in recording.stream.channels]
    by_name = (dict(zip(names, map(tuple, side.T.tolist()), strict=True)) for side in (low, high))
    return Overview(tuple(seconds.tolist()), *by_name)


def _numbered(recording: Recording) -> Iterator[tuple[int, Samples]]:
    """Give the samples with the number of the first of them, counted through gaps and restarts."""
    count = SampleCount()
    run = recording if isinstance(recording, RunRecording) else None
    for block in run.coarse_blocks(_BLOCK, 0.0, inf) if run is not None else recording.blocks(_BLOCK):
        if len(block):
            yield count.start_of(block), block.samples
