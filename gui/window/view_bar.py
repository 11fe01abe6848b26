"""What is looked at, in words: live or paused and how far behind, how long a span, which actuator."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QComboBox, QSizePolicy, QToolBar, QToolButton, QWidget

from gui.model.history import History
from gui.plots.view import View
from gui.widgets.labels import PlainLabel
from gui.widgets.theme import Theme, level_colour
from gui.window.actions import Actions
from gui.wording.level import Level
from gui.wording.numbers import duration_text

_SPANS = (1.0, 5.0, 10.0, 30.0, 60.0, 300.0, 600.0, 3600.0)


class ViewBar(QToolBar):
    """A tool bar over a view.

    Parameters
    ----------
    view : what it shows and moves.
    theme : colours to begin with.
    """

    def __init__(self, view: View, theme: Theme) -> None:
        super().__init__("View")
        self.setObjectName("view-bar")
        self.setMovable(False)
        self.toggleViewAction().setEnabled(False)
        self._view, self.theme = view, theme
        self._coloured: Level | None = None
        self._history: History | None = None
        self._state = PlainLabel()
        self._state.setAccessibleName("live or paused")
        self._state.setMinimumWidth(self.fontMetrics().horizontalAdvance("❚❚ paused, 00 h 00 min behind ") + 8)
        self._spans = QComboBox()
        self._spans.setAccessibleName("span that is shown")
        self._spans.setToolTip("How many seconds the plots over time show; the wheel over a plot zooms")
        for seconds in _SPANS:
            self._spans.addItem(_span_text(seconds), seconds)
        self._spans.activated.connect(self._set_span)
        self._actuators = QComboBox()
        self._actuators.setAccessibleName("actuator")
        self._actuators.setToolTip("The actuator that panels of a single one show (Ctrl+Up, Ctrl+Down)")
        self._actuators.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self._actuators.textActivated.connect(view.choose)
        for box in (self._spans, self._actuators):
            # a click leaves the keys where they are: Space and Left are not meant for a list
            box.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._of_actuators: list[QAction] = []
        self._title = PlainLabel()
        view.moved.connect(self.refresh)
        view.chosen.connect(self._choose)
        self.refresh()

    def fill(self, actions: Actions) -> None:
        """Put buttons for the commands that are needed most beside the fields."""
        for key in ("view.pause", "view.live", "note.add"):
            self.addAction(actions[key])
            button = self.widgetForAction(actions[key])
            if isinstance(button, QToolButton):
                button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
        self.addWidget(self._state)
        for part in (PlainLabel("Span "), self._spans):
            self.addWidget(part)
        self._of_actuators = [self.addWidget(part) for part in (PlainLabel("   Actuator "), self._actuators)]
        space = QWidget()
        space.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.addWidget(space)
        self.addWidget(self._title)

    def name(self, title: str) -> None:
        """Show what is watched."""
        self._title.setText(f"{title} ")

    def configure(self, history: History) -> None:
        """Offer the actuators of another history."""
        self._history = history
        names = actuators_of(history)
        for action in self._of_actuators:
            action.setVisible(bool(names))
        self._actuators.clear()
        self._actuators.addItems(list(names))
        self._actuators.setEnabled(len(names) > 1)
        if names and self._view.actuator not in names:
            self._view.choose(names[0])
        self._choose()

    def apply_theme(self, theme: Theme) -> None:
        """Take other colours."""
        self.theme = theme
        self._colour()

    def refresh(self) -> None:
        """Say where the view stands; what is newest goes on without it."""
        view = self._view
        words, level = self._standing
        if words != self._state.text():
            self._state.setText(words)
        if level != self._coloured:
            self._colour()
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
    def _standing(self) -> tuple[str, Level]:
        """What is said of the view and, where it follows what does not move, of that."""
        if not self._view.following:
            return f"❚❚ paused, {duration_text(self._view.behind)} behind", Level.WARN
        state = None if self._history is None else self._history.state
        if state is None or state.current:
            return "● live", Level.GOOD
        return f"{state.shape} newest: {state.brief or state.words}", state.level

    def _colour(self) -> None:
        self._coloured = self._standing[1]
        self._state.setStyleSheet(f"color: {level_colour(self.theme, self._coloured)}; font-weight: bold")


def _span_text(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds < 60.0 else duration_text(seconds)


def actuators_of(history: History) -> tuple[str, ...]:
    """Return the names of the actuators, as results or else as signals know them."""
    if history.results is not None and history.results.actuators:
        return history.results.actuators
    return () if history.signals is None else tuple(pair.actuator for pair in history.signals.pairs)
