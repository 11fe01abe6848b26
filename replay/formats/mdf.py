"""ASAM's MDF files of versions 3 and 4, by asammdf: channel groups, each with times of its own."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from traceback import clear_frames
from types import ModuleType
from typing import IO, Any

import numpy as np

from replay.formats.base import Format, begins_with
from replay.formats.channels import FileChannel, TextChannel, tables_of_channels
from replay.formats.reading import CUT_SHORT, check_memory, damage_reported, optional
from replay.formats.signal_table import SignalTable
from replay.formats.units import unit_symbol

_MAGIC, _UNFINISHED = b"MDF     ", b"UnFinMF "
_WHAT = "an MDF file"
_REMOTE_MASTER, _TIME = 1 << 3, 1  # of a group of MDF 4.2, and of a master that is not one of angles or counts
_COPIES = 3.0  # of the values, while they are read and converted


def _tables(path: Path) -> list[SignalTable]:
    asammdf = optional("asammdf", _WHAT, path, "mdf")
    channels: list[FileChannel] = []
    texts: list[TextChannel] = []
    left_out: list[str] = []
    with path.open("rb") as raw:
        cut = raw.read(len(_UNFINISHED)) == _UNFINISHED
    with damage_reported(path, _WHAT, logger="asammdf"), path.open("rb") as raw, _opened(asammdf, raw) as file:
        sizes = [int(group.channel_group.cycles_nr) * len(group.channels) for group in file.groups]
        check_memory(path, 8.0 * _COPIES * sum(sizes))
        for number, group in enumerate(file.groups):
            name = _name(group, number)
            timed = _master_of_time(file, number) is not None
            times, said, numbers = None, list[TextChannel](), len(channels)
            for signal in _signals(file, number, group):
                values = np.asarray(signal.samples)
                if timed and times is None:
                    times = np.asarray(signal.timestamps, dtype=np.float64)
                if times is not None and len(values) != len(times):
                    raise ValueError(f"{signal.name} has {len(values)} samples and {len(times)} times")
                if values.dtype.kind in "SU" and values.ndim == 1 and len(values):
                    said.append(TextChannel(name, signal.name, [_text(each) for each in values.tolist()]))
                elif values.dtype.kind not in "fiub" or values.ndim != 1 or len(values) < 2:
                    kind = f"{len(values)} samples" if len(values) < 2 else "no numbers"
                    left_out.append(f"{signal.name} ({kind})")
                else:
                    channels.append(_channel(name, signal, values.astype(np.float64), times))
            # texts alone are markers, at times of their own
            texts += said if len(channels) > numbers else [replace(each, times=times) for each in said]
    return tables_of_channels(path, channels, (CUT_SHORT,) if cut else (), left_out, texts, cut=cut)


@contextmanager
def _opened(asammdf: ModuleType, raw: IO[bytes]) -> Iterator[Any]:
    """Open a file; where that fails half-way, what is dropped of it would print a traceback."""
    try:
        file = asammdf.MDF(raw)
    except Exception as problem:
        hook, sys.unraisablehook = sys.unraisablehook, lambda _: None
        failed: BaseException | None = problem
        while failed is not None:
            clear_frames(failed.__traceback__)
            failed = failed.__context__
        gc.collect()
        sys.unraisablehook = hook
        raise
    with file:
        yield file


def _master_of_time(file: Any, number: int) -> int | None:
    """Return the channel of a group's times, also that of another group; None if it has an angle, or nothing."""
    group = file.groups[number].channel_group
    owner = group.cg_master_index if getattr(group, "flags", 0) & _REMOTE_MASTER else number
    master: int | None = file.masters_db.get(owner)
    if master is None or getattr(file.groups[owner].channels[master], "sync_type", _TIME) != _TIME:
        return None
    return master if owner == number else -1


def _signals(file: Any, number: int, group: Any) -> Iterator[Any]:
    """Give the signals of a group but its times; samples that the file calls invalid are kept apart."""
    times, data = _master_of_time(file, number), None
    if file.version >= "4.00":  # unpacked once, and not for each channel
        read = file._mdf._load_data(group)
        # the next part may overwrite the bytes of one
        parts = [(bytes(part.data), bytes(part.invalidation_data or b""), part.record_count) for part in read]
        values, bits, counts = zip(*parts, strict=True)
        whole = import_module("asammdf.blocks.utils").Fragment
        data = whole(b"".join(values), 0, sum(counts), b"".join(bits) or None)
    for index in range(len(group.channels)):
        if index != times:
            yield file.get(group=number, index=index, data=data, ignore_invalidation_bits=True)


def _channel(group: str, signal: Any, values: np.ndarray, times: np.ndarray | None) -> FileChannel:
    invalid = signal.invalidation_bits
    if invalid is not None:
        values = np.where(np.asarray(invalid, dtype=bool), np.nan, values)
    return FileChannel.of(group, signal.name, values, unit_symbol(signal.unit), times=times)


def _name(group: Any, number: int) -> str:
    """Return the name of a group: that of its acquisition, or its number."""
    return str(getattr(group.channel_group, "acq_name", "") or f"group {number + 1}")


def _text(value: object) -> str:
    return (value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)).rstrip("\0 ")


FORMAT = Format("ASAM MDF", ("*.mf4", "*.mdf"), begins_with(_MAGIC, _UNFINISHED), tables=_tables)
