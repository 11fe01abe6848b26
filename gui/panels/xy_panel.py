"""What panels of one quantity against another have in common: a heading, plots, and the values under the mouse."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from gui.model.history import History
from gui.panels.base import Moment, Panel, moment
from gui.plots.view import View
from gui.plots.xy.axes import tabular
from gui.plots.xy.plot import XYCanvas, XYPlot
from gui.widgets.labels import PlainLabel, plain_tip
from gui.widgets.painting import painting
from gui.widgets.theme import Theme
from gui.wording.numbers import instant_text

_HOW = "wheel: zoom · drag: pan · double click: automatic scales"


class XYPanel(Panel):
    """A heading with what chooses beside it, plots, and a line for what is under the mouse, else for a `caption`."""

    def __init__(self, view: View, theme: Theme, *choosers: QWidget) -> None:
        super().__init__(view, theme)
        self.old = False
        self.caption = ""
        self.heading, self.readout = _Line(), _Line()
        self.readout.setFont(tabular())
        self.pane = XYCanvas(theme)
        self.pane.setAccessibleName(self.title)
        self.pane.setToolTip(_HOW)
        self.pane.pointed.connect(self._read_out)
        top = QHBoxLayout()
        top.setSpacing(4)
        top.addWidget(self.heading, 1)
        for chooser in choosers:
            top.addWidget(chooser)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(6, 4, 6, 4)
        layout.setSpacing(2)
        layout.addLayout(top)
        layout.addWidget(self.pane, 1)
        layout.addWidget(self.readout)

    @property
    def plots(self) -> tuple[XYPlot, ...]:
        """Those there are, from above."""
        return tuple(self.pane.ci.items)

    def enable_auto_range(self) -> None:
        """Let all plots choose their scales again."""
        for plot in self.plots:
            plot.enable_auto_range()

    def apply_theme(self, theme: Theme) -> None:
        """Take other colours."""
        super().apply_theme(theme)
        self.pane.apply_theme(theme)
        for plot in self.plots:
            plot.apply_theme(theme)
        self.colour()

    def colour(self) -> None:
        """Give the curves the colours of the theme, or one that says that they are `old`."""
        raise NotImplementedError

    def under_mouse(self, plot: XYPlot, x: float, y: float) -> str:
        """Return the values at a place of a plot."""
        raise NotImplementedError

    def tell(self, history: History, subject: str) -> Moment:
        """Say above what is shown and of when; return when."""
        when = moment(history, self.view)
        said = " · ".join(part for part in (when.text, subject) if part)
        self.heading.setText(said)
        self.heading.setToolTip(plain_tip(said))
        if when.old is not self.old:
            self.old = when.old
            self.colour()
        return when

    def _read_out(self) -> None:
        place = self.pane.under_mouse()
        # a blank keeps the line's height
        self.readout.setText((place and self.under_mouse(*place)) or self.caption or " ")


def forgotten(history: History, begin: float) -> str:
    """Return that samples from x = `begin` on are not all kept any more; empty where they are."""
    signals = history.signals
    if signals is None or not signals.begin_x < signals.kept_x or begin >= signals.kept_x:
        return ""
    since = instant_text(history.timeline.time_at(signals.kept_x), 2)
    return f"drawn from {since} on: of what was before, not every sample is kept"


class _Line(PlainLabel):
    """A line of text that never makes the panel wider: what has no room ends in an ellipsis."""

    def __init__(self) -> None:
        super().__init__(" ")
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002, N802 - Qt's name
        with painting(self) as painter:
            painter.setPen(self.palette().windowText().color())
            shown = self.fontMetrics().elidedText(self.text(), Qt.TextElideMode.ElideRight, self.width())
            painter.drawText(self.rect(), Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, shown)
