"""LSL's XDF files, as of LabRecorder, by pyxdf: streams, each with the times of its samples on one clock."""

from __future__ import annotations

import gzip
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from monitor.messages.blocks import Samples
from monitor.wire.sample_numbering import SampleNumbering
from replay.formats.base import Format, RecordingError, Selection
from replay.formats.channels import FileChannel, TextChannel, tables_of_channels
from replay.formats.reading import CUT_SHORT, check_memory, damage_reported, optional
from replay.formats.signal_table import SignalTable
from replay.formats.units import unit_symbol

_MAGIC, _GZIP = b"XDF:", b"\x1f\x8b"
_WHAT = "an XDF file"
_LENGTHS = (1, 4, 8)
_HEADER, _SAMPLES, _WITH_XML = 2, 3, (1, 2, 6)
_CHANNELS = re.compile(rb"<channel_count>\s*(\d{1,18})\s*<")
_IN_MEMORY = 2  # times the chunks: the values and the times
_PIECE = 1 << 22  # bytes between two looks at the memory
_BOUNDARY = bytes.fromhex("43a546dccbf5410fb30ed5467383cbe4")
_LARGEST_CHUNK = 1 << 24  # bytes
_AT_ONCE = 1024  # samples
_WRONG = 0.02  # of the nominal rate


def is_xdf(path: Path, head: bytes, selection: Selection) -> bool:  # noqa: ARG001 the signature of Format
    """Whether the file begins as XDF does, or is compressed and called so."""
    packed = path.suffix.lower() == ".xdfz" or path.name.lower().endswith(".xdf.gz")
    return head.startswith(_MAGIC) or (packed and head.startswith(_GZIP))


def _is_packed(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == _GZIP


def _open(path: Path) -> IO[bytes]:
    return gzip.open(path, "rb") if _is_packed(path) else path.open("rb")  # type: ignore[return-value]


def _check_chunks(path: Path) -> int:
    """Return where the last whole chunk ends, after a check that each holds what it says.

    Pyxdf reads what is missing as zeros or old values.

    Raises
    ------
    RecordingError : a chunk has no length, or ends beyond the file; or the file does not fit into memory.
    ValueError : a header has a document type, or a chunk more samples than bytes; without the file's name.
    """
    widths: dict[bytes, int] = {}
    with _open(path) as file:
        size = float("inf") if _is_packed(path) else path.stat().st_size
        at, checked = len(file.read(len(_MAGIC))), 0
        while width := file.read(1):
            digits = file.read(width[0]) if width[0] in _LENGTHS else b""
            if digits and len(digits) < width[0]:
                return _before_cut(path, at)
            length = int.from_bytes(digits, "little")
            if length < 2:
                raise RecordingError(f"{path}: damaged or cut short: no chunk begins at byte {at}")
            at += 1 + width[0] + length
            if checked < at <= size:
                checked = at + _PIECE
                check_memory(path, _IN_MEMORY * checked)
            content = file.read(length) if at <= size else b""
            if len(content) < length:
                return _before_cut(path, at - 1 - width[0] - length)
            tag, stream = int.from_bytes(content[:2], "little"), content[2:6]
            if tag in _WITH_XML and (b"<!DOCTYPE" in content or b"\0" in content[6:]):
                raise ValueError("a header has a document type or zeros")
            if tag == _HEADER:
                count = _CHANNELS.search(content)
                widths[stream] = int(count[1]) if count else 0
            # a sample has a byte at least, and so has each of its channels
            if tag == _SAMPLES and _count(content[6:15]) * (1 + widths.get(stream, 0)) > length:
                raise ValueError("a chunk says that it has more samples than its bytes")
    return at


def _before_cut(path: Path, at: int) -> int:
    """Return `at`, where a chunk begins that ends beyond the file, unless a wrong length makes it seem so.

    Raises
    ------
    RecordingError : other chunks follow.
    """
    with path.open("rb") as file:
        file.seek(at)
        rest = file.read(_LARGEST_CHUNK + 1)
    if _is_packed(path) or _BOUNDARY in rest or b"<sample_count>" in rest or len(rest) > _LARGEST_CHUNK:
        raise RecordingError(f"{path}: damaged or cut short: its last chunk ends beyond the file")
    return at


def _count(data: bytes) -> int:
    """Return the number of samples at the beginning of a chunk: its width and its bytes."""
    return int.from_bytes(data[1 : 1 + data[0]], "little") if data else 0


def _tables(path: Path) -> list[SignalTable]:
    pyxdf = optional("pyxdf", _WHAT, path)
    channels, left_out, texts = [], [], []
    with damage_reported(path, _WHAT, logger="pyxdf"):
        end = _check_chunks(path)
        cut = not _is_packed(path) and end < path.stat().st_size

        def load(*, synchronize: bool) -> list[dict[str, Any]]:
            with _open(path) as whole:
                file = io.BytesIO(whole.read(end)) if cut else whole
                # its own removal of jitter spreads a gap over all samples
                loaded = pyxdf.load_xdf(file, synchronize_clocks=synchronize, dejitter_timestamps=False)
            return list(loaded[0])

        streams, notes = load(synchronize=True), [CUT_SHORT] if cut else []
        names = [_text(stream["info"], "name") or "stream" for stream in streams]
        lines = [line_without_false_offsets(name, stream) for name, stream in zip(names, streams, strict=True)]
        if any(lines):
            as_sent = {stream["info"]["stream_id"]: stream for stream in load(synchronize=False)}
        missing = without_offsets(names, streams)
        notes += [missing] if missing else []
        for stream, line in zip(streams, lines, strict=True):
            if line is not None:
                sent = as_sent[stream["info"]["stream_id"]]["time_stamps"]
                stream["time_stamps"] = line.corrected(np.asarray(sent, dtype=np.float64))
                notes.append(line.note)
        for stream in streams:
            about = stream["info"]
            name, values, times = _text(about, "name") or "stream", stream["time_series"], stream["time_stamps"]
            if isinstance(values, list) and values and isinstance(values[0], list):
                # markers, with times of the same clock
                parts = zip(*values, strict=True)
                texts += [TextChannel(name, name, part, np.asarray(times, dtype=np.float64)) for part in parts]
                continue
            if not isinstance(values, np.ndarray) or values.dtype.kind not in "fiu" or len(times) < 2:
                left_out.append(f"{name} ({len(times)} samples of {_text(about, 'channel_format')})")
                continue
            _check_count(path, name, stream)
            rate = _rate(about)
            # the fit leaves noise in the last digits
            times = np.round(even_times(times, rate) if rate else times, 9)
            if "footer" not in stream:
                notes.append(f"stream {name} was not closed: it may be cut short")
                cut = True
            notes.append(f"{name}: {_rates(about)}, times of the clock of LSL without jitter")
            described = _described(about)
            for number in range(values.shape[1]):
                label, unit, scales = described.get(number, (f"{name}_{number + 1}", "", {}))
                column = values[:, number].astype(np.float64)
                channels.append(FileChannel.of(name, label, column, unit_symbol(unit), times=times, about=scales))
    return tables_of_channels(path, channels, notes, left_out, texts, cut=cut)


def _check_count(path: Path, name: str, stream: Mapping[str, Any]) -> None:
    """Compare the samples that are there with the number in the footer."""
    footer = stream.get("footer")
    count = _text(footer["info"], "sample_count") if footer and isinstance(footer.get("info"), dict) else ""
    if count.isdecimal() and int(count) != len(stream["time_stamps"]):
        there = len(stream["time_stamps"])
        raise RecordingError(f"{path}: damaged: {there} samples of {name} are there, {count} were written")


def even_times(stamps: Samples, rate: float) -> Samples:
    """Return times without jitter, evenly spaced but for gaps where samples are lost.

    Samples are numbered as those of a live stream, by the nominal rate unless that is plainly wrong. The interval is
    that of all stretches without a gap, by least squares.

    Parameters
    ----------
    stamps : (n,), s, of a stream of evenly spaced samples.
    rate : nominal, Hz.
    """
    steps = np.diff(stamps)
    usual = float(np.median(steps))
    if abs(usual * rate - 1.0) > _WRONG and np.mean(np.abs(steps - usual) < 0.1 * usual) > 0.5:
        rate = 1.0 / usual
    numbering, rows = SampleNumbering(rate), np.arange(float(len(stamps)))[:, None]
    parts = np.split(np.arange(len(stamps)), range(_AT_ONCE, len(stamps), _AT_ONCE))
    runs = [run for part in parts for run in numbering.accept(stamps[part], rows[part])]
    number = np.concatenate([run.number + np.arange(len(run.samples)) for run in (*runs, *numbering.flush())])
    stretch = np.cumsum(np.diff(number, prepend=number[0]) > 1)
    count = np.bincount(stretch)
    middles = [np.bincount(stretch, values) / count for values in (number, stamps)]
    x, y = number - middles[0][stretch], stamps - middles[1][stretch]
    square = float(x @ x)
    dt = float(x @ y) / square if square else 1.0 / rate
    # the length of a gap by the actual interval, not by the nominal one
    apart = np.round((middles[1] - middles[1][0]) / dt - (middles[0] - middles[0][0]))
    # in order, whatever the stamps are
    order = np.arange(len(stamps))
    number = np.maximum.accumulate(number + apart[stretch] - order) + order
    times: Samples = dt * number + float(np.mean(stamps - dt * number))
    return times


def _rate(about: Mapping[str, Any]) -> float:
    return float(_text(about, "nominal_srate") or 0.0)


def _rates(about: Mapping[str, Any]) -> str:
    nominal = _rate(about)
    return f"nominally {nominal:g} Hz" if nominal else "no nominal rate"


def _text(about: Mapping[str, Any], key: str) -> str:
    """Return a text of the header, whose elements are lists."""
    value = about.get(key)
    first = value[0] if isinstance(value, list) and value else value
    return first.strip() if isinstance(first, str) else ""


def _described(about: Mapping[str, Any]) -> dict[int, tuple[str, str, dict[str, str]]]:
    """Return label, unit and other texts of the channels that the header describes."""
    found = {}
    try:
        described = about["desc"][0]["channels"][0]["channel"]
    except (KeyError, IndexError, TypeError):
        return {}
    for number, channel in enumerate(described):
        if isinstance(channel, Mapping) and _text(channel, "label"):
            texts = {key: _text(channel, key) for key in channel}
            found[number] = _text(channel, "label"), _text(channel, "unit"), texts
    return found


FORMAT = Format("LSL XDF", ("*.xdf", "*.xdfz", "*.xdf.gz"), is_xdf, tables=_tables)


_LEAST = 5e-3  # s off the others
_SPREADS = 20.0  # of the usual deviation
_MOST = 0.25  # of the offsets
_FEWEST = 4


@dataclass(frozen=True, eq=False)
class ClockLine:
    """The offset of a stream's clock, s, as a line over its time, without false ones; and what is said of these."""

    slope: float
    offset: float
    origin: float
    note: str

    def corrected(self, stamps: Samples) -> Samples:
        """Return time stamps, (n,) s, on the common clock."""
        return stamps + self.offset + self.slope * (stamps - self.origin)


def line_without_false_offsets(name: str, stream: Mapping[str, Any]) -> ClockLine | None:
    """Return the line through the offsets of a stream; None where none is false, or they are too few to tell."""
    at, offsets = (np.asarray(stream.get(key, ()), dtype=np.float64) for key in ("clock_times", "clock_values"))
    if len(at) < _FEWEST or len(at) != len(offsets):
        return None
    x = at - at[0]
    first, second = np.triu_indices(len(x[:200]), 1)
    apart = x[second] - x[first]
    slopes = (offsets[second] - offsets[first])[apart > 0.0] / apart[apart > 0.0]
    slope = float(np.median(slopes)) if len(slopes) else 0.0
    residual = offsets - slope * x
    deviation = np.abs(residual - np.median(residual))
    false = deviation > max(_LEAST, _SPREADS * float(np.median(deviation)))
    # one after the other they are those of a clock that was set, which pyxdf knows
    if not 0 < np.count_nonzero(false) <= _MOST * len(at) or np.any(false[1:] & false[:-1]):
        return None
    good = ~false
    slope, offset = np.polyfit(x[good], offsets[good], 1) if np.count_nonzero(good) > 1 else (0.0, offsets[good][0])
    count, off = np.count_nonzero(false), 1e3 * float(np.max(deviation))
    note = f"{name}: {count} of {len(at)} clock offsets are false, by {off:.0f} ms, and not used"
    return ClockLine(float(slope), float(offset), float(at[0]), note)


def without_offsets(names: Sequence[str], streams: Sequence[Mapping[str, Any]]) -> str:
    """Return a note on streams without clock offsets where others have some; empty if there are none."""
    bare = [name for name, stream in zip(names, streams, strict=True) if not len(stream.get("clock_values", ()))]
    if not bare or len(bare) == len(streams):
        return ""
    return (
        f"{', '.join(bare)}: no clock offsets are in the file, so that the times are those of another clock, perhaps"
    )
