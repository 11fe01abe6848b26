"""Files of what is shown: samples and results in view as CSV, panels as figures."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count, groupby
from pathlib import Path

import numpy as np
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

from gui.model.history import History
from gui.model.timeline import ClockSegment, DisplayTimeline
from gui.plots.figure import PAPER, Figure, Page
from monitor.messages.blocks import Samples, column_names
from monitor.system.csv_text import TIME_LABEL, csv_label, csv_line, csv_rows
from monitor.system.files import WriteError, atomic_write
from monitor.text.numbers import instant_text


@dataclass(frozen=True, eq=False, slots=True)
class CsvTable:
    """Content of one file.

    Parameters
    ----------
    suffix : appended to the stem of the file name, such as ``-results``.
    header : of every column but the time, ``name [unit]``.
    times : (n_rows,), s, of the rig's clock.
    values : (n_rows, n_columns); NaN becomes an empty cell.
    """

    suffix: str
    header: tuple[str, ...]
    times: Samples
    values: Samples

    def path(self, path: Path) -> Path:
        """Return the path of this file, given that of the first file."""
        return path.with_name(f"{path.stem}{self.suffix}{path.suffix or '.csv'}")


def tables_in_view(history: History, left: float, right: float) -> tuple[CsvTable, ...]:
    """Copy samples and results from `left` to `right` [s of the display], both included.

    Samples are at full rate, as far back as the history has them; results are at the display instants, each at the
    time of its last row. Lost samples have no row. Times must increase: after a restart of the rig follows another
    table, ``-2``, ``-3`` and so on.

    Raises
    ------
    WriteError : there are no samples.
    """
    tables: list[CsvTable] = []
    n_runs = 0
    for run in _runs(history.timeline, left, right):
        mark = f"-{n_runs + 1}" if n_runs else ""
        first, last = max(left, run[0].x_begin), min(right, run[-1].x_end)
        found = [
            CsvTable(mark + suffix, header, x[known] + run[0].offset, values[known])
            for suffix, header, x, values in _parts(history, first, last)
            if (known := ~np.isnan(values).all(axis=1)).any()
        ]
        tables += found
        n_runs += bool(found)
    if not tables:
        raise WriteError("there are no samples in view: nothing is exported")
    return tuple(tables)


def decimated_note(history: History, left: float) -> str:
    """Return which samples after `left` [s of the display] are decimated and not exported; empty if none."""
    signals = history.signals
    if signals is None or not signals.exact_begin_x > max(left, signals.begin_x):
        return ""
    since = instant_text(history.timeline.time_at(signals.exact_begin_x))
    return f"samples before {since} are no longer held at full rate and are not exported"


def write_tables(tables: tuple[CsvTable, ...], path: Path) -> tuple[Path, ...]:
    """Write every table; may take seconds, and can run in a thread.

    The file `path` is overwritten; for the others a free name is chosen, such as ``span-results (2).csv``.

    Raises
    ------
    WriteError : a file cannot be written.
    """
    written = []
    for table in tables:
        place = table.path(path)
        # the user has confirmed `path` only
        place = place if place == path else _free_path(place)
        with atomic_write(place) as file:
            for text in _text(table):
                file.write(text)
        written.append(place)
    return tuple(written)


def _free_path(path: Path) -> Path:
    """Return `path`, or the first numbered variant that does not exist."""
    names = (path.with_name(f"{path.stem} ({n}){path.suffix}") for n in count(2))
    return next(name for name in chain((path,), names) if not os.path.lexists(name))


def _runs(timeline: DisplayTimeline, left: float, right: float) -> Iterator[list[ClockSegment]]:
    """Yield the segments in view in groups without a restart between them."""
    in_view = [
        segment
        for segment in timeline.segments
        if segment.x_begin - 0.5 / segment.sample_rate <= right and left <= segment.x_end + 0.5 / segment.sample_rate
    ]
    for _, run in groupby(in_view, lambda segment: timeline.run_of(segment.x_begin)):
        yield list(run)


def _parts(history: History, left: float, right: float) -> Iterator[tuple[str, tuple[str, ...], Samples, Samples]]:
    signals, results = history.signals, history.results
    if signals is not None:
        derived = [channel.name for channel in signals.derived]
        exported = [signals.named[name] for name in (*(each.name for each in signals.channels), *derived)]
        x, samples = signals.samples(left, right, sys.maxsize, [signal.column for signal in exported])
        yield "", tuple(csv_label(signal.name, signal.unit) for signal in exported), x, samples
    if results is not None:
        names, units = column_names(results.columns), (column.unit for column in results.columns)
        x, values = results.rows(left, right)
        yield "-results", tuple(map(csv_label, names, units)), x, values


def _text(table: CsvTable) -> Iterator[bytes]:
    """Yield the file in pieces."""
    yield csv_line((TIME_LABEL, *table.header))
    yield from csv_rows(table.times, table.values)


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
