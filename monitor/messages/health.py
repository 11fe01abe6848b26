"""Health of the service, published several times a second."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

MAX_TEXT, MAX_PATH = 200, 4096
LATENCY_BOUNDS = (1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1, 0.2, 0.5, 1.0)
"""s, upper bounds of the histogram of latencies."""
LONGEST_UNWRITTEN = 2.0
"""s that a sample may wait for the disk; above it the disk is too slow."""


@dataclass(frozen=True, slots=True)
class StreamCounts:
    """Counters of a stream since the start of the service, in samples except for events and messages.

    Of a native sender, sent = received + lost + rejected_samples; ``rejected`` are messages, whose samples are one of
    the latter two.
    """

    received: int = 0
    lost: int = 0
    duplicates: int = 0
    reordered: int = 0
    gaps: int = 0
    restarts: int = 0
    clock_jumps: int = 0
    rejected: int = 0
    reconnects: int = 0
    rejected_samples: int = 0
    contradictions: int = 0


@dataclass(frozen=True, slots=True)
class RecordingStatus:
    """State of the recording; all but the last two are part of `Health`.

    Parameters
    ----------
    path : of the run file; empty without a recording.
    recorded : samples acknowledged, that is flushed to the run file.
    unrecorded : samples that could not be recorded.
    disk_free : free bytes on its disk; 0 without a recording, -1 when unknown.
    unwritten_age : s since the arrival of the oldest sample that is neither recorded nor lost; 0 when none waits.
    recording_breaks : number of continuations in a new file, after a disk error or because the file was moved or
        removed.
    waiting : samples that are neither recorded nor lost.
    queue_filled : 0 .. 1, share of the memory for them that is used.
    """

    path: str = ""
    recorded: int = 0
    unrecorded: int = 0
    disk_free: int = 0
    unwritten_age: float = 0.0
    recording_breaks: int = 0
    waiting: int = 0
    queue_filled: float = 0.0


@dataclass(frozen=True, slots=True)
class BrokerStatus:
    """State of the connection to a broker.

    Parameters
    ----------
    state : ``connected``, ``away`` (reconnecting), or empty without a broker.
    waiting : messages in the queue that must be delivered.
    dropped : messages that were lost.
    denied : messages that announce values to Home Assistant, where the broker does not let the user write them.
    """

    state: str = ""
    waiting: int = 0
    dropped: int = 0
    denied: int = 0


@dataclass(frozen=True, slots=True)
class CompilationStatus:
    """State of a first start, at which kernels are compiled while the service receives and records.

    Parameters
    ----------
    measures : those that are not computed yet; they join when their kernels are there.
    share : 0 .. 1, of what is to be compiled.
    """

    measures: tuple[str, ...] = ()
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class Health:
    """Health of the service at one instant.

    Parameters
    ----------
    rig : name of the rig; empty before the first block.
    state : ``waiting`` for the first block, ``receiving``, ``stale`` (no recent samples) or ``ended``.
    counts : gaps, restarts and clock jumps are numbers of events, rejected of messages.
    sample_rate : Hz, nominal.
    measured_rate : samples received a second, over the last interval.
    age : s since the last block.
    latency : s, the longest over the last interval, from the arrival of a block's newest sample, which may wait
        unread, to the first sink.
    latency_counts : histogram of the blocks' latencies since the start, with the upper bounds `LATENCY_BOUNDS`; the
        last count is of those above all bounds.
    latency_sum : s, of all of them.
    lag : s, age of the newest results when published, from the arrival of their newest sample.
    lag_trend : s a second, growth of the lag over the last seconds; negative while the service catches up.
    load : 0 .. 1, share of the last interval in which the service was not waiting for samples.
    shed : what is suspended to shed load: ``viewers``, ``results``, or paused measures.
    recording, recorded, unrecorded, disk_free, unwritten_age, recording_breaks : as in `RecordingStatus`.
    unaccounted : samples in none of the counts, or in two of them: a defect of the service.
    unpublished : messages not sent to any subscriber, because the queue was full or the publisher had ended.
    not_judged : alarms whose value has not come lately.
    memory_used : 0 .. 1, share of the memory for samples that wait to be computed or written, the fuller of both.
    memory_seconds : s of samples that this memory holds at the present rate; 0 when unknown.
    requests : bound endpoint for requests; empty without one.
    requests_refused : requests that could not be read or carried out.
    window : s, of the indicators' windows; 0 from a service that does not publish it.
    transfer_memory : s, time constant of the transfer functions' average; 0 likewise.
    broker : as in `BrokerStatus`.
    compilation : as in `CompilationStatus`.
    """

    rig: str = ""
    state: str = "waiting"
    counts: StreamCounts = field(default_factory=StreamCounts)
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
    not_judged: int = 0
    memory_used: float = 0.0
    memory_seconds: float = 0.0
    requests: str = ""
    requests_refused: int = 0
    window: float = 0.0
    transfer_memory: float = 0.0
    broker: BrokerStatus = BrokerStatus()
    compilation: CompilationStatus = CompilationStatus()

    @property
    def paused(self) -> tuple[str, ...]:
        """What is not computed now: what is shed, and what is being compiled."""
        return (*self.shed, *self.compilation.measures)


_decoder = msgspec.json.Decoder(Health)


def encode(health: Health) -> bytes:
    """Return the JSON form."""
    return msgspec.json.encode(health)


def decode(payload: bytes) -> Health:
    """Return the decoded health; raises ``msgspec.DecodeError`` for anything else, or for texts that are too long."""
    try:
        health = _decoder.decode(payload)
    except RecursionError as problem:
        raise msgspec.DecodeError("the health is nested too deeply") from problem
    for name, most in (("rig", MAX_TEXT), ("state", MAX_TEXT), ("requests", MAX_TEXT), ("recording", MAX_PATH)):
        length = len(getattr(health, name))
        if length > most:
            raise msgspec.DecodeError(f"{name} has {length} characters; the limit is {most}")
    return health
