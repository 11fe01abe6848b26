"""`synchroscope replay --control`: the loop between requests, the player and the wire."""

from __future__ import annotations

from collections import deque
from time import monotonic, sleep
from typing import TYPE_CHECKING

from monitor.messages.blocks import SignalBlock
from monitor.messages.requests import Answer, Request, SeekRequest
from replay.playback.controlled_source import ControlledSource

if TYPE_CHECKING:
    from monitor.commands.process import StopSignals
    from monitor.transport.zeromq.request_server import ZmqRequestServer
    from monitor.transport.zeromq.signals import SignalPublisher

REQUEST_RATE = 200.0
"""Requests a second that a replay carries out in the long run: a window asks for the state ten times a second."""

_POLL_INTERVAL = 0.02  # s, the longest that a request waits
_RETRY_INTERVAL = 0.002  # s until a full queue is tried again
_FINISH_TIMEOUT = 1.0  # s for the last block, at the end


def play_controlled(
    source: ControlledSource,
    publisher: SignalPublisher,
    requests: ZmqRequestServer,
    at_once: bool,
    stop: StopSignals,
) -> None:
    """Play what `source` gives and carry out requests, until a signal says to stop.

    Parameters
    ----------
    source, publisher : what is played, and where to.
    requests : takes requests, and gives each its answer.
    at_once : do not wait for a subscriber before the first sample.
    stop : signals that end it.
    """
    sender = _Sender(source, publisher, at_once)
    while not stop.told:
        if requests.trouble:
            raise ValueError(requests.trouble)
        requests.wait(sender.idle_time)
        requests.serve(sender.carry_out)
        sender.send_due(_POLL_INTERVAL)
    sender.finish()


class _Sender:
    """Takes from the source and gives to the publisher, and never waits for a subscriber that lags."""

    def __init__(self, source: ControlledSource, publisher: SignalPublisher, at_once: bool) -> None:
        self._source, self._publisher = source, publisher
        self._begun = at_once
        self._waiting: deque[SignalBlock] = deque()
        self._sent = 0
        self._moving = True

    @property
    def idle_time(self) -> float:
        """How long to wait for a request, s."""
        if self._waiting:
            return _RETRY_INTERVAL
        return 0.0 if self._moving else _POLL_INTERVAL

    def carry_out(self, request: Request) -> Answer:
        """Do what is requested, and answer with the state after it; raises ValueError, one line, where that fails."""
        try:
            self._source.carry_out(request)
        except (ValueError, OSError) as problem:
            raise ValueError(" ".join(str(problem).split())) from problem
        if isinstance(request, SeekRequest):
            self._waiting.clear()  # of the place that was left
        return Answer(ok=True, state=self._source.state(self._sent, self._publisher.subscribed))

    def send_due(self, timeout: float) -> None:
        """Send what is due, waiting at most `timeout` s for it while it plays."""
        self._begun = self._begun or self._publisher.subscribed
        self._moving = False
        if not self._begun and self._publisher.refused:
            raise ValueError(f"{self._publisher.endpoint}: {self._publisher.refused}")
        if self._begun and self._empty():
            # a source that is paused or has ended is looked at without waiting: requests are waited for
            items = self._source.receive(timeout if self._source.playing else 0.0)
            self._moving = self._source.playing or bool(items)
            self._waiting += [item for item in items if isinstance(item, SignalBlock)]
            if self._empty():
                self._publisher.idle()

    def finish(self) -> None:
        """Send the end of the stream, if there is somebody who takes it."""
        self._waiting += [item for item in self._source.finish() if isinstance(item, SignalBlock)]
        deadline = monotonic() + _FINISH_TIMEOUT
        while not self._empty() and monotonic() < deadline:
            sleep(_RETRY_INTERVAL)
        self._publisher.close(_FINISH_TIMEOUT)

    def _empty(self) -> bool:
        """Send what waits, as far as there is room, and tell whether all of it is out."""
        while self._waiting and self._publisher.send(self._waiting[0], wait=False):
            self._sent += len(self._waiting.popleft())
        return not self._waiting
