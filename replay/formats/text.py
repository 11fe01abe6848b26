"""Delimited text files such as CSV."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from replay.formats.base import LONG, Format, Inspection, RecordingError, Selection, scattered
from replay.formats.choice import inspect_tables
from replay.formats.layout import HEAD, find_layout, text_encoding
from replay.formats.reading import check_memory
from replay.formats.recordings import ArrayRecording
from replay.formats.signal_table import SignalTable, array_reader, row_place
from replay.formats.table import Table, read_table

_LINES = 1024  # bytes of lines at each place of a long text
_BINARY = frozenset(range(32)) - set(b"\t\n\v\f\r\x1a")


def is_text(path: Path, head: bytes, selection: Selection) -> bool:  # noqa: ARG001 any name, any selection
    """Whether the first bytes hold no control characters; a crash may leave zeros at the end of a file."""
    encoding = text_encoding(head)
    if encoding.startswith("utf-16"):
        head = head.decode(encoding, "replace").encode("latin-1", "replace")
    return _BINARY.isdisjoint(head.rstrip(b"\0"))


def begins_as_table(head: bytes) -> bool:
    """Whether a row of numbers is among the first bytes of a text."""
    try:
        find_layout(head)
    except RecordingError:
        return False
    return True


def signal_table(table: Table) -> SignalTable:
    """Return the columns of a text file."""
    layout = table.layout
    columns = tuple(c for c in table.columns if c.position not in layout.texts)
    values, notes = table.values, table.notes
    dates, times = (
        [p for p, f in layout.forms.items() if bool(f.order) is one and f.has_time is not one]
        for one in (True, False)
    )
    if len(dates) == len(times) == 1:
        # a date, and beside it a time of day
        values = values.copy()
        values[:, times[0]] += values[:, dates[0]]
    columns = tuple(c for c in columns if c.position not in dates)
    days = dict.fromkeys((p for p, f in layout.forms.items() if f.order and f.has_time), layout.first_day)
    if len(dates) == len(times) == 1:
        days[times[0]] = layout.first_day
    elif dates:
        notes = (*notes, f"left out, dates without a time of day: {table.columns[dates[0]].name}")
    return SignalTable(
        path=table.path,
        columns=tuple(replace(c, unit="s") if c.position in times and c.position not in days else c for c in columns),
        n_rows=len(values),
        read=array_reader(values),
        notes=notes if not layout.sampling.note else (*notes, layout.sampling.note),
        named=bool(layout.header),
        days=days,
        in_utc=frozenset(layout.in_utc),
        rate=layout.sampling.rate,
        start=layout.sampling.start,
        place=table.place,
        times_of_day=frozenset(times),
        joints=table.joints,
        cut=table.cut,
        states=table.states,
    )


def _tables(path: Path) -> list[SignalTable]:
    # a number of 8 bytes for 20 characters and its delimiter, at least
    check_memory(path, 0.35 * path.stat().st_size)
    try:
        return [signal_table(read_table(path))]
    except RecordingError as problem:
        if path.suffix.lower() != ".mat":
            raise
        why = str(problem).removeprefix(f"{path}: ")
        raise RecordingError(f"{path}: is not a MAT file, and as text: {why}") from None


def _inspect_coarsely(path: Path, selection: Selection) -> Inspection | None:
    """Return what is in a long text by a short one, of its head and of lines all over it, whose times tell where."""
    size = path.stat().st_size
    with path.open("rb") as file, TemporaryDirectory() as folder:
        head, short = file.read(HEAD), Path(folder, path.name)
        if size < LONG or text_encoding(head).startswith("utf-16"):
            return None
        with short.open("wb") as chosen:
            chosen.write(head[: head.rfind(b"\n") + 1])
            for place in scattered(len(head), size, _LINES):
                file.seek(place)
                # whole lines
                chosen.write(file.read(_LINES).partition(b"\n")[2].rpartition(b"\n")[0] + b"\n")
        try:
            table = signal_table(read_table(short))
        except RecordingError:
            return None
    found = inspect_tables([replace(table, path=path, place=row_place)], selection)
    there = isinstance(found.recording, ArrayRecording) and found.recording.index is not None
    return replace(found, coarse=True) if there else None


_SHARED = ("*.txt", "*.out", "*.dat", "*.asc")
_PATTERNS = ("*.csv", *_SHARED[:3], "*.tsv", *_SHARED[3:])
FORMAT = Format(
    "text table", _PATTERNS, is_text, tables=_tables, shared=_SHARED, begins=begins_as_table, coarse=_inspect_coarsely
)
