"""What travels through the house: channels, streams, blocks and events, as frozen values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from monitor.messages.alarms import Transition

Samples = NDArray[np.float64]


class Role(StrEnum):
    """What a channel is to the rig."""

    COMMAND = "command"
    MEASURED = "measured"
    FORCE = "force"
    AUXILIARY = "auxiliary"


class EventKind(StrEnum):
    """What happened to a stream, beside its samples."""

    STARTED = "started"
    RESTART = "restart"
    GAP = "gap"
    DUPLICATE = "duplicate"
    REORDERED = "reordered"
    CLOCK_JUMP = "clock_jump"
    ENDED = "ended"
    REJECTED = "rejected"
    RECONNECTED = "reconnected"
    DECISION = "decision"
    NOTE = "note"
    ALARM = "alarm"


@dataclass(frozen=True, slots=True)
class Channel:
    """One signal of a rig.

    Parameters
    ----------
    name : unique within the stream, for example ``"north.command"``.
    role : command, measured, force or auxiliary.
    unit : as the rig says it, for example ``"m"``; empty when it does not say.
    actuator : the actuator that a command, measured or force channel belongs to; empty for auxiliary.
    """

    name: str
    role: Role
    unit: str = ""
    actuator: str = ""


# ways in which one unit is written: m/s², m/s^2 and m/s2
_WRITTEN = str.maketrans({"²": "2", "³": "3", "^": None, " ": None})


def same_unit(one: str, other: str) -> bool:
    """Whether two units are the same, however written; one that is not known (empty) may be any."""
    one, other = one.translate(_WRITTEN), other.translate(_WRITTEN)
    return not one or not other or one == other


def units_differ(command: Channel, measured: Channel) -> bool:
    """Whether two channels are known to have different units, so that their difference means nothing."""
    return not same_unit(command.unit, measured.unit)


def ratio_unit(command: Channel, measured: Channel) -> str:
    """Return the unit of command over measured."""
    return f"{command.unit}/{measured.unit}" if units_differ(command, measured) else "1"


@dataclass(frozen=True, slots=True)
class Pair:
    """The columns of one actuator: its command, what it measured, and its restoring force if there is one."""

    actuator: str
    command: int
    measured: int
    force: int | None = None


@dataclass(frozen=True)
class Stream:
    """What stays the same from block to block.

    Parameters
    ----------
    rig : name of the rig.
    epoch : number that a publisher chooses at its start; larger at every restart (nanoseconds since 1970 serve).
    sample_rate : Hz.
    channels : one a column of the samples.

    Raises
    ------
    ValueError : a channel's name appears twice, an actuator's command or measured channel is missing or
        doubled, or the rate is not a positive number.
    """

    rig: str
    epoch: int
    sample_rate: float
    channels: tuple[Channel, ...]

    def __post_init__(self) -> None:
        if not (0.0 < self.sample_rate < float("inf")):
            raise ValueError(f"sample rate {self.sample_rate} Hz: must be a positive number")
        names = [channel.name for channel in self.channels]
        if len(set(names)) != len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"channel {twice!r} appears twice: give every channel its own name")
        _ = self.pairs

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """The actuators in the order of their command channels."""
        found: dict[tuple[str, Role], int] = {}
        for column, channel in enumerate(self.channels):
            if channel.role is Role.AUXILIARY:
                continue
            if (channel.actuator, channel.role) in found:
                raise ValueError(f"actuator {channel.actuator!r} has two {channel.role} channels: name one")
            found[channel.actuator, channel.role] = column
        actuators = dict.fromkeys(actuator for actuator, _ in found)
        for actuator in actuators:
            for role in (Role.COMMAND, Role.MEASURED):
                if (actuator, role) not in found:
                    raise ValueError(f"actuator {actuator!r} has no {role} channel: add one or make it auxiliary")
        return tuple(
            Pair(a, found[a, Role.COMMAND], found[a, Role.MEASURED], found.get((a, Role.FORCE))) for a in actuators
        )

    @property
    def dt(self) -> float:
        """Time between samples, s."""
        return 1.0 / self.sample_rate


@dataclass(frozen=True, slots=True)
class SignalBlock:
    """Consecutive samples of one stream.

    Parameters
    ----------
    stream : what the columns are.
    index : number of the first sample since the publisher's start.
    time : time of the first sample on the publisher's clock, s.
    samples : (n_samples, n_channels), C-contiguous float64, not written to by anybody.
        Zero samples make a heartbeat: ``index`` is then the number of the next sample.
    last : the publisher ends here.
    """

    stream: Stream
    index: int
    time: float
    samples: Samples
    last: bool = False

    def __len__(self) -> int:
        return int(self.samples.shape[0])

    def tail(self, start: int) -> SignalBlock:
        """Return the block without its first `start` samples."""
        time = self.time + start / self.stream.sample_rate
        return SignalBlock(self.stream, self.index + start, time, self.samples[start:], self.last)

    def parts(self, rows: int) -> Iterator[SignalBlock]:
        """Give the block in parts of at most `rows` samples."""
        rest = self
        while len(rest) > rows:
            yield SignalBlock(rest.stream, rest.index, rest.time, rest.samples[:rows])
            rest = rest.tail(rows)
        yield rest


@dataclass(frozen=True, slots=True)
class Column:
    """One published value: ``fdb_phase`` in rad of the actuator ``north``."""

    name: str
    unit: str
    actuator: str


@dataclass(frozen=True)
class ResultStream:
    """What stays the same from result block to result block.

    ``every`` is the number of samples from one row of results to the next; rows stand at the
    sample indices that it divides.
    """

    rig: str
    epoch: int
    sample_rate: float
    every: int
    columns: tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class ResultBlock:
    """Indicator values at consecutive result instants.

    Parameters
    ----------
    stream : what the columns are.
    index : sample index of the first row.
    time : time of the first row on the publisher's clock, s.
    values : (n_rows, n_columns); NaN where a value means nothing (window not full, gap, amplitude
        under the gate).
    """

    stream: ResultStream
    index: int
    time: float
    values: Samples
    last: bool = False

    def __len__(self) -> int:
        return int(self.values.shape[0])

    @property
    def valid(self) -> NDArray[np.bool_]:
        """(n_rows, n_columns): which values mean something."""
        return ~np.isnan(self.values)


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened at an instant of the stream.

    ``count`` is how many samples (or messages, for rejections) it concerns; ``alarm`` is the step of an alarm.
    """

    kind: EventKind
    time: float
    index: int
    count: int = 0
    detail: str = ""
    alarm: Transition | None = None

    @classmethod
    def of_alarm(cls, step: Transition) -> Event:
        """Return the event that an alarm's step is; its detail is the step's reason."""
        return cls(EventKind.ALARM, step.time, step.index, 0, step.reason, step)
