"""Description of a recording, as ``synchroscope replay --describe`` prints it in JSON."""

from __future__ import annotations

import msgspec
import numpy as np

from monitor.messages.alarms import Transition
from monitor.messages.blocks import Channel, Samples


class FileColumn(msgspec.Struct, frozen=True):
    """One column of a file whose columns mean what the user says.

    Parameters
    ----------
    name, unit : after the header; names are unique.
    number : counted from 1.
    reference : how an option points at it without doubt: the name, or the number where names are alike.
    """

    name: str
    unit: str = ""
    number: int = 0
    reference: str = ""

    @property
    def word(self) -> str:
        """What an option names it by."""
        return self.reference or self.name


class ColumnGuess(msgspec.Struct, frozen=True):
    """Which columns are taken for what, by their references, one an actuator; forces for all of them or none."""

    command: tuple[str, ...] = ()
    measured: tuple[str, ...] = ()
    force: tuple[str, ...] = ()
    time: str | None = None
    auxiliary: bool = False


class RecordedEvent(msgspec.Struct, frozen=True, omit_defaults=True):
    """Event of a recorded run, `time` in s after its first sample."""

    time: float
    kind: str
    detail: str
    alarm: Transition | None = None


class Overview(msgspec.Struct, frozen=True):
    """Minimum and maximum of every channel, in columns of equal time.

    Parameters
    ----------
    seconds : left edges of the columns, s after the recording's first sample.
    low, high : of each channel by its name; NaN (null in JSON, None when read) where there is no number.
    """

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
        # None becomes NaN
        low, high = (np.array(of.get(channel, ()), dtype=np.float64) for of in (self.low, self.high))
        n = min(len(seconds), len(low), len(high))
        return seconds[:n], low[:n], high[:n]


class Description(msgspec.Struct, frozen=True):
    """What is known of a recording before it is played.

    Parameters
    ----------
    format : the kind of file, or ``simulation``.
    rig : its name in the stream.
    sample_rate : Hz; None, like rig, duration and start_time, while the columns are not clear.
    n_samples : samples that are there, or rows of a file whose columns are not clear.
    duration : s, from the first sample to the one that would follow the last.
    start_time : of the first sample, on the clock of the recording, s.
    channels : as they are sent.
    columns : of a file whose columns the user may choose, in file order; else empty.
    guess : what these were taken for; None with a problem, or without columns.
    problem : one line that says what must be chosen; empty when nothing must.
    notes : what the reader took for granted.
    doubts : those of the notes that say what is damaged.
    events : of a recorded run.
    overview : None where nobody asked for it.
    """

    format: str = ""
    rig: str | None = None
    sample_rate: float | None = None
    n_samples: int | None = None
    duration: float | None = None
    start_time: float | None = None
    channels: tuple[Channel, ...] = ()
    columns: tuple[FileColumn, ...] = ()
    guess: ColumnGuess | None = None
    problem: str = ""
    notes: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    events: tuple[RecordedEvent, ...] = ()
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


def read_description(answer: object) -> Description:
    """Return the description that a process has printed, decoded from JSON.

    Raises
    ------
    ValueError : it is none.
    """
    try:
        return msgspec.convert(answer, Description, strict=False)
    except msgspec.ValidationError as problem:
        raise ValueError(f"the description cannot be read: {problem}") from None
