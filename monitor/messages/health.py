"""How the service itself is doing: published beside the results, several times a second."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

MAX_TEXT, MAX_PATH = 200, 4096
LATENCY_BOUNDS = (1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1, 0.2, 0.5, 1.0)
"""s, ends of the intervals in which latencies are counted."""
LONGEST_UNWRITTEN = 2.0
"""s that a sample waits for a disk in order: longer, and the disk is late."""


@dataclass(frozen=True, slots=True)
class Counts:
    """What has happened to a stream since the service started; samples, where not said otherwise."""

    received: int = 0
    lost: int = 0
    duplicates: int = 0
    reordered: int = 0
    gaps: int = 0
    restarts: int = 0
    clock_jumps: int = 0
    rejected: int = 0
    reconnects: int = 0


@dataclass(frozen=True, slots=True)
class Recording:
    """How the recording is doing; all but ``waiting`` goes into `Health`.

    Parameters
    ----------
    path : of the run file; empty when nothing is recorded.
    recorded : samples acknowledged, that is flushed to the run file.
    unrecorded : samples that the recorder could not keep.
    disk_free : bytes left on its disk; 0 when nothing is recorded, -1 when that cannot be told.
    unwritten_age : s since the oldest sample came that is neither recorded nor given up; 0 when none waits.
    recording_breaks : how often it had to go on in a new file: the disk refused, or the file was moved or removed.
    waiting : samples that are neither recorded nor given up.
    """

    path: str = ""
    recorded: int = 0
    unrecorded: int = 0
    disk_free: int = 0
    unwritten_age: float = 0.0
    recording_breaks: int = 0
    waiting: int = 0


@dataclass(frozen=True, slots=True)
class Broker:
    """How the connection to a broker is doing.

    Parameters
    ----------
    state : ``connected``, ``away`` (it is tried again and again), or empty when there is none.
    waiting : messages that wait for it and must not be lost.
    dropped : messages that were lost all the same.
    """

    state: str = ""
    waiting: int = 0
    dropped: int = 0


@dataclass(frozen=True, slots=True)
class Health:
    """One look at the service.

    Parameters
    ----------
    rig : the rig that the stream names; empty before the first block.
    state : ``waiting`` for the first block, ``receiving``, ``stale`` (nothing came lately) or ``ended``.
    counts : losses and the like; gaps, restarts and clock jumps are numbers of events, rejected of messages.
    sample_rate : Hz, as the publisher says.
    measured_rate : samples a second that really came, over the last interval.
    age : seconds since the last block.
    latency : s, the longest that a block's results took over the last interval, from the arrival of its newest
        sample, which may wait unread for long, to the first sink.
    latency_counts : since the start, how many blocks took at most as long as each of `LATENCY_BOUNDS` and longer than
        the one before; the last are those that took longer than all.
    latency_sum : s, of all of them.
    lag : s, the age of the newest results when they left: from the arrival of their newest sample.
    lag_trend : s a second, by which it has grown over the last seconds; negative while the service catches up.
    load : 0 .. 1, the part of the last interval in which the service was not waiting for samples.
    shed : what is left out for want of time: ``viewers``, ``results``, or measures that are paused.
    recording, recorded, unrecorded, disk_free, unwritten_age, recording_breaks : as in `Recording`.
    unaccounted : samples that are in none of the counts, or in two of them: a defect of the service.
    unpublished : messages that were sent to no subscriber, for want of room or because the publisher had ended.
    requests : endpoint that takes requests, as it is bound; empty when there is none.
    requests_refused : how many of them could not be read or carried out.
    window : s, of the indicators' windows; 0 from a service that does not say it.
    transfer_memory : s, after which a segment of the transfer functions counts for a third; 0 likewise.
    broker : as in `Broker`.
    """

    rig: str = ""
    state: str = "waiting"
    counts: Counts = field(default_factory=Counts)
    sample_rate: float = 0.0
    measured_rate: float = 0.0
    age: float = 0.0
    latency: float = 0.0
    latency_counts: tuple[int, ...] = ()
    latency_sum: float = 0.0
    lag: float = 0.0
    lag_trend: float = 0.0
    load: float = 0.0
    shed: tuple[str, ...] = ()
    recording: str = ""
    recorded: int = 0
    unrecorded: int = 0
    disk_free: int = 0
    unwritten_age: float = 0.0
    recording_breaks: int = 0
    unaccounted: int = 0
    unpublished: int = 0
    requests: str = ""
    requests_refused: int = 0
    window: float = 0.0
    transfer_memory: float = 0.0
    broker: Broker = Broker()


_decoder = msgspec.json.Decoder(Health)


def encode(health: Health) -> bytes:
    """Return the JSON form."""
    return msgspec.json.encode(health)


def decode(payload: bytes) -> Health:
    """Return what `encode` was given; raises ``msgspec.DecodeError`` for anything else, or texts without end."""
    try:
        health = _decoder.decode(payload)
    except RecursionError as problem:
        raise msgspec.DecodeError("the health is nested too deeply") from problem
    for name, most in (("rig", MAX_TEXT), ("state", MAX_TEXT), ("requests", MAX_TEXT), ("recording", MAX_PATH)):
        length = len(getattr(health, name))
        if length > most:
            raise msgspec.DecodeError(f"{name} has {length} characters; the limit is {most}")
    return health
