"""Roles of columns: command, measured signal and force of the actuators, given by the user or guessed by name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from monitor.messages.blocks import Channel, Role
from replay.formats.base import RecordingError, Selection
from replay.formats.columns import COMMANDS, MEASUREDS, NAME_WORD, TableColumn, find_column, listing, words
from replay.formats.units import unit_factor

_FORCE = words("force load loadcell restoring reaction")
_DISPLACEMENT = "displacement"
_DISPLACEMENTS = words("displacement displ disp dis position pos stroke")
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
    role, rest = _read_name(column)
    if role is not None:
        return role
    forces = (word.lower() in _FORCE for word in NAME_WORD.findall(rest))
    return Role.FORCE if any(forces) else None


def _read_name(column: TableColumn) -> tuple[Role | None, str]:
    """Return what the words of a name say, and the rest of the name."""
    compact = _COMPACT.match(column.stem.lower())
    if compact:
        return _LETTERS[compact[2]], compact[1] + compact[3]
    parts = NAME_WORD.findall(column.stem)
    for role, known in ((Role.COMMAND, COMMANDS), (Role.MEASURED, MEASUREDS)):
        hits = [i for i, word in enumerate(parts) if word.lower() in known]
        if hits:
            return role, "_".join(parts[: hits[0]] + parts[hits[0] + 1 :])
    for i, word in enumerate(parts[1:], 1):
        if word.lower() in _LETTERS and all(rest.isdecimal() for rest in parts[i + 1 :]):
            return _LETTERS[word.lower()], "_".join(parts[:i] + parts[i + 1 :])
    return None, column.stem


def _guess(columns: Sequence[TableColumn]) -> tuple[PairColumns, ...]:
    found: dict[Role, dict[str, list[TableColumn]]] = {Role.COMMAND: {}, Role.MEASURED: {}}
    for column in columns:
        role, rest = _read_name(column)
        if role is not None:
            found[role].setdefault(rest.lower(), []).append(column)
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

    ``Axial Disp. Command (mm)`` belongs to ``Axial Displacement (mm)``, a single command to a single displacement.
    """
    plain = [column for column in columns if _read_name(column)[0] is None]
    pairs = []
    for rest, group in commands.items():
        same = [c for c in plain if _motion(c.stem) == _motion(rest) and c.unit == group[0].unit]
        if len(group) == len(same) == 1:
            pairs.append((group[0], same[0]))
    if pairs or sum(map(len, commands.values())) != 1:
        return pairs
    ((command,),) = commands.values()
    moving = [c for c in plain if _DISPLACEMENT in _motion(c.stem) and c.unit == command.unit]
    return [(command, moving[0])] if len(moving) == 1 else []


def _motion(name: str) -> tuple[str, ...]:
    """Return the words of a name in lower case, those for a displacement as one."""
    plain = (word.lower() for word in NAME_WORD.findall(name))
    return tuple(_DISPLACEMENT if word in _DISPLACEMENTS else word for word in plain)


def _guess_forces(actuators: tuple[PairColumns, ...], columns: Sequence[TableColumn]) -> tuple[PairColumns, ...]:
    """Give each actuator the one force that bears its name, or the only one to the only actuator."""
    taken = {c.position for a in actuators for c in (a.command, a.measured)}
    forces: list[tuple[str, TableColumn]] = []
    for column in columns:
        rest = _read_name(column)[1] if column.position not in taken else ""
        parts = NAME_WORD.findall(rest)
        if any(word.lower() in _FORCE for word in parts) or rest.lower() in ("f", "r"):
            own = "_".join(word for word in parts if word.lower() not in (*_FORCE, "cell", "f", "r"))
            forces.append((own.lower(), column))
    if len(actuators) == len(forces) == 1:
        a = actuators[0]
        return (PairColumns(a.name, a.command, a.measured, forces[0][1]),)
    own_forces = [[c for own, c in forces if own and own in (a.name.lower(), _rest(a))] for a in actuators]
    return tuple(
        PairColumns(a.name, a.command, a.measured, own[0] if len(own) == 1 else None)
        for a, own in zip(actuators, own_forces, strict=True)
    )


def _rest(actuator: PairColumns) -> str:
    return _read_name(actuator.command)[1].lower()


def _pair_name(command: TableColumn, measured: TableColumn) -> str:
    """Return what the two names share, else what the command's says beside "command"."""
    rest, other = _read_name(command)[1], _read_name(measured)[1]
    if rest.lower() == other.lower() and rest.isdecimal():
        return f"actuator{rest}"
    return rest or "actuator"


def _distinct(names: Sequence[str], commands: Sequence[TableColumn]) -> list[str]:
    return [name if names.count(name) == 1 else command.name for name, command in zip(names, commands, strict=True)]
