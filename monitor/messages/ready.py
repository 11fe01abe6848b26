"""Endpoints of a program that is ready, as one line of JSON for the program that started it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

import msgspec


class Endpoints(msgspec.Struct, frozen=True):
    """Endpoints of a service or a replay that is ready; empty: none.

    Parameters
    ----------
    signals : that it receives from or publishes on.
    results : on which a service publishes.
    requests : on which it accepts requests.
    """

    signals: tuple[str, ...] = ()
    results: str = ""
    requests: str = ""

    @property
    def json(self) -> str:
        """One line: ``{"ready": {"signals": [...], "results": "...", "requests": "..."}}``."""
        return msgspec.json.encode({"ready": self}).decode()

    @classmethod
    def from_message(cls, message: Mapping[str, object]) -> Self | None:
        """Return the endpoints of a decoded line; None for another message."""
        try:
            return msgspec.convert(message.get("ready"), cls)
        except msgspec.ValidationError:
            return None
