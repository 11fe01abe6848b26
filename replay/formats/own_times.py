"""Times of single signals: a table becomes one for each of its clocks, and tables are put together again."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from monitor.messages.blocks import Samples
from replay.formats.base import RecordingError, Selection
from replay.formats.clock import resample
from replay.formats.columns import SECONDS, TableColumn
from replay.formats.roles import role_by_name
from replay.formats.signal_table import Change, Changes, SignalTable, array_reader, at_rows, outside
from replay.formats.table_recording import without_sentinels
from replay.formats.times import choose_time, sample_times

_TIME_WORD = re.compile(r"^(?:time|t|zeit|timestamp|tid)[ _.:]+(?=.)|(?<=.)[ _.:]+(?:time|t|zeit|timestamp)$", re.I)
_NUMBERED = re.compile(r"^(?:t|time|zeit|timestamp)[ _]?\d{1,2}$", re.I)
_MIXED = re.compile(r"^(time|t)([A-Z]\w*)$")  # tCommand, timeMeasured
_SAME = 1e-3  # of a step: clocks that are no further apart are one


def by_own_times(table: SignalTable, selection: Selection) -> list[SignalTable]:
    """Return the table, or one for each of its clocks where its columns of times differ.

    A column of times belongs to the signals whose name it bears (``t_command``), else to the columns after it, or
    before it where the first column is none. The user's own time or rate is that of all columns, which is noted.

    Raises
    ------
    RecordingError : which signals the times belong to is not clear; one line.
    """
    if table.clock is not None:
        return [table]
    table = replace(table, columns=_without_signals_as_units(table.columns))
    owners = _named_owners(table)
    if table.times is not None and not owners:
        return [table]
    plain = [c for c in table.columns if (c.is_time or c.position in table.days) and c not in owners]
    numbered = [c for c in table.columns if _NUMBERED.match(c.stem) and c not in (*owners, *plain)]
    # T1 may be a temperature that rises
    plain += [c for c in numbered if _rises(table, c) and all(_is_as_long(table, c, clock) for clock in plain[:1])]
    plain.sort(key=table.columns.index)
    if not owners and all(c.is_time or c.position in table.days for c in plain[:2]) and len(plain) < 2:
        return [table]
    named = tuple(owners)
    clocks = _distinct_clocks(table, plain, owners)
    if len(clocks) < 2:
        equal = [column for column in named if column not in clocks]
        columns = tuple(column for column in table.columns if column not in equal)
        return [replace(table, columns=columns, clock=clocks[0] if not clocks[0].is_time else None)]
    if selection.time is not None or selection.rate is not None:
        names = ", ".join(c.name for c in clocks)
        used = "the rate that is given" if selection.time is None else selection.time
        return [replace(table, notes=(*table.notes, f"signals have own times ({names}): all are taken at {used}"))]
    return _parts(table, clocks, owners)


def _named_owners(table: SignalTable) -> dict[TableColumn, list[TableColumn]]:
    """Return the columns of times that bear the names, or the role, of other columns, each with these columns."""
    found: dict[TableColumn, list[TableColumn]] = {}
    for column in table.columns:
        rest = _signal_named(column)
        if not rest:
            continue
        others = [c for c in table.columns if c is not column and not c.is_time and not _signal_named(c)]
        signals = [c for c in others if _plain(rest) in (_plain(c.own or c.name), _plain(c.stem))]
        role = role_by_name(replace(column, name=f"x_{rest}" if len(rest) == 1 else rest, own=""))
        signals = signals or [c for c in others if role is not None and role_by_name(c) is role]
        if signals and _rises(table, column):
            found[column] = signals
    return found


def _without_signals_as_units(columns: Sequence[TableColumn]) -> tuple[TableColumn, ...]:
    """Return columns where ``time (command)`` is no time in the unit `command`, but that of the command."""
    names = {_plain(c.stem) for c in columns}
    return tuple(
        replace(c, unit="", own=f"time {c.unit}") if c.is_time and c.unit and _plain(c.unit) in names else c
        for c in columns
    )


def _signal_named(column: TableColumn) -> str:
    """Return what is left of the name of a column without a word for times; empty where it has none."""
    if column.is_time:
        return ""
    name = column.own or column.name
    mixed = _MIXED.match(name)
    return mixed[2] if mixed else (_TIME_WORD.sub("", name, count=1) if _TIME_WORD.search(name) else "")


def _plain(text: str) -> str:
    return re.sub(r"[\W_]", "", text).lower()


def _rises(table: SignalTable, column: TableColumn) -> bool:
    values = table.column(column)
    values = values[np.isfinite(values)]
    return len(values) > 1 and bool(np.all(np.diff(values) > 0.0))


def _is_as_long(table: SignalTable, column: TableColumn, clock: TableColumn) -> bool:
    """Whether a column covers a time of about the length that a clock does."""
    spans = [float(np.ptp(values[np.isfinite(values)])) for values in (_seconds(table, c) for c in (column, clock))]
    return bool(0.2 * spans[1] <= spans[0] <= 5.0 * spans[1])


def _seconds(table: SignalTable, column: TableColumn) -> Samples:
    return table.column(column) * SECONDS.get(column.unit.strip().lower(), 1.0)


def _distinct_clocks(
    table: SignalTable, plain: Sequence[TableColumn], owners: dict[TableColumn, list[TableColumn]]
) -> list[TableColumn]:
    """Return the columns of times that differ; one beside another, or with another origin, is the same clock."""
    clocks: list[TableColumn] = list(owners)
    before = -2
    for column in plain:
        place = table.columns.index(column)
        beside, before = table.ordered and place == before + 1, place
        if not beside or not clocks:
            clocks.append(column)
    kept: list[TableColumn] = []
    for column in clocks:
        same = next((c for c in kept if _is_same(table, c, column, owners)), None)
        if same is None:
            kept.append(column)
        elif column in owners:
            owners.setdefault(same, [])
            owners[same] += owners.pop(column)
    return kept


def _is_same(
    table: SignalTable, known: TableColumn, column: TableColumn, owners: Mapping[TableColumn, Sequence[TableColumn]]
) -> bool:
    """Whether two columns of times are equal, or, under other names, one clock from two origins far apart."""
    one, other = _seconds(table, known), _seconds(table, column)
    there = np.isfinite(one)
    if not np.array_equal(there, np.isfinite(other)) or np.count_nonzero(there) < 2:
        return False
    apart = (other - one)[there]
    steps = np.abs(np.diff(one[there]))
    usual, span = float(np.median(steps)), float(np.sum(steps))
    if float(np.ptp(apart)) > max(_SAME * usual, 8.0 * float(np.max(np.spacing(np.abs(other[there]))))):
        return False
    other_origin = not (known in owners or column in owners) and (known.own or known.name) != (
        column.own or column.name
    )
    return abs(float(apart[0])) <= _SAME * usual or (other_origin and abs(float(apart[0])) > span)


def _parts(
    table: SignalTable, clocks: Sequence[TableColumn], owners: dict[TableColumn, list[TableColumn]]
) -> list[SignalTable]:
    of: dict[TableColumn, list[TableColumn]] = {clock: list(owners.get(clock, ())) for clock in clocks}
    taken = {c.position for clock, signals in of.items() for c in (clock, *signals)}
    left = [c for c in table.columns if c.position not in taken]
    loose = [clock for clock in clocks if clock not in owners]
    places = [table.columns.index(clock) for clock in loose]
    if left and len(loose) == 1:
        of[loose[0]] += left
    elif left and loose:
        if not table.ordered:
            names = " and ".join(clock.name for clock in loose)
            raise RecordingError(f"{names} are different times, and the file does not say of what: give --time NAME")
        after = places[0] == 0
        for column in left:
            at = table.columns.index(column)
            sides = [k for k, place in enumerate(places) if (place < at if after else place > at)]
            of[loose[(sides[-1] if after else sides[0]) if sides else (0 if after else -1)]].append(column)
    elif left:
        of[clocks[0]] += left
    parts = []
    for clock, signals in of.items():
        if not signals:
            continue
        rows = np.flatnonzero(np.isfinite(table.column(clock)))
        name = f"{table.name}/{clock.name}".strip("/") if table.name else clock.name
        columns = tuple(sorted((clock, *signals), key=lambda c: c.position))
        part = replace(table, columns=columns, name=name, clock=clock, pairs=(), times=None)
        parts.append(part if len(rows) == table.n_rows else _with_rows(part, rows))
    return parts


def _with_rows(table: SignalTable, rows: np.ndarray) -> SignalTable:
    """Return some rows of a table: a signal with fewer samples than others has empty cells."""

    def read(begin: int, end: int, columns: Sequence[TableColumn]) -> Samples:
        wanted = rows[begin:end]
        if not len(wanted):
            return np.empty((0, len(columns)))
        part: Samples = table.read(int(wanted[0]), int(wanted[-1]) + 1, columns)[wanted - wanted[0]]
        return part

    later = np.searchsorted(rows, [change.row for change in table.states])
    kept = at_rows(table.states, np.minimum(later, len(rows) - 1))
    return replace(table, n_rows=len(rows), read=read, place=lambda row: table.place(int(rows[row])), states=kept)


def joined(wanted: Sequence[tuple[TableColumn, SignalTable]], selection: Selection) -> tuple[SignalTable, bool]:
    """Return tables as one: as they are where they have the same times, else resampled where all have samples.

    Parameters
    ----------
    wanted : columns, each with its table.
    selection : with the rate to resample to, if any.

    Returns
    -------
    table : with the columns of all.
    resampled : whether samples were interpolated.

    Raises
    ------
    RecordingError : they were not sampled at the same times and no rate is asked for, or have no times in common.
    """
    tables = list({id(table): table for _, table in wanted}.values())
    names = " and ".join(table.name for table in tables)
    parts = ", ".join(f"{c.name} ({table.n_rows} rows of {table.name}" + "{})" for c, table in wanted)
    apart = "the columns were not sampled together"
    try:
        times = _on_one_clock(tables)
    except RecordingError as problem:
        rows = parts.replace("{}", "")
        raise RecordingError(f"{apart}: {rows}; choose columns of one dataset ({problem})") from None
    if all(len(each) == len(times[0]) and _is_same_instants(times[0], each) for each in times[1:]):
        return _side_by_side(tables, times[0], names), False
    rate = selection.resample
    if rate is None:
        rates = [(len(each) - 1) / float(each[-1] - each[0]) for each in times]
        by_table = {
            id(table): f", from {each[0] - times[0][0]:.6g} s at {own:.6g} Hz"
            for table, each, own in zip(tables, times, rates, strict=True)
        }
        found = parts.format(*(by_table[id(table)] for _, table in wanted))
        raise RecordingError(
            f"{apart}: {found}; choose columns of one dataset, or give --resample HZ to interpolate them to the same "
            f"instants, such as --resample {max(rates):.4g}"
        )
    span = max(float(each[0]) for each in times), min(float(each[-1]) for each in times)
    if not span[0] < span[1]:
        raise RecordingError(f"{names} have no time in common: choose columns of one of them")
    n_samples = int(np.floor((span[1] - span[0]) * rate + 1e-9)) + 1
    values = np.full((n_samples, sum(len(table.columns) for table in tables)), np.nan)
    columns: list[TableColumn] = []
    notes = [f"{names} are put together from {span[0]:.6g} to {span[1]:.6g} s, where all have samples"]
    for table, each in zip(tables, times, strict=True):
        kept, missing = without_sentinels(table.values(table.columns), table.columns)
        samples, timing = resample(each, kept, rate, table.place, span)
        at = slice(None) if timing.index is None else timing.index
        values[at, len(columns) : len(columns) + len(table.columns)] = samples
        columns += table.columns
        notes += [*missing, *(f"{table.name}: {note}" for note in timing.notes)]
    places = {column.position: place for place, column in enumerate(columns)}
    whole = _side_by_side(tables, span[0] + np.arange(n_samples) / rate, names, notes)
    states, left_out = _resampled_states(tables, times, span, rate)
    states = at_rows(states, (min(change.row, n_samples - 1) for change in states))
    whole = replace(whole, states=states, notes=(*whole.notes, *outside(left_out)))
    return replace(whole, n_rows=n_samples, read=array_reader(values, places)), True


def _resampled_states(
    tables: Sequence[SignalTable], times: Sequence[Samples], span: tuple[float, float], rate: float
) -> tuple[Changes, int]:
    """Return the changes in the span, each once, by samples from its beginning, and how many are outside of it.

    Of those before it the last of each column of text is in force where it begins.
    """
    # parts of one table have the same ones
    found = {
        (change.origin, change.number): (float(each[change.row]), change)
        for table, each in zip(tables, times, strict=True)
        for change in table.states
    }
    kept, in_force, left_out = [], dict[str, Change](), 0
    for at, change in sorted(found.values()):
        if span[0] <= at <= span[1]:
            kept.append(change._replace(row=int(np.ceil((at - span[0]) * rate - 1e-6))))
        elif at < span[0] and not change.is_marker:
            in_force[change.origin] = change._replace(row=0)
        else:
            left_out += 1
    return tuple(sorted((*in_force.values(), *kept))), left_out


def _on_one_clock(tables: Sequence[SignalTable]) -> list[Samples]:
    """Return the times of each table, s, all from one origin.

    Raises
    ------
    RecordingError : one has none, or dates where others have none.
    """
    found, days = [], []
    for table in tables:
        # options of the user are of one table
        time = choose_time(table, Selection())
        found.append(sample_times(table, time, Selection())[0])
        days.append(None if time is None else table.days.get(time.position))
    known = [day for day in days if day is not None]
    if known and len(known) < len(days):
        raise RecordingError("some have dates and others none: no clock is common to them")
    return [t + 86400.0 * ((day or 0) - min(known, default=0)) for t, day in zip(found, days, strict=True)]


def _is_same_instants(one: Samples, other: Samples) -> bool:
    usual = float(np.median(np.diff(one)))
    return bool(np.max(np.abs(one - other)) <= _SAME * abs(usual))


def _side_by_side(tables: Sequence[SignalTable], times: Samples, name: str, notes: Sequence[str] = ()) -> SignalTable:
    """Return the columns of tables of equal length as one table with these times."""
    owner = {column.position: table for table in tables for column in table.columns}

    def read(begin: int, end: int, columns: Sequence[TableColumn]) -> Samples:
        return np.column_stack([owner[c.position].read(begin, end, (c,)) for c in columns])

    clocks = {id(choose_time(table, Selection())) for table in tables}
    columns = tuple(c for table in tables for c in table.columns if id(c) not in clocks)
    said = dict.fromkeys(note for table in tables for note in table.notes)
    states = tuple(sorted({change for table in tables for change in table.states}))
    return replace(
        tables[0],
        columns=columns,
        read=read,
        name=name,
        notes=(*said, *notes),
        times=times,
        pairs=(),
        clock=None,
        states=states,
    )
