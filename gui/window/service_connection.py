"""Connection to one service: its messages in a history, and requests with their answers."""

from __future__ import annotations

import math
import time
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

from PySide6.QtCore import QObject, Signal

from gui.model.backfill import Backfill, FirstBlocks
from gui.model.derived import DerivedChannel
from gui.model.history import History
from gui.model.receiver import ReceivedMessages, ReceiverThread, ServiceSubscription
from gui.plots.view import View
from monitor.messages.requests import Request
from monitor.transport.zeromq.key_files import keys_of
from monitor.transport.zeromq.requests import RequestClient, requests_url

Context = TypeVar("Context")

_LATE = 2.0  # s of samples that were missed, from which on they are read from the run file
_SIMULTANEOUS = 10  # batches after which signals, or results, are not waited for any more
_MAX_WAITING = 1 << 26  # bytes received while the run file is read
_LINGER = 0.5  # s that pending requests have when the window closes


class ServiceConnection(QObject):
    """Receives from one service at a time; what it had recorded before is read from its run file.

    Parameters
    ----------
    view : visible time range; limited to the time range of the history.
    memory : most bytes that the history may use.
    minutes : duration of the history at full rate.

    Attributes
    ----------
    history : what was received, a new one after each `open`; or a recording.
    configured : the panels are configured for this history; set by the window.
    recorded_memory : most bytes that a recording may use.
    derived : definitions of derived channels, of every history.
    clock : s since 1970.

    Signals
    -------
    notified : level and one line.
    """

    notified = Signal(str, str)

    def __init__(self, view: View, memory: int, minutes: float, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.view = view
        self.memory, self.minutes = memory, minutes
        self.recorded_memory = 512 << 20
        self.url = self.keys = ""
        self.history = History(memory, minutes)
        self.derived: tuple[DerivedChannel, ...] = ()
        self.configured = False
        self.clock = time.time
        self.senders: list[RequestSender[Any]] = []
        self._receiver: ReceiverThread | None = None
        self._backfill: Backfill | None = None
        # since the connection was opened, until it is known what was before; None: that is known
        self._received: list[ReceivedMessages] | None = None

    @property
    def backfill_progress(self) -> float | None:
        """Share of the earlier samples that are read; None where none are being read."""
        return None if self._backfill is None else self._backfill.progress

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
        self._received = []
        self._receiver = ReceiverThread(partial(ServiceSubscription.connect, url, signals=True, keys=keys))

    def show(self, history: History) -> None:
        """Close the connection, and show a recording."""
        self.close()
        before, self.history, self.configured = self.history.recording, history, False
        history.derive(self.derived)
        # one that was shown coarsely before: somebody may look at a part of it
        show = self.view.grow_recording if before is not None and before.coarse else self.view.show_recording
        show(history.begin_x, history.end_x)

    def derive(self, definitions: tuple[DerivedChannel, ...]) -> None:
        """Compute these derived channels, of what is received and of what is opened later."""
        self.derived = definitions
        self.history.derive(definitions)

    def poll(self) -> bool:
        """Add the messages received since the last call to the history; return whether there were any."""
        if self._receiver is None:
            if self.history.recording is not None:
                # after a restart of the rig signals come while those before are shown
                self.view.grow_recording(self.history.begin_x, self.history.end_x)
            return False
        received = self._receiver.drain()
        history = self.history
        history.update(received, silence=self._receiver.silence, age=self._receiver.age, now=self.clock())
        if self._received is not None:
            self._fill(self._received, received)
        self.view.extend(self.history.begin_x, self.history.end_x)
        return bool(received)

    def _fill(self, batches: list[ReceivedMessages], received: ReceivedMessages) -> None:
        """Read what was before the first samples received, and place it before them."""
        if received:
            batches.append(received)
        if self._backfill is None:
            self._begin_backfill(batches)
        elif self._backfill.done:
            self._end_backfill(self._backfill, batches)
        elif sum(block.values.nbytes for batch in batches for block in batch.results) > _MAX_WAITING:
            self._give_up("takes too long to read")

    def _begin_backfill(self, batches: list[ReceivedMessages]) -> None:
        signals = next((block for batch in batches for block in batch.signals if len(block)), None)
        results = next((block for batch in batches for block in batch.results if len(block)), None)
        health, history = self.history.health, self.history
        if health is None or not health.sample_rate:
            return
        if (signals is None or results is None) and len(batches) < _SIMULTANEOUS:
            return
        if health.counts.received / health.sample_rate - (history.end_x - history.begin_x) < _LATE:
            self._received = None
        elif not health.recording:
            self._give_up("")
        else:
            first = FirstBlocks(health.rig, signals, results)
            self._backfill = Backfill(health.recording, first, self._new_history())

    def _end_backfill(self, backfill: Backfill, batches: list[ReceivedMessages]) -> None:
        before, history = backfill.history, self.history
        if backfill.failed or before.end_x <= before.begin_x:
            self._give_up(backfill.failed or "has none")
            return
        if not backfill.first.any_received and any(batch.signals or batch.results for batch in batches):
            # a rig that was silent sends again: what is read must end before
            self._backfill = None
            return
        before.derive(self.derived)
        before.remove_events([event for batch in batches for event in batch.events])
        for batch in batches:
            before.update(batch, silence=history.silence, age=history.age)
        before.halted, before.progress = history.halted, history.progress
        self.view.move_axis(before.end_x - history.end_x)
        self.history, self.configured = before, False
        self._backfill = self._received = None

    def _give_up(self, why: str) -> None:
        """Report why nothing from before the connection is shown; empty: nothing was recorded."""
        health = self.history.health
        name = "" if health is None else Path(health.recording.replace("\\", "/")).name
        reason = f"{name} {why}" if why else "the service does not record"
        self.notified.emit("info", f"earlier samples are not shown: {reason}")
        self._end_reading()

    def _end_reading(self) -> None:
        if self._backfill is not None:
            self._backfill.cancel()
        self._backfill = self._received = None

    def finish(self) -> None:
        """Close at the end of the program; requests that cannot be sent within half a second are lost."""
        self.close()
        for sender in self.senders:
            sender.close(_LINGER)

    def reset(self) -> None:
        """Close the connection, and begin a new history."""
        self.close()
        self.history, self.configured = self._new_history(), False
        self.view.restart()

    def _new_history(self) -> History:
        history = History(self.memory, self.minutes)
        history.derive(self.derived)
        return history

    def close(self) -> None:
        """Close the connection; the history remains."""
        self._end_reading()
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
        connection.senders.append(self)
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
