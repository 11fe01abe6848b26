"""The hysteresis loop: restoring force against measured displacement."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
import pyqtgraph as pg
from PySide6.QtWidgets import QComboBox

from gui.model.history import History
from gui.model.series import SignalHistory
from gui.panels.xy_panel import XYPanel, forgotten
from gui.plots.value_axis import MINUS, prefixed_unit
from gui.plots.view import View
from gui.plots.xy.axes import pen
from gui.plots.xy.curves import Trail, decimate_loop
from gui.plots.xy.plot import XYPlot, extent
from gui.widgets.theme import Theme
from gui.wording.numbers import DASH
from monitor.messages.blocks import Pair, Samples, same_unit

LENGTHS = ("one window", "four windows", "the whole view")
"""How far back the loop goes."""
_REDRAWN = 64  # times in its length, at most, that the older part is redrawn while it moves on


_MIN_CYCLE_SAMPLES = 12  # samples of a turn
_ROUNDING = 1e-9  # of the box around a loop: an area that small is made of rounding
_WORK = (("m", "N", "J"), ("m", "kN", "kJ"), ("mm", "kN", "J"), ("mm", "N", "mJ"))


def loop_energy(displacement: Samples, force: Samples, sample_rate: float, frequency: float) -> float:
    """Return the area of the last turn, in the product of the units: > 0 where the loop takes energy up.

    The turn is closed by a straight line from its newest point to its oldest, so that what a spring stores does not
    count. NaN where the samples, (n_samples,) each, do not hold a turn of `frequency` [Hz] without a gap.
    """
    if not 0.0 < frequency < math.inf:
        return math.nan
    turn = sample_rate / frequency
    if not turn < len(displacement) + 1:
        return math.nan
    n_turn = round(turn)
    if not _MIN_CYCLE_SAMPLES <= n_turn <= len(displacement):
        return math.nan
    x, f = displacement[-n_turn:], force[-n_turn:]
    # about a point of the loop: an offset costs no digits
    x, f = x - x[0], f - f[0]
    area = float(np.sum((f + np.roll(f, -1)) * (np.roll(x, -1) - x)) / 2.0)
    return 0.0 if abs(area) <= _ROUNDING * float(np.ptp(x) * np.ptp(f)) else area


def work_unit(displacement: str, force: str) -> str:
    """Return the unit of a force's work."""
    for one, other, work in _WORK:
        if displacement and force and same_unit(displacement, one) and same_unit(force, other):
            return work
    return f"{force}·{displacement}".strip("·")


class HysteresisPanel(XYPanel):
    """Show `view.actuator` up to `view.instant`."""

    key: ClassVar[str] = "hysteresis"
    title: ClassVar[str] = "Hysteresis"

    def __init__(self, view: View, theme: Theme) -> None:
        self.lengths = QComboBox()
        self.lengths.addItems(LENGTHS)
        self.lengths.setCurrentIndex(1)
        self.lengths.setAccessibleName("how far back the loop goes")
        super().__init__(view, theme, self.lengths)
        self.plot = XYPlot(theme)
        self.pane.addItem(self.plot)
        self.older = pg.PlotCurveItem(skipFiniteCheck=False)
        self.plot.view_box.addItem(self.older, ignoreBounds=True)
        self.trail = Trail(self.plot)
        # what the older part was drawn from: actuator, length, and where it ends
        self._drawn: tuple[str, float, float] | None = None
        self._extent = (math.nan, math.nan), (math.nan, math.nan)
        self.lengths.currentIndexChanged.connect(self._lengthen)
        self.apply_theme(theme)

    def colour(self) -> None:
        """Give the curves the colours of the theme."""
        colour = self.theme.muted if self.old else self.theme.force
        self.older.setPen(pen(self.theme.muted, opacity=0.55))
        self.trail.set_colours(colour, self.theme.base)

    def configure(self, history: History) -> None:
        """Forget the scales: other channels are shown."""
        self.plot.reset_scales()
        self._drawn = None
        self.refresh(history)

    @property
    def length(self) -> float:
        """How far back the loop goes, s."""
        return (self.window_seconds, 4.0 * self.window_seconds, max(self.view.span, self.window_seconds))[
            self.lengths.currentIndex()
        ]

    def refresh(self, history: History) -> None:
        """Draw the loop up to the instant that is looked at."""
        signals = history.signals
        pair = None if signals is None else next((p for p in signals.pairs if p.actuator == self.view.actuator), None)
        if signals is None or pair is None or pair.force is None:
            self._draw_nothing(history, _why_not(signals, pair))
            return
        when = self.tell(history, pair.actuator)
        of_measured, of_force = signals.channels[pair.measured], signals.channels[pair.force]
        self.plot.name_axes(("measured", of_measured.unit), ("restoring force", of_force.unit))
        x, moved, force = self._samples(signals, pair, self.window_seconds)
        shown = decimate_loop(round(float(x[0]) * signals.sample_rate) if len(x) else 0, moved, force)
        self._draw_older(signals, pair)
        reach = [_union(old, extent(new)) for old, new in zip(self._extent, (moved, force), strict=True)]
        self.plot.fit(*reach, immediate=when.x is not None)
        self.trail.draw(moved[shown], force[shown])

        frequency = (
            math.nan if history.results is None else history.results.value(pair.actuator, "fdb_frequency", when.x)
        )
        energy = loop_energy(moved, force, signals.sample_rate, frequency)
        unit = work_unit(of_measured.unit, of_force.unit)
        known = math.isfinite(energy)
        said = f"energy per cycle {_energy_text(energy, unit)}" if known else f"energy per cycle {DASH}"
        self.plot.set_annotation(said, self.theme.text if known and not self.old else self.theme.muted)
        self.caption = forgotten(history, self.view.instant - self.length)
        self._read_out()

    def under_mouse(self, plot: XYPlot, x: float, y: float) -> str:
        """Return displacement and force at a place."""
        return f"measured {plot.text_of('bottom', x)}, force {plot.text_of('left', y)}"

    def _samples(self, signals: SignalHistory, pair: Pair, length: float) -> tuple[Samples, Samples, Samples]:
        instant = self.view.instant
        x, samples = signals.samples(instant - length + 0.5 / signals.sample_rate, instant)
        assert pair.force is not None
        return x, samples[:, pair.measured], samples[:, pair.force]

    def _draw_older(self, signals: SignalHistory, pair: Pair) -> None:
        """Draw what goes back farther than the window, but not at every look: it may be long."""
        length, instant = self.length, self.view.instant
        if self._drawn is not None and self._drawn[:2] == (pair.actuator, length):
            behind = instant - self._drawn[2]
            if 0.0 <= behind < min(0.5 * self.window_seconds, length / _REDRAWN):
                return
        self._drawn = pair.actuator, length, instant
        if length <= self.window_seconds:
            self._extent = (math.nan, math.nan), (math.nan, math.nan)
            self.older.setData(np.empty(0), np.empty(0))
            return
        x, moved, force = self._samples(signals, pair, length)
        shown = decimate_loop(round(float(x[0]) * signals.sample_rate) if len(x) else 0, moved, force)
        self._extent = extent(moved), extent(force)
        self.older.setData(moved[shown], force[shown], connect="finite")

    def _draw_nothing(self, history: History, why: str) -> None:
        self.tell(history, self.view.actuator or DASH)
        self._drawn = None
        self.trail.clear()
        self.older.setData(np.empty(0), np.empty(0))
        self.plot.set_annotation(why, self.theme.muted)

    def _lengthen(self) -> None:
        # the window draws again when the view says that it has moved
        self.view.moved.emit()


def _why_not(signals: SignalHistory | None, pair: Pair | None) -> str:
    if signals is None:
        return "the service sends no signals"
    if pair is None:
        return "no actuator is chosen"
    return f"{pair.actuator} has no force channel: there is no loop to show"


def _energy_text(energy: float, unit: str) -> str:
    factor, shown = prefixed_unit(unit, (energy, energy))
    return f"{factor * energy:.3g} {shown}".replace("-", MINUS)


def _union(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    return float(np.fmin(one[0], other[0])), float(np.fmax(one[1], other[1]))
