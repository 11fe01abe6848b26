"""Samples and results in view as CSV files, which `synchroscope assess` and `replay` can read."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, count, groupby
from pathlib import Path

import numpy as np

from gui.model.history import History
from gui.model.timeline import ClockSegment, DisplayTimeline
from monitor.messages.blocks import Samples, column_names
from monitor.system.csv_text import TIME_LABEL, csv_label, csv_line, csv_rows
from monitor.system.files import WriteError, atomic_write
from monitor.text.numbers import instant_text


@dataclass(frozen=True, eq=False, slots=True)
class CsvTable:
    """Content of one file.

    Parameters
    ----------
    suffix : appended to the stem of the file name, such as ``-results``.
    header : of every column but the time, ``name [unit]``.
    times : (n_rows,), s, of the rig's clock.
    values : (n_rows, n_columns); NaN becomes an empty cell.
    """

    suffix: str
    header: tuple[str, ...]
    times: Samples
    values: Samples

    def path(self, path: Path) -> Path:
        """Return the path of this file, given that of the first file."""
        return path.with_name(f"{path.stem}{self.suffix}{path.suffix or '.csv'}")


def tables_in_view(history: History, left: float, right: float) -> tuple[CsvTable, ...]:
    """Copy samples and results from `left` to `right` [s of the display], both included.

    Samples are at full rate, as far back as the history has them; results are at the display instants, each at the
    time of its last row. Lost samples have no row. Times must increase: after a restart of the rig follows another
    table, ``-2``, ``-3`` and so on.

    Raises
    ------
    WriteError : there are no samples.
    """
    tables: list[CsvTable] = []
    n_runs = 0
    for run in _runs(history.timeline, left, right):
        mark = f"-{n_runs + 1}" if n_runs else ""
        first, last = max(left, run[0].x_begin), min(right, run[-1].x_end)
        found = [
            CsvTable(mark + suffix, header, x[known] + run[0].offset, values[known])
            for suffix, header, x, values in _parts(history, first, last)
            if (known := ~np.isnan(values).all(axis=1)).any()
        ]
        tables += found
        n_runs += bool(found)
    if not tables:
        raise WriteError("there are no samples in view: nothing is exported")
    return tuple(tables)


def decimated_note(history: History, left: float) -> str:
    """Return which samples after `left` [s of the display] are decimated and not exported; empty if none."""
    signals = history.signals
    if signals is None or not signals.exact_begin_x > max(left, signals.begin_x):
        return ""
    since = instant_text(history.timeline.time_at(signals.exact_begin_x))
    return f"samples before {since} are no longer held at full rate and are not exported"


def write_tables(tables: tuple[CsvTable, ...], path: Path) -> tuple[Path, ...]:
    """Write every table; may take seconds, and can run in a thread.

    The file `path` is overwritten; for the others a free name is chosen, such as ``span-results (2).csv``.

    Raises
    ------
    WriteError : a file cannot be written.
    """
    written = []
    for table in tables:
        place = table.path(path)
        # the user has confirmed `path` only
        place = place if place == path else _free_path(place)
        with atomic_write(place) as file:
            for text in _text(table):
                file.write(text)
        written.append(place)
    return tuple(written)


def _free_path(path: Path) -> Path:
    """Return `path`, or the first numbered variant that does not exist."""
    names = (path.with_name(f"{path.stem} ({n}){path.suffix}") for n in count(2))
    return next(name for name in chain((path,), names) if not os.path.lexists(name))


def _runs(timeline: DisplayTimeline, left: float, right: float) -> Iterator[list[ClockSegment]]:
    """Yield the segments in view in groups without a restart between them."""
    in_view = [
        segment
        for segment in timeline.segments
        if segment.x_begin - 0.5 / segment.sample_rate <= right and left <= segment.x_end + 0.5 / segment.sample_rate
    ]
    for _, run in groupby(in_view, lambda segment: timeline.run_of(segment.x_begin)):
        yield list(run)


def _parts(history: History, left: float, right: float) -> Iterator[tuple[str, tuple[str, ...], Samples, Samples]]:
    signals, results = history.signals, history.results
    if signals is not None:
        derived = [channel.name for channel in signals.derived]
        exported = [signals.named[name] for name in (*(each.name for each in signals.channels), *derived)]
        x, samples = signals.samples(left, right, sys.maxsize, [signal.column for signal in exported])
        yield "", tuple(csv_label(signal.name, signal.unit) for signal in exported), x, samples
    if results is not None:
        names, units = column_names(results.columns), (column.unit for column in results.columns)
        x, values = results.rows(left, right)
        yield "-results", tuple(map(csv_label, names, units)), x, values


def _text(table: CsvTable) -> Iterator[bytes]:
    """Yield the file in pieces."""
    yield csv_line((TIME_LABEL, *table.header))
    yield from csv_rows(table.times, table.values)
