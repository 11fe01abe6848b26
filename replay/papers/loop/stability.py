"""A loop of one degree of freedom whose delay grows beyond the critical one, and the indicators that announce it."""

from __future__ import annotations

from dataclasses import dataclass
from math import pi

import numpy as np

from monitor.compensation.fixed_inverse import FixedInverse
from monitor.config import IndicatorSettings
from monitor.messages.blocks import Channel, Role, Samples, Stream
from replay import Progress, silent
from replay.assessment.run import assess
from replay.formats.recordings import ArrayRecording
from replay.papers.loop.benchmark import COMPENSATORS, SideBySide
from sim.excitation.excitations import Earthquake
from sim.laboratory.actuator import ActuatorState, Schedule
from sim.laboratory.elements import LinearSpring
from sim.laboratory.loop import HybridLoop, LoopRecord
from sim.laboratory.stability import analytic_critical_delay, simulated_critical_delay
from sim.laboratory.structure import Structure

_MASS = 1000.0  # kg
_FREQUENCY = 2.0  # Hz
_DAMPING = 0.01
_SHARE = 0.4  # of the stiffness, in the rig
_RATE = 1024.0  # Hz
_DURATION = 45.0  # s
_STROKE = 0.05  # m
_GROUND = 0.3  # m/s^2, rms
# of the critical delay: from, to; and s from when on and for how long it grows
_DELAYS = 0.5, 4.0
_GROWS = 10.0, 20.0
_WINDOW = 1.5  # s, three cycles
_PERSISTENCE = 0.5  # s, of a warning
EARLY = 0.75  # of the critical delay: the limit of a warning in time
_PAIR = "actuator"


@dataclass(frozen=True, slots=True, eq=False)
class IndicatorWarning:
    """An indicator that goes beyond a limit.

    Parameters
    ----------
    column, label, unit : of the indicator.
    scale, shown : factor to the unit that is shown.
    limit : the value at which the loop has no damping left; beyond it has the limit's sign.
    early_limit : the value at `EARLY` of the critical delay.
    values : (n,) over the record.
    at, early_at : s, when it has been beyond the limit for the persistence; NaN: never.
    """

    column: str
    label: str
    unit: str
    scale: float
    shown: str
    limit: float
    early_limit: float
    values: Samples
    at: float
    early_at: float


@dataclass(frozen=True, slots=True, eq=False)
class CompensatedRun:
    """The same test with one compensator.

    Parameters
    ----------
    command : (n,) m, NaN after it has left the stroke.
    left_at : s, NaN where it stays within the stroke.
    largest : m, of the command.
    delay : s, median of the broadband delay over the last quarter; NaN where the test did not last.
    """

    command: Samples
    left_at: float
    largest: float
    delay: float


@dataclass(frozen=True, slots=True, eq=False)
class Stability:
    """What was found of the loop.

    Parameters
    ----------
    frequency, damping_ratio, share, sample_rate : Hz of the whole structure, its damping, the specimen's share of the
        stiffness, and Hz of the loop.
    analytic, simulated : s, critical delay.
    delays : s, at the beginning and the end.
    critical_at : s, when the growing delay is the critical one.
    stroke : m.
    time, delay : (n,) s.
    warnings : of the indicators in the test without compensation.
    runs : by compensator.
    """

    frequency: float
    damping_ratio: float
    share: float
    sample_rate: float
    analytic: float
    simulated: float
    delays: tuple[float, float]
    critical_at: float
    stroke: float
    time: Samples
    delay: Samples
    warnings: tuple[IndicatorWarning, ...]
    runs: dict[str, CompensatedRun]


def run_stability(seed: int, progress: Progress = silent) -> Stability:
    """Run the loop with every compensator, and the indicators on the one without."""
    omega = 2.0 * pi * _FREQUENCY
    stiffness = _MASS * omega**2
    structure = Structure(_MASS, 2.0 * _DAMPING * _MASS * omega, (1.0 - _SHARE) * stiffness)
    specimen = LinearSpring(_SHARE * stiffness)
    parts = _MASS, 2.0 * _DAMPING * _MASS * omega, (1.0 - _SHARE) * stiffness, _SHARE * stiffness
    analytic, simulated = float(analytic_critical_delay(*parts)), float(simulated_critical_delay(*parts))
    delays = _DELAYS[0] * analytic, _DELAYS[1] * analytic
    start, lasts = _GROWS
    schedule = Schedule(((0.0, ActuatorState(delay=delays[0])), (start, ActuatorState(delay=delays[1]))), lasts)
    loop = HybridLoop(
        structure=structure,
        specimen=specimen,
        excitation=Earthquake(rms=_GROUND, strong=_DURATION, seed=seed),
        dt=1.0 / _RATE,
        duration=_DURATION,
        transfer=schedule,
        compensator=SideBySide(FixedInverse.of_delay(delays[0]), slowest=_FREQUENCY),
        draws=(len(COMPENSATORS),),
        stroke=_STROKE,
    )
    progress("one degree of freedom", 0, 1)
    record = loop.run()
    progress("one degree of freedom", 1, 1)
    left_at = record.diverged_at
    runs = {}
    for i, name in enumerate(COMPENSATORS):
        command = record.command[:, i, 0]
        delay = np.nan if np.isfinite(left_at[i]) else _last_delay(record, i)
        runs[name] = CompensatedRun(command, float(left_at[i]), float(np.nanmax(np.abs(command))), delay)
    share = (analytic - delays[0]) / (delays[1] - delays[0])
    return Stability(
        frequency=_FREQUENCY,
        damping_ratio=_DAMPING,
        share=_SHARE,
        sample_rate=_RATE,
        analytic=analytic,
        simulated=simulated,
        delays=delays,
        critical_at=start + lasts * share,
        stroke=_STROKE,
        time=record.time,
        delay=schedule.trajectory(record.time)[2],
        warnings=_warnings(record, analytic),
        runs=runs,
    )


def _recording(record: LoopRecord, i: int) -> ArrayRecording:
    """Return a test as a recording, until its command leaves the stroke."""
    columns = np.column_stack([record.command[:, i, 0], record.measured[:, i, 0], record.force[:, i, 0]])
    channels = (
        Channel("command", Role.COMMAND, "m", _PAIR),
        Channel("measured", Role.MEASURED, "m", _PAIR),
        Channel("force", Role.FORCE, "N", _PAIR),
    )
    return ArrayRecording(Stream("loop", 0, _RATE, channels), columns[np.isfinite(columns).all(axis=1)])


def _last_delay(record: LoopRecord, i: int) -> float:
    settings = IndicatorSettings(window=_WINDOW, measures=("broadband",))
    delay = assess(_recording(record, i), settings).series.of(_PAIR)["broadband_delay"]
    return float(np.nanmedian(delay[-len(delay) // 4 :]))


def _warnings(record: LoopRecord, critical: float) -> tuple[IndicatorWarning, ...]:
    """Evaluate the indicators on the test without compensation; each limit is where the loop has no damping left.

    All four are in proportion to the delay, so that the early limits are fractions of these.
    """
    settings = IndicatorSettings(window=_WINDOW, measures=("fdb", "paei", "ti", "hsem"))
    found = assess(_recording(record, COMPENSATORS.index("none")), settings).series
    values = found.of(_PAIR)
    omega = 2.0 * pi * _FREQUENCY
    limits = (
        ("fdb_delay", "FDB delay", "s", 1e3, "ms", critical),
        ("paei_delay", "PAEI delay", "s", 1e3, "ms", critical),
        ("ti_angle", "TI angle", "rad", 1e3, "mrad", -omega * critical),
        # the specimen's damping ratio refers to its own strain energy
        ("hsem_added_damping", "added damping (HSEM)", "1", 1e2, "%", -_DAMPING / _SHARE),
    )
    warnings = []
    for column, label, unit, scale, shown, limit in limits:
        series = np.full(len(record.time), np.nan)
        series[np.round(found.time * _RATE).astype(np.int64)] = values[column]
        early = EARLY * limit
        at, early_at = (beyond_since(series, each, round(_PERSISTENCE * _RATE)) / _RATE for each in (limit, early))
        warnings.append(IndicatorWarning(column, label, unit, scale, shown, limit, early, series, at, early_at))
    return tuple(warnings)


def beyond_since(values: Samples, limit: float, persistence: int) -> float:
    """Return the first sample at which `values` have been beyond a limit, away from zero, for so many; NaN: none."""
    beyond = values * np.sign(limit) > abs(limit)
    held = np.convolve(beyond, np.ones(persistence), "full")[: len(beyond)] >= persistence - 0.5
    return float(np.argmax(held)) if held.any() else np.nan
