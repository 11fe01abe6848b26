"""Which rows of a run file do not fit their checksums, or have none."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import h5py
import numpy as np
from numpy.typing import NDArray

from monitor.recording import checks, layout, parts

Span = tuple[int, int]
"""Rows from the first to before the second."""

_AT_ONCE = 1 << 22  # bytes
_MOST_ROWS = 1 << 22
_SMALL = (layout.SETTINGS, layout.CHANNELS, layout.COLUMNS)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the checks say of one part.

    Parameters
    ----------
    doubtful : rows that are not as they were written.
    unchecked : rows that have no check, or whose check is damaged itself.
    rows : of the part.
    missing : rows that were written, and are there no longer.
    """

    doubtful: tuple[Span, ...] = ()
    unchecked: tuple[Span, ...] = ()
    rows: int = 0
    missing: int = 0


class Checks:
    """The checks of an open run file; none in a file that was recorded before there were any.

    Parameters
    ----------
    table : rows of /checks that are there.
    known : the file has such a table.
    """

    def __init__(self, table: NDArray[np.void], known: bool = True) -> None:
        self.known = known
        good = checks.sound(table)
        self.damaged = int(len(table) - np.count_nonzero(good))
        self.table = np.sort(table[good], order=("part", "start", "rows"))

    def rows_of(self, part: str) -> NDArray[np.void]:
        """Return the checks of `part`, by their first row."""
        found: NDArray[np.void] = self.table[self.table["part"] == part.encode()]
        return found

    def covered(self, part: str) -> int:
        """Return how many rows were written for certain: a check is written after what it is about."""
        found = self.rows_of(part)
        return int(np.max(found["start"] + found["rows"])) if len(found) else 0

    def small(self, file: h5py.File) -> Iterator[str]:
        """Name the parts without rows of their own, such as the settings, that are not as they were written."""
        for name in _SMALL:
            try:
                if any(checks.crc([parts.whole(file, name)]) != check["crc"] for check in self.rows_of(name)):
                    yield name
            except parts.DAMAGE:
                yield name

    def verify(self, part: str, columns: Sequence[h5py.Dataset], n_rows: int) -> Verdict:
        """Compare the first `n_rows` rows of `part` with their checks.

        Parameters
        ----------
        columns : the datasets in the order of writing.
        """
        if not self.known:
            return Verdict(rows=n_rows)
        found = self.rows_of(part)
        found = found[(found["rows"] <= _MOST_ROWS) & (found["start"] <= n_rows - found["rows"])]
        doubtful: list[Span] = []
        row_bytes = sum(column.dtype.itemsize * math.prod(column.shape[1:]) for column in columns)
        for some in _together(found, max(1, _AT_ONCE // max(1, row_bytes))):
            low = int(some["start"][0])
            high = int(np.max(some["start"] + some["rows"]))
            read = [column[low:high] for column in columns]
            for check in some:
                begin = int(check["start"]) - low
                if checks.crc(values[begin : begin + int(check["rows"])] for values in read) != check["crc"]:
                    doubtful.append((low + begin, low + begin + int(check["rows"])))
        spans = zip(found["start"].tolist(), (found["start"] + found["rows"]).tolist(), strict=True)
        missing = max(0, self.covered(part) - n_rows)
        return Verdict(tuple(_merged(doubtful)), tuple(_holes(spans, n_rows)), n_rows, missing)


def _together(table: NDArray[np.void], rows: int) -> Iterator[NDArray[np.void]]:
    """Give checks of about as many rows as are read at once."""
    begin = 0
    while begin < len(table):
        end = int(np.searchsorted(table["start"], table["start"][begin] + rows))
        yield table[begin : max(end, begin + 1)]
        begin = max(end, begin + 1)


def _merged(spans: Iterable[Span]) -> Iterator[Span]:
    begin = end = -1
    for start, stop in sorted(spans):
        if start > end:
            if end > begin:
                yield begin, end
            begin = start
        end = max(end, stop)
    if end > begin:
        yield begin, end


def _holes(spans: Iterable[Span], n_rows: int) -> Iterator[Span]:
    end = 0
    for start, stop in spans:
        if start > end:
            yield end, start
        end = max(end, stop)
    if end < n_rows:
        yield end, n_rows
