"""Several files of one run, one after another: parts that a service or a logger has begun again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil
from pathlib import Path

from monitor.messages.blocks import Event, SignalBlock, Stream
from replay.formats import Recording, RecordingError, Selection, open_recording
from replay.formats.base import UNKNOWN_GAP, sample_number
from replay.formats.run_file import RunRecording
from replay.formats.table_recording import in_units_of

_RATE_TOLERANCE = 1e-4  # of the rates, by times that are rounded
_SAME_START = 1.5  # samples, between times that begin again with each file


@dataclass(frozen=True)
class JoinedRecording:
    """The parts of one run, see `Recording`; what is missing between them is a gap.

    Parameters
    ----------
    parts : in their order.
    offsets : number of each part's first sample, from that of the run on.
    notes : as in `Recording`.
    """

    parts: tuple[Recording, ...]
    offsets: tuple[int, ...]
    notes: tuple[str, ...]

    @property
    def stream(self) -> Stream:
        """That of the first part."""
        return self.parts[0].stream

    @property
    def n_samples(self) -> int:
        """Samples of all parts."""
        return sum(part.n_samples for part in self.parts)

    @property
    def duration(self) -> float:
        """Seconds from the first sample to the one that would follow the last."""
        return self.offsets[-1] / self.stream.sample_rate + self.parts[-1].duration

    def begins(self) -> Iterator[tuple[Recording, int, float]]:
        """Give each part, the number of its first sample, and when it begins, s."""
        for part, offset in zip(self.parts, self.offsets, strict=True):
            yield part, offset, offset / self.stream.sample_rate

    def locate(self, start: float) -> float:
        """Return the first instant at or after `start` that has a sample, s; the duration when none has."""
        for part, _, begin in self.begins():
            at = begin + part.locate(max(0.0, start - begin))
            if start < begin + part.duration and at < begin + part.duration:
                return at
        return self.duration

    def timed_events(self) -> tuple[tuple[Event, float], ...]:
        """Return the events of all parts, each with its time, s from the first sample of the run."""
        return tuple(
            (event if isinstance(part, RunRecording) else replace(event, index=event.index + offset), begin + seconds)
            for part, offset, begin in self.begins()
            for event, seconds in part.timed_events()
        )

    def blocks(self, block_length: int, start: float = 0.0) -> Iterator[SignalBlock]:
        """Give the blocks of all parts, from `start` seconds after the first sample."""
        sample_number(start, self.stream.sample_rate)
        for part, offset, begin in self.begins():
            if start >= begin + part.duration:
                continue
            blocks = part.blocks(block_length, max(0.0, start - begin))
            # the samples of a run file have the numbers of their publisher
            own, stream = isinstance(part, RunRecording), self.stream
            yield from (each if own else replace(each, stream=stream, index=each.index + offset) for each in blocks)


def open_run(paths: Sequence[Path], selection: Selection) -> Recording:
    """Return the recording in a file, or the parts of a run in several as one.

    Raises
    ------
    RecordingError : a file cannot be read, or they are no parts of one run in this order; one line.
    """
    return open_recording(paths[0], selection) if len(paths) == 1 else open_joined(paths, selection)


def open_joined(paths: Sequence[Path], selection: Selection) -> JoinedRecording:
    """Return the files of one run as one recording.

    Raises
    ------
    RecordingError : a file cannot be read, or they are no parts of one run in this order; one line.
    """
    if not paths:
        raise RecordingError("no file is given")
    first = open_recording(paths[0], selection)
    parts, offsets, between = [first], [0], list[str]()
    for before, path in pairwise(paths):
        part = in_units_of(open_recording(path, selection), first.stream)
        _check_alike(paths[0], first.stream, path, part.stream)
        offset, note = _offset(path, part, before, parts[-1], offsets[-1])
        parts.append(part)
        offsets.append(offset)
        between.append(note)
    shared = [note for note in first.notes if all(note in part.notes for part in parts)]
    own = [
        f"{path.name}: {n}" for path, part in zip(paths, parts, strict=True) for n in part.notes if n not in shared
    ]
    return JoinedRecording(tuple(parts), tuple(offsets), (*shared, *own, *between))


def _check_alike(first: Path, stream: Stream, path: Path, other: Stream) -> None:
    if abs(other.sample_rate / stream.sample_rate - 1.0) > _RATE_TOLERANCE:
        raise RecordingError(
            f"{path}: {other.sample_rate:g} Hz, but {first} has {stream.sample_rate:g} Hz: no parts of one run; "
            "--resample HZ gives them one rate"
        )
    mine, theirs = ([(c.name, c.role, c.actuator, c.unit) for c in each.channels] for each in (stream, other))
    if mine != theirs:
        odd = next((c for c in theirs if c not in mine), None) or next(c for c in mine if c not in theirs)
        raise RecordingError(f"{path}: signal {odd[0]!r} [{odd[3]}] is not in both files: no parts of one run")


def _offset(path: Path, part: Recording, before: Path, previous: Recording, begun: int) -> tuple[int, str]:
    """Return the number of a part's first sample, and a note on what is missing before it."""
    rate = previous.stream.sample_rate
    follows = begun + round(previous.duration * rate)
    if isinstance(part, RunRecording) != isinstance(previous, RunRecording):
        raise RecordingError(f"{path}: a run file and another file are no parts of one run")
    if isinstance(part, RunRecording) and isinstance(previous, RunRecording):
        last, own = previous.epochs[-1], part.epochs[0]
        if own.epoch != last.epoch:
            return follows, f"{path.name} follows {before.name} after a restart of the rig"
        missing = begun + last.passed + own.index - last.index - follows
    else:
        start, earlier = (next(each.blocks(1)).time for each in (part, previous))
        missing = round((start - earlier) * rate) + begun - follows
        if abs(start - earlier) * rate <= _SAME_START:
            note = f"{path.name} follows {before.name} after a gap of unknown length, taken as {UNKNOWN_GAP:g} s"
            return follows + ceil(UNKNOWN_GAP * rate), note
    if missing < 0:
        raise RecordingError(
            f"{path}: begins {-missing / rate:g} s before {before} ends: no parts of one run, or in another order"
        )
    return follows + missing, f"{path.name} follows {before.name} after {missing / rate:g} s ({missing} samples)"
