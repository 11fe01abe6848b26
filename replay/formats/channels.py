"""Channels of loggers, in groups, each with a rate or with times -> tables of those that fit together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from monitor.messages.blocks import Samples
from replay.formats.attributes import read_scaling, scaled
from replay.formats.base import RecordingError
from replay.formats.columns import TableColumn, name_and_unit, some
from replay.formats.roles import pairs_given
from replay.formats.signal_table import Changes, SignalTable, at_rows, outside, read_states

MICROSECONDS = 1_000_000  # of a second


@dataclass(frozen=True, eq=False)
class FileChannel:
    """One channel of a file.

    Parameters
    ----------
    group, name : of a group, topic or stream, and of the channel in it.
    n_rows : its samples.
    read : first row, end row -> (n,), float64.
    unit : its symbol; empty if the file gives none.
    rate, start : Hz, and s of the first sample, where it is evenly sampled by the file.
    times : (n_rows,) s; the same array for all channels of a group that share it.
    day : of dates in UTC, whose values are s since the beginning of it, in days since 1970.
    role, actuator : where the file gives them.
    about : what else the file says of it, such as a gain.
    """

    group: str
    name: str
    n_rows: int
    read: Callable[[int, int], Samples]
    unit: str = ""
    rate: float | None = None
    start: float = 0.0
    times: Samples | None = None
    day: int | None = None
    role: str = ""
    actuator: str = ""
    about: Mapping[str, object] = field(default_factory=dict)

    @classmethod
    def of(cls, group: str, name: str, values: Samples, unit: str = "", **more: Any) -> FileChannel:
        """Return a channel whose samples, (n_rows,), are in memory."""
        return cls(group, name, len(values), lambda begin, end: values[begin:end], unit, **more)


@dataclass(frozen=True, eq=False)
class TextChannel:
    """Texts of a file: of each row of the channels of its group, or, as markers, at times of their own, s."""

    group: str
    name: str
    texts: Sequence[object]
    times: Samples | None = None

    def fits(self, group: str, n_rows: int, has_times: bool) -> bool:
        """Whether the texts are those of a table of that group and length, or it has the times for markers."""
        return has_times if self.times is not None else (group, n_rows) == (self.group, len(self.texts))

    def states(self, n_rows: int, times: Samples | None, origin: str) -> tuple[Changes, tuple[str, ...]]:
        """Return what changes at the rows of a table that it fits, and notes."""
        if self.times is None or times is None:
            return read_states({self.name: self.texts}, origin=origin)
        step = (times[-1] - times[0]) / (n_rows - 1)
        within = (self.times > times[0] - step) & (self.times < times[-1] + step)
        texts = [text if inside else "" for text, inside in zip(self.texts, within, strict=True)]
        found, notes = read_states({self.name: texts}, markers=True, origin=origin)
        rows = np.searchsorted(times, self.times[[change.row for change in found]])
        left_out = outside(int(np.count_nonzero(~within)))
        return at_rows(found, np.minimum(rows, n_rows - 1)), (*(notes if found else ()), *left_out)


def pauses(pieces: Sequence[tuple[int, int]], rate: float, n_rows: int) -> tuple[tuple[int, float], ...]:
    """Return the samples at which the waveform began again, and by how much later than after the one before, s."""
    found: list[tuple[int, float]] = []
    for row, when in pieces[1:] if rate else ():
        later = (when - pieces[0][1]) / MICROSECONDS - (row - pieces[0][0]) / rate - sum(s for _, s in found)
        if row < n_rows and abs(later) * rate > 0.5:
            found.append((row, later))
    return tuple(found)


def paused_times(channel: FileChannel, apart: tuple[tuple[int, float], ...]) -> Samples:
    """Return the times of samples with pauses between them, (n_rows,) s."""
    times: Samples = channel.start + np.arange(channel.n_rows) / (channel.rate or np.nan)
    for row, later in apart:
        times[row:] += later
    return times


def tables_of_channels(
    path: Path,
    channels: Sequence[FileChannel],
    notes: Iterable[str] = (),
    left_out: Sequence[str] = (),
    texts: Sequence[TextChannel] = (),
    *,
    cut: bool = False,
) -> list[SignalTable]:
    """Return the tables of a file: channels of one group, length and rate are one.

    Parameters
    ----------
    path : of the file.
    channels : with two samples or more each.
    notes : on the file.
    left_out : what cannot be a signal.
    texts : kept as events of the tables that they fit, else left out.
    cut : whether the file ends before it was finished.

    Raises
    ------
    RecordingError : there are no channels.
    """
    fits = {(c.group, c.n_rows, c.times is not None) for c in channels}
    left_out = [*left_out, *(f"{t.name} (text)" for t in texts if not any(t.fits(*each) for each in fits))]
    listed = some(left_out)
    if not channels:
        raise RecordingError(
            f"{path}: no channel of numbers with two samples or more" + (f"; it holds {listed}" * bool(listed))
        )
    scalings = [read_scaling(channel.name, channel.about) for channel in channels]
    channels = [
        channel if scaling.does_nothing else replace(channel, read=scaled(channel.read, scaling))
        for channel, scaling in zip(channels, scalings, strict=True)
    ]
    notes = (*notes, *(note for scaling in scalings for note in scaling.notes))
    said = (*notes, *((f"left out, no signals: {listed}",) if listed else ()))
    groups: dict[tuple[str, int, float | None, float, int], list[tuple[int, FileChannel]]] = {}
    for position, channel in enumerate(channels):
        # starts that are no further apart than a thousandth of a sample are one
        start = round(1e3 * channel.start * (channel.rate or 0.0))
        key = channel.group, channel.n_rows, channel.rate, start, id(channel.times)
        groups.setdefault(key, []).append((position, channel))
    names = [name_and_unit(channel.name)[0] for channel in channels]
    of_group = [group for group, *_ in groups]
    sizes = [(group, n_rows) for group, n_rows, *_ in groups]
    tables = []
    for (group, n_rows, rate, _, _), members in groups.items():
        columns = tuple(_column(position, channel, names) for position, channel in members)
        first = members[0][1]
        told = [
            each.states(n_rows, first.times, f"{number} {each.group}/{each.name}")
            for number, each in enumerate(texts)
            if each.fits(group, n_rows, first.times is not None)
        ]
        days = {position: channel.day for position, channel in members if channel.day is not None}
        tables.append(
            SignalTable(
                path,
                columns,
                n_rows,
                _reader(dict(members)),
                name=group if of_group.count(group) == 1 else _part_name(first, members, sizes),
                notes=(*said, *(note for _, about in told for note in about)),
                days=days,
                in_utc=frozenset(days),
                times=first.times,
                rate=rate,
                start=first.start,
                cut=cut,
                states=tuple(sorted(change for changes, _ in told for change in changes)),
                pairs=pairs_given(columns, {position: (c.role, c.actuator) for position, c in members}),
            )
        )
    return tables


def _part_name(
    first: FileChannel, members: Sequence[tuple[int, FileChannel]], sizes: Sequence[tuple[str, int]]
) -> str:
    """Return the name of channels of a group that has others: by their number of samples, else by the first name."""
    if sizes.count((first.group, first.n_rows)) == 1:
        return f"{first.group} ({first.n_rows} rows)"
    more = f" and {len(members) - 1} more" if len(members) > 1 else ""
    return f"{first.group}/{first.name}{more}"


def _column(position: int, channel: FileChannel, names: Sequence[str]) -> TableColumn:
    own, unit = name_and_unit(channel.name)
    own = own or f"channel_{position + 1}"
    # a whole name is that of one channel; in a group it may repeat too
    whole = own if names.count(own) == 1 else f"{channel.group}/{own}"[:110]
    if names.count(own) > 1 and own in names[:position]:
        whole = f"{whole}_{position + 1}"
    return TableColumn(position, whole, channel.unit or unit, f"{channel.group}/{channel.name}", own)


def _reader(members: dict[int, FileChannel]) -> Callable[[int, int, Sequence[TableColumn]], Samples]:
    def read(begin: int, end: int, columns: Sequence[TableColumn]) -> Samples:
        return np.column_stack([members[column.position].read(begin, end) for column in columns])

    return read
