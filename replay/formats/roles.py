"""Roles of columns and of channels of a live stream: given by the user or the file, or guessed by name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from monitor.messages.blocks import Channel, Role
from replay.formats.base import RecordingError, Selection
from replay.formats.columns import (
    COMMANDS,
    MEASUREDS,
    NAME_WORD,
    TableColumn,
    find_column,
    listing,
    name_and_unit,
    words,
)
from replay.formats.units import unit_factor, unit_symbol

_FORCE = words("force load loadcell restoring reaction kraft effort")
_DISPLACEMENT = "displacement"
_DISPLACEMENTS = words("displacement displ disp dis position pos stroke")
_SENSORS = words("lvdt temposonic encoder")
# "act 1" is an actuator or the actual motion, "trial" a number, "input" and "output" are of whatever is tested
_DOUBTFUL = words("act in input out output trial")
_LETTERS = {"c": Role.COMMAND, "m": Role.MEASURED}  # x_c and x_m, uc and um
_COMPACT = re.compile(r"^([udxyq])([cm])(\d*)$")
_ASK = "name them with --command NAME --measured NAME"


@dataclass(frozen=True)
class PairColumns:
    """The columns of one actuator."""

    name: str
    command: TableColumn
    measured: TableColumn
    force: TableColumn | None = None


def choose_actuators(
    columns: Sequence[TableColumn], selection: Selection
) -> tuple[tuple[PairColumns, ...], tuple[str, ...]]:
    """Return the actuators, from the columns that the user names or guessed from the columns' names, and notes.

    Raises
    ------
    RecordingError : a named column does not exist or is used twice, or the names are ambiguous.
    """
    if selection.auxiliary or (len(columns) == 1 and not selection.names_columns):
        return (), ("no command and no measured signal: every column is sent as it is",)
    if selection.command:
        commands = [find_column(columns, text) for text in selection.command]
        measureds = [find_column(columns, text) for text in selection.measured]
        names = _distinct([_pair_name(c, m) for c, m in zip(commands, measureds, strict=True)], commands)
        actuators = tuple(map(PairColumns, names, commands, measureds))
        notes: tuple[str, ...] = ()
    else:
        actuators = _guess(columns)
        pairs = ", ".join(f"{a.command.name} and {a.measured.name}" for a in actuators)
        notes = (f"command and measured by their names: {pairs}; --command NAME --measured NAME choose others",)
    if not selection.force:
        return (actuators if selection.command else _guess_forces(actuators, columns)), notes
    if len(selection.force) != len(actuators):
        raise RecordingError(
            f"{len(selection.force)} force columns for {len(actuators)} actuators: name one for each"
        )
    forces = [find_column(columns, text) for text in selection.force]
    return tuple(PairColumns(a.name, a.command, a.measured, f) for a, f in zip(actuators, forces, strict=True)), notes


def as_channels(columns: Sequence[TableColumn], actuators: Sequence[PairColumns]) -> tuple[Channel, ...]:
    """Return a channel a column; what belongs to no actuator is auxiliary.

    Raises
    ------
    RecordingError : a column serves twice.
    """
    roles: dict[int, tuple[Role, str]] = {}
    for actuator in actuators:
        for role, column in (
            (Role.COMMAND, actuator.command),
            (Role.MEASURED, actuator.measured),
            (Role.FORCE, actuator.force),
        ):
            if column is None:
                continue
            if column.position in roles:
                raise RecordingError(f"column {column.name!r} is named twice: every signal needs its own")
            roles[column.position] = role, actuator.name
    plain = (Role.AUXILIARY, "")
    return tuple(
        Channel(c.name, role, c.unit, name) for c in columns for role, name in [roles.get(c.position, plain)]
    )


def role_by_name(column: TableColumn) -> Role | None:
    """Return the role that a name gives, such as that of a command for ``cmd_x``; None where it gives none."""
    name = _read_name(column)
    if name.role is not None:
        return name.role
    return Role.FORCE if _FORCE & set(_words(name.rest)) else None


class _Name(NamedTuple):
    """What the words of a name say: a role, whether they can mean nothing else, and the rest of the name."""

    role: Role | None
    is_sure: bool
    rest: str


def _words(name: str) -> list[str]:
    return [word.lower() for word in NAME_WORD.findall(name)]


def _read_name(column: TableColumn) -> _Name:
    compact = _COMPACT.match(column.stem.lower())
    if compact:
        return _Name(_LETTERS[compact[2]], True, compact[1] + compact[3])
    parts, said = NAME_WORD.findall(column.stem), _words(column.stem)
    roles = (Role.COMMAND, COMMANDS), (Role.MEASURED, MEASUREDS)

    def without(at: int) -> str:
        return "_".join(parts[:at] + parts[at + 1 :])

    for role, known in roles:
        hits = [i for i, word in enumerate(said) if word in known - _DOUBTFUL]
        if hits:
            return _Name(role, True, without(hits[0]))
    for i, word in enumerate(said[1:], 1):
        if word in _LETTERS and all(rest.isdecimal() for rest in parts[i + 1 :]):
            return _Name(_LETTERS[word], True, without(i))
    for role, known in roles:
        hits = [i for i, word in enumerate(said) if word in known & _DOUBTFUL]
        if hits:
            # of "Act 1 Act" the last one
            return _Name(role, False, without(hits[-1]))
    return _Name(None, False, column.stem)


def _guess(columns: Sequence[TableColumn]) -> tuple[PairColumns, ...]:
    found: dict[Role, dict[str, list[TableColumn]]] = {Role.COMMAND: {}, Role.MEASURED: {}}
    for column in columns:
        name = _read_name(column)
        if name.role is not None:
            found[name.role].setdefault(name.rest.lower(), []).append(column)
    commands, measureds = found[Role.COMMAND], found[Role.MEASURED]
    shared = [rest for rest in commands if rest in measureds]
    doubled = [rest for rest in shared if len(commands[rest]) + len(measureds[rest]) > 2]
    if doubled:
        rivals = listing(commands[doubled[0]] + measureds[doubled[0]])
        raise RecordingError(f"more than one way to pair {rivals}: {_ASK}")
    pairs = [(commands[rest][0], measureds[rest][0]) for rest in shared]
    if not pairs:
        only = [[c for group in found[role].values() for c in group] for role in (Role.COMMAND, Role.MEASURED)]
        if len(only[0]) == len(only[1]) == 1 and _may_be_equal(only[0][0].unit, only[1][0].unit):
            pairs = [(only[0][0], only[1][0])]
    pairs = pairs or _plain_measurements(columns, commands)
    if not pairs:
        raise RecordingError(
            f"which column is the command, which the measured signal? {_ASK}; there are {listing(columns)} "
            "(replay --auxiliary plays the file without choosing)"
        )
    names = _distinct([_pair_name(c, m) for c, m in pairs], [c for c, _ in pairs])
    return tuple(PairColumns(name, c, m) for name, (c, m) in zip(names, pairs, strict=True))


def _may_be_equal(one: str, other: str) -> bool:
    """Whether units are one, or one can be converted to the other."""
    return one == other or bool(one and other and unit_factor(one, other) is not None)


def _plain_measurements(
    columns: Sequence[TableColumn], commands: Mapping[str, Sequence[TableColumn]]
) -> list[tuple[TableColumn, TableColumn]]:
    """Pair commands with columns that only name a motion in the same unit, as test machines write the measured one.

    ``Axial Disp. Command (mm)`` belongs to ``Axial Displacement (mm)``, ``Act1 Command`` to ``Act1 Position``, a
    single command to a single displacement.
    """
    plain = [column for column in columns if not _read_name(column).is_sure]
    pairs = []
    for rest, group in commands.items():
        if len(group) != 1 or not rest:
            continue
        near = [c for c in plain if c is not group[0] and c.unit == group[0].unit]
        same = [c for c in near if _motion(c.stem) == _motion(rest)]
        same = same or [c for c in near if _is_of(c, rest)]
        if len(same) == 1:
            pairs.append((group[0], same[0]))
    if pairs or sum(map(len, commands.values())) != 1:
        return pairs
    ((command,),) = commands.values()
    if not _read_name(command).is_sure:
        return []
    moving = [c for c in plain if _DISPLACEMENT in _motion(c.stem) and c.unit == command.unit]
    return [(command, moving[0])] if len(moving) == 1 else []


def _motion(name: str) -> tuple[str, ...]:
    """Return the words of a name in lower case, those for a displacement as one."""
    return tuple(_DISPLACEMENT if word in _DISPLACEMENTS else word for word in _words(name))


def _is_of(column: TableColumn, owner: str) -> bool:
    """Whether a column's name is that of an owner and a displacement, or its sensor."""
    added = {_DISPLACEMENT, *_SENSORS}
    said = _motion(column.stem)
    names = [tuple(word for word in each if word not in added) for each in (said, _motion(owner))]
    return bool(added & set(said)) and names[0] == names[1]


def _guess_forces(actuators: tuple[PairColumns, ...], columns: Sequence[TableColumn]) -> tuple[PairColumns, ...]:
    """Give each actuator the one force that bears its name, or the only one to the only actuator."""
    taken = {c.position for a in actuators for c in (a.command, a.measured)}
    forces: list[tuple[str, TableColumn]] = []
    for column in columns:
        name = _read_name(column)
        rest = "" if column.position in taken else name.rest if name.is_sure else column.stem
        parts = _words(rest)
        if _FORCE & set(parts) or rest.lower() in ("f", "r"):
            forces.append(("_".join(word for word in parts if word not in (*_FORCE, "cell", "f", "r")), column))
    if len(actuators) == len(forces) == 1:
        a = actuators[0]
        return (PairColumns(a.name, a.command, a.measured, forces[0][1]),)
    own_forces = [[c for own, c in forces if own and own in (a.name.lower(), _rest(a))] for a in actuators]
    return tuple(
        PairColumns(a.name, a.command, a.measured, own[0] if len(own) == 1 else None)
        for a, own in zip(actuators, own_forces, strict=True)
    )


def _rest(actuator: PairColumns) -> str:
    return _read_name(actuator.command).rest.lower()


def _pair_name(command: TableColumn, measured: TableColumn) -> str:
    """Return what the two names share, else what the command's says beside "command"."""
    rest, other = _read_name(command).rest, _read_name(measured).rest
    if rest.lower() == other.lower() and rest.isdecimal():
        return f"actuator{rest}"
    return rest or "actuator"


def _distinct(names: Sequence[str], commands: Sequence[TableColumn]) -> list[str]:
    return [name if names.count(name) == 1 else command.name for name, command in zip(names, commands, strict=True)]


def pairs_given(columns: Sequence[TableColumn], given: Mapping[int, tuple[str, str]]) -> tuple[PairColumns, ...]:
    """Return the actuators whose command and measured signal a file gives; none where they contradict each other.

    Parameters
    ----------
    columns : of a table.
    given : position of a column -> its role, and the name of its actuator.
    """
    by_actuator: dict[str, dict[str, TableColumn]] = {}
    for column in columns:
        role, actuator = given.get(column.position, ("", ""))
        if role in ("command", "measured", "force"):
            if role in by_actuator.setdefault(actuator, {}):
                return ()
            by_actuator[actuator][role] = column
    whole = {name: found for name, found in by_actuator.items() if {"command", "measured"} <= set(found)}
    return tuple(
        PairColumns(name or "actuator", found["command"], found["measured"], found.get("force"))
        for name, found in whole.items()
    )


def live_channels(
    names: Sequence[str],
    units: Sequence[str],
    roles: Sequence[tuple[str, str]],
    *,
    command: Sequence[str] = (),
    measured: Sequence[str] = (),
    force: Sequence[str] = (),
) -> tuple[Channel, ...]:
    """Return the channels of a stream with their roles.

    Parameters
    ----------
    names, units : of its channels; an empty unit is that at the end of the name, if any.
    roles : role and actuator of each, as far as the stream gives them.
    command, measured, force : names of channels, one an actuator, or their numbers from 1.

    Raises
    ------
    RecordingError : a channel does not exist or is named twice, or no roles can be found by the names.
    """
    columns = tuple(
        TableColumn(number, own, unit_symbol(unit) or found, name)
        for number, (name, unit) in enumerate(zip(names, units, strict=True))
        for own, found in [name_and_unit(name)]
    )
    selection = Selection(command=tuple(command), measured=tuple(measured), force=tuple(force))
    actuators = () if selection.names_columns else pairs_given(columns, dict(enumerate(roles)))
    if not actuators:
        actuators, _ = choose_actuators(columns, selection)
    return as_channels(columns, actuators)
