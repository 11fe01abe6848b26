"""Figures with matplotlib, which is imported when one is drawn, and their files."""

from __future__ import annotations

from collections.abc import Iterable
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from monitor.text.blocks import Block, Figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

DPI = 110


def new_drawing(width: float, height: float, title: str = "") -> Drawing:
    """Return an empty drawing, in inches, whose parts make room for each other."""
    from matplotlib.figure import Figure as Drawing

    drawing = Drawing(figsize=(width, height), layout="constrained")
    if title:
        drawing.suptitle(title)
    return drawing


def png(figure: Figure) -> bytes:
    """Return a figure as an image."""
    image = BytesIO()
    figure.draw().savefig(image, dpi=DPI)
    return image.getvalue()


def save_figures(blocks: Iterable[Block], folder: Path) -> list[Path]:
    """Write the figures among blocks into a folder that is there; return the files.

    Raises
    ------
    OSError : the folder is not writable, or the disk is full.
    """
    paths = []
    for block in blocks:
        if isinstance(block, Figure):
            paths.append(folder / f"{block.name}.png")
            block.draw().savefig(paths[-1], dpi=DPI)
    return paths
