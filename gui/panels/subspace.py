"""Synchronization subspace panel: measured against command, with the ellipse fitted by PAEI."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import Qt

from gui.model.history import History
from gui.model.results import ResultHistory
from gui.model.tracking_status import NOT_DETERMINED, amplitude_word, timing_word
from gui.panels.xy_panel import LoopPanel, decimated, incomplete_note
from gui.plots.value_axis import deviation_text, value_text
from gui.plots.view import View
from gui.plots.xy.plot import extent, pen
from gui.widgets.theme import Theme
from monitor.messages.blocks import Samples, units_differ
from monitor.messages.reasons import reason_word
from monitor.text.numbers import DASH

_MIN_TONE_SAMPLES = 8  # for fitting a tone


@dataclass(frozen=True, slots=True)
class ToneEllipse:
    """Ellipse of a tone: command ``A cos(t)``, measured ``A / ratio cos(t + phase)``, about a centre.

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
        """Return command and measured, (n_points,) each, of one cycle; the last point equals the first."""
        turn = np.linspace(0.0, 2.0 * math.pi, n_points)
        command = self.command_centre + self.amplitude * np.cos(turn)
        return command, self.measured_centre + self.amplitude / self.ratio * np.cos(turn + self.phase)


def frequency_of(phase: float, delay: float, otherwise: float = math.nan) -> float:
    """Return the frequency [Hz] from phase [rad] and delay [s]; `otherwise` where the delay is zero or NaN."""
    return -phase / (2.0 * math.pi * delay) if math.isfinite(delay) and delay != 0.0 else otherwise


def ellipse_of(
    time: Samples, command: Samples, measured: Samples, frequency: float, ratio: float, phase: float
) -> ToneEllipse | None:
    """Return the ellipse of the tone in a window.

    Centre and amplitude are from a least-squares fit of a sine with offset, so that the window need not contain whole
    cycles.

    Parameters
    ----------
    time : (n_samples,), s.
    command, measured : (n_samples,); samples with a NaN in either are ignored.
    frequency : of the tone, Hz.
    ratio, phase : as in `ToneEllipse`.

    Returns
    -------
    ellipse : None where the parameters are not finite and positive, or there are too few samples.
    """
    if not (0.0 < frequency < math.inf and 0.0 < ratio < math.inf and math.isfinite(phase)):
        return None
    good = np.isfinite(command) & np.isfinite(measured)
    if np.count_nonzero(good) < _MIN_TONE_SAMPLES:
        return None
    x, both = time[good], np.stack([command[good], measured[good]], axis=1)
    # relative to the window's own origin: large times and offsets cost no digits
    turn = 2.0 * math.pi * frequency * (x - x[0])
    origin = both.mean(axis=0)
    waves = np.stack([np.ones_like(turn), np.cos(turn), np.sin(turn)], axis=1)
    fitted = np.linalg.lstsq(waves, both - origin)[0]
    centre = origin + fitted[0]
    amplitude = float(np.hypot(fitted[1, 0], fitted[2, 0]))
    return ToneEllipse(float(centre[0]), float(centre[1]), amplitude, ratio, phase)


@dataclass(frozen=True, slots=True)
class _PaeiValues:
    """PAEI at an instant, NaN where invalid: phase [rad], delay [s], command/measured, frequency [Hz]; the reason."""

    phase: float
    phase_sd: float
    delay: float
    delay_sd: float
    ratio: float
    ratio_sd: float
    ratio_unit: str
    frequency: float
    reason: float

    @property
    def valid(self) -> bool:
        """Whether there is an ellipse."""
        return math.isfinite(self.ratio) and math.isfinite(self.phase)


def _tracking_at(results: ResultHistory, actuator: str, x: float | None) -> _PaeiValues | None:
    """Return PAEI at `x`, by default the newest; None where it is not computed."""
    column = results.column(actuator, "paei_ratio")
    if column is None:
        return None
    phase, phase_sd, delay, delay_sd, ratio, ratio_sd = (
        results.value(actuator, f"paei_{name}", x)
        for name in ("phase", "phase_sd", "delay", "delay_sd", "ratio", "ratio_sd")
    )
    # at zero delay the frequency does not follow from phase and delay
    frequency = frequency_of(phase, delay, results.value(actuator, "fdb_frequency", x))
    unit = results.columns[column].unit
    unit, reason = "" if unit == "1" else unit, results.value(actuator, "paei_reason", x)
    return _PaeiValues(phase, phase_sd, delay, delay_sd, ratio, ratio_sd, unit, frequency, reason)


def _tracking_lines(tracking: _PaeiValues) -> str:
    """Return phase, delay and ratio, a line each, and the direction of the loop."""
    # with the command to the right and the measured signal upward
    direction = {
        "": "no lag",
        "lag": "measured lags\n↺ counter-clockwise",
        "lead": "measured leads\n↻ clockwise",
        NOT_DETERMINED: f"delay {NOT_DETERMINED}",
    }[timing_word(tracking.delay, tracking.delay_sd)]
    # a ratio of different units is neither large nor small
    size = "" if tracking.ratio_unit else amplitude_word(tracking.ratio, tracking.ratio_sd)
    size = f"ratio {size}" if size == NOT_DETERMINED else size
    lines = (
        _line("phase", math.degrees(tracking.phase), math.degrees(tracking.phase_sd), 2, "°"),
        _line("delay", 1e3 * tracking.delay, 1e3 * tracking.delay_sd, 2, "ms"),
        _line("ratio", tracking.ratio, tracking.ratio_sd, 3, tracking.ratio_unit),
        direction,
        size,
    )
    return "\n".join(line for line in lines if line)


def _why_no_ellipse(tracking: _PaeiValues | None, good: NDArray[np.bool_], sample_rate: float, window: float) -> str:
    """Return why PAEI has no ellipse at an instant.

    Parameters
    ----------
    tracking : at the instant; None where PAEI is not computed.
    good : (n_samples,), which samples of the window that ends there are finite.
    sample_rate : Hz.
    window : s.
    """
    if tracking is None:
        return "no ellipse:\nPAEI is not computed"
    n_window = round(window * sample_rate)
    if not good.all() or len(good) < n_window:
        since = int(np.argmin(good[::-1])) if not good.all() else len(good)
        return f"no ellipse:\nwindow not full, {since / sample_rate:.2f} of {window:g} s without a gap"
    return f"no ellipse:\n{reason_word(tracking.reason) if tracking.reason > 0.0 else 'no value'}"


def _line(name: str, value: float, deviation: float, decimals: int, unit: str) -> str:
    shown = value_text(value, decimals)
    if shown == DASH:
        return f"{name} {shown:>8}"
    return f"{name} {shown:>8}{deviation_text(deviation, decimals)} {unit}".rstrip()


class SubspacePanel(LoopPanel):
    """Measured against command of `view.actuator` in the window that ends at `view.instant`."""

    key: ClassVar[str] = "subspace"
    title: ClassVar[str] = "Synchronization subspace"
    square: ClassVar[bool] = True

    def __init__(self, view: View, theme: Theme) -> None:
        super().__init__(view, theme)
        self.diagonal, self.ellipse = pg.InfiniteLine(angle=45.0), pg.PlotCurveItem(skipFiniteCheck=True)
        for item in (self.diagonal, self.ellipse):
            self.plot.view_box.addItem(item, ignoreBounds=True)
        self.diagonal.setZValue(-1.0)
        self.apply_theme(theme)

    @property
    def figure_legend(self) -> str:
        """Text that explains the lines in a figure."""
        lines = f"solid: the last {self.window_seconds:g} s", "dashed: ellipse of PAEI", "dotted: perfect tracking"
        return " · ".join(filter(None, (*lines[: 3 if self.plot.square else 2], self.caption)))

    def apply_colours(self) -> None:
        """Set the colours of the curves."""
        self.diagonal.setPen(pen(self.theme.muted, style=Qt.PenStyle.DotLine))
        self.ellipse.setPen(pen(self.theme.muted if self.stale else self.theme.text, style=Qt.PenStyle.DashLine))
        super().apply_colours()

    def refresh(self, history: History) -> None:
        """Draw the window that ends at the instant of the view."""
        signals, pair = history.signals, self.pair_of(history)
        if signals is None or pair is None:
            return
        when = self.set_heading(history, pair.actuator)
        of_command, of_measured = signals.channels[pair.command], signals.channels[pair.measured]
        alike = not units_differ(of_command, of_measured)
        self.plot.square = alike
        self.diagonal.setVisible(alike)
        self.plot.name_axes(("command", of_command.unit), ("measured", of_measured.unit or of_command.unit))

        instant, rate = self.view.instant, signals.sample_rate
        # without the sample at the beginning of the window, which belongs to the previous one
        x, samples = signals.samples(instant - self.window_seconds + 0.5 / rate, instant)
        self.caption = incomplete_note(history, instant - self.window_seconds)
        command, measured = samples[:, pair.command], samples[:, pair.measured]
        reach = extent(command), extent(measured)
        self.plot.fit(*reach, immediate=when.x is not None)
        shown = decimated(signals, x, command, measured)
        self.trail.draw(command[shown], measured[shown])

        tracking = None if history.results is None else _tracking_at(history.results, pair.actuator, when.x)
        ellipse = None
        if tracking is not None and tracking.valid:
            ellipse = ellipse_of(x, command, measured, tracking.frequency, tracking.ratio, tracking.phase)
        self.ellipse.setData(*(ellipse.points() if ellipse else (np.empty(0), np.empty(0))))
        if tracking is not None and tracking.valid:
            self.plot.set_annotation(_tracking_lines(tracking), self.theme.muted if self.stale else self.theme.text)
        else:
            good = np.isfinite(command) & np.isfinite(measured)
            why = _why_no_ellipse(tracking, good, rate, self.window_seconds)
            # what is no longer in memory was not missing then
            self.plot.set_annotation("" if self.caption else why, self.theme.muted)
        self._read_out()

    def show_nothing(self, history: History, why: str) -> None:
        """Show a reason in place of the path and its ellipse."""
        super().show_nothing(history, why)
        self.ellipse.setData(np.empty(0), np.empty(0))
