"""Styles of curves that were changed in the legend: hidden, or of another colour."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QIcon, QPixmap
from PySide6.QtWidgets import QMenu, QWidget

from gui.plots.time.rows import CurveStyle, PlotRow
from gui.widgets.theme import Theme

_ICON = 12  # px
CurveKey = tuple[str, str]
"""Key of a row, and label of one of its curves."""


@dataclass(frozen=True, slots=True)
class _Change:
    hidden: bool = False
    colour: int | None = None


class CurveStyles:
    """Changes of curve styles; a curve that is shown again has the same as before."""

    def __init__(self) -> None:
        self._changes: dict[CurveKey, _Change] = {}

    def toggle(self, row: str, label: str) -> None:
        """Hide a curve, or show it again."""
        change = self._changes.get((row, label), _Change())
        self._changes[row, label] = replace(change, hidden=not change.hidden)

    def is_hidden(self, row: str, label: str) -> bool:
        """Whether a curve is hidden."""
        return self._changes.get((row, label), _Change()).hidden

    def show_all(self, row: str) -> None:
        """Show all curves of a row."""
        for key, change in self._changes.items():
            if key[0] == row:
                self._changes[key] = replace(change, hidden=False)

    def set_colour(self, row: str, label: str, colour: int | None) -> None:
        """Draw a curve with the colour of a series; None: its own."""
        self._changes[row, label] = replace(self._changes.get((row, label), _Change()), colour=colour)

    def applied(self, rows: Sequence[PlotRow]) -> tuple[PlotRow, ...]:
        """Return rows with the changes."""
        return tuple(self._applied(row) for row in rows)

    def _applied(self, row: PlotRow) -> PlotRow:
        changes = [self._changes.get((row.key, curve.label)) for curve in row.curves]
        if not any(changes):
            return row
        curves = tuple(_changed(curve, change) for curve, change in zip(row.curves, changes, strict=True))
        # a band has the colour of its curve, and is hidden with it
        colours = {
            before.colour: None if after.hidden else after.colour
            for before, after in zip(row.curves, curves, strict=True)
        }
        bands = tuple(None if colour is None else colours.get(colour, colour) for colour in row.bands)
        return replace(row, curves=curves, bands=bands)


def _changed(curve: CurveStyle, change: _Change | None) -> CurveStyle:
    if change is None:
        return curve
    colour = curve.colour if change.colour is None else change.colour
    return replace(curve, hidden=change.hidden, colour=colour, faint=curve.faint and change.colour is None)


_SERIES = ("blue", "orange", "green", "purple", "olive", "light blue", "violet", "grey")


def curve_menu(
    parent: QWidget, styles: CurveStyles, row: str, label: str, theme: Theme, changed: Callable[[], None]
) -> QMenu:
    """Return the menu of a legend entry: hide or show its curve, and its colour.

    Parameters
    ----------
    changed : called after a change.
    """
    menu = QMenu(parent)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)

    def add(text: str, change: Callable[[], None], colour: str = "") -> None:
        action = menu.addAction(text)
        if colour:
            icon = QPixmap(_ICON, _ICON)
            icon.fill(QColor(colour))
            action.setIcon(QIcon(icon))

        def apply() -> None:
            change()
            changed()

        action.triggered.connect(apply)

    add("Show" if styles.is_hidden(row, label) else "Hide", partial(styles.toggle, row, label))
    add("Show all curves", partial(styles.show_all, row))
    menu.addSection("Colour")
    for number, (name, colour) in enumerate(zip(_SERIES, theme.series, strict=True)):
        add(name, partial(styles.set_colour, row, label, number), colour)
    add("default", partial(styles.set_colour, row, label, None))
    return menu
