"""Verification of a run file: rows whose checksum differs or is missing, and sample numbers that are impossible."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np
from numpy.typing import NDArray

from monitor.messages.blocks import Samples
from monitor.recording import contents, layout
from monitor.recording.contents import HDF5_ERRORS
from monitor.recording.layout import stored_text
from monitor.recording.opening import open_run_file

Integers = NDArray[np.int64]
Progress = Callable[[str, int, int], object]
"""Called with a label, the rows done and their total."""

Span = tuple[int, int]
"""First row, and the row after the last."""

_BYTES_AT_ONCE = 1 << 22
_MAX_CHECKED_BYTES = 1 << 28  # about a quarter of a second
_MAX_CHECK_ROWS = 1 << 22
_TABLES = (layout.SETTINGS, layout.CHANNELS, layout.COLUMNS)


def no_progress(label: str, done: int, total: int) -> None:
    """Do nothing."""


@dataclass(frozen=True, slots=True)
class PartIntegrity:
    """Result of comparing one part with its checksums.

    Parameters
    ----------
    doubtful : rows whose checksum differs.
    unchecked : rows without a checksum, or whose checksum is itself damaged.
    rows : number of rows of the part.
    missing : number of rows that were written but are no longer in the file.
    """

    doubtful: tuple[Span, ...] = ()
    unchecked: tuple[Span, ...] = ()
    rows: int = 0
    missing: int = 0


class ChecksumTable:
    """Checksums of an open run file; absent in files of older versions.

    Parameters
    ----------
    table : rows of /checks; None where the file has no such table.
    """

    def __init__(self, table: NDArray[np.void] | None) -> None:
        self.present = table is not None
        table = np.empty(0, layout.CHECK_TYPE) if table is None else table
        valid = layout.valid_checks(table)
        self.damaged = int(len(table) - np.count_nonzero(valid))
        self.table = np.sort(table[valid], order=("part", "start", "rows"))

    @classmethod
    def read(cls, file: h5py.File, size: int, tolerant: bool = False) -> ChecksumTable:
        """Return the checksums that are inside a file of `size` bytes; `tolerant` as for `written_rows`."""
        if layout.CHECKS not in file:
            return cls(None)
        stored = contents.dataset(file, layout.CHECKS)
        return cls(stored[: contents.rows_inside(stored, size, tolerant)].astype(layout.CHECK_TYPE))

    def rows_of(self, part: str) -> NDArray[np.void]:
        """Return the checksums of `part`, sorted by their first row."""
        found: NDArray[np.void] = self.table[self.table["part"] == part.encode()]
        return found

    def covered(self, part: str) -> int:
        """Return how many rows were certainly written: a checksum is written after its rows."""
        found = self.rows_of(part)
        return int(np.max(found["start"] + found["rows"])) if len(found) else 0

    def damaged_tables(self, file: h5py.File) -> Iterator[str]:
        """Yield the tables, such as the settings, whose checksum differs or that cannot be read."""
        for name in _TABLES:
            try:
                if any(layout.crc([contents.read_whole(file, name)]) != check["crc"] for check in self.rows_of(name)):
                    yield name
            except HDF5_ERRORS:
                yield name

    def verify(
        self, part: str, columns: Sequence[h5py.Dataset], n_rows: int, progress: Progress = no_progress
    ) -> PartIntegrity:
        """Compare the first `n_rows` rows of `part` with their checksums.

        Parameters
        ----------
        columns : its datasets, in the order of writing.
        """
        if not self.present:
            return PartIntegrity(rows=n_rows)
        found = self.rows_of(part)
        found = found[(found["rows"] <= _MAX_CHECK_ROWS) & (found["start"] <= n_rows - found["rows"])]
        doubtful: list[Span] = []
        row_bytes = sum(column.dtype.itemsize * math.prod(column.shape[1:]) for column in columns)
        for group in _groups(found, max(1, _BYTES_AT_ONCE // max(1, row_bytes))):
            low = int(group["start"][0])
            high = int(np.max(group["start"] + group["rows"]))
            read = [column[low:high] for column in columns]
            for check in group:
                begin = int(check["start"]) - low
                if layout.crc(values[begin : begin + int(check["rows"])] for values in read) != check["crc"]:
                    doubtful.append((low + begin, low + begin + int(check["rows"])))
            progress(f"checking {part}", high, n_rows)
        spans = zip(found["start"].tolist(), (found["start"] + found["rows"]).tolist(), strict=True)
        missing = max(0, self.covered(part) - n_rows)
        return PartIntegrity(tuple(_merged(doubtful)), tuple(_gaps(spans, n_rows)), n_rows, missing)


def _groups(table: NDArray[np.void], rows: int) -> Iterator[NDArray[np.void]]:
    """Yield checksums in groups of about `rows` rows, which are read at once."""
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


def _gaps(spans: Iterable[Span], n_rows: int) -> Iterator[Span]:
    end = 0
    for start, stop in spans:
        if start > end:
            yield end, start
        end = max(end, stop)
    if end < n_rows:
        yield end, n_rows


_TABLE_NAMES = {
    layout.SETTINGS: "the settings",
    layout.CHANNELS: "the table of channels",
    layout.COLUMNS: "the table of result columns",
}
_MAX_SPANS = 10


@dataclass(frozen=True, slots=True, eq=False)
class IntegrityReport:
    """Result of the verification of a run file.

    Parameters
    ----------
    lines : messages that are not about rows.
    signals, results, events : results for the rows.
    numbers : first row and replacement numbering of samples whose stored numbers are impossible.
    growing : the file is being written, or its writer was killed: the last rows may have no checksum yet.
    """

    lines: tuple[str, ...]
    signals: PartIntegrity
    results: PartIntegrity
    events: PartIntegrity
    numbers: tuple[tuple[int, Numbering], ...]
    growing: bool

    def messages(self, seconds: Callable[[int], float] | None = None) -> list[str]:
        """Return one line per finding; of many spans only the first ten are listed.

        Parameters
        ----------
        seconds : returns the time of a sample's row since the start; without it only row numbers are given.
        """
        return [
            *self.lines,
            *self._lines(self.signals, "samples", seconds),
            *self._lines(self.results, "result rows"),
            *self._lines(self.events, "events"),
        ]

    def _lines(self, found: PartIntegrity, what: str, seconds: Callable[[int], float] | None = None) -> list[str]:
        unchecked = tuple(span for span in found.unchecked if not (self.growing and span[1] == found.rows))
        lines = [f"{found.missing} more {what} were recorded, but are lost"] if found.missing else []
        for spans, how in (
            (found.doubtful, "doubtful: their checksum differs"),
            (unchecked, "without a checksum"),
        ):
            for start, stop in spans[:_MAX_SPANS]:
                at = f" ({seconds(start):.6g} s to {seconds(stop - 1):.6g} s)" if seconds is not None else ""
                lines.append(f"{what} {start} to {stop - 1} of {found.rows}{at} are {how}")
            more = spans[_MAX_SPANS:]
            if more:
                lines.append(
                    f"{sum(stop - start for start, stop in more)} more {what} in {len(more)} spans are {how}"
                )
        return lines


def verify_run(
    file: h5py.File,
    checks: ChecksumTable,
    n_samples: int,
    n_results: int,
    n_events: int,
    rate: float,
    growing: bool,
    progress: Progress = no_progress,
) -> IntegrityReport:
    """Compare a whole run file with its checksums; raises one of `HDF5_ERRORS` where it is damaged."""
    lines = [f"{_TABLE_NAMES[name]} do not match their checksum" for name in checks.damaged_tables(file)]
    if checks.damaged:
        lines.append(f"{checks.damaged} checksums are damaged themselves")
    signals = contents.series(file, layout.SIGNALS)
    samples = checks.verify(layout.SIGNALS, signals, n_samples, progress)
    values = contents.series(file, layout.RESULTS) if n_results else ()
    results = checks.verify(layout.RESULTS, values, n_results, progress)
    stored_events = [contents.dataset(file, layout.EVENTS)] if n_events else ()
    events = checks.verify(layout.EVENTS, stored_events, n_events)
    numbers = _replacement_numbers(signals, samples.doubtful, n_samples, rate)
    return IntegrityReport(tuple(lines), samples, results, events, numbers, growing and not checks.damaged)


def readable_samples(path: Path, created: str) -> int:
    """Return how many samples of the run file that was created then can be read; 0 if it cannot be read at all.

    Of a file up to 256 MB, those whose checksum differs do not count.
    """
    try:
        with open_run_file(path) as (file, block):
            if stored_text(file.attrs.get("created", "")) != created:
                return 0
            known = ChecksumTable.read(file, block.size, tolerant=True)
            n_samples = contents.written_rows(
                file, layout.SIGNALS, block.size, tolerant=True, checked=known.covered(layout.SIGNALS)
            )
            if block.size > _MAX_CHECKED_BYTES:
                return n_samples
            found = known.verify(layout.SIGNALS, contents.series(file, layout.SIGNALS), n_samples)
            return n_samples - sum(stop - start for start, stop in found.doubtful)
    except (layout.RunFileError, *HDF5_ERRORS):
        return 0


def _replacement_numbers(
    signals: Sequence[h5py.Dataset], doubtful: Sequence[Span], n_samples: int, rate: float
) -> tuple[tuple[int, Numbering], ...]:
    _, time, epoch, index = signals
    replacements = []
    for start, stop in doubtful:
        low, high = max(0, start - 1), min(n_samples, stop + 1)
        rows = Numbering(time[low:high], epoch[low:high], index[low:high])
        if not is_consistent(rows, rate):
            before, after = rows.part(0, start - low), rows.part(stop - low, high - low)
            replacements.append((start, extrapolated(before, after, stop - start, rate)))
    return tuple(replacements)


@dataclass(frozen=True, slots=True, eq=False)
class Numbering:
    """Time [s], epoch and index of consecutive rows, (n,) each."""

    time: Samples
    epoch: Integers
    index: Integers

    def __len__(self) -> int:
        return len(self.index)

    def part(self, begin: int, end: int) -> Numbering:
        """Return the rows `begin` to `end` - 1."""
        return Numbering(self.time[begin:end], self.epoch[begin:end], self.index[begin:end])

    def replace(self, begin: int, other: Numbering) -> None:
        """Replace the numbers from row `begin` on."""
        end = begin + len(other)
        self.time[begin:end], self.epoch[begin:end], self.index[begin:end] = (
            other.time,
            other.epoch,
            other.index,
        )


def is_consistent(rows: Numbering, rate: float) -> bool:
    """Whether index and time increase together at `rate` [Hz], with at most one restart."""
    if not (np.isfinite(rows.time).all() and (rows.index >= 0).all() and (rows.epoch >= 0).all()):
        return False
    same_epoch = rows.epoch[1:] == rows.epoch[:-1]
    if np.count_nonzero(~same_epoch) > 1:
        return False
    # in floating point, where large differences do not wrap around
    steps: NDArray[np.float64] = np.diff(rows.index.astype(np.float64))[same_epoch]
    with np.errstate(over="ignore"):
        elapsed: NDArray[np.float64] = rate * np.diff(rows.time)[same_epoch]
    return bool((steps >= 1.0).all() and (np.abs(elapsed - steps) <= 1.0 + 0.1 * steps).all())


def extrapolated(before: Numbering, after: Numbering, n_rows: int, rate: float) -> Numbering:
    """Return the numbers of `n_rows` rows after `before`, or before `after`; both may be empty."""
    count = np.arange(n_rows)
    if len(before):
        first, time, epoch = int(before.index[-1]) + 1, float(before.time[-1]) + 1.0 / rate, int(before.epoch[-1])
    elif len(after) and after.index[0] >= n_rows:
        first, time, epoch = int(after.index[0]) - n_rows, float(after.time[0]) - n_rows / rate, int(after.epoch[0])
    else:
        first, time, epoch = 0, 0.0, 0
    return Numbering(time + count / rate, np.full(n_rows, epoch), first + count)
