"""Base class of panels of one quantity against another: a heading, plots, and the values under the mouse."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPoint, QRect
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QVBoxLayout, QWidget

from gui.model.history import History
from gui.model.signals import SignalHistory
from gui.panels.base import Panel, PanelInstant, instant_of, no_signals
from gui.plots.figure import Figure, Page
from gui.plots.view import View
from gui.plots.xy.canvas import XYCanvas, canvas_figure, has_data
from gui.plots.xy.curves import Trail, decimate_loop
from gui.plots.xy.plot import XYPlot, extent, tabular
from gui.widgets.layout import fill
from gui.widgets.menus import MenuEntry, MenuPlace
from gui.widgets.painting import ElidedLabel, PlainLabel
from gui.widgets.signal_drag import DropPlace, SignalDrop
from gui.widgets.theme import Theme
from monitor.messages.blocks import Pair, Samples
from monitor.text.numbers import DASH, instant_text

_LEAST_LIST = 64  # px
_MOUSE_HELP = "wheel: zoom · drag: pan · double click: automatic scales"


class XYPanel(Panel):
    """Panel with a heading, controls beside it, plots, and a line with the values under the mouse or a `caption`."""

    def __init__(self, view: View, theme: Theme, *controls: QWidget) -> None:
        super().__init__(view, theme)
        self.stale = False
        self.caption = ""
        self.heading, self.readout = ElidedLabel(" "), ElidedLabel(" ")
        self.readout.setFont(tabular())
        self.pane = XYCanvas(theme)
        self.pane.setAccessibleName(self.title)
        self.pane.setToolTip(_MOUSE_HELP)
        self.pane.mouse_moved.connect(self._read_out)
        self.pane.menu_requested.connect(self._show_menu)
        self.controls = fill(QHBoxLayout(), (self.heading, 1), spacing=4)
        for control in controls:
            self.add_control(control)
        fill(QVBoxLayout(self), self.controls, (self.pane, 1), self.readout, margins=(6, 4, 6, 4), spacing=2)

    def add_control(self, control: QWidget, place: int = -1) -> None:
        """Add a control beside the heading; a long list does not widen the panel."""
        if isinstance(control, QComboBox):
            control.setMinimumWidth(_LEAST_LIST)
        self.controls.insertWidget(place, control)

    @property
    def plots(self) -> tuple[XYPlot, ...]:
        """The plots from the top down."""
        return tuple(item for item in self.pane.ci.items if isinstance(item, XYPlot))

    def enable_auto_range(self) -> None:
        """Enable auto-range of all plots."""
        for plot in self.plots:
            plot.enable_auto_range()

    def keep_scales(self) -> None:
        """Keep the scales that the plots have now."""
        for plot in self.plots:
            plot.keep_scale()

    def menu_entries(self, place: MenuPlace) -> Iterable[Iterable[MenuEntry]]:  # noqa: ARG002 - the same everywhere
        """Return what can be done with the scales."""
        following = [plot.auto_range_on for plot in self.plots]
        yield (
            MenuEntry("Fit scales", self.enable_auto_range, not all(following)),
            MenuEntry("Keep these scales", self.keep_scales, any(following)),
        )

    def apply_theme(self, theme: Theme) -> None:
        """Apply the colours of a theme."""
        super().apply_theme(theme)
        self.pane.apply_theme(theme)
        for plot in self.plots:
            plot.apply_theme(theme)
        self.apply_colours()

    def apply_colours(self) -> None:
        """Set the colours of the curves from the theme, muted where they are `stale`."""
        raise NotImplementedError

    def under_mouse(self, plot: XYPlot, x: float, y: float) -> str:
        """Return the text of a position in a plot."""
        raise NotImplementedError

    def set_heading(self, history: History, subject: str, span: str = "") -> PanelInstant:
        """Show the instant, or a `span` but the live one, and the subject in the heading; return the instant."""
        when = instant_of(history, self.view)
        text = " · ".join(filter(None, ((span if when.x is not None else "") or when.heading, subject)))
        self.heading.setText(text)
        if when.stale is not self.stale:
            self.stale = when.stale
            self.apply_colours()
        return when

    def figure(self, page: Page, history: History) -> Figure:
        """Return the plots, laid out for the page; what they do not explain is the legend."""
        if not has_data(self.plots):
            raise ValueError(f"{self.title}: there is nothing to draw")
        stale, self.stale = self.stale, False
        try:
            with self.on_paper(history):
                when = f"at {instant_text(history.timeline.time_at(self.view.instant), 2)}"
                subject = self.heading.text().replace("● live", when).lstrip("◆■ ")
                return canvas_figure(self.title, self.pane, self.plots, page, (subject, self.figure_legend))
        finally:
            self.stale = stale

    @property
    def figure_legend(self) -> str:
        """Text that explains lines and bands in a figure."""
        return self.caption

    def _show_menu(self, at: QPoint) -> None:
        self.show_menu(MenuPlace(at))

    def _read_out(self) -> None:
        place = self.pane.under_mouse()
        # a blank preserves the height of the line
        self.readout.setText((place and self.under_mouse(*place)) or self.caption or " ")


class LoopPanel(XYPanel):
    """Panel with the path of one signal against another up to the instant of the view, and its newest point."""

    square: ClassVar[bool] = False
    colour: ClassVar[str] = "measured"

    def __init__(self, view: View, theme: Theme, *controls: QWidget) -> None:
        super().__init__(view, theme, *controls)
        self.plot = XYPlot(theme, square=self.square)
        self.pane.addItem(self.plot)
        self.trail = Trail(self.plot)

    def apply_colours(self) -> None:
        """Set the colours of the path."""
        colour = self.theme.muted if self.stale else getattr(self.theme, self.colour)
        self.trail.set_colours(colour, self.theme.base)

    def configure(self, history: History) -> None:
        """Reset the scales for other channels."""
        self.plot.reset_scales()
        self.refresh(history)

    def under_mouse(self, plot: XYPlot, x: float, y: float) -> str:
        """Return both values at a position."""
        across, up = plot.names
        return f"{across} {plot.text_of('bottom', x)}, {up} {plot.text_of('left', y)}"

    def pair_of(self, history: History) -> Pair | None:
        """Return the channels of the selected actuator; without them, show why."""
        signals, actuator = history.signals, self.view.actuator
        pair = None if signals is None else next((p for p in signals.pairs if p.actuator == actuator), None)
        if pair is None:
            self.show_nothing(history, no_signals(history) if signals is None else "no actuator is selected")
        return pair

    def show_nothing(self, history: History, why: str) -> None:
        """Show a reason in place of the path."""
        self.set_heading(history, self.view.actuator or DASH)
        self.trail.clear()
        self.plot.set_annotation(why, self.theme.muted)


def decimated(signals: SignalHistory, x: Samples, across: Samples, up: Samples) -> NDArray[np.intp]:
    """Return the points of a path that preserve its outline."""
    return decimate_loop(round(float(x[0]) * signals.sample_rate) if len(x) else 0, across, up)


def incomplete_note(history: History, begin: float) -> str:
    """Return a note where single samples from x = `begin` on are no longer in memory; else empty."""
    signals = history.signals
    if signals is None or not signals.begin_x < signals.exact_begin_x or begin >= signals.exact_begin_x:
        return ""
    since = instant_text(history.timeline.time_at(signals.exact_begin_x), 2)
    return f"drawn from {since} on: earlier samples are no longer in memory one by one"


_MAX_SAMPLES = 1 << 17
_AXIS = 120, 56  # px of the areas of the axes that are highlighted


class PairPanel(LoopPanel):
    """One channel against another, up to the instant of the view; by default measured against command."""

    key: ClassVar[str] = "pair"
    title: ClassVar[str] = "Any signals"

    def __init__(self, view: View, theme: Theme) -> None:
        self.horizontal, self.vertical = QComboBox(), QComboBox()
        for box, axis in ((self.horizontal, "horizontal"), (self.vertical, "vertical")):
            box.setAccessibleName(f"channel of the {axis} axis")
            box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        super().__init__(view, theme, self.vertical, PlainLabel("against"), self.horizontal)
        for box in (self.horizontal, self.vertical):
            box.activated.connect(self._on_chosen)
        self.drop_target = SignalDrop(self, self._place)
        self.apply_theme(theme)

    def configure(self, history: History) -> None:
        """List the channels; those that are chosen remain, if they exist."""
        signals = history.signals
        names = [] if signals is None else [*signals.named]
        pair = signals.pairs[0] if signals is not None and signals.pairs else None
        usual = (0, min(1, len(names) - 1)) if pair is None else (pair.command, pair.measured)
        for box, default in zip((self.horizontal, self.vertical), usual, strict=True):
            chosen = box.currentText()
            box.clear()
            box.addItems(names)
            box.setEnabled(bool(names))
            box.setCurrentIndex(box.findText(chosen) if chosen in names else default)
        super().configure(history)

    def refresh(self, history: History) -> None:
        """Draw the visible range up to the instant of the view."""
        signals = history.signals
        if signals is None or not self.horizontal.count():
            self.show_nothing(history, no_signals(history))
            return
        when = self.set_heading(history, f"{self.vertical.currentText()} against {self.horizontal.currentText()}")
        self.plot.set_annotation("", self.theme.text)
        self._draw(signals, immediate=when.x is not None)
        self.caption = incomplete_note(history, self.view.left)
        self._read_out()

    def _draw(self, signals: SignalHistory, *, immediate: bool) -> None:
        across, up = (signals.named[box.currentText()] for box in (self.horizontal, self.vertical))
        instant = self.view.instant
        start = max(self.view.left, instant - self.view.span)
        x, samples = signals.samples(start, instant, _MAX_SAMPLES, [across.column, up.column])
        horizontal, vertical = np.ascontiguousarray(samples.T)
        self.plot.name_axes((across.name, across.unit), (up.name, up.unit))
        self.plot.fit(extent(horizontal), extent(vertical), immediate=immediate)
        shown = decimated(signals, x, horizontal, vertical)
        self.trail.draw(horizontal[shown], vertical[shown])

    def _place(self, at: QPoint, names: tuple[str, ...]) -> DropPlace | None:
        """Return what dropping a signal does: it goes to the axis, or its field, that is nearer to the point."""
        if len(names) != 1 or self.horizontal.findText(names[0]) < 0:
            return None
        area, box = self.pane.geometry(), None
        for each in (self.horizontal, self.vertical):
            if each.geometry().contains(at):
                box, area = each, each.geometry()
        if box is None:
            across = (at.x() - area.left()) / max(1, area.width())
            up = (area.bottom() - at.y()) / max(1, area.height())
            box = self.horizontal if up < across else self.vertical
            size = (
                (area.width(), min(_AXIS[1], area.height()))
                if box is self.horizontal
                else (min(_AXIS[0], area.width()), area.height())
            )
            area = QRect(area.left(), area.bottom() + 1 - size[1], *size)
        axis = "x" if box is self.horizontal else "y"
        return DropPlace(area, f"{axis}: {names[0]}", partial(self._show_signal, box, names[0]))

    def _show_signal(self, box: QComboBox, name: str) -> None:
        box.setCurrentText(name)
        self._on_chosen()

    def _on_chosen(self) -> None:
        self.plot.reset_scales()
        # the window redraws when the range of the view changes
        self.view.range_changed.emit()
