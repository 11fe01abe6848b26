"""Decoder of plain messages: the JSON or MessagePack maps of simple senders (docs/wire-format.md).

Each message is decoded on its own; `monitor.wire.plain_assembler` assembles them into signal blocks.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import msgspec
import numpy as np
from msgspec import UNSET, UnsetType

from monitor.messages.blocks import Channel, Role, Samples
from monitor.wire.native import MAX_CHANNELS, MAX_RATE, MAX_TEXT, MIN_RATE, WireError

MAX_INDEX = 1 << 53
MAX_BODY = 4 << 20
MAX_EPOCH = 1 << 62
MAX_TIME = 1e20  # ns since 1970 are 2e18
DEFAULT_ACTUATOR = "actuator"

_Values = float | None | list[float | None]
_Group = _Values | dict[str, _Values]


class _Body(msgspec.Struct, forbid_unknown_fields=True):
    command: _Group
    measured: _Group
    force: _Group | UnsetType = UNSET
    auxiliary: dict[str, _Values] = {}
    t: _Values | UnsetType = UNSET
    rig: str | UnsetType = UNSET
    epoch: int | float | UnsetType = UNSET
    index: int | float | UnsetType = UNSET
    sample_rate: float | UnsetType = UNSET
    units: dict[str, str] | UnsetType = UNSET
    last: bool = False


_json = msgspec.json.Decoder(_Body)
_array = msgspec.json.Decoder(list[msgspec.Raw])
_msgpack = msgspec.msgpack.Decoder(_Body)
_BOM = b"\xef\xbb\xbf"
# a text, which stays as it is, or what programs write in place of a number that is missing
_NOT_A_NUMBER = re.compile(
    rb'"(?:[^"\\]|\\.)*"|[-+]?(?:nan(?:\([a-z]*\))?|inf(?:inity)?|[0-9.]*#(?:ind|qnan|snan|inf)0*)', re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class PlainMessage:
    """Content of one message; None where a key is absent.

    Parameters
    ----------
    channels : one for each column; their units are in `units`.
    samples : (n_samples, n_channels).
    times : s; none, that of the first sample, or one for each sample.
    units : by channel name or role.
    """

    channels: tuple[Channel, ...]
    samples: Samples
    times: tuple[float, ...] = ()
    rig: str | None = None
    epoch: int | None = None
    index: int | None = None
    sample_rate: float | None = None
    units: Mapping[str, str] | None = None
    last: bool = False

    def __len__(self) -> int:
        return int(self.samples.shape[0])


def decode_frames(frames: Sequence[bytes]) -> list[PlainMessage]:
    """Return the messages in the frames of one: as a rule one, or those of a batch.

    Frames are a body; a topic and a body; these and a time as text; or several JSON objects. A body is an object, an
    array of objects, or one a line.

    Raises
    ------
    WireError : the frames violate docs/wire-format.md.
    """
    if len(frames) > 1 and frames[0][:1] == b"{":
        return [message for body in frames for message in _decode_batch(body)]
    if len(frames) > 3:
        raise WireError(f"a plain message has one frame, or a topic and one or two, this one {len(frames)}")
    return _decode_batch(*frames[1:]) if len(frames) > 1 else _decode_batch(frames[0])


def _decode_batch(body: bytes, time: bytes = b"") -> list[PlainMessage]:
    if body[:1] == b"[" and len(body) <= MAX_BODY:
        try:
            objects = [bytes(each) for each in _array.decode(body)]
        except (msgspec.DecodeError, RecursionError) as problem:
            raise WireError(f"the message cannot be read: {problem}") from problem
        if not all(each[:1] == b"{" for each in objects):
            raise WireError("an array, but not of JSON objects: send an object, with lists as values")
        return [decode_plain(each) for each in objects]
    try:
        return [decode_plain(body, time)]
    except WireError:
        lines = body.split(b"\n")
        if not 1 < sum(line[:1] == b"{" for line in lines) == sum(map(bool, map(bytes.strip, lines))):
            raise
    return [decode_plain(line) for line in lines if line.strip()]


def decode_plain(body: bytes, time: bytes = b"") -> PlainMessage:
    """Return the message in `body`.

    Parameters
    ----------
    time : a further frame with the time as text, s, as PlotJuggler has it; it counts where the body has no `t`.

    Raises
    ------
    WireError : the message violates docs/wire-format.md.
    """
    if len(body) > MAX_BODY:
        raise WireError(f"a plain message of {len(body)} bytes; the limit is {MAX_BODY}")
    raw = _decode_body(body)
    columns = dict(_columns(raw))
    if len(columns) > MAX_CHANNELS:
        raise WireError(f"{len(columns)} channels; the limit is {MAX_CHANNELS}")
    rows = len(next(iter(columns.values())))
    samples = np.empty((rows, len(columns)))
    for column, (channel, values) in enumerate(columns.items()):
        if len(values) != rows:
            raise WireError(
                f"{channel.name} has {len(values)} samples and the first channel {rows}: send equal numbers"
            )
        samples[:, column] = values
    index = _integer(raw.index, "index", MAX_INDEX)
    if rows == 0 and index is None:
        raise WireError("no samples: an empty message is a heartbeat and must carry the next index")
    rate = None if raw.sample_rate is UNSET else raw.sample_rate
    if rate is not None and not MIN_RATE <= rate <= MAX_RATE:
        raise WireError(f"sample_rate {rate} Hz: must be a number from {MIN_RATE:g} to {MAX_RATE:g}")
    return PlainMessage(
        channels=tuple(columns),
        samples=samples,
        times=_times(_time_frame(time) if time and raw.t is UNSET else raw.t, rows),
        rig=None if raw.rig is UNSET else _text(raw.rig, "rig"),
        epoch=_integer(raw.epoch, "epoch", MAX_EPOCH),
        index=index,
        sample_rate=rate,
        units=_units(raw.units, columns),
        last=raw.last,
    )


def _decode_body(body: bytes) -> _Body:
    first = body[:1]
    is_json = first in (b"{", b" ", b"\t", b"\r", b"\n", _BOM[:1])
    if not is_json and not (b"\x80" <= first <= b"\x8f" or first in (b"\xde", b"\xdf")):
        raise WireError(
            f"{len(body)} bytes, neither a JSON object nor a MessagePack map: packed numbers need the native form"
        )
    try:
        return (_json if is_json else _msgpack).decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        if is_json and (mended := _as_json(body)) != body:
            return _decode_body(mended)
        # the error quotes the sender's bytes: one short printable line
        reason = "".join(c if c.isprintable() else "?" for c in str(problem)[: 2 * MAX_TEXT])
        raise WireError(f"the message cannot be read: {reason}") from problem


def _as_json(body: bytes) -> bytes:
    """Return JSON of what C, Python or MATLAB wrote: without byte order mark and what follows a NUL, NaN as null."""
    body = body.removeprefix(_BOM).partition(b"\0")[0]
    return _NOT_A_NUMBER.sub(lambda found: found[0] if found[0][:1] == b'"' else b"null", body)


def _columns(raw: _Body) -> Iterator[tuple[Channel, list[float | None]]]:
    given = {Role.COMMAND: raw.command, Role.MEASURED: raw.measured}
    if raw.force is not UNSET:
        given[Role.FORCE] = raw.force
    groups = {r: g if isinstance(g, dict) else {DEFAULT_ACTUATOR: g} for r, g in given.items()}
    actuators = groups[Role.COMMAND]
    if not actuators:
        raise WireError("command names no actuator")
    if "0" in actuators and len(actuators) > 2 and list(actuators) == [str(n) for n in range(len(actuators))]:
        raise WireError(
            f"command has the names 0 to {len(actuators) - 1}, as a typed array of JavaScript in JSON: send "
            "Array.from(it), or name actuators otherwise"
        )
    for role, group in groups.items():
        if unknown := next(iter(group.keys() - actuators.keys()), None):
            raise WireError(f"{role} has an actuator {unknown[:MAX_TEXT]!r} that command does not have")
    names = set()
    for actuator in actuators:
        # leaves room for the role in the channel's name
        _text(actuator, "actuator's name", MAX_TEXT - len(".measured"))
        for role, group in groups.items():
            if actuator in group:
                names.add(name := f"{actuator}.{role}")
                yield _channel(name, role, actuator), _list(group[actuator])
            elif role is Role.MEASURED:
                raise WireError(f"actuator {actuator!r} has a command but no measured values")
    for name, values in raw.auxiliary.items():
        if _text(name, "auxiliary channel's name") in names:
            raise WireError(f"auxiliary channel {name!r} has the name of an actuator's channel: rename it")
        yield _channel(name, Role.AUXILIARY, ""), _list(values)


@lru_cache(maxsize=MAX_CHANNELS)
def _channel(name: str, role: Role, actuator: str) -> Channel:
    """Return one object for equal channels: those of the next message are compared with them."""
    return Channel(name, role, actuator=actuator)


def _list(values: _Values) -> list[float | None]:
    return values if isinstance(values, list) else [values]


def _text(text: str, what: str, limit: int = MAX_TEXT) -> str:
    if not 1 <= len(text) <= limit or not text.isprintable():
        raise WireError(f"the {what} must have 1 to {limit} printable characters")
    return text


def _integer(number: float | UnsetType, what: str, limit: int) -> int | None:
    if number is UNSET:
        return None
    # MATLAB writes whole numbers above 2^53 as 1.7e18
    if not (0 <= number <= limit and number == int(number)):
        raise WireError(f"{what} {number}: must be a whole number from 0 to {limit}")
    return int(number)


def _time_frame(time: bytes) -> float:
    try:
        return float(time)
    except ValueError as problem:
        raise WireError("the third frame is not a time in s, as text") from problem


def _times(t: _Values | UnsetType, rows: int) -> tuple[float, ...]:
    if t is UNSET or t is None:
        return ()
    if isinstance(t, list) and len(t) != rows:
        raise WireError(f"t has {len(t)} times for {rows} samples: send one, or one for each sample")
    times = tuple(math.nan if time is None else time for time in (t if isinstance(t, list) else [t]))
    for time in times:
        if abs(time) >= MAX_TIME:
            raise WireError(f"t {time}: must be a number below {MAX_TIME:g}")
    # a time that is missing is that of the sample after the one before; the first sample has to have one
    return times if times and times[0] == times[0] else ()


def _units(units: dict[str, str] | UnsetType, channels: Iterable[Channel]) -> dict[str, str] | None:
    if units is UNSET:
        return None
    for name in units.keys() - {channel.name for channel in channels} - set(Role):
        raise WireError(f"units names {name[:MAX_TEXT]!r}, which is neither a channel nor a role")
    return {name: unit and _text(unit, f"unit of {name}") for name, unit in units.items()}
