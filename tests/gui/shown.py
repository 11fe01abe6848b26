"""A panel, or a plot of rows, that shows something."""

from __future__ import annotations

from PySide6.QtWidgets import QApplication

from gui.plots.time.stack import TimeStack
from gui.plots.view import View
from gui.widgets.theme import LIGHT


def show_panel(qtbot, kind, history, size=(900, 700), *, span=None, actuator="", window=None, theme=LIGHT):
    """Return a panel of this kind that shows `span` s of a history, one actuator and a window of so many s."""
    view = View()
    view.span = span or view.span
    view.extend(history.begin_x, history.end_x)
    if actuator:
        view.select_actuator(actuator)
    panel = kind(view, theme)
    qtbot.addWidget(panel)
    panel.window_seconds = window or panel.window_seconds
    panel.resize(*size)
    panel.show()
    panel.configure(history)
    panel.refresh(history)
    return panel


def look(panel, history, actuator="a"):
    """Show another history in it."""
    panel.view.extend(history.begin_x, history.end_x)
    panel.view.select_actuator(actuator)
    panel.configure(history)
    panel.refresh(history)
    QApplication.processEvents()


def show_stack(qtbot, rows, size=(800, 400), *, span=10.0, view=None):
    """Return an empty plot of these rows; without a view, of one from 0 to `span` s."""
    if view is None:
        view = View()
        view.span = span
        view.extend(0.0, span)
    made = TimeStack(view, LIGHT)
    qtbot.addWidget(made)
    made.resize(*size)
    made.set_rows(rows)
    made.show()
    return made
