"""A player with faults that carries out requests."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from monitor.messages.blocks import Event, SignalBlock
from monitor.messages.requests import (
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
from replay.faults import FaultySource, parse_faults
from replay.playback.players import RecordingPlayer


class ControlledSource:
    """A `monitor.transport.base.Source` that carries out requests between two calls of `receive`.

    When the recording has ended a seek goes on; `finish` ends the stream for good. For use in one thread.

    Parameters
    ----------
    player : what plays; nobody else controls it.
    faults : that are injected from the start, as written for ``--faults``.
    seed : of the faults.

    Raises
    ------
    FaultError : the text names no faults.
    """

    def __init__(self, player: RecordingPlayer, faults: str = "", seed: int = 0) -> None:
        self._player = player
        self._faulty = FaultySource(player, parse_faults(faults), seed)
        self._faults = faults

    def carry_out(self, request: Request) -> None:
        """Do what is requested.

        Raises
        ------
        ValueError : it cannot be done, and nothing has changed; one line.
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
                self._faulty.change(parse_faults(text))
                self._faults = text
            case LoopRequest(loop=loop):
                player.loop = loop
            case StateRequest():
                pass
            case _:
                raise ValueError("a replay takes no notes and nothing that concerns alarms: this is for a monitor")

    def state(self, sent: int = 0, subscribed: bool = False) -> PlayerState:
        """Return where the player is, with what its caller knows of samples sent and subscribers."""
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
        """Close the recording."""
        self._faulty.close()
