"""Which table of a file, and which of its columns: chosen by the user, given by the file, or found by names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from monitor.messages.blocks import Role, Samples
from monitor.messages.recordings import FileColumn
from replay.formats.base import DamagedFileError, Inspection, Recording, RecordingError, Selection
from replay.formats.columns import TableColumn, find_column, references, some
from replay.formats.own_times import by_own_times, joined
from replay.formats.roles import PairColumns, as_channels, choose_actuators, role_by_name
from replay.formats.signal_table import SignalTable
from replay.formats.table_recording import make_recording
from replay.formats.times import choose_time
from replay.formats.units import unit_factor

_LARGEST = 1e50  # sums of its squares are numbers
_MOST_COLUMNS = 32
MOST_ROWS = 1 << 14
_LEAST_ROWS = 64
_ALIKE = 0.95
_NEARLY = 0.02  # of the correlation: pairs that are as good, of which the gain nearest to 1 decides


@dataclass(frozen=True)
class Proposal:
    """Two columns of which one follows the other.

    Parameters
    ----------
    command, measured : the one that leads, and the one that follows.
    correlation : at the lag at which they are most alike.
    lag : samples by which it follows, 1 or more.
    """

    command: TableColumn
    measured: TableColumn
    correlation: float
    lag: int

    def advice(self, columns: Sequence[TableColumn]) -> str:
        """Return the text for a message that asks for two of these columns."""
        samples, found = "sample" if self.lag == 1 else "samples", references(columns)
        return (
            f"by their values perhaps --command {found[self.command]!r} --measured {found[self.measured]!r}, "
            f"which follows by {self.lag} {samples} (correlation {self.correlation:.3f})"
        )


def propose(columns: Sequence[TableColumn], values: Samples) -> Proposal | None:
    """Return the pair most alike at a lag, of columns whose units can be equal; None if none is.

    Where names say of some columns that they are commands, or measured signals, only these are proposed as such.

    Parameters
    ----------
    columns : of signals.
    values : (n, n_columns).
    """
    if not 2 <= len(columns) <= _MOST_COLUMNS or len(values) < _LEAST_ROWS:
        return None
    part = values[:MOST_ROWS]
    part = np.where(np.abs(part) < _LARGEST, part, 0.0)
    time = np.linspace(-1.0, 1.0, len(part))
    # a trend alone makes any two columns alike
    residual = part - np.mean(part, axis=0) - np.outer(time, time @ part / np.dot(time, time))
    size = np.sqrt(np.sum(residual**2, axis=0))
    moving = [at for at in range(len(columns)) if size[at] > 1e-9 * (1.0 + float(np.max(np.abs(part[:, at]))))]
    roles = [role_by_name(column) for column in columns]
    spectra = np.fft.rfft(residual / np.where(size > 0.0, size, 1.0), 2 * len(part), axis=0)
    most = len(part) // 4
    overlap = 1.0 - np.abs(np.arange(-most, most + 1)) / len(part)
    found = []
    for first, second in combinations(moving, 2):
        units = {columns[first].unit, columns[second].unit} - {""}
        if len(units) > 1:
            continue
        product = np.fft.irfft(np.conj(spectra[:, first]) * spectra[:, second])
        # fewer rows overlap at a long lag
        lags = np.concatenate([product[-most:], product[: most + 1]]) / overlap
        at = int(np.argmax(lags))
        lag = at - most
        # copies have no lag, and no order
        pair = (first, second) if lag > 0 else (second, first)
        # over the rows that both have: a whole product loses with the lag
        ahead, behind = residual[: len(part) - abs(lag), pair[0]], residual[abs(lag) :, pair[1]]
        alike = float(np.dot(ahead, behind) / (np.linalg.norm(ahead) * np.linalg.norm(behind) + 1e-300))
        if lag and alike >= _ALIKE and _fits(pair, roles):
            gain = abs(float(np.log(size[pair[1]] / size[pair[0]])))
            proposal = Proposal(columns[pair[0]], columns[pair[1]], alike, abs(lag))
            found.append((proposal.correlation, gain, proposal))
    if not found:
        return None
    best = max(correlation for correlation, _, _ in found)
    return min((each for each in found if each[0] >= best - _NEARLY), key=lambda each: each[1])[2]


def _fits(pair: tuple[int, int], roles: Sequence[Role | None]) -> bool:
    """Whether the names allow the pair of command and measured signal."""
    wanted = Role.COMMAND, Role.MEASURED
    return all(
        roles[at] is role if role in roles else roles[at] is None for at, role in zip(pair, wanted, strict=True)
    )


_MOST_LISTED, _LONGEST = 8, 120


@dataclass(frozen=True)
class _Choice:
    """The table, and its columns of time, signals and actuators."""

    table: SignalTable
    time: TableColumn | None
    signals: tuple[TableColumn, ...]
    actuators: tuple[PairColumns, ...]
    notes: tuple[str, ...]
    resample: float | None


def inspect_tables(tables: Sequence[SignalTable], selection: Selection) -> Inspection:
    """Return the columns of all tables of a file, and their roles as far as they are clear.

    Raises
    ------
    RecordingError : the file is damaged; one line with its name.
    """
    try:
        tables = [part for table in tables for part in by_own_times(table, selection)]
    except RecordingError as problem:
        unclear = str(problem)
    else:
        unclear = ""
    every = tuple(column for table in tables for column in table.columns)
    found = references(every)
    names = {c: table.name if len(tables) > 1 else "" for table in tables for c in table.columns}
    columns = tuple(FileColumn(c.name, c.unit, c.position + 1, found[c], names[c]) for c in every)
    try:
        if unclear:
            raise RecordingError(unclear)
        choice = _choose(tables, selection)
        recording = _read(choice, selection)
    except DamagedFileError:
        raise
    except RecordingError as problem:
        text = str(problem).removeprefix(f"{tables[0].path}: ")
        guess = None
        if isinstance(problem, _UnclearColumnsError):
            pair = found[problem.proposal.command], found[problem.proposal.measured]
            guess = replace(selection, command=pair[:1], measured=pair[1:])
        elif isinstance(problem, _SeveralDatasetsError):
            guess = _as_selection(problem.first, found, selection, tables)
        notes = tuple(dict.fromkeys(note for table in tables for note in table.notes))
        return Inspection(columns, max(table.n_rows for table in tables), guess, None, text, notes=notes)
    chosen = _as_selection(choice, found, selection, tables)
    return Inspection(columns, choice.table.n_rows, chosen, recording)


def _choose(tables: Sequence[SignalTable], selection: Selection) -> _Choice:
    tables = _dataset(tables, selection.dataset)
    if len(tables) == 1:
        return _columns(tables[0], selection)
    if selection.names_columns or selection.time is not None:
        table, resampled = _of_columns(tables, selection)
        choice = _columns(table, selection)
        return replace(choice, resample=None) if resampled else choice
    if selection.auxiliary:
        raise RecordingError(f"{len(tables)} datasets: {_ask_dataset(tables)}")
    found = []
    for table in tables:
        try:
            choice = _columns(table, selection)
        except DamagedFileError:
            raise
        except RecordingError:
            continue
        if choice.actuators:
            found.append(choice)
    if len(found) == 1:
        others = [table for table in tables if table is not found[0].table]
        left = f"read: {found[0].table.name}; left out: {_names(others)}; --dataset NAME chooses another"
        return replace(found[0], notes=(*found[0].notes, left))
    if found:
        several = [choice.table for choice in found]
        text = f"{len(several)} datasets have a command and a measured signal: {_ask_dataset(several)}"
        raise _SeveralDatasetsError(text, found[0])
    every = tuple(c for table in tables for c in table.columns if c is not choose_time(table, selection))
    owner = {column.position: table for table in tables for column in table.columns}
    try:
        actuators, notes = choose_actuators(every, selection)
    except RecordingError as problem:
        raise RecordingError(f"{problem}; or {_ask_dataset(tables)}") from None
    chosen = [c for a in actuators for c in (a.command, a.measured, a.force) if c is not None]
    table, resampled = joined([(column, owner[column.position]) for column in chosen], selection)
    return _Choice(table, None, table.columns, actuators, notes, None if resampled else selection.resample)


def _dataset(tables: Sequence[SignalTable], name: str | None) -> Sequence[SignalTable]:
    """Return the table of that name, or the columns below it in a tree."""
    if name is None:
        return tables
    plain = name.strip().strip("/").lower()
    exact = [table for table in tables if table.name.strip("/").lower() == plain]
    if exact:
        return exact
    below = []
    for table in tables:
        inside = tuple(c for c in table.columns if f"{c.header.strip('/')}/".lower().startswith(f"{plain}/"))
        if inside:
            pairs = table.pairs if len(inside) == len(table.columns) else ()
            below.append(replace(table, columns=inside, pairs=pairs))
    if not below and len(tables) == 1 and not tables[0].name:
        raise RecordingError("the file is one table: leave --dataset out")
    if not below:
        raise RecordingError(f"no dataset {name!r}; there are {_names(tables)}")
    return below


def _of_columns(tables: Sequence[SignalTable], selection: Selection) -> tuple[SignalTable, bool]:
    """Return the table that has the named columns, and whether it was made of several by resampling."""
    every = tuple(column for table in tables for column in table.columns)
    owner = {column.position: table for table in tables for column in table.columns}
    texts = [*selection.command, *selection.measured, *selection.force]
    texts += [] if selection.time is None else [selection.time]
    wanted = [(column, owner[column.position]) for column in (find_column(every, text) for text in texts)]
    if all(table is wanted[0][1] for _, table in wanted):
        return wanted[0][1], False
    return joined(wanted, selection)


def _columns(table: SignalTable, selection: Selection) -> _Choice:
    time = choose_time(table, selection)
    signals = tuple(c for c in table.columns if c is not time or selection.rate is not None)
    if table.pairs and not (selection.command or selection.auxiliary):
        pairs = ", ".join(f"{a.command.name} and {a.measured.name}" for a in table.pairs)
        notes = (f"command and measured as the file gives them: {pairs}",)
        if not selection.force:
            return _Choice(table, time, signals, table.pairs, notes, selection.resample)
        names = tuple(a.command.name for a in table.pairs), tuple(a.measured.name for a in table.pairs)
        named, _ = choose_actuators(signals, replace(selection, command=names[0], measured=names[1]))
        return _Choice(table, time, signals, named, notes, selection.resample)
    try:
        return _Choice(table, time, signals, *choose_actuators(signals, selection), selection.resample)
    except RecordingError as problem:
        proposal = None
        if signals and not selection.names_columns:
            proposal = propose(signals, table.read(0, min(table.n_rows, MOST_ROWS), signals))
        if proposal is None:
            raise
        raise _UnclearColumnsError(f"{problem}; {proposal.advice(table.columns)}", proposal) from None


class _UnclearColumnsError(RecordingError):
    """The user must choose the columns; their values propose some."""

    def __init__(self, text: str, proposal: Proposal) -> None:
        super().__init__(text)
        self.proposal = proposal


class _SeveralDatasetsError(RecordingError):
    """The user must choose a dataset, such as the first."""

    def __init__(self, text: str, first: _Choice) -> None:
        super().__init__(text)
        self.first = first


def _in_one_unit(choice: _Choice) -> _Choice:
    """Convert measured signals to the unit of their command, where both units are of one kind, such as in and mm."""
    factors: dict[int, float] = {}
    units: dict[int, str] = {}
    notes = []
    for command, measured in ((actuator.command, actuator.measured) for actuator in choice.actuators):
        if not (command.unit and measured.unit) or command.unit == measured.unit:
            continue
        factor = unit_factor(measured.unit, command.unit)
        if factor is not None:
            factors[measured.position], units[measured.position] = factor, command.unit
            notes.append(f"{measured.name} is converted from {measured.unit} to {command.unit}, as its command is")
    if not factors:
        return choice

    def converted(column: TableColumn) -> TableColumn:
        return replace(column, unit=units.get(column.position, column.unit))

    return replace(
        choice,
        table=replace(choice.table, factors=factors),
        signals=tuple(map(converted, choice.signals)),
        actuators=tuple(replace(actuator, measured=converted(actuator.measured)) for actuator in choice.actuators),
        notes=(*choice.notes, *notes),
    )


def _read(choice: _Choice, selection: Selection) -> Recording:
    choice = _in_one_unit(choice)
    channels = as_channels(choice.signals, choice.actuators)
    wanted = replace(selection, resample=choice.resample)
    return make_recording(choice.table, choice.signals, channels, choice.time, wanted, choice.notes)


def _as_selection(
    choice: _Choice, found: dict[TableColumn, str], selection: Selection, tables: Sequence[SignalTable]
) -> Selection:
    """Return the choice as the options of a user; forces only if every actuator has one."""
    # not of a table that was made of several
    is_one = len(tables) > 1 and any(choice.table is table for table in tables)
    forces = tuple(found[a.force] for a in choice.actuators if a.force is not None)
    return replace(
        selection,
        command=tuple(found[a.command] for a in choice.actuators),
        measured=tuple(found[a.measured] for a in choice.actuators),
        force=forces if len(forces) == len(choice.actuators) else (),
        time=found[choice.time] if choice.time is not None and selection.rate is None else None,
        auxiliary=not choice.actuators,
        dataset=selection.dataset or (choice.table.name or None if is_one else None),
    )


def _ask_dataset(tables: Sequence[SignalTable]) -> str:
    return f"name one with --dataset NAME; there are {_names(tables)}"


def _names(tables: Sequence[SignalTable]) -> str:
    return some([table.name[:_LONGEST] or "unnamed" for table in tables], _MOST_LISTED)
