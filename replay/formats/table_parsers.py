"""Compiled parsers of text tables: pyarrow's, exact and on all processors, else that of pandas."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np

from monitor.messages.blocks import Samples
from replay.formats.layout import COMMENTS, Layout, is_data, split
from replay.formats.numbers import MISSING, mend_text
from replay.formats.reading import PROGRESS

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
