"""Panel of tiles: big numbers of every actuator and site, laid out to fill it."""

from __future__ import annotations

import math
from math import ceil

from PySide6.QtCore import QRect, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QStackedLayout, QWidget

from gui.model.alarms import Limits
from gui.model.history import History
from gui.panels.base import Panel, tile_moment
from gui.panels.tile import LANDSCAPE_MIN_HEIGHT, LANDSCAPE_MIN_WIDTH, MIN_HEIGHT, MIN_WIDTH, Tile, letter_size
from gui.panels.tile_faces import actuator_face, site_face
from gui.plots.view import View
from gui.widgets.labels import PlainLabel
from gui.widgets.theme import Theme

_GAP = 4


def columns_for(n_tiles: int, width: int, height: int) -> int:
    """Return in how many columns `n_tiles` are largest; where they would be too small they are as small as can be."""
    most = max(1, (width + _GAP) // (MIN_WIDTH + _GAP))

    def size(columns: int) -> float:
        return letter_size(*tile_size(n_tiles, columns, width, height))[0]

    # of two that are as large, the one with fewer columns
    return max(range(1, min(most, max(1, n_tiles)) + 1), key=size)


def tile_size(n_tiles: int, columns: int, width: int, height: int) -> tuple[float, float]:
    """Return width and height of a tile; below the least height the board is scrolled."""
    rows = max(1, ceil(n_tiles / columns))
    wide = (width - (columns - 1) * _GAP) / columns
    least = LANDSCAPE_MIN_HEIGHT if wide >= LANDSCAPE_MIN_WIDTH else MIN_HEIGHT
    return wide, max(float(least), (height - (rows - 1) * _GAP) / rows)


class TileBoard(QWidget):
    """A grid of tiles.

    Signals
    -------
    picked : the name on a tile that was chosen by click or key.
    """

    picked = Signal(str)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._columns = 1
        self._chosen = ""
        self.tiles: list[Tile] = []
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName("tiles of the actuators; the arrow keys choose one")

    def make(self, actuators: int, sites: int) -> None:
        """Have this many tiles, those of actuators first; only these can be chosen."""
        for tile in self.tiles:
            tile.hide()
            tile.deleteLater()
        self.tiles = [Tile(self._theme, self, pickable=i < actuators) for i in range(actuators + sites)]
        for tile in self.tiles:
            tile.picked.connect(self.picked)
            tile.show()

    def arrange(self, width: int, height: int) -> None:
        """Lay the tiles out in a viewport; the board is higher than it where they need more."""
        n = len(self.tiles)
        self._columns = columns_for(n, width, height)
        wide, high = tile_size(n, self._columns, width, height)
        for place, tile in enumerate(self.tiles):
            row, column = divmod(place, self._columns)
            left, top = round(column * (wide + _GAP)), round(row * (high + _GAP))
            right, bottom = round(column * (wide + _GAP) + wide), round(row * (high + _GAP) + high)
            tile.setGeometry(QRect(left, top, right - left, bottom - top))
        rows = max(1, ceil(n / self._columns))
        self.resize(width, max(height, round(rows * (high + _GAP) - _GAP)))

    def choose(self, name: str) -> None:
        """Outline the tile of `name`."""
        self._chosen = name
        self._mark()

    def tile(self, name: str) -> Tile | None:
        """Return the tile of an actuator; None if it has none."""
        return next((tile for tile in self.tiles if tile.pickable and tile.face.name == name), None)

    def apply_theme(self, theme: Theme) -> None:
        """Take other colours."""
        self._theme = theme
        for tile in self.tiles:
            tile.apply_theme(theme)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Move the choice by a tile or a row, or to an end."""
        names = [tile.face.name for tile in self.tiles if tile.pickable]
        steps = {
            Qt.Key.Key_Left: -1,
            Qt.Key.Key_Right: 1,
            Qt.Key.Key_Up: -self._columns,
            Qt.Key.Key_Down: self._columns,
            Qt.Key.Key_Home: -len(names),
            Qt.Key.Key_End: len(names),
        }
        step = steps.get(Qt.Key(event.key()))
        if step is None or not names:
            super().keyPressEvent(event)
            return
        at = names.index(self._chosen) if self._chosen in names else None
        place = 0 if at is None else at + step
        whole = abs(step) == len(names)
        if not 0 <= place < len(names):
            # a row further there may be none; the ends are the last one of their side
            place = min(max(place, 0), len(names) - 1) if whole or abs(step) == 1 or at is None else at
        self.picked.emit(names[place])

    def focusInEvent(self, event: QFocusEvent) -> None:  # noqa: N802 - Qt's name
        """Show that the keys work."""
        super().focusInEvent(event)
        self._mark()

    def focusOutEvent(self, event: QFocusEvent) -> None:  # noqa: N802 - Qt's name
        """Show that they no longer do."""
        super().focusOutEvent(event)
        self._mark()

    def _mark(self) -> None:
        for tile in self.tiles:
            tile.mark(chosen=tile.pickable and tile.face.name == self._chosen, focused=self.hasFocus())


_READOUT_INTERVAL = 0.2  # s between two numbers: nobody reads faster
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
        # numbers that change faster than they can be read are skipped, as long as more are on their way
        changing = newest != self._asked and abs(newest - self._shown) < _READOUT_INTERVAL
        self._asked = newest
        if results is None or (live and changing and told == self._before):
            return
        self._shown, self._before = newest, told
        faces = [
            *(actuator_face(history, name, at, self._limits, self.window_seconds) for name in results.actuators),
            *(site_face(history, name, at) for name in results.sites),
        ]
        for tile, face in zip(self._board.tiles, faces, strict=False):
            tile.show_face(face)

    def apply_theme(self, theme: Theme) -> None:
        """Take other colours."""
        super().apply_theme(theme)
        self._board.apply_theme(theme)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Lay the tiles out again."""
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
