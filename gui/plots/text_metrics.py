"""How wide texts are, measured once: the same few are written many times a second."""

from __future__ import annotations

from PySide6.QtGui import QFont, QFontMetricsF

_MOST = 4096
_known: dict[tuple[str, str], float] = {}


class TextMetrics:
    """Widths and the height of what is written in one font.

    Parameters
    ----------
    font : with its features and its size.
    """

    def __init__(self, font: QFont) -> None:
        self._key = font.key()
        self._metrics = QFontMetricsF(font)

    @property
    def height(self) -> float:
        """Pixels of a line."""
        return self._metrics.height()

    def width(self, text: str) -> float:
        """Return how many pixels a text takes."""
        key = self._key, text
        found = _known.get(key)
        if found is None:
            if len(_known) >= _MOST:
                _known.clear()
            found = _known[key] = self._metrics.horizontalAdvance(text)
        return found
