"""The rows of a text table -> float64, fast when all is well and to the point when a cell is not a number."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO

import numpy as np

from monitor.messages.blocks import Samples
from monitor.system.files import check_regular
from replay.formats.base import RecordingError
from replay.formats.columns import TableColumn, read_columns
from replay.formats.layout import HEAD, MISSING, Layout, find_layout, is_data, split

_MISSING_AS_WRITTEN = sorted({f(word) for word in MISSING for f in (str, str.upper, str.title)} | {"NaN", "-NaN"})
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
    """

    path: Path
    layout: Layout
    columns: tuple[TableColumn, ...]
    values: Samples
    notes: tuple[str, ...]

    def place(self, row: int) -> str:
        """Return where `row` is in the file: ``line 12``, counted from 1."""
        return f"line {next(islice(_rows(self.path, self.layout), row, None))[0]}"


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
    columns = read_columns(layout.header, layout.units, layout.width)
    cut = _is_cut(path)
    values = _read_fast(path, layout)
    if values is not None and cut:
        # its last number may be a part of one
        values = values[:-1]
    if values is None or _short_rows(path, layout, values):
        values = _read_carefully(path, layout, columns)
    if len(values) < 2:
        raise RecordingError(f"{path}: fewer than 2 rows of numbers{', the last line has no end' if cut else ''}")
    notes: tuple[str, ...] = (LAST_LINE_CUT,) if cut else ()
    if not layout.header:
        names = f"{columns[0].name} .. {columns[-1].name}"
        notes = (f"no header: the columns are named {names}", *notes)
    return Table(path, layout, columns, values, notes)


def _open(path: Path, layout: Layout) -> IO[str]:
    file = path.open(encoding=layout.encoding, errors="replace")
    for _ in range(layout.skip):
        file.readline()
    return file


def _read_fast(path: Path, layout: Layout) -> Samples | None:
    """Return the numbers, or None if pandas is not installed or does not take every cell of the file for one."""
    try:
        import pandas as pd  # slow to import
    except ImportError:
        return None

    with _open(path, layout) as file:
        try:
            frame = pd.read_csv(
                file,
                sep=layout.delimiter,
                decimal=layout.decimal,
                header=None,
                names=list(range(layout.cells)),
                index_col=False,
                dtype={place: np.float64 for place in range(layout.cells) if place not in layout.instants},
                converters={place: partial(layout.value, position=place) for place in layout.instants},
                na_values=_MISSING_AS_WRITTEN,
                keep_default_na=False,
                skipinitialspace=True,
            )
        except (ValueError, OverflowError):  # pandas' ParserError is a ValueError
            return None
    cells = frame.to_numpy(dtype=np.float64)
    if not np.all(np.isnan(cells[:, layout.width :])):
        return None
    return np.ascontiguousarray(cells[:, : layout.width])


def _short_rows(path: Path, layout: Layout, values: Samples) -> bool:
    """Whether a row has fewer cells than the others; pandas fills it with NaN."""
    suspects = set(np.flatnonzero(np.isnan(values[:, -1])).tolist())
    if not suspects:
        return False
    return any(row in suspects and len(cells) < layout.width for row, (_, cells) in enumerate(_rows(path, layout)))


def _rows(path: Path, layout: Layout) -> Iterator[tuple[int, list[str]]]:
    """Give the line number and the cells of each row whose line has an end."""
    with _open(path, layout) as file:
        for line_number, line in enumerate(file, layout.skip + 1):
            if is_data(line) and line.endswith("\n"):
                yield line_number, split(line, layout.delimiter)


def _read_carefully(path: Path, layout: Layout, columns: tuple[TableColumn, ...]) -> Samples:
    """Read row by row and name the first bad cell."""
    values = array("d")
    for line_number, cells in _rows(path, layout):
        where = f"{path}: line {line_number}"
        if not layout.width <= len(cells) <= layout.cells or any(cells[layout.width :]):
            raise RecordingError(f"{where} has {len(cells)} cells instead of {layout.width}")
        for column, cell in zip(columns, cells, strict=False):
            try:
                values.append(layout.value(cell, column.position))
            except ValueError:
                text = repr(cell if len(cell) <= _EXCERPT else cell[:_EXCERPT] + "..")
                what = layout.expected(cell, column.position)
                raise RecordingError(
                    f"{where}, column {column.position + 1} ({column.name}): {text} is not a {what}"
                ) from None
    return np.array(values, dtype=np.float64).reshape(-1, layout.width)


def _is_cut(path: Path) -> bool:
    """Whether the last line has no end and is more than spaces or a comment."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - HEAD))
        last = re.split(rb"[\r\n]", file.read())[-1]
    return is_data(last.decode("latin-1"))
