"""What the rig's channels did: command and measured of every actuator over each other, forces, and the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gui.model.history.envelope import Envelope, spliced
from gui.model.history.history import History
from gui.model.history.signals import SignalHistory
from gui.panels.history_rows import history_rows
from gui.panels.over_time import TimePanel
from gui.panels.sample_reader import SampleReader
from gui.plots.time.axis import visible
from gui.plots.time.rows import Reader, Row, RowData, trace
from gui.plots.view import View
from gui.widgets.theme import Theme

_MOST_SHOWN = 8
_WIDE = 256  # samples a bucket
_NOTHING = (
    "No signals yet. They come when a rig publishes, or a recording is replayed;\n"
    "a service that publishes results alone (signals = false) has none to show."
)

Detail = Callable[[int, float, float, int, Sequence[int]], Envelope | None]
"""Takes an epoch, sample numbers from and to, how many buckets at most, and columns; None: not there (yet)."""


class HistoriesPanel(TimePanel):
    """Command and measured of every actuator, its force below, and auxiliary channels by their kind.

    `detail`, where it is set, is asked for what memory no longer has as finely as the picture could show it.
    """

    key = "histories"
    title = "Time histories"

    def __init__(self, view: View, theme: Theme) -> None:
        super().__init__(view, theme, _NOTHING)
        self.detail: Detail | None = None
        self._columns: dict[str, tuple[int, ...]] = {}
        self._finer: Envelope | None = None
        self._detailed: tuple[int, ...] = ()

    def offer(self, history: History) -> tuple[tuple[Row, str], ...]:
        """Return a row for each actuator, one for its force, and one for each kind of auxiliary channel."""
        found = () if history.signals is None else tuple(history_rows(history.signals))
        self._columns = {row.key: columns for row, columns, _ in found}
        return tuple((row, group) for row, _, group in found)

    def usual(self, history: History) -> Sequence[str]:
        """Return the first actuators and their forces; where there are none, the first other channels."""
        if history.signals is None:
            return ()
        first = {pair.actuator for pair in history.signals.pairs[:_MOST_SHOWN]}
        if first:
            return [row.key for row, _ in self._offered if row.name in first and not row.key.startswith("auxiliary")]
        return [row.key for row, _ in self._offered][:_MOST_SHOWN]

    def rows_data(self, history: History, left: float, right: float) -> tuple[RowData | None, ...]:
        """Return the least and greatest of every bucket, of the rows in sight."""
        rows, seen = self.stack.rows, self.stack.seen
        if history.signals is None:
            return (None,) * len(rows)
        wanted = [column for i in seen for column in self._columns[rows[i].key]]
        envelope = self._envelope(history, history.signals, left, right, wanted)
        place = {column: i for i, column in enumerate(wanted)}
        return tuple(
            RowData(tuple(trace(envelope, place[column]) for column in self._columns[row.key])) if i in seen else None
            for i, row in enumerate(rows)
        )

    def reader(self, history: History) -> Reader:
        """Return what reads samples, with the detail that is on the screen."""
        columns = [self._columns[row.key] for row in self.stack.rows]
        return SampleReader(history.signals, columns, self._finer, self._detailed)

    def _envelope(
        self, history: History, signals: SignalHistory, left: float, right: float, columns: Sequence[int]
    ) -> Envelope:
        n_columns = self.stack.columns
        self._finer = None
        found = signals.envelope(left, right, n_columns, columns)
        stop = min(right, signals.kept_x)
        # before `kept_x` memory has buckets alone; a wide picture needs no narrower ones
        if self.detail is None or not left < stop or found.rows >= _WIDE:
            return found
        parts = [
            (end - begin, begin, end, segment)
            for segment, begin, end in visible(history.timeline.segments, left, stop)
        ]
        if not parts:
            return found
        length, begin, end, segment = max(parts, key=lambda part: part[0])
        if not history.timeline.numbered_once(segment):
            # an older epoch was taken up again: which of its samples the file would give is not known
            return found
        share = max(1, round(n_columns * length / (right - left)))
        # by the numbers of the samples, as memory has them: the rig's clock may drift against these
        rate, zero = segment.sample_rate, segment.row_of(0)
        finer = self.detail(segment.epoch, begin * rate - zero, end * rate - zero, share, tuple(columns))
        if finer is None:
            # it may come later, without anything else being new
            self._drawn = None
            return found
        # where the clock has jumped, the next number stands elsewhere
        rows = finer.scaled(1.0, zero).within(segment.row_of(segment.index), round(segment.x_end * rate) + 1)
        finer = self._finer = rows.scaled(1.0 / rate)
        self._detailed = tuple(columns)
        if finer.edges[0] <= left and finer.edges[-1] >= right:
            return finer
        return spliced(found, finer)
