"""Asking something of the service that is watched; whose answer it is, its asker knows."""

from __future__ import annotations

from typing import Generic, TypeVar

from gui.window.watch import Watch
from monitor.messages.requests import Request
from monitor.transport.security.key_files import keys_of
from monitor.transport.zeromq.request_client import RequestClient, requests_url

Asked = TypeVar("Asked")


class Asking(Generic[Asked]):
    """Send requests to whichever service is watched, and give each its answer; nothing here waits.

    Parameters
    ----------
    watch : says which service that is.
    """

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._url = ""
        self._client: RequestClient | None = None
        self._sent: dict[int, Asked] = {}
        self._lost: list[tuple[Asked, str]] = []

    def send(self, request: Request, asked: Asked) -> None:
        """Send a request; `asked` comes back with its answer.

        Raises
        ------
        ValueError : there is no service, or it takes no requests; one line says so.
        """
        health = self._watch.history.health
        if health is None or not self._watch.watching:
            raise ValueError("no service answers yet")
        client = self._client_of(requests_url(health.requests, self._watch.url))
        self._sent[client.send(request)] = asked

    def answers(self) -> list[tuple[Asked, str]]:
        """Return what was answered since the last call: what was asked, and why it was refused; empty: it was not."""
        found, self._lost = self._lost, []
        for answer in () if self._client is None else self._client.answers():
            asked = self._sent.pop(answer.id, None)
            if asked is not None:
                found.append((asked, "" if answer.ok else answer.reason or "refused"))
        return found

    def close(self, linger: float = 0.0) -> None:
        """Leave; what cannot be sent within `linger` s is lost."""
        if self._client is not None:
            self._client.close(linger)
            self._client = None

    def _client_of(self, url: str) -> RequestClient:
        if self._client is not None and url == self._url:
            return self._client
        new = RequestClient(url, security=keys_of(self._watch.keys))
        self.close()
        why = f"no answer from {self._url}, and another service is watched now"
        self._lost += [(asked, why) for asked in self._sent.values()]
        self._sent.clear()
        self._client, self._url = new, url
        return new
