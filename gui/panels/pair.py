"""XY panel: any channel against any other over the visible range."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from PySide6.QtWidgets import QComboBox

from gui.model.history import History
from gui.model.signals import SignalHistory
from gui.panels.xy_panel import XYPanel, incomplete_note
from gui.plots.view import View
from gui.plots.xy.curves import Trail, decimate_loop
from gui.plots.xy.plot import XYPlot, extent
from gui.widgets.labels import PlainLabel
from gui.widgets.theme import Theme

_MAX_SAMPLES = 1 << 17


class PairPanel(XYPanel):
    """One channel against another, up to the instant of the view; by default measured against command."""

    key: ClassVar[str] = "pair"
    title: ClassVar[str] = "XY"

    def __init__(self, view: View, theme: Theme) -> None:
        self.horizontal, self.vertical = QComboBox(), QComboBox()
        for box, axis in ((self.horizontal, "horizontal"), (self.vertical, "vertical")):
            box.setAccessibleName(f"channel of the {axis} axis")
            box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        super().__init__(view, theme, self.vertical, PlainLabel("against"), self.horizontal)
        self.plot = XYPlot(theme)
        self.pane.addItem(self.plot)
        self.trail = Trail(self.plot)
        for box in (self.horizontal, self.vertical):
            box.activated.connect(self._on_chosen)
        self.apply_theme(theme)

    def apply_colours(self) -> None:
        """Set the colours of the curve."""
        self.trail.set_colours(self.theme.muted if self.stale else self.theme.measured, self.theme.base)

    def configure(self, history: History) -> None:
        """List the channels; those that are chosen remain, if they exist."""
        signals = history.signals
        names = [] if signals is None else [channel.name for channel in signals.channels]
        pair = signals.pairs[0] if signals is not None and signals.pairs else None
        usual = (0, min(1, len(names) - 1)) if pair is None else (pair.command, pair.measured)
        for box, default in zip((self.horizontal, self.vertical), usual, strict=True):
            chosen = box.currentText()
            box.clear()
            box.addItems(names)
            box.setEnabled(bool(names))
            box.setCurrentIndex(box.findText(chosen) if chosen in names else default)
        self.plot.reset_scales()
        self.refresh(history)

    def refresh(self, history: History) -> None:
        """Draw the visible range up to the instant of the view."""
        signals = history.signals
        if signals is None or not self.horizontal.count():
            self.set_heading(history, "")
            self.trail.clear()
            self.plot.set_annotation("the service publishes no signals", self.theme.muted)
            return
        when = self.set_heading(history, f"{self.vertical.currentText()} against {self.horizontal.currentText()}")
        self.plot.set_annotation("", self.theme.text)
        self._draw(signals, immediate=when.x is not None)
        self.caption = incomplete_note(history, self.view.left)
        self._read_out()

    def under_mouse(self, plot: XYPlot, x: float, y: float) -> str:
        """Return both values at a position."""
        across, up = self.horizontal.currentText(), self.vertical.currentText()
        return f"{across} {plot.text_of('bottom', x)}, {up} {plot.text_of('left', y)}"

    def _draw(self, signals: SignalHistory, *, immediate: bool) -> None:
        columns = [self.horizontal.currentIndex(), self.vertical.currentIndex()]
        across, up = (signals.channels[column] for column in columns)
        instant = self.view.instant
        start = max(self.view.left, instant - self.view.span)
        x, samples = signals.samples(start, instant, _MAX_SAMPLES)
        horizontal, vertical = (np.ascontiguousarray(samples[:, column]) for column in columns)
        self.plot.name_axes((across.name, across.unit), (up.name, up.unit))
        self.plot.fit(extent(horizontal), extent(vertical), immediate=immediate)
        shown = decimate_loop(round(float(x[0]) * signals.sample_rate) if len(x) else 0, horizontal, vertical)
        self.trail.draw(horizontal[shown], vertical[shown])

    def _on_chosen(self) -> None:
        self.plot.reset_scales()
        # the window redraws when the range of the view changes
        self.view.range_changed.emit()
