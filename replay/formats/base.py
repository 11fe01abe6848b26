"""What a recording is, what the user may choose of it, and how a format is registered."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from monitor.messages.blocks import Event, SignalBlock, Stream
from monitor.messages.recordings import FileColumn
from monitor.wire.native import MAX_RATE, MIN_RATE

if TYPE_CHECKING:
    from replay.formats.signal_table import SignalTable

_SPANS = 4096
LONG = 32 << 20  # bytes of a file, from which on some rows are shown before all are read
UNKNOWN_GAP = 1.0  # s, what a gap of unknown length is taken as
_ROUNDING = 1e-6  # of a sample: "start at 0.3 s" at 10 Hz means sample 3, not 4


def scattered(begin: int, end: int, length: int) -> list[int]:
    """Return the begins of short parts all over a long file: one, anywhere, in each of 4096 equal spans.

    Evenly spaced ones would show a beat with what is periodic; the last part is that at the end.
    """
    step = (end - begin - length) / _SPANS
    places = begin + step * np.arange(_SPANS) + (step - length) * np.random.default_rng(0).random(_SPANS)
    return [*places.astype(int).tolist(), end - length]


class RecordingError(ValueError):
    """A file cannot be read as a recording; the message gives what, where and what to do, in one line."""


class DamagedFileError(RecordingError):
    """A file cannot be read whatever is chosen of it."""


@dataclass(frozen=True)
class Selection:
    """Which columns of a file mean what; what is left empty is guessed.

    Parameters
    ----------
    command, measured, force : one column an actuator, by header or by number counted from 1.
    time : the column of times.
    rate : Hz of evenly spaced samples; overrides a time column.
    auxiliary : there are no actuators; every column is a signal of its own.
    dataset : the part of a file of several: a dataset, group, variable, topic or stream.
    resample : Hz to interpolate samples to that are not even.
    remember : write the choice beside the file.
    """

    command: tuple[str, ...] = ()
    measured: tuple[str, ...] = ()
    force: tuple[str, ...] = ()
    time: str | None = None
    rate: float | None = None
    auxiliary: bool = False
    dataset: str | None = None
    resample: float | None = None
    remember: bool = False

    def __post_init__(self) -> None:
        if len(self.command) != len(self.measured):
            raise RecordingError(
                f"{len(self.command)} command and {len(self.measured)} measured columns are named: "
                "give --command NAME --measured NAME, once for each actuator"
            )
        if self.auxiliary and self.names_columns:
            raise RecordingError("--auxiliary excludes actuators: leave --command and --force out")
        if self.time is not None and self.rate is not None:
            raise RecordingError("--time and --rate are both given: the rate needs no time column, leave one out")
        for name, rate in (("rate", self.rate), ("resample", self.resample)):
            if rate is not None and not MIN_RATE <= rate <= MAX_RATE:
                raise RecordingError(f"--{name} {rate:g}: must be between {MIN_RATE:g} and {MAX_RATE:g} Hz")

    @property
    def names_columns(self) -> bool:
        """Whether the user names the columns of the signals."""
        return bool(self.command or self.force)


class Recording(Protocol):
    """Samples that can be read from any instant, again and again."""

    @property
    def stream(self) -> Stream:
        """What the columns are; the epoch is the recorder's, or 0, and a player gives a new one."""

    @property
    def n_samples(self) -> int:
        """Samples that are there; those missing in gaps are not counted."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What the reader took for granted and the user should know, a line each."""

    @property
    def duration(self) -> float:
        """Seconds from the first sample to the one that would follow the last, through gaps and restarts."""

    def locate(self, start: float) -> float:
        """Return the first instant at or after `start` that has a sample, s; the duration when none has."""

    def blocks(self, block_length: int, start: float = 0.0) -> Iterator[SignalBlock]:
        """Give blocks of at most `block_length` samples, from `start` seconds after the first sample."""

    def timed_events(self) -> tuple[tuple[Event, float], ...]:
        """Return what happened, each with its time in s from the first sample, through gaps and restarts."""


def sample_number(start: float, sample_rate: float) -> int:
    """Return the number of the first sample at or after `start` seconds.

    Raises
    ------
    ValueError : the start is before the first sample, or no time.
    """
    if not 0.0 <= start * sample_rate < float("inf"):
        raise ValueError(f"start at {start:g} s: must not be before the first sample")
    return ceil(start * sample_rate - _ROUNDING)


@dataclass(frozen=True, slots=True)
class EpochStart:
    """A start of the publisher: epoch and index of its first sample, and its number from the record's first on.

    The number counts gaps; through restarts it continues without a pause.
    """

    epoch: int
    index: int
    number: int


def sample_numbers(
    starts: Sequence[EpochStart], epoch: NDArray[np.int64], index: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the numbers, (m,), of samples of these epochs and indices, (m,), in the order of the record.

    Parameters
    ----------
    starts : of the publisher, in their order; at least one where there are samples.
    """
    numbers = np.empty(len(index), dtype=np.int64)
    begins = [0, *(np.flatnonzero((np.diff(epoch) != 0) | (np.diff(index) <= 0)) + 1).tolist()]
    at = -1
    for begin, end in zip(begins, [*begins[1:], len(index)], strict=True):
        # a start may have no row of its own; rows without a start continue the one before
        later = (
            i
            for i in range(at + 1, len(starts))
            if starts[i].epoch == epoch[begin] and starts[i].index <= index[begin]
        )
        at = next(later, max(at, 0))
        numbers[begin:end] = starts[at].number + index[begin:end] - starts[at].index
    return numbers


@dataclass(frozen=True)
class Inspection:
    """What a file holds, also where it is not clear what it means.

    Parameters
    ----------
    columns : all of them in file order; empty where the file itself knows its channels, so that none is chosen.
    n_rows : rows of numbers.
    selection : the roles of the columns, by their references; with a problem what their values propose, if
        anything; None without columns.
    recording : the file as it is then read; None when that cannot be done.
    problem : what must be chosen, one line; empty if nothing must.
    remembered : whether something is chosen as it is remembered beside the file.
    notes : what the reader took for granted or left out, also where something must be chosen.
    coarse : whether the recording has only some rows all over the file, and gaps between them.
    """

    columns: tuple[FileColumn, ...]
    n_rows: int
    selection: Selection | None
    recording: Recording | None
    problem: str = ""
    remembered: bool = False
    notes: tuple[str, ...] = ()
    coarse: bool = False


def begins_with(*first: bytes) -> Callable[[Path, bytes, Selection], bool]:
    """Return what accepts files that begin with one of these bytes."""
    return lambda _path, head, _selection: head.startswith(first)


@dataclass(frozen=True)
class Format:
    """One kind of file.

    Parameters
    ----------
    name : what such a file is called.
    patterns : of usual file names, for a dialog that opens files.
    accepts : decides by the path, the first bytes and the selection.
    open : reads it, for formats that know their channels.
    tables : returns its columns, for formats in which the user may choose them.
    inspect : instead of looking for the actuators in these tables alone.
    shared : those of the patterns that files of many other programs have too.
    begins : whether the first bytes are those of a recording, for files that are so named or accepted; None: always.
    coarse : what some rows all over a long file show; None where all are to be read.
    """

    name: str
    patterns: tuple[str, ...]
    accepts: Callable[[Path, bytes, Selection], bool]
    open: Callable[[Path, Selection], Recording] | None = None
    tables: Callable[[Path], Sequence[SignalTable]] | None = None
    inspect: Callable[[Path, Selection], Inspection] | None = None
    shared: tuple[str, ...] = ()
    begins: Callable[[bytes], bool] | None = None
    coarse: Callable[[Path, Selection], Inspection | None] | None = None
