"""The hysteresis loop: restoring force against measured displacement."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
import pyqtgraph as pg
from PySide6.QtWidgets import QComboBox

from gui.model.history import History
from gui.model.signals import SignalHistory
from gui.panels.xy_panel import LoopPanel, decimated, incomplete_note
from gui.plots.value_axis import MINUS, prefixed_unit
from gui.plots.view import View
from gui.plots.xy.plot import extent, pen
from gui.widgets.theme import Theme
from gui.wording.event_text import scale_of
from monitor.messages.blocks import Pair, Samples
from monitor.text.numbers import DASH, plus_minus

LENGTHS = ("one window", "four windows", "the whole view")
"""Choices for the time span of the loop."""
_REDRAWS = 64  # of the older part of the loop, at most, while the view moves by its length


def loop_text(history: History, actuator: str, x: float | None) -> str:
    """Return stiffness, damping and energy of the newest closed loop at `x`, default now; a dash for none."""
    results, parts = history.results, []
    for word in ("stiffness", "damping", "energy"):
        name = f"specimen_loop_{word}"
        column = None if results is None else results.column(actuator, name)
        if results is None or column is None or not math.isfinite(value := results.value(actuator, name, x)):
            continue
        factor, unit = scale_of(name, results.columns[column].unit)
        if factor == 1.0:
            factor, unit = prefixed_unit(unit, (value, value))
        deviation = results.value(actuator, f"{name}_sd", x)
        parts.append(f"{word} {plus_minus(factor * value, factor * deviation)} {unit}".replace("-", MINUS))
    return f"loop: {' · '.join(parts) or DASH}"


class HysteresisPanel(LoopPanel):
    """Hysteresis loop of `view.actuator` up to `view.instant`."""

    key: ClassVar[str] = "hysteresis"
    title: ClassVar[str] = "Hysteresis"
    colour: ClassVar[str] = "force"

    def __init__(self, view: View, theme: Theme) -> None:
        self.lengths = QComboBox()
        self.lengths.addItems(LENGTHS)
        self.lengths.setCurrentIndex(1)
        self.lengths.setAccessibleName("time span of the loop")
        super().__init__(view, theme, self.lengths)
        self.older = pg.PlotCurveItem(skipFiniteCheck=False)
        self.older.setZValue(-1.0)
        self.plot.view_box.addItem(self.older, ignoreBounds=True)
        # actuator, length and end of the older part that is drawn
        self._drawn: tuple[str, float, float] | None = None
        self._extent = (math.nan, math.nan), (math.nan, math.nan)
        # the window redraws when the range of the view changes
        self.lengths.currentIndexChanged.connect(view.range_changed)
        self.apply_theme(theme)

    @property
    def figure_legend(self) -> str:
        """Text that explains the lines in a figure."""
        lines = [f"colour: the last {self.window_seconds:g} s"]
        if self.length > self.window_seconds:
            lines.append(f"grey: the last {self.length:g} s")
        return " · ".join(filter(None, (*lines, self.caption)))

    def apply_colours(self) -> None:
        """Set the colours of the curves."""
        self.older.setPen(pen(self.theme.muted, opacity=0.55))
        super().apply_colours()

    def configure(self, history: History) -> None:
        """Reset the scales for other channels."""
        self._drawn = None
        super().configure(history)

    @property
    def length(self) -> float:
        """Time span of the loop, s."""
        return (self.window_seconds, 4.0 * self.window_seconds, max(self.view.span, self.window_seconds))[
            self.lengths.currentIndex()
        ]

    def refresh(self, history: History) -> None:
        """Draw the loop up to the instant of the view."""
        signals, pair = history.signals, self.pair_of(history)
        if signals is None or pair is None:
            return
        if pair.force is None:
            self.show_nothing(history, f"{pair.actuator} has no force channel: no loop to show")
            return
        when = self.set_heading(history, pair.actuator)
        of_measured, of_force = signals.channels[pair.measured], signals.channels[pair.force]
        self.plot.name_axes(("measured", of_measured.unit), ("restoring force", of_force.unit))
        x, moved, force = self._samples(signals, pair, self.window_seconds)
        self._draw_older(signals, pair)
        reach = [_union(old, extent(new)) for old, new in zip(self._extent, (moved, force), strict=True)]
        self.plot.fit(*reach, immediate=when.x is not None)
        shown = decimated(signals, x, moved, force)
        self.trail.draw(moved[shown], force[shown])
        self.plot.set_annotation(
            loop_text(history, pair.actuator, when.x), self.theme.muted if self.stale else self.theme.text
        )
        self.caption = incomplete_note(history, self.view.instant - self.length)
        self._read_out()

    def _samples(self, signals: SignalHistory, pair: Pair, length: float) -> tuple[Samples, Samples, Samples]:
        instant = self.view.instant
        x, samples = signals.samples(instant - length + 0.5 / signals.sample_rate, instant)
        assert pair.force is not None
        return x, samples[:, pair.measured], samples[:, pair.force]

    def _draw_older(self, signals: SignalHistory, pair: Pair) -> None:
        """Draw the part of the loop before the window, not at every update: it may be long."""
        length, instant = self.length, self.view.instant
        if self._drawn is not None and self._drawn[:2] == (pair.actuator, length):
            behind = instant - self._drawn[2]
            if 0.0 <= behind < min(0.5 * self.window_seconds, length / _REDRAWS):
                return
        self._drawn = pair.actuator, length, instant
        if length <= self.window_seconds:
            self._extent = (math.nan, math.nan), (math.nan, math.nan)
            self.older.setData(np.empty(0), np.empty(0))
            return
        x, moved, force = self._samples(signals, pair, length)
        shown = decimated(signals, x, moved, force)
        self._extent = extent(moved), extent(force)
        self.older.setData(moved[shown], force[shown], connect="finite")

    def show_nothing(self, history: History, why: str) -> None:
        """Show a reason in place of the loop."""
        super().show_nothing(history, why)
        self._drawn = None
        self.older.setData(np.empty(0), np.empty(0))


def _union(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    return float(np.fmin(one[0], other[0])), float(np.fmax(one[1], other[1]))
