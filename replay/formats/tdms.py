"""LabVIEW's TDMS files, by npTDMS: groups of channels with the increment of their waveforms."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from monitor.messages.blocks import Samples
from replay.formats.base import Format, RecordingError, begins_with
from replay.formats.channels import MICROSECONDS, FileChannel, TextChannel, paused_times, pauses, tables_of_channels
from replay.formats.reading import CUT_SHORT, as_numbers, damage_reported, optional
from replay.formats.signal_table import SignalTable
from replay.formats.units import unit_symbol

_MAGIC, _INDEX = b"TDSm", b"TDSh"
_LEAD = struct.Struct("<4s4sIQQ")
_BIG_ENDIAN = 1 << 6
_UNKNOWN = (1 << 64) - 1
_WHAT = "a TDMS file"
_YEAR = 365 * 86400  # s
_UNITS = ("unit_string", "NI_UnitDescription", "Unit", "unit")


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
    channels, left_out, texts, overlapping = [], [], [], []
    # not by its name: an index beside it may be of another file
    with damage_reported(path, _WHAT, logger="nptdms"), path.open("rb") as raw, nptdms.TdmsFile.open(raw) as file:
        starts = _segment_starts(path)
        numbers = [c.path for group in file.groups() for c in group.channels() if _is_numbers(c)]
        first = min((starts[each][0][1] for each in numbers if each in starts), default=0)
        clocks: dict[object, Samples] = {}
        for group in file.groups():
            found = [channel for channel in group.channels() if _is_numbers(channel)]
            others = [channel for channel in group.channels() if not _is_numbers(channel)]
            words = [channel for channel in others if len(channel) > 1 and np.dtype(channel.dtype).kind in "OUS"]
            texts += [TextChannel(group.name, c.name, list(c.read_data())) for c in words]
            kinds = [(c.name, f"{len(c)} samples" if len(c) < 2 else "no numbers") for c in others if c not in words]
            left_out += [f"{name} ({kind})" for name, kind in kinds]
            shortest = min((len(channel) for channel in found), default=0)
            for channel in found:
                # a cut segment may have given the first channels more samples than the last
                of_segment = int(channel.properties.get("wf_samples", 0)) or len(channel)
                n_rows = shortest if cut and len(channel) - shortest <= of_segment else len(channel)
                pieces = starts.get(channel.path, [])
                read = _channel(
                    path, group.name, channel, n_rows, (pieces[0][1] - first) / MICROSECONDS if pieces else 0.0
                )
                apart = pauses(pieces, read.rate or 0.0, n_rows)
                if apart and min(later for _, later in apart) > 0.0:
                    # the same array for all channels of a clock
                    key = group.name, n_rows, read.rate, read.start, apart
                    read = replace(read, times=clocks.setdefault(key, paused_times(read, apart)))
                elif apart:
                    overlapping.append(read.name)
                channels.append(read)
    notes = [CUT_SHORT] * cut
    if overlapping:
        notes.append(
            f"wf_start_time of a later segment is before the end of the one before ({', '.join(overlapping[:6])}): "
            "samples are taken to be consecutive, from the first start"
        )
    return tables_of_channels(path, channels, notes, left_out, texts, cut=cut)


def _is_numbers(channel: Any) -> bool:
    return len(channel) > 1 and np.dtype(channel.dtype).kind in "fiubM"


def _segment_starts(path: Path) -> dict[str, list[tuple[int, int]]]:
    """Return for each channel's path when its waveform began, and began again: number of the sample, and µs.

    A recorder that appends to a file gives the start anew, and npTDMS keeps the last one alone.
    """
    reader = optional("nptdms.reader", _WHAT, path).TdmsReader
    starts: dict[str, list[tuple[int, int]]] = {}
    before: dict[str, int] = {}

    class Starts(reader):  # type: ignore[misc,valid-type]  # npTDMS has no types
        def _update_object_properties(self, properties: Any) -> None:
            super()._update_object_properties(properties)
            for channel, given in (properties or {}).items():
                stamp = dict(given).get("wf_start_time")
                # LabVIEW's zero is that of 1904
                if stamp is None or getattr(stamp, "seconds", 0) <= _YEAR:
                    continue
                when = int(stamp.as_datetime64("us").astype(np.int64))
                row, pieces = before.get(channel, 0), starts.setdefault(channel, [])
                # many writers repeat the first start in every segment
                if not pieces or pieces[-1][1] != when:
                    pieces[:] = [*(each for each in pieces if each[0] < row), (row, when)]
            before.update((channel, known.num_values) for channel, known in self.object_metadata.items())

    with path.open("rb") as raw:
        Starts(raw).read_metadata()
    return starts


def _channel(path: Path, group: str, channel: Any, n_rows: int, later: float) -> FileChannel:
    said = channel.properties
    unit = next((unit_symbol(said[key]) for key in _UNITS if str(said.get(key, "")).strip()), "")
    step = float(said.get("wf_increment", 0.0))
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
        start=float(said.get("wf_start_offset", 0.0)) + later,
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


FORMAT = Format("LabVIEW TDMS", ("*.tdms",), begins_with(_MAGIC, _INDEX), tables=_tables)
