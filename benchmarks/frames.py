"""A live frame: 40 ms of data taken, and the window drawn again, beside pyqtgraph given the same envelopes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

# first, as it says on which screen Qt draws
from benchmarks import window_stage as stage  # isort: skip

import numpy as np
import pyqtgraph
from PySide6.QtWidgets import QWidget

from benchmarks.figures import MS, Figure
from benchmarks.timing import in_turns, median_ratio
from gui.model.history import History
from gui.model.receiver import ReceivedMessages
from gui.panels.histories import HistoriesPanel
from gui.plots.view import View
from gui.widgets.theme import LIGHT

SUMMARY = "a frame of 8 pairs, 60 s at 1 kHz, 1600 x 1000 pixels, no GPU, against pyqtgraph with the same envelopes"
MOST = 40.0
"""ms: 25 frames a second."""

Frame = Callable[[], None]


def run(quick: bool) -> Iterator[Figure]:
    """Yield ms a frame: what has come is taken, the panels are drawn, and Qt has painted."""
    n_frames, seconds = (3, 5.0) if quick else (150, stage.SPAN + stage.WINDOW)
    stage.application()
    # two more: one that is watched, one for warmth
    first, *rest = stage.sent(seconds, n_frames + 2)
    with TemporaryDirectory(prefix="synchroscope-benchmark-") as folder:
        scenes = {
            "panel": _panel(first, rest),
            "pyqtgraph": _pyqtgraph(first, rest),
            "window": _window(first, rest, folder),
        }
        for frame in (frame for _, frame in scenes.values()):
            if not stage.painted(frame):
                raise RuntimeError("a frame was not painted")
        taken = in_turns({name: frame for name, (_, frame) in scenes.items()}, n_frames)
        for widget, _ in scenes.values():
            stage.close(widget)
    panel, other, window = ([1e3 * s for s in taken[name]] for name in ("panel", "pyqtgraph", "window"))
    ratio = median_ratio(panel, other)
    yield Figure(
        "frames", "the histories alone", median(panel), MS, min(panel), "pyqtgraph", median(other), ratio, MOST
    )
    yield Figure("frames", "the operator's window", median(window), MS, min(window), most=MOST)


def _panel(first: ReceivedMessages, rest: list[ReceivedMessages]) -> tuple[QWidget, Frame]:
    view, history, coming = View(), History(), iter(rest)
    view.span = stage.SPAN
    panel = HistoriesPanel(view, LIGHT)
    stage.update(history, first, view)
    panel.configure(history)
    _show(panel)

    def frame() -> None:
        stage.update(history, next(coming), view)
        panel.refresh(history)
        stage.settle()

    return panel, frame


def _window(first: ReceivedMessages, rest: list[ReceivedMessages], folder: str) -> tuple[QWidget, Frame]:
    window, coming = stage.open_window("Operator", Path(folder)), chain([first], rest)

    def frame() -> None:
        window.connection.pending = next(coming)
        window.tick()
        stage.settle()

    frame()
    return window, frame


def _pyqtgraph(first: ReceivedMessages, rest: list[ReceivedMessages]) -> tuple[QWidget, Frame]:
    """Draw the same envelopes of the same history, as quickly as pyqtgraph can: no antialiasing, no auto-range."""
    view, history, coming = View(), History(), iter(rest)
    view.span = stage.SPAN
    stage.update(history, first, view)
    assert history.signals is not None
    pairs = history.signals.pairs
    widget = pyqtgraph.GraphicsLayoutWidget()
    plots = [widget.addPlot(row=row, col=0, enableMenu=False) for row in range(len(pairs))]
    curves = []
    for plot, pair in zip(plots, pairs, strict=True):
        plot.hideButtons()
        plot.showGrid(x=True, y=True)
        plot.getAxis("left").setWidth(60)
        plot.disableAutoRange()
        whole = history.signals.envelope(view.left, view.right, 8, [pair.command, pair.measured])
        plot.setYRange(float(np.nanmin(whole.low)), float(np.nanmax(whole.high)))
        plot.setXLink(plots[0])
        curves += [pyqtgraph.PlotCurveItem(pen=pen, antialias=False, skipFiniteCheck=True) for pen in ("b", "r")]
        for curve in curves[-2:]:
            plot.addItem(curve, ignoreBounds=True)
    columns = [column for pair in pairs for column in (pair.command, pair.measured)]
    _show(widget)
    n_columns = 2 * int(plots[0].getViewBox().width())

    def frame() -> None:
        stage.update(history, next(coming), view)
        assert history.signals is not None
        found = history.signals.envelope(view.left, view.right, n_columns, columns)
        times = np.repeat(found.centers, 2)
        values = np.stack([found.low, found.high], axis=1).reshape(len(times), len(columns))
        for column, curve in enumerate(curves):
            curve.setData(times, values[:, column])
        plots[0].setXRange(view.left, view.right, padding=0.0)
        stage.settle()

    return widget, frame


def _show(widget: QWidget) -> None:
    widget.resize(*stage.SIZE)
    widget.show()
    stage.settle()
