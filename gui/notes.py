"""Notes on their way to the service, and what became of them."""

from __future__ import annotations

from collections.abc import Iterator

from gui.history.history import History
from monitor.requests import NoteRequest
from monitor.transport.requests import RequestClient, requests_url


class Notes:
    """Send notes to the service that is watched; nothing here waits."""

    def __init__(self) -> None:
        self._url = ""
        self._client: RequestClient | None = None

    def send(self, text: str, x: float, history: History, results_url: str) -> None:
        """Ask the service to keep `text` with the instant `x` of the display.

        Raises
        ------
        ValueError, OSError : the text is none that can be kept, or the service takes no notes; one line.
        """
        health = history.health
        if health is None:
            raise ValueError("no service answers yet: nobody can keep a note")
        url = requests_url(health.requests, results_url)
        if self._client is None or url != self._url:
            self.close()
            self._client, self._url = RequestClient(url), url
        placed = history.timeline.sample_at(x)
        time, index = (None, None) if placed is None else placed
        self._client.send(NoteRequest(text=text, time=time, index=index))

    def answers(self) -> Iterator[tuple[str, str]]:
        """Give level and text of what was answered since the last look."""
        if self._client is None:
            return
        for answer in self._client.answers():
            if answer.ok:
                yield "info", "the note is kept with the run"
            else:
                yield "error", f"the note is not kept: {answer.reason}"

    def close(self) -> None:
        """Leave; what was not sent is forgotten."""
        if self._client is not None:
            self._client.close()
            self._client = None
