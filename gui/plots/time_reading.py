"""What is read at the cursor, and by how much it differs from what stands at the pinned instant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gui.plots.time_frame import Between, Frame
from gui.plots.time_scale import segment_at


@dataclass(frozen=True, slots=True)
class Reading:
    """What is known of a row's curves, and of their differences to the pinned instant."""

    values: Sequence[Between]
    differences: Sequence[Between] | None = None
    stale: str = ""


def readings(frame: Frame, n_rows: int, cursor: float | None, pinned: float | None) -> list[Reading]:
    """Return what is read in every row: at the cursor, else at the pinned instant, else at the right edge.

    Only what is newest can be stale.
    """
    at = pinned if cursor is None else cursor
    now = _read(frame, n_rows, frame.right if at is None else at)
    stale = frame.stale if at is None else ""
    if cursor is None or pinned is None:
        return [Reading(values, None, stale) for values in now]
    then = _read(frame, n_rows, pinned)
    return [
        # of what is not known on one side there is no difference
        Reading(values, [a.minus(b) for a, b in zip(values, before, strict=False)], stale)
        for values, before in zip(now, then, strict=True)
    ]


def _read(frame: Frame, n_rows: int, x: float) -> list[Sequence[Between]]:
    """Return what is known at `x`: nothing where the rig's clock does not go on, whatever lies beside."""
    in_break = bool(frame.segments) and segment_at(frame.segments, x) is None
    found = () if in_break else frame.read(x)
    return [found[i] if i < len(found) else () for i in range(n_rows)]
