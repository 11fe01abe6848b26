"""Choices of columns, remembered by the names that the columns have."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import msgspec
from PySide6.QtCore import QSettings

from gui.sources.column_choice import ColumnChoice
from gui.sources.recent import Recent
from monitor.messages.recordings import FileColumn

_MOST = 50
_decoder = msgspec.json.Decoder(ColumnChoice)


class ColumnMemory:
    """Remember the last fifty choices.

    Parameters
    ----------
    settings : where they are kept.
    """

    def __init__(self, settings: QSettings) -> None:
        self._settings = settings
        self._known = Recent(settings, "columns/known", _MOST)

    def recall(self, columns: Sequence[FileColumn]) -> ColumnChoice | None:
        """Return what was chosen for such columns; None where nothing was, or the settings are damaged."""
        try:
            choice: ColumnChoice = _decoder.decode(str(self._settings.value(_key(columns), "")))
        except msgspec.DecodeError:
            return None
        return choice if choice.fits(columns) and not choice.problems() else None

    def remember(self, columns: Sequence[FileColumn], choice: ColumnChoice) -> None:
        """Keep a choice, and forget the oldest where there are too many."""
        before, key = self._known.texts, _key(columns)
        self._settings.setValue(key, msgspec.json.encode(choice).decode())
        self._known.add(key)
        for forgotten in set(before) - set(self._known.texts):
            self._settings.remove(forgotten)


def _key(columns: Sequence[FileColumn]) -> str:
    # the order does not matter: a choice names its columns
    names = "\n".join(sorted(column.word for column in columns))
    return f"columns/{hashlib.sha256(names.encode()).hexdigest()[:24]}"
