"""Measured responses out of text files: one file a replicate."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from monitor.messages.blocks import Samples
from replay.formats.base import RecordingError
from replay.formats.clock import check_times
from replay.formats.columns import SECONDS, Column, find_column, listing
from replay.formats.table import read_table

RESPONSE = "response"


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredRecord:
    """One replicate as it was recorded.

    Parameters
    ----------
    name : for messages.
    time : (n_samples,), s, rising.
    response : (n_samples,), in `unit`; NaN where a sample is missing.
    unit : empty where the file does not say.
    notes : what the reader took for granted.
    """

    name: str
    time: Samples
    response: Samples
    unit: str = ""
    notes: tuple[str, ...] = ()

    @property
    def dt(self) -> float:
        """The median step, s."""
        return float(np.median(np.diff(self.time)))


def read_record(path: Path, time: str | None = None, response: str | None = None) -> MeasuredRecord:
    """Read a text table with a column of times and one of the response.

    Parameters
    ----------
    path : any text table that `replay` reads.
    time, response : columns by name or number; by default the ones called so, or the only two there are.

    Raises
    ------
    RecordingError : the file or a column is not there, or the times do not rise; one line with the file's name.
    """
    try:
        table = read_table(path)
        clock = _time_column(table.columns, time)
        signal = _response_column(table.columns, clock, response)
        factor = SECONDS.get(clock.unit.strip().lower() or "s")
        if factor is None:
            raise RecordingError(f"the times of {clock.name!r} are in {clock.unit!r}, which is not a time unit")
        times = factor * table.values[:, clock.position]
        check_times(times, table.line, advice="")
        wrong = np.flatnonzero(np.diff(times) <= 0.0)
        if len(wrong):
            raise RecordingError(f"the time does not rise at line {table.line(int(wrong[0]) + 1)}")
    except RecordingError as problem:
        text = str(problem)
        raise RecordingError(text if text.startswith(str(path)) else f"{path}: {text}") from None
    except OSError as problem:
        raise RecordingError(f"{path}: {(problem.strerror or str(problem)).lower()}") from problem
    return MeasuredRecord(str(path), times, table.values[:, signal.position].copy(), signal.unit, table.notes)


def _time_column(columns: tuple[Column, ...], name: str | None) -> Column:
    if name is not None:
        return find_column(columns, name)
    named = [column for column in columns if column.is_time]
    # without a header the first of two can be nothing else
    if named or len(columns) == 2:
        return (named or list(columns))[0]
    raise RecordingError(f"no column of times among {listing(columns)}: name it with --time NAME")


def _response_column(columns: tuple[Column, ...], clock: Column, name: str | None) -> Column:
    if name is not None:
        return find_column(columns, name)
    named = [column for column in columns if column.stem.strip().lower() == RESPONSE]
    others = [column for column in columns if column is not clock]
    if len(named) == 1 or len(others) == 1:
        return (named if len(named) == 1 else others)[0]
    raise RecordingError(f"which of {listing(others) or 'no column'} is the response: name it with --response NAME")
