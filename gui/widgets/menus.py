"""Context menus: entries, the place of a menu, and how one is shown; the dialog that asks for a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QFileDialog, QMenu, QWidget


class MenuEntry(NamedTuple):
    """Entry of a context menu: its text, and what it does."""

    text: str
    act: Callable[[], object]
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class MenuPlace:
    """Place of a context menu.

    Parameters
    ----------
    at : on the screen.
    row : key of the row of a plot over time; empty: none.
    x : instant, s on the display's axis; None: none.
    """

    at: QPoint
    row: str = ""
    x: float | None = None


def show_context_menu(parent: QWidget, at: QPoint, *groups: Iterable[MenuEntry]) -> QMenu | None:
    """Show a menu at a point of the screen, with a separator between groups; None where there is no entry.

    It is deleted when it is closed.
    """
    filled = [found for group in groups if (found := list(group))]
    if not filled:
        return None
    menu = QMenu(parent)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    for number, group in enumerate(filled):
        if number:
            menu.addSeparator()
        for entry in group:
            action = menu.addAction(entry.text)
            action.setEnabled(entry.enabled)
            action.triggered.connect(without_checked(entry.act))
    menu.popup(at)
    return menu


def without_checked(act: Callable[[], object]) -> Callable[[], None]:
    """Return a slot that ignores the argument of `QAction.triggered`."""

    def call() -> None:
        act()

    return call


def ask_path(
    parent: QWidget, title: str, place: str, chosen: Callable[[str], object], *, kinds: str = "", suffix: str = ""
) -> None:
    """Ask for a file to save, where it has a `suffix`; for one to open, of some `kinds`; or else for a folder.

    Parameters
    ----------
    place : file or folder that is proposed.
    chosen : called with the path.
    """
    dialog = QFileDialog(parent, title, place, kinds)
    if suffix:
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix(suffix)
        dialog.selectFile(place)
    elif not kinds:
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly)
    dialog.fileSelected.connect(chosen)
    dialog.finished.connect(dialog.deleteLater)
    dialog.open()
