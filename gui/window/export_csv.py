"""The samples and results in view as CSV, which `synchroscope assess` and `replay` read again."""

from __future__ import annotations

import csv
import io
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, count, groupby
from pathlib import Path

import msgspec
import numpy as np

from gui.model.history import History
from gui.model.timeline import Segment, Timeline
from gui.settings.files import ExportError, whole_file
from gui.wording.numbers import instant_text
from monitor.messages.blocks import Samples
from monitor.system.safe_text import csv_cell

_NUMBERS = 20_000  # written at once: a millisecond, in which no other thread has its turn
_TIME = "time [s]"


@dataclass(frozen=True, eq=False, slots=True)
class CsvTable:
    """One file to be.

    Parameters
    ----------
    suffix : at the end of its name, such as ``-results``.
    header : of every column but the time's, ``name [unit]``.
    times : (n_rows,), s, of the rig.
    values : (n_rows, n_columns); NaN becomes an empty cell.
    """

    suffix: str
    header: tuple[str, ...]
    times: Samples
    values: Samples

    def path(self, path: Path) -> Path:
        """Return the name of this file where the first one is called `path`."""
        return path.with_name(f"{path.stem}{self.suffix}{path.suffix or '.csv'}")


def tables_in_view(history: History, left: float, right: float) -> tuple[CsvTable, ...]:
    """Copy what is remembered from `left` to `right` [s of the display], both included.

    Samples come at their full rate, as far back as every one of them is kept; results at the display instants, each
    at the time of its last row. Lost samples have no row. As times must rise, every start of the rig has a table of
    its own: ``-2``, ``-3`` and so on.

    Raises
    ------
    ExportError : there is nothing.
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
        raise ExportError("there are no samples in view: nothing is exported")
    return tuple(tables)


def left_out(history: History, left: float) -> str:
    """Return a line that says which samples after `left` [s of the display] are not exported; empty if all are."""
    signals = history.signals
    if signals is None or not signals.kept_x > max(left, signals.begin_x):
        return ""
    since = instant_text(history.timeline.time_at(signals.kept_x))
    return f"samples before {since} are no longer kept one by one and are left out"


def write_tables(tables: tuple[CsvTable, ...], path: Path) -> tuple[Path, ...]:
    """Write every table; may take seconds, and needs nothing but its arguments.

    What is called `path` takes the place of a file of that name; beside other files that are there already comes a
    new one, such as ``span-results (2).csv``.

    Raises
    ------
    ExportError : the disk refuses.
    """
    written = []
    for table in tables:
        place = table.path(path)
        # only `path` itself has been agreed to
        place = place if place == path else _free(place)
        with whole_file(place) as file:
            for text in _text(table):
                file.write(text)
        written.append(place)
    return tuple(written)


def _free(path: Path) -> Path:
    """Return `path`, or the first name like it that nothing has yet."""
    names = (path.with_name(f"{path.stem} ({n}){path.suffix}") for n in count(2))
    return next(name for name in chain((path,), names) if not os.path.lexists(name))


def _runs(timeline: Timeline, left: float, right: float) -> Iterator[list[Segment]]:
    """Give the segments in view, those together between which the rig's clock was followed without a pause."""
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
        x, samples = signals.samples(left, right, most=sys.maxsize)
        yield "", tuple(_label(c.name, c.unit) for c in signals.channels), x, samples
    if results is not None:
        several = len(results.actuators) + len(results.sites) > 1
        names = [(f"{c.actuator}_{c.name}" if several else c.name, c.unit) for c in results.columns]
        x, values = results.rows(left, right)
        yield "-results", tuple(_label(*name) for name in names), x, values


def _label(name: str, unit: str) -> str:
    # a number in brackets would be read as an index
    text = f"{name} [{'-' if unit == '1' else unit}]" if unit else name
    return csv_cell(text)


def _text(table: CsvTable) -> Iterator[bytes]:
    """Give the file piece by piece; numbers with as many digits as tell them from any other."""
    head = io.StringIO()
    csv.writer(head, lineterminator="\n").writerow((_TIME, *table.header))
    yield head.getvalue().encode()
    n_rows = max(1, _NUMBERS // (1 + len(table.header)))
    for start in range(0, len(table.times), n_rows):
        piece = slice(start, start + n_rows)
        rows = np.column_stack((table.times[piece], table.values[piece])).tolist()
        # ten times as fast as `repr`; NaN becomes null
        text = msgspec.json.encode(rows)[2:-2]
        yield text.replace(b"],[", b"\n").replace(b"null", b"") + b"\n"
