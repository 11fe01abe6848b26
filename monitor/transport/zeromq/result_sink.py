"""Results, transfer functions, signals, alarms, health and events that go out over ZeroMQ."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import msgspec
import zmq

from monitor.messages import alarms as alarm_report
from monitor.messages import health as health_format
from monitor.messages.alarms import AlarmReport
from monitor.messages.blocks import Event, ResultBlock, SignalBlock
from monitor.messages.health import Health
from monitor.messages.transfer import TransferBlock
from monitor.system.worker_process import POSSIBLE
from monitor.transport.security.curve import Keys
from monitor.transport.zeromq.publisher_process import PublisherProcess
from monitor.transport.zeromq.publisher_socket import PublisherSocket
from monitor.transport.zeromq.sending import Sending
from monitor.wire import native as wire
from monitor.wire.native import Encoder


class ZmqResultSink:
    """Publish; never wait.

    A subscriber that lags loses messages of its own and nobody else's; it sees the hole in the indices.

    Parameters
    ----------
    bind : endpoint; ``tcp://127.0.0.1:*`` finds a free port.
    signals : publish the accepted samples too, for clients that draw them.
    queue_seconds : how far a subscriber may lag before it loses.
    insecure : may bind where other machines can reach it without keys.
    security : the service's keys.
    context : of the caller, who then terminates it; by default an own one.
    apart : in a process of its own, which subscribers may end or fill, and not this one.
    clients : folder of the public keys of who is let in there, where there are keys.
    encoder : shared with others who send the same blocks.

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
        apart: bool = False,
        clients: Path | None = None,
        encoder: Encoder | None = None,
    ) -> None:
        outlet: PublisherSocket | PublisherProcess
        if apart and POSSIBLE:
            outlet = PublisherProcess(
                bind, queue_seconds=queue_seconds, insecure=insecure, security=security, clients=clients
            )
        else:
            outlet = PublisherSocket(
                bind, queue_seconds=queue_seconds, insecure=insecure, security=security, context=context
            )
        self._sending = Sending(outlet)
        self._forward = signals
        self._encoder = encoder or Encoder()
        self._rig = ""

    @property
    def endpoint(self) -> str:
        """What is bound, with its port."""
        return self._sending.url

    @property
    def dropped(self) -> int:
        """Messages that were sent to nobody, subscribed or not."""
        return self._sending.dropped

    @property
    def trouble(self) -> str:
        """What subscribers have done, in one line; empty: nothing."""
        return self._sending.trouble

    def signals(self, block: SignalBlock) -> None:
        """Publish the accepted samples, where that is wanted."""
        self._rig = block.stream.rig
        if self._forward:
            self._sending.offer(self._encoder.encode(block))

    def results(self, block: ResultBlock) -> None:
        """Publish indicator values."""
        self._rig = block.stream.rig
        self._sending.offer(self._encoder.encode(block))

    def transfer(self, block: TransferBlock) -> None:
        """Publish transfer functions."""
        self._sending.offer(self._encoder.encode(block))

    def event(self, event: Event) -> None:
        """Publish an event under the rig of the latest block."""
        if not math.isfinite(event.time):
            event = replace(event, time=0.0)
        self._sending.offer([wire.topic("event", self._rig), msgspec.json.encode(event)])

    def alarms(self, report: AlarmReport) -> None:
        """Publish all alarms under the rig of the latest block."""
        self._sending.offer([wire.topic("alarms", self._rig), alarm_report.encode(report)])

    def health(self, health: Health) -> None:
        """Publish a look at the service."""
        self._sending.offer([wire.topic("health", health.rig), health_format.encode(health)])

    def close(self, linger: float = 1.0) -> None:
        """Close; wait at most `linger` s for what subscribers have not taken. A second call does nothing."""
        self._sending.close(linger)
