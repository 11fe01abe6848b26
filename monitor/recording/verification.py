"""Verification of a run file: rows that do not fit their checksums, or have none, and those in words."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import h5py
import numpy as np
from numpy.typing import NDArray

from monitor.recording import checksums, layout, parts
from monitor.recording.columns import Numbering, counted_on, fits

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
        good = checksums.sound(table)
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
                if any(checksums.crc([parts.whole(file, name)]) != check["crc"] for check in self.rows_of(name)):
                    yield name
            except parts.HDF5_ERRORS:
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
                if checksums.crc(values[begin : begin + int(check["rows"])] for values in read) != check["crc"]:
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


_WORDS = {
    layout.SETTINGS: "the settings",
    layout.CHANNELS: "the table of channels",
    layout.COLUMNS: "the table of result columns",
}
_MOST_SPANS = 10


@dataclass(frozen=True, slots=True, eq=False)
class IntegrityReport:
    """What is doubtful in a run file.

    Parameters
    ----------
    lines : what is not about rows, a line each.
    signals, results, events : the same of rows.
    growing : the file is being written, or its writer was killed: the last rows may have no checksum yet.
    numbers : first row and numbering of samples whose own numbers cannot be.
    """

    lines: tuple[str, ...]
    signals: Verdict
    results: Verdict
    events: Verdict
    numbers: tuple[tuple[int, Numbering], ...]
    growing: bool

    def in_words(self, seconds: Callable[[int], float] | None = None) -> list[str]:
        """Return all that is doubtful, a line each; of very many spans the first ones.

        `seconds` gives the instant of a sample's row after the start, for who looks at a curve.
        """
        return [
            *self.lines,
            *self._lines(self.signals, "samples", seconds),
            *self._lines(self.results, "result rows"),
            *self._lines(self.events, "events"),
        ]

    def _lines(self, verdict: Verdict, what: str, seconds: Callable[[int], float] | None = None) -> list[str]:
        unchecked = tuple(span for span in verdict.unchecked if not (self.growing and span[1] == verdict.rows))
        lines = [f"{verdict.missing} more {what} were recorded, and are lost"] if verdict.missing else []
        for spans, how in (
            (verdict.doubtful, "doubtful: they are not as recorded, their checksum differs"),
            (unchecked, "without a checksum"),
        ):
            for start, stop in spans[:_MOST_SPANS]:
                at = f" ({seconds(start):.6g} s to {seconds(stop - 1):.6g} s)" if seconds is not None else ""
                lines.append(f"{what} {start} to {stop - 1} of {verdict.rows}{at} are {how}")
            left = spans[_MOST_SPANS:]
            if left:
                lines.append(
                    f"{sum(stop - start for start, stop in left)} more {what} in {len(left)} spans are {how}"
                )
        return lines


def verify_run(
    file: h5py.File, checks: Checks, n_samples: int, n_results: int, n_events: int, rate: float, growing: bool
) -> IntegrityReport:
    """Read the whole of a run file and compare it with its checksums; raises what h5py raises on damage."""
    lines = [f"{_WORDS[name]} in the file do not fit their checksum" for name in checks.small(file)]
    if checks.damaged:
        lines.append(f"{checks.damaged} checksums in the file are damaged themselves")
    signals = parts.series(file, layout.SIGNALS)
    verdict = checks.verify(layout.SIGNALS, signals, n_samples)
    values = parts.series(file, layout.RESULTS) if n_results else ()
    results = checks.verify(layout.RESULTS, values, n_results)
    happened = [parts.dataset(file, layout.EVENTS)] if n_events else ()
    events = checks.verify(layout.EVENTS, happened, n_events)
    numbers = _numbers(signals, verdict.doubtful, n_samples, rate)
    return IntegrityReport(tuple(lines), verdict, results, events, numbers, growing and not checks.damaged)


def _numbers(
    signals: Sequence[h5py.Dataset], doubtful: Sequence[Span], n_samples: int, rate: float
) -> tuple[tuple[int, Numbering], ...]:
    _, time, epoch, index = signals
    found = []
    for start, stop in doubtful:
        low, high = max(0, start - 1), min(n_samples, stop + 1)
        rows = Numbering(time[low:high], epoch[low:high], index[low:high])
        if not fits(rows, rate):
            before, after = rows.part(0, start - low), rows.part(stop - low, high - low)
            found.append((start, counted_on(before, after, stop - start, rate)))
    return tuple(found)
