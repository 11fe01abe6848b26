"""A text table: its rows by a compiled parser, or line by line, to the point where a cell is not a number."""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from math import isnan
from pathlib import Path

import numpy as np

from monitor.messages.blocks import Samples
from monitor.system.files import check_regular
from replay.formats.base import RecordingError
from replay.formats.columns import TableColumn, read_columns
from replay.formats.dates import find_form
from replay.formats.layout import HEAD, Layout, find_layout, is_data, split
from replay.formats.numbers import MISSING, number
from replay.formats.states import Changes, read_states
from replay.formats.table_parsers import Texts, read_compiled, rows_of
from replay.formats.units import unit_symbol

_EXCERPT = 30
LAST_LINE_CUT = "the last line has no end, it may be cut short: left out"
"""Note on a text whose other lines have one."""


@dataclass(frozen=True, eq=False)
class Table:
    """A text file as numbers.

    Parameters
    ----------
    path, layout : where it comes from.
    columns : one a column of `values`.
    values : (n_rows, n_columns); NaN where a cell is empty.
    notes : what was left out.
    joints : rows before which the header is repeated.
    cut : whether the last line has no end.
    states : changes of columns of text.
    """

    path: Path
    layout: Layout
    columns: tuple[TableColumn, ...]
    values: Samples
    notes: tuple[str, ...]
    joints: tuple[int, ...] = ()
    cut: bool = False
    states: Changes = ()

    def place(self, row: int) -> str:
        """Return where `row` is in the file: ``line 12``, counted from 1."""
        rows = (number for number, cells in rows_of(self.path, self.layout) if _row_values(cells, self.layout))
        return f"line {next(islice(rows, row, None))}"


def read_table(path: Path) -> Table:
    """Read a text file.

    Raises
    ------
    RecordingError : it holds no table of at least two rows, or a cell is not a number; one line.
    OSError : it cannot be read.
    """
    check_regular(path)
    with path.open("rb") as file:
        head = file.read(HEAD)
    try:
        layout = find_layout(head)
    except RecordingError as problem:
        raise RecordingError(f"{path}: {problem}") from None
    layout = _with_order_of_dates(path, layout)
    columns = read_columns(layout.header, tuple(map(unit_symbol, layout.units)), layout.width)
    cut = _is_cut(path, layout.encoding)
    notes = list(layout.notes)
    joints: tuple[int, ...] = ()
    found = read_compiled(path, layout)
    if found is None and layout.blank:
        # remarks, below many rows without any
        layout = replace(layout, texts=layout.texts | layout.blank)
        found = read_compiled(path, layout)
    if found is None:
        values, texts, joints, remarks = _read_carefully(path, layout, columns)
        notes += remarks
    else:
        # the last number of a cut line may be a part of one
        values, texts = found[0][: -1 if cut else None], found[1]
    numeric = _numeric(layout, texts)
    layout = replace(layout, texts=layout.texts - numeric.keys())
    for place, column in numeric.items():
        values[:, place] = column[: len(values)]
    if len(values) < 2:
        raise RecordingError(f"{path}: fewer than 2 rows of numbers{', the last line has no end' if cut else ''}")
    states, said = read_states({columns[place].name: texts[place][: len(values)] for place in sorted(layout.texts)})
    notes += said
    if cut:
        notes.insert(0, LAST_LINE_CUT)
    if not layout.header:
        notes.insert(0, f"no header: the columns are named {columns[0].name} .. {columns[-1].name}")
    return Table(path, layout, columns, values, tuple(notes), joints, cut, states)


def _numeric(layout: Layout, texts: Texts) -> dict[int, list[float]]:
    """Return the columns that were read as texts as they had no values at first, but hold no text."""
    found = {}
    for place in layout.blank & texts.keys():
        with suppress(ValueError):
            found[place] = [layout.value(str(cell), place) for cell in texts[place]]
    return found


def _with_order_of_dates(path: Path, layout: Layout) -> Layout:
    """Return the layout with the order of day and month as the last rows show it, where the first ones do not."""
    doubtful = [place for place, form in layout.forms.items() if form.note]
    if not doubtful:
        return layout
    first = [cells for _, cells in islice(rows_of(path, layout), 1)]
    with path.open("rb") as file:
        file.seek(max(0, file.seek(0, 2) - HEAD) // 2 * 2)
        lines = file.read().decode(_wide(path, layout.encoding), "replace").splitlines()[1:-1]
    last = [cells for cells in (split(line, layout.delimiter) for line in lines) if len(cells) == layout.cells]
    forms = dict(layout.forms)
    for place in doubtful:
        texts = dict.fromkeys(cells[place] for cells in (*first, *last) if cells[place].lower() not in MISSING)
        forms[place] = find_form(list(texts)) or forms[place]
    named = [layout.header[place] if layout.header else f"column {place + 1}" for place in doubtful]
    notes = [f"{name}: {forms[p].note}" for name, p in zip(named, doubtful, strict=True) if forms[p].note]
    days = [form.parse(first[0][p])[0] for p, form in forms.items() if form.order and first and first[0][p]]
    return replace(layout, forms=forms, notes=tuple(notes), first_day=days[0] if days else layout.first_day)


def _wide(path: Path, encoding: str) -> str:
    """Return the encoding of a part of the file, which has no mark of the byte order."""
    if encoding != "utf-16":
        return encoding
    with path.open("rb") as file:
        return "utf-16-le" if file.read(1) == b"\xff" else "utf-16-be"


def _read_carefully(
    path: Path, layout: Layout, columns: tuple[TableColumn, ...]
) -> tuple[Samples, Texts, tuple[int, ...], list[str]]:
    """Return the rows, columns of text, the rows before which the header is repeated, notes on lines that are none.

    Lines without any number are remarks; those with some are part of a header that is repeated after them, or, after
    the last row, a footer with a text in front.

    Raises
    ------
    RecordingError : another line is no row; one line that names its first bad cell.
    """
    values, joints = array("d"), []
    texts: dict[int, list[object]] = {place: [] for place in layout.texts}
    remarks: list[tuple[int, list[str]]] = []
    pending: list[tuple[int, list[str]]] = []
    for line_number, cells in rows_of(path, layout):
        row = _row_values(cells, layout)
        if row is None:
            if _is_header(cells, layout):
                joints.append(len(values) // layout.width)
                remarks += pending
                pending = []
            (pending if _has_number(cells, layout) else remarks).append((line_number, cells))
            continue
        if pending:
            raise _bad_row(path, layout, columns, *pending[0])
        values.extend(row)
        for place, column in texts.items():
            column.append(cells[place])
    for line_number, cells in pending:
        if cells[0][:1].isdigit() or _has_number(cells[:1], layout):
            raise _bad_row(path, layout, columns, line_number, cells)
    notes = []
    remarks = sorted((*remarks, *pending))
    if remarks:
        first = " ".join(remarks[0][1])[:_EXCERPT]
        many = f"{len(remarks)} lines that are" if len(remarks) > 1 else "a line that is"
        notes.append(f"left out: {many} no row of numbers, line {remarks[0][0]}: {first!r}")
    rows = np.array(values, dtype=np.float64).reshape(-1, layout.width)
    return rows, texts, tuple(dict.fromkeys(row for row in joints if row)), notes


def _row_values(cells: Sequence[str], layout: Layout) -> list[float] | None:
    if not layout.width <= len(cells) <= layout.cells or any(cells[layout.width :]):
        return None
    try:
        return [
            float("nan") if place in layout.texts else layout.value(cell, place)
            for place, cell in enumerate(cells[: layout.width])
        ]
    except ValueError:
        return None


def _is_header(cells: Sequence[str], layout: Layout) -> bool:
    return bool(layout.header) and tuple(cells[: layout.width]) == layout.header


def _has_number(cells: Sequence[str], layout: Layout) -> bool:
    for place, cell in enumerate(cells):
        try:
            if not isnan(number(cell, layout.decimal) if cell[:1].isalpha() else layout.value(cell, place)):
                return True
        except ValueError:
            continue
    return False


def _bad_row(
    path: Path, layout: Layout, columns: tuple[TableColumn, ...], line_number: int, cells: Sequence[str]
) -> RecordingError:
    """Return the error about a line that is no row."""
    where = f"{path}: line {line_number}"
    if not layout.width <= len(cells) <= layout.cells or any(cells[layout.width :]):
        return RecordingError(f"{where} has {len(cells)} cells instead of {layout.width}")
    for column, cell in zip(columns, cells, strict=False):
        try:
            layout.value(cell, column.position)
        except ValueError:
            text = repr(cell if len(cell) <= _EXCERPT else cell[:_EXCERPT] + "..")
            what = layout.expected(cell, column.position)
            return RecordingError(f"{where}, column {column.position + 1} ({column.name}): {text} is not a {what}")
    return RecordingError(f"{where} is no row of numbers")


def _is_cut(path: Path, encoding: str) -> bool:
    """Whether the last line has no end and is more than spaces or a comment."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        # from the first of two bytes
        file.seek(max(0, size - HEAD) // 2 * 2)
        tail = file.read()
    encoding = _wide(path, encoding)
    wide = encoding.startswith("utf-16")
    text = tail.decode(encoding if wide else "latin-1", "replace")
    return is_data(re.split(r"[\r\n]", text)[-1])
