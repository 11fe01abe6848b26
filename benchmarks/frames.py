"""A live frame: new data stored, and the window drawn again, beside pyqtgraph given the same envelopes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

# first, as it says on which screen Qt draws
from benchmarks import window_stage as stage  # isort: skip

import numpy as np
import pyqtgraph as pg
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QWidget

from benchmarks.figures import MS, Figure
from benchmarks.timing import median_ratio
from gui.model.history import History
from gui.model.receiver import ReceivedMessages
from gui.panels.histories import HistoriesPanel
from gui.panels.indicators import IndicatorsPanel
from gui.panels.over_time import TimePanel
from gui.plots.time.decoration import colour_of, translucent
from gui.plots.time.rows import Trace
from gui.plots.view import View
from gui.widgets.theme import LIGHT

SUMMARY = "a frame of 8 and of 64 pairs, 60 s at 1 kHz, 1600 x 1000 pixels, no GPU, against pyqtgraph, same envelopes"
CORE = "of a core"
_BAND_ALPHA = 56

Frame = Callable[[], None]
Scene = tuple[QWidget, Frame]


@dataclass(frozen=True, slots=True)
class _Case:
    """What is shown, how often, and which share of a core it may take."""

    n_pairs: int
    rate: float
    most_core: float
    layouts: Mapping[str, str]
    panels: tuple[type[TimePanel], ...]
    n_frames: int

    @property
    def tick(self) -> int:
        """Samples from one frame to the next."""
        return round(stage.RATE / self.rate)

    @property
    def most(self) -> float:
        """Ms from one frame to the next."""
        return 1e3 / self.rate


_CASES = (
    _Case(8, 25.0, 1.0 / 3.0, {"the operator's window": "Operator"}, (HistoriesPanel,), 150),
    _Case(
        64,
        15.0,
        1.0,
        {"the operator's window, all actuators": "Operator", "the wall": "Wall"},
        (HistoriesPanel, IndicatorsPanel),
        45,
    ),
)


@dataclass(slots=True)
class _Taken:
    """Time of each frame, s: until Qt has painted, and of the processor."""

    wall: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)


def run(quick: bool) -> Iterator[Figure]:
    """Yield the time of a frame: what has come is stored, the panels are drawn, and Qt has painted."""
    stage.application()
    for case in _CASES:
        yield from _run(case, *((3, 5.0) if quick else (case.n_frames, stage.SPAN + stage.WINDOW)))


def _run(case: _Case, n_frames: int, seconds: float) -> Iterator[Figure]:
    # two more: one that is watched, one for warmth
    first, *rest = stage.sent(seconds, n_frames + 2, case.n_pairs, case.tick)
    with TemporaryDirectory(prefix="synchroscope-benchmark-") as folder:
        scenes = {"panels": _panels(first, rest, case.panels), "pyqtgraph": _pyqtgraph(first, rest, case.panels)}
        for name, layout in case.layouts.items():
            scenes[name] = _window(first, rest, layout, Path(folder) / layout)
        for _, frame in scenes.values():
            if not stage.painted(frame):
                raise RuntimeError("a frame was not painted")
        taken = _measured({name: frame for name, (_, frame) in scenes.items()}, n_frames)
        for widget, _ in scenes.values():
            stage.close(widget)
    who = f"{case.n_pairs} pairs, "
    shown = " and ".join(kind.title.lower() for kind in case.panels)
    yield _milliseconds(f"{who}{shown}", taken["panels"], case.most, taken["pyqtgraph"])
    for name in case.layouts:
        yield _milliseconds(f"{who}{name}", taken[name], case.most)
    yield _core(f"{who}{shown}, {case.rate:g} a second", taken["panels"], case, taken["pyqtgraph"])
    for name in case.layouts:
        yield _core(f"{who}{name}, {case.rate:g} a second", taken[name], case)


def _measured(frames: Mapping[str, Frame], n_frames: int) -> dict[str, _Taken]:
    """Draw frames in turns, so that a busy machine troubles all of them alike."""
    taken = {name: _Taken() for name in frames}
    for frame in frames.values():
        frame()
    for _ in range(n_frames):
        for name, frame in frames.items():
            wall, processor = perf_counter(), process_time()
            frame()
            taken[name].processor.append(process_time() - processor)
            taken[name].wall.append(perf_counter() - wall)
    return taken


def _milliseconds(name: str, ours: _Taken, most: float, theirs: _Taken | None = None) -> Figure:
    mine = [1e3 * s for s in ours.wall]
    if theirs is None:
        return Figure("frames", name, median(mine), MS, min(mine), most=most)
    other = [1e3 * s for s in theirs.wall]
    ratio = median_ratio(mine, other)
    return Figure("frames", name, median(mine), MS, min(mine), "pyqtgraph", median(other), ratio, most)


def _core(name: str, ours: _Taken, case: _Case, theirs: _Taken | None = None) -> Figure:
    """Return the share of a core that the frames take at their rate."""
    mine = [case.rate * s for s in ours.processor]
    if theirs is None:
        return Figure("frames", name, median(mine), CORE, min(mine), most=case.most_core)
    other = [case.rate * s for s in theirs.processor]
    ratio = median_ratio(mine, other)
    return Figure("frames", name, median(mine), CORE, min(mine), "pyqtgraph", median(other), ratio, case.most_core)


class _Watched:
    """A history that grows with every frame, and the panels that draw it, one above the other."""

    def __init__(
        self, first: ReceivedMessages, rest: list[ReceivedMessages], kinds: tuple[type[TimePanel], ...]
    ) -> None:
        self.view, self.history, self._coming = View(), History(), iter(rest)
        self.view.span = stage.SPAN
        stage.update(self.history, first, self.view)
        self.panels = [kind(self.view, LIGHT) for kind in kinds]
        height = stage.SIZE[1] // len(kinds)
        for panel in self.panels:
            panel.resize(stage.SIZE[0], height)
            panel.configure(self.history)
            if isinstance(panel, IndicatorsPanel):
                panel.together.setChecked(True)
            panel.show()
        stage.settle()

    def receive(self) -> None:
        stage.update(self.history, next(self._coming), self.view)


def _panels(first: ReceivedMessages, rest: list[ReceivedMessages], kinds: tuple[type[TimePanel], ...]) -> Scene:
    watched = _Watched(first, rest, kinds)

    def frame() -> None:
        watched.receive()
        for panel in watched.panels:
            panel.refresh(watched.history)
        stage.settle()

    for panel in watched.panels:
        panel.refresh(watched.history)
    return _Group(watched.panels), frame


class _Group(QWidget):
    """Closes several windows."""

    def __init__(self, widgets: Sequence[QWidget]) -> None:
        super().__init__()
        self._widgets = widgets

    def close(self) -> bool:
        """Close them all."""
        for widget in self._widgets:
            widget.close()
            widget.deleteLater()
        return super().close()


def _window(first: ReceivedMessages, rest: list[ReceivedMessages], layout: str, folder: Path) -> Scene:
    folder.mkdir()
    window, coming = stage.open_window(layout, folder), chain([first], rest)

    def frame() -> None:
        window.connection.pending = next(coming)
        window.tick()
        stage.settle()

    frame()
    window.dock_area.panel(IndicatorsPanel).together.setChecked(True)
    return window, frame


def _pyqtgraph(first: ReceivedMessages, rest: list[ReceivedMessages], kinds: tuple[type[TimePanel], ...]) -> Scene:
    """Draw the data of the same rows, as quickly as pyqtgraph can: no antialiasing, no auto-range."""
    # they read the data, and are not painted
    watched = _Watched(first, rest, kinds)
    for panel in watched.panels:
        panel.refresh(watched.history)
        panel.setUpdatesEnabled(False)
    widget = pg.GraphicsLayoutWidget()
    items = [
        (panel, i, _Plot(widget, number, panel, i))
        for number, (panel, i) in enumerate((panel, i) for panel in watched.panels for i in panel.stack.seen)
    ]
    for _, _, plot in items[1:]:
        plot.item.setXLink(items[0][2].item)
    widget.resize(*stage.SIZE)
    widget.show()
    stage.settle()

    def frame() -> None:
        watched.receive()
        view = watched.view
        rows = {id(panel): panel.rows_data(watched.history, view.left, view.right) for panel in watched.panels}
        for panel, i, plot in items:
            data = rows[id(panel)][i]
            assert data is not None
            plot.draw([*data.bands, *data.curves])
        items[0][2].item.setXRange(view.left, view.right, padding=0.0)
        stage.settle()

    return _Group([widget, *watched.panels]), frame


class _Plot:
    """One row as items of pyqtgraph: bands are filled between two curves, curves run through minimum and maximum."""

    def __init__(self, widget: pg.GraphicsLayoutWidget, number: int, panel: TimePanel, i: int) -> None:
        row = panel.stack.rows[i]
        self.item = widget.addPlot(row=number, col=0, enableMenu=False)
        self.item.hideButtons()
        self.item.showGrid(x=True, y=True)
        self.item.getAxis("left").setWidth(60)
        self.item.disableAutoRange()
        self.item.setYRange(*panel.stack.limits(row.key), padding=0.0)
        colours = [colour_of(LIGHT, colour) for colour in row.bands]
        filled = [True] * len(colours) + [curve.filled for curve in row.curves]
        colours += [colour_of(LIGHT, curve.colour) for curve in row.curves]
        self._items = [self._add(colour, band) for colour, band in zip(colours, filled, strict=True)]

    def draw(self, traces: list[Trace]) -> None:
        """Show other data."""
        for items, trace in zip(self._items, traces, strict=True):
            if len(items) == 2:
                items[0].setData(trace.centers, trace.low)
                items[1].setData(trace.centers, trace.high)
            elif trace.exact:
                items[0].setData(trace.centers, trace.low)
            else:
                values = np.stack([trace.low, trace.high], axis=1).ravel()
                items[0].setData(np.repeat(trace.centers, 2), values)

    def _add(self, colour: str, filled: bool) -> list[pg.PlotCurveItem]:
        pen = None if filled else QColor(colour)
        curves = [
            pg.PlotCurveItem(pen=pen, antialias=False, connect="finite", skipFiniteCheck=False)
            for _ in range(1 + filled)
        ]
        for curve in curves:
            self.item.addItem(curve, ignoreBounds=True)
        if filled:
            brush = translucent(colour, _BAND_ALPHA)
            self.item.addItem(pg.FillBetweenItem(*curves, brush=brush), ignoreBounds=True)
        return curves
