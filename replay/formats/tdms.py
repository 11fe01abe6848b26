"""LabVIEW's TDMS files, by npTDMS: groups of channels with the increment of their waveforms."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from monitor.messages.blocks import Samples
from replay.formats.base import Format, RecordingError, Selection
from replay.formats.channels import FileChannel, TextChannel, tables_of_channels
from replay.formats.reading import CUT_SHORT, as_numbers, damage_reported, optional
from replay.formats.signal_table import SignalTable
from replay.formats.units import unit_symbol

_MAGIC, _INDEX = b"TDSm", b"TDSh"
_LEAD = struct.Struct("<4s4sIQQ")
_BIG_ENDIAN = 1 << 6
_UNKNOWN = (1 << 64) - 1
_WHAT = "a TDMS file"
_SECOND = np.timedelta64(1, "s")
_UNITS = ("unit_string", "NI_UnitDescription", "Unit", "unit")


def is_tdms(path: Path, head: bytes, selection: Selection) -> bool:  # noqa: ARG001 the signature of Format
    """Whether the file begins with a segment of TDMS, or with one of an index."""
    return head.startswith((_MAGIC, _INDEX))


def _cut(path: Path) -> bool:
    """Return whether the last segment is not whole, as LabVIEW leaves it when it is stopped.

    Raises
    ------
    RecordingError : the chain of segments is broken.
    """
    size, at = path.stat().st_size, 0
    with path.open("rb") as file:
        while at < size:
            file.seek(at)
            lead = file.read(_LEAD.size)
            if not _MAGIC.startswith(lead[:4]):
                raise RecordingError(f"{path}: damaged: no segment begins at byte {at}")
            if len(lead) < _LEAD.size:
                return True
            big = bool(int.from_bytes(lead[4:8], "little") & _BIG_ENDIAN)
            (length,) = struct.unpack(">Q" if big else "<Q", lead[12:20])
            if length == _UNKNOWN or at + _LEAD.size + length > size:
                return True
            at += _LEAD.size + length
    return False


def _tables(path: Path) -> list[SignalTable]:
    nptdms = optional("nptdms", _WHAT, path)
    with path.open("rb") as raw:
        if raw.read(4) == _INDEX:
            raise RecordingError(f"{path}: is only the index of a TDMS file: open {path.stem}.tdms")
    cut = _cut(path)
    channels, left_out, texts = [], [], []
    # not by its name: an index beside it may be of another file
    with damage_reported(path, _WHAT, logger="nptdms"), path.open("rb") as raw, nptdms.TdmsFile.open(raw) as file:
        started = [_started(channel) for group in file.groups() for channel in group.channels()]
        first = min((when for when in started if when is not None), default=None)
        for group in file.groups():
            found = [channel for channel in group.channels() if _is_numbers(channel)]
            others = [channel for channel in group.channels() if not _is_numbers(channel)]
            words = [channel for channel in others if len(channel) > 1 and np.dtype(channel.dtype).kind in "OUS"]
            texts += [TextChannel(group.name, c.name, list(c.read_data())) for c in words]
            left_out += [f"{c.name} ({_kind(c)})" for c in others if c not in words]
            shortest = min((len(channel) for channel in found), default=0)
            for channel in found:
                # a cut segment may have given the first channels more samples than the last
                n_rows = shortest if cut and len(channel) - shortest <= _last_segment(channel) else len(channel)
                channels.append(_channel(path, group.name, channel, n_rows, first))
    return tables_of_channels(path, channels, (CUT_SHORT,) if cut else (), left_out, texts, cut=cut)


def _is_numbers(channel: Any) -> bool:
    return len(channel) > 1 and np.dtype(channel.dtype).kind in "fiubM"


def _kind(channel: Any) -> str:
    return f"{len(channel)} samples" if len(channel) < 2 else "no numbers"


def _last_segment(channel: Any) -> int:
    """Return how many samples a segment may have had; the waveform's number of samples where it is given."""
    return int(channel.properties.get("wf_samples", 0)) or len(channel)


def _started(channel: Any) -> np.datetime64 | None:
    """Return when the waveform began; None where that is not given, as by the zero of LabVIEW, 1904."""
    when = channel.properties.get("wf_start_time")
    known = isinstance(when, np.datetime64) and _is_numbers(channel) and when > np.datetime64("1905-01-01")
    return when if known else None


def _channel(path: Path, group: str, channel: Any, n_rows: int, first: np.datetime64 | None) -> FileChannel:
    said = channel.properties
    unit = next((unit_symbol(said[key]) for key in _UNITS if str(said.get(key, "")).strip()), "")
    step, began = float(said.get("wf_increment", 0.0)), _started(channel)
    day = None
    if np.dtype(channel.dtype).kind == "M":
        day = as_numbers(np.asarray(channel.read_data(0, n_rows)))[1]
    return FileChannel(
        group,
        channel.name,
        n_rows,
        _rows(path, group, channel.name, day),
        unit,
        # rounded as the increment is
        rate=float(f"{1.0 / step:.12g}") if 0.0 < step < float("inf") else None,
        # waveforms are on one clock: that of the first start
        start=float(said.get("wf_start_offset", 0.0)) + (0.0 if began is None else (began - first) / _SECOND),
        day=day,
        about={key: value for key, value in said.items() if not key.startswith(("NI_", "wf_"))},
    )


def _rows(path: Path, group: str, name: str, day: int | None) -> Callable[[int, int], Samples]:
    def read(begin: int, end: int) -> Samples:
        nptdms = optional("nptdms", _WHAT, path)
        with damage_reported(path, _WHAT, logger="nptdms"), path.open("rb") as raw, nptdms.TdmsFile.open(raw) as file:
            values = np.asarray(file[group][name].read_data(begin, end - begin))
            if day is not None:
                since = values.astype("datetime64[ns]") - np.datetime64(day, "D")
                return np.asarray(since.astype(np.int64) / 1e9)
            return as_numbers(values)[0]

    return read


FORMAT = Format("LabVIEW TDMS", ("*.tdms",), is_tdms, tables=_tables)
