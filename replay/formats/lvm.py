"""LabVIEW's measurement files, LVM: segments of channels with their own starts and steps, or columns of X values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from math import isnan
from pathlib import Path

import numpy as np

from monitor.messages.blocks import Samples
from replay.formats.base import Format, RecordingError, Selection
from replay.formats.cells import DateForm, number
from replay.formats.channels import MICROSECONDS, FileChannel, TextChannel, paused_times, pauses, tables_of_channels
from replay.formats.layout import text_encoding
from replay.formats.reading import check_memory
from replay.formats.signal_table import SignalTable
from replay.formats.table import LAST_LINE_CUT
from replay.formats.units import unit_symbol

_BEGINS = b"LabVIEW Measurement"
_END = "***end_of_header***"
_IN_MEMORY = 8  # times the file: its text, lines and numbers


@dataclass
class _Segment:
    """One segment: its header by names, the names of its columns, their numbers, and a comment for each row."""

    about: Mapping[str, Sequence[str]]
    names: Sequence[str]
    columns: list[list[float]] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)


def is_lvm(path: Path, head: bytes, selection: Selection) -> bool:  # noqa: ARG001 the signature of Format
    """Whether the file begins as LVM does."""
    return head.decode(text_encoding(head), "replace").lstrip("\ufeff").encode().startswith(_BEGINS)


def _tables(path: Path) -> list[SignalTable]:
    check_memory(path, _IN_MEMORY * path.stat().st_size)
    data = path.read_bytes()
    lines = data.decode(text_encoding(data), "replace").lstrip("\ufeff").splitlines(keepends=True)
    cut = bool(lines) and not lines[-1].endswith(("\n", "\r")) and bool(lines[-1].strip())
    rows = [line.rstrip("\r\n") for line in (lines[:-1] if cut else lines)]
    separator = (
        "," if any(row.replace("\t", ",").lower().startswith("separator,comma") for row in rows[:20]) else "\t"
    )
    cells = [[cell.strip().strip('"') for cell in row.split(separator)] for row in rows]
    file_header: dict[str, Sequence[str]] = {}
    segments: list[_Segment] = []
    at = 0
    ends = [k for k, row in enumerate(cells) if row[0].lower() == _END]
    for number_of, end in enumerate(ends):
        header: dict[str, Sequence[str]] = {row[0].lower(): row[1:] for row in cells[at:end] if row[0]}
        if number_of == 0:
            file_header = header
            at = end + 1
            continue
        stop = ends[number_of + 1] if number_of + 1 < len(ends) else len(cells)
        if stop < len(cells):
            stop = _header_begin(cells, end + 1, stop)
        decimal = "," if file_header.get("decimal_separator", ("",))[:1] == [","] else "."
        segments.append(_segment(path, header, cells[end + 1 : stop], end + 2, decimal))
        at = stop
    if not segments:
        raise RecordingError(f"{path}: no channels below the header of a LabVIEW measurement file")
    kind = (file_header.get("x_columns") or ("One",))[0].lower()
    # absolute times have the date in X0
    absolute = [text.lower() for text in file_header.get("time_pref", ())[:1]] == ["absolute"]
    whens = () if absolute else (_began(s, place) for s in segments for place in range(-1, len(s.names)))
    first = min((when for when in whens if when is not None), default=None)
    of_segments = [_channels(segment, kind, first) for segment in segments]
    joined = _joined(of_segments)
    groups = [(joined, [text for segment in segments for text in segment.comments])] if joined else None
    groups = groups or [(of, segment.comments) for of, segment in zip(of_segments, segments, strict=True)]
    channels: list[FileChannel] = []
    left_out: list[str] = []
    texts: list[TextChannel] = []
    for count, (found, comments) in enumerate(groups, 1):
        group = f"segment {count}" if len(groups) > 1 else ""
        channels += [replace(each, group=group) for each in found if each.n_rows > 1]
        left_out += [f"{each.name} ({each.n_rows} samples)" for each in found if each.n_rows < 2]
        texts += [TextChannel(group, "Comment", comments)] if any(comments) else []
    notes = [f"{len(segments)} segments, one after another, are one recording"] * (len(groups) < len(segments))
    return tables_of_channels(path, channels, [*notes, *[LAST_LINE_CUT] * cut], left_out, texts, cut=cut)


def _header_begin(cells: Sequence[Sequence[str]], begin: int, end: int) -> int:
    """Return the line at which the header above `end` begins: at its number of channels."""
    return next((k for k in range(end - 1, begin, -1) if cells[k][0].lower() == "channels"), end)


def _segment(
    path: Path, about: Mapping[str, Sequence[str]], rows: Sequence[Sequence[str]], line: int, decimal: str
) -> _Segment:
    """Return a segment; the last column is one of comments."""
    names = list(rows[0]) if rows else []
    width = len(names) - 1 if names and names[-1].lower() == "comment" else len(names)
    segment = _Segment(about, names[:width], [[] for _ in range(width)])
    for offset, row in enumerate(rows[1:], line + 1):
        if not any(row):
            continue
        for place in range(width):
            cell = row[place] if place < len(row) else ""
            try:
                segment.columns[place].append(number(cell, decimal))
            except ValueError:
                raise RecordingError(f"{path}: line {offset}: {cell[:30]!r} is not a number") from None
        segment.comments.append(row[width] if width < len(names) and width < len(row) else "")
    for column in segment.columns:
        # below the end of a channel with fewer samples than others
        while column and isnan(column[-1]):
            column.pop()
    return segment


def _channels(segment: _Segment, kind: str, first: float | None) -> list[FileChannel]:
    """Return the channels of a segment: with its one column of X values, one for each, or by X0 and Delta_X.

    They begin at the first instant, s, of all segments, or later; None where this is not given.
    """
    is_x = [name.lower().startswith("x_value") for name in segment.names]
    found = []
    times: Samples | None = None
    known: dict[bytes, Samples] = {}
    for place, (name, column, x) in enumerate(zip(segment.names, segment.columns, is_x, strict=True), -1):
        if x:
            values = np.array(column)
            times = values if len(values) else None
            continue
        # cells of the header stand above those of their column, one further to the left without its name
        values, when = np.array(column), _began(segment, place)
        step, start = _said(segment, "delta_x", place, 0.0), _said(segment, "x0", place, 0.0)
        later = 0.0 if when is None or first is None else when - first
        own = times + later if kind != "no" and times is not None and len(times) == len(values) else None
        units = segment.about.get("y_unit_label", ())
        found.append(
            FileChannel.of(
                "",
                name or f"channel_{place + 2}",
                values,
                unit_symbol(units[place]) if 0 <= place < len(units) else "",
                rate=None if own is not None or step <= 0.0 else float(f"{1.0 / step:.12g}"),
                start=start + later,
                times=None if own is None else known.setdefault(own.tobytes(), own),
            )
        )
    return found


def _joined(of_segments: Sequence[Sequence[FileChannel]]) -> list[FileChannel]:
    """Return channels through segments that a writer has begun anew; none where one is another, or not after it."""
    alike = {tuple((each.name, each.unit, each.rate, each.times is None) for each in of) for of in of_segments}
    if len(alike) > 1 or len(of_segments) < 2:
        return []
    found = []
    known: dict[object, Samples] = {}
    for pieces in zip(*of_segments, strict=True):
        values, own = np.concatenate([each.read(0, each.n_rows) for each in pieces]), [each.times for each in pieces]
        begins = accumulate((each.n_rows for each in pieces[:-1]), initial=0)
        starts = [(row, round(MICROSECONDS * each.start)) for row, each in zip(begins, pieces, strict=True)]
        whole = replace(pieces[0], n_rows=len(values), read=lambda a, b, v=values: v[a:b])
        if clocks := [each for each in own if each is not None]:
            times = np.concatenate(clocks)
            whole = replace(whole, times=known.setdefault(times.tobytes(), times))
        elif apart := pauses(starts, whole.rate or 0.0, whole.n_rows):
            whole = replace(whole, times=known.setdefault((apart, whole.start), paused_times(whole, apart)))
        if whole.times is not None and np.any(np.diff(whole.times) <= 0.0):
            return []
        found.append(whole)
    return found


def _began(segment: _Segment, place: int) -> float | None:
    """Return when a channel began by its date and time of day, s; None where these are not given."""
    date, time = ((segment.about.get(key, ())[place : place + 1] or [""])[0] for key in ("date", "time"))
    try:
        day, _, _ = DateForm("ymd", has_time=False).parse(date)
        return 86400.0 * (day % 1000) + DateForm("").seconds(time.replace(",", ".")[:21])
    except ValueError:
        return None


def _said(segment: _Segment, key: str, place: int, default: float) -> float:
    cells = segment.about.get(key, ())
    try:
        return number(cells[place].replace(",", "."), ".") if 0 <= place < len(cells) and cells[place] else default
    except ValueError:
        return default


FORMAT = Format("LabVIEW LVM", ("*.lvm",), is_lvm, tables=_tables)
