"""Synchronization subspace plot: measured against command, with the ellipse that PAEI fits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import Qt

from gui.model.history import History
from gui.model.series import ResultHistory
from gui.model.verdict import DELAY_TOLERANCE, amplitude_word
from gui.panels.xy_panel import XYPanel, forgotten
from gui.plots.value_axis import deviation_text, value_text
from gui.plots.view import View
from gui.plots.xy.axes import pen
from gui.plots.xy.curves import Trail, decimate_loop
from gui.plots.xy.plot import XYPlot, extent
from gui.widgets.theme import Theme
from gui.wording.numbers import DASH
from monitor.messages.blocks import Samples, units_differ

_MIN_TONE_SAMPLES = 8  # samples that a tone is fitted to


@dataclass(frozen=True, slots=True)
class Ellipse:
    """Measured against command of one tone: ``A cos(t)`` against ``A / ratio cos(t + phase)`` about a centre.

    Parameters
    ----------
    command_centre, measured_centre : in the unit of each signal.
    amplitude : of the command, in its unit.
    ratio : command over measured amplitude.
    phase : rad, > 0 where measured leads.
    """

    command_centre: float
    measured_centre: float
    amplitude: float
    ratio: float
    phase: float

    def points(self, n_points: int = 181) -> tuple[Samples, Samples]:
        """Return command and measured, (n_points,) each, once around; the last point is the first."""
        turn = np.linspace(0.0, 2.0 * math.pi, n_points)
        command = self.command_centre + self.amplitude * np.cos(turn)
        return command, self.measured_centre + self.amplitude / self.ratio * np.cos(turn + self.phase)


def frequency_of(phase: float, delay: float, otherwise: float = math.nan) -> float:
    """Return the frequency [Hz] that turns a phase [rad] into a delay [s]; `otherwise` where both are nothing."""
    return -phase / (2.0 * math.pi * delay) if math.isfinite(delay) and delay != 0.0 else otherwise


def ellipse_of(
    time: Samples, command: Samples, measured: Samples, frequency: float, ratio: float, phase: float
) -> Ellipse | None:
    """Return the ellipse of a window's tone.

    Centres and amplitude are those of the sine and the offset that are closest to the samples (least squares), so
    that the window need not hold whole cycles.

    Parameters
    ----------
    time : (n_samples,), s.
    command, measured : (n_samples,); samples with a NaN in either are left out.
    frequency : of the tone, Hz.
    ratio, phase : as in `Ellipse`.

    Returns
    -------
    ellipse : None where the tone is none, or there are too few samples to tell.
    """
    if not (0.0 < frequency < math.inf and 0.0 < ratio < math.inf and math.isfinite(phase)):
        return None
    good = np.isfinite(command) & np.isfinite(measured)
    if np.count_nonzero(good) < _MIN_TONE_SAMPLES:
        return None
    x, both = time[good], np.stack([command[good], measured[good]], axis=1)
    # about the window's own origin: large times and large offsets cost no digits
    turn = 2.0 * math.pi * frequency * (x - x[0])
    origin = both.mean(axis=0)
    waves = np.stack([np.ones_like(turn), np.cos(turn), np.sin(turn)], axis=1)
    fitted = np.linalg.lstsq(waves, both - origin)[0]
    centre = origin + fitted[0]
    amplitude = float(np.hypot(fitted[1, 0], fitted[2, 0]))
    return Ellipse(float(centre[0]), float(centre[1]), amplitude, ratio, phase)


_STILL = 0.02  # a command that moves by less than this part of what it has done stands still


@dataclass(frozen=True, slots=True)
class _Tracking:
    """PAEI of one instant, NaN where it means nothing: rad, s, command over measured, Hz."""

    phase: float
    phase_sd: float
    delay: float
    delay_sd: float
    ratio: float
    ratio_sd: float
    ratio_unit: str
    frequency: float

    @property
    def valid(self) -> bool:
        """There is an ellipse."""
        return math.isfinite(self.ratio) and math.isfinite(self.phase)


def _tracking_at(results: ResultHistory, actuator: str, x: float | None) -> _Tracking | None:
    """Return what PAEI says at `x`, by default the newest; None where it is not computed."""
    column = results.column(actuator, "paei_ratio")
    if column is None:
        return None
    phase, phase_sd, delay, delay_sd, ratio, ratio_sd = (
        results.value(actuator, f"paei_{name}", x)
        for name in ("phase", "phase_sd", "delay", "delay_sd", "ratio", "ratio_sd")
    )
    # without any lag, its phase and delay do not tell the frequency
    frequency = frequency_of(phase, delay, results.value(actuator, "fdb_frequency", x))
    unit = results.columns[column].unit
    return _Tracking(phase, phase_sd, delay, delay_sd, ratio, ratio_sd, "" if unit == "1" else unit, frequency)


def _tracking_lines(tracking: _Tracking) -> str:
    """Return phase, delay and ratio, a line each, and which way the loop is walked; lines are short."""
    in_step = abs(tracking.delay) <= DELAY_TOLERANCE
    lags = tracking.phase < 0.0
    # seen with the command to the right and the measured signal upward
    way = "measured lags\n↺ counter-clockwise" if lags else "measured leads\n↻ clockwise"
    # a ratio of two units is neither large nor small
    size = "" if tracking.ratio_unit else amplitude_word(tracking.ratio)
    lines = (
        _line("phase", math.degrees(tracking.phase), math.degrees(tracking.phase_sd), 2, "°"),
        _line("delay", 1e3 * tracking.delay, 1e3 * tracking.delay_sd, 2, "ms"),
        _line("ratio", tracking.ratio, tracking.ratio_sd, 3, tracking.ratio_unit),
        "within limits" if in_step else way,
        size,
    )
    return "\n".join(line for line in lines if line)


def _why_no_ellipse(
    tracking: _Tracking | None, good: NDArray[np.bool_], sample_rate: float, window: float, moves: float
) -> str:
    """Return why PAEI has no ellipse at an instant, as far as the samples tell.

    Parameters
    ----------
    tracking : at the instant; None where PAEI is not computed.
    good : (n_samples,), which samples of the window that ends there are numbers.
    sample_rate : Hz.
    window : s.
    moves : how far the command moves in the window, over the most that it did in any.
    """
    if tracking is None:
        return "no ellipse:\nPAEI is not computed"
    n_window = round(window * sample_rate)
    if not good.all() or len(good) < n_window:
        since = int(np.argmin(good[::-1])) if not good.all() else len(good)
        return f"no ellipse:\nwindow not full, {since / sample_rate:.2f} of {window:g} s without a gap"
    if not moves > _STILL:
        return "no ellipse:\nthe command stands still"
    return "no ellipse:\nno value, the command is too small or the motion no tone"


def _line(name: str, value: float, deviation: float, decimals: int, unit: str) -> str:
    shown = value_text(value, decimals)
    if shown == DASH:
        return f"{name} {shown:>8}"
    return f"{name} {shown:>8}{deviation_text(deviation, decimals)} {unit}".rstrip()


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
        self.apply_theme(theme)

    def colour(self) -> None:
        """Give the curves the colours of the theme."""
        self.diagonal.setPen(pen(self.theme.muted, style=Qt.PenStyle.DotLine))
        self.ellipse.setPen(pen(self.theme.muted if self.old else self.theme.text, style=Qt.PenStyle.DashLine))
        self.trail.set_colours(self.theme.muted if self.old else self.theme.measured, self.theme.base)

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

        tracking = None if history.results is None else _tracking_at(history.results, pair.actuator, when.x)
        ellipse = None
        if tracking is not None and tracking.valid:
            ellipse = ellipse_of(x, command, measured, tracking.frequency, tracking.ratio, tracking.phase)
        self.ellipse.setData(*(ellipse.points() if ellipse else (np.empty(0), np.empty(0))))
        if tracking is not None and tracking.valid:
            self.plot.set_annotation(_tracking_lines(tracking), self.theme.muted if self.old else self.theme.text)
        else:
            good = np.isfinite(command) & np.isfinite(measured)
            moves = (high - low) / self._farthest if self._farthest > 0.0 else 0.0
            self.plot.set_annotation(
                _why_no_ellipse(tracking, good, rate, self.window_seconds, moves), self.theme.muted
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
