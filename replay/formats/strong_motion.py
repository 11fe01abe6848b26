"""Strong motions as networks publish them: COSMOS and CSMIP volumes of several channels, and K-NET or KiK-net."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from math import ceil
from pathlib import Path

import numpy as np

from monitor.messages.blocks import Samples
from replay.formats.base import RecordingError
from replay.formats.reading import check_memory

_IN_MEMORY = 4  # times the file: text, lines and numbers
_K_NET = re.compile(rb"^(\xef\xbb\xbf)?\s*Origin Time\s.*\n(.*\n){5,20}?Scale Factor\s", re.MULTILINE)
_COSMOS = re.compile(rb"^[^\n]*\(format v[\d.]+ with", re.IGNORECASE)
_CSMIP = re.compile(rb"^\s*(un)?corrected\s+accelerogram\b", re.IGNORECASE)
# 42000 acceleration pts, approx  210 secs, units=cm/sec2(04),Format=(8F10.5)
_COSMOS_BLOCK = re.compile(
    r"^\s*(\d+)\s+(.*?)\s*pts,?\s*approx\.?\s+([\d.]+)\s*secs?,\s*units=\s*([^,(]*?)\s*\([^)]*\)\s*,\s*Format=\s*"
    r"\((?:\dP)?(\d*)[A-Z](\d+)",
    re.IGNORECASE,
)
# 15050 points of accel data equally spaced at  .020 sec, in cm/sec2. (8f10.6)
_CSMIP_BLOCK = re.compile(
    r"^\s*(\d+)\s+points of (accel|veloc|displ)\w*\.? data equally spaced at\s+([\d.]+)\s*sec"
    r"(?:\.|,)?(?:\s*,?\s*in\s+([^\s(]+?)\.?)?\s*(?:\((?:\dP)?(\d*)[A-Z](\d+)[^)]*\))?\s*$",
    re.IGNORECASE,
)
_BLOCK = re.compile(
    r"\d+ (?=.*\bpts\b)(?=.*\bFormat ?=)|\d+ (?=.*\bpoints of )(?=.*\bequally spaced\b)", re.IGNORECASE
)
_LONGEST = 200  # characters of a line that says what follows
_REAL_HEADER = re.compile(r"^\s*(\d+)\s+Real-header values follow on\s+(\d+)\s+lines", re.IGNORECASE)
_CHANNEL = re.compile(r"\bChan(?:nel)?\s*(\S+?)\s*:\s*(\S+(?:\s+deg\b)?)", re.IGNORECASE)
_INTERVAL_MS, _INTERVAL_S = 61, 33  # places in COSMOS' real header, of the data and of the raw record
_APPROXIMATE = 1.0  # s


@dataclass(frozen=True, eq=False)
class MotionTrace:
    """One channel: its name, accelerations, (n,), their unit, empty if it is not given, and rate, Hz; notes on it."""

    name: str
    values: Samples
    unit: str
    rate: float
    notes: tuple[str, ...] = ()


def network_of(head: bytes) -> str:
    """Return by its first bytes what a file of a strong motion network is; empty for others."""
    if _K_NET.match(head):
        return "K-NET"
    return "COSMOS" if _COSMOS.match(head) else "CSMIP" if _CSMIP.match(head) else ""


def read_strong_motion(path: Path, network: str) -> list[MotionTrace]:
    """Return the accelerations in a file of a network, as `network_of` calls it.

    Raises
    ------
    RecordingError : it holds none, or is damaged or cut; one line, without the file's name.
    """
    check_memory(path, _IN_MEMORY * path.stat().st_size)
    text = path.read_text(encoding="latin-1")
    return [_k_net(text)] if network == "K-NET" else _volumes(text)


def end_of_numbers(text: str, first: int) -> tuple[str, ...]:
    """Return a note where the last number of a file may be cut, whose numbers begin at a line counted from 0.

    Raises
    ------
    RecordingError : it is cut; one line.
    """
    if text.endswith(("\n", "\r")):
        return ()
    lines = text.splitlines()
    width = _width(lines[first:-1])
    if width and len(lines[-1]) % width:
        raise RecordingError(f"line {len(lines)}, the last one, is shorter than its numbers: it is cut off")
    return () if width else ("the last line has no end: its last number may be cut short",)


def _width(lines: list[str]) -> int:
    """Return the characters of a number, where all lines have as many of both; else 0."""
    sizes = {(len(line), len(line.split())) for line in lines}
    length, count = sizes.pop() if len(sizes) == 1 else (0, 1)
    return length // count if count and length % count == 0 else 0


def _k_net(text: str) -> MotionTrace:
    """Counts below a header of keys, whose scale is a fraction: 3920(gal)/6182761."""
    lines = text.splitlines()
    first = next((at for at, line in enumerate(lines, 1) if line.startswith("Memo")), len(lines))
    given = {line[:18].strip(): line[18:].strip() for line in lines[:first]}
    scale = re.match(r"([\d.]+)\s*\(([^)]+)\)\s*/\s*([\d.]+)", given.get("Scale Factor", ""))
    rate = re.match(r"[\d.]+", given.get("Sampling Freq(Hz)", ""))
    if scale is None or rate is None or not float(rate[0]) * float(scale[3]) > 0.0:
        raise RecordingError("no 'Sampling Freq(Hz)', or no 'Scale Factor' such as 3920(gal)/6182761, in its header")
    ended = end_of_numbers(text, first)
    rows = [_cells(line, None, at) for at, line in enumerate(lines[first:], first + 1)]
    counts = np.concatenate(rows or [np.empty(0)])
    seconds = re.match(r"[\d.]+", given.get("Duration Time(s)", ""))
    if seconds is not None and len(counts) != round(float(seconds[0]) * float(rate[0])):
        raise RecordingError(
            f"{len(counts)} values, but {seconds[0]} s at {rate[0]} Hz: it is cut off, or its header is wrong"
        )
    values = counts * (float(scale[1]) / float(scale[3]))
    mean = float(np.mean(values)) if len(values) else 0.0
    note = f"the offset of the instrument, a mean of {mean:.4g} {scale[2]}, is taken out"
    return MotionTrace(
        given.get("Dir.", "") or "acceleration", values - mean, scale[2], float(rate[0]), (note, *ended)
    )


def _volumes(text: str) -> list[MotionTrace]:
    """Blocks of numbers below a line that says how many they are, of what, and how they are written."""
    traces, others, channel, real = list[MotionTrace](), list[str](), "", np.empty(0)
    lines = text.splitlines()
    rows = iter(enumerate(lines, 1))
    for at, line in rows:
        # the expressions take long over long lines, and over many spaces
        whole = " ".join(line.split())
        said = whole[:_LONGEST]
        named = _CHANNEL.search(said)
        channel = f"{named[1]} {named[2]}" if named else channel
        header = _REAL_HEADER.match(said)
        if header is not None:
            body = [_cells(each, None, number) for number, each in islice(rows, int(header[2]))]
            real = np.concatenate(body or [np.empty(0)])
        if not _BLOCK.match(whole):
            continue
        cosmos, csmip = _COSMOS_BLOCK.match(said), _CSMIP_BLOCK.match(said)
        block = cosmos or csmip
        if block is None:
            raise RecordingError(
                f"line {at} is not understood: {said[:80]!r}; it must say how the numbers below it are written, "
                "such as '.. Format=(8F10.5)' of COSMOS or '.. in cm/sec2. (8f10.6)' of CSMIP"
            )
        count, what = int(block[1]), block[2]
        per, width = int(block[5] or 1), int(block[6] or 0) or None
        found = _block(rows, count, per, width, at)
        if "accel" not in what.lower():
            others.append(what)
            continue
        interval = float(block[3]) if csmip else _interval(real, count, float(block[3]), at)
        if not interval > 0.0:
            raise RecordingError(f"line {at}: an interval of {interval:g} s")
        name = channel or f"channel {len(traces) + 1}"
        ended = end_of_numbers(text, at) if width is None and at + ceil(count / per) == len(lines) else ()
        traces.append(MotionTrace(name, found, block[4] or "", 1.0 / interval, ended))
    if not traces:
        held = f", only {', '.join(dict.fromkeys(others))}" if others else ""
        raise RecordingError(f"no block of accelerations{held}: give the file of the corrected acceleration")
    return traces


def _block(rows: Iterator[tuple[int, str]], count: int, per: int, width: int | None, at: int) -> Samples:
    parts = [_cells(line, width, number) for number, line in islice(rows, ceil(count / per))]
    values = np.concatenate(parts or [np.empty(0)])
    if len(values) != count:
        raise RecordingError(f"{len(values)} values below line {at}, which says {count}: it is cut off or damaged")
    return values


def _cells(line: str, width: int | None, number: int) -> Samples:
    """Return the numbers of a line; those of a width may touch each other."""
    text = line.rstrip()
    if width and len(text) % width:
        raise RecordingError(f"line {number} has {len(text)} characters, no multiple of {width}: it is cut off")
    cells = [text[k : k + width] for k in range(0, len(text), width)] if width else text.split()
    try:
        found = np.array([float(cell) for cell in cells])
    except ValueError:
        found = np.full(1, np.nan)
    if not np.all(np.isfinite(found)):
        raise RecordingError(f"line {number} is no row of numbers: {text[:30]!r}")
    return found


def _interval(real: Samples, count: int, seconds: float, at: int) -> float:
    """Return the interval of COSMOS' header that fits the length of a block."""
    given = [
        float(real[place]) * unit for place, unit in ((_INTERVAL_MS, 1e-3), (_INTERVAL_S, 1.0)) if place < len(real)
    ]
    fits = [dt for dt in given if dt > 0.0 and abs(count * dt - seconds) <= _APPROXIMATE + 0.01 * seconds]
    if not fits:
        raise RecordingError(
            f"line {at}: no interval in the real header fits {count} values in about {seconds:g} s: correct one"
        )
    return fits[0]
