"""A text table: its rows by a compiled parser, or line by line, to the point where a cell is not a number."""

from __future__ import annotations

import io
import re
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from math import isnan
from pathlib import Path
from typing import IO, Any

import numpy as np

from monitor.messages.blocks import Samples
from monitor.system.files import check_regular
from replay.formats.base import RecordingError
from replay.formats.cells import MISSING, find_form, mend_text, number
from replay.formats.columns import TableColumn, read_columns
from replay.formats.layout import COMMENTS, HEAD, Layout, find_layout, is_data, split
from replay.formats.reading import PROGRESS
from replay.formats.signal_table import Changes, read_states
from replay.formats.units import unit_symbol

_MISSING_AS_WRITTEN = sorted({f(word) for word in MISSING for f in (str, str.upper, str.title)} | {"NaN", "-NaN"})
_BLOCK = 1 << 20  # bytes that a thread parses at once; their numbers fit into its cache
_ENCODINGS = {"utf-8": "utf8", "utf-8-sig": "utf8", "latin-1": "latin-1"}

Texts = Mapping[int, Sequence[object]]
"""The cells of columns of text by their places, as they are written."""


def read_compiled(path: Path, layout: Layout) -> tuple[Samples, Texts] | None:
    """Return the numbers, (n_rows, n_columns), and the texts of a table.

    None where no parser is installed, or none takes every cell of the file as it is meant.
    """
    found = _by_arrow(path, layout) if len(layout.delimiter) == 1 and layout.encoding in _ENCODINGS else None
    found = found if found is not None else _by_pandas(path, layout)
    if found is None or _runs_on(found[1]):
        return None
    np.copyto(found[0], np.nan, where=np.isinf(found[0]))  # a word for no value, as in the others
    return found


def _runs_on(texts: Texts) -> bool:
    """Whether a text has swallowed lines after a quote, or is the beginning of a comment."""
    if any(str(cell).lstrip().startswith(COMMENTS) for cell in set(texts.get(0, ()))):
        return True
    return any("\n" in cell or "\r" in cell for cells in texts.values() for cell in map(str, set(cells)))


def _by_arrow(path: Path, layout: Layout) -> tuple[Samples, Texts] | None:
    """Read by pyarrow, for which a row that is too short, a remark or a comment is an error."""
    try:
        import pyarrow as pa
        from pyarrow import csv
    except ImportError:
        return None
    as_text = layout.texts | set(layout.forms)
    names = [str(place) for place in range(layout.cells)]
    options = csv.ConvertOptions(
        column_types={name: pa.string() if at in as_text else pa.float64() for at, name in enumerate(names)},
        null_values=["", *_MISSING_AS_WRITTEN],
        strings_can_be_null=False,  # a state may be called error, or none
        decimal_point=layout.decimal,
    )
    reading = csv.ReadOptions(
        column_names=names,
        skip_rows=0 if layout.unusual else layout.skip,
        encoding="utf8" if layout.unusual else _ENCODINGS[layout.encoding],
        block_size=_BLOCK,
    )
    values, row = np.empty((0, layout.width)), 0
    texts: dict[int, list[object]] = {place: [] for place in layout.texts}
    try:
        with path.open("rb") as file:
            source: Any = io.BytesIO(_mended(path, layout).encode()) if layout.unusual else file
            size, tell = path.stat().st_size, PROGRESS.get()
            for batch in csv.open_csv(source, reading, csv.ParseOptions(delimiter=layout.delimiter), options):
                rows = slice(row, row := row + batch.num_rows)
                if row > len(values):
                    # in place: a table of the whole file beside its numbers would be as large again
                    most = max(row * size // max(1, source.tell()), row + len(values) // 16)
                    values.resize((most, layout.width), refcheck=False)
                for place in range(layout.cells):
                    column = batch.column(place)
                    if place >= layout.width:
                        if column.null_count < len(column):
                            return None
                    elif place in layout.texts:
                        values[rows, place] = np.nan
                        texts[place] += column.to_pylist()
                    elif place in layout.forms:
                        values[rows, place] = [layout.value(cell, place) for cell in column.to_pylist()]
                    else:
                        values[rows, place] = _numbers(column)
                tell("reading the file", min(source.tell(), size), size)
    except (pa.ArrowException, ValueError):
        return None
    values.resize((row, layout.width), refcheck=False)
    return values, texts


def _numbers(column: Any) -> Samples:
    # to_numpy imports pandas, which takes half a second
    return np.asarray(column.to_numpy(zero_copy_only=False) if column.null_count else np.from_dlpack(column))


def _by_pandas(path: Path, layout: Layout) -> tuple[Samples, Texts] | None:
    try:
        import pandas as pd  # slow to import
    except ImportError:
        return None

    used = [place for place in range(layout.cells) if place not in layout.texts]
    missing: Any = dict.fromkeys(used, _MISSING_AS_WRITTEN)
    with _open(path, layout) as opened:
        file = io.StringIO(_mended(path, layout)) if layout.unusual else opened
        try:
            frame = pd.read_csv(
                file,
                sep=layout.delimiter,
                decimal=layout.decimal,
                header=None,
                names=list(range(layout.cells)),
                index_col=False,
                dtype={place: np.float64 for place in used if place not in layout.forms}
                | dict.fromkeys(layout.texts, "category"),
                converters={place: partial(layout.value, position=place) for place in layout.forms},
                na_values=missing,
                keep_default_na=False,
                skipinitialspace=True,
            )
        except (ValueError, OverflowError):  # pandas' ParserError is a ValueError
            return None
    cells = np.full((len(frame), layout.cells), np.nan)
    cells[:, used] = frame[used].to_numpy(dtype=np.float64)
    if not np.all(np.isnan(cells[:, layout.width :])):
        return None
    values = np.ascontiguousarray(cells[:, : layout.width])
    if _short_rows(path, layout, values):
        return None
    return values, {place: frame[place].astype(object).tolist() for place in layout.texts}


def _short_rows(path: Path, layout: Layout, values: Samples) -> bool:
    """Whether a row has fewer cells than the others; pandas fills it with NaN."""
    if layout.width - 1 in layout.texts:
        return False
    suspects = set(np.flatnonzero(np.isnan(values[:, -1])).tolist())
    if not suspects:
        return False
    return any(row in suspects and len(cells) < layout.width for row, (_, cells) in enumerate(rows_of(path, layout)))


def _mended(path: Path, layout: Layout) -> str:
    with _open(path, layout) as file:
        return mend_text(file.read(), layout.delimiter, layout.decimal)


def _open(path: Path, layout: Layout) -> IO[str]:
    file = path.open(encoding=layout.encoding, errors="replace")
    for _ in range(layout.skip):
        file.readline()
    return file


def rows_of(path: Path, layout: Layout) -> Iterator[tuple[int, list[str]]]:
    """Give the line number and the cells of each row whose line has an end."""
    with _open(path, layout) as file:
        for line_number, line in enumerate(file, layout.skip + 1):
            if is_data(line) and line.endswith("\n"):
                yield line_number, split(line, layout.delimiter)


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
            if layout.header and tuple(cells[: layout.width]) == layout.header:
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
