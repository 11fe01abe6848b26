"""Figures: drawings of plots for files and the clipboard, in the sizes of a paper's columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from PySide6.QtCore import QPoint, QSizeF, Qt
from PySide6.QtGui import QFont, QPainter, QPalette, QPicture
from PySide6.QtWidgets import QAbstractButton, QComboBox, QGraphicsView, QLineEdit, QScrollBar, QWidget

from gui.widgets.theme import LIGHT, palette

PAPER = replace(LIGHT, window="#ffffff", text="#000000", muted="#33383f", grid="#dcdfe3", invalid="#f0f1f3")
"""Theme of figures."""
ONE_COLUMN, TWO_COLUMNS = 88.0, 180.0
"""Widths [mm] of a figure in one or two columns of a journal."""
_HIGHEST = 235.0  # mm, of the text of a page
_POINTS = 8.0
_INCH = 25.4
_FINEST = 300.0  # buckets an inch


@dataclass(frozen=True, slots=True)
class Page:
    """Space for a figure, in px of its resolution.

    Parameters
    ----------
    mm : width.
    dpi : px an inch, those of the screen, so that fonts have the same metrics on both.
    stroke : pixels of the device for a px, of lines whose width does not depend on the scale.
    """

    mm: float
    dpi: float
    stroke: float = 1.0

    @property
    def width(self) -> int:
        """Width, px."""
        return round(self.mm / _INCH * self.dpi)

    @property
    def height(self) -> int:
        """Largest height that fits on a page, px."""
        return round(_HIGHEST / _INCH * self.dpi)

    @property
    def columns(self) -> int:
        """Number of buckets of a curve: as fine as a printer shows it."""
        return round(self.mm / _INCH * _FINEST)

    def font(self, family: QFont, scale: float = 1.0) -> QFont:
        """Return a font of a family in the size of captions, with tabular figures."""
        font = QFont(family)
        font.setPointSizeF(scale * _POINTS)
        # widths that are not rounded to pixels of the screen
        font.setHintingPreference(QFont.HintingPreference.PreferNoHinting)
        font.setFeature(QFont.Tag("tnum"), 1)
        return font


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing of fixed size.

    Parameters
    ----------
    title : its name.
    size : px.
    draw : draws it with a painter whose origin is its upper left corner.
    subject : what it shows: an actuator, an instant or a time range.
    legend : explains what the drawing does not; empty for nothing.
    """

    title: str
    size: QSizeF
    draw: Callable[[QPainter], None]
    subject: str = ""
    legend: str = ""


def widget_figure(widget: QWidget, title: str = "", width: float | None = None) -> Figure:
    """Return a widget as it looks now on white, without buttons, fields and scroll bars.

    Parameters
    ----------
    width : of the figure, px; by default that of the widget.

    Raises
    ------
    ValueError : the widget has no size.
    """
    if widget.size().isEmpty():
        raise ValueError(f"{title}: the panel has no size, show it first")
    picture = QPicture()
    painter = QPainter(picture)
    own = widget.testAttribute(Qt.WidgetAttribute.WA_SetPalette)
    before = widget.palette()
    try:
        widget.setPalette(palette(PAPER))
        with _without_controls(widget), _as_vectors(widget):
            widget.render(painter, QPoint(0, 0))
    finally:
        painter.end()
        widget.setPalette(before if own else QPalette())
    return picture_figure(title, picture, QSizeF(widget.size()), width)


def picture_figure(title: str, picture: QPicture, size: QSizeF, width: float | None = None, *about: str) -> Figure:
    """Return a recorded drawing as a figure, scaled to `width`; `about`: its subject and legend."""
    scale = 1.0 if width is None else width / size.width()

    def draw(painter: QPainter) -> None:
        painter.save()
        painter.scale(scale, scale)
        painter.drawPicture(0, 0, picture)
        painter.restore()

    return Figure(title, size * scale, draw, *about)


@contextmanager
def _without_controls(widget: QWidget) -> Iterator[None]:
    """Hide buttons, fields and scroll bars; the other widgets keep their places."""
    shown = [
        part
        for kind in (QAbstractButton, QComboBox, QLineEdit, QScrollBar)
        for part in widget.findChildren(kind)
        if part.isVisibleTo(widget)
    ]
    policies = [part.sizePolicy() for part in shown]
    for part in shown:
        kept = part.sizePolicy()
        kept.setRetainSizeWhenHidden(True)
        part.setSizePolicy(kept)
        part.hide()
    try:
        yield
    finally:
        for part, policy in zip(shown, policies, strict=True):
            part.show()
            part.setSizePolicy(policy)


@contextmanager
def _as_vectors(widget: QWidget) -> Iterator[None]:
    """Disable the cached pixmaps of graphics views, so that backgrounds are drawn as vectors."""
    views = [view for view in (widget, *widget.findChildren(QGraphicsView)) if isinstance(view, QGraphicsView)]
    modes = [view.cacheMode() for view in views]
    for view in views:
        view.setCacheMode(QGraphicsView.CacheModeFlag.CacheNone)
    try:
        yield
    finally:
        for view, mode in zip(views, modes, strict=True):
            view.setCacheMode(mode)
