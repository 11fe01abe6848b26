"""What a service has said of itself: how it is, its alarms, its events, and why it is silent."""

from __future__ import annotations

import time
from collections import deque

import zmq

from monitor.messages.alarms import Alarm, AlarmReport
from monitor.messages.blocks import Event, EventKind, ResultBlock, SignalBlock
from monitor.messages.health import Health
from monitor.messages.transfer import TransferBlock
from monitor.transport.zeromq.endpoint import rejection_reason
from monitor.transport.zeromq.results import Published

_KEPT_EVENTS = 1000
_REFUSALS = {
    rejection_reason(event, zmq.PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH, encrypted=encrypted)
    for event in (zmq.Event.HANDSHAKE_FAILED_AUTH, zmq.Event.HANDSHAKE_FAILED_PROTOCOL)
    for encrypted in (False, True)
}


class ServiceLostError(ConnectionError):
    """The service has said nothing for too long; the text is one line. Whoever goes on asking waits again."""


class ConnectionState:
    """The newest of what was said, and since when nothing was.

    Parameters
    ----------
    url : of the service, as it was given.
    endpoint : what the subscription calls it in its own notes.
    timeout : s of silence after which `check` raises; None: never.
    """

    def __init__(self, url: str, endpoint: str, timeout: float | None) -> None:
        self._url, self._endpoint, self._timeout = url, endpoint, timeout
        self._heard = time.monotonic()
        self._trouble = self._refused = ""
        self.health: Health | None = None
        self.alarms: tuple[Alarm, ...] = ()
        self.events: deque[Event] = deque(maxlen=_KEPT_EVENTS)

    @property
    def silence(self) -> float:
        """Seconds since the service last said anything, or since the connection was made."""
        return time.monotonic() - self._heard

    def take(self, item: Published) -> None:
        """Keep what an item says."""
        match item:
            case Health():
                self.health = item
            case AlarmReport():
                self.alarms = item.alarms
            case Event():
                self.events.append(item)
                if item.kind is EventKind.NOTE:
                    self._take_note(item.detail)
        if not isinstance(item, Event):
            self._heard, self._trouble = time.monotonic(), ""

    def _take_note(self, text: str) -> None:
        # here the option is an argument
        self._trouble = text.replace("--keys", "keys=")
        # the service's own notes come only from one that has let us in
        if self.health is None and text.removeprefix(f"{self._endpoint}: ") in _REFUSALS:
            self._refused = self._trouble

    def check(self) -> None:
        """Raise `ServiceLostError` where the service refuses, or has been silent for too long."""
        if self._refused:
            refused, self._refused = self._refused, ""
            raise ServiceLostError(refused)
        if self._timeout is not None and self.silence > self._timeout:
            self._heard = time.monotonic()
            why = f": {self._trouble}" if self._trouble else ""
            raise ServiceLostError(f"no data from the service at {self._url} for {self._timeout:g} s{why}")


def is_of(rig: str, item: Published) -> bool:
    """Tell whether an item is of a rig, or of none; every rig has the empty name."""
    return not isinstance(item, ResultBlock | SignalBlock | TransferBlock) or rig in ("", item.stream.rig)
