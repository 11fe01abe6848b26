"""Files of seismology, SEED, SAC and GSE2, by obspy: traces, whose segments are put together with their gaps."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from replay.formats.base import Format, Selection
from replay.formats.channels import FileChannel, tables_of_channels
from replay.formats.memory import check_memory
from replay.formats.reading import damage_reported, optional
from replay.formats.signal_table import SignalTable

_RECORD = re.compile(rb"^(\d{6}[DRQMV][ \0]|MS\x03|WID2 )")
_SAC_HEADER, _SAC_VERSION, _SAC_COUNT = 632, 304, 316  # bytes, and where they are
_WHAT = "a miniSEED or SAC file"
_INFLATED = 24.0  # times the file: packed differences of a byte become numbers of eight, and are copied


def is_seismic(path: Path, head: bytes, selection: Selection) -> bool:  # noqa: ARG001 the signature of Format
    """Whether the file begins as SEED or GSE2 does, or has the header of SAC and its length, or its name."""
    return _RECORD.match(head) is not None or path.suffix.lower() == ".sac" or _is_sac(path, head)


def _is_sac(path: Path, head: bytes) -> bool:
    if len(head) < _SAC_HEADER:
        return False
    size = path.stat().st_size
    for order in ("<i4", ">i4"):
        version, count = (int(np.frombuffer(head, order, 1, at)[0]) for at in (_SAC_VERSION, _SAC_COUNT))
        if version in (6, 7) and count > 0 and size >= _SAC_HEADER + 4 * count:
            return True
    return False


def _tables(path: Path) -> list[SignalTable]:
    obspy = optional("obspy", _WHAT, path, "seismic")
    check_memory(path, _INFLATED * path.stat().st_size)
    with damage_reported(path, _WHAT, logger="obspy"):
        stream = obspy.read(str(path))
        texts = [f"{trace.id} (text)" for trace in stream if trace.data.dtype.kind not in "fiu"]
        stream.traces = [trace for trace in stream if trace.data.dtype.kind in "fiu"]
        notes = _overlaps(stream)
        stream.merge(method=0)
        origin = min((trace.stats.starttime for trace in stream), default=None)
        ids = [trace.id for trace in stream]
        channels = [_channel(trace, origin, ids) for trace in stream if len(trace) > 1]
    return tables_of_channels(path, channels, notes, texts)


def _overlaps(stream: Any) -> list[str]:
    """Return notes on what is in a file twice."""
    return [
        f"{'.'.join(gap[:4])}: {-gap[6]:g} s are there twice; where they differ, they are missing"
        for gap in stream.get_gaps()
        if gap[6] < 0.0
    ]


def _channel(trace: Any, origin: Any, ids: list[str]) -> FileChannel:
    values = np.ma.filled(np.ma.asarray(trace.data).astype(np.float64), np.nan)
    codes = [each.rpartition(".")[2] for each in ids]
    code = trace.stats.channel or trace.stats.station or "trace"
    name = code if codes.count(trace.stats.channel) == 1 else trace.id
    start = float(trace.stats.starttime - origin)
    rate = float(f"{trace.stats.sampling_rate:.9g}")
    return FileChannel("", name, len(values), lambda a, b: values[a:b], rate=rate, start=start)


FORMAT = Format("miniSEED or SAC", ("*.mseed", "*.miniseed", "*.sac"), is_seismic, tables=_tables)
