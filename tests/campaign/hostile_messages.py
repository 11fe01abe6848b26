"""Messages that break a rule, or nearly so: native, plain, results and requests, as many as are wanted."""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Iterator

import msgspec
import numpy as np

from monitor.messages.blocks import Column, ResultBlock, ResultStream, Stream
from monitor.wire import native as wire
from tests.campaign.numbered_rig import CHANNELS, numbered
from tests.campaign.run_file_mutations import damaged_bytes

STRANGER = "stranger"
"""The rig that these messages name: what they say well belongs to it, and not to the good stream."""

_NUMBERS = (
    0,
    -1,
    1,
    1 << 31,
    1 << 53,
    (1 << 62) - 1,
    1 << 62,
    (1 << 63) - 1,
    1 << 63,
    1 << 64,
    1e308,
    -1e-308,
    5e-324,
)
_TEXTS = ("", "\x00", "\x1b[2J", "<b>x</b>", "é" * 200, "\ud83d", "a" * 5000, "../../etc", "%s%n", "'; --", "NaN")
_VALUES = (*_NUMBERS, *_TEXTS, None, True, [], {}, [None], [[1]], {"a": {"b": {}}})
_TIMES = (float("nan"), float("inf"), -float("inf"), 1e308, -1e308, 5e-324, 0.0)
_DEEP = (b"[" * 3000, b'{"a":' * 3000, b'{"command":' + b"[" * 3000)


def native(chance: random.Random) -> Iterator[list[bytes]]:
    """Yield signals of the native form."""
    stream = Stream(STRANGER, 1, 1024.0, CHANNELS)
    topic, head, position, payload = wire.Encoder().encode(numbered(stream, 0, 4))
    return _native(chance, [topic, head, position, payload])


def results(chance: random.Random) -> Iterator[list[bytes]]:
    """Yield results, health, events and alarms as a service would publish them, or not."""
    stream = ResultStream(STRANGER, 1, 1024.0, 1, (Column("fdb_delay", "s", "north"),))
    good = _native(chance, list(wire.Encoder().encode(ResultBlock(stream, 0, 0.0, np.zeros((4, 1))))))
    bodies = {
        "health": {"rig": STRANGER, "state": "receiving", "counts": {"received": 1}, "latency_counts": [1]},
        "event": {"kind": "note", "time": 0.0, "index": 0, "count": 0, "detail": "x"},
        "alarms": {"alarms": [], "transitions": []},
    }
    while True:
        if chance.random() < 0.5:
            yield next(good)
        else:
            kind = chance.choice(list(bodies))
            yield [wire.topic(kind, STRANGER), _text(bodies[kind], chance)]


def plain(chance: random.Random) -> Iterator[list[bytes]]:
    """Yield signals of the plain form: maps in JSON or MessagePack, and lines of a table."""
    good = {"rig": STRANGER, "t": 0.0, "command": [1.0, 2.0], "measured": [1.0, 2.0], "sample_rate": 100.0}
    more = {"epoch": 1, "index": 0, "units": {"command": "m"}, "force": [0.0, 0.0], "auxiliary": {"oil": [1.0, 2.0]}}
    while True:
        match chance.randrange(6):
            case 0:
                body = ",".join(chance.choice(("1.0", "nan", "", "1e999", "x")) for _ in range(4)).encode()
            case 1:
                body = chance.randbytes(chance.randrange(1, 300))
            case 2:
                body = damaged_bytes(msgspec.msgpack.encode(good | more), chance)
            case _:
                body = _text(good | more, chance)
        yield [STRANGER.encode(), body] if chance.random() < 0.5 else [body]


def requests(chance: random.Random) -> Iterator[list[bytes]]:
    """Yield requests of a client."""
    kinds = (
        {"request": "note", "text": "x", "time": 0.0, "index": 1, "id": 1},
        {"request": "acknowledge", "alarm": "x", "by": "y", "id": 2},
        {"request": "reset", "alarm": "x"},
        {"request": "shelve", "alarm": "x", "seconds": 1.0},
    )
    while True:
        body = _text(chance.choice(kinds), chance)
        # what is not allowed, so that no request of a stranger is carried out in place of another
        yield [body] * chance.choice((1, 1, 1, 1, 2, 5))


def _native(chance: random.Random, good: list[bytes]) -> Iterator[list[bytes]]:
    while True:
        frames = list(good)
        match chance.randrange(8):
            case 0:
                frames = frames[: chance.randrange(1, 4)]
            case 1:
                frames.insert(chance.randrange(1, 5), chance.randbytes(chance.randrange(40)))
            case 2:
                frames[1:] = chance.sample(frames[1:], 3)
            case 3:
                frames[2] = struct.pack(
                    "<QdII",
                    chance.choice((0, (1 << 62) - 1, 1 << 62, (1 << 64) - 1)),
                    chance.choice(_TIMES),
                    chance.choice((0, 4, 1 << 20, (1 << 32) - 1)),
                    chance.choice((0, 1, 2, (1 << 32) - 1)),
                )
            case 4 | 5:
                frames[1] = _text(json.loads(frames[1]), chance)
            case 6:
                frames[1] = damaged_bytes(frames[1], chance)
            case _:
                at = chance.randrange(2, 4)
                frames[at] = frames[at][: chance.randrange(len(frames[at]) + 1)] + chance.randbytes(
                    chance.randrange(9)
                )
        yield frames


def _text(good: dict[str, object], chance: random.Random) -> bytes:
    """Return the JSON of a map in which something is not as it should be."""
    found = dict(good)
    key = chance.choice(list(found))
    match chance.randrange(6):
        case 0:
            del found[key]
        case 1:
            found[chance.choice(_TEXTS) or "typo"] = chance.choice(_VALUES)
        case 2:
            return chance.choice(_DEEP)
        case 3:
            return damaged_bytes(json.dumps(found).encode(), chance)
        case _:
            found[key] = chance.choice(_VALUES)
    return json.dumps(found).encode("utf-8", "surrogatepass")
