"""A panel as a picture: PNG for the eye, SVG for a paper."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QPoint, QRect
from PySide6.QtGui import QFont, QFontInfo, QImage, QPainter, QPicture
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QGraphicsView, QWidget

from gui.settings.files import ExportError, whole_file

SCALE = 2.0
"""Pixels of a PNG for one of the screen's."""
_SUFFIXES = (".png", ".svg")
_FAMILY = re.compile(r'font-family="([^"]*)"')


def export_picture(widget: QWidget, path: Path, title: str = "") -> Path:
    """Write what a widget shows; the end of the name says how.

    Parameters
    ----------
    path : ``.png`` or ``.svg``.
    title : kept in the file.

    Returns
    -------
    The file as it was written.

    Raises
    ------
    ExportError : the name ends in something else, the widget has no size, or the disk refuses.
    """
    suffix = path.suffix.lower()
    if suffix not in _SUFFIXES:
        raise ExportError(f"{path}: a picture is a .png or a .svg file")
    if widget.size().isEmpty():
        raise ExportError(f"{path}: the panel is hidden or has no size, show it first")
    data = png_bytes(widget, title) if suffix == ".png" else svg_bytes(widget, title)
    with whole_file(path) as file:
        file.write(data)
    return path


def png_bytes(widget: QWidget, title: str = "", scale: float = SCALE) -> bytes:
    """Return a PNG with `scale` pixels for one of the screen's."""
    image = QImage(widget.size() * scale, QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(scale)
    image.fill(widget.palette().window().color())
    widget.render(image)
    if title:
        image.setText("Title", title)
    # 96 dots an inch, as far as a page is concerned
    image.setDotsPerMeterX(round(scale * 96 / 0.0254))
    image.setDotsPerMeterY(round(scale * 96 / 0.0254))
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG")  # type: ignore[call-overload]  # the stubs want bytes here, Qt takes text
    return bytes(buffer.data().data())


def svg_bytes(widget: QWidget, title: str = "") -> bytes:
    """Return an SVG in which lines are lines and text is text."""
    # by way of a picture: painted straight into an SVG, the parts of a widget are cut off at the wrong places
    picture = QPicture()
    painter = QPainter(picture)
    painter.fillRect(widget.rect(), widget.palette().window())
    with _no_pixels(widget):
        widget.render(painter, QPoint(0, 0))
    painter.end()
    data = QByteArray()
    buffer = QBuffer(data)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    # 1.1: the smaller SVG cannot cut off curves at the edge of their plot
    generator = QSvgGenerator(QSvgGenerator.SvgVersion.Svg11)
    generator.setOutputDevice(buffer)
    generator.setSize(widget.size())
    generator.setViewBox(QRect(QPoint(0, 0), widget.size()))
    generator.setResolution(widget.logicalDpiX())
    generator.setTitle(title or widget.windowTitle() or widget.accessibleName())
    painter = QPainter(generator)
    painter.drawPicture(0, 0, picture)
    painter.end()
    return _FAMILY.sub(_with_fallback, bytes(data.data()).decode()).encode()


@contextmanager
def _no_pixels(widget: QWidget) -> Iterator[None]:
    """Let scenes draw their background, and not a copy of it in pixels."""
    views = [view for view in (widget, *widget.findChildren(QGraphicsView)) if isinstance(view, QGraphicsView)]
    modes = [view.cacheMode() for view in views]
    for view in views:
        view.setCacheMode(QGraphicsView.CacheModeFlag.CacheNone)
    try:
        yield
    finally:
        for view, mode in zip(views, modes, strict=True):
            view.setCacheMode(mode)


def _with_fallback(found: re.Match[str]) -> str:
    """Name the font that was meant, the one that was used, and one that every program has."""
    meant = found[1]
    info = QFontInfo(QFont(meant))
    names = dict.fromkeys("'" + name.replace("'", "") + "'" for name in (meant, info.family()))
    kind = "monospace" if info.fixedPitch() else "sans-serif"
    return f'font-family="{", ".join((*names, kind))}"'
