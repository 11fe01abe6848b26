"""Files of seismology, SEED, SAC and GSE2, by obspy: traces, whose segments are put together with their gaps."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from replay.formats.base import Format, RecordingError, Selection
from replay.formats.channels import FileChannel, tables_of_channels
from replay.formats.reading import check_memory, damage_reported, optional
from replay.formats.signal_table import SignalTable
from replay.formats.universal import rate_of

_RECORD = re.compile(rb"^(\d{6}[DRQMV][ \0]|MS\x03|WID2 )")
_SAC_TEXT = re.compile(rb"([ \dE.+-]{15}){5}\r?\n")  # the first row of its header
# bytes, and where they are
_SAC_HEADER, _SAC_VERSION, _SAC_COUNT, _SAC_KIND, _SAC_EVEN = 632, 304, 316, 340, 420
_SPECTRA = (2, 3)  # real and imaginary part, amplitude and phase
_SAC_INTERVAL = 1e-7  # relative, of float32
_WHAT = "a miniSEED or SAC file"
_FAR_APART = "gaps between its segments are kept; cut it where they lie far apart"
_INFLATED = 24.0  # times the file: packed differences of a byte become numbers of eight, and are copied


def is_seismic(path: Path, head: bytes, selection: Selection) -> bool:  # noqa: ARG001 the signature of Format
    """Whether the file begins as SEED or GSE2 does, or has the header of SAC, or its name and bytes."""
    named = path.suffix.lower() == ".sac" and (b"\0" in head or _SAC_TEXT.match(head) is not None)
    return _RECORD.match(head) is not None or named or bool(_sac_order(path, head))


def _sac_order(path: Path, head: bytes) -> str:
    """Return the order of bytes in a file of SAC; empty for others."""
    if len(head) < _SAC_HEADER:
        return ""
    size = path.stat().st_size
    for order in ("<i4", ">i4"):
        version, count = (int(np.frombuffer(head, order, 1, at)[0]) for at in (_SAC_VERSION, _SAC_COUNT))
        if version in (6, 7) and count > 0 and size >= _SAC_HEADER + 4 * count:
            return order
    return ""


def _check_even(path: Path) -> None:
    """Refuse what SAC holds beside evenly spaced samples."""
    with path.open("rb") as file:
        head = file.read(_SAC_HEADER)
    order = _sac_order(path, head)
    if not order or _RECORD.match(head):
        return
    kind, even = (int(np.frombuffer(head, order, 1, at)[0]) for at in (_SAC_KIND, _SAC_EVEN))
    if kind in _SPECTRA:
        raise RecordingError(f"{path}: a SAC file of a spectrum: give the file of the signal over time")
    if even == 0:
        raise RecordingError(
            f"{path}: a SAC file of unevenly spaced samples (LEVEN is false), which is not read: "
            "interpolate them in SAC, or write times and values as text"
        )


def _tables(path: Path) -> list[SignalTable]:
    obspy = optional("obspy", _WHAT, path, "seismic")
    check_memory(path, _INFLATED * path.stat().st_size)
    _check_even(path)
    with damage_reported(path, _WHAT, logger="obspy"):
        stream = obspy.read(str(path))
        texts = [f"{trace.id} (text)" for trace in stream if trace.data.dtype.kind not in "fiu"]
        stream.traces = [trace for trace in stream if trace.data.dtype.kind in "fiu"]
        notes = [*_overlaps(stream), *dict.fromkeys(note for trace in stream for note in _calibrate(trace))]
        parts = defaultdict[tuple[str, float], list[Any]](list)
        for trace in stream:
            parts[trace.id, trace.stats.sampling_rate].append(trace)
        check_memory(path, _INFLATED * sum(_samples(each) for each in parts.values()), _FAR_APART)
        whole = [trace for each in parts.values() for trace in obspy.Stream(each).merge(method=0)]
        origin = min((trace.stats.starttime for trace in whole), default=None)
        ids = [trace.id for trace in whole]
        channels = [_channel(trace, origin, ids) for trace in whole if len(trace) > 1]
    return tables_of_channels(path, channels, notes, texts)


def _calibrate(trace: Any) -> list[str]:
    """Make values numbers of one type, times the factor that the file gives; return a note on it."""
    factor = float(trace.stats.calib)
    trace.data, trace.stats.calib = trace.data.astype(np.float64), 1.0
    if factor == 1.0:
        return []
    if not (np.isfinite(factor) and factor):
        return [f"{trace.id}: a calibration factor of {factor:g} is not used"]
    trace.data *= factor
    return [f"{trace.id}: times the calibration factor of the file, {factor:g}"]


def _samples(parts: list[Any]) -> float:
    """Return the samples of a channel, those of the gaps between its parts among them."""
    end, start = max(each.stats.endtime for each in parts), min(each.stats.starttime for each in parts)
    return 1.0 + float(end - start) * float(parts[0].stats.sampling_rate)


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
    sac = trace.stats.get("sac")  # obspy rounds its interval to microseconds
    rate = rate_of(float(sac.delta), _SAC_INTERVAL) if sac else float(f"{trace.stats.sampling_rate:.9g}")
    name += f"_{rate:g}" * (ids.count(trace.id) > 1)
    return FileChannel.of("", name, values, rate=rate, start=start)


FORMAT = Format("miniSEED or SAC", ("*.mseed", "*.miniseed", "*.sac"), is_seismic, tables=_tables)
