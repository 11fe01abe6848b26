"""Draw curves and bands: polylines, or a raster image of min/max columns where samples share pixels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pyqtgraph import functions
from pyqtgraph.Qt import internals
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QPen, QPolygonF

from gui.plots.time.axis import TimeScale
from gui.plots.time.rows import Trace
from gui.plots.value_axis import ValueRange
from monitor.messages.blocks import Samples

# px; larger coordinates are clipped, which painters cannot handle
_FAR = 1e5
_DASH = 5.0
_EDGE_TOLERANCE = 1e-3  # px


@dataclass(frozen=True, slots=True)
class ValueScale:
    """Linear scale from values [low, high] to `height` px below the pixel `top`."""

    low: float
    high: float
    top: float
    height: float

    def pixels(self, values: Samples) -> Samples:
        """Return the pixels of values, NaN for NaN."""
        scaled = (self.high - values) * (self.height / (self.high - self.low)) + self.top
        return np.clip(scaled, -_FAR, _FAR)

    def pixel(self, value: float) -> float:
        """Return the pixel of a value."""
        return self.top + (self.high - value) * self.height / (self.high - self.low)

    def value(self, pixel: float) -> float:
        """Return the value at a pixel."""
        return self.high - (pixel - self.top) * (self.high - self.low) / self.height


_INSET = 2.0


def value_scale(limits: ValueRange, top: float, height: float, ratio: float = 1.0) -> ValueScale:
    """Return the scale of a row; a curve at a limit is not under the frame.

    Parameters
    ----------
    top, height : of the row, in pixels of which the device has `ratio` per logical pixel.
    """
    return ValueScale(limits.low, limits.high, top + _INSET * ratio, height - 2.0 * _INSET * ratio)


def runs(known: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return begin and end of each run of True."""
    steps = np.flatnonzero(np.diff(known, prepend=False, append=False))
    return list(zip(steps[::2].tolist(), steps[1::2].tolist(), strict=True))


class PixelColumns:
    """Assignment of buckets to columns of pixels.

    Parameters
    ----------
    edges : (n + 1,), n at least 1, of the buckets, s.
    time : the scale.
    """

    def __init__(self, edges: Samples, time: TimeScale) -> None:
        pixels = np.floor(time.pixels(edges))
        begins = np.empty(len(pixels) - 1, dtype=bool)
        begins[0] = True
        np.not_equal(pixels[1:-1], pixels[:-2], out=begins[1:])
        self._first = np.flatnonzero(begins)
        self.left: Samples = pixels[self._first]
        self.width: Samples = np.empty(len(self.left))
        self.width[:-1] = self.left[1:] - self.left[:-1]
        self.width[-1] = max(1.0, pixels[-1] - self.left[-1])

    def heights(self, trace: Trace, values: ValueScale) -> tuple[Samples, Samples]:
        """Return top and bottom of a curve in each column, (n_columns,) whole pixels; NaN where there is no value.

        A column that does not touch the previous one is extended, so that a steep curve has no gaps.
        """
        low, high = trace.low, trace.high
        if len(self._first) < len(low):
            low, high = np.fmin.reduceat(low, self._first), np.fmax.reduceat(high, self._first)
        top = np.floor(values.pixels(high))
        bottom = np.floor(values.pixels(low)) + 1.0
        # fmin and fmax ignore a NaN neighbour; NaN columns remain NaN
        reached_top, reached_bottom = np.fmin(top[1:], bottom[:-1]), np.fmax(bottom[1:], top[:-1])
        unknown = np.isnan(top[1:])
        reached_top[unknown] = reached_bottom[unknown] = np.nan
        top[1:], bottom[1:] = reached_top, reached_bottom
        return top, bottom


class CurvePainter:
    """Draw traces with a painter.

    Parameters
    ----------
    painter : clipped to the plot.
    time, values : the scales.
    smooth : lines are antialiased, which is slower; min/max columns never are.
    as_lines : min/max columns are a line through their ends, as vector formats need it.
    """

    def __init__(
        self, painter: QPainter, time: TimeScale, values: ValueScale, *, smooth: bool = False, as_lines: bool = False
    ) -> None:
        self._painter, self._time, self._values = painter, time, values
        self._smooth, self._as_lines = smooth, as_lines

    def curve(self, trace: Trace, colour: QColor, *, dashed: bool = False) -> None:
        """Draw a line through exact rows, or else min/max columns."""
        if not len(trace.low):
            return
        if trace.exact or self._as_lines:
            pen = QPen(colour, 1.0)
            # thin lines only: wide ones cost three times as much
            pen.setCosmetic(not self._as_lines)
            if dashed:
                pen.setDashPattern([4.0, 3.0])
            self._painter.setPen(pen)
            self._painter.setBrush(Qt.BrushStyle.NoBrush)
            self._painter.setRenderHint(QPainter.RenderHint.Antialiasing, self._smooth)
            self._lines(trace)
            self._painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
            return
        self._painter.setPen(Qt.PenStyle.NoPen)
        self._painter.setBrush(colour)
        pixels = PixelColumns(trace.edges, self._time)
        top, bottom = pixels.heights(trace, self._values)
        found = np.column_stack([pixels.left, top, pixels.width, bottom - top])[~np.isnan(top)]
        if dashed:
            # by absolute position, so that the dashes scroll with the curve
            start = self._time.pixel(0.0)
            found = found[np.floor((found[:, 0] - start) / _DASH) % 2.0 == 0.0]
        rectangles = internals.PrimitiveArray(QRectF, 4)
        rectangles.resize(len(found))
        rectangles.ndarray()[:] = found
        self._painter.drawRects(*rectangles.drawargs())

    def band(self, trace: Trace, colour: QColor) -> None:
        """Fill the area between low and high."""
        self._painter.setPen(Qt.PenStyle.NoPen)
        self._painter.setBrush(colour)
        x = self._time.pixels(trace.centers)
        low, high = self._values.pixels(trace.low), self._values.pixels(trace.high)
        for begin, end in runs(trace.known & ~np.isnan(trace.high)):
            self._painter.drawPolygon(
                _polygon(
                    np.concatenate([x[begin:end], x[begin:end][::-1]]),
                    np.concatenate([low[begin:end], high[begin:end][::-1]]),
                )
            )

    def _lines(self, trace: Trace) -> None:
        x = self._time.pixels(trace.centers)
        inside = self._reaching(x)
        x, y, known = x[inside], self._values.pixels(trace.low[inside]), trace.known[inside]
        if not trace.exact:
            y, known = _through_ends(y, self._values.pixels(trace.high[inside]), known)
            # at a quarter of the bucket and at three, so that slopes have no steps
            quarter = np.diff(self._time.pixels(trace.edges))[inside] / 4.0
            x = np.column_stack([x - quarter, x + quarter]).ravel()
        for begin, end in runs(known):
            if end - begin > 1:
                self._painter.drawPolyline(_polygon(x[begin:end], y[begin:end]))
            else:
                # a single value is drawn as a dot
                self._painter.drawPolyline(_polygon(x[begin] + np.array([-1.0, 1.0]), np.repeat(y[begin], 2)))

    def _reaching(self, x: Samples) -> slice:
        """Return the points from the last one left of the picture to the first one right of it.

        Later points must not change a paused picture, not even where an antialiased line ends.
        """
        left, right = self._time.begin, self._time.begin + self._time.width
        first, last = np.searchsorted(x, (left + _EDGE_TOLERANCE, right - _EDGE_TOLERANCE))
        return slice(max(0, int(first) - 1), int(last) + 1)


def _through_ends(low: Samples, high: Samples, known: NDArray[np.bool_]) -> tuple[Samples, NDArray[np.bool_]]:
    """Return a line through both ends of every column, (2 n,): first the one nearer to the column before."""
    middle = low + high
    # px rise downwards
    upwards = np.diff(middle, prepend=middle[:1]) < 0.0
    first, second = np.where(upwards, low, high), np.where(upwards, high, low)
    return np.column_stack([first, second]).ravel(), np.repeat(known, 2)


def _polygon(x: Samples, y: Samples) -> QPolygonF:
    polygon: QPolygonF = functions.create_qpolygonf(len(x))
    points = functions.ndarray_from_qpolygonf(polygon)
    points[:, 0] = x
    points[:, 1] = y
    return polygon


_MAX_HEIGHT = 32_000


class ColumnsImage:
    """Indexed image of curves on a transparent background, later ones over earlier ones.

    Parameters
    ----------
    width, height : px of the device.
    ratio : device pixel ratio.
    """

    def __init__(self, width: int, height: int, ratio: float = 1.0) -> None:
        self._width, self._height, self._ratio = width, min(height, _MAX_HEIGHT), ratio
        # scan lines of an image are aligned to four bytes
        self._numbers = np.zeros((self._height, -(-width // 4) * 4), dtype=np.uint8)
        self._rows = np.arange(self._height, dtype=np.int16)[:, np.newaxis]
        self._colours: list[int] = [0]

    def add(self, pixels: PixelColumns, heights: tuple[Samples, Samples], colour: QColor) -> None:
        """Add a curve over the previous ones."""
        number = np.uint8(len(self._colours))
        self._colours.append(colour.rgba())
        top, bottom = self._spread(pixels, *heights)
        inside = (self._rows >= top) & (self._rows < bottom)
        np.maximum(self._numbers, inside.view(np.uint8) * number, out=self._numbers)

    def image(self) -> QImage:
        """Return the image, which refers to memory of this object."""
        stride = self._numbers.shape[1]
        made = QImage(self._numbers.data, self._width, self._height, stride, QImage.Format.Format_Indexed8)
        made.setColorTable(self._colours)
        made.setDevicePixelRatio(self._ratio)
        return made

    def _spread(
        self, pixels: PixelColumns, top: Samples, bottom: Samples
    ) -> tuple[NDArray[np.int16], NDArray[np.int16]]:
        """Return top and bottom, (width,), of the curve in each column of pixels; an empty range where it is NaN."""
        n = self._numbers.shape[1]
        begin, end = np.full(n, self._height, dtype=np.int16), np.full(n, -1, dtype=np.int16)
        # on a high-resolution screen a line has the same thickness
        thicker = max(0, round(self._ratio) - 1)
        known = ~np.isnan(top)
        top = np.where(known, np.clip(top, -1, self._height), self._height).astype(np.int16)
        bottom = np.where(known, np.clip(bottom + thicker, -1, self._height), -1).astype(np.int16)
        first = int(pixels.left[0])
        if (pixels.width != 1.0).any():
            widths = pixels.width.astype(np.intp)
            top, bottom = np.repeat(top, widths), np.repeat(bottom, widths)
        source = slice(max(0, -first), max(0, min(len(top), n - first)))
        place = slice(max(0, first), max(0, first) + max(0, source.stop - source.start))
        begin[place], end[place] = top[source], bottom[source]
        return begin, end
