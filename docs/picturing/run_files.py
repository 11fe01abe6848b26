"""A folder of run files, as a laboratory has after two days: for the picture of the start page."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

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

_RATE, _EVERY = 100.0, 10
_FIRST = 1_763_370_900.0  # s since 1970
_ACTUATORS = "north", "south"
_NAMES = "broadband_delay", "broadband_delay_sd", "broadband_ratio", "broadband_ratio_sd"
# name, minutes since the run before, duration [s], first and last delay of an actuator [ms], alarms, trips, note
_RUNS = (
    ("warm-up", 0, 60, 6, 6, 0, 0, ""),
    ("sine 1 Hz", 9, 90, 8, 8, 0, 0, "hydraulics at 40 °C"),
    ("sine 2 Hz", 12, 90, 9, 13, 0, 0, ""),
    ("El Centro 25 %", 31, 60, 11, 12, 0, 0, "first run with the new load cell"),
    ("El Centro 50 %", 24, 60, 12, 21, 1, 0, ""),
    ("El Centro 75 %", 27, 60, 14, 34, 3, 1, "pump 2 was off"),
    ("El Centro 75 % again", 40, 60, 13, 15, 0, 0, "pump 2 on"),
    ("El Centro 100 %", 22, 60, 13, 18, 0, 0, ""),
    ("compensated/El Centro 50 %", 1080, 60, 6, 2, 0, 0, "adaptive compensator, order 2"),
    ("compensated/El Centro 75 %", 19, 60, 7, 1, 0, 0, ""),
    ("compensated/El Centro 100 %", 21, 60, 8, -1, 0, 0, "specimen yields at 34 s"),
    ("compensated/Kobe 50 %", 45, 50, 9, 3, 1, 0, ""),
    ("compensated/Kobe 100 %", 33, 50, 9, 4, 2, 0, "last run of the week"),
)
_OUTCOMES = {"El Centro 50 %": "lossy", "Kobe 50 %": "truncated"}
_CUT = "sine 2 Hz"


def write_runs(folder: Path) -> Path:
    """Write the runs into a folder, one of them lossy, one truncated and one damaged, and return the folder."""
    start = _FIRST
    for name, minutes, duration, first, last, alarms, trips, note in _RUNS:
        start += 60.0 * minutes
        path = folder / f"{name}.h5"
        path.parent.mkdir(parents=True, exist_ok=True)
        _write(path, start, duration, (first, last), alarms, trips, note)
    cut = folder / f"{_CUT}.h5"
    cut.write_bytes(cut.read_bytes()[: cut.stat().st_size // 2])
    return folder


def _write(
    path: Path, start: float, duration: int, delays_ms: tuple[float, float], alarms: int, trips: int, note: str
) -> None:
    channels = tuple(
        Channel(f"{actuator}.{role}", role, "mm", actuator)
        for actuator in _ACTUATORS
        for role in (Role.COMMAND, Role.MEASURED)
    )
    stream = Stream("rig", 1, _RATE, channels)
    columns = tuple(Column(name, "s", actuator) for actuator in _ACTUATORS for name in _NAMES)
    writer = RunWriter(path, {"indicators": {"window": 2.0}})
    n = duration * round(_RATE / _EVERY)
    first, last = (1e-3 * delay for delay in delays_ms)
    steady, changing = np.full(n, 0.8 * first), np.where(np.arange(n) < n // 2, first, last)
    writer.signals(SignalBlock(stream, 0, start, _motion(n * _EVERY)))
    values = np.concatenate([_headline(steady), _headline(changing)], 1)
    writer.results(ResultBlock(ResultStream("rig", 1, _RATE, _EVERY, columns), 0, start, values))
    if note:
        writer.event(Event(EventKind.NOTE, start + 1.0, 100, 0, note))
    for number in range(alarms):
        writer.event(Event.of_alarm(_alarm(number, start + duration / 2.0, trip=number < trips)))
    after = n * _EVERY
    writer.signals(SignalBlock(stream, after, start + after / _RATE, _motion(1), last=True))
    writer.close(_OUTCOMES.get(path.stem))


def _motion(n: int) -> NDArray[np.float64]:
    time = np.arange(n) / _RATE
    return np.stack([5.0 * np.sin(6.0 * (time - delay)) for delay in (0.0, 0.01, 0.0, 0.01)], 1)


def _headline(delay: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return delay, ratio and their standard deviations, (n, 4)."""
    return np.stack((delay, np.full(len(delay), 1e-4), np.ones(len(delay)), np.full(len(delay), 1e-3)), 1)


def _alarm(number: int, time: float, *, trip: bool) -> Transition:
    severity = Severity.TRIP if trip else Severity.WARN
    states = AlarmState.NORMAL, AlarmState.UNACKNOWLEDGED
    name = f"south.broadband_delay.{'trip' if trip else 'warn'}"
    return Transition(number + 1, name, severity, AlarmAction.OCCUR, *states, time, 100, 0.03, 0.02, "s", "too late")
