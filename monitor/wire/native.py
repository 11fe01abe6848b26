"""The native message: bytes <-> blocks, and nothing else (docs/wire-format.md is its contract).

One block is one multipart message: topic, stream header (JSON), position (24 bytes), payload
(little-endian float64, row after row). The stream header repeats unchanged in every message, so a
decoder parses it once and afterwards only compares bytes.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Sequence

import numpy as np

from monitor.messages.blocks import ResultBlock, ResultStream, Samples, SignalBlock, Stream
from monitor.messages.transfer import TransferBlock
from monitor.wire.header import VERSION, AnyStream, WireError, decode_header, encode_header, kind, width

MAX_ROWS = 1 << 20
_LAST = 1
_POSITION = struct.Struct("<QdII")
_CACHED_HEADERS = 64

Frames = list[bytes]
AnyBlock = SignalBlock | ResultBlock | TransferBlock


def topic(kind: str, rig: str = "") -> bytes:
    """Return the first frame of a message; without a rig, the prefix that subscribes to all rigs."""
    return f"synchroscope/{VERSION}/{kind}/{rig}".encode()


class Encoder:
    """Blocks -> frames; a block is encoded once, however many ask for it, and the header of a stream too."""

    def __init__(self) -> None:
        self._newest: dict[type[AnyBlock], tuple[AnyBlock, Frames]] = {}

    def encode(self, block: AnyBlock) -> Frames:
        """Return ``[topic, stream header, position, payload]``; not to be changed."""
        before, frames = self._newest.get(type(block), (None, []))
        if before is block:
            return frames
        if before is not None and before.stream is block.stream:
            head = frames[:2]
        else:
            head = [topic(kind(block.stream), block.stream.rig), encode_header(block.stream)]
        rows = block.samples if isinstance(block, SignalBlock) else block.values
        position = _POSITION.pack(block.index, block.time, len(rows), _LAST if block.last else 0)
        payload = np.ascontiguousarray(rows, dtype="<f8").tobytes()
        frames = [*head, position, payload]
        self._newest[type(block)] = block, frames
        return frames


class Decoder:
    """Frames -> blocks; keeps the headers that it has parsed.

    The arrays it returns are read-only views of the message.
    """

    def __init__(self) -> None:
        self._streams: dict[bytes, AnyStream] = {}
        self._newest: tuple[bytes, AnyStream] | None = None

    def decode(self, frames: Sequence[bytes]) -> AnyBlock:
        """Return the block in `frames`.

        Raises
        ------
        WireError : anything is not as docs/wire-format.md says.
        """
        if len(frames) != 4:
            raise WireError(f"a native message has 4 frames, this one {len(frames)}")
        _, head, position, payload = frames
        stream = self._stream(head)
        if len(position) != _POSITION.size:
            raise WireError(f"the position has {len(position)} bytes instead of {_POSITION.size}")
        index, time, count, flags = _POSITION.unpack(position)
        if index >= 1 << 62:
            raise WireError(f"the index {index} is beyond 2^62")
        if not np.isfinite(time):
            raise WireError("the time is not a finite number")
        if flags & ~_LAST:
            raise WireError(f"unknown flags {flags:#x}")
        rows, last = _decode_rows(payload, count, width(stream)), bool(flags & _LAST)
        if isinstance(stream, Stream):
            return SignalBlock(stream, index, time, rows, last)
        if isinstance(stream, ResultStream):
            return ResultBlock(stream, index, time, rows, last)
        return TransferBlock(stream, index, time, rows, last)

    def _stream(self, head: bytes) -> AnyStream:
        # comparing is much cheaper than hashing, and one publisher is the common case
        if self._newest is not None and self._newest[0] == head:
            return self._newest[1]
        stream = self._streams.get(head)
        if stream is None:
            stream = decode_header(head)
            if len(self._streams) >= _CACHED_HEADERS:
                self._streams.clear()
            self._streams[bytes(head)] = stream
        self._newest = bytes(head), stream
        return stream


def _decode_rows(payload: bytes, count: int, width: int) -> Samples:
    if count > MAX_ROWS:
        raise WireError(f"{count} rows in a message; the limit is {MAX_ROWS}")
    size = 8 * count * width
    if len(payload) != size:
        raise WireError(f"the payload has {len(payload)} bytes; {count} rows of {width} need {size}")
    rows: Samples = np.frombuffer(payload, dtype="<f8").reshape(count, width)
    return rows if sys.byteorder == "little" else rows.astype(np.float64)
