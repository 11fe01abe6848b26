"""Time histories: command over measured of each actuator, tracking errors, forces, auxiliary channels."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from PySide6.QtCore import QPoint, QPointF, QRect, Signal

from gui.model.history import History
from gui.model.pyramid import Envelope, spliced
from gui.model.signals import SignalHistory
from gui.model.statistics import CurveStatistics, statistics
from gui.model.tracking_error import Difference
from gui.panels.over_time import TimePanel
from gui.plots.figure import Figure, Page
from gui.plots.time.axis import visible
from gui.plots.time.rows import CurveStyle, Facts, Interval, PlotRow, Reader, RowData, Trace, extent, intervals, trace
from gui.plots.view import View
from gui.widgets.menus import MenuEntry
from gui.widgets.signal_drag import DropPlace, SignalDrop
from gui.widgets.theme import Theme
from monitor.messages.blocks import Channel, Pair, Role, Samples, same_unit, units_differ

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


@dataclass(frozen=True, slots=True, eq=False)
class _SampleReader:
    """Read the sample nearest to an instant, or the newest one before.

    Where memory has no more than the range of a bucket, the value, or the narrower range, of the detail is read.

    Parameters
    ----------
    signals : what memory has; None if it has nothing.
    rows : columns of the channels in every row.
    detail : from the run file, as it is on the screen; None where there is none.
    detailed : the columns of the channels in it.
    """

    signals: SignalHistory | None
    rows: Sequence[Sequence[int]]
    detail: Envelope | None = None
    detailed: Sequence[int] = ()

    def __call__(self, x: float) -> list[list[Interval]]:
        """Return what is known of each row's channels at `x`, s."""
        if self.signals is None:
            return []
        at = min(x, self.signals.end_x)
        wanted = [column for row in self.rows for column in row]
        low, high = self.signals.between(at, wanted)
        if self.detail is not None:
            finer_low, finer_high = self._finer(self.detail, at + 0.5 / self.signals.sample_rate, wanted)
            # a comparison with NaN is False: samples that memory no longer has are taken from the detail
            closer = ~np.isnan(finer_low) & ~(high - low <= finer_high - finer_low)
            low, high = np.where(closer, finer_low, low), np.where(closer, finer_high, high)
        found = iter(intervals(low, high))
        return [[next(found) for _ in row] for row in self.rows]

    def _finer(self, detail: Envelope, place: float, wanted: Sequence[int]) -> tuple[Samples, Samples]:
        """Return the bounds of channels from the detail, NaN for those that are not in it."""
        low, high = detail.at(place)
        nothing = np.array([np.nan])
        columns = [self.detailed.index(column) if column in self.detailed else -1 for column in wanted]
        return np.concatenate([low, nothing])[columns], np.concatenate([high, nothing])[columns]


DERIVED_COMMAND = "Derived channels…"
_MAX_DEFAULT_ROWS = 8
# row of the delays that compensators make up for
_COMPENSATED = "auxiliary:compensated_delay:s"
_MAX_VALUES = 1 << 22  # of which statistics are computed
_MAX_DETAIL_BUCKET = 256  # samples; wider buckets are drawn from memory
_NOTHING = (
    "No signals yet. They appear when a rig publishes or a recording is replayed;\n"
    "a service that publishes results only (signals = false) has none to show."
)

Detail = Callable[[int, float, float, int, Sequence[int | Difference]], Envelope | None]
"""Takes epoch, first and last sample number, maximum number of buckets, and columns; None: not available (yet)."""


class HistoriesPanel(TimePanel):
    """Command and measured signal of every actuator, its tracking error and force, and auxiliary channels by kind.

    `detail`, where it is set, provides spans that are in memory only in less detail than the picture can show.

    Signals
    -------
    derived_wanted : derived channels are to be defined.
    """

    derived_wanted = Signal()
    key = "histories"
    title = "Time histories"

    def __init__(self, view: View, theme: Theme) -> None:
        super().__init__(view, theme, _NOTHING)
        self.detail: Detail | None = None
        self._columns: dict[str, tuple[int, ...]] = {}
        self._rows = SignalRows()
        self._finer: Envelope | None = None
        self._detailed: tuple[int, ...] = ()
        self.drop_target = SignalDrop(self, self._place)
        self.menu.command = DERIVED_COMMAND
        self.menu.commanded.connect(self.derived_wanted)
        self.stack.curve_removed.connect(self._remove_signal)

    def available_rows(self, history: History) -> tuple[tuple[PlotRow, str], ...]:
        """Return rows for each actuator, its force and tracking error, and each kind of auxiliary channel."""
        found = () if history.signals is None else self._rows.available(history.signals)
        self._columns = {each.row.key: each.columns for each in found}
        return tuple((each.row, each.section) for each in found)

    def default_rows(self, history: History) -> Sequence[str]:
        """Return the motion of the first actuators and what their compensators do, or the first other channels."""
        if history.signals is None:
            return ()
        first = {pair.actuator for pair in history.signals.pairs[:_MAX_DEFAULT_ROWS]}
        keys = [row.key for row, _ in self._available]
        derived = [key for key in keys if key.startswith(DERIVED)]
        if first:
            motions = [
                row.key
                for row, _ in self._available
                if row.name in first and row.key.startswith(("motion", "command", "measured"))
            ]
            return motions + [key for key in keys if key == _COMPENSATED] + derived
        return [key for key in keys if key not in derived][:_MAX_DEFAULT_ROWS] + derived

    def visible_data(self, history: History, rows: Sequence[PlotRow], left: float, right: float) -> Sequence[RowData]:
        """Return the min/max buckets of the visible rows."""
        signals = history.signals
        if signals is None:
            return ()
        wanted = [column for row in rows for column in self._columns[row.key]]
        # the run file has no derived channels
        derived = [column for column in wanted if column >= signals.width]
        recorded = [column for column in wanted if column < signals.width]
        parts = [(recorded, self._envelope(history, signals, left, right, recorded))]
        if derived:
            parts.append((derived, signals.envelope(left, right, self.stack.columns, derived)))
        found = {column: trace(part, i) for columns, part in parts for i, column in enumerate(columns)}
        traces = {row.key: tuple(found[column] for column in self._columns[row.key]) for row in rows}
        facts = self._error_facts(signals, traces, left, right)
        return [RowData(traces[row.key], facts=facts.get(row.key, ())) for row in rows]

    def _error_facts(
        self, signals: SignalHistory, traces: Mapping[str, Sequence[Trace]], left: float, right: float
    ) -> dict[str, Facts]:
        """Return peak and rms in view of the tracking errors among `traces`."""
        shown = [key for key in traces if key.startswith(ERROR)]
        if not shown:
            return {}
        rms = signals.error_rms(left, right, [key.removeprefix(ERROR) for key in shown])
        found: dict[str, Facts] = {}
        for key, root in zip(shown, rms.tolist(), strict=True):
            low, high = extent([traces[key][0].within(left, right)])
            found[key] = (("peak", max(abs(low), abs(high))), ("rms", root))
        return found

    def _place(self, at: QPoint, names: tuple[str, ...]) -> DropPlace | None:
        """Return what dropping signals at a point does: over curves of the same unit they are added to these."""
        signals = None if self._history is None else self._history.signals
        if signals is None or any(name not in signals.named for name in names):
            return None
        stack, label = self.stack, ", ".join(names)
        inside = QPointF(stack.viewport().mapFrom(self, at))
        number = stack.row_at(inside.y()) if stack.over_plots(inside) and not stack.is_header(inside) else None
        row = None if number is None else stack.rows[number]
        if number is not None and row is not None and stack.plot_of(number).contains(inside):
            here = {curve.signal for curve in row.curves}
            if not here.issuperset(names) and all(same_unit(signals.named[name].unit, row.unit) for name in names):
                area = stack.plot_of(number).toRect().translated(stack.viewport().mapTo(self, QPoint()))
                return DropPlace(area, f"add {label} to this row", partial(self._add_to_row, row.key, names))
        if any({curve.signal for curve in row.curves} == set(names) for row in stack.rows):
            # it has its row
            return None
        area = QRect(stack.mapTo(self, QPoint()), stack.size())
        return DropPlace(area, f"{label} in a row of its own", partial(self._add_rows, names))

    def _add_to_row(self, key: str, names: tuple[str, ...]) -> None:
        self._rows.add(key, names)
        self._update_rows()
        self._redraw()

    def _add_rows(self, names: tuple[str, ...]) -> None:
        """Show signals in rows of their own."""
        keys = self._rows.row_of(names, [row for row, _ in self._available])
        self._shown = (*self.shown, *keys)
        self._update_rows()
        self.stack.scroll_to(keys[0])
        self._redraw()

    def show_derived(self, name: str) -> None:
        """Show a derived channel."""
        key = f"{DERIVED}{name}"
        if self._shown is not None:
            self._shown = tuple(dict.fromkeys((*self._shown, key)))
        self._update_rows()
        self.stack.scroll_to(key)

    def _remove_signal(self, key: str, name: str) -> None:
        self._rows.remove(key, name)
        self._update_rows()
        self._redraw()

    def row_entries(self, key: str) -> Iterable[MenuEntry]:
        """Return the entries of the menu that choose rows."""
        return [*super().row_entries(key), MenuEntry(DERIVED_COMMAND, self.derived_wanted.emit)]

    def reader(self, history: History) -> Reader:
        """Return a reader of samples that uses the displayed detail."""
        columns = [self._columns[row.key] for row in self.stack.rows]
        return _SampleReader(history.signals, columns, self._finer, self._detailed)

    def figure(self, page: Page, history: History) -> Figure:
        """Return all rows; detail that is only in the run file is read at once."""
        shown = self.detail
        self.detail = getattr(shown, "read", shown)
        try:
            return super().figure(page, history)
        finally:
            self.detail = shown

    def row_statistics(self, history: History, rows: range, x0: float, x1: float) -> list[list[CurveStatistics]]:
        """Return the statistics of the samples; of long spans, or no longer in memory, those of the picture."""
        signals = history.signals
        columns = [self._columns[self.stack.rows[i].key] for i in rows]
        wanted = [column for each in columns for column in each]
        if (
            signals is None
            or x0 < signals.exact_begin_x
            or (x1 - x0) * signals.sample_rate * len(wanted) > _MAX_VALUES
        ):
            return super().row_statistics(history, rows, x0, x1)
        first = math.ceil(x0 * signals.sample_rate - 1e-6)
        found = signals.rows(first, math.floor(min(x1, signals.end_x) * signals.sample_rate + 1e-6) + 1, wanted)
        each = iter(statistics((first + np.arange(len(found))) / signals.sample_rate, found))
        return [[next(each) for _ in row] for row in columns]

    def _envelope(
        self, history: History, signals: SignalHistory, left: float, right: float, columns: Sequence[int]
    ) -> Envelope:
        n_columns = self.stack.columns
        self._finer = None
        found = signals.envelope(left, right, n_columns, columns)
        stop = min(right, signals.exact_begin_x)
        # memory has single samples from `exact_begin_x` on; wide buckets need no detail
        if self.detail is None or not columns or not left < stop or found.rows >= _MAX_DETAIL_BUCKET:
            return found
        parts = [
            (end - begin, begin, end, segment)
            for segment, begin, end in visible(history.timeline.segments, left, stop)
        ]
        if not parts:
            return found
        length, begin, end, segment = max(parts, key=lambda part: part[0])
        if not history.timeline.numbered_once(segment):
            # sample numbers of this epoch occur twice: in the file they are ambiguous
            return found
        share = max(1, round(n_columns * length / (right - left)))
        # by sample number, as in memory: the rig's clock may drift
        rate, zero = segment.sample_rate, segment.row_of(0)
        sources = tuple(signals.source(column) for column in columns)
        finer = self.detail(segment.epoch, begin * rate - zero, end * rate - zero, share, sources)
        if finer is None:
            # it may become available later, while nothing else changes
            self._drawn = None
            return found
        # clipped to the segment: beyond it sample numbers have another x
        rows = finer.scaled(1.0, zero).within(segment.row_of(segment.index), round(segment.x_end * rate) + 1)
        finer = self._finer = rows.scaled(1.0 / rate)
        self._detailed = tuple(columns)
        if finer.edges[0] <= left and finer.edges[-1] >= right:
            return finer
        return spliced(found, finer)
