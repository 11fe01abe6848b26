"""A rig whose samples are their own numbers, so that whatever was kept can be told from whatever was sent."""

from __future__ import annotations

import threading
from bisect import bisect_left
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from monitor.messages.blocks import Channel, Role, SignalBlock, Stream
from monitor.transport.zeromq.key_files import Keys
from monitor.transport.zeromq.signals import SignalPublisher
from tests.e2e.running import ANY_PORT, PATIENCE, HangError

CHANNELS = (
    Channel("number", Role.COMMAND, "m", "north"),
    Channel("opposite", Role.MEASURED, "m", "north"),
    Channel("epoch", Role.AUXILIARY),
)
_TURN = 0.002  # s


def values(epoch: int, index: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return what a rig sends as the samples of these numbers, (n, 3)."""
    number = index.astype(np.float64)
    return np.column_stack([number, -number, np.full(len(index), float(epoch))])


def numbered(stream: Stream, index: int, rows: int, *, last: bool = False) -> SignalBlock:
    """Return the block of `rows` samples from number `index` on."""
    samples = values(stream.epoch, index + np.arange(rows))
    return SignalBlock(stream, index, index / stream.sample_rate, samples, last)


class NumberedRig:
    """Send in a thread of its own, from `start` to `stop`, by the clock.

    Parameters
    ----------
    rate : Hz.
    rows : samples a message.
    epoch, rig : of its stream.
    connect : where the service listens; by default the rig binds.
    security : keys of the rig, where the service asks for them.
    first : number of the first sample.
    queue_seconds : of messages that wait for a subscriber that does not read.
    """

    def __init__(
        self,
        rate: float = 1024.0,
        rows: int = 16,
        *,
        epoch: int = 1,
        rig: str = "rig",
        connect: str = "",
        security: Keys | None = None,
        first: int = 0,
        queue_seconds: float = 5.0,
    ) -> None:
        self.stream = Stream(rig, epoch, rate, CHANNELS)
        self.rows = rows
        self.first = self.next = first
        self._publisher = SignalPublisher(
            "" if connect else ANY_PORT, connect=connect, security=security, queue_seconds=queue_seconds
        )
        self._moments: list[float] = []
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="rig", daemon=True)

    @property
    def endpoint(self) -> str:
        """What it binds, or connects to."""
        return self._publisher.endpoint

    @property
    def sent(self) -> int:
        """Samples sent so far."""
        return self.next - self.first

    def start(self) -> None:
        """Wait until somebody is subscribed, and begin."""
        if not self._publisher.wait_for_subscriber(PATIENCE):
            raise HangError("no service subscribed to the rig")
        self._thread.start()

    def _run(self) -> None:
        began = monotonic()
        while not self._end.is_set():
            due = self.first + (monotonic() - began) * self.stream.sample_rate
            while self.next < due and not self._end.is_set():
                self.send()
            self._end.wait(_TURN)
            self._publisher.heartbeat_if_idle()

    def send(self, *, last: bool = False) -> None:
        """Send the next block; its numbers are used up whether there was room for it or not."""
        block = numbered(self.stream, self.next, self.rows, last=last)
        # first the moment: what was sent before it has been handed over
        self._moments.append(monotonic())
        self._publisher.send(block)
        self.next += self.rows

    def sent_before(self, moment: float) -> int:
        """Return how many samples had been handed over by `moment`, s, monotonic."""
        return bisect_left(self._moments, moment) * self.rows

    def stop(self, *, last: bool = False) -> None:
        """Send no more, but the end of the stream where that is wanted; the socket stays open."""
        self._end.set()
        if self._thread.ident is not None:
            self._thread.join()
        if last:
            self.send(last=True)

    def close(self, linger: float = 0.0) -> None:
        """Stop, and leave no socket behind."""
        self.stop()
        self._publisher.close(linger)
