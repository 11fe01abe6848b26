"""Measured records of a response: from text tables and from run files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from monitor.messages.blocks import Channel, Samples, SignalBlock
from monitor.system.files import check_regular
from replay.formats.base import RecordingError, Selection
from replay.formats.clock import check_times
from replay.formats.columns import SECONDS, TableColumn, find_column, listing
from replay.formats.run_file import FORMAT
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
    unit : empty if the file has none.
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
        check_times(times, table.place, advice="")
        wrong = np.flatnonzero(np.diff(times) <= 0.0)
        if len(wrong):
            raise RecordingError(f"the time does not rise at {table.place(int(wrong[0]) + 1)}")
    except RecordingError as problem:
        text = str(problem)
        raise RecordingError(text if text.startswith(str(path)) else f"{path}: {text}") from None
    except OSError as problem:
        raise RecordingError(f"{path}: {(problem.strerror or str(problem)).lower()}") from problem
    return MeasuredRecord(str(path), times, table.values[:, signal.position].copy(), signal.unit, table.notes)


def _time_column(columns: tuple[TableColumn, ...], name: str | None) -> TableColumn:
    if name is not None:
        return find_column(columns, name)
    named = [column for column in columns if column.is_time]
    # without a header the first of two can be nothing else
    if named or len(columns) == 2:
        return (named or list(columns))[0]
    raise RecordingError(f"no column of times among {listing(columns)}: name it with --time NAME")


def _response_column(columns: tuple[TableColumn, ...], clock: TableColumn, name: str | None) -> TableColumn:
    if name is not None:
        return find_column(columns, name)
    named = [column for column in columns if column.stem.strip().lower() == RESPONSE]
    others = [column for column in columns if column is not clock]
    if len(named) == 1 or len(others) == 1:
        return (named if len(named) == 1 else others)[0]
    raise RecordingError(f"which of {listing(others) or 'no column'} is the response: name it with --response NAME")


_BLOCK = 1 << 16
_HEAD = 64


def is_run(path: Path) -> bool:
    """Whether a file is a run that the monitor recorded, by its first bytes; False if it cannot be read."""
    try:
        check_regular(path)
        with path.open("rb") as file:
            return FORMAT.accepts(path, file.read(_HEAD), Selection())
    except OSError:
        return False


def read_run(path: Path, response: str | None = None) -> MeasuredRecord:
    """Return one channel of a run.

    Its times count from the rig's sample 0, as they do for a model that is validated live. Lost samples are missing.

    Parameters
    ----------
    path : of the run file.
    response : the channel; by default the one called so, or the only one.

    Raises
    ------
    RecordingError : the file cannot be read, the channel is not there, or the rig was restarted in the run.
    """
    recording = FORMAT.open(path, Selection())
    channels = recording.stream.channels
    position = _position(path, channels, response)
    blocks = [block for block in recording.blocks(_BLOCK) if len(block)]
    epochs = {block.stream.epoch for block in blocks}
    if len(epochs) > 1:
        raise RecordingError(
            f"{path}: the rig was restarted in it, it holds {len(epochs)} tests: record each by itself"
        )
    if not blocks:
        raise RecordingError(f"{path}: holds no samples")
    time = np.concatenate([_times(block) for block in blocks])
    values = np.concatenate([block.samples[:, position] for block in blocks])
    return MeasuredRecord(str(path), time, values, channels[position].unit, recording.notes)


def _times(block: SignalBlock) -> np.ndarray:
    return (block.index + np.arange(len(block))) / block.stream.sample_rate


def _position(path: Path, channels: tuple[Channel, ...], response: str | None) -> int:
    names = [channel.name for channel in channels]
    name = response or (RESPONSE if RESPONSE in names else names[0] if len(names) == 1 else None)
    if name in names:
        return names.index(name)
    problem = (
        f"no channel {response!r}" if response else "which channel is the response: name it with --response NAME"
    )
    raise RecordingError(f"{path}: {problem}; there are {', '.join(names)}")
