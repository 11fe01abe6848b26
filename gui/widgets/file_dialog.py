"""Dialog that asks for a file or a folder without blocking."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QFileDialog, QWidget


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
