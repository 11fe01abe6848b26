"""Delimited text files such as CSV."""

from __future__ import annotations

from pathlib import Path

from replay.formats.base import Format, RecordingError, Selection
from replay.formats.layout import find_layout
from replay.formats.memory import check_memory
from replay.formats.signal_table import SignalTable, array_reader
from replay.formats.table import Table, read_table

_BINARY = frozenset(range(32)) - set(b"\t\n\v\f\r\x1a")


def is_text(path: Path, head: bytes, selection: Selection) -> bool:  # noqa: ARG001 any name, any selection
    """Whether the first bytes hold no control characters; a crash may leave zeros at the end of a file."""
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
    return SignalTable(
        path=table.path,
        columns=table.columns,
        n_rows=len(table.values),
        read=array_reader(table.values),
        notes=table.notes,
        named=bool(layout.header),
        days=dict.fromkeys(layout.instants, layout.first_day),
        in_utc=frozenset(layout.in_utc),
        place=table.place,
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


_SHARED = ("*.txt", "*.out", "*.dat", "*.asc")
_PATTERNS = ("*.csv", *_SHARED[:3], "*.tsv", *_SHARED[3:])
FORMAT = Format("text table", _PATTERNS, is_text, tables=_tables, shared=_SHARED, begins=begins_as_table)
