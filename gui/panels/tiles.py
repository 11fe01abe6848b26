"""What is read from across the room: a tile for each actuator, and for each site of a model that is judged."""

from __future__ import annotations

import math

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QStackedLayout

from gui.model.history.history import History
from gui.model.limits import Limits
from gui.panels.actuator_face import actuator_face
from gui.panels.base import Panel
from gui.panels.site_face import site_face
from gui.panels.tile_board import TileBoard
from gui.panels.tile_moment import tile_moment
from gui.plots.view import View
from gui.widgets.plain_text import PlainLabel
from gui.widgets.theme import Theme

_PACE = 0.2  # s between two numbers: nobody reads faster
_NOTHING = "Waiting for results."


class TilesPanel(Panel):
    """Big numbers and words of one instant: of now, while the view follows and they are current."""

    key = "tiles"
    title = "Tiles"

    def __init__(self, view: View, theme: Theme) -> None:
        super().__init__(view, theme)
        self._limits: Limits = {}
        self._shown = self._asked = math.nan
        self._before: object = None
        self._board = TileBoard(theme)
        self._board.picked.connect(self._pick)
        self._scroll = QScrollArea()
        self._scroll.setFrameShape(QFrame.Shape.NoFrame)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._scroll.setWidget(self._board)
        self._nothing = PlainLabel(_NOTHING, alignment=Qt.AlignmentFlag.AlignCenter, wordWrap=True)
        self._stack = QStackedLayout(self)
        self._stack.addWidget(self._nothing)
        self._stack.addWidget(self._scroll)
        self.setFocusProxy(self._board)
        view.chosen.connect(self._choose)

    def set_limits(self, limits: Limits) -> None:
        """Say from where values are over a limit: delay in ms, phase in deg, ratio in % away from 100 %."""
        self._limits = limits
        self._before = None

    def configure(self, history: History) -> None:
        """Have a tile for each actuator and site."""
        results = history.results
        actuators, sites = ((), ()) if results is None else (results.actuators, results.sites)
        self._board.make(len(actuators), len(sites))
        self._stack.setCurrentIndex(1 if self._board.tiles else 0)
        self._before = None
        self.refresh(history)
        self._arrange()
        self._choose()

    def refresh(self, history: History) -> None:
        """Show the values of the view's instant."""
        view, results = self.view, history.results
        live = view.following and view.pinned is None
        at = tile_moment(history, None if live else view.instant)
        newest = history.end_x if live else view.instant
        told = (live, at.said, at.instead, history.generation, history.alarms, history.limits)
        # numbers that change faster than they can be read are let go by, as long as more are on their way
        hurried = newest != self._asked and abs(newest - self._shown) < _PACE
        self._asked = newest
        if results is None or (live and hurried and told == self._before):
            return
        self._shown, self._before = newest, told
        faces = [
            *(actuator_face(history, name, at, self._limits, self.window_seconds) for name in results.actuators),
            *(site_face(history, name, at) for name in results.sites),
        ]
        for tile, face in zip(self._board.tiles, faces, strict=False):
            tile.show_face(face)

    def restyle(self, theme: Theme) -> None:
        """Take other colours."""
        super().restyle(theme)
        self._board.restyle(theme)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Lay the tiles out anew."""
        super().resizeEvent(event)
        self._arrange()

    def _arrange(self) -> None:
        room = self.contentsRect().adjusted(4, 4, -4, -4)
        self._scroll.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._board.arrange(room.width(), room.height())
        if self._board.height() > room.height():
            bar = self._scroll.verticalScrollBar()
            self._scroll.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
            self._board.arrange(room.width() - bar.sizeHint().width(), room.height())

    def _pick(self, name: str) -> None:
        self._board.setFocus()
        self.view.choose(name)

    def _choose(self) -> None:
        self._board.choose(self.view.actuator)
        chosen = self._board.tile(self.view.actuator)
        if chosen is not None:
            self._scroll.ensureWidgetVisible(chosen, 0, 0)
