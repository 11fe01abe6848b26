"""A player with faults that does what it is told."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from monitor.messages.blocks import Event, SignalBlock
from replay.faults import FaultySource, parse_faults
from replay.playback.control_commands import Command, Loop, Pause, Resume, Seek, SetFaults, Speed, Step, Stop
from replay.playback.players import RecordingPlayer
from replay.playback.states import State


class ControlledSource:
    """A `monitor.transport.base.Source` that obeys commands between two looks.

    When the recording has ended a seek goes on; `finish` ends the stream for good. For use in one thread.

    Parameters
    ----------
    player : what plays; nobody else steers it.
    faults : that happen from the start, as written for ``--faults``.
    seed : of the faults.

    Raises
    ------
    FaultError : the text names no faults.
    """

    def __init__(self, player: RecordingPlayer, faults: str = "", seed: int = 0) -> None:
        self._player = player
        self._faulty = FaultySource(player, parse_faults(faults), seed)
        self._faults = faults
        self.stopped = False  # told to end, which is for the caller to do

    def obey(self, command: Command) -> None:
        """Do what the command says.

        Raises
        ------
        ValueError : it cannot be done, and nothing has changed; one line.
        """
        player = self._player
        match command:
            case Pause():
                player.pause()
            case Resume():
                player.resume()
            case Step(seconds=seconds):
                player.step(seconds)
            case Seek(seconds=seconds, lead=lead):
                player.seek(seconds, lead)
            case Speed(speed=speed):
                player.speed = inf if speed == "max" else speed
            case SetFaults(text=text):
                self._faulty.change(parse_faults(text))
                self._faults = text
            case Loop(loop=loop):
                player.loop = loop
            case Stop():
                self.stopped = True

    def state(self, sent: int = 0, subscribed: bool = False) -> State:
        """Return where the player is, with what its caller knows of samples sent and subscribers."""
        player = self._player
        return State(
            position=player.position,
            duration=player.duration,
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
        """Time runs."""
        return not (self._player.paused or self._player.ended)

    def receive(self, timeout: float) -> Sequence[SignalBlock | Event]:
        """Return what is due, after the faults; wait up to `timeout` s for it."""
        return self._faulty.receive(timeout)

    @property
    def ended(self) -> bool:
        """Nothing will come any more, unless a seek goes on."""
        return self._faulty.ended

    def finish(self) -> list[SignalBlock | Event]:
        """End the stream here, and return what is left of it, with its last block."""
        return self._faulty.spoil(self._player.finish())

    def close(self) -> None:
        """Let go of the recording."""
        self._faulty.close()
