"""Which instant a picture shows, and whether that is now, in words that stand above it."""

from __future__ import annotations

from dataclasses import dataclass

from gui.model.history.history import History
from gui.panels.tile_moment import tile_moment
from gui.plots.view import View


@dataclass(frozen=True, slots=True)
class Moment:
    """What stands above the picture of one instant.

    Parameters
    ----------
    text : a shape and words.
    x : where results are to be read, s on the display's axis; None: the newest.
    old : the newest is shown, and nothing comes any more: no number may be taken for the present one.
    """

    text: str
    x: float | None = None
    old: bool = False


def moment(history: History, view: View) -> Moment:
    """Return what is shown of `history`."""
    now = view.following and view.pinned is None
    when = tile_moment(history, None if now else view.instant)
    if not now:
        return Moment(f"◆ {when.said}", when.x)
    if when.instead is not None:
        return Moment(f"{when.instead.shape} {when.why or when.instead.words}", old=True)
    return Moment(f"■ {when.said}" if when.said else "● live")
