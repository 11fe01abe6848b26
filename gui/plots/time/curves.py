"""Draw curves and bands: polylines where there is room, a raster image of min/max columns where there is none."""

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
from monitor.messages.blocks import Samples

# pixels beyond which nothing is seen, near enough to zero for every painter
_FAR = 1e5
_DASH = 5.0
_AT_EDGE = 1e-3  # pixels by which a point at the edge may be off


@dataclass(frozen=True, slots=True)
class ValueScale:
    """The values [low, high] on `height` pixels below the pixel `top`."""

    low: float
    high: float
    top: float
    height: float

    def pixels(self, values: Samples) -> Samples:
        """Return where values stand, NaN for NaN."""
        scaled = (self.high - values) * (self.height / (self.high - self.low)) + self.top
        return np.clip(scaled, -_FAR, _FAR)

    def pixel(self, value: float) -> float:
        """Return where a value stands."""
        return self.top + (self.high - value) * self.height / (self.high - self.low)

    def value(self, pixel: float) -> float:
        """Return the value at a pixel."""
        return self.high - (pixel - self.top) * (self.high - self.low) / self.height


def runs(known: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return where consecutive True begin and end."""
    steps = np.flatnonzero(np.diff(known, prepend=False, append=False))
    return list(zip(steps[::2].tolist(), steps[1::2].tolist(), strict=True))


class PixelColumns:
    """Which buckets share a column of pixels.

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
        """Return where a curve begins and ends, (n_columns,) whole pixels each; NaN where it is not.

        A column that does not meet the one before is made longer until it does, so that a steep curve has no holes.
        """
        low, high = trace.low, trace.high
        if len(self._first) < len(low):
            low, high = np.fmin.reduceat(low, self._first), np.fmax.reduceat(high, self._first)
        top = np.floor(values.pixels(high))
        bottom = np.floor(values.pixels(low)) + 1.0
        # fmin and fmax leave out neighbours that are not there, and what is not there stays so
        reached_top, reached_bottom = np.fmin(top[1:], bottom[:-1]), np.fmax(bottom[1:], top[:-1])
        unknown = np.isnan(top[1:])
        reached_top[unknown] = reached_bottom[unknown] = np.nan
        top[1:], bottom[1:] = reached_top, reached_bottom
        return top, bottom


class CurvePainter:
    """Draw traces with a painter; keeps what a drawing needs from one to the next.

    Parameters
    ----------
    painter : clipped to where curves may be.
    time, values : the scales.
    smooth : lines are antialiased, which takes longer; columns of pixels never are.
    """

    def __init__(self, painter: QPainter, time: TimeScale, values: ValueScale, *, smooth: bool = False) -> None:
        self._painter, self._time, self._values, self._smooth = painter, time, values, smooth

    def curve(self, trace: Trace, colour: QColor, *, dashed: bool = False, width: float = 1.0) -> None:
        """Draw a line through rows, or columns where rows share pixels."""
        if not len(trace.low):
            return
        if trace.exact:
            pen = QPen(colour, width)
            # thin lines only: wide or round ones cost three times as much
            pen.setCosmetic(True)
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
            # by absolute position, so that the dashes move along with the curve
            start = self._time.pixel(0.0)
            found = found[np.floor((found[:, 0] - start) / _DASH) % 2.0 == 0.0]
        rectangles = internals.PrimitiveArray(QRectF, 4)
        rectangles.resize(len(found))
        rectangles.ndarray()[:] = found
        self._painter.drawRects(*rectangles.drawargs())

    def band(self, trace: Trace, colour: QColor) -> None:
        """Fill what lies between low and high."""
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
        for begin, end in runs(known):
            if end - begin > 1:
                self._painter.drawPolyline(_polygon(x[begin:end], y[begin:end]))
            else:
                # a value alone is a dot, not nothing
                self._painter.drawPolyline(_polygon(x[begin] + np.array([-1.0, 1.0]), np.repeat(y[begin], 2)))

    def _reaching(self, x: Samples) -> slice:
        """Return the points from the last one left of the picture to the first one right of it.

        What comes beyond later must not change a picture that stands, not even where a smooth line ends.
        """
        left, right = self._time.begin, self._time.begin + self._time.width
        first, last = np.searchsorted(x, (left + _AT_EDGE, right - _AT_EDGE))
        return slice(max(0, int(first) - 1), int(last) + 1)


def _polygon(x: Samples, y: Samples) -> QPolygonF:
    polygon: QPolygonF = functions.create_qpolygonf(len(x))
    points = functions.ndarray_from_qpolygonf(polygon)
    points[:, 0] = x
    points[:, 1] = y
    return polygon


_TALLEST = 32_000


class ColumnsImage:
    """A picture of curves on nothing, the later over the earlier.

    Parameters
    ----------
    width, height : pixels of the device.
    ratio : of these to those that a painter counts in.
    """

    def __init__(self, width: int, height: int, ratio: float = 1.0) -> None:
        self._width, self._height, self._ratio = width, min(height, _TALLEST), ratio
        # lines of a picture begin at multiples of four bytes
        self._numbers = np.zeros((self._height, -(-width // 4) * 4), dtype=np.uint8)
        self._rows = np.arange(self._height, dtype=np.int16)[:, np.newaxis]
        self._colours: list[int] = [0]

    def add(self, pixels: PixelColumns, heights: tuple[Samples, Samples], colour: QColor) -> None:
        """Put a curve over those that are there."""
        number = np.uint8(len(self._colours))
        self._colours.append(colour.rgba())
        top, bottom = self._spread(pixels, *heights)
        inside = (self._rows >= top) & (self._rows < bottom)
        np.maximum(self._numbers, inside.view(np.uint8) * number, out=self._numbers)

    def image(self) -> QImage:
        """Return it; it lives no longer than this object."""
        stride = self._numbers.shape[1]
        made = QImage(self._numbers.data, self._width, self._height, stride, QImage.Format.Format_Indexed8)
        made.setColorTable(self._colours)
        made.setDevicePixelRatio(self._ratio)
        return made

    def _spread(
        self, pixels: PixelColumns, top: Samples, bottom: Samples
    ) -> tuple[NDArray[np.int16], NDArray[np.int16]]:
        """Return (width,) where the curve begins and ends in each column of pixels; nowhere where it is not."""
        n = self._numbers.shape[1]
        begin, end = np.full(n, self._height, dtype=np.int16), np.full(n, -1, dtype=np.int16)
        # on a fine screen a line is as thick as on another one
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
