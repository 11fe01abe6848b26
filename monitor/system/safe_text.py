"""Texts that other programs can show and read: printable, and the fields of a CSV file."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

_FORMULA = ("=", "+", "-", "@")


def printable(text: str) -> str:
    """Return `text` with every non-printable character, such as an escape sequence, replaced."""
    return text if text.isprintable() else "".join(c if c.isprintable() else "\ufffd" for c in text)


def csv_cell(text: str) -> str:
    """Return `text` as one line that no spreadsheet interprets as a formula."""
    cell = "".join(c if c.isprintable() else " " for c in text)
    return f"'{cell}" if cell.lstrip().startswith(_FORMULA) else cell


def elide_left(text: str, most: int = 75) -> str:
    """Return `text`, shortened from the left to at most `most` bytes."""
    while len(text.encode()) > most:
        text = "…" + text[2:]
    return text


TIME_LABEL = "time [s]"
_NUMBERS = 20_000  # encoded at once: the GIL is held for a millisecond


def csv_label(name: str, unit: str) -> str:
    """Return the heading of a column, ``name [unit]``."""
    # a number in brackets would be read as an index
    text = f"{name} [{'-' if unit == '1' else unit}]" if unit else name
    return csv_cell(text)


def csv_line(cells: Sequence[object]) -> bytes:
    """Return one line of text cells, quoted where needed."""
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(cells)
    return line.getvalue().encode()


def csv_rows(times: NDArray[np.float64], values: NDArray[np.float64]) -> Iterator[bytes]:
    """Yield the lines of a table in pieces; NaN becomes an empty cell.

    Parameters
    ----------
    times : (n_rows,), the first column.
    values : (n_rows, n_columns), the others.
    """
    n_rows = max(1, _NUMBERS // (1 + values.shape[1]))
    for start in range(0, len(times), n_rows):
        piece = slice(start, start + n_rows)
        rows = np.column_stack((times[piece], values[piece])).tolist()
        # ten times as fast as `repr`; encodes NaN as null
        text = msgspec.json.encode(rows)[2:-2]
        yield text.replace(b"],[", b"\n").replace(b"null", b"") + b"\n"
