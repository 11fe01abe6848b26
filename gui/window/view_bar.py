"""View bar: live or paused, the span of time, and the actuator."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QComboBox, QSizePolicy, QToolBar, QToolButton, QWidget

from gui.model.history import History
from gui.plots.view import View
from gui.widgets.painting import PlainLabel, font_like
from gui.widgets.theme import Theme, level_colour
from gui.window.actions import Actions
from gui.wording.level import Level
from monitor.text.numbers import duration_text

_SPANS = (1.0, 5.0, 10.0, 30.0, 60.0, 300.0, 600.0, 3600.0)


class ViewBar(QToolBar):
    """Tool bar of a view.

    Parameters
    ----------
    view : visible time range and selected actuator.
    theme : at the start.
    """

    def __init__(self, view: View, theme: Theme) -> None:
        super().__init__("View")
        self.setObjectName("view-bar")
        self.setMovable(False)
        self.toggleViewAction().setEnabled(False)
        self._view, self.theme = view, theme
        self._shown_level: Level | None = None
        self._history: History | None = None
        self._state = _StateLabel()
        self._state.setAccessibleName("live or paused")
        self.fit_to_font()
        self._spans = QComboBox()
        self._spans.setAccessibleName("span")
        self._spans.setToolTip("Span of the plots over time; the mouse wheel zooms")
        for seconds in _SPANS:
            self._spans.addItem(_span_text(seconds), seconds)
        self._spans.activated.connect(self._set_span)
        self._actuators = QComboBox()
        self._actuators.setAccessibleName("actuator")
        self._actuators.setToolTip("Actuator of the panels that show a single one (Ctrl+Up, Ctrl+Down)")
        self._actuators.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self._actuators.textActivated.connect(view.select_actuator)
        for box in (self._spans, self._actuators):
            # a click does not move the focus: Space and Left are shortcuts of the view
            box.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._actuator_widgets: list[QAction] = []
        self._live_widgets: list[QAction] = []
        self._title = PlainLabel()
        view.range_changed.connect(self.refresh)
        view.actuator_changed.connect(self._choose)
        self.refresh()

    def fit_to_font(self) -> None:
        """Give the state the font of the bar: a label with a style sheet does not inherit it."""
        self._state.setFont(font_like(self.font(), bold=True))

    def fill(self, actions: Actions) -> None:
        """Add buttons of the most used actions, and the fields."""
        for key in ("view.pause", "view.live", "note.add"):
            button = QToolButton()
            button.setDefaultAction(actions[key])
            button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
            button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
            self._live_widgets.append(self.addWidget(button))
        self.addWidget(self._state)
        for part in (PlainLabel("Span "), self._spans):
            self.addWidget(part)
        self._actuator_widgets = [self.addWidget(part) for part in (PlainLabel("   Actuator "), self._actuators)]
        space = QWidget()
        space.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.addWidget(space)
        self.addWidget(self._title)

    def set_title(self, title: str) -> None:
        """Show the title of the source."""
        self._title.setText(f"{title} ")

    def configure(self, history: History) -> None:
        """List the actuators of a history."""
        self._history = history
        names = actuators_of(history)
        for action in self._actuator_widgets:
            action.setVisible(bool(names))
        # a recording has no newest sample, and takes no notes; the replay bar plays it
        for action in self._live_widgets:
            action.setVisible(history.recording is None)
        self._actuators.clear()
        self._actuators.addItems(list(names))
        self._actuators.setEnabled(len(names) > 1)
        if names and self._view.actuator not in names:
            self._view.select_actuator(names[0])
        self._choose()

    def apply_theme(self, theme: Theme) -> None:
        """Apply a theme."""
        self.theme = theme
        self._apply_colour()

    def refresh(self) -> None:
        """Show whether the view is live, and its span."""
        view = self._view
        text, level = self._state_text
        if text != self._state.text():
            self._state.setText(text)
        if level != self._shown_level:
            self._apply_colour()
        usual = next((i for i, seconds in enumerate(_SPANS) if abs(seconds - view.span) < 1e-6 * seconds), -1)
        if usual != self._spans.currentIndex():
            self._spans.setCurrentIndex(usual)
        if usual < 0:
            self._spans.setPlaceholderText(_span_text(view.span))

    def _set_span(self) -> None:
        self._view.set_span(float(self._spans.currentData()))

    def _choose(self) -> None:
        self._actuators.setCurrentIndex(self._actuators.findText(self._view.actuator))

    @property
    def _state_text(self) -> tuple[str, Level]:
        """Text and level: of the view, or of the service where the view follows one that sends nothing."""
        if self._view.recorded:
            return "■ recording", Level.INFO
        if not self._view.following:
            return f"❚❚ paused, {duration_text(self._view.behind)} behind", Level.WARN
        state = None if self._history is None else self._history.state
        if state is None:
            return "○ not connected", Level.NONE
        if state.key == "receiving":
            return "● live", Level.GOOD
        return f"{state.shape} newest: {state.brief or state.words}", state.level

    def _apply_colour(self) -> None:
        self._shown_level = self._state_text[1]
        self._state.setStyleSheet(f"color: {level_colour(self.theme, self._shown_level)}")


class _StateLabel(PlainLabel):
    """As wide as its longest usual text, so that the widgets beside it do not move."""

    def minimumSizeHint(self) -> QSize:
        """Return a size that does not depend on the text, unless that is longer."""
        size = super().minimumSizeHint()
        return size.expandedTo(QSize(self.fontMetrics().horizontalAdvance("❚❚ paused, 00 h 00 min behind ") + 8, 0))

    def sizeHint(self) -> QSize:
        """Return the same size."""
        return self.minimumSizeHint()


def _span_text(seconds: float) -> str:
    # a whole recording of a minute has a span of a sample less
    return f"{seconds:.3g} s" if seconds < 60.0 else duration_text(seconds + 0.5)


def actuators_of(history: History) -> tuple[str, ...]:
    """Return the names of the actuators in the results, or else in the signals."""
    if history.results is not None and history.results.actuators:
        return history.results.actuators
    return () if history.signals is None else tuple(pair.actuator for pair in history.signals.pairs)
