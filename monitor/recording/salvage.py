"""What can still be had of a damaged run file, part by part: samples are worth more than what is about them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import h5py
import numpy as np
from numpy.typing import NDArray

from monitor.messages.blocks import Channel, Role
from monitor.recording import checks, contents, layout, parts
from monitor.recording.doubts import Doubts, find_doubts
from monitor.recording.verification import Checks

Found = TypeVar("Found")
_GENERIC = "their names and roles are lost"


@dataclass(frozen=True, slots=True, eq=False)
class Salvage:
    """What is whole of a run file.

    Parameters
    ----------
    attributes : of the file.
    tables : settings, channels and, with results, result columns.
    series : the datasets of samples and results, in the order of writing.
    rows : of each, those that are whole.
    placed : rows of samples that have a place in the file.
    events : as they are stored.
    checks : of all that, as it was written: what is doubtful stays so; None in a file from before there were any.
    outcome : the word found.
    doubts : what is damaged or doubtful, a line each.
    """

    attributes: dict[str, Any]
    tables: dict[str, NDArray[Any]]
    series: dict[str, tuple[h5py.Dataset, ...]]
    rows: dict[str, int]
    placed: int
    events: layout.Table
    checks: NDArray[np.void] | None
    outcome: str
    doubts: tuple[str, ...]


def salvage(file: h5py.File, size: int, growing: bool) -> Salvage:
    """Look for all that is whole in an open file of `size` bytes; `growing` says that it was not closed.

    Raises
    ------
    OSError, RuntimeError, ValueError, KeyError, TypeError : the samples themselves, or their rate, are lost.
    """
    lost: list[str] = []

    def or_without(what: str, read: Callable[[], Found], instead: Found, so: str = "they are left out") -> Found:
        try:
            return read()
        except parts.DAMAGE:
            lost.append(f"{what} cannot be read: {so}")
            return instead

    known = or_without("the checksums", lambda: contents.read_checks(file, size, tolerant=True), contents.no_checks())

    def whole(name: str) -> int:
        return contents.written_rows(file, name, size, tolerant=True, checked=known.covered(name))

    def results() -> tuple[NDArray[Any], tuple[h5py.Dataset, ...], int]:
        contents.read_result_stream(file, 0)
        return parts.whole(file, layout.COLUMNS), parts.series(file, layout.RESULTS), whole(layout.RESULTS)

    rate = parts.sample_rate(file)
    series = {layout.SIGNALS: parts.series(file, layout.SIGNALS)}
    rows = {layout.SIGNALS: whole(layout.SIGNALS)}
    generic = layout.text_table(_without_roles(file, series[layout.SIGNALS][0].shape[1]))
    tables = {
        layout.SETTINGS: or_without(
            "the settings", lambda: parts.whole(file, layout.SETTINGS), layout.fixed_text("{}")
        ),
        layout.CHANNELS: or_without("the channels", lambda: _channels(file), generic, _GENERIC),
    }
    if contents.has_results(file):
        found = or_without("the results", results, None)
        if found is not None:
            tables[layout.COLUMNS], series[layout.RESULTS], rows[layout.RESULTS] = found
    nobody = np.empty(0, layout.EVENT_TYPE)
    events = or_without("the events", lambda: contents.event_rows(file, size, tolerant=True), nobody)
    doubts = find_doubts(file, known, rows[layout.SIGNALS], rows.get(layout.RESULTS, 0), len(events), rate, growing)
    return Salvage(
        _attributes(file),
        tables,
        series,
        rows,
        contents.placed_rows(file, layout.SIGNALS),
        events,
        _checks(known, doubts, series, events, {name for name, table in tables.items() if table is not generic}),
        or_without("the outcome", lambda: contents.read_outcome(file), layout.UNKNOWN, "it is not known"),
        (*lost, *doubts.in_words()),
    )


def _channels(file: h5py.File) -> NDArray[Any]:
    contents.read_stream(file, 0)
    return parts.whole(file, layout.CHANNELS)


def _without_roles(file: h5py.File, width: int) -> list[Channel]:
    """Return channels that are nothing but columns, under their own names where these can be read."""
    generic = [f"column_{number + 1}" for number in range(width)]
    try:
        names = [contents.text(row["name"]) for row in parts.dataset(file, layout.CHANNELS)[()]]
    except parts.DAMAGE:
        names = generic
    known = len(names) == width == len(set(names))
    return [Channel(name, Role.AUXILIARY) for name in (names if known else generic)]


def _attributes(file: h5py.File) -> dict[str, Any]:
    texts = {
        name: layout.fixed_text(contents.text(file.attrs.get(name, b""))) for name in ("format", "rig", "created")
    }
    every = file.attrs.get("every", 0)
    return texts | {"version": layout.VERSION, "sample_rate": parts.number(file, "sample_rate"), "every": every}


def _checks(
    known: Checks,
    doubts: Doubts,
    series: dict[str, tuple[h5py.Dataset, ...]],
    events: layout.Table,
    tables: set[str],
) -> NDArray[np.void] | None:
    """Return the checks of what is kept; rows that were written last, before a kill, get their first one."""
    if not known.known:
        return None
    kept = [known.rows_of(name) for name in tables]
    about = {
        layout.SIGNALS: (doubts.signals, series[layout.SIGNALS]),
        layout.RESULTS: (doubts.results, series.get(layout.RESULTS, ())),
        layout.EVENTS: (doubts.events, (events,)),
    }
    for part, (verdict, columns) in about.items():
        own = known.rows_of(part)
        kept.append(own[own["start"] <= verdict.rows - own["rows"]])
        # but none that is missing because it was damaged
        for start, stop in verdict.unchecked if not known.damaged else ():
            kept.append(checks.check_table([checks.check_row(part, start, [c[start:stop] for c in columns])]))
    return np.concatenate(kept)
