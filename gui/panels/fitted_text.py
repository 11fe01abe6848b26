"""TextMetrics as large as there is room for."""

from __future__ import annotations

from functools import lru_cache

from PySide6.QtGui import QFont, QFontMetricsF

SMALLEST = 6
"""Pixels of a letter that can still be read."""
_TABULAR = QFont.Tag("tnum")
_FIGURES = str.maketrans("012345679", "888888888")


def fitted(text: str, font: QFont, pixels: float, width: float, *, bold: bool = False) -> tuple[QFont, bool]:
    """Return `font` with figures of one width, in at most `pixels` and so that `text` has room in `width`.

    It is never smaller than can be read; whether the text has room then is told beside it.
    """
    # figures are of one width: what fits once fits with other figures
    size, fits = _fitting(text.translate(_FIGURES), font.family(), pixels, width, bold)
    return _font(font.family(), size, bold), fits


@lru_cache(4096)
def _fitting(text: str, family: str, pixels: float, width: float, bold: bool) -> tuple[int, bool]:
    for _ in range(3):
        size = int(max(SMALLEST, pixels))
        needed = QFontMetricsF(_font(family, size, bold)).horizontalAdvance(text)
        if needed <= width or size <= SMALLEST:
            break
        pixels = size * width / needed
    return size, needed <= width


def _font(family: str, size: int, bold: bool) -> QFont:
    font = QFont(family)
    font.setFeature(_TABULAR, 1)
    font.setBold(bold)
    font.setPixelSize(size)
    return font
