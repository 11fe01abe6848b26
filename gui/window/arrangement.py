"""How panels are placed: rows, columns and stacks of tabs, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDockWidget, QMainWindow


@dataclass(frozen=True, slots=True)
class Tabs:
    """Panels behind each other, the first in front."""

    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Split:
    """Parts beside or above each other, with their shares of the room."""

    orientation: Qt.Orientation
    parts: tuple[Part, ...]
    shares: tuple[int, ...]


Part = str | Tabs | Split
"""A panel by its key, or several."""


def row(*parts: tuple[Part, int]) -> Split:
    """Put parts beside each other, each with its share of the width."""
    return Split(Qt.Orientation.Horizontal, tuple(p for p, _ in parts), tuple(share for _, share in parts))


def column(*parts: tuple[Part, int]) -> Split:
    """Put parts above each other, each with its share of the height."""
    return Split(Qt.Orientation.Vertical, tuple(p for p, _ in parts), tuple(share for _, share in parts))


_CURVES = column(("histories", 3), ("indicators", 3))
BUILT_IN: Mapping[str, Part] = {
    "Operator": row((column(("tiles", 3), ("events", 2)), 2), (column(("histories", 3), ("indicators", 2)), 3)),
    "Tracking": row((_CURVES, 3), (column(("subspace", 3), ("transfer", 3)), 2)),
    "Reliability": row((column(("reliability", 3), ("histories", 2)), 3), (column(("tiles", 1), ("events", 1)), 1)),
    "Replay": row((_CURVES, 3), (column(("subspace", 2), (Tabs(("events", "transfer", "hysteresis")), 2)), 2)),
    "Everything": row(
        (column(("histories", 3), ("indicators", 3), ("reliability", 2)), 3),
        (column(("tiles", 2), ("subspace", 3)), 2),
        (column(("transfer", 3), ("hysteresis", 3), ("events", 2)), 2),
    ),
}
"""The layouts that are always there."""


def panels_of(part: Part) -> tuple[str, ...]:
    """Return the keys of all panels of a part, in their order."""
    match part:
        case str():
            return (part,)
        case Tabs():
            return part.keys
        case Split():
            return tuple(key for each in part.parts for key in panels_of(each))


def arrange(window: QMainWindow, docks: Mapping[str, QDockWidget], part: Part) -> None:
    """Show the panels of a part in their places; the others are hidden, and would come as tabs of the last one.

    Parameters
    ----------
    window : whose dock areas are filled.
    docks : of every panel, by key; a panel without one has no place.
    """
    for dock in docks.values():
        dock.setFloating(False)
        window.removeDockWidget(dock)
    known = [docks[key] for key in panels_of(part) if key in docks]
    if not known:
        return
    window.addDockWidget(Qt.DockWidgetArea.LeftDockWidgetArea, known[0])
    _place(window, docks, part)
    # whoever is hidden has a place too: a state that is saved holds only those that have one
    for key in (key for key in docks if key not in panels_of(part)):
        window.addDockWidget(Qt.DockWidgetArea.LeftDockWidgetArea, docks[key])
        window.tabifyDockWidget(known[-1], docks[key])
        docks[key].hide()
    for dock in known:
        dock.show()
    layout = window.layout()
    # shares are those of places that are laid out, and are taken when they are laid out again
    if layout is not None:
        layout.activate()
    _share(window, docks, part, window.width(), window.height())
    if layout is not None:
        layout.activate()
    _raise(docks, part)


def _first(docks: Mapping[str, QDockWidget], part: Part) -> QDockWidget | None:
    return next((docks[key] for key in panels_of(part) if key in docks), None)


def _place(window: QMainWindow, docks: Mapping[str, QDockWidget], part: Part) -> None:
    """Put what comes after the first panel, which is in its place, into theirs."""
    if isinstance(part, Split):
        parts = [each for each in part.parts if _first(docks, each) is not None]
        # all parts stand before any of them is split, or the splits would be nested the other way round
        for before, after in pairwise(parts):
            one, other = _first(docks, before), _first(docks, after)
            if one is not None and other is not None:
                window.splitDockWidget(one, other, part.orientation)
        for each in parts:
            _place(window, docks, each)
    elif isinstance(part, Tabs):
        behind = [docks[key] for key in part.keys if key in docks]
        for dock in behind[1:]:
            window.tabifyDockWidget(behind[0], dock)


def _share(window: QMainWindow, docks: Mapping[str, QDockWidget], part: Part, width: int, height: int) -> None:
    if not isinstance(part, Split):
        return
    across = part.orientation is Qt.Orientation.Horizontal
    pairs = [(each, share) for each, share in zip(part.parts, part.shares, strict=True) if _first(docks, each)]
    whole = sum(share for _, share in pairs)
    sizes = [(width if across else height) * share // whole for _, share in pairs]
    window.resizeDocks([dock for each, _ in pairs if (dock := _first(docks, each))], sizes, part.orientation)
    for (each, _), size in zip(pairs, sizes, strict=True):
        _share(window, docks, each, *((size, height) if across else (width, size)))


def _raise(docks: Mapping[str, QDockWidget], part: Part) -> None:
    if isinstance(part, Split):
        for each in part.parts:
            _raise(docks, each)
    elif isinstance(part, Tabs) and (first := _first(docks, part)):
        first.raise_()
