"""What a client of the service sees: results, transfer functions, signals, alarms, health and events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import msgspec
import zmq

from monitor.messages import alarms as alarm_report
from monitor.messages import health
from monitor.messages.alarms import AlarmReport
from monitor.messages.blocks import Event, ResultBlock, SignalBlock
from monitor.messages.health import Health
from monitor.messages.transfer import TransferBlock
from monitor.transport.security.curve import Keys
from monitor.transport.zeromq.receiver import Receiver
from monitor.transport.zeromq.subscriber_socket import LinkSettings
from monitor.wire import native as wire
from monitor.wire.native import Decoder, Frames, WireError

Kind = Literal["results", "transfer", "signals", "alarms", "health", "event"]
Published = ResultBlock | TransferBlock | SignalBlock | AlarmReport | Health | Event

_JSON: dict[str, Callable[[bytes], AlarmReport | Health | Event]] = {
    "alarms": alarm_report.decode,
    "health": health.decode,
    "event": msgspec.json.Decoder(Event).decode,
}

_MOST_DETAIL = 4096
_MOST = 128 << 20  # bytes that may wait; a client that is that far behind loses what comes


class ResultSubscriber:
    """Subscribe to what a service publishes, and stay subscribed.

    Parameters
    ----------
    connect : endpoint of the service.
    rig : the only rig that is let through; empty for all.
    kinds : what to subscribe to.
    stale_after, queue_seconds, context : as for `ZmqSource`.
    security : keys of the client, where the service asks for them.

    Raises
    ------
    TransportError : the endpoint is malformed.
    """

    def __init__(
        self,
        connect: str,
        *,
        rig: str = "",
        kinds: Sequence[Kind] = ("results", "transfer", "signals", "alarms", "health", "event"),
        stale_after: float = 5.0,
        queue_seconds: float = 5.0,
        security: Keys | None = None,
        context: zmq.Context[zmq.Socket[bytes]] | None = None,
    ) -> None:
        self._rig = rig
        self._decoder = Decoder()
        topics = tuple(wire.topic(kind, rig) for kind in kinds)
        settings = LinkSettings(
            topics, stale_after, queue_seconds=queue_seconds, queue_bytes=_MOST, security=security
        )
        self._receiver = Receiver(self._read, (connect,), (), settings, context)

    def _read(self, frames: Frames, _origin: str) -> tuple[Published, ...]:
        subject, body = frames[0], frames[-1]
        # a subscription is a prefix: north also brings north-2
        if self._rig and not subject.endswith(f"/{self._rig}".encode()):
            return ()
        kind = next((kind for kind in _JSON if subject.startswith(wire.topic(kind))), None)
        if kind is None:
            return (self._decoder.decode(frames),)
        if len(frames) != 2:
            raise WireError(f"messages of {kind} have 2 frames, this one {len(frames)}")
        try:
            said = _JSON[kind](body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
            raise WireError(f"not {kind}: {problem}") from problem
        if isinstance(said, Event) and len(said.detail) > _MOST_DETAIL:
            raise WireError(f"an event with {len(said.detail)} characters of detail; the limit is {_MOST_DETAIL}")
        return (said,)

    def receive(self, timeout: float) -> list[Published]:
        """Return what has arrived, in order; wait up to `timeout` s for the first; empty if nothing came.

        Events are the service's own and those of this connection (REJECTED, RECONNECTED).
        """
        return self._receiver.receive(timeout)

    @property
    def endpoint(self) -> str:
        """Where the service is."""
        return self._receiver.endpoints[0]

    def close(self) -> None:
        """Leave no socket behind; a second call does nothing."""
        self._receiver.close()
