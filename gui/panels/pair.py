"""XY panel: any channel against any other over the visible range."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

import numpy as np
from PySide6.QtCore import QPoint, QRect
from PySide6.QtWidgets import QComboBox

from gui.model.history import History
from gui.model.signals import SignalHistory
from gui.panels.base import no_signals
from gui.panels.xy_panel import LoopPanel, decimated, incomplete_note
from gui.plots.view import View
from gui.plots.xy.plot import extent
from gui.widgets.labels import PlainLabel
from gui.widgets.signal_drag import DropPlace, SignalDrop
from gui.widgets.theme import Theme

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
