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
from gui.plots.value_axis import MINUS, held_unit, prefixed_unit
from gui.plots.view import View
from gui.plots.xy.axes import pen
from gui.plots.xy.plot import extent
from gui.widgets.theme import Theme
from monitor.messages.blocks import Pair, Samples, same_unit
from monitor.text.numbers import DASH

LENGTHS = ("one window", "four windows", "the whole view")
"""Choices for the time span of the loop."""
_REDRAWS = 64  # of the older part of the loop, at most, while the view moves by its length


_MIN_CYCLE_SAMPLES = 12
_ROUNDING = 1e-9  # of the bounding box of a loop: a smaller area is rounding error
_WORK = (("m", "N", "J"), ("m", "kN", "kJ"), ("mm", "kN", "J"), ("mm", "N", "mJ"))


def loop_energy(displacement: Samples, force: Samples, sample_rate: float, frequency: float) -> float:
    """Return the area of the last cycle, in the product of the units: > 0 where the loop dissipates energy.

    The cycle is closed by a straight line from its newest point to its oldest, so that elastic energy does not count.
    NaN where the samples, (n_samples,) each, do not contain a cycle of `frequency` [Hz] without a gap.
    """
    if not 0.0 < frequency < math.inf:
        return math.nan
    cycle = sample_rate / frequency
    if not cycle < len(displacement) + 1:
        return math.nan
    n_cycle = round(cycle)
    if not _MIN_CYCLE_SAMPLES <= n_cycle <= len(displacement):
        return math.nan
    x, f = displacement[-n_cycle:], force[-n_cycle:]
    # relative to a point of the loop, so that an offset costs no digits
    x, f = x - x[0], f - f[0]
    area = float(np.sum((f + np.roll(f, -1)) * (np.roll(x, -1) - x)) / 2.0)
    return 0.0 if abs(area) <= _ROUNDING * float(np.ptp(x) * np.ptp(f)) else area


def work_unit(displacement: str, force: str) -> str:
    """Return the unit of work of a force."""
    for one, other, work in _WORK:
        if displacement and force and same_unit(displacement, one) and same_unit(force, other):
            return work
    return f"{force}·{displacement}".strip("·")


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
        # actuator and unit of the energy, with the factor and the prefixed unit in which it is shown
        self._energy_unit: tuple[tuple[str, str], tuple[float, str]] | None = None
        self._extent = (math.nan, math.nan), (math.nan, math.nan)
        self.lengths.currentIndexChanged.connect(self._on_length_changed)
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
        self._drawn = self._energy_unit = None
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
        frequency = (
            math.nan if history.results is None else history.results.value(pair.actuator, "fdb_frequency", when.x)
        )
        energy = loop_energy(moved, force, signals.sample_rate, frequency)
        unit = work_unit(of_measured.unit, of_force.unit)
        known = math.isfinite(energy)
        text = f"energy per cycle {self._energy_text(pair.actuator, energy, unit) if known else DASH}"
        self.plot.set_annotation(text, self.theme.text if known and not self.stale else self.theme.muted)
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

    def _energy_text(self, actuator: str, energy: float, unit: str) -> str:
        """Return the energy; its prefix remains while the number is readable, as on the axes."""
        of_cycle, before = (actuator, unit), self._energy_unit
        held = None if before is None or before[0] != of_cycle else before[1]
        limits = energy, energy
        factor, shown = held_unit(prefixed_unit(unit, limits), limits, held)
        self._energy_unit = of_cycle, (factor, shown)
        return f"{factor * energy:.3g} {shown}".replace("-", MINUS)

    def show_nothing(self, history: History, why: str) -> None:
        """Show a reason in place of the loop."""
        super().show_nothing(history, why)
        self._drawn = None
        self.older.setData(np.empty(0), np.empty(0))

    def _on_length_changed(self) -> None:
        # the window redraws when the range of the view changes
        self.view.range_changed.emit()


def _union(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    return float(np.fmin(one[0], other[0])), float(np.fmax(one[1], other[1]))
