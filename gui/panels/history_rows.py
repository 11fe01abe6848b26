"""Rows of time histories: of each actuator, of other and derived channels, and of signals that were dropped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from gui.model.signals import SignalHistory
from gui.plots.time.rows import CurveStyle, PlotRow
from monitor.messages.blocks import Channel, Pair, Role, same_unit, units_differ

_FORCE_WEIGHT = 0.6
ERROR = "error:"
DERIVED = "derived:"
"""Beginnings of the keys of rows."""
_SINGLE = "signal:"
_MAX_SOLID = 8  # curves; further ones repeat the colours and are dashed
_QUANTITIES = {
    "m": "displacement", "mm": "displacement", "cm": "displacement", "in": "displacement", "ft": "displacement",
    "N": "force", "kN": "force", "MN": "force", "lb": "force", "lbf": "force", "kip": "force",
    "rad": "rotation", "deg": "rotation", "°": "rotation",
    "m/s": "velocity", "mm/s": "velocity", "in/s": "velocity",
    "m/s2": "acceleration", "m/s^2": "acceleration", "m/s²": "acceleration", "g": "acceleration",
    "V": "voltage", "Hz": "frequency", "s": "time", "Pa": "stress", "MPa": "stress",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class AvailableRow:
    """A row, the columns of its curves, and its section in the menu."""

    row: PlotRow
    columns: tuple[int, ...]
    section: str


class SignalRows:
    """Rows of a history, and signals that were dropped: into these rows, or as rows of their own."""

    def __init__(self) -> None:
        self._single: list[str] = []
        self._added: dict[str, list[str]] = {}

    def add(self, key: str, names: Iterable[str]) -> None:
        """Draw signals in a row too."""
        added = self._added.setdefault(key, [])
        added += [name for name in names if name not in added]

    def remove(self, key: str, name: str) -> None:
        """Remove a signal that was dropped into a row."""
        if name in self._added.get(key, ()):
            self._added[key].remove(name)

    def row_of(self, names: Sequence[str], available: Iterable[PlotRow]) -> list[str]:
        """Return the keys of the rows that show signals alone: one that is available, or else one each, made here."""
        for row in available:
            if not any(curve.added for curve in row.curves) and {curve.signal for curve in row.curves} == set(names):
                return [row.key]
        if len(names) > 1:
            return [key for name in names for key in self.row_of([name], available)]
        (name,) = names
        self._single.append(name)
        return [f"{_SINGLE}{name}"]

    def available(self, signals: SignalHistory) -> tuple[AvailableRow, ...]:
        """Return all rows for a history; what was dropped and is not of this rig is left out."""
        names = [*signals.named]
        rows = [*_history_rows(signals), *self._single_rows(signals)]
        return tuple(self._extended(each, signals, names) for each in rows)

    def _single_rows(self, signals: SignalHistory) -> Iterator[AvailableRow]:
        for name in self._single:
            signal = signals.named.get(name)
            if signal is not None:
                yield _own_row(f"{_SINGLE}{name}", name, signal.unit, signal.column, "single channels")

    def _extended(self, found: AvailableRow, signals: SignalHistory, names: Sequence[str]) -> AvailableRow:
        """Return a row with the names of its signals, and those that were dropped into it."""
        row = found.row
        curves = [
            replace(curve, signal=names[column]) for curve, column in zip(row.curves, found.columns, strict=True)
        ]
        here = {curve.signal for curve in curves}
        added = [signals.named[name] for name in self._added.get(row.key, ()) if name in signals.named]
        added = [signal for signal in added if signal.name not in here and same_unit(signal.unit, row.unit)]
        curves += [
            CurveStyle(signal.name, i, dashed=i >= _MAX_SOLID, signal=signal.name, added=True)
            for i, signal in enumerate(added, len(here) + 1)
        ]
        columns = (*found.columns, *(signal.column for signal in added))
        return AvailableRow(replace(row, curves=tuple(curves)), columns, found.section)


def _own_row(key: str, name: str, unit: str, column: int, section: str, legend: str = "") -> AvailableRow:
    """Return the row of one signal."""
    curve = CurveStyle(name, "auxiliary")
    row = PlotRow(key, name, _QUANTITIES.get(unit, ""), unit, (curve,), prefixed=True, legend=legend)
    return AvailableRow(row, (column,), section)


def _history_rows(signals: SignalHistory) -> Iterator[AvailableRow]:
    for pair in signals.pairs:
        for each in _actuator_rows(signals.channels, pair):
            yield AvailableRow(*each)
        if pair.actuator in signals.errors:
            unit = signals.channels[pair.command].unit or signals.channels[pair.measured].unit
            error = PlotRow(
                f"{ERROR}{pair.actuator}", pair.actuator, "tracking error", unit, (CurveStyle("x_c − x_m", 3),),
                prefixed=True, weight=_FORCE_WEIGHT, legend="command − measured; peak and rms of the span in view",
            )  # fmt: skip
            yield AvailableRow(error, (signals.errors[pair.actuator],), pair.actuator)
    kinds: dict[tuple[str, str], list[int]] = {}
    for i, channel in enumerate(signals.channels):
        if channel.role is Role.AUXILIARY:
            kinds.setdefault((channel.name.rpartition(".")[2], channel.unit), []).append(i)
    for (kind, unit), columns in kinds.items():
        owners = [signals.channels[i].name.rpartition(".")[0] for i in columns]
        curves = tuple(
            CurveStyle(owner or kind, "auxiliary" if len(owners) == 1 else i, dashed=i >= _MAX_SOLID)
            for i, owner in enumerate(owners)
        )
        name = owners[0] if len(owners) == 1 else ""
        row = PlotRow(f"auxiliary:{kind}:{unit}", name, kind.replace("_", " "), unit, curves, prefixed=True)
        yield AvailableRow(row, tuple(columns), "other channels")
    for derived in signals.derived:
        column = signals.named[derived.name].column
        key, legend = f"{DERIVED}{derived.name}", f"= {derived.formula.strip()}"
        yield _own_row(key, derived.name, derived.unit, column, "derived channels", legend)


def _actuator_rows(channels: Sequence[Channel], pair: Pair) -> Iterator[tuple[PlotRow, tuple[int, ...], str]]:
    command, measured = CurveStyle("command", "command"), CurveStyle("measured", "measured")
    units = channels[pair.command].unit, channels[pair.measured].unit
    name = pair.actuator
    if units_differ(channels[pair.command], channels[pair.measured]):
        # signals in different units do not share a scale
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
        force = PlotRow(
            f"force:{name}", name, "force", channels[pair.force].unit, (CurveStyle("force", "force"),), prefixed=True,
            weight=_FORCE_WEIGHT,
        )  # fmt: skip
        yield force, (pair.force,), name


def _row(key: str, name: str, unit: str, otherwise: str, *curves: CurveStyle) -> PlotRow:
    return PlotRow(key, name, _QUANTITIES.get(unit, otherwise), unit, curves, prefixed=True)
