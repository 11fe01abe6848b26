"""A player that executes requests between the blocks that it sends: pause, seek, speed and faults."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from math import inf
from time import sleep
from typing import TYPE_CHECKING

from monitor.messages.blocks import Event, SignalBlock
from monitor.messages.requests import (
    Answer,
    FaultsRequest,
    LoopRequest,
    PauseRequest,
    PlayerState,
    Request,
    ResumeRequest,
    SeekRequest,
    SpeedRequest,
    StateRequest,
    StepRequest,
)
from monitor.system.running_clock import RunningClock
from replay.faults import FaultySource, parse_faults
from replay.playback.players import RecordingPlayer

if TYPE_CHECKING:
    from monitor.commands.process import StopSignals
    from monitor.transport.zeromq.requests import ZmqRequestServer
    from monitor.transport.zeromq.signals import SignalPublisher


class ControlledSource:
    """A `monitor.transport.base.Source` that executes requests between two calls of `receive`.

    A seek continues a recording that has ended; `finish` ends the stream. Not thread-safe.

    Parameters
    ----------
    player : the player, not controlled by other code.
    faults : injected from the start, as in ``--faults``.
    seed : of the faults.

    Raises
    ------
    FaultError : the text cannot be parsed.
    """

    def __init__(self, player: RecordingPlayer, faults: str = "", seed: int = 0) -> None:
        self._player = player
        self._faulty = FaultySource(player, parse_faults(faults), seed)
        self._faults = faults

    def execute(self, request: Request) -> None:
        """Execute a request.

        Raises
        ------
        ValueError : it cannot be executed, and nothing has changed; one line.
        """
        player = self._player
        match request:
            case PauseRequest():
                player.pause()
            case ResumeRequest():
                player.resume()
            case StepRequest(seconds=seconds):
                player.step(seconds)
            case SeekRequest(seconds=seconds, lead=lead):
                player.seek(seconds, lead)
            case SpeedRequest(speed=speed):
                player.speed = inf if speed == "max" else speed
            case FaultsRequest(text=text):
                self._faulty.set_faults(parse_faults(text))
                self._faults = text
            case LoopRequest(loop=loop):
                player.loop = loop
            case StateRequest():
                pass
            case _:
                raise ValueError("a replay takes no notes and nothing that concerns alarms: this is for a monitor")

    def state(self, sent: int = 0, subscribed: bool = False) -> PlayerState:
        """Return the state of the player, with the samples sent and the subscribers that the caller knows."""
        player = self._player
        return PlayerState(
            position=player.position,
            duration=player.duration,
            sample_rate=player.sample_rate,
            playing=self.playing,
            ended=player.ended,
            speed="max" if player.speed == inf else player.speed,
            loop=player.loop,
            faults=self._faults,
            epoch=player.epoch + self._faulty.added_epochs,
            sent=sent,
            subscribed=subscribed,
        )

    @property
    def playing(self) -> bool:
        """Neither paused nor ended."""
        return not (self._player.paused or self._player.ended)

    def receive(self, timeout: float) -> Sequence[SignalBlock | Event]:
        """Return what is due, after the faults; wait up to `timeout` s for it."""
        return self._faulty.receive(timeout)

    @property
    def ended(self) -> bool:
        """No more blocks follow, unless a seek continues the stream."""
        return self._faulty.ended

    def finish(self) -> list[SignalBlock | Event]:
        """End the stream, and return its remaining blocks."""
        return self._faulty.apply_faults(self._player.finish())

    def close(self) -> None:
        """Close the recording."""
        self._faulty.close()


REQUEST_RATE = 200.0
"""Requests per second, on average, that a replay executes: a window asks for the state ten times a second."""

_POLL_INTERVAL = 0.02  # s, the longest that a request waits
_RETRY_INTERVAL = 0.002  # s until a full queue is tried again
_FINISH_TIMEOUT = 1.0  # s for the last block, at the end


def play_controlled(
    source: ControlledSource, publisher: SignalPublisher, requests: ZmqRequestServer, at_once: bool, stop: StopSignals
) -> None:
    """Play and execute requests until a stop signal.

    Parameters
    ----------
    source, publisher : where blocks come from, and where they are sent.
    requests : server of the requests.
    at_once : do not wait for a subscriber before the first sample.
    stop : signals that end it.
    """
    sender = _Sender(source, publisher, at_once)
    while not stop.received:
        if requests.fault:
            raise ValueError(requests.fault)
        requests.wait(sender.idle_time)
        requests.serve(sender.execute)
        sender.send_due(_POLL_INTERVAL)
    sender.finish()


class _Sender:
    """Sends the blocks of a source, never waiting for a slow subscriber."""

    def __init__(self, source: ControlledSource, publisher: SignalPublisher, at_once: bool) -> None:
        self._source, self._publisher = source, publisher
        self._begun = at_once
        self._waiting: deque[SignalBlock] = deque()
        self._sent = 0
        self._moving = True

    @property
    def idle_time(self) -> float:
        """Time to wait for a request, s."""
        if self._waiting:
            return _RETRY_INTERVAL
        return 0.0 if self._moving else _POLL_INTERVAL

    def execute(self, request: Request) -> Answer:
        """Execute a request and return the state after it; raises ValueError, one line, if that fails."""
        try:
            self._source.execute(request)
        except (ValueError, OSError) as problem:
            raise ValueError(" ".join(str(problem).split())) from problem
        if isinstance(request, SeekRequest):
            self._waiting.clear()  # of the previous position
        return Answer(ok=True, state=self._source.state(self._sent, self._publisher.subscribed))

    def send_due(self, timeout: float) -> None:
        """Send what is due, waiting at most `timeout` s for it while it plays."""
        self._begun = self._begun or self._publisher.subscribed
        self._moving = False
        if not self._begun and self._publisher.rejection:
            raise ValueError(f"{self._publisher.endpoint}: {self._publisher.rejection}")
        if self._begun and self._empty():
            # a source that is paused or has ended is read without waiting: the wait is for requests
            items = self._source.receive(timeout if self._source.playing else 0.0)
            self._moving = self._source.playing or bool(items)
            self._waiting += [item for item in items if isinstance(item, SignalBlock)]
            if self._empty():
                self._publisher.heartbeat_if_idle()

    def finish(self) -> None:
        """Send the end of the stream, if there is a subscriber."""
        self._waiting += [item for item in self._source.finish() if isinstance(item, SignalBlock)]
        clock = RunningClock()
        deadline = clock() + _FINISH_TIMEOUT
        while not self._empty() and clock() < deadline:
            sleep(_RETRY_INTERVAL)
        self._publisher.close(_FINISH_TIMEOUT)

    def _empty(self) -> bool:
        """Send queued blocks as far as there is room, and return whether all were sent."""
        while self._waiting and self._publisher.send(self._waiting[0], wait=False):
            self._sent += len(self._waiting.popleft())
        return not self._waiting
