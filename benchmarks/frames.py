"""A live picture: 40 ms of data taken, and the window drawn anew, beside the same curves by plain pyqtgraph."""

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
from gui.model.history.history import History
from gui.model.link import ReceivedMessages
from gui.panels.histories import HistoriesPanel
from gui.plots.view import View
from gui.widgets.theme import LIGHT

SUMMARY = "a frame of 8 pairs of 60 s at 1 kHz, live in a window of 1600 x 1000, no GPU, against pyqtgraph"
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
        scenes = {"panel": _panel(first, rest), "plain": _plain(first, rest), "window": _window(first, rest, folder)}
        for frame in (frame for _, frame in scenes.values()):
            if not stage.painted(frame):
                raise RuntimeError("a frame was not painted")
        taken = in_turns({name: frame for name, (_, frame) in scenes.items()}, n_frames)
        for widget, _ in scenes.values():
            stage.close(widget)
    panel, plain, window = ([1e3 * s for s in taken[name]] for name in ("panel", "plain", "window"))
    ratio = median_ratio(panel, plain)
    yield Figure(
        "frames", "the histories alone", median(panel), MS, min(panel), "pyqtgraph", median(plain), ratio, MOST
    )
    yield Figure("frames", "the operator's window", median(window), MS, min(window), most=MOST)


def _panel(first: ReceivedMessages, rest: list[ReceivedMessages]) -> tuple[QWidget, Frame]:
    view, history, coming = View(), History(), iter(rest)
    view.span = stage.SPAN
    panel = HistoriesPanel(view, LIGHT)
    stage.keep(history, first, view)
    panel.configure(history)
    _show(panel)

    def frame() -> None:
        stage.keep(history, next(coming), view)
        panel.refresh(history)
        stage.settle()

    return panel, frame


def _window(first: ReceivedMessages, rest: list[ReceivedMessages], folder: str) -> tuple[QWidget, Frame]:
    window, coming = stage.open_window("Operator", Path(folder)), chain([first], rest)

    def frame() -> None:
        window.watch.coming = next(coming)
        window.tick()
        stage.settle()

    frame()
    return window, frame


def _plain(first: ReceivedMessages, rest: list[ReceivedMessages]) -> tuple[QWidget, Frame]:
    """Draw the same with what pyqtgraph offers for many samples."""
    blocks = [block for arrivals in (first, *rest) for block in arrivals.signals]
    samples = np.concatenate([block.samples for block in blocks])
    time = np.arange(len(samples)) / stage.RATE
    length, place = int(stage.SPAN * stage.RATE), sum(map(len, first.signals))
    widget = pyqtgraph.GraphicsLayoutWidget()
    plots = [widget.addPlot(row=row, col=0) for row in range(stage.N_PAIRS)]
    curves = []
    for plot in plots:
        plot.setDownsampling(auto=True, mode="peak")
        plot.setClipToView(True)
        plot.setXLink(plots[0])
        curves += [plot.plot(pen="b"), plot.plot(pen="r")]
    _show(widget)

    def frame() -> None:
        nonlocal place
        place += stage.TICK
        shown = slice(max(0, place - length), place)
        for column, curve in enumerate(curves):
            curve.setData(time[shown], samples[shown, column])
        plots[0].setXRange(time[place - 1] - stage.SPAN, time[place - 1], padding=0.0)
        stage.settle()

    return widget, frame


def _show(widget: QWidget) -> None:
    widget.resize(*stage.SIZE)
    widget.show()
    stage.settle()
