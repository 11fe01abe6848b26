"""The synchronization subspace plot: measured against command, and the ellipse that PAEI reads from it."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import Qt

from gui.model.history.history import History
from gui.panels.subspace_words import tracking_at, tracking_lines, why_no_ellipse
from gui.panels.xy_panel import XYPanel, forgotten
from gui.plots.view import View
from gui.plots.xy.axes import pen
from gui.plots.xy.loop import ellipse_of
from gui.plots.xy.plot import XYPlot, extent
from gui.plots.xy.trail import Trail, decimate_loop
from gui.widgets.theme import Theme
from gui.wording.numbers import DASH
from monitor.messages.blocks import units_differ


class SubspacePanel(XYPanel):
    """Show `view.actuator` over the window that ends at `view.instant`."""

    key: ClassVar[str] = "subspace"
    title: ClassVar[str] = "Synchronization subspace"

    def __init__(self, view: View, theme: Theme) -> None:
        super().__init__(view, theme)
        self.plot = XYPlot(theme, square=True)
        self.pane.addItem(self.plot)
        self.diagonal, self.ellipse = pg.InfiniteLine(angle=45.0), pg.PlotCurveItem(skipFiniteCheck=True)
        self.plot.view_box.addItem(self.diagonal, ignoreBounds=True)
        self.trail = Trail(self.plot)
        self.plot.view_box.addItem(self.ellipse, ignoreBounds=True)
        # the farthest that the command has moved within a window
        self._farthest = 0.0
        self.restyle(theme)

    def colour(self) -> None:
        """Give the curves the colours of the theme."""
        self.diagonal.setPen(pen(self.theme.muted, style=Qt.PenStyle.DotLine))
        self.ellipse.setPen(pen(self.theme.muted if self.old else self.theme.text, style=Qt.PenStyle.DashLine))
        self.trail.restyle(self.theme.muted if self.old else self.theme.measured, self.theme.base)

    def configure(self, history: History) -> None:
        """Forget the scales: other channels are shown."""
        self._farthest = 0.0
        self.plot.reset_scales()
        self.refresh(history)

    def refresh(self, history: History) -> None:
        """Draw the window that ends at the instant that is looked at."""
        signals = history.signals
        pair = None if signals is None else next((p for p in signals.pairs if p.actuator == self.view.actuator), None)
        if signals is None or pair is None:
            self._draw_nothing(
                history, "the service sends no signals" if signals is None else "no actuator is chosen"
            )
            return
        when = self.tell(history, pair.actuator)
        of_command, of_measured = signals.channels[pair.command], signals.channels[pair.measured]
        alike = not units_differ(of_command, of_measured)
        self.plot.square = alike
        self.diagonal.setVisible(alike)
        self.plot.name_axes(("command", of_command.unit), ("measured", of_measured.unit or of_command.unit))

        instant, rate = self.view.instant, signals.sample_rate
        # the window's own samples: the one before it belongs to the window before
        x, samples = signals.samples(instant - self.window_seconds + 0.5 / rate, instant)
        command, measured = samples[:, pair.command], samples[:, pair.measured]
        first = round(float(x[0]) * rate) if len(x) else 0
        shown = decimate_loop(first, command, measured)
        low, high = extent(command)
        self._farthest = max(self._farthest, high - low)
        self.plot.fit((low, high), extent(measured), immediate=when.x is not None)
        self.trail.draw(command[shown], measured[shown])

        tracking = None if history.results is None else tracking_at(history.results, pair.actuator, when.x)
        ellipse = None
        if tracking is not None and tracking.valid:
            ellipse = ellipse_of(x, command, measured, tracking.frequency, tracking.ratio, tracking.phase)
        self.ellipse.setData(*(ellipse.points() if ellipse else (np.empty(0), np.empty(0))))
        if tracking is not None and tracking.valid:
            self.plot.set_annotation(tracking_lines(tracking), self.theme.muted if self.old else self.theme.text)
        else:
            good = np.isfinite(command) & np.isfinite(measured)
            moves = (high - low) / self._farthest if self._farthest > 0.0 else 0.0
            self.plot.set_annotation(
                why_no_ellipse(tracking, good, rate, self.window_seconds, moves), self.theme.muted
            )
        self.caption = forgotten(history, instant - self.window_seconds)
        self._read_out()

    def under_mouse(self, plot: XYPlot, x: float, y: float) -> str:
        """Return command and measured at a place."""
        return f"command {plot.text_of('bottom', x)}, measured {plot.text_of('left', y)}"

    def _draw_nothing(self, history: History, why: str) -> None:
        self.tell(history, self.view.actuator or DASH)
        self.trail.clear()
        self.ellipse.setData(np.empty(0), np.empty(0))
        self.plot.set_annotation(why, self.theme.muted)
