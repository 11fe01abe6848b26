"""Catalogue of runs: the answer of ``synchroscope runs --json``; filter, order and texts of its rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from gui.wording.event_text import NOT_JUDGED_SHAPE
from gui.wording.level import Level
from monitor.messages.recordings import NO_RESULTS, RunRow
from monitor.text.numbers import DASH, bytes_text, clock_text

COLUMNS = ("Start", "Name", "Record", "Duration", "Worst [ms]", "Alarms", "Notes", "Size")
_OUTCOMES = {
    "clean": ("●", Level.NONE),
    NO_RESULTS: ("○", Level.NONE),
    "open": ("…", Level.INFO),
    "recovered": ("▲", Level.WARN),
    "lossy": ("▲", Level.WARN),
    "truncated": ("▲", Level.WARN),
}
_DAMAGED = ("■", Level.BAD)
_MEANINGS = {
    "open": "open: being recorded, or its recorder was killed",
    NO_RESULTS: "no results: signals alone, open it to see what assess computes",
    "lossy": "lossy: samples or results were dropped",
    "truncated": "truncated: recording ended before the run, or its service died",
    "recovered": "recovered from a recording that was not closed",
}


@dataclass(frozen=True, slots=True)
class RunListing:
    """Runs of a folder.

    Parameters
    ----------
    rows : of all runs.
    foreign : number of HDF5 files of other programs, which are not among them.
    saved : whether the index could be saved; else all files are read again.
    """

    rows: tuple[RunRow, ...] = ()
    foreign: int = 0
    saved: bool = True


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Filter of the shown runs.

    Parameters
    ----------
    text : words that are all contained in name, notes, outcome, rig or names of alarms, case-insensitive.
    with_alarms : only runs with alarms.
    """

    text: str = ""
    with_alarms: bool = False

    def matching(self, rows: Sequence[RunRow], searched: Sequence[str]) -> list[RunRow]:
        """Return the runs that are shown; `searched` are their texts."""
        words = self.text.casefold().split()
        return [
            row
            for row, text in zip(rows, searched, strict=True)
            if (row.alarms or not self.with_alarms) and all(word in text for word in words)
        ]


def searched_text(row: RunRow) -> str:
    """Return the texts of a run in which a filter searches."""
    parts = row.file, row.note_texts, outcome_text(row), row.outcome, row.rig, row.alarm_names
    return "\n".join(part for part in parts if part).casefold()


def read_listing(answer: Mapping[str, Any]) -> RunListing:
    """Return the listing in an answer.

    Raises
    ------
    ValueError : it is not a listing.
    """
    try:
        rows = msgspec.convert(answer["runs"], type=tuple[RunRow, ...])
        return RunListing(rows, int(answer["foreign"]), answer["index"] is not None)
    except (KeyError, TypeError, msgspec.ValidationError) as problem:
        raise ValueError(f"no list of runs ({problem})") from problem


def ordered(rows: Sequence[RunRow], column: int, *, descending: bool) -> list[RunRow]:
    """Return the rows in the order of a column; unknown values are last, delays by their distance from zero."""
    value = _VALUES[column]
    valued = [(value(row), row) for row in rows]
    known = [pair for pair in valued if pair[0] is not None]
    known.sort(key=lambda pair: pair[0], reverse=descending)
    return [*(row for _, row in known), *(row for found, row in valued if found is None)]


def _start(row: RunRow) -> float | None:
    return None if row.start is None or (found := _instant(row.start)) is None else found.timestamp()


_VALUES: Sequence[Callable[[RunRow], Any]] = (
    _start,
    lambda row: row.file.casefold(),
    lambda row: outcome_text(row),
    lambda row: row.duration_s,
    lambda row: None if row.worst_delay_ms is None else abs(row.worst_delay_ms),
    lambda row: row.alarms,
    lambda row: row.note_texts.casefold() if row.note_texts else None,
    lambda row: row.bytes,
)


def outcome_level(row: RunRow) -> Level:
    """Return how bad the outcome of a run is."""
    return _outcome(row)[1]


def outcome_text(row: RunRow) -> str:
    """Return a shape and the outcome of a run; damaged, where it cannot be read."""
    # of the record, not of the test
    return f"{_outcome(row)[0]} {'complete' if row.outcome == 'clean' else row.outcome or 'damaged'}"


def _outcome(row: RunRow) -> tuple[str, Level]:
    shape, level = _OUTCOMES.get(row.outcome or "", _DAMAGED)
    # a part of the file cannot be read
    return ("▲", Level.WARN) if row.problem and level is Level.NONE else (shape, level)


def alarm_level(row: RunRow) -> Level:
    """Return the level of the most severe alarm of a run."""
    return Level.BAD if row.trips else Level.WARN if row.alarms else Level.NONE


def cell_text(row: RunRow, column: int) -> str:
    """Return the text of a cell."""
    match column:
        case 0:
            return _start_text(row)
        case 1:
            return row.file.rpartition(".")[0] or row.file
        case 2:
            return outcome_text(row)
        case 3:
            return DASH if row.duration_s is None else clock_text(row.duration_s)
        case 4:
            # plus zero, so that it is never "-0.0"
            return DASH if row.worst_delay_ms is None else f"{round(row.worst_delay_ms, 1) + 0.0:.1f}"
        case 5:
            shape = "■ " if row.trips else "▲ " if row.alarms else ""
            missing = f"{NOT_JUDGED_SHAPE} not judged" if row.not_judged_s else ""
            return DASH if row.alarms is None else f"{shape}{row.alarms or ''} {missing}".strip()
        case 6:
            # of a file that cannot be read, why
            return " ".join((row.note_texts or row.problem).split())
        case _:
            return DASH if row.bytes is None else bytes_text(row.bytes)


def details(row: RunRow) -> str:
    """Return what is known of a run, a line for each fact."""
    lines = [row.file, _MEANINGS.get(row.outcome or "", "")]
    lines += [f"rig {row.rig}, actuators {row.actuators}"] if row.rig else []
    if row.worst_delay_ms is not None:
        at = "" if row.worst_delay_at_s is None else f", {row.worst_delay_at_s:.1f} s after its first sample"
        lines.append(f"worst delay {row.worst_delay_ms:.2f} ms, {row.worst_actuator}{at}")
    if row.alarms:
        trips = f", {row.trips} of them trips" if row.trips else ""
        lines.append(f"{row.alarms} alarms{trips}: {row.alarm_names}")
    if row.not_judged_s:
        lines.append(f"not judged for {row.not_judged_s:.1f} s: {row.not_judged_names}")
    if row.notes:
        lines.append(f"{row.notes} notes: {row.note_texts}")
    if row.lost_samples or row.restarts:
        lost = f"{row.lost_samples:,} sample{'' if row.lost_samples == 1 else 's'} lost"
        lines.append(f"{lost}, {row.restarts} restart{'' if row.restarts == 1 else 's'} of the rig")
    return "\n".join(line for line in (*lines, row.problem) if line)


def _instant(start: str) -> datetime | None:
    try:
        return datetime.fromisoformat(start).astimezone()
    except (ValueError, OverflowError, OSError):
        return None


def _start_text(row: RunRow) -> str:
    if row.start is None:
        return DASH
    found = _instant(row.start)
    return row.start if found is None else f"{found:%Y-%m-%d %H:%M}"
