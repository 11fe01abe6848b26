"""Checksums of what a run file holds: a row for every piece that is written, with a checksum of its own."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

CHECK_TYPE = np.dtype(
    [("part", h5py.string_dtype("utf-8", 16)), ("start", "<i8"), ("rows", "<i8"), ("crc", "<u4"), ("own", "<u4")]
)

Row = tuple[bytes, int, int, int, int]
_BEFORE_OWN = CHECK_TYPE.fields["own"][1] if CHECK_TYPE.fields else 0


def crc(columns: Iterable[NDArray[Any]]) -> int:
    """Return the CRC-32 (that of zlib) of the bytes of `columns`, one after the other."""
    value = 0
    for column in columns:
        value = zlib.crc32(np.ascontiguousarray(column).data, value)
    return value


def check_row(part: str, start: int, columns: Sequence[NDArray[Any]]) -> Row:
    """Return the check of the rows of `part` from `start` on, whose `columns` are given in the order of writing."""
    row = (part.encode(), start, len(columns[0]) if columns[0].ndim else 1, crc(columns), 0)
    return *row[:-1], _own(np.array(row, CHECK_TYPE))


def check_table(rows: Sequence[Row]) -> NDArray[np.void]:
    """Return checks as rows of /checks."""
    return np.array(list(rows), CHECK_TYPE)


def sound(table: NDArray[np.void]) -> NDArray[np.bool_]:
    """Return which rows of /checks fit their own checksum and name rows that there can be."""
    own = np.array([_own(row) for row in table], np.uint32)
    good: NDArray[np.bool_] = (own == table["own"]) & (table["start"] >= 0) & (table["rows"] > 0)
    return good


def _own(row: Any) -> int:
    return zlib.crc32(row.tobytes()[:_BEFORE_OWN])
