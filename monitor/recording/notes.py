"""What a thread that writes files has to tell, said as notes in the stream."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from monitor.messages.requests import MAX_NOTE, NoteRequest, Request

_MOST_NAME = 75  # bytes of a path in a note


class Notes:
    """An inlet without clients: what any thread tells is noted when the service looks for requests.

    Parameters
    ----------
    first : to be said at the start.
    """

    endpoint = ""
    refused = 0

    def __init__(self, first: Iterable[str] = ()) -> None:
        self._waiting = deque(first)

    def add(self, text: str) -> None:
        """Let a line be noted."""
        self._waiting.append(text)

    def serve(self, carry_out: Callable[[Request], None]) -> None:
        """Say what there is to note."""
        while self._waiting:
            # one that is too long would end the service
            text = self._waiting.popleft().encode()[:MAX_NOTE].decode(errors="ignore")
            carry_out(NoteRequest(text=text))

    def close(self) -> None:
        """Do nothing."""


def elide_left(text: str, most: int = _MOST_NAME) -> str:
    """Return `text`, or as much of its end as has room in so many bytes."""
    while len(text.encode()) > most:
        text = "…" + text[2:]
    return text
