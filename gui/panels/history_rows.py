"""The rows of a rig's channels: which channels share an axis, and what it is called."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gui.model.history.signals import SignalHistory
from gui.plots.time.rows import Curve, Row
from monitor.messages.blocks import Channel, Pair, Role, units_differ

_FORCE_WEIGHT = 0.6
_MANY = 8  # curves, whose colours are used again, dashed
_QUANTITIES = {
    "m": "displacement", "mm": "displacement", "cm": "displacement", "in": "displacement", "ft": "displacement",
    "N": "force", "kN": "force", "MN": "force", "lb": "force", "lbf": "force", "kip": "force",
    "rad": "rotation", "deg": "rotation", "°": "rotation",
    "m/s": "velocity", "mm/s": "velocity", "in/s": "velocity",
    "m/s2": "acceleration", "m/s^2": "acceleration", "m/s²": "acceleration", "g": "acceleration",
    "V": "voltage", "Hz": "frequency", "s": "time", "Pa": "stress", "MPa": "stress",
}  # fmt: skip


def history_rows(signals: SignalHistory) -> Iterator[tuple[Row, tuple[int, ...], str]]:
    """Give every row, its columns and its group in the menu."""
    for pair in signals.pairs:
        yield from _actuator_rows(signals.channels, pair)
    kinds: dict[tuple[str, str], list[int]] = {}
    for i, channel in enumerate(signals.channels):
        if channel.role is Role.AUXILIARY:
            kinds.setdefault((channel.name.rpartition(".")[2], channel.unit), []).append(i)
    for (kind, unit), columns in kinds.items():
        owners = [signals.channels[i].name.rpartition(".")[0] for i in columns]
        curves = tuple(
            Curve(owner or kind, "auxiliary" if len(owners) == 1 else i, dashed=i >= _MANY)
            for i, owner in enumerate(owners)
        )
        name = owners[0] if len(owners) == 1 else ""
        row = Row(f"auxiliary:{kind}:{unit}", name, kind.replace("_", " "), unit, curves, prefixed=True)
        yield row, tuple(columns), "other channels"


def _actuator_rows(channels: Sequence[Channel], pair: Pair) -> Iterator[tuple[Row, tuple[int, ...], str]]:
    command, measured = Curve("command", "command"), Curve("measured", "measured")
    units = channels[pair.command].unit, channels[pair.measured].unit
    name = pair.actuator
    if units_differ(channels[pair.command], channels[pair.measured]):
        # volts over millimetres would be two curves on one wrong scale
        for key, unit, curve, column in zip(
            ("command", "measured"), units, (command, measured), (pair.command, pair.measured), strict=True
        ):
            yield _row(f"{key}:{name}", name, unit, key, curve), (column,), name
    else:
        unit = units[0] or units[1]
        yield (
            _row(f"motion:{name}", name, unit, "command and measured", command, measured),
            (pair.command, pair.measured),
            name,
        )
    if pair.force is not None:
        force = Row(
            f"force:{name}", name, "force", channels[pair.force].unit, (Curve("force", "force"),), prefixed=True,
            weight=_FORCE_WEIGHT,
        )  # fmt: skip
        yield force, (pair.force,), name


def _row(key: str, name: str, unit: str, otherwise: str, *curves: Curve) -> Row:
    return Row(key, name, _QUANTITIES.get(unit, otherwise), unit, curves, prefixed=True)
