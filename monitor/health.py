"""How the service itself is doing: published beside the results, several times a second."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec


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
    recording : path of the run file; empty when nothing is recorded.
    recorded : samples acknowledged, that is flushed to the run file.
    unrecorded : samples that the recorder could not keep.
    """

    rig: str = ""
    state: str = "waiting"
    counts: Counts = field(default_factory=Counts)
    sample_rate: float = 0.0
    measured_rate: float = 0.0
    age: float = 0.0
    recording: str = ""
    recorded: int = 0
    unrecorded: int = 0


_decoder = msgspec.json.Decoder(Health)


def encode(health: Health) -> bytes:
    """Return the JSON form."""
    return msgspec.json.encode(health)


def decode(payload: bytes) -> Health:
    """Return what `encode` was given; raises ``msgspec.DecodeError`` for anything else."""
    return _decoder.decode(payload)
