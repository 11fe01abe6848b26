"""What was used last, kept in the settings: the newest first."""

from __future__ import annotations

import msgspec
from PySide6.QtCore import QSettings

_decoder = msgspec.json.Decoder(list[str])


class Recent:
    """A short list of texts under one key.

    Parameters
    ----------
    settings : where they are kept.
    key : under which.
    most : how many.
    """

    def __init__(self, settings: QSettings, key: str, most: int = 8) -> None:
        self._settings, self._key, self._most = settings, key, most

    @property
    def texts(self) -> tuple[str, ...]:
        """The newest first; nothing where the settings are damaged."""
        try:
            return tuple(_decoder.decode(str(self._settings.value(self._key, "[]"))))[: self._most]
        except msgspec.DecodeError:
            return ()

    def add(self, text: str) -> None:
        """Put one first."""
        self._keep([text, *(each for each in self.texts if each != text)])

    def remove(self, text: str) -> None:
        """Forget one."""
        self._keep([each for each in self.texts if each != text])

    def _keep(self, texts: list[str]) -> None:
        self._settings.setValue(self._key, msgspec.json.encode(texts[: self._most]).decode())
