"""Transfer function panel: ratio, delay or phase, and coherence of the actuators over frequency."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QToolButton

from gui.model.history import History
from gui.model.tracking_status import MIN_COHERENCE
from gui.panels.base import instant_of
from gui.panels.xy_panel import XYPanel
from gui.plots.value_axis import deviation_text, value_text
from gui.plots.view import View
from gui.plots.xy.curves import CoherentCurve
from gui.plots.xy.plot import FrequencyAxis, XYPlot, extent, pen
from gui.widgets.theme import Theme
from monitor.messages.blocks import Samples, TransferBlock
from monitor.text.numbers import DASH, instant_text


@dataclass(frozen=True, slots=True)
class _TransferQuantity:
    """Column of the transfer function, multiplied by `factor` in `unit`; an empty `unit` is the column's own.

    `least_span` is the smallest range of the axis, in `unit`, as in the plots over time.
    """

    column: str
    unit: str = ""
    factor: float = 1.0
    decimals: int = 3
    uncertain: bool = True
    least_span: float = 0.0

    def values(self, block: TransferBlock, actuator: str) -> Samples:
        """Return (n_frequencies,), NaN where there is no value."""
        return self.factor * block.curve(actuator, self.column)

    def deviations(self, block: TransferBlock, actuator: str) -> Samples | None:
        """Return the standard deviations, (n_frequencies,); None for a quantity without."""
        return self.factor * block.curve(actuator, f"{self.column}_sd") if self.uncertain else None

    def unit_of(self, block: TransferBlock, actuator: str) -> str:
        """Return the unit of the values; empty for dimensionless ones."""
        unit = self.unit or block.stream.columns[block.stream.positions[actuator, self.column]].unit
        return "" if unit == "1" else unit


_RATIO = _TransferQuantity("ratio", least_span=0.02)
_DELAY = _TransferQuantity("delay", "ms", 1e3, 1, least_span=1.0)
_PHASE = _TransferQuantity("phase", "°", 180.0 / math.pi, 1, least_span=1.0)
_COHERENCE = _TransferQuantity("coherence", uncertain=False)


def _value_text(block: TransferBlock, actuator: str, quantity: _TransferQuantity, at: int) -> str:
    """Return a quantity at the frequency of index `at`, with its standard deviation and unit."""
    value = float(quantity.values(block, actuator)[at])
    if not math.isfinite(value):
        return f"{quantity.column} {DASH}"
    deviations = quantity.deviations(block, actuator)
    deviation = math.nan if deviations is None else float(deviations[at])
    spread = deviation_text(deviation, quantity.decimals)
    low = " (low)" if quantity is _COHERENCE and value < MIN_COHERENCE else ""
    text = f"{quantity.column} {value_text(value, quantity.decimals)}{spread}"
    return f"{text} {quantity.unit_of(block, actuator)}".rstrip() + low


_MIN_HEIGHT = 200  # px: the labels of three rows do not overlap
_MIN_LABEL_HEIGHT = 310  # px of the panel, from which the frequency axis has a label
# line style, and its sample in the legend
_STYLES = (
    (Qt.PenStyle.SolidLine, "──"),
    (Qt.PenStyle.DashLine, "╌╌"),
    (Qt.PenStyle.DotLine, "····"),
    (Qt.PenStyle.DashDotLine, "─·─"),
)


class TransferPanel(XYPanel):
    """Newest transfer function of `view.actuator` or of all actuators."""

    key: ClassVar[str] = "transfer"
    title: ClassVar[str] = "Transfer function"

    def __init__(self, view: View, theme: Theme) -> None:
        self.phase = _toggle("Phase", "show the phase instead of the delay in the second row")
        self.logarithmic = _toggle("Log", "logarithmic frequency axis")
        self.everyone = _toggle("All", "show all actuators, not only the selected one")
        super().__init__(view, theme, self.phase, self.logarithmic, self.everyone)
        self.pane.setMinimumHeight(_MIN_HEIGHT)
        self.rows = tuple(
            XYPlot(theme, left=left, axes={"bottom": FrequencyAxis()}) for left in (None, None, (0.0, 1.05))
        )
        self.dominant = tuple(pg.InfiniteLine(angle=90.0) for _ in self.rows)
        self.curves: dict[str, tuple[CoherentCurve, ...]] = {}
        self._block: TransferBlock | None = None
        self._drawn: TransferBlock | None = None
        self._options: tuple[object, ...] = ()
        self._with_label = True
        lowest = self.rows[-1]
        for number, (row, mark) in enumerate(zip(self.rows, self.dominant, strict=True)):
            self.pane.addItem(row, row=number, col=0)
            row.view_box.addItem(mark, ignoreBounds=True)
            row.view_box.sigRangeChangedManually.connect(self._disable_auto_range)
            row.view_box.auto_range_requested.connect(self.enable_auto_range)
            if row is not lowest:
                row.view_box.setXLink(lowest.view_box)
                row.getAxis("bottom").setStyle(showValues=False)
                row.getAxis("bottom").setHeight(6)
        for chosen in (self.phase, self.logarithmic, self.everyone):
            # the window redraws when the range of the view changes
            chosen.toggled.connect(view.range_changed)
        self.apply_theme(theme)

    @property
    def quantities(self) -> tuple[_TransferQuantity, ...]:
        """The quantities of the rows."""
        return _RATIO, _PHASE if self.phase.isChecked() else _DELAY, _COHERENCE

    def apply_colours(self) -> None:
        """Set the colours of the curves."""
        for mark in self.dominant:
            mark.setPen(pen(self.theme.muted, style=Qt.PenStyle.DashLine))
        for number, curves in enumerate(self.curves.values()):
            colour = self.theme.muted if self.stale else self.theme.series[number % len(self.theme.series)]
            for curve in curves:
                curve.set_style(colour, self.theme.muted, _STYLES[number % len(_STYLES)][0])
        self._drawn = None

    def configure(self, history: History) -> None:
        """Reset curves and scales for other actuators."""
        self._options = ()
        self.refresh(history)

    def refresh(self, history: History) -> None:
        """Draw the newest transfer functions (of a recording: those at the play head), unless they are drawn."""
        when = instant_of(history, self.view)
        self._block = block = history.transfer_at(when.x)
        names = () if block is None else block.stream.actuators
        shown = tuple(name for name in names if self.everyone.isChecked() or name == self.view.actuator)
        self.set_heading(history, self._subject(history, block))
        options = shown, self.quantities, self.logarithmic.isChecked()
        if options != self._options:
            self._create_curves(shown)
            self._options, self._drawn = options, None
        if block is None or block is not self._drawn:
            self._drawn = block
            self._draw(shown)
        self._mark(history, when.x)
        self._read_out()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Hide the label of the frequency axis where the rows need its space."""
        super().resizeEvent(event)
        if (self.height() >= _MIN_LABEL_HEIGHT) is not self._with_label:
            self._with_label = not self._with_label
            axis = self.rows[-1].getAxis("bottom")
            axis.unit_at_ticks("" if self._with_label else "Hz")
            self._draw(tuple(self.curves))

    def under_mouse(self, plot: XYPlot, x: float, y: float) -> str:  # noqa: ARG002 - depends on the frequency only
        """Return the values at the frequency nearest to the mouse: all quantities of one actuator, or one of each."""
        block, shown = self._block, tuple(self.curves)
        if block is None or not shown:
            return ""
        frequency = 10.0**x if self.logarithmic.isChecked() else x
        at = int(np.argmin(np.abs(block.frequency - frequency)))
        if len(shown) == 1:
            texts = [_value_text(block, shown[0], quantity, at) for quantity in self.quantities]
        else:
            quantity = self.quantities[self.rows.index(plot)]
            texts = [f"{name} {_value_text(block, name, quantity, at)}" for name in shown]
        return f"{block.frequency[at]:.4g} Hz: " + ", ".join(texts)

    def _subject(self, history: History, block: TransferBlock | None) -> str:
        name = "all actuators" if self.everyone.isChecked() else self.view.actuator
        if block is None:
            return name
        if history.recording is not None:
            restarts = history.recording.header.n_breaks
            if history.recording.states.is_last_transfer(block):
                return f"{name} · {'since the last restart' if restarts else 'of the whole recording'}"
            since = "the last restart" if restarts else "the beginning"
            return f"{name} · averaged from {since} to {instant_text(block.time, 2)}"
        # only the newest one is stored, which need not be that of the displayed instant
        text = f"{name} · newest, up to {instant_text(block.time, 2)}"
        memory = 0.0 if history.health is None else history.health.transfer_memory
        return text + (f", averaged over {memory:g} s" if memory else "")

    def _create_curves(self, shown: tuple[str, ...]) -> None:
        """Create the curves of the shown actuators, and reset the scales."""
        for curves in self.curves.values():
            for curve in curves:
                curve.remove()
        self.curves = {name: tuple(CoherentCurve(row) for row in self.rows) for name in shown}
        self.apply_colours()
        for row in self.rows:
            row.getAxis("bottom").setLogMode(self.logarithmic.isChecked())
            row.reset_scales()

    def _draw(self, shown: tuple[str, ...]) -> None:
        block = self._block
        if block is None or not shown:
            self.rows[0].set_annotation(
                "no transfer function yet" if block is None else "no actuator is selected", self.theme.muted
            )
            return
        self.rows[0].set_annotation("", self.theme.text)
        good = block.frequency > 0.0
        frequency = block.frequency[good]
        x = np.log10(frequency) if self.logarithmic.isChecked() else frequency
        known = np.zeros(len(x), dtype=bool)
        for number, (row, quantity) in enumerate(zip(self.rows, self.quantities, strict=True)):
            reach = []
            for name in shown:
                coherence = block.curve(name, "coherence")[good]
                coherent = np.nan_to_num(coherence) >= MIN_COHERENCE
                values, deviations = quantity.values(block, name)[good], quantity.deviations(block, name)
                deviations = None if deviations is None else deviations[good]
                self.curves[name][number].draw(x, values, deviations, coherent)
                known |= np.isfinite(coherence)
                reach.append(_reach(values, deviations, coherent))
            unit = quantity.unit_of(block, shown[0])
            labelled = self._with_label and row is self.rows[-1]
            row.name_axes(("frequency", "Hz") if labelled else ("", ""), (quantity.column, unit))
            # a ratio of different units may be of any size
            row.set_least_span(quantity.least_span if unit == quantity.unit else 0.0)
            row.fit(extent(x[known]), extent(np.concatenate(reach)), immediate=True)

    def _mark(self, history: History, x: float | None) -> None:
        """Mark the dominant frequency of the selected actuator at the instant of the view."""
        results = history.results
        frequency = math.nan if results is None else results.value(self.view.actuator, "fdb_frequency", x)
        seen = frequency > 0.0 and self._block is not None and self.view.actuator in self.curves
        for mark in self.dominant:
            mark.setVisible(seen)
            if seen:
                mark.setValue(math.log10(frequency) if self.logarithmic.isChecked() else frequency)
        legend = [f"{_STYLES[number % len(_STYLES)][1]} {name}" for number, name in enumerate(self.curves)]
        mark = [f"╎ dominant {frequency:.3g} Hz"] if seen else []
        parts = [*(legend if len(legend) > 1 else ()), *mark, "band ± 1 sd", f"grey: coherence < {MIN_COHERENCE:g}"]
        self.caption = " · ".join(parts) if legend else ""

    def _disable_auto_range(self) -> None:
        for row in self.rows:
            row.auto_range_on = False


def _reach(values: Samples, deviations: Samples | None, coherent: NDArray[np.bool_]) -> Samples:
    """Return the values that set the scale: coherent ones with their bands; all where none is coherent."""
    if not np.isfinite(values[coherent]).any():
        return values
    spread = np.zeros_like(values) if deviations is None else np.nan_to_num(deviations)
    return np.concatenate([(values - spread)[coherent], (values + spread)[coherent]])


def _toggle(text: str, tip: str) -> QToolButton:
    button = QToolButton()
    button.setText(text)
    button.setToolTip(tip)
    button.setAccessibleName(tip)
    button.setCheckable(True)
    button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    return button
