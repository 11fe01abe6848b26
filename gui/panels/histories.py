"""Time histories: command over measured of each actuator, tracking errors, forces, auxiliary channels."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from PySide6.QtCore import QPoint, QPointF, QRect, Signal

from gui.model.envelope import Envelope, spliced
from gui.model.history import History
from gui.model.signals import SignalHistory
from gui.model.statistics import CurveStatistics, statistics
from gui.model.tracking_error import Difference
from gui.panels.history_rows import DERIVED, ERROR, SignalRows
from gui.panels.over_time import TimePanel
from gui.plots.figure import Figure, Page
from gui.plots.time.axis import visible
from gui.plots.time.rows import Facts, Interval, PlotRow, Reader, RowData, Trace, extent, intervals, trace
from gui.plots.view import View
from gui.widgets.menus import MenuEntry
from gui.widgets.signal_drag import DropPlace, SignalDrop
from gui.widgets.theme import Theme
from monitor.messages.blocks import Samples, same_unit


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

    def rows_data(self, history: History, left: float, right: float) -> tuple[RowData | None, ...]:
        """Return the min/max buckets of the visible rows."""
        rows, seen = self.stack.rows, self.stack.seen
        if history.signals is None:
            return (None,) * len(rows)
        signals = history.signals
        wanted = [column for i in seen for column in self._columns[rows[i].key]]
        # the run file has no derived channels
        derived = [column for column in wanted if column >= signals.width]
        recorded = [column for column in wanted if column < signals.width]
        parts = [(recorded, self._envelope(history, signals, left, right, recorded))]
        if derived:
            parts.append((derived, signals.envelope(left, right, self.stack.columns, derived)))
        found = {column: trace(part, i) for columns, part in parts for i, column in enumerate(columns)}
        traces = {rows[i].key: tuple(found[column] for column in self._columns[rows[i].key]) for i in seen}
        facts = self._error_facts(signals, traces, left, right)
        return tuple(
            RowData(traces[row.key], facts=facts.get(row.key, ())) if i in seen else None
            for i, row in enumerate(rows)
        )

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
