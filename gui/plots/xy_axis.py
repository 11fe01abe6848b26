"""Axes of plots of one quantity against another."""

from __future__ import annotations

import pyqtgraph as pg

from gui.plots.time_ticks import MINUS


class NumberAxis(pg.AxisItem):
    """Numbers with a true minus."""

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:  # noqa: N802 - pyqtgraph's
        """Return the numbers at the ticks."""
        return [text.replace("-", MINUS) for text in super().tickStrings(values, scale, spacing)]
