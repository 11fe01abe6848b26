"""Which command of the table does what to the view, the replay and the panels."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDockWidget, QWidget

from gui.plots.view import View
from gui.sources.replay_bar.replay_bar import LEAD, STEP, ReplayBar
from gui.window.actions import Actions
from gui.window.sessions import Sessions
from gui.window.view_bar import actuators_of
from gui.window.window import MainWindow

_SPANS = {"view.span_5": 5.0, "view.span_30": 30.0, "view.span_60": 60.0, "view.span_600": 600.0}


def bind_view(actions: Actions, view: View) -> None:
    """Let the commands of time move the view, and the pause show whether it stands."""
    actions.connect({key: partial(view.set_span, seconds) for key, seconds in _SPANS.items()})
    actions.connect(
        {
            "view.pause": view.toggle,
            "view.live": view.live,
            "view.back": lambda: view.shift(-view.span / 10.0),
            "view.forward": lambda: view.shift(view.span / 10.0),
            "view.back_span": lambda: view.shift(-view.span),
            "view.forward_span": lambda: view.shift(view.span),
            "view.zoom_in": lambda: view.zoom(0.5, view.pinned),
            "view.zoom_out": lambda: view.zoom(2.0, view.pinned),
            "view.span_all": view.show_all,
        },
    )
    view.moved.connect(lambda: actions["view.pause"].setChecked(not view.following))


def bind_replay(actions: Actions, sessions: Sessions, bar: ReplayBar) -> None:
    """Let the commands of a replay steer its player, and be there only while there is one."""

    def steer(handler: Callable[..., object]) -> Callable[[], object]:
        return lambda: None if sessions.player is None else handler(sessions.player)

    def faster(by: int) -> Callable[[], object]:
        # the box knows what is wanted before the player has said that it is so: a second press counts too
        return steer(lambda _player: bar.speed.faster(by))

    actions.connect(
        {
            "replay.play": steer(lambda player: player.toggle()),
            "replay.step": steer(lambda player: player.step(STEP)),
            "replay.slower": faster(-1),
            "replay.faster": faster(1),
            "replay.restart": steer(lambda player: player.restart()),
            "replay.loop": steer(lambda player: player.set_loop(actions["replay.loop"].isChecked())),
        },
    )

    def allow() -> None:
        for command, _ in actions:
            if command.group == "Replay":
                actions.enable(command.key, sessions.player is not None)

    sessions.changed.connect(allow)
    allow()


def bind_panels(actions: Actions, window: MainWindow, view: View) -> None:
    """Let panels be shown and hidden, and the keys go from one to the next; and so the actuators."""
    for key, dock in window.desk.docks.items():
        action = actions[f"panel.{key}"]
        action.triggered.connect(_shower(dock))
        dock.toggleViewAction().toggled.connect(action.setChecked)
        action.setChecked(dock.toggleViewAction().isChecked())

    def focus(by: int) -> None:
        shown = window.desk.seen
        focused = window.focusWidget()
        at = next((i for i, panel in enumerate(shown) if focused in (panel, *panel.findChildren(QWidget))), -by)
        if shown:
            shown[(at + by) % len(shown)].setFocus(Qt.FocusReason.ShortcutFocusReason)

    def choose(by: int) -> None:
        known = actuators_of(window.watch.history)
        if known:
            at = known.index(view.actuator) if view.actuator in known else -by
            view.choose(known[(at + by) % len(known)])

    actions.connect(
        {
            "panel.next": lambda: focus(1),
            "panel.previous": lambda: focus(-1),
            "actuator.next": lambda: choose(1),
            "actuator.previous": lambda: choose(-1),
        },
    )


def seek(sessions: Sessions, seconds: float) -> None:
    """Play from another instant, with what the windows need before it."""
    if sessions.player is not None:
        sessions.player.seek(seconds, LEAD)


def _shower(dock: QDockWidget) -> Callable[[bool], None]:
    def show(shown: bool) -> None:
        dock.setVisible(shown)
        if shown:
            # a tab may lie in front of it
            dock.raise_()
            dock.widget().setFocus(Qt.FocusReason.ShortcutFocusReason)

    return show
