"""`synchroscope replay --controlled`: the loop between a program that steers, the player and the wire."""

from __future__ import annotations

import sys
from collections import deque
from time import monotonic, sleep
from typing import TYPE_CHECKING

from monitor.messages.blocks import SignalBlock
from replay.commands.line_pipes import LineReader, LineWriter
from replay.playback.control_commands import LONGEST_LINE, Seek, decode
from replay.playback.controlled_source import ControlledSource
from replay.playback.states import Opened, Refused, State, encode

if TYPE_CHECKING:
    from monitor.commands.process import StopSignals
    from monitor.transport.zeromq.signals import SignalPublisher
    from replay.playback.description import Description

_LOOK = 0.02  # s, the longest that a command waits
_FULL = 0.002  # s until a full queue is tried again
_EVERY = 0.1  # s between states while it plays
_PATIENCE = 1.0  # s for the last block, at the end


def steer(
    source: ControlledSource,
    publisher: SignalPublisher,
    description: Description,
    at_once: bool,
    stop: StopSignals,
) -> None:
    """Play what `source` gives, and obey the lines on standard input until they end.

    Parameters
    ----------
    source, publisher : what is played, and where to.
    description : of what is played, for who steers.
    at_once : do not wait for a subscriber before the first sample.
    stop : signals that end it as well.
    """
    lines, words = LineReader(sys.stdin.fileno(), LONGEST_LINE), LineWriter(sys.stdout.fileno())
    words.write(encode(Opened(publisher.endpoint, description)))
    sender = _Sender(source, publisher, at_once)
    teller = _Teller(words)
    teller.tell(sender.state())
    try:
        while not (stop.told or lines.closed or source.stopped):
            line = lines.take(sender.leisure)
            refusal = sender.obey(line) if line else ""
            if refusal:
                words.write(encode(Refused(refusal)))
            sender.turn(0.0 if line else _LOOK)
            teller.tell(sender.state(), bool(line) and not refusal)
        sender.finish()
        teller.tell(sender.state(), True)
    finally:
        words.close()


class _Sender:
    """Takes from the source and gives to the publisher, and never waits for a subscriber that lags."""

    def __init__(self, source: ControlledSource, publisher: SignalPublisher, at_once: bool) -> None:
        self._source, self._publisher = source, publisher
        self._begun = at_once
        self._waiting: deque[SignalBlock] = deque()
        self._sent = 0
        self._moving = True

    @property
    def leisure(self) -> float:
        """How long to wait for a command, s."""
        if self._waiting:
            return _FULL
        return 0.0 if self._moving else _LOOK

    def state(self) -> State:
        """Return where things are."""
        return self._source.state(self._sent, self._publisher.subscribed)

    def obey(self, line: bytes) -> str:
        """Do what the line says; return why not, in one line, where it cannot be done."""
        try:
            command = decode(line)
            self._source.obey(command)
        except (ValueError, OSError) as problem:
            return " ".join(str(problem).split())
        if isinstance(command, Seek):
            self._waiting.clear()  # of the place that was left
        return ""

    def turn(self, timeout: float) -> None:
        """Send what is due, waiting at most `timeout` s for it."""
        self._begun = self._begun or self._publisher.subscribed
        self._moving = False
        if not self._begun and self._publisher.refused:
            raise ValueError(f"{self._publisher.endpoint}: {self._publisher.refused}")
        if self._begun and self._empty():
            # a source whose time stands, or that has ended, is looked at without waiting: commands are waited for
            items = self._source.receive(timeout if self._source.playing else 0.0)
            self._moving = self._source.playing or bool(items)
            self._waiting += [item for item in items if isinstance(item, SignalBlock)]
            if self._empty():
                self._publisher.idle()

    def finish(self) -> None:
        """Send the end of the stream, if there is somebody who takes it."""
        self._waiting += [item for item in self._source.finish() if isinstance(item, SignalBlock)]
        deadline = monotonic() + _PATIENCE
        while not self._empty() and monotonic() < deadline:
            sleep(_FULL)
        self._publisher.close(_PATIENCE)

    def _empty(self) -> bool:
        """Send what waits, as far as there is room, and tell whether all of it is out."""
        while self._waiting and self._publisher.send(self._waiting[0], wait=False):
            self._sent += len(self._waiting.popleft())
        return not self._waiting


class _Teller:
    """Says what has changed: at once what matters, the rest not too often."""

    def __init__(self, words: LineWriter) -> None:
        self._words = words
        self._state: State | None = None
        self._when = 0.0

    def tell(self, state: State, at_once: bool = False) -> None:
        """Say where things are, if that is news."""
        before, now = self._state, monotonic()
        if before is not None and not at_once:
            matters = (state.ended, state.subscribed) != (before.ended, before.subscribed)
            if state == before or not (matters or now - self._when >= _EVERY):
                return
        self._state, self._when = state, now
        self._words.write(encode(state))
