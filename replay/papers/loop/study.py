"""The study of the closed loop: what it consists of, and its run."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from monitor.messages.blocks import Samples
from replay import Progress, silent
from replay.formats.ground_motion import GroundMotion
from replay.papers.loop.benchmark import Benchmark, run_benchmark
from replay.papers.loop.stability import Stability, run_stability
from sim.excitation.excitations import Recorded

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
