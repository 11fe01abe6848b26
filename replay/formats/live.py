"""Roles of the channels of a live stream: given by it, by the user, or guessed by name as those of a file."""

from __future__ import annotations

from collections.abc import Sequence

from monitor.messages.blocks import Channel
from replay.formats.base import Selection
from replay.formats.columns import TableColumn, name_and_unit
from replay.formats.roles import as_channels, choose_actuators
from replay.formats.signal_table import pairs_given
from replay.formats.units import unit_symbol


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
