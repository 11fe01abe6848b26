"""What a tool tip says over a stack of rows."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPoint

from gui.plots.time_scene import Scene
from gui.wording.event_text import kind_word, sentence
from gui.wording.instant_text import instant_text

NEAR = 5.0
"""Pixels that a hand is off."""


def heading_tip(scene: Scene, row: int, legend: Sequence[str]) -> str:
    """Return all that the heading of a row says where it has room."""
    shown = scene.rows[row]
    return "\n".join(filter(None, (f"{shown.name} {shown.quantity}".strip(), *legend, shown.legend)))


def event_tip(scene: Scene, at: QPoint) -> str:
    """Return the events at a place, a line each."""
    return "\n".join(
        f"{instant_text(mark.event.time)}  {kind_word(mark.event.kind)}  {sentence(mark.event)}".strip()
        for mark in scene.frame.marks
        if abs(scene.scale.pixel(mark.x) - at.x()) <= NEAR
    )
