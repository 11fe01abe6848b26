"""Painters that end whatever happens: one that is left open lets Qt crash."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from PySide6.QtCore import Qt
from PySide6.QtGui import QPainter, QPalette, QPixmap
from PySide6.QtWidgets import QWidget

_MARGIN = 6
_MOST_LETTERS = 200


@contextmanager
def painting(widget: QWidget) -> Iterator[QPainter]:
    """Give a painter on a widget; what goes wrong is reported, and said in the place of the picture."""
    painter = QPainter(widget)
    try:
        yield painter
    except Exception as problem:  # noqa: BLE001 - whatever it is, Qt must go on
        painter.end()
        _say(widget, failure_text(problem))
        sys.excepthook(type(problem), problem, problem.__traceback__)
    finally:
        if painter.isActive():
            painter.end()


@contextmanager
def painting_on(pixmap: QPixmap) -> Iterator[QPainter]:
    """Give a painter on a picture; what goes wrong goes on to the caller."""
    painter = QPainter(pixmap)
    try:
        yield painter
    finally:
        painter.end()


def failure_text(problem: Exception) -> str:
    """Return what is said where a picture should be: ``cannot be drawn (OverflowError: ...)``."""
    what = " ".join(f"{type(problem).__name__}: {problem}".split())
    return f"cannot be drawn ({what[:_MOST_LETTERS]})"


def _say(widget: QWidget, text: str) -> None:
    painter, area = QPainter(widget), widget.rect()
    palette = widget.palette()
    painter.fillRect(area, palette.color(QPalette.ColorRole.Window))
    painter.setPen(palette.color(QPalette.ColorRole.WindowText))
    inner = area.adjusted(_MARGIN, _MARGIN, -_MARGIN, -_MARGIN)
    painter.drawText(inner, Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap, text)
    painter.end()
