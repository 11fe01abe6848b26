"""Immutable messages: channels, streams, blocks of signals, results and transfer functions, events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from monitor.messages.alarms import LimitChange, Transition

Samples = NDArray[np.float64]


class Role(StrEnum):
    """Role of a channel."""

    COMMAND = "command"
    MEASURED = "measured"
    FORCE = "force"
    AUXILIARY = "auxiliary"


class EventKind(StrEnum):
    """Kind of an event of a stream."""

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
    CONTRADICTION = "contradiction"
    NOTE = "note"
    ALARM = "alarm"
    LIMITS = "limits"


@dataclass(frozen=True, slots=True)
class Channel:
    """One signal of a rig.

    Parameters
    ----------
    name : unique within the stream, for example ``"north.command"``.
    role : command, measured, force or auxiliary.
    unit : as the rig gives it, for example ``"m"``; empty when unknown.
    actuator : the actuator that a command, measured or force channel belongs to; empty for auxiliary.
    """

    name: str
    role: Role
    unit: str = ""
    actuator: str = ""


# spellings of one unit: m/s², m/s^2 and m/s2
_SPELLING = str.maketrans({"²": "2", "³": "3", "^": None, " ": None})


def same_unit(one: str, other: str) -> bool:
    """Whether two units are the same in any spelling; an unknown (empty) one matches any."""
    one, other = one.translate(_SPELLING), other.translate(_SPELLING)
    return not one or not other or one == other


def units_differ(command: Channel, measured: Channel) -> bool:
    """Whether two channels are known to have different units, so that their difference is meaningless."""
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
    """Constant properties of a signal stream.

    Parameters
    ----------
    rig : name of the rig.
    epoch : number chosen by the publisher, larger at every restart, such as nanoseconds since 1970.
    sample_rate : Hz.
    channels : one for each column of the samples.

    Raises
    ------
    ValueError : two channels have one name, an actuator's command or measured channel is missing or not unique, or
        the rate is not a positive number.
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
    stream : description of the columns.
    index : number of the first sample since the publisher's start.
    time : time of the first sample on the publisher's clock, s.
    samples : (n_samples, n_channels), C-contiguous float64, read-only by convention.
        Without samples it is a heartbeat, and ``index`` is the number of the next sample.
    last : the stream ends with this block.
    joint : why samples may be missing before it although its index continues; empty: none are.
    """

    stream: Stream
    index: int
    time: float
    samples: Samples
    last: bool = False
    joint: str = ""

    def __len__(self) -> int:
        return len(self.samples)

    def tail(self, start: int) -> SignalBlock:
        """Return the block without its first `start` samples."""
        time = self.time + start / self.stream.sample_rate
        return SignalBlock(self.stream, self.index + start, time, self.samples[start:], self.last)

    def parts(self, rows: int) -> Iterator[SignalBlock]:
        """Yield the block in parts of at most `rows` samples."""
        rest = self
        while len(rest) > rows:
            yield SignalBlock(rest.stream, rest.index, rest.time, rest.samples[:rows])
            rest = rest.tail(rows)
        yield rest


@dataclass(frozen=True, slots=True)
class Column:
    """Published column, such as ``fdb_phase`` in rad of the actuator ``north``."""

    name: str
    unit: str
    actuator: str


def column_names(columns: Sequence[Column]) -> tuple[str, ...]:
    """Return a name of each column in a table; with several actuators or sites, theirs is before it."""
    several = len({column.actuator for column in columns}) > 1
    return tuple(f"{c.actuator}_{c.name}" if several else c.name for c in columns)


@dataclass(frozen=True)
class ResultStream:
    """Constant properties of a stream of results.

    ``every`` is the number of samples between rows; rows are at the sample indices that it divides.
    """

    rig: str
    epoch: int
    sample_rate: float
    every: int
    columns: tuple[Column, ...]

    @cached_property
    def places(self) -> Mapping[str, Mapping[str, int]]:
        """Number of each column, by actuator and name."""
        found: dict[str, dict[str, int]] = {}
        for place, column in enumerate(self.columns):
            found.setdefault(column.actuator, {})[column.name] = place
        return found


@dataclass(frozen=True, slots=True)
class ResultBlock:
    """Consecutive rows of results.

    Parameters
    ----------
    stream : description of the columns.
    index : sample index of the first row.
    time : time of the first row on the publisher's clock, s.
    values : (n_rows, n_columns); NaN where not valid (window not full, gap, amplitude below the gate).
    """

    stream: ResultStream
    index: int
    time: float
    values: Samples
    last: bool = False

    def __len__(self) -> int:
        return len(self.values)

    @property
    def valid(self) -> NDArray[np.bool_]:
        """(n_rows, n_columns): which values are valid."""
        return ~np.isnan(self.values)


@dataclass(frozen=True, slots=True)
class Event:
    """Event at an instant of the stream.

    Parameters
    ----------
    count : samples concerned; messages, for rejections, 0 if their number is unknown: senders were disconnected.
    samples : of rejections, those in these messages that no gap shows; all others are counted as lost.
    alarm : transition of an alarm.
    site, verdict : of a decision on a model: its validation site, and accept, watch or reject.
    limits : change of an alarm's limits.
    """

    kind: EventKind
    time: float
    index: int
    count: int = 0
    detail: str = ""
    alarm: Transition | None = None
    site: str = ""
    verdict: str = ""
    limits: LimitChange | None = None
    samples: int = 0

    @classmethod
    def of_alarm(cls, step: Transition) -> Event:
        """Return the event of an alarm's transition; its detail is the reason."""
        return cls(EventKind.ALARM, step.time, step.index, 0, step.reason, step)


_TEXTS = {
    EventKind.STARTED: "the stream starts",
    EventKind.RESTART: "the rig has restarted",
    EventKind.ENDED: "the stream has ended",
    EventKind.CLOCK_JUMP: "the rig's clock jumped",
    EventKind.CONTRADICTION: "the rig contradicts itself",
    EventKind.ALARM: "alarm",
}
_COUNTED = {
    EventKind.GAP: ("sample", "lost"),
    EventKind.DUPLICATE: ("duplicate sample", "ignored"),
    EventKind.REORDERED: ("late sample", "ignored"),
    EventKind.REJECTED: ("message", "rejected"),
}


def kind_text(event: Event) -> str:
    """Return the text of the event's kind with its count, such as ``10 samples lost``; empty for a note."""
    if event.kind in _COUNTED:
        noun, what = _COUNTED[event.kind]
        text = f"{noun}{'' if event.count == 1 else 's'} {what}"
    else:
        text = _TEXTS.get(event.kind, "")
    return f"{event.count} {text}" if event.count and text else text


FREQUENCY = Column("frequency", "Hz", "")
QUANTITIES = (
    ("ratio", ""),
    ("phase", "rad"),
    ("delay", "s"),
    ("coherence", "1"),
    ("ratio_sd", ""),
    ("phase_sd", "rad"),
    ("delay_sd", "s"),
)


@dataclass(frozen=True)
class TransferStream:
    """Constant properties of a stream of transfer functions: `FREQUENCY`, then `QUANTITIES` by actuator."""

    rig: str
    epoch: int
    sample_rate: float
    columns: tuple[Column, ...]

    @cached_property
    def positions(self) -> dict[tuple[str, str], int]:
        """Column number of each actuator's quantities."""
        return {(column.actuator, column.name): i for i, column in enumerate(self.columns)}

    @property
    def actuators(self) -> tuple[str, ...]:
        """Their names, in the order of the columns."""
        return tuple(dict.fromkeys(column.actuator for column in self.columns if column != FREQUENCY))


@dataclass(frozen=True, slots=True)
class TransferBlock:
    """Transfer functions of all segments up to a sample.

    Parameters
    ----------
    stream : description of the columns.
    index, time : of the last sample included.
    values : (n_frequencies, n_columns); NaN where the command has no motion or there are too few segments; where
        noise alone could give the coherence, all but the coherence.
    """

    stream: TransferStream
    index: int
    time: float
    values: Samples
    last: bool = False

    def __len__(self) -> int:
        return int(self.values.shape[0])

    @property
    def frequency(self) -> Samples:
        """(n_frequencies,), Hz."""
        return self.values[:, 0]

    def curve(self, actuator: str, quantity: str) -> Samples:
        """Return (n_frequencies,), one of `QUANTITIES`; raises KeyError when there is no such column."""
        column = self.stream.positions.get((actuator, quantity))
        if column is None:
            raise KeyError(f"no {quantity} of {actuator!r} in this transfer function")
        return self.values[:, column]
