"""Results over ZeroMQ: what a service publishes with, and a client's subscription to it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import msgspec
import zmq

from monitor.messages import alarms as alarm_report
from monitor.messages import health as health_format
from monitor.messages.alarms import AlarmReport
from monitor.messages.blocks import Event, ResultBlock, SignalBlock, TransferBlock
from monitor.messages.health import Health
from monitor.system.worker_process import POSSIBLE
from monitor.transport.zeromq.key_files import Keys
from monitor.transport.zeromq.message_queue import Origin
from monitor.transport.zeromq.publisher_process import PublisherProcess
from monitor.transport.zeromq.publisher_socket import PublisherSocket
from monitor.transport.zeromq.queued_publisher import PublisherSink, QueuedPublisher
from monitor.transport.zeromq.subscriber import Subscriber
from monitor.transport.zeromq.subscriber_socket import SubscriberSettings
from monitor.wire import native as wire
from monitor.wire.native import Decoder, Encoder, Frames, WireError


class ResultPublisher(PublisherSink):
    """Sink that publishes to subscribers, without blocking.

    A slow subscriber loses its own messages, and sees the gap in the indices; the others lose nothing.

    Parameters
    ----------
    bind : endpoint; ``tcp://127.0.0.1:*`` finds a free port.
    signals : publish the accepted samples too, for clients that plot them.
    queue_seconds : size of the queue of a slow subscriber.
    insecure : may bind where other machines can reach it without keys.
    security : the service's keys.
    context : of the caller, who then terminates it; by default its own.
    own_process : publish in a process of its own, which a hostile subscriber can crash or fill instead of this one.
    clients : folder of the public keys of the clients that are accepted; with keys only.
    encoder : shared with other sinks that encode the same blocks.

    Raises
    ------
    TransportError : the endpoint is malformed or cannot be used.
    """

    def __init__(
        self,
        bind: str,
        *,
        signals: bool = True,
        queue_seconds: float = 5.0,
        insecure: bool = False,
        security: Keys | None = None,
        context: zmq.Context[zmq.Socket[bytes]] | None = None,
        own_process: bool = False,
        clients: Path | None = None,
        encoder: Encoder | None = None,
    ) -> None:
        publisher: PublisherSocket | PublisherProcess
        if own_process and POSSIBLE:
            publisher = PublisherProcess(
                bind, queue_seconds=queue_seconds, insecure=insecure, security=security, clients=clients
            )
        else:
            publisher = PublisherSocket(
                bind, queue_seconds=queue_seconds, insecure=insecure, security=security, context=context
            )
        self._publisher = QueuedPublisher(publisher)
        self._publishes_signals = signals
        self._encoder = encoder or Encoder()
        self._rig = ""

    def signals(self, block: SignalBlock) -> None:
        """Publish the accepted samples, if enabled."""
        self._rig = block.stream.rig
        if self._publishes_signals:
            self._publisher.send(self._encoder.encode(block))

    def results(self, block: ResultBlock) -> None:
        """Publish indicator values."""
        self._rig = block.stream.rig
        self._publisher.send(self._encoder.encode(block))

    def transfer(self, block: TransferBlock) -> None:
        """Publish transfer functions."""
        self._publisher.send(self._encoder.encode(block))

    def event(self, event: Event) -> None:
        """Publish an event under the rig of the latest block."""
        if not math.isfinite(event.time):
            event = replace(event, time=0.0)
        self._publisher.send([wire.topic("event", self._rig), msgspec.json.encode(event)])

    def alarms(self, report: AlarmReport) -> None:
        """Publish all alarms under the rig of the latest block."""
        self._publisher.send([wire.topic("alarms", self._rig), alarm_report.encode(report)])

    def health(self, health: Health) -> None:
        """Publish the health of the service."""
        self._publisher.send([wire.topic("health", health.rig), health_format.encode(health)])

    def close(self, linger: float = 1.0) -> None:
        """Close; wait at most `linger` s for the queues of subscribers. A second call does nothing."""
        self._publisher.close(linger)


MessageKind = Literal["results", "transfer", "signals", "alarms", "health", "event"]
Published = ResultBlock | TransferBlock | SignalBlock | AlarmReport | Health | Event

_JSON: dict[str, Callable[[bytes], AlarmReport | Health | Event]] = {
    "alarms": alarm_report.decode,
    "health": health_format.decode,
    "event": msgspec.json.Decoder(Event).decode,
}
_TOPICS = {kind: wire.topic(kind) for kind in _JSON}

_MAX_DETAIL, _MAX_EVENT = 4096, 1 << 16
_QUEUE_SECONDS, _QUEUE_BYTES = 5.0, 128 << 20  # of a client; messages beyond are dropped


class ResultDecoder:
    """Decode messages of a service.

    Parameters
    ----------
    rig : the only rig that is accepted; empty for all.
    """

    def __init__(self, rig: str = "") -> None:
        self._rig = rig
        self._decoder = Decoder()

    def decode(self, frames: Frames, _origin: Origin | None = None) -> tuple[Published, ...]:
        """Return the content of a message; nothing if it is of another rig.

        Raises
        ------
        WireError : the message is rejected.
        """
        subject, body = frames[0], frames[-1]
        # a subscription is a prefix: north also brings north-2
        if self._rig and not subject.endswith(f"/{self._rig}".encode()):
            return ()
        kind = next((kind for kind, prefix in _TOPICS.items() if subject.startswith(prefix)), None)
        if kind is None:
            return (self._decoder.decode(frames),)
        if len(frames) != 2:
            raise WireError(f"messages of {kind} have 2 frames, this one {len(frames)}")
        try:
            item = _JSON[kind](body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
            raise WireError(f"not {kind}: {problem}") from problem
        if isinstance(item, Event) and len(body) > _MAX_EVENT:
            raise WireError(f"an event of {len(body)} bytes; the limit is {_MAX_EVENT}")
        if isinstance(item, Event) and len(item.detail) > _MAX_DETAIL:
            raise WireError(f"an event with {len(item.detail)} characters of detail; the limit is {_MAX_DETAIL}")
        return (item,)


class ResultSubscriber(Subscriber[Published]):
    """Subscription to a service, which reconnects; events are those of the service and of the connection.

    Parameters
    ----------
    connect : endpoint of the service.
    rig : the only rig that is accepted; empty for all.
    kinds : message kinds to subscribe to.
    stale_after : s after which a connection without activity is closed and opened again.
    security : keys of the client, where the service requires them.

    Raises
    ------
    TransportError : the endpoint is malformed.
    """

    def __init__(
        self,
        connect: str,
        *,
        rig: str = "",
        kinds: Sequence[MessageKind] = ("results", "transfer", "signals", "alarms", "health", "event"),
        stale_after: float = 5.0,
        security: Keys | None = None,
    ) -> None:
        topics = tuple(wire.topic(kind, rig) for kind in kinds)
        settings = SubscriberSettings(
            topics, stale_after, queue_seconds=_QUEUE_SECONDS, queue_bytes=_QUEUE_BYTES, security=security
        )
        super().__init__(ResultDecoder(rig).decode, (connect,), (), settings)

    @property
    def endpoint(self) -> str:
        """Of the service."""
        return self.endpoints[0]
