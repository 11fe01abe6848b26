"""Spectrum panel: amplitude spectral density of a channel over the visible range, and its spectrogram."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from html import escape
from typing import ClassVar

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPoint, QRectF
from PySide6.QtWidgets import QComboBox

from gui.model.history import History
from gui.model.signals import SignalHistory, StoredSignal
from gui.model.statistics import Spectrogram, occupied_band, segment_length, spectrogram
from gui.panels.base import no_signals, span_text
from gui.panels.xy_panel import XYPanel, incomplete_note
from gui.plots.value_axis import prefixed_unit, unit_text
from gui.plots.view import View
from gui.plots.xy.plot import FrequencyAxis, XYPlot, extent, pen
from gui.widgets.signal_drag import DropPlace, SignalDrop
from gui.widgets.theme import Theme
from monitor.messages.blocks import same_unit
from monitor.text.numbers import DASH

_OF_ACTUATOR = "selected actuator"
_SEGMENTS = (1.0, 2.0, 4.0, 8.0, 16.0)  # s
_INTERVAL = 0.5  # s of data between two spectra while live
_MAX_SAMPLES = 1 << 19
_DECADES = 4.0  # of the spectrogram's colours, below its maximum
_LEAST = 1e-300  # so that zero has a logarithm
_MAX_CURVES = 8
_MIN_BAND = 5.0  # Hz of the spectrogram


class SpectrumPanel(XYPanel):
    """Spectra of a channel, or of command and measured signal of `view.actuator`, over the visible range."""

    key: ClassVar[str] = "spectrum"
    title: ClassVar[str] = "Spectrum"

    def __init__(self, view: View, theme: Theme) -> None:
        self.channels, self.segments = QComboBox(), QComboBox()
        self.channels.setAccessibleName("channel of the spectrum")
        self.channels.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.channels.addItem(_OF_ACTUATOR, [])
        self.segments.setAccessibleName("length of a segment")
        self.segments.setToolTip("Length of the averaged segments: longer ones resolve frequencies better")
        for seconds in _SEGMENTS:
            self.segments.addItem(f"{seconds:g} s", seconds)
        self.segments.setCurrentIndex(_SEGMENTS.index(4.0))
        super().__init__(view, theme, self.channels, self.segments)
        self.plot = XYPlot(theme, axes={"bottom": FrequencyAxis()})
        self.plot.getAxis("bottom").setLogMode(True)
        self.plot.getAxis("left").setLogMode(True)
        self.over_time = XYPlot(theme)
        # above the curves, not over them
        self.legend = pg.LegendItem(colCount=_MAX_CURVES, verSpacing=-6)
        self.legend.layout.setContentsMargins(9.0, 0.0, 9.0, 0.0)
        self.pane.addItem(self.legend, row=0, col=0)
        self.pane.addItem(self.plot, row=1, col=0)
        self.pane.addItem(self.over_time, row=2, col=0)
        self.curves = tuple(pg.PlotCurveItem(skipFiniteCheck=False) for _ in range(_MAX_CURVES))
        for curve in self.curves:
            self.plot.view_box.addItem(curve, ignoreBounds=True)
        self.image = pg.ImageItem(colorMap=pg.colormap.get("viridis"))
        self.image.setZValue(-5.0)
        self.over_time.view_box.addItem(self.image, ignoreBounds=True)
        self._signals: Mapping[str, StoredSignal] = {}
        self._found: dict[str, Spectrogram] = {}
        self._labels: tuple[str, ...] = ()
        self._factor, self._unit = 1.0, ""
        self._drawn: tuple[object, ...] | None = None
        self._drawn_to = math.nan
        for box in (self.channels, self.segments):
            # the window redraws when the range of the view changes
            box.activated.connect(view.range_changed)
        self.drop_target = SignalDrop(self, self._place)
        self.apply_theme(theme)

    def apply_colours(self) -> None:
        """Set the colours of the curves."""
        colours = self.theme.command, self.theme.measured, *self.theme.series[2:]
        for curve, colour in zip(self.curves, colours, strict=False):
            curve.setPen(pen(self.theme.muted if self.stale else colour, 1.5))
        self.legend.setLabelTextColor(self.theme.text)
        for _, label in self.legend.items:
            # pyqtgraph uses the colour for texts that are set later
            label.setText(label.text)

    def configure(self, history: History) -> None:
        """List the channels; the chosen one remains, if it exists."""
        self._signals = {} if history.signals is None else history.signals.named
        self._choose(self.channels.currentData())
        for plot in self.plots:
            plot.reset_scales()
        self._drawn = None
        self.refresh(history)

    def refresh(self, history: History) -> None:
        """Draw the spectra of the visible range, at intervals while it changes."""
        signals, view = history.signals, self.view
        columns = self._columns(signals)
        chosen = self.channels.currentText() if self.channels.currentIndex() else view.actuator
        self.set_heading(history, chosen, span_text(history.timeline, view.left, view.right) if columns else "")
        if signals is None or not columns:
            self._draw_message(no_signals(history) if signals is None else "no actuator is selected")
            return
        state = (tuple(columns), self.segments.currentData(), view.span, view.following, history.generation)
        right = min(view.right, signals.end_x)
        if state == self._drawn and abs(right - self._drawn_to) < (_INTERVAL if view.following else 1e-9):
            return
        self._drawn, self._drawn_to = state, right
        self._compute(signals, columns, right)
        self.caption = incomplete_note(history, view.left)
        self._read_out()

    def under_mouse(self, plot: XYPlot, x: float, y: float) -> str:
        """Return the densities at the frequency under the mouse."""
        if not self._found:
            return ""
        frequency = 10.0**x if plot is self.plot else y
        first = next(iter(self._found.values()))
        at = int(np.argmin(np.abs(first.frequencies - frequency)))
        parts = [f"{name} {self._factor * found.mean[at]:.3g} {self._unit}" for name, found in self._found.items()]
        return f"{first.frequencies[at]:.4g} Hz: " + ", ".join(parts)

    def _columns(self, signals: SignalHistory | None) -> dict[str, int]:
        """Return the columns that are shown, by name."""
        if signals is None:
            return {}
        chosen = self.channels.currentData()
        if chosen and all(name in signals.named for name in chosen):
            return {name: signals.named[name].column for name in chosen}
        pair = next((pair for pair in signals.pairs if pair.actuator == self.view.actuator), None)
        return {} if pair is None else {"command": pair.command, "measured": pair.measured}

    def _compute(self, signals: SignalHistory, columns: dict[str, int], right: float) -> None:
        x, samples = signals.samples(self.view.left, right, _MAX_SAMPLES, [*columns.values()])
        n_segment = segment_length(len(x), signals.sample_rate, self.segments.currentData())
        if len(x) < 2 * n_segment:
            n_segment //= 2
        if n_segment < 16:
            self._draw_message("the visible range has too few samples")
            return
        self._found = {
            name: spectrogram(samples[:, i], signals.sample_rate, n_segment) for i, name in enumerate(columns)
        }
        first = next(iter(columns.values()))
        unit = next(signal.unit for signal in signals.named.values() if signal.column == first)
        # in the unit in which the signal is drawn over time
        self._factor, shown = prefixed_unit(unit, extent(samples[:, 0]))
        self._unit = f"{unit_text(shown)}/√Hz" if unit else "1/√Hz"
        if all(math.isnan(found.mean[0]) for found in self._found.values()):
            self._draw_message(f"no {n_segment / signals.sample_rate:.3g} s without a gap: choose shorter segments")
            return
        self.plot.set_annotation("", self.theme.text)
        self._draw_spectra()
        last, found = list(self._found.items())[-1]
        self._draw_image(last, found, float(x[0]), n_segment / signals.sample_rate)

    def _draw_spectra(self) -> None:
        # the first frequency is zero, which has no logarithm
        frequency = np.log10(next(iter(self._found.values())).frequencies[1:])
        densities = [np.log10(np.maximum(self._factor * found.mean[1:], _LEAST)) for found in self._found.values()]
        for curve, density in zip(self.curves, densities, strict=False):
            curve.setData(frequency, density)
        for curve in self.curves[len(densities) :]:
            curve.setData(np.empty(0), np.empty(0))
        self._label_curves(tuple(self._found))
        everything = np.concatenate(densities)
        top = float(np.nanmax(everything))
        self.plot.name_axes(("frequency [Hz]", ""), (f"density [{self._unit}]", ""))
        # rounding errors far below the maximum do not set the scale
        self.plot.fit(extent(frequency), extent(everything[everything > top - 2.0 * _DECADES]), immediate=True)

    def _label_curves(self, names: tuple[str, ...]) -> None:
        if names != self._labels:
            self._labels = names
            self.legend.clear()
            for curve, name in zip(self.curves, names, strict=False):
                self.legend.addItem(curve, escape(name))

    def _draw_image(self, name: str, found: Spectrogram, begin: float, seconds: float) -> None:
        level = np.log10(np.maximum(found.density, _LEAST))
        top = float(np.nanmax(level))
        self.image.setImage(level, levels=(top - _DECADES, top))
        step = float(found.times[1] - found.times[0]) if len(found.times) > 1 else seconds
        width = float(found.frequencies[1])
        left = begin + float(found.times[0]) - 0.5 * step
        self.image.setRect(QRectF(left, -0.5 * width, step * len(found.times), width * len(found.frequencies)))
        band = min(float(found.frequencies[-1]), max(_MIN_BAND, 1.5 * occupied_band(found.frequencies, found.mean)))
        scale = f"colours: 10⁻⁴ to 1 times {self._factor * 10.0**top:.2g} {self._unit}"
        self.over_time.name_axes((f"time, {name} · {scale}", "s"), ("frequency", "Hz"))
        self.over_time.fit((left, left + step * len(found.times)), (0.0, band), immediate=True)

    def _choose(self, chosen: Sequence[str]) -> None:
        """List the signals, and choose some of them; none, or unknown ones: those of the selected actuator."""
        lists = [[name] for name in self._signals]
        if len(chosen) > 1 and all(name in self._signals for name in chosen):
            lists.append([*chosen])
        self.channels.clear()
        self.channels.addItem(_OF_ACTUATOR, [])
        for names in lists:
            more = f" + {len(names) - 1} more" if len(names) > 1 else ""
            self.channels.addItem(f"{names[0]}{more}", names)
        self.channels.setCurrentIndex(1 + lists.index([*chosen]) if [*chosen] in lists else 0)

    def _place(self, at: QPoint, names: tuple[str, ...]) -> DropPlace | None:  # noqa: ARG002 - the whole panel
        """Return what dropping signals does: their spectra are shown, of those with the unit of the first."""
        found = [self._signals[name] for name in names if name in self._signals]
        if len(found) < len(names):
            return None
        shown = [signal.name for signal in found if same_unit(signal.unit, found[0].unit)][:_MAX_CURVES]
        return DropPlace(self.pane.geometry(), f"spectrum of {', '.join(shown)}", partial(self._show_signals, shown))

    def _show_signals(self, names: Sequence[str]) -> None:
        self._choose(names)
        self.view.range_changed.emit()

    def _draw_message(self, why: str) -> None:
        self._found, self._drawn = {}, None
        for curve in self.curves:
            curve.setData(np.empty(0), np.empty(0))
        self.image.clear()
        self._label_curves(())
        self.plot.set_annotation(why or DASH, self.theme.muted)
