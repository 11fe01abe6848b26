"""Results, transfer functions, signals, alarms, health and events that go out over ZeroMQ."""

from __future__ import annotations

import math
from dataclasses import replace

import msgspec
import zmq

from monitor import alarm_report, wire
from monitor import health as health_format
from monitor.alarm_report import AlarmReport
from monitor.blocks import Event, ResultBlock, SignalBlock
from monitor.health import Health
from monitor.transfer import TransferBlock
from monitor.transport.curve import Keys
from monitor.transport.outlet import Outlet
from monitor.wire import Encoder, Frames


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
    ) -> None:
        self._outlet = Outlet(
            bind, queue_seconds=queue_seconds, insecure=insecure, security=security, context=context
        )
        self._forward = signals
        self._signals, self._results, self._transfers = Encoder(), Encoder(), Encoder()
        self._rig = ""
        self.dropped = 0

    @property
    def endpoint(self) -> str:
        """What is bound, with its port."""
        return self._outlet.url

    def signals(self, block: SignalBlock) -> None:
        """Publish the accepted samples, where that is wanted."""
        self._rig = block.stream.rig
        if self._forward:
            self._offer(self._signals.encode(block))

    def results(self, block: ResultBlock) -> None:
        """Publish indicator values."""
        self._rig = block.stream.rig
        self._offer(self._results.encode(block))

    def transfer(self, block: TransferBlock) -> None:
        """Publish transfer functions."""
        self._offer(self._transfers.encode(block))

    def event(self, event: Event) -> None:
        """Publish an event under the rig of the latest block."""
        if not math.isfinite(event.time):
            event = replace(event, time=0.0)
        self._offer([wire.topic("event", self._rig), msgspec.json.encode(event)], typical=False)

    def alarms(self, report: AlarmReport) -> None:
        """Publish all alarms under the rig of the latest block."""
        self._offer([wire.topic("alarms", self._rig), alarm_report.encode(report)], typical=False)

    def health(self, health: Health) -> None:
        """Publish a look at the service."""
        self._offer([wire.topic("health", health.rig), health_format.encode(health)], typical=False)

    def _offer(self, frames: Frames, *, typical: bool = True) -> None:
        # what is said of the stream is small, and tells nothing of how large its blocks are
        if not self._outlet.offer(frames, typical=typical):
            self.dropped += 1

    def close(self, linger: float = 1.0) -> None:
        """Close; wait at most `linger` s for what subscribers have not taken. A second call does nothing."""
        self._outlet.close(linger)
