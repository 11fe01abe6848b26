"""Recorded ground motions from files: of PEER and other networks, and tables of any format with an acceleration."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

import numpy as np

from monitor.messages.blocks import Samples
from monitor.system.files import check_regular
from monitor.wire.native import MAX_RATE, MIN_RATE
from replay.formats import read_tables
from replay.formats.base import RecordingError, Selection
from replay.formats.columns import TableColumn, find_column, listing
from replay.formats.reading import check_memory
from replay.formats.signal_table import SignalTable
from replay.formats.strong_motion import end_of_numbers, network_of, read_strong_motion
from replay.formats.times import choose_time, sample_timing
from replay.formats.units import STANDARD_GRAVITY, si_factor, units_of

_HEADER_LINES = 20
_SERIES = "; a series in lines of several numbers needs 'NPTS= n, DT= s SEC' above it"
_HEAD = 1 << 14
_IN_MEMORY = 4  # times the file: text, lines and numbers
_NUMBER = r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)"
_ASSIGNED = re.compile(rf"\b(NPTS|DT)\s*=\s*{_NUMBER}", re.IGNORECASE)
_LISTED = re.compile(rf"^\s*{_NUMBER}[\s,]+{_NUMBER}[\s,]+NPTS[\s,]+DT\b", re.IGNORECASE)
_IN_UNITS = re.compile(r"UNITS?\s+OF\s+(\S+)", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class GroundMotion:
    """A recorded ground motion.

    Parameters
    ----------
    acceleration : (n,) m/s^2.
    sample_rate : Hz.
    notes : what was taken for granted, a sentence each.
    """

    acceleration: Samples
    sample_rate: float
    notes: tuple[str, ...] = ()


def read_ground_motion(
    path: str | Path, *, unit: str | None = None, column: str | None = None, rate: float | None = None
) -> GroundMotion:
    """Read a ground motion: AT2 of PEER, COSMOS, CSMIP, K-NET and KiK-net, known by their headers, or a table.

    Parameters
    ----------
    path : the file.
    unit : of its accelerations, g, m/s2, cm/s2, gal or mm/s2; None for the one that the file gives.
    column : of a file with several columns or channels, by header or by number from 1.
    rate : Hz, of a table without times.

    Raises
    ------
    RecordingError : something in the file is not clear; one line with its name.
    """
    path = Path(path)
    try:
        check_regular(path)
        with path.open("rb") as file:
            start = file.read(_HEAD)
        head = [] if b"\0" in start else start.decode("latin-1").splitlines()[:_HEADER_LINES]
        if path.suffix.lower() == ".at2" or any(re.search(r"\bNPTS\b", line, re.IGNORECASE) for line in head):
            return _read_peer(path, unit)
        network = network_of(start)
        if network:
            return _read_network(path, network, unit, column)
        return _read_tables(read_tables(path), unit, column, rate)
    except OSError as problem:
        raise RecordingError(f"{path}: {problem.strerror or problem}") from problem
    except RecordingError as problem:
        # the last line of a series is shorter than the others
        text = str(problem) + _SERIES * (" cells instead of " in str(problem))
        raise RecordingError(text if text.startswith(f"{path}: ") else f"{path}: {text}") from None


def _read_peer(path: Path, unit: str | None) -> GroundMotion:
    check_memory(path, _IN_MEMORY * path.stat().st_size)
    text = path.read_text(encoding="latin-1")
    lines = text.splitlines()
    head = lines[:_HEADER_LINES]
    given: dict[str, float] = {}
    for number, line in enumerate(head):
        listed = _LISTED.match(line)
        if listed:
            given = {"NPTS": float(listed[1]), "DT": float(listed[2])}
        else:
            given |= {name.upper(): float(value) for name, value in _ASSIGNED.findall(line)}
        if re.search(r"\bNPTS\b", line, re.IGNORECASE):
            first = number + 1
            break
    else:
        raise RecordingError(
            f"no NPTS in the first {_HEADER_LINES} lines: this is not an AT2 file of PEER; above bare numbers write "
            "'NPTS= n, DT= s SEC'"
        )
    # some files give DT on a line of its own
    if "DT" not in given and first < len(lines) and re.search(r"\bDT\b", lines[first], re.IGNORECASE):
        given |= {name.upper(): float(value) for name, value in _ASSIGNED.findall(lines[first])}
        first += 1
    for name in ("NPTS", "DT"):
        if name not in given:
            raise RecordingError(f"no {name} in its header: add it as '{name}= value' to line {first}")
    n_samples, dt = given["NPTS"], given["DT"]
    if not (dt > 0.0 and MIN_RATE <= 1.0 / dt <= MAX_RATE):
        raise RecordingError(f"DT = {dt:g} in line {first}: must be from {1 / MAX_RATE:g} to {1 / MIN_RATE:g} s")
    if not (n_samples >= 2 and n_samples.is_integer()):
        raise RecordingError(f"NPTS = {n_samples:g} in line {first}: must be a whole number, 2 or more")
    values = _numbers(lines, first)
    ended = end_of_numbers(text, first)
    if len(values) != n_samples:
        doubt = "it is cut off" if len(values) < n_samples else "it has another record at its end"
        raise RecordingError(f"{len(values)} values but NPTS = {n_samples:.0f}: {doubt}, or NPTS is wrong")
    scale, notes = _peer_unit(head[:first], unit)
    return GroundMotion(scale * values, 1.0 / dt, (*notes, *ended))


def _numbers(lines: list[str], first: int) -> Samples:
    """Return all numbers from a line on, counted from 0, however many a line."""
    values: list[float] = []
    for number, line in enumerate(lines[first:], first + 1):
        for cell in line.split():
            try:
                values.append(float(cell))
            except ValueError:
                raise RecordingError(f"{cell[:30]!r} in line {number} is not a number") from None
            if not isfinite(values[-1]):
                raise RecordingError(f"{cell!r} in line {number} is not a finite number")
    return np.array(values)


def _peer_unit(head: list[str], unit: str | None) -> tuple[float, tuple[str, ...]]:
    """Return m/s^2 a unit: the user's, that of the header, or g."""
    text = " ".join(head)
    other = re.search(r"\b(VELOCITY|DISPLACEMENT)\s+TIME", text, re.IGNORECASE)
    if other:
        raise RecordingError(f"this is a {other[1].lower()}: give the file of the acceleration, AT2")
    if unit is not None:
        return si_factor(unit, "acceleration"), ()
    found = _IN_UNITS.search(text)
    if found is None:
        return STANDARD_GRAVITY, ("no unit in the header: taken as g",)
    return si_factor(found[1].rstrip(".,;"), "acceleration"), ()


def _read_network(path: Path, network: str, unit: str | None, column: str | None) -> GroundMotion:
    traces = read_strong_motion(path, network)
    columns = [TableColumn(at, trace.name, trace.unit, trace.name) for at, trace in enumerate(traces)]
    chosen = columns if column is None else [find_column(columns, column)]
    if len(chosen) != 1:
        raise RecordingError(f"{len(chosen)} channels: name one of {listing(chosen)}, or its number")
    trace = traces[chosen[0].position]
    if unit is None and not trace.unit:
        raise RecordingError(f"the accelerations have no unit: give one of {units_of('acceleration')}")
    return GroundMotion(si_factor(unit or trace.unit, "acceleration") * trace.values, trace.rate, trace.notes)


def _read_tables(
    tables: Sequence[SignalTable], unit: str | None, column: str | None, rate: float | None
) -> GroundMotion:
    if rate is not None and not (isfinite(rate) and rate > 0.0):
        raise RecordingError(f"rate {rate} Hz: must be a positive number")
    selection = Selection(rate=rate)
    table, time, chosen = _acceleration(tables, selection, column)
    timing = sample_timing(table, time, selection)
    if timing.index is not None:
        raise RecordingError(f"{timing.notes[-1]}: fill them first, a motion with gaps cannot be applied")
    if unit is None and not chosen.unit:
        raise RecordingError(f"column {chosen.name!r} has no unit: give one of {units_of('acceleration')}")
    values = table.column(chosen)
    wrong = np.flatnonzero(~np.isfinite(values))
    if wrong.size:
        raise RecordingError(f"no number in column {chosen.name!r} at {table.place(int(wrong[0]))}")
    factor = si_factor(unit or chosen.unit, "acceleration")
    return GroundMotion(factor * values, timing.sample_rate, (*table.notes, *timing.notes))


def _acceleration(
    tables: Sequence[SignalTable], selection: Selection, column: str | None
) -> tuple[SignalTable, TableColumn | None, TableColumn]:
    """Return the table, its times and the acceleration."""
    clocks = [choose_time(table, selection) for table in tables]
    owners = {c.position: (table, clock) for table, clock in zip(tables, clocks, strict=True) for c in table.columns}
    every = [c for table in tables for c in table.columns]
    others = [c for c in every if c not in clocks] if column is None else [find_column(every, column)]
    if len(others) != 1:
        series = _SERIES * (not tables[0].named)
        raise RecordingError(
            f"{len(others)} columns beside the time: name the acceleration of {listing(others)}{series}"
        )
    return *owners[others[0].position], others[0]
