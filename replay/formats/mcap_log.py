"""MCAP logs, as of Foxglove: topics of JSON messages, whose numbers are columns, with the log times as times."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import repeat
from pathlib import Path
from typing import IO, Any

import numpy as np

from replay.formats.base import Format, RecordingError, begins_with
from replay.formats.blocks import Flat, expanded, flattened
from replay.formats.channels import FileChannel, TextChannel, tables_of_channels
from replay.formats.reading import CUT_SHORT, check_memory, damage_reported, json_size, optional
from replay.formats.signal_table import SignalTable
from replay.formats.units import unit_symbol

_MAGIC = b"\x89MCAP0\r\n"
_WHAT = "an MCAP file"
_MOST_COLUMNS = 4096  # of a topic
_LARGE = 1 << 20  # bytes of a message
_CHUNK = 2  # times a chunk: itself and its records
_NUMBERS = 0.25  # of all chunks: a number of 8 bytes is a name and some digits there


@dataclass
class _Topic:
    """The messages of one topic so far: log times, ns, the numbers by their names, and what is said of these."""

    times: array[int] = field(default_factory=lambda: array("q"))
    columns: dict[str, array[float]] = field(default_factory=dict)
    about: dict[str, dict[str, Any]] = field(default_factory=dict)
    blocks: list[Flat] = field(default_factory=list)
    texts: dict[str, list[str]] = field(default_factory=dict)

    def add(self, time: int, message: Any) -> None:
        """Add a message; what one has and another has not is missing there."""
        row = len(self.times)
        self.times.append(time)
        if isinstance(message, dict):
            for key, value in message.items():
                if isinstance(value, str):
                    cells = self.texts.setdefault(key, [])
                    cells += [""] * (row - len(cells)) + [value]
            flat = flattened(message)
            if any(isinstance(value, list) for value in flat.values()):
                self.blocks.append(flat)
        for name, value in _numbers("", message):
            column = self.columns.setdefault(name, array("d"))
            if len(self.columns) > _MOST_COLUMNS:
                raise ValueError(f"more than {_MOST_COLUMNS} numbers in the messages of a topic")
            column.extend(repeat(float("nan"), row - len(column)))
            column.append(value)

    def array(self, name: str) -> np.ndarray:
        """Return a column, (n_messages,)."""
        column = np.array(self.columns[name], dtype=np.float64)
        return np.pad(column, (0, len(self.times) - len(column)), constant_values=np.nan)

    def text(self, name: str, order: np.ndarray) -> list[str]:
        """Return a text of each message in another order; empty where it has none."""
        cells = self.texts[name] + [""] * (len(self.times) - len(self.texts[name]))
        return [cells[at] for at in order.tolist()]


def _numbers(name: str, value: Any) -> Iterator[tuple[str, float]]:
    """Give the numbers in a message by their paths; null is a missing one."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _numbers(f"{name}.{key}" if name else key, item)
    elif isinstance(value, list):
        for number, item in enumerate(value, 1):
            yield from _numbers(f"{name}_{number}", item)
    elif isinstance(value, int | float):
        yield name or "value", float(value)


def _records(path: Path) -> Iterator[Any]:
    """Yield the records of a file and of its chunks, whose checksums are checked; each chunk is inflated by itself.

    Raises
    ------
    RecordingError : a chunk, or all numbers, do not fit into memory.
    """
    kinds, reading = (optional(f"mcap.{name}", _WHAT, path) for name in ("records", "stream_reader"))
    total = 0
    with path.open("rb") as file:
        size = path.stat().st_size
        records = reading.StreamReader(file, emit_chunks=True, validate_crcs=True, record_size_limit=size).records
        for record in _until_cut(file, records):
            if not isinstance(record, kinds.Chunk):
                yield record
                continue
            total += record.uncompressed_size
            check_memory(path, _CHUNK * record.uncompressed_size + _NUMBERS * total)
            plain = replace(record, compression="", data=_inflated(path, record))
            yield from reading.breakup_chunk(plain, validate_crc=True)


def _until_cut(file: IO[bytes], records: Iterable[Any]) -> Iterator[Any]:
    """Yield whole records, and None where the file ends within one, or without the bytes that close it."""
    found = iter(records)
    while True:
        try:
            record = next(found)
        except StopIteration:
            return
        except Exception:
            # a cut file has no bytes left, and not those at the end; any other error is damage
            if file.read(1) or file.seek(-len(_MAGIC), 2) < 0 or file.read() == _MAGIC:
                raise
            yield None
            return
        yield record


def _inflated(path: Path, chunk: Any) -> bytes:
    """Return the content of a chunk, not more than it says; raises ValueError where it has another size."""
    size = int(chunk.uncompressed_size)
    match chunk.compression:
        case "":
            data = chunk.data
        case "zstd":
            packed = optional("zstandard", _WHAT, path).ZstdDecompressor().stream_reader(chunk.data)
            data = packed.read(size + 1)
        case "lz4":
            data = optional("lz4.frame", _WHAT, path).LZ4FrameDecompressor().decompress(chunk.data, size + 1)
        case other:
            raise ValueError(f"a chunk is compressed by {other!r}")
    if len(data) != size:
        raise ValueError(f"a chunk of {size} bytes has {'more' if len(data) > size else len(data)}")
    return bytes(data)


def _tables(path: Path) -> list[SignalTable]:
    kinds = optional("mcap.records", _WHAT, path)
    topics: dict[str, _Topic] = {}
    others: dict[str, str] = {}
    schemas: dict[int, Any] = {}
    channels_by_id: dict[int, Any] = {}
    count, expected, cut = 0, None, False
    with damage_reported(path, _WHAT):
        for record in _records(path):
            match record:
                case None:
                    cut, expected = True, None
                case kinds.Schema():
                    schemas[record.id] = record
                case kinds.Channel():
                    channels_by_id[record.id] = record
                case kinds.Statistics():
                    expected = record.message_count
                case kinds.Message():
                    count += 1
                    channel = channels_by_id[record.channel_id]
                    if channel.message_encoding != "json":
                        others[channel.topic] = channel.message_encoding or "no encoding"
                        continue
                    topic = topics.get(channel.topic)
                    if topic is None:
                        about = _about(schemas.get(channel.schema_id), channel.metadata)
                        topic = topics[channel.topic] = _Topic(about=about)
                    if len(record.data) > _LARGE:
                        check_memory(path, json_size(record.data))
                    topic.add(record.log_time, json.loads(record.data))
    if expected is not None and expected != count:
        raise RecordingError(f"{path}: damaged: {count} messages are there, {expected} were written")
    left_out = [f"{topic} (messages in {encoding!r}, only JSON is read)" for topic, encoding in others.items()]
    left_out += [
        f"{name} (no numbers)"
        for name, topic in topics.items()
        if (not topic.columns and not topic.texts) or (topic.columns and len(topic.times) < 2)
    ]
    kept = {name: topic for name, topic in topics.items() if topic.columns and len(topic.times) > 1}
    origin = min((min(topic.times) for topic in kept.values()), default=0)
    channels: list[FileChannel] = []
    texts = [
        TextChannel(
            name, f"{name} {key}", cells, (np.array(topic.times, dtype=np.int64) - origin)[: len(cells)] / 1e9
        )
        for name, topic in topics.items()
        for key, cells in topic.texts.items()
        if not topic.columns
    ]
    said: list[str] = []
    for name, topic in kept.items():
        logged = np.array(topic.times, dtype=np.int64)
        if topic.blocks and len(topic.blocks) == len(logged):
            found = expanded(topic.blocks, ((logged - origin) / 1e9).tolist())
            if found is not None:
                said += found.notes
                # messages of several samples have no row of their own
                left_out += [f"{name} {key} (text)" for key in sorted(topic.texts)]
                rate = found.rate if found.times is None else None
                channels += _channels(name, found.columns, topic.about, rate=rate, times=found.times)
                continue
        if topic.blocks:
            said.append(f"{name}: each number of a list in its messages is a channel")
        # writers may put messages down later than others of a later time
        order = np.argsort(logged, kind="stable")
        texts += [TextChannel(name, key, topic.text(key, order)) for key in topic.texts]
        columns = {key: topic.array(key)[order] for key in topic.columns}
        channels += _channels(name, columns, topic.about, times=(logged[order] - origin) / 1e9)
    notes = (*said, f"the times count from the first message, at {origin / 1e9:.9g} s of the log's clock")
    return tables_of_channels(path, channels, (*notes, CUT_SHORT) if cut else notes, left_out, texts, cut=cut)


def _channels(
    topic: str, columns: Mapping[str, np.ndarray], said: Mapping[str, Mapping[str, Any]], **clock: Any
) -> Iterator[FileChannel]:
    """Give the columns of a topic as channels, with what is said of each; `clock`: their times, s, or their rate."""
    for column, values in columns.items():
        about = said.get(column, {})
        yield FileChannel.of(
            topic,
            str(about.get("name") or column),
            values,
            unit_symbol(about.get("unit") or ""),
            role=str(about.get("role", "")),
            actuator=str(about.get("actuator", "")),
            about=about,
            **clock,
        )


def _about(schema: Any, metadata: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Return what is said of columns, by their paths in a message.

    Synchroscope's own export has a JSON object for each in the metadata of the channel, with ``name``, ``unit``,
    ``role`` and ``actuator``; others give units in the JSON schema, as ``unit`` of a property.
    """
    found = {name: about for name, text in metadata.items() if isinstance(about := _object(text), dict)}
    if schema is not None and schema.encoding == "jsonschema":
        properties = (_object(schema.data) or {}).get("properties", {})
        for name, about in properties.items() if isinstance(properties, dict) else ():
            if isinstance(about, dict):
                found.setdefault(name, {key: value for key, value in about.items() if key != "name"})
    return found


def _object(text: str | bytes) -> dict[str, Any] | None:
    """Return the object in a text of JSON, None where there is another text."""
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


FORMAT = Format("MCAP", ("*.mcap",), begins_with(_MAGIC), tables=_tables)
