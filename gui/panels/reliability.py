"""How probable it is that a model still describes the test: its reliabilities, its band, and what was decided."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QComboBox

from gui.history.history import History
from gui.history.results import ResultHistory
from gui.level import Level
from gui.level_colour import level_colour
from gui.panels.over_time import TimePanel
from gui.plots.time_row import Curve, Reader, Row, RowData, Strip, band, spread, strip
from gui.plots.time_scale import segment_at
from gui.theme import Theme
from gui.view import View
from monitor.blocks import EventKind

_NOTHING = (
    "No model is judged. Start the service with one,\n"
    "synchroscope monitor --ensemble beam.h5 --response deflection --tolerance 16% --limit accumulated=0.7:0.85\n"
    "or choose one of the models that are judged in the menu Simulations."
)
_CURVES = (
    ("reliability_instantaneous", Curve("instantaneous", "muted", faint=True)),
    ("reliability_first_passage", Curve("first-passage", 1)),
    ("reliability_accumulated", Curve("accumulated", 0)),
    ("reliability_windowed", Curve("windowed", 2, dashed=True)),
)
_WITH_ERROR = _CURVES[1:]  # the instantaneous one is background
_FROM_0_TO_1 = -0.04, 1.04
_DECISION = "reliability_decision"
_WORDS = {
    "accept": ("●", Level.GOOD),
    "watch": ("▲", Level.WARN),
    "reject": ("■", Level.BAD),
}
_BAND = ("model_low", "model_high")
_MODEL_WEIGHT = 0.9


class ReliabilityPanel(TimePanel):
    """The reliabilities of one site, and its measurement over the model's band; or the reliabilities of all sites."""

    key = "reliability"
    title = "Reliability"

    def __init__(self, view: View, theme: Theme) -> None:
        super().__init__(view, theme, _NOTHING)
        self.sites = QComboBox(self)
        self.sites.setAccessibleName("site of the model")
        self.sites.setToolTip("Where the model is judged")
        self.controls.insertWidget(0, self.sites)
        self.sites.setVisible(False)
        self.sites.currentTextChanged.connect(self._other_site)
        self._level = Level.NONE

    @property
    def site(self) -> str:
        """The one that is shown; empty where none is judged."""
        return self.sites.currentText()

    def choose(self, site: str) -> None:
        """Show another site."""
        self.sites.setCurrentText(site)

    def configure(self, history: History) -> None:
        """Take the sites that are judged."""
        names = () if history.results is None else history.results.sites
        before = self.site
        blocked = self.sites.blockSignals(True)
        self.sites.clear()
        self.sites.addItems(names)
        if before in names:
            self.sites.setCurrentText(before)
        self.sites.blockSignals(blocked)
        self.sites.setVisible(len(names) > 1)
        super().configure(history)
        self._tell(history)

    def refresh(self, history: History) -> None:
        """Draw, and say what was decided by then."""
        super().refresh(history)
        self._tell(history)

    def restyle(self, theme: Theme) -> None:
        """Take other colours."""
        super().restyle(theme)
        self._colour()

    def offer(self, history: History) -> tuple[tuple[Row, str], ...]:
        """Return the rows of the chosen site; of all sites together, those of each below."""
        results = history.results
        if results is None or not self.site:
            return ()
        modelled = results.column(self.site, "model_median") is not None
        owners = [self.site] if modelled else [self.site, *(name for name in results.sites if name != self.site)]
        rows = [_reliability_row(results, owner) for owner in owners]
        if modelled:
            rows.append(_model_row(history, results, self.site))
        return tuple((row, "") for row in rows)

    def usual(self, history: History) -> Sequence[str]:  # noqa: ARG002 - the same of every history
        """Return all rows."""
        return [row.key for row, _ in self._offered]

    def rows_data(self, history: History, left: float, right: float) -> tuple[RowData | None, ...]:
        """Return the reliabilities with their errors, and the model with its measurement."""
        results = history.results
        if results is None:
            return (None,) * len(self.stack.rows)
        seen = self.stack.seen
        return tuple(
            self._data(history, results, row, left, right) if i in seen else None
            for i, row in enumerate(self.stack.rows)
        )

    def reader(self, history: History) -> Reader:
        """Return what reads the values of all rows."""
        return partial(_read, history, self.stack.rows)

    def _data(self, history: History, results: ResultHistory, row: Row, left: float, right: float) -> RowData:
        kind, _, owner = row.key.partition(":")
        names = [name for name, _ in _CURVES] + [f"{name}_se" for name, _ in _WITH_ERROR]
        if kind == "model":
            names = ["model_median", *_BAND]
        found = results.envelope(left, right, self.stack.columns, [(owner, name) for name in names])
        one: Callable[[int], Strip] = partial(strip, found)
        if kind == "reliability":
            bands = tuple(spread(one(1 + i), one(len(_CURVES) + i)) for i in range(len(_WITH_ERROR)))
            return RowData(tuple(one(i) for i in range(len(_CURVES))), bands)
        curves = [one(0)]
        column = _channel(history, owner)
        if history.signals is not None and column is not None:
            curves.append(strip(history.signals.envelope(left, right, self.stack.columns, [column]), 0))
        return RowData(tuple(curves[: len(row.curves)]), (band(one(1), one(2)),))

    def _other_site(self) -> None:
        self._reoffer()
        self._again()
        if self._history is not None:
            self._tell(self._history)

    def _tell(self, history: History) -> None:
        """Say in the heading what was decided last, as of the instant that is looked at."""
        said, level = _decided(history, self.site, self.view.instant)
        if said != self.heading.text():
            self.heading.setText(said)
            self.heading.setToolTip(said)
        if level is not self._level:
            self._level = level
            self._colour()

    def _colour(self) -> None:
        palette = QPalette(self.heading.palette())
        text = self.theme.text if self._level is Level.NONE else level_colour(self.theme, self._level)
        palette.setColor(QPalette.ColorRole.WindowText, QColor(text))
        self.heading.setPalette(palette)


def _reliability_row(results: ResultHistory, owner: str) -> Row:
    curves = tuple(curve for _, curve in _CURVES)
    name = "all sites" if results.column(owner, "model_median") is None else owner
    return Row(
        f"reliability:{owner}", name, "reliability", "1", curves, tuple(curve.colour for _, curve in _WITH_ERROR),
        fixed=_FROM_0_TO_1, legend="bands ± 1 se",
    )  # fmt: skip


def _model_row(history: History, results: ResultHistory, owner: str) -> Row:
    median = results.column(owner, "model_median")
    unit = "" if median is None else results.columns[median].unit
    curves = [Curve("model median", "command")]
    if _channel(history, owner) is not None:
        curves.append(Curve("measured", "measured"))
    return Row(
        f"model:{owner}", owner, "model and measurement", unit, tuple(curves), ("command",), prefixed=True,
        weight=_MODEL_WEIGHT, legend="band: 5 to 95 % of the model",
    )  # fmt: skip


def _channel(history: History, name: str) -> int | None:
    """Return the column of the channel of a site; None where signals are not published."""
    channels = () if history.signals is None else history.signals.channels
    return next((i for i, channel in enumerate(channels) if channel.name == name), None)


def _decided(history: History, site: str, x: float) -> tuple[str, Level]:
    """Return the newest decision by `x` in the same run, a shape and words, and how grave it is."""
    results = history.results
    if results is None or not site:
        return "", Level.NONE
    segment = segment_at(history.timeline.segments, x)
    since = x if segment is None else segment.x_begin
    for mark in reversed(history.events):
        if mark.event.kind is not EventKind.DECISION or not since <= mark.x <= x:
            continue
        owner, _, rest = mark.event.detail.partition(": ")
        word, _, reason = rest.partition(": ")
        if owner == site:
            shape, level = _WORDS.get(word, ("◆", Level.NONE))
            return f"{shape} {word}" + (f": {reason}" if reason else ""), level
    if results.column(site, _DECISION) is None:
        return "no decision of this site alone: one falls for all sites together", Level.NONE
    return "○ no decision (yet): one falls where the service has limits, after its first instants", Level.NONE


def _read(history: History, rows: Sequence[Row], x: float) -> list[list[float]]:
    """Return the values of all rows at `x`, or of the newest instant before."""
    results = history.results
    return [] if results is None else [list(_values(history, results, row, x)) for row in rows]


def _values(history: History, results: ResultHistory, row: Row, x: float) -> Iterator[float]:
    kind, _, owner = row.key.partition(":")
    at = min(x, results.end_x)
    if kind == "reliability":
        for name, _ in _CURVES:
            yield results.value(owner, name, at)
        return
    yield results.value(owner, "model_median", at)
    column = _channel(history, owner)
    if history.signals is not None and column is not None and len(row.curves) > 1:
        yield float(history.signals.at(min(x, history.signals.end_x), [column])[0])
