"""Connection to one service: its messages in a history, and requests with their answers."""

from __future__ import annotations

import math
import time
from functools import partial
from typing import Generic, TypeVar

from PySide6.QtCore import QObject

from gui.model.history import History
from gui.model.receiver import ReceiverThread, ServiceSubscription
from gui.plots.view import View
from monitor.messages.requests import Request
from monitor.transport.zeromq.key_files import keys_of
from monitor.transport.zeromq.request_client import RequestClient, requests_url

Context = TypeVar("Context")


class ServiceConnection(QObject):
    """Receives from one service at a time.

    Parameters
    ----------
    view : visible time range; limited to the time range of the history.
    memory : most bytes that the history may use.
    minutes : duration of the history at full rate.

    Attributes
    ----------
    history : what was received, a new one after each `open`; or a recording.
    configured : the panels are configured for this history; set by the window.
    clock : s since 1970.
    """

    def __init__(self, view: View, memory: int, minutes: float, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.view = view
        self.memory, self.minutes = memory, minutes
        self.url = self.keys = ""
        self.history = History(memory, minutes)
        self.configured = False
        self.clock = time.time
        self._receiver: ReceiverThread | None = None

    @property
    def is_open(self) -> bool:
        """Whether messages are received."""
        return self._receiver is not None

    @property
    def dropped(self) -> int:
        """Samples that were dropped because the window was busy."""
        return 0 if self._receiver is None else self._receiver.dropped

    @property
    def failed(self) -> str:
        """Why nothing can be received, in one line."""
        return "" if self._receiver is None else self._receiver.failed

    @property
    def problem(self) -> str:
        """Why no service has answered so far, in one line; empty: one has, or it is not known yet."""
        return "" if self._receiver is None else self._receiver.problem

    def open(self, url: str, keys: str = "") -> None:
        """Subscribe to the service at `url`, with the keys in that folder, and begin a new history."""
        self.reset()
        self.url, self.keys = url, keys
        self._receiver = ReceiverThread(partial(ServiceSubscription.connect, url, signals=True, keys=keys))

    def show(self, history: History) -> None:
        """Close the connection, and show a recording."""
        self.close()
        self.history, self.configured = history, False
        self.view.show_recording(history.begin_x, history.end_x)

    def poll(self) -> bool:
        """Add the messages received since the last call to the history; return whether there were any."""
        if self._receiver is None:
            return False
        received = self._receiver.drain()
        history = self.history
        history.update(received, silence=self._receiver.silence, age=self._receiver.age, now=self.clock())
        self.view.extend(history.begin_x, history.end_x)
        return bool(received)

    def reset(self) -> None:
        """Close the connection, and begin a new history."""
        self.close()
        self.history, self.configured = History(self.memory, self.minutes), False
        self.view.restart()

    def close(self) -> None:
        """Close the connection; the history remains."""
        if self._receiver is not None:
            self._receiver.close()
            self._receiver = None
            # its last values are not those of a live service
            self.history.silence = self.history.age = math.inf


class RequestSender(Generic[Context]):
    """Sends requests to the service of a connection, and matches answers to them; does not block.

    Parameters
    ----------
    connection : to the service.
    """

    def __init__(self, connection: ServiceConnection) -> None:
        self._connection = connection
        self._url = ""
        self._client: RequestClient | None = None
        self._pending: dict[int, Context] = {}
        self._unanswered: list[tuple[Context, str]] = []

    def send(self, request: Request, context: Context) -> None:
        """Send a request; `context` is returned with its answer.

        Raises
        ------
        ValueError : there is no service, or it accepts no requests.
        """
        health = self._connection.history.health
        if health is None or not self._connection.is_open:
            raise ValueError("no service has answered yet")
        client = self._client_of(requests_url(health.requests, self._connection.url))
        self._pending[client.send(request)] = context

    def answers(self) -> list[tuple[Context, str]]:
        """Return the answers since the last call: the context of each request, and why it was refused, if it was."""
        found, self._unanswered = self._unanswered, []
        for answer in () if self._client is None else self._client.answers():
            context = self._pending.pop(answer.id, None)
            if context is not None:
                found.append((context, "" if answer.ok else answer.reason or "refused"))
        return found

    def close(self, linger: float = 0.0) -> None:
        """Close the socket; what cannot be sent within `linger` s is lost."""
        if self._client is not None:
            self._client.close(linger)
            self._client = None

    def _client_of(self, url: str) -> RequestClient:
        if self._client is not None and url == self._url:
            return self._client
        new = RequestClient(url, security=keys_of(self._connection.keys))
        self.close()
        why = f"no answer from {self._url}, and another service is connected now"
        self._unanswered += [(context, why) for context in self._pending.values()]
        self._pending.clear()
        self._client, self._url = new, url
        return new
