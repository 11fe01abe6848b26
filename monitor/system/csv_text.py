"""Tables of numbers as CSV text, such that every number is reproduced exactly when it is read again."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from monitor.system.safe_text import csv_cell

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
