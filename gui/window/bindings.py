"""Connects the actions of the view, the replay and the panels to their handlers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSpinBox,
    QComboBox,
    QDockWidget,
    QDoubleSpinBox,
    QLineEdit,
    QWidget,
)

from gui.panels.tiles import TileGrid, TilesPanel
from gui.plots.view import View
from gui.sources.processes.player import PlayHead
from gui.sources.processes.session import SessionManager
from gui.sources.replay_bar.replay_bar import LEAD, STEP, ReplayBar
from gui.sources.replay_bar.run_timeline import RunTimeline
from gui.window.actions import Actions
from gui.window.view_bar import actuators_of
from gui.window.window import MainWindow

_SPANS = {"view.span_5": 5.0, "view.span_30": 30.0, "view.span_60": 60.0, "view.span_600": 600.0}


def bind_view(actions: Actions, view: View, sessions: SessionManager) -> None:
    """Connect the actions that move the view; "pause" is checked while it does not follow the newest sample.

    Of a recording that is shown as a whole, "pause" is that of the play head.
    """
    actions.connect({key: partial(view.set_span, seconds) for key, seconds in _SPANS.items()})
    actions.connect(
        {
            "view.pause": lambda: _toggle(view, sessions),
            "view.live": view.live,
            "view.back": lambda: view.shift(-view.span / 10.0),
            "view.forward": lambda: view.shift(view.span / 10.0),
            "view.back_span": lambda: view.shift(-view.span),
            "view.forward_span": lambda: view.shift(view.span),
            "view.zoom_in": lambda: view.zoom(0.5, view.pinned),
            "view.zoom_out": lambda: view.zoom(2.0, view.pinned),
            "view.undo": view.undo,
            "view.redo": view.redo,
            "view.span_all": view.show_all,
            "view.add_cursor": view.add_mark,
            "view.clear_cursors": lambda: view.set_marks(()),
        }
    )
    view.range_changed.connect(lambda: actions["view.pause"].setChecked(not view.following and not view.recorded))


def _toggle(view: View, sessions: SessionManager) -> None:
    if not view.recorded:
        view.toggle()
    elif sessions.player is not None:
        sessions.player.toggle()


def bind_play_head(view: View, sessions: SessionManager) -> None:
    """Let the pinned cursor be the play head of a recording: either moves the other."""

    def head() -> PlayHead | None:
        return sessions.player if isinstance(sessions.player, PlayHead) else None

    def move_cursor() -> None:
        player, before = head(), view.pinned
        if player is not None and view.recorded and player.x != before:
            view.pin(player.x)
            view.keep_in_view(player.x, player.x if before is None else before)

    def move_head() -> None:
        player = head()
        if player is not None and view.recorded and view.pinned is not None and view.pinned != player.x:
            player.seek_x(view.pinned)

    attached: list[PlayHead] = []

    def attach() -> None:
        player = head()
        if player is not None and player not in attached:
            attached[:] = [player]
            player.changed.connect(move_cursor)
            # the cursor may have been pinned while the results were computed
            if not view.head_at_end:
                move_head()

    sessions.changed.connect(attach)
    view.cursor_changed.connect(move_head)


def bind_replay(actions: Actions, sessions: SessionManager, bar: ReplayBar) -> None:
    """Connect the actions of a replay; they are enabled while there is a player."""

    def with_player(handler: Callable[..., object]) -> Callable[[], object]:
        return lambda: None if sessions.player is None else handler(sessions.player)

    def faster(by: int) -> Callable[[], object]:
        # the box has the requested speed before the player confirms it, so that a second press counts too
        return with_player(lambda _player: bar.speed.faster(by))

    actions.connect(
        {
            "replay.play": with_player(lambda player: player.toggle()),
            "replay.step": with_player(lambda player: player.step(STEP)),
            "replay.slower": faster(-1),
            "replay.faster": faster(1),
            "replay.restart": with_player(lambda player: player.restart()),
            "replay.loop": with_player(lambda player: player.set_loop(actions["replay.loop"].isChecked())),
        }
    )

    def update_enabled() -> None:
        player = sessions.player
        for spec, _ in actions:
            if spec.key.startswith("replay."):
                actions.enable(spec.key, player is not None)
        # a whole is streamed, and faults are injected into a stream
        actions.enable("replay.stream", isinstance(player, PlayHead))
        actions.enable("replay.faults", player is not None and not isinstance(player, PlayHead))

    sessions.changed.connect(update_enabled)
    update_enabled()


def bind_panels(actions: Actions, window: MainWindow, view: View) -> None:
    """Connect the actions that show, hide and focus panels, and those that select the actuator."""
    for key, dock in window.dock_area.docks.items():
        action = actions[f"panel.{key}"]
        action.triggered.connect(_visibility_handler(dock, window))
        dock.toggleViewAction().toggled.connect(action.setChecked)
        action.setChecked(dock.toggleViewAction().isChecked())

    def focus(by: int) -> None:
        shown = window.dock_area.visible_panels
        focused = window.focusWidget()
        at = next((i for i, panel in enumerate(shown) if focused in (panel, *panel.findChildren(QWidget))), -by)
        if shown:
            shown[(at + by) % len(shown)].setFocus(Qt.FocusReason.ShortcutFocusReason)

    def choose(by: int) -> None:
        known = actuators_of(window.connection.history)
        if known:
            at = known.index(view.actuator) if view.actuator in known else -by
            view.select_actuator(known[(at + by) % len(known)])

    actions.connect(
        {
            "panel.next": lambda: focus(1),
            "panel.previous": lambda: focus(-1),
            "actuator.next": lambda: choose(1),
            "actuator.previous": lambda: choose(-1),
        }
    )


def seek(sessions: SessionManager, seconds: float) -> None:
    """Play from another instant, after a lead that fills the windows."""
    if sessions.player is not None:
        sessions.player.seek(seconds, LEAD)


def _visibility_handler(dock: QDockWidget, window: MainWindow) -> Callable[[bool], None]:
    def show(shown: bool) -> None:
        with window.view.step("", window.dock_area.arrangement):
            dock.setVisible(shown)
        if shown:
            # it may be behind another tab
            dock.raise_()
            dock.widget().setFocus(Qt.FocusReason.ShortcutFocusReason)
        else:
            window.focus_plot()

    return show


_CLICKED = (QAbstractButton, QComboBox, TileGrid, TilesPanel, RunTimeline)
_FIELDS = (QLineEdit, QAbstractSpinBox, QComboBox)
_ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)


class PlotFocus(QObject):
    """Keeps the keys with the plots.

    What is clicked takes no focus, except lists and fields for text; a field gives it back at Enter, if its text is
    valid, and at Esc. Tab and F6 reach everything.

    Parameters
    ----------
    window : its widgets, except the start page and the note bar, which gives the focus back itself.
    """

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._entered: QObject | None = None
        others = window.start_page, window.note_bar, window.loading_page, window.loading_bar
        for widget in window.findChildren(QWidget):
            if widget.window() is not window or any(other.isAncestorOf(widget) for other in others):
                continue
            editable = isinstance(widget, QComboBox) and widget.isEditable()
            if isinstance(widget, _FIELDS) and (editable or not isinstance(widget, QComboBox)):
                widget.installEventFilter(self)
            elif isinstance(widget, _CLICKED) and widget.focusPolicy() & Qt.FocusPolicy.ClickFocus:
                widget.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        # chosen from its list
        window.replay_bar.speed.activated.connect(window.focus_plot)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Give the focus back at Esc, and when Enter is released, after the field has used it."""
        if not isinstance(event, QKeyEvent):
            return super().eventFilter(watched, event)
        key, pressed = event.key(), event.type() == QEvent.Type.KeyPress
        if pressed and key == Qt.Key.Key_Escape:
            if isinstance(watched, QDoubleSpinBox):
                # the number of before, not the one that was being typed
                watched.setValue(watched.value())
            self._window.focus_plot()
            return True
        if pressed:
            self._entered = watched if key in _ENTER else None
        elif event.type() == QEvent.Type.KeyRelease and key in _ENTER and self._entered is watched:
            self._entered = None
            if not getattr(watched, "problem", ""):
                self._window.focus_plot()
        return super().eventFilter(watched, event)
