"""Pens and fonts of plots."""

from __future__ import annotations

from typing import Any

import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QFont, QFontDatabase, QGuiApplication


def pen(colour: str, width: float = 1.0, opacity: float = 1.0, style: Qt.PenStyle = Qt.PenStyle.SolidLine) -> Any:
    """Return a cosmetic pen."""
    shade = QColor(colour)
    shade.setAlphaF(opacity)
    return pg.mkPen(shade, width=width, style=style)


def tabular(scale: float = 1.0) -> QFont:
    """Return the program's font with digits of one width."""
    font = QGuiApplication.font()
    font.setPointSizeF(scale * font.pointSizeF())
    font.setFeature(QFont.Tag("tnum"), 1)
    return font


def fixed(scale: float = 1.0) -> QFont:
    """Return the system's font in which all letters have one width."""
    font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
    font.setPointSizeF(scale * QGuiApplication.font().pointSizeF())
    return font
