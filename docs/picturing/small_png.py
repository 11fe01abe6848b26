"""Pictures of a screen as small files."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

from PIL import Image
from PySide6.QtCore import QBuffer, QIODevice
from PySide6.QtGui import QImage

_MOST_COLOURS = 256


def write_png(image: QImage, path: Path) -> None:
    """Write a picture with a palette: a screen of text and thin lines has few colours, and where there are more,
    the difference is invisible."""
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image.convertToFormat(QImage.Format.Format_RGB32).save(buffer, "PNG")
    with Image.open(BytesIO(buffer.data().data())) as picture:
        flat = picture.convert("RGB").quantize(_MOST_COLOURS, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
        path.parent.mkdir(parents=True, exist_ok=True)
        flat.save(path, optimize=True)
