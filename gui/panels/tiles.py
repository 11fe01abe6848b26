"""Tiles panel: values of every actuator and site in a grid that fills it."""

from __future__ import annotations

import math
from functools import partial
from math import ceil
from typing import ClassVar

from PySide6.QtCore import QPoint, QRect, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QFocusEvent, QFontInfo, QGuiApplication, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QStackedLayout, QWidget

from gui.model.alarms import DisplayLimits
from gui.model.history import History
from gui.panels.base import COMPUTING, Panel, panel_instant
from gui.panels.tile import Tile
from gui.panels.tile_content import TileContent, actuator_content, site_content, specimen_content, specimens
from gui.plots.view import View
from gui.widgets.menus import MenuEntry, MenuPlace, show_context_menu
from gui.widgets.painting import PlainLabel
from gui.widgets.theme import Theme

_GAP = 4
_USUAL_FONT = 12  # px of the font for which the minimum sizes of tiles are


def columns_for(n_tiles: int, width: int, height: int, kind: type[Tile] = Tile, scale: float = 1.0) -> int:
    """Return the number of columns for which `n_tiles` are largest; `scale` is that of their minimum size."""
    most = max(1, round(width + _GAP) // round(scale * kind.MIN_WIDTH + _GAP))

    def merit(columns: int) -> tuple[float, float]:
        """Return how well it is read, and how much of the grid is visible without scrolling."""
        wide, high = tile_size(n_tiles, columns, width, height, kind, scale)
        rows = ceil(n_tiles / columns)
        return kind.font_size(wide, high), min(1.0, height / max(1.0, rows * (high + _GAP) - _GAP))

    # max returns the first: fewer columns where they are equal
    return max(range(1, min(most, max(1, n_tiles)) + 1), key=merit)


def tile_size(
    n_tiles: int, columns: int, width: int, height: int, kind: type[Tile] = Tile, scale: float = 1.0
) -> tuple[float, float]:
    """Return width and height of a tile; at the minimum height the grid is scrolled."""
    rows = max(1, ceil(n_tiles / columns))
    wide = (width - (columns - 1) * _GAP) / columns
    return wide, max(scale * kind.least_height(wide / scale), (height - (rows - 1) * _GAP) / rows)


class TileGrid(QWidget):
    """Grid of tiles.

    Parameters
    ----------
    kind : class of the tiles.

    Signals
    -------
    selected : name on a tile that was selected by click or key.
    menu_requested : the tile, and where on the screen its menu is to be.
    """

    selected = Signal(str)
    menu_requested = Signal(object, QPoint)

    def __init__(self, theme: Theme, kind: type[Tile] = Tile) -> None:
        super().__init__()
        self._theme, self._kind = theme, kind
        self._columns = 1
        self._selected = ""
        self.tiles: list[Tile] = []
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName("tiles of the actuators; the arrow keys select one")

    def set_count(self, n: int) -> None:
        """Create this many tiles."""
        for tile in self.tiles:
            tile.hide()
            tile.deleteLater()
        self.tiles = [self._kind(self._theme, self) for _ in range(n)]
        for tile in self.tiles:
            tile.clicked.connect(self.selected)
            tile.show()

    def arrange(self, width: int, height: int) -> None:
        """Lay the tiles out in a viewport; the grid may be higher than it."""
        n = len(self.tiles)
        # cells of a wall are as large as the screen allows, tiles grow with the text
        scale = max(1.0, QFontInfo(self.font()).pixelSize() / _USUAL_FONT) if self._kind is Tile else 1.0
        self._columns = columns_for(n, width, height, self._kind, scale)
        wide, high = tile_size(n, self._columns, width, height, self._kind, scale)
        for place, tile in enumerate(self.tiles):
            row, column = divmod(place, self._columns)
            left, top = round(column * (wide + _GAP)), round(row * (high + _GAP))
            right, bottom = round(column * (wide + _GAP) + wide), round(row * (high + _GAP) + high)
            tile.setGeometry(QRect(left, top, right - left, bottom - top))
        rows = max(1, ceil(n / self._columns))
        self.resize(width, max(height, round(rows * (high + _GAP) - _GAP)))

    def select(self, name: str) -> None:
        """Outline the tile of `name`."""
        self._selected = name
        self._update_outlines()

    def tile(self, name: str) -> Tile | None:
        """Return the tile of an actuator; None where there is none."""
        return next((tile for tile in self.tiles if tile.selectable and tile.content.name == name), None)

    def apply_theme(self, theme: Theme) -> None:
        """Apply the colours of a theme."""
        self._theme = theme
        for tile in self.tiles:
            tile.apply_theme(theme)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Move the selection by a tile or a row, or to an end."""
        names = [tile.content.name for tile in self.tiles if tile.selectable]
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
        at = names.index(self._selected) if self._selected in names else None
        place = 0 if at is None else at + step
        whole = abs(step) == len(names)
        if not 0 <= place < len(names):
            # at an edge, single steps and Home/End stop at the end; a row step is ignored
            place = min(max(place, 0), len(names) - 1) if whole or abs(step) == 1 or at is None else at
        self.selected.emit(names[place])

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Request the menu of the tile under the mouse, or of the selected one; the panel has its own."""
        by_mouse = event.reason() is QContextMenuEvent.Reason.Mouse
        tile = self.childAt(event.pos()) if by_mouse else self.tile(self._selected)
        if not isinstance(tile, Tile):
            event.ignore()
            return
        at = event.globalPos() if by_mouse else self.mapToGlobal(tile.geometry().center())
        self.menu_requested.emit(tile, at)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Show the keyboard focus."""
        super().focusInEvent(event)
        self._update_outlines()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Hide the keyboard focus."""
        super().focusOutEvent(event)
        self._update_outlines()

    def _update_outlines(self) -> None:
        for tile in self.tiles:
            tile.set_outline(
                selected=tile.selectable and tile.content.name == self._selected, focused=self.hasFocus()
            )


_READOUT_INTERVAL = 0.2  # s between two values
_NOTHING = "Waiting for results."


class TilesPanel(Panel):
    """Large values and status of one instant: of now, while the view follows and values are current."""

    key = "tiles"
    title = "Tiles"
    tile: ClassVar[type[Tile]] = Tile

    def __init__(self, view: View, theme: Theme) -> None:
        super().__init__(view, theme)
        self._limits: DisplayLimits = {}
        self._specimens: tuple[str, ...] = ()
        self._shown = self._newest = math.nan
        self._previous: object = None
        self._grid = TileGrid(theme, self.tile)
        self._grid.selected.connect(self._on_selected)
        self._grid.menu_requested.connect(self._show_tile_menu)
        self._scroll = QScrollArea()
        self._scroll.setFrameShape(QFrame.Shape.NoFrame)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._scroll.setWidget(self._grid)
        self._nothing = PlainLabel(_NOTHING, alignment=Qt.AlignmentFlag.AlignCenter, wordWrap=True)
        self._stack = QStackedLayout(self)
        self._stack.addWidget(self._nothing)
        self._stack.addWidget(self._scroll)
        self.setFocusProxy(self._grid)
        view.actuator_changed.connect(self._choose)

    def set_limits(self, limits: DisplayLimits) -> None:
        """Set the limits of the window: delay in ms, phase in deg, ratio in % off 100 %."""
        self._limits = limits
        self._previous = None

    def configure(self, history: History) -> None:
        """Create a tile for each actuator, site and specimen."""
        results = history.results
        actuators, sites = ((), ()) if results is None else (results.actuators, results.sites)
        self._specimens = specimens(history) if self.tile is Tile else ()
        self._grid.set_count(len(actuators) + len(sites) + len(self._specimens))
        self._stack.setCurrentIndex(1 if self._grid.tiles else 0)
        self._previous = None
        self.refresh(history)
        self._arrange()
        self._choose()

    def refresh(self, history: History) -> None:
        """Show the values at the instant of the view."""
        view, results = self.view, history.results
        self._nothing.setText(_NOTHING if history.computed is None else COMPUTING)
        live = view.following and view.pinned is None
        at = panel_instant(history, None if live else view.instant)
        newest = history.end_x if live else view.instant
        state = (live, at.label, at.replacement, history.generation, history.alarms, history.limits)
        # values are updated at a readable rate while new ones keep arriving
        changing = newest != self._newest and abs(newest - self._shown) < _READOUT_INTERVAL
        self._newest = newest
        if results is None or (live and changing and state == self._previous):
            return
        self._shown, self._previous = newest, state
        alarms = history.alarms_at(at.x)
        contents = [
            *(
                actuator_content(history, name, at, alarms, self._limits, self.window_seconds)
                for name in results.actuators
            ),
            *(site_content(history, name, at) for name in results.sites),
            *(specimen_content(history, name, at, alarms) for name in self._specimens),
        ]
        for tile, content in zip(self._grid.tiles, self.ordered(contents), strict=False):
            tile.set_content(content)
        self._grid.select(view.actuator)

    def _show_tile_menu(self, tile: Tile, at: QPoint) -> None:
        """Show the menu of the panel, with what can be done with a tile first."""
        content = tile.content
        entries = [MenuEntry("Copy values", partial(QGuiApplication.clipboard().setText, content.text))]
        if tile.selectable:
            entries.insert(0, MenuEntry(f"Select {content.name}", partial(self._on_selected, content.name)))
        place = MenuPlace(at)
        show_context_menu(self, at, entries, *(source(place) for source in self.menu_sources))

    def ordered(self, contents: list[TileContent]) -> list[TileContent]:
        """Return the contents in the order in which they are shown."""
        return contents

    def apply_theme(self, theme: Theme) -> None:
        """Apply the colours of a theme."""
        super().apply_theme(theme)
        self._grid.apply_theme(theme)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Lay out the tiles again."""
        super().resizeEvent(event)
        self._arrange()

    def _arrange(self) -> None:
        room = self.contentsRect().adjusted(4, 4, -4, -4)
        self._scroll.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._grid.arrange(room.width(), room.height())
        if self._grid.height() > room.height():
            bar = self._scroll.verticalScrollBar()
            self._scroll.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
            self._grid.arrange(room.width() - bar.sizeHint().width(), room.height())

    def _on_selected(self, name: str) -> None:
        self.view.select_actuator(name)

    def _choose(self) -> None:
        self._grid.select(self.view.actuator)
        chosen = self._grid.tile(self.view.actuator)
        if chosen is not None:
            self._scroll.ensureWidgetVisible(chosen, 0, 0)
