"""Encoder and decoder of native messages: streams and blocks to frames and back, with validation."""

from __future__ import annotations

import math
import struct
import sys
from collections.abc import Sequence

import msgspec
import numpy as np

from monitor.messages.blocks import (
    FREQUENCY,
    QUANTITIES,
    Channel,
    Column,
    ResultBlock,
    ResultStream,
    Role,
    Samples,
    SignalBlock,
    Stream,
    TransferBlock,
    TransferStream,
)

VERSION = 1
MAX_CHANNELS = 4096
MAX_COLUMNS = 1 << 16
MAX_TEXT = 128
MAX_HEADER = 1 << 20
MIN_RATE, MAX_RATE = 1e-6, 1e9

AnyStream = Stream | ResultStream | TransferStream


class WireError(ValueError):
    """The bytes are not a valid message of this version; the message states why."""


class OtherSenderError(WireError):
    """A message of a sender that is not followed: no gap in the samples of the other one shows what it had."""


class _ChannelHeader(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    role: Role
    unit: str = ""
    actuator: str = ""


class _SignalHeader(msgspec.Struct, tag_field="kind", tag="signals"):
    version: int
    rig: str
    epoch: int
    sample_rate: float
    channels: list[_ChannelHeader]


class _ResultHeader(msgspec.Struct, tag_field="kind", tag="results"):
    version: int
    rig: str
    epoch: int
    sample_rate: float
    every: int
    # each text once, and for each column the indices of its name, unit and actuator: 896 columns in 9 kB, not 46
    texts: list[str]
    columns: list[tuple[int, int, int]]


class _TransferHeader(msgspec.Struct, tag_field="kind", tag="transfer"):
    version: int
    rig: str
    epoch: int
    sample_rate: float
    texts: list[str]
    columns: list[tuple[int, int, int]]


_Header = _SignalHeader | _ResultHeader | _TransferHeader
_decoder: msgspec.json.Decoder[_Header] = msgspec.json.Decoder(_Header)


def kind(stream: AnyStream) -> str:
    """Return the kind of message of this stream, as in its topic."""
    match stream:
        case Stream():
            return "signals"
        case ResultStream():
            return "results"
        case TransferStream():
            return "transfer"


def width(stream: AnyStream) -> int:
    """Return the number of columns of the payload."""
    return len(stream.channels if isinstance(stream, Stream) else stream.columns)


def encode_header(stream: AnyStream) -> bytes:
    """Return the frame that describes the stream."""
    header: _Header
    if isinstance(stream, Stream):
        channels = [_ChannelHeader(c.name, c.role, c.unit, c.actuator) for c in stream.channels]
        header = _SignalHeader(VERSION, stream.rig, stream.epoch, stream.sample_rate, channels)
        return msgspec.json.encode(header)
    texts = {text: i for i, text in enumerate(dict.fromkeys(t for c in stream.columns for t in _texts(c)))}
    columns = [(texts[c.name], texts[c.unit], texts[c.actuator]) for c in stream.columns]
    common = (VERSION, stream.rig, stream.epoch, stream.sample_rate)
    if isinstance(stream, ResultStream):
        return msgspec.json.encode(_ResultHeader(*common, stream.every, list(texts), columns))
    return msgspec.json.encode(_TransferHeader(*common, list(texts), columns))


def decode_header(head: bytes) -> AnyStream:
    """Return the stream that a header describes; raises WireError."""
    if len(head) > MAX_HEADER:
        raise WireError(f"the stream header has {len(head)} bytes; the limit is {MAX_HEADER}")
    try:
        header = _decoder.decode(head)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        # the error quotes the sender's bytes: one short printable line
        reason = "".join(c if c.isprintable() else "?" for c in str(problem)[: 2 * MAX_TEXT])
        raise WireError(f"the stream header cannot be read: {reason}") from problem
    if header.version != VERSION:
        raise WireError(f"format version {header.version}; this program reads version {VERSION}")
    if not 0 <= header.epoch < 1 << 63:
        raise WireError(f"the epoch {header.epoch} is outside 0 .. 2^63 - 1")
    if not MIN_RATE <= header.sample_rate <= MAX_RATE:
        raise WireError(f"sample rate {header.sample_rate} Hz; {MIN_RATE:g} to {MAX_RATE:g} Hz are allowed")
    _check_text([header.rig], "rig")
    try:
        return _stream(header)
    except WireError:
        raise
    except ValueError as problem:
        raise WireError(str(problem)) from problem


def _stream(header: _Header) -> AnyStream:
    common = (header.rig, header.epoch, header.sample_rate)
    if isinstance(header, _SignalHeader):
        _check_count(len(header.channels), MAX_CHANNELS)
        _check_text([t for c in header.channels for t in (c.name, c.unit, c.actuator)], "channel")
        return Stream(*common, tuple(Channel(c.name, c.role, c.unit, c.actuator) for c in header.channels))
    if isinstance(header, _ResultHeader) and not 1 <= header.every < 1 << 31:
        raise WireError(f"a row of results every {header.every} samples; 1 to 2^31 - 1 are allowed")
    _check_count(len(header.columns), MAX_COLUMNS)
    _check_text(header.texts, "column")
    if not all(0 <= position < len(header.texts) for column in header.columns for position in column):
        raise WireError(f"a column names a text that is not among the {len(header.texts)}")
    columns = tuple(Column(*(header.texts[position] for position in column)) for column in header.columns)
    if isinstance(header, _ResultHeader):
        return ResultStream(*common, header.every, columns)
    layout = [FREQUENCY.name, *([name for name, _ in QUANTITIES] * (len(columns) // len(QUANTITIES)))]
    if [column.name for column in columns] != layout:
        raise WireError("the columns of a transfer function are not frequency and the quantities of each actuator")
    return TransferStream(*common, columns)


def _texts(column: Column) -> tuple[str, str, str]:
    return column.name, column.unit, column.actuator


def _check_count(columns: int, most: int) -> None:
    if not 1 <= columns <= most:
        raise WireError(f"{columns} columns; 1 to {most} are allowed")


def _check_text(texts: Sequence[str], what: str) -> None:
    for text in texts:
        if len(text) > MAX_TEXT or not text.isprintable():
            raise WireError(f"a {what} text is longer than {MAX_TEXT} characters or not printable")


MAX_ROWS = 1 << 20
_LITTLE_ENDIAN = np.dtype("<f8")
_LAST = 1
_POSITION = struct.Struct("<QdII")
_CACHED_HEADERS = 64

Frames = list[bytes]
BLOCK_FRAMES = 4
"""Of a block: topic, header, position and payload."""
AnyBlock = SignalBlock | ResultBlock | TransferBlock


def topic(kind: str, rig: str = "") -> bytes:
    """Return the first frame of a message; without a rig, the prefix for a subscription to all rigs."""
    return f"synchroscope/{VERSION}/{kind}/{rig}".encode()


def claimed_rows(frames: Sequence[bytes]) -> int | None:
    """Return the number of rows that a message of signals says it has; None where it says none."""
    if len(frames) != BLOCK_FRAMES or len(frames[2]) != _POSITION.size or not frames[0].startswith(topic("signals")):
        return None
    return int(_POSITION.unpack(frames[2])[2])


class Encoder:
    """Encode blocks as frames; the newest block and the header of its stream are cached."""

    def __init__(self) -> None:
        self._newest: dict[type[AnyBlock], tuple[AnyBlock, Frames]] = {}

    def encode(self, block: AnyBlock) -> Frames:
        """Return ``[topic, stream header, position, payload]``, which must not be modified."""
        previous, frames = self._newest.get(type(block), (None, []))
        if previous is block:
            return frames
        if previous is not None and previous.stream is block.stream:
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
    """Decode frames to blocks; parsed headers are cached.

    The arrays of the blocks are read-only views of the message.
    """

    def __init__(self) -> None:
        self._streams: dict[bytes, AnyStream] = {}
        self._newest: tuple[bytes, AnyStream] | None = None

    def decode(self, frames: Sequence[bytes]) -> AnyBlock:
        """Return the block in `frames`.

        Raises
        ------
        WireError : the message violates docs/wire-format.md.
        """
        if len(frames) != BLOCK_FRAMES:
            raise WireError(f"a native message has {BLOCK_FRAMES} frames, this one {len(frames)}")
        _, head, position, payload = frames
        stream = self._stream(head)
        if len(position) != _POSITION.size:
            raise WireError(f"the position has {len(position)} bytes instead of {_POSITION.size}")
        index, time, count, flags = _POSITION.unpack(position)
        if index >= 1 << 62:
            raise WireError(f"the index {index} is beyond 2^62")
        if not math.isfinite(time):
            raise WireError("the time is not a finite number")
        if flags & ~_LAST:
            raise WireError(f"unknown flags {flags:#x}")
        rows, last = _decode_rows(payload, count, width(stream)), bool(flags & _LAST)
        if isinstance(stream, Stream):
            return SignalBlock(stream, index, time, rows, last)
        if isinstance(stream, ResultStream):
            return ResultBlock(stream, index, time, rows, last)
        return TransferBlock(stream, index, time, rows, last)

    def outline(self, frames: Sequence[bytes]) -> SignalBlock:
        """Return the block of a message of signals whose values cannot be used: all NaN, without memory of its own.

        Raises
        ------
        WireError : its header or position cannot be read either.
        """
        if not 3 <= len(frames) <= 4 or len(frames[2]) != _POSITION.size:
            raise WireError("no position")
        stream = self._stream(frames[1])
        index, time, count, flags = _POSITION.unpack(frames[2])
        if not isinstance(stream, Stream) or index >= 1 << 62 or count > MAX_ROWS:
            raise WireError("not a position of signals")
        rows = np.broadcast_to(np.nan, (count, width(stream)))
        return SignalBlock(stream, index, time, rows, flags == _LAST)

    def _stream(self, head: bytes) -> AnyStream:
        # comparing is much cheaper than hashing, and there is usually one publisher
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
    rows: Samples = np.ndarray((count, width), _LITTLE_ENDIAN, payload)
    return rows if sys.byteorder == "little" else rows.astype(np.float64)
