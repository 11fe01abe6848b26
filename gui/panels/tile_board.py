"""Tiles side by side, as large as there is room; the keys move the choice among them."""

from __future__ import annotations

from math import ceil

from PySide6.QtCore import QRect, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent
from PySide6.QtWidgets import QWidget

from gui.panels.tile import LEAST_HEIGHT, LEAST_WIDTH, LYING_HEIGHT, LYING_WIDTH, Tile, letter_size
from gui.widgets.theme import Theme

_GAP = 4


def columns_for(n_tiles: int, width: int, height: int) -> int:
    """Return in how many columns `n_tiles` are largest; where they would be too small they are as small as can be."""
    most = max(1, (width + _GAP) // (LEAST_WIDTH + _GAP))

    def size(columns: int) -> float:
        return letter_size(*tile_size(n_tiles, columns, width, height))[0]

    # of two that are as large, the one with fewer columns
    return max(range(1, min(most, max(1, n_tiles)) + 1), key=size)


def tile_size(n_tiles: int, columns: int, width: int, height: int) -> tuple[float, float]:
    """Return width and height of a tile; below the least height the board is scrolled."""
    rows = max(1, ceil(n_tiles / columns))
    wide = (width - (columns - 1) * _GAP) / columns
    least = LYING_HEIGHT if wide >= LYING_WIDTH else LEAST_HEIGHT
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

    def restyle(self, theme: Theme) -> None:
        """Take other colours."""
        self._theme = theme
        for tile in self.tiles:
            tile.restyle(theme)

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
