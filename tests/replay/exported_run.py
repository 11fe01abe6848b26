"""A run with a gap, a restart if wanted, results and events, and what HDF5 has of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np

from monitor.messages.alarms import AlarmAction, AlarmState, Severity, Transition
from monitor.messages.blocks import (
    Channel,
    Column,
    Event,
    EventKind,
    ResultBlock,
    ResultStream,
    Role,
    SignalBlock,
    Stream,
)
from monitor.recording import RunWriter

RATE = 128.0
CHANNELS = (
    Channel("north.command", Role.COMMAND, "mm", "north"),
    Channel("north.measured", Role.MEASURED, "mm", "north"),
    Channel("oil temp", Role.AUXILIARY, "°C"),
    Channel("time", Role.AUXILIARY),
)
COLUMNS = (Column("fdb_delay", "s", "north"), Column("fdb_ratio", "1", "north"))
TRANSITION = Transition(
    1,
    "north.fdb_delay.trip",
    Severity.TRIP,
    AlarmAction.OCCUR,
    AlarmState.NORMAL,
    AlarmState.UNACKNOWLEDGED,
    2.0,
    261,
    0.04,
    0.03,
    "s",
    "too late",
    "",
    "north",
    "fdb_delay",
)


def _samples(n: int, seed: int = 0) -> np.ndarray:
    values = np.random.default_rng(seed).normal(size=(n, len(CHANNELS)))
    values[3, 2] = np.nan
    return values


def record(path: Path, start: float = 1_763_000_000.25, restart: float | None = None) -> Path:
    """Record 300 samples with a gap after 200, 30 rows of results and three events; then perhaps a restart."""
    writer = RunWriter(path, {"indicators": {"window": 1.0}, "name": "Prüfstand"})
    stream = Stream("rig", 7, RATE, CHANNELS)
    results = ResultStream("rig", 7, RATE, 10, COLUMNS)
    writer.signals(SignalBlock(stream, 5, start, _samples(200)))
    values = np.arange(60.0).reshape(30, 2)
    values[0] = np.nan
    writer.results(ResultBlock(results, 10, start + 5 / RATE, values))
    writer.signals(SignalBlock(stream, 215, start + 210 / RATE, _samples(100, 1)))
    writer.event(Event(EventKind.NOTE, start + 1.0, 133, 0, "=1+1, a note"))
    writer.event(Event(EventKind.GAP, start + 210 / RATE, 215, 10, ""))
    writer.event(Event.of_alarm(replace(TRANSITION, time=start + 2.0)))
    if restart is not None:
        writer.signals(SignalBlock(Stream("rig", 8, RATE, CHANNELS), 0, restart, _samples(50, 2), last=True))
    writer.close()
    return path


def stored(path: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    with h5py.File(path) as file:
        group = file["signals"]
        return group["samples"][:], group["time"][:], group["epoch"][:], group["index"][:]
