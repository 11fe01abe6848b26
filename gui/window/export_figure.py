"""Figures as PDF, SVG or PNG, with their title, and on the clipboard."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QMarginsF, QMimeData, QRectF, QSizeF, Qt
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontInfo,
    QFontMetricsF,
    QImage,
    QPageLayout,
    QPageSize,
    QPainter,
    QPdfWriter,
)
from PySide6.QtSvg import QSvgGenerator

from gui.plots.figure import PAPER, Figure, Page
from monitor.system.files import WriteError, atomic_write

FORMATS = (".pdf", ".svg", ".png")
"""Formats of figures."""
PNG_DPI = 300.0
"""Pixels an inch of a raster image."""
_MARGIN = 6.0
_INCH = 25.4
_FAMILY = re.compile(r'font-family="([^"]*)"')
_WRAPPED = Qt.TextFlag.TextWordWrap | Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop


def with_title(figure: Figure, page: Page, family: QFont, source: Sequence[str]) -> Figure:
    """Return a figure with its title above, what it shows and where it is from below that, and its legend at the end.

    Parameters
    ----------
    family : its font family is used.
    source : where the data are from: rig and run.
    """
    bold, plain = page.font(family, 1.125), page.font(family)
    bold.setBold(True)
    about = " · ".join(filter(None, (*source, figure.subject)))
    parts = [(figure.title, bold, PAPER.text), (about, plain, PAPER.muted)]
    width = figure.size.width() - 2 * _MARGIN
    above, top = _boxes(parts, width, _MARGIN)
    below, end = _boxes([(figure.legend, plain, PAPER.muted)], width, 4.0)

    def draw(painter: QPainter) -> None:
        painter.save()
        _write(painter, above)
        painter.translate(0.0, top)
        figure.draw(painter)
        painter.translate(0.0, figure.size.height())
        _write(painter, below)
        painter.restore()

    height = top + figure.size.height() + (end if figure.legend else 0.0) + _MARGIN
    return replace(figure, size=QSizeF(figure.size.width(), height), draw=draw)


_Line = tuple[str, QFont, str, QRectF]


def _boxes(parts: Sequence[tuple[str, QFont, str]], width: float, top: float) -> tuple[list[_Line], float]:
    """Return the texts that are not empty with their boxes, and the end of the last one."""
    found: list[_Line] = []
    for text, font, colour in parts:
        if text:
            free = QRectF(0.0, 0.0, width, 1e6)
            height = QFontMetricsF(font).boundingRect(free, _WRAPPED.value, text).height()
            found.append((text, font, colour, QRectF(_MARGIN, top, width, height + 1.0)))
            top += height + 1.0
    return found, top + 3.0


def _write(painter: QPainter, lines: Sequence[_Line]) -> None:
    for text, font, colour, box in lines:
        painter.setFont(font)
        painter.setPen(QColor(colour))
        painter.drawText(box, _WRAPPED.value, text)


def write_figure(figure: Figure, page: Page, path: Path) -> None:
    """Write a figure; the suffix of the path chooses the format.

    Raises
    ------
    WriteError : the suffix is another one, or the file cannot be written.
    """
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise WriteError(f"{path}: a figure is a {', '.join(FORMATS[:-1])} or {FORMATS[-1]} file")
    convert = {".pdf": pdf_bytes, ".svg": svg_bytes, ".png": png_bytes}[suffix]
    data = convert(figure, page)
    with atomic_write(path) as file:
        file.write(data)


def pdf_bytes(figure: Figure, page: Page) -> bytes:
    """Return a PDF of one page with the size of the figure; the fonts are embedded."""
    data, buffer = _buffer()
    writer = QPdfWriter(buffer)
    writer.setResolution(round(page.dpi))
    writer.setTitle(figure.title)
    writer.setCreator("Synchroscope")
    size = figure.size * (_INCH / page.dpi)
    exact = QPageSize(size, QPageSize.Unit.Millimeter, "", QPageSize.SizeMatchPolicy.ExactMatch)
    writer.setPageLayout(QPageLayout(exact, QPageLayout.Orientation.Portrait, QMarginsF()))
    _paint(QPainter(writer), figure)
    return bytes(data.data())


def svg_bytes(figure: Figure, page: Page) -> bytes:
    """Return an SVG with lines as paths and text as text."""
    data, buffer = _buffer()
    # SVG Tiny 1.2 cannot clip curves at the edge of their plot
    generator = QSvgGenerator(QSvgGenerator.SvgVersion.Svg11)
    generator.setOutputDevice(buffer)
    generator.setSize(figure.size.toSize())
    generator.setViewBox(QRectF(0.0, 0.0, figure.size.width(), figure.size.height()))
    generator.setResolution(round(page.dpi))
    generator.setTitle(figure.title)
    _paint(QPainter(generator), figure)
    return _FAMILY.sub(_with_fallback, bytes(data.data()).decode()).encode()


def png_image(figure: Figure, page: Page) -> QImage:
    """Return a raster image with 300 pixels an inch."""
    scale = PNG_DPI / page.dpi
    image = QImage((figure.size * scale).toSize(), QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(scale)
    image.fill(QColor(PAPER.base))
    image.setText("Title", figure.title)
    painter = QPainter(image)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    _paint(painter, figure)
    # after painting: fonts depend on it
    image.setDotsPerMeterX(round(PNG_DPI / _INCH * 1000.0))
    image.setDotsPerMeterY(round(PNG_DPI / _INCH * 1000.0))
    return image


def png_bytes(figure: Figure, page: Page) -> bytes:
    """Return a PNG with 300 pixels an inch."""
    data, buffer = _buffer()
    png_image(figure, page).save(buffer, "PNG")  # type: ignore[call-overload]  # the stubs ask for bytes
    return bytes(data.data())


def clipboard_data(figure: Figure, page: Page) -> QMimeData:
    """Return a figure for the clipboard: as an image, and as SVG for programs that accept it."""
    data = QMimeData()
    data.setImageData(png_image(figure, page))
    data.setData("image/svg+xml", QByteArray(svg_bytes(figure, page)))
    return data


def _buffer() -> tuple[QByteArray, QBuffer]:
    data = QByteArray()
    buffer = QBuffer(data)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    return data, buffer


def _paint(painter: QPainter, figure: Figure) -> None:
    """Draw a figure on white, and end the painter."""
    try:
        painter.fillRect(QRectF(0.0, 0.0, figure.size.width(), figure.size.height()), QColor(PAPER.base))
        figure.draw(painter)
    finally:
        painter.end()


def _with_fallback(found: re.Match[str]) -> str:
    """Return the font family that was requested, the one that was used, and a generic one."""
    requested = found[1]
    info = QFontInfo(QFont(requested))
    names = dict.fromkeys("'" + name.replace("'", "") + "'" for name in (requested, info.family()))
    kind = "monospace" if info.fixedPitch() else "sans-serif"
    return f'font-family="{", ".join((*names, kind))}"'
