"""What a recording says of itself, as `synchroscope replay --describe` and a controlled player write it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec
import numpy as np

from monitor.messages.alarms import Transition
from monitor.messages.blocks import Samples


class DescribedChannel(msgspec.Struct, frozen=True):
    """One signal: role is that of `monitor.messages.blocks.Role`; the actuator is empty where it belongs to none."""

    name: str
    role: str = "auxiliary"
    unit: str = ""
    actuator: str = ""


class DescribedColumn(msgspec.Struct, frozen=True):
    """One column of a file whose columns must be chosen; `number` counts from 1, `reference` points at it."""

    name: str
    unit: str = ""
    number: int = 0
    reference: str = ""

    @property
    def word(self) -> str:
        """What an option names it by."""
        return self.reference or self.name


class Guess(msgspec.Struct, frozen=True):
    """Which columns are taken for what, by their references, one an actuator; forces for all of them or none."""

    command: tuple[str, ...] = ()
    measured: tuple[str, ...] = ()
    force: tuple[str, ...] = ()
    time: str | None = None
    auxiliary: bool = False


class DescribedEvent(msgspec.Struct, frozen=True):
    """Something that happened, `time` in s after the first sample."""

    time: float
    kind: str = ""
    detail: str = ""
    alarm: Transition | None = None


class Overview(msgspec.Struct, frozen=True):
    """Smallest and largest value of each channel in columns that begin at `seconds` after the first sample."""

    seconds: tuple[float, ...] = ()
    low: dict[str, tuple[float | None, ...]] = {}
    high: dict[str, tuple[float | None, ...]] = {}

    @property
    def channels(self) -> tuple[str, ...]:
        """The channels that it has, in their order."""
        return tuple(self.low)

    def curve(self, channel: str) -> tuple[Samples, Samples, Samples]:
        """Return seconds, low and high of a channel, NaN where there is no number; empty where it is not there."""
        seconds = np.array(self.seconds, dtype=np.float64)
        low, high = (
            np.array([np.nan if value is None else value for value in of.get(channel, ())], dtype=np.float64)
            for of in (self.low, self.high)
        )
        n = min(len(seconds), len(low), len(high))
        return seconds[:n], low[:n], high[:n]


class Description(msgspec.Struct, frozen=True):
    """What is known of a recording before it is played.

    Parameters
    ----------
    format : in words.
    rig, sample_rate, n_samples, duration, start_time : of the stream; Hz and s.
    channels : the signals, where the columns are known.
    columns : all columns in file order, of a file whose columns must be chosen.
    guess, problem : what the columns are taken for; else what must be chosen, in one line.
    notes : what the reader took for granted.
    doubts : those of the notes that say what is damaged.
    events : of a run file.
    overview : None where it was not asked for.
    """

    format: str = ""
    rig: str | None = None
    sample_rate: float | None = None
    n_samples: int | None = None
    duration: float | None = None
    start_time: float | None = None
    channels: tuple[DescribedChannel, ...] = ()
    columns: tuple[DescribedColumn, ...] = ()
    guess: Guess | None = None
    problem: str = ""
    notes: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    events: tuple[DescribedEvent, ...] = ()
    overview: Overview | None = None

    @property
    def first_choice(self) -> str:
        """The channel whose curve says most: measured of the first actuator, else the first that there is."""
        measured = [channel.name for channel in self.channels if channel.role == "measured"]
        known = () if self.overview is None else self.overview.channels
        return next((name for name in (*measured, *known) if name in known), "")

    def unit(self, channel: str) -> str:
        """Return the unit of a channel; empty where it is not known."""
        return next((known.unit for known in self.channels if known.name == channel), "")


def read_description(answer: Mapping[str, object]) -> Description:
    """Return what a process has written.

    Raises
    ------
    ValueError : it is none.
    """
    try:
        return msgspec.convert(answer, Description, strict=False)
    except msgspec.ValidationError as problem:
        raise ValueError(f"the description cannot be read: {problem}") from None


SpeedWord = Literal["max"]


class PlayerState(msgspec.Struct, frozen=True):
    """Where a controlled player stands: s, seconds a second or ``max``, faults as their text."""

    position: float = 0.0
    duration: float = 0.0
    playing: bool = False
    ended: bool = False
    speed: float | SpeedWord = 1.0
    loop: bool = False
    faults: str = ""
    epoch: int = 0
    sent: int = 0
    subscribed: bool = False
