"""What a steered player says, one JSON object a line."""

from __future__ import annotations

from typing import Literal

import msgspec

from replay.playback.description import Description


class State(msgspec.Struct, frozen=True, tag_field="type", tag="state"):
    """Where a player is.

    Parameters
    ----------
    position, duration : s after the recording's first sample.
    playing : time runs.
    ended : the last sample is out; a seek goes on.
    speed : times real time, or as fast as possible.
    loop : it begins again at the end.
    faults : those that happen, as they were written.
    epoch : of the stream that is sent.
    sent : samples so far.
    subscribed : somebody listens.
    """

    position: float
    duration: float
    playing: bool
    ended: bool
    speed: float | Literal["max"]
    loop: bool
    faults: str
    epoch: int
    sent: int = 0
    subscribed: bool = False


class Refused(msgspec.Struct, frozen=True, tag_field="type", tag="refused"):
    """A command that changed nothing, and why, in one line."""

    reason: str


class Opened(msgspec.Struct, frozen=True, tag_field="type", tag="opened"):
    """The first word: where the stream is published and what it is."""

    publishing: str
    description: Description


Word = Opened | State | Refused


def encode(word: Word) -> bytes:
    """Return a word as a line of JSON; what is not a number is null."""
    return msgspec.json.encode(word) + b"\n"
