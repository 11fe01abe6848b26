"""Picture of a stack of rows over one time axis: what is drawn, with which styles, and what is at a point of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from PySide6.QtCore import QPoint, QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QColor, QIcon, QPainter, QPaintEvent, QPixmap
from PySide6.QtWidgets import QMenu, QWidget

from gui.plots.time.axis import AxisRanges, TimeScale
from gui.plots.time.cache import BackgroundCache, PixmapCache, TextMetrics
from gui.plots.time.curves import value_scale
from gui.plots.time.headers import (
    HeaderLayout,
    Readout,
    ReadoutThrottle,
    fact_texts,
    header_layout,
    legend_entries,
    readouts,
    row_header,
    values_at,
)
from gui.plots.time.picture import (
    ScenePainter,
    draw_cursors,
    draw_focus,
    draw_row_headers,
    event_tip,
    limit_tip,
    row_header_tip,
)
from gui.plots.time.rows import CurveStyle, Frame, Interval, PlotRow
from gui.plots.time.scene import MARGIN, RowArea, Scene
from gui.plots.view import View
from gui.widgets.painting import draw_wrapped, font_like, painting
from gui.widgets.theme import Theme

_ICON = 12  # px
CurveKey = tuple[str, str]
"""Key of a row, and label of one of its curves."""


@dataclass(frozen=True, slots=True)
class _Change:
    hidden: bool = False
    colour: int | None = None


class CurveStyles:
    """Changes of curve styles; a curve that is shown again has the same as before."""

    def __init__(self) -> None:
        self._changes: dict[CurveKey, _Change] = {}

    def toggle(self, row: str, label: str) -> None:
        """Hide a curve, or show it again."""
        change = self._changes.get((row, label), _Change())
        self._changes[row, label] = replace(change, hidden=not change.hidden)

    def is_hidden(self, row: str, label: str) -> bool:
        """Whether a curve is hidden."""
        return self._changes.get((row, label), _Change()).hidden

    def show_all(self, row: str) -> None:
        """Show all curves of a row."""
        for key, change in self._changes.items():
            if key[0] == row:
                self._changes[key] = replace(change, hidden=False)

    def set_colour(self, row: str, label: str, colour: int | None) -> None:
        """Draw a curve with the colour of a series; None: its own."""
        self._changes[row, label] = replace(self._changes.get((row, label), _Change()), colour=colour)

    def applied(self, rows: Sequence[PlotRow]) -> tuple[PlotRow, ...]:
        """Return rows with the changes."""
        return tuple(self._applied(row) for row in rows)

    def _applied(self, row: PlotRow) -> PlotRow:
        changes = [self._changes.get((row.key, curve.label)) for curve in row.curves]
        if not any(changes):
            return row
        curves = tuple(_changed(curve, change) for curve, change in zip(row.curves, changes, strict=True))
        # a band has the colour of its curve, and is hidden with it
        colours = {
            before.colour: None if after.hidden else after.colour
            for before, after in zip(row.curves, curves, strict=True)
        }
        bands = tuple(None if colour is None else colours.get(colour, colour) for colour in row.bands)
        return replace(row, curves=curves, bands=bands)


def _changed(curve: CurveStyle, change: _Change | None) -> CurveStyle:
    if change is None:
        return curve
    colour = curve.colour if change.colour is None else change.colour
    return replace(curve, hidden=change.hidden, colour=colour, faint=curve.faint and change.colour is None)


_SERIES = ("blue", "orange", "green", "purple", "olive", "light blue", "violet", "grey")


def curve_menu(
    parent: QWidget, styles: CurveStyles, row: str, label: str, theme: Theme, changed: Callable[[], None]
) -> QMenu:
    """Return the menu of a legend entry: hide or show its curve, and its colour.

    Parameters
    ----------
    changed : called after a change.
    """
    menu = QMenu(parent)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)

    def add(text: str, change: Callable[[], None], colour: str = "") -> None:
        action = menu.addAction(text)
        if colour:
            icon = QPixmap(_ICON, _ICON)
            icon.fill(QColor(colour))
            action.setIcon(QIcon(icon))

        def apply() -> None:
            change()
            changed()

        action.triggered.connect(apply)

    add("Show" if styles.is_hidden(row, label) else "Hide", partial(styles.toggle, row, label))
    add("Show all curves", partial(styles.show_all, row))
    menu.addSection("Colour")
    for number, (name, colour) in enumerate(zip(_SERIES, theme.series, strict=True)):
        add(name, partial(styles.set_colour, row, label, number), colour)
    add("default", partial(styles.set_colour, row, label, None))
    return menu


class StackDisplay(RowArea):
    """Picture of rows over time, with readouts at the cursors; it handles no input.

    Parameters
    ----------
    view : visible time range and cursors.
    theme : initial colours.

    Attributes
    ----------
    frame : that was drawn last.
    """

    def __init__(self, view: View, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._view, self._theme = view, theme
        self._ranges = AxisRanges()
        self.frame = Frame()
        self._background, self._pixmaps, self._readouts = BackgroundCache(), PixmapCache(), ReadoutThrottle()
        self._smooth, self._smooth_when_paused = False, True
        self.message = ""
        self.setAccessibleName("values over time")
        self.setFont(font_like(self.font(), tabular=True))
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.viewport().setMouseTracking(True)
        self._given: tuple[PlotRow, ...] = ()
        self._styles = CurveStyles()
        view.cursor_changed.connect(self._move_cursor)
        view.range_changed.connect(self._update_smooth)

    @property
    def scene(self) -> Scene:
        """What is drawn, without the cursors."""
        smooth, area = self._smooth, self.viewport().rect()
        return Scene(
            self.rows, self._ranges, self.frame, self.places, area, self.scrolled, self._theme, smooth=smooth
        )

    def set_rows(self, rows: Sequence[PlotRow]) -> None:
        """Show other rows; those that were shown before keep their scales."""
        self._ranges.set_rows(rows)
        self.frame = Frame(self.frame.left, self.frame.right, (None,) * len(rows), self.frame.segments)
        self._given = tuple(rows)
        self._set_rows(self._styles.applied(self._given))
        self._pixmaps.clear()
        self._readouts.reset()
        self._redraw()

    def reset_scales(self) -> None:
        """Drop all scales, for other signals."""
        self._ranges.clear()

    def apply_theme(self, theme: Theme) -> None:
        """Apply the colours of a theme."""
        self._theme = theme
        self._redraw()

    def set_smooth(self, when_paused: bool) -> None:
        """Antialias lines while the view is paused, or never; live it would cost frames."""
        self._smooth_when_paused = when_paused
        self._update_smooth()

    def draw(self, frame: Frame, *, more: bool = False) -> None:
        """Draw a frame.

        Parameters
        ----------
        more : another frame is expected soon, so that readouts may be skipped; call `flush_readouts` if none comes.
        """
        self.frame = frame
        self._readouts.update(frame, more=more)
        self._ranges.update(self.rows, frame)
        self._redraw()

    def flush_readouts(self) -> None:
        """Show the newest values in the headers: no other frame has come."""
        self._readouts.flush()
        if self._readouts.pending:
            self.viewport().update()

    def limits(self, key: str) -> tuple[float, float]:
        """Return the limits of a row's value axis."""
        found = self._ranges[key]
        return found.low, found.high

    def legend(self, row: int) -> list[str]:
        """Return the legend of a row: ``command 1.25 mm``, with the difference to the pinned cursor."""
        found = legend_entries(self.rows[row], self._current_readouts()[row], self.scene.unit(row))
        return [" ".join(filter(None, (entry.curve.label, entry.value, entry.difference))) for entry in found]

    def plot_of(self, row: int) -> QRectF:
        """Return the visible part of the plot of a row, px of the viewport."""
        places, place = self.places, self.places.rows[row]
        top = place.plot_top - self.scrolled
        bottom = min(top + place.plot_height, self.scene.axis_top)
        return QRectF(places.plot_left, top, places.plot_width, bottom - top)

    def scale(self) -> TimeScale:
        """Return the time scale of the viewport."""
        return self.scene.scale

    def instant(self, x: float) -> str:
        """Return the rig's time at `x` with the resolution of a pixel; a dash in a break."""
        return self.scene.instant(x)

    def value_at(self, row: int, y: float) -> float:
        """Return the value of a row at a pixel of the viewport."""
        place, limits = self.places.rows[row], self._ranges[self.rows[row].key]
        return value_scale(limits, place.plot_top, place.plot_height).value(y + self.scrolled)

    def changes(self, x0: float, x1: float) -> list[list[Interval]]:
        """Return by how much the curves of every row change from `x0` to `x1`."""
        pairs = zip(*(values_at(self.frame, len(self.rows), x) for x in (x0, x1)), strict=True)
        return [[after.minus(before) for before, after in zip(*pair, strict=True)] for pair in pairs]

    def tip(self, at: QPoint) -> str:
        """Return the tool tip at a point: the events there, or the full text of a row header."""
        row = self.row_at(at.y()) if at.y() < self.scene.axis_top else None
        if row is not None and at.y() + self.scrolled < self.places.rows[row].plot_top:
            return self.tip_of_header(row)
        limits = "" if row is None else limit_tip(self.scene, row, at)
        return limits or event_tip(self.scene, at, row, TextMetrics(self.font()).width)

    def tip_of_header(self, row: int) -> str:
        """Return the full text of a row header."""
        facts = [
            f"{name} {value}" for name, value in fact_texts(self._current_readouts()[row].facts, self.scene.unit(row))
        ]
        return row_header_tip(self.scene, row, [*self.legend(row), *facts])

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002 - Qt's arguments
        """Draw the background from its cache, and over it the headers and cursors."""
        with painting(self.viewport()) as painter:
            painter.setFont(self.font())
            scene = self.scene
            if not self.rows:
                self._draw_message(painter, scene.area)
                return
            ratio = self.viewport().devicePixelRatioF()
            self._background.draw(
                painter, scene.area.size(), ratio, lambda inner: ScenePainter(inner, scene, self._pixmaps).draw()
            )
            draw_row_headers(
                painter, scene, self._readouts.choose(self._current_readouts(), live=self._is_live), self._pixmaps
            )
            draw_cursors(painter, scene, self._view)
            self._draw_over(painter)
            if self.hasFocus():
                draw_focus(painter, scene)

    def over_plots(self, at: QPointF) -> bool:
        """Whether a point is over the curves, or over a header or the time axis in line with them."""
        scale = self.scale()
        return bool(self.rows) and scale.begin <= at.x() <= scale.begin + scale.width

    def _draw_over(self, painter: QPainter) -> None:
        """Draw what is over the picture and its cursors."""

    def is_header(self, at: QPointF) -> bool:
        """Whether a point is in the header of a row."""
        return self._header_at(at) is not None

    def _header_at(self, at: QPointF) -> tuple[int, HeaderLayout] | None:
        """Return the row whose header is at a point, and the layout of the header."""
        row, scene = self.row_at(at.y()), self.scene
        if row is None or at.y() >= scene.axis_top or at.y() + self.scrolled >= self.places.rows[row].plot_top:
            return None
        reading = self._readouts.choose(self._current_readouts(), live=self._is_live)[row]
        header = row_header(self.rows[row], reading, scene.unit(row), self._ranges[self.rows[row].key])
        return row, header_layout(self.font(), self.places.plot_left + self.places.plot_width - MARGIN, header)

    def _entry_at(self, at: QPointF) -> tuple[str, str] | None:
        """Return key of the row and label of the curve whose legend entry is at a point."""
        header = self._header_at(at)
        entry = None if header is None else header[1].entry_at(at.x() - MARGIN)
        if header is None or entry is None:
            return None
        row = self.rows[header[0]]
        return row.key, row.curves[entry.index].label

    def _apply_styles(self) -> None:
        """Draw the curves with their changed styles."""
        self._set_rows(self._styles.applied(self._given))
        self._ranges.update(self.rows, self.frame)
        self._redraw()

    @property
    def _is_live(self) -> bool:
        """Whether readouts follow the newest sample."""
        view = self._view
        return view.following and (view.cursor is None or view.cursor_scrolls)

    def _draw_message(self, painter: QPainter, area: QRect) -> None:
        painter.fillRect(area, QColor(self._theme.window))
        painter.setPen(QColor(self._theme.muted))
        inner = area.adjusted(MARGIN, MARGIN, -MARGIN, -MARGIN)
        draw_wrapped(painter, inner, self.message)

    def _current_readouts(self) -> list[Readout]:
        return readouts(self.frame, len(self.rows), self._view.cursor, self._view.pinned)

    def _redraw(self) -> None:
        self._background.invalidate()
        super()._redraw()

    def _move_cursor(self) -> None:
        """Redraw the cursors."""
        self.viewport().update()

    def _update_smooth(self) -> None:
        """Redraw with or without antialiasing when the view is paused or continued."""
        smooth = self._smooth_when_paused and not self._view.following
        if smooth != self._smooth:
            self._smooth = smooth
            self._redraw()
        if not self._view.following:
            self.flush_readouts()
