"""The study of the closed loop: what it consists of, and its run."""

from __future__ import annotations

import time
from dataclasses import dataclass
from math import pi

import numpy as np

from monitor.compensation.fixed_inverse import FixedInverse
from monitor.config import IndicatorSettings
from monitor.messages.blocks import Channel, Role, Samples, Stream
from replay import Progress, silent
from replay.assessment.run import assess
from replay.formats.ground_motion import GroundMotion
from replay.formats.recordings import ArrayRecording
from replay.papers.loop.benchmark import COMPENSATORS, Benchmark, SideBySide, run_benchmark
from sim.excitation import Earthquake, Recorded
from sim.laboratory.actuator import ActuatorState, Schedule
from sim.laboratory.elements import LinearSpring
from sim.laboratory.loop import HybridLoop, LoopRecord
from sim.laboratory.stability import analytic_critical_delay, simulated_critical_delay
from sim.laboratory.structure import Structure

_MASS = 1000.0  # kg
FREQUENCY = 2.0  # Hz
DAMPING = 0.01
SHARE = 0.4  # of the stiffness, in the rig
RATE = 1024.0  # Hz
_DURATION = 45.0  # s
STROKE = 0.05  # m
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
    analytic, simulated : s, critical delay.
    delays : s, at the beginning and the end.
    critical_at : s, when the growing delay is the critical one.
    time, delay : (n,) s.
    warnings : of the indicators in the test without compensation.
    runs : by compensator.
    """

    analytic: float
    simulated: float
    delays: tuple[float, float]
    critical_at: float
    time: Samples
    delay: Samples
    warnings: tuple[IndicatorWarning, ...]
    runs: dict[str, CompensatedRun]


def run_stability(seed: int, progress: Progress = silent) -> Stability:
    """Run the loop with every compensator, and the indicators on the one without."""
    omega = 2.0 * pi * FREQUENCY
    stiffness = _MASS * omega**2
    parts = _MASS, 2.0 * DAMPING * _MASS * omega, (1.0 - SHARE) * stiffness, SHARE * stiffness
    analytic, simulated = float(analytic_critical_delay(*parts)), float(simulated_critical_delay(*parts))
    delays = _DELAYS[0] * analytic, _DELAYS[1] * analytic
    start, lasts = _GROWS
    schedule = Schedule(((0.0, ActuatorState(delay=delays[0])), (start, ActuatorState(delay=delays[1]))), lasts)
    loop = HybridLoop(
        structure=Structure(*parts[:3]),
        specimen=LinearSpring(parts[3]),
        excitation=Earthquake(rms=_GROUND, strong=_DURATION, seed=seed),
        dt=1.0 / RATE,
        duration=_DURATION,
        transfer=schedule,
        compensator=SideBySide(FixedInverse.of_delay(delays[0]), slowest=FREQUENCY),
        draws=(len(COMPENSATORS),),
        stroke=STROKE,
    )
    progress("one degree of freedom", 0, 1)
    record = loop.run()
    progress("one degree of freedom", 1, 1)
    left_at, settings = record.diverged_at, IndicatorSettings(window=_WINDOW, measures=("broadband",))
    runs = {}
    for i, name in enumerate(COMPENSATORS):
        command = record.command[:, i, 0]
        last_delay = np.nan
        if not np.isfinite(left_at[i]):
            delay = assess(_recording(record, i), settings).series.of(_PAIR)["broadband_delay"]
            last_delay = float(np.nanmedian(delay[-len(delay) // 4 :]))
        runs[name] = CompensatedRun(command, float(left_at[i]), float(np.nanmax(np.abs(command))), last_delay)
    share = (analytic - delays[0]) / (delays[1] - delays[0])
    return Stability(
        analytic=analytic,
        simulated=simulated,
        delays=delays,
        critical_at=start + lasts * share,
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
    return ArrayRecording(Stream("loop", 0, RATE, channels), columns[np.isfinite(columns).all(axis=1)])


def _warnings(record: LoopRecord, critical: float) -> tuple[IndicatorWarning, ...]:
    """Evaluate the indicators on the test without compensation; each limit is where the loop has no damping left.

    All four are in proportion to the delay, so that the early limits are fractions of these.
    """
    settings = IndicatorSettings(window=_WINDOW, measures=("fdb", "paei", "ti", "hsem"))
    found = assess(_recording(record, COMPENSATORS.index("none")), settings).series
    values = found.of(_PAIR)
    omega = 2.0 * pi * FREQUENCY
    limits = (
        ("fdb_delay", "FDB delay", "s", 1e3, "ms", critical),
        ("paei_delay", "PAEI delay", "s", 1e3, "ms", critical),
        ("ti_angle", "TI angle", "rad", 1e3, "mrad", -omega * critical),
        # the specimen's damping ratio refers to its own strain energy
        ("hsem_added_damping", "added damping (HSEM)", "1", 1e2, "%", -DAMPING / SHARE),
    )
    warnings = []
    for column, label, unit, scale, shown, limit in limits:
        series = np.full(len(record.time), np.nan)
        series[np.round(found.time * RATE).astype(np.int64)] = values[column]
        early = EARLY * limit
        at, early_at = (beyond_since(series, each, round(_PERSISTENCE * RATE)) / RATE for each in (limit, early))
        warnings.append(IndicatorWarning(column, label, unit, scale, shown, limit, early, series, at, early_at))
    return tuple(warnings)


def beyond_since(values: Samples, limit: float, persistence: int) -> float:
    """Return the first sample at which `values` have been beyond a limit, away from zero, for so many; NaN: none."""
    beyond = values * np.sign(limit) > abs(limit)
    held = np.convolve(beyond, np.ones(persistence), "full")[: len(beyond)] >= persistence - 0.5
    return float(np.argmax(held)) if held.any() else np.nan


DRAWS = 5
_MOST_DRAWS = 1000
_SHORTEST, _LONGEST = 1.0, 120.0  # s, of a recorded ground motion


@dataclass(frozen=True, slots=True, eq=False)
class LoopStudy:
    """What the study found.

    Parameters
    ----------
    stability : of one degree of freedom with a delay.
    benchmark : of the reference building, with nominal and with uncertain plants.
    seed : of the ground motions and the draws.
    motion : recorded, of all tests of the building; None for drawn ones.
    seconds : that each part took, by name.
    """

    stability: Stability
    benchmark: Benchmark
    seed: int
    motion: GroundMotion | None
    seconds: dict[str, float]

    @property
    def drawn(self) -> str:
        """What differs between the draws, in words."""
        return "the plant and the ground motion" if self.motion is None else "the plant under the recorded motion"


@dataclass(frozen=True, slots=True)
class DrawStatistics:
    """One criterion over the draws; NaN where none has it."""

    median: float
    p90: float
    worst: float


def draw_statistics(values: Samples) -> DrawStatistics:
    """Return the statistics of the size of a criterion, (n_draws,), without NaN."""
    values = np.abs(values[np.isfinite(values)])
    if not len(values):
        return DrawStatistics(np.nan, np.nan, np.nan)
    return DrawStatistics(float(np.median(values)), float(np.percentile(values, 90.0)), float(values.max()))


@dataclass(frozen=True, slots=True)
class PairedRatio:
    """A criterion over that of `ats` in the same test: same case, plant, ground motion and lost samples.

    Parameters
    ----------
    tests, above : number of tests, and of those in which it is larger than that of `ats`.
    median, worst : ratio; NaN without tests.
    """

    tests: int
    above: int
    median: float
    worst: float


def paired_ratio(values: Samples, reference: Samples) -> PairedRatio:
    """Return how the size of a criterion compares with another one's, test by test; without NaN."""
    ratio = np.abs(values / reference)
    ratio = ratio[np.isfinite(ratio)]
    if not len(ratio):
        return PairedRatio(0, 0, np.nan, np.nan)
    return PairedRatio(len(ratio), int(np.sum(ratio > 1.0)), float(np.median(ratio)), float(ratio.max()))


def run_study(
    n_draws: int = DRAWS, seed: int = 1, motion: GroundMotion | None = None, progress: Progress = silent
) -> LoopStudy:
    """Run the study.

    Parameters
    ----------
    n_draws : of the uncertain plant, each with a ground motion of its own.
    seed : of everything random.
    motion : recorded, of all tests of the building; None for seeded ones.
    progress : receives the task, the amount done and the total.

    Raises
    ------
    ValueError : the number of draws, or the length of the motion, is out of range.
    """
    if not 1 <= n_draws <= _MOST_DRAWS:
        raise ValueError(f"{n_draws} draws: give 1 to {_MOST_DRAWS}")
    recorded = None if motion is None else Recorded(acceleration=motion.acceleration, sample_rate=motion.sample_rate)
    if recorded and not _SHORTEST <= recorded.duration <= _LONGEST:
        raise ValueError(f"ground motion of {recorded.duration:.4g} s: give {_SHORTEST:g} to {_LONGEST:g} s of it")
    start = time.perf_counter()
    stability = run_stability(seed, progress)
    between = time.perf_counter()
    benchmark = run_benchmark(n_draws, seed, recorded, progress)
    seconds = {"stability": between - start, "benchmark": time.perf_counter() - between}
    return LoopStudy(stability, benchmark, seed, motion, seconds)
