"""Duffing's oscillator whose cubic force the model lacks: recovered from 11 and from 151 samples, over many runs."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter

import numpy as np

from monitor.messages.blocks import Samples
from replay import Progress, silent
from sim.fitting.fit import Fits, fit_many
from sim.laboratory.structure import Structure
from sim.missing_force.law_fit import curve_fit
from sim.missing_force.law_motion import LawResponse
from sim.missing_force.law_terms import Term, term
from sim.missing_force.recovery import RecoveredForce, recover_force
from sim.missing_force.smoother import ForceProblem
from sim.missing_force.state_space import Sensor
from sim.missing_force.windows import MatchedForce, matched_force
from sim.models.chain import chain_response
from sim.models.nonlinear_chains import DuffingOscillator

RUNS, MOST_RUNS = 100, 20000
COUNTS = (11, 151)
# what the paper prints: 0.065 by a curve fit of 11 samples, 16 to 20 hours
PAPER = {11: 0.065, 151: None}
PAPER_HOURS = (16.0, 20.0)
METHODS = ("refined", "smoother", "windows")
_SENSORS = (Sensor(1, "displacement"), Sensor(1, "velocity"))
_CUBIC: tuple[tuple[Term, ...], ...] = ((term("x^3"),),)


@dataclass(frozen=True, slots=True, eq=False)
class Sampled:
    """What was found from so many samples.

    Parameters
    ----------
    alpha : by method, (runs,) N/m^3.
    coverage : (runs,) fraction of the instants at which the band of 95 % has the true force.
    seconds : (runs,), of the whole identification of each: window form, smoother, curve fits, refinement.
    observed : (N, 2) samples of the first run, NaN between.
    recovered, windows : of the first run.
    motion : (N, 2) of the first run's model with the refined law.
    """

    alpha: dict[str, Samples]
    coverage: Samples
    seconds: Samples
    observed: Samples
    recovered: RecoveredForce
    windows: MatchedForce
    motion: Samples


@dataclass(frozen=True, slots=True, eq=False)
class DuffingStudy:
    """The study.

    Parameters
    ----------
    oscillator : the truth.
    time : (N,) s.
    true, linear : (N, 2) displacement and velocity of the truth and of the model before.
    force : (N,) N, which the model lacks.
    sigma : (2,) noise: 5 % of the rms of each signal over the record.
    sampled : by number of samples.
    """

    oscillator: DuffingOscillator
    time: Samples
    true: Samples
    linear: Samples
    force: Samples
    sigma: Samples
    sampled: dict[int, Sampled]

    @property
    def seconds(self) -> float:
        """Of the slowest count, the median of a whole identification."""
        return max(float(np.median(each.seconds)) for each in self.sampled.values())


def identify_duffing(runs: int, seed: int, progress: Progress = silent) -> DuffingStudy:
    """Return what is found in so many runs with noise of their own.

    Raises
    ------
    ValueError : runs are not 1 to 20000.
    """
    if not 1 <= runs <= MOST_RUNS:
        raise ValueError(f"--runs {runs}: must be from 1 to {MOST_RUNS}")
    oscillator = DuffingOscillator()
    chain, load = oscillator.chain, oscillator.force()[:, None]
    dt = oscillator.dt / oscillator.refined
    time = np.asarray(dt * np.arange(len(load)), dtype=np.float64)
    true, linear = (
        np.column_stack([each[:, 0] for each in chain_response(of, load, dt, *oscillator.initial)[:2]]).astype(float)
        for of in (chain, DuffingOscillator(cubic=0.0).chain)
    )
    sigma = oscillator.noise * np.sqrt(np.mean(true**2, axis=0))
    structure = Structure(oscillator.mass, oscillator.damping, oscillator.stiffness)
    force = oscillator.cubic * true[:, 0] ** 3
    sampled: dict[int, Sampled] = {}
    for count in COUNTS:
        # of each count its own noise, whatever else is run
        rng = np.random.default_rng([seed, count])
        at = slice(None, None, (len(time) - 1) // (count - 1))
        problems = []
        for _ in range(runs):
            observed = np.full(true.shape, np.nan)
            observed[at] = true[at] + sigma * rng.standard_normal(true[at].shape)
            problems.append(ForceProblem(structure, np.ones((1, 1)), time, load, _SENSORS, observed))
        if not sampled:
            # compiled before it is measured
            _identified(problems[0], sigma)
        sampled[count] = _all_identified(problems, sigma, force, f"{count} samples", progress)
    return DuffingStudy(oscillator, time, true, linear, force, sigma, sampled)


def _all_identified(
    problems: list[ForceProblem], sigma: Samples, force: Samples, name: str, progress: Progress
) -> Sampled:
    alpha: dict[str, list[float]] = {method: [] for method in METHODS}
    coverage, seconds, first = [], [], None
    for i, problem in enumerate(problems):
        begun = perf_counter()
        windows, recovered, curves, refined = _identified(problem, sigma)
        seconds.append(perf_counter() - begun)
        for method, value in (*curves.items(), ("refined", float(refined.of("x^3")[0]))):
            alpha[method].append(value)
        covered = np.abs(recovered.force[:, 0] - force) <= 1.96 * recovered.force_sd[:, 0]
        coverage.append(float(np.mean(covered)))
        if first is None:
            motion = LawResponse(problem, _CUBIC, sigma).motion(refined.parameters)[0][0]
            first = problem.observed, recovered, windows, motion
        progress(name, i + 1, len(problems))
    assert first is not None
    every = {method: np.array(values) for method, values in alpha.items()}
    return Sampled(every, np.array(coverage), np.array(seconds), *first)


def _identified(problem: ForceProblem, sigma: Samples) -> tuple[MatchedForce, RecoveredForce, dict[str, float], Fits]:
    """Return the window form, the smoothed force, alpha of curve fits of both, and the refined fit."""
    observed = problem.observed
    windows = matched_force(
        problem.structure, problem.forces, problem.time, problem.load, observed[:, :1], observed[:, 1:]
    )
    recovered = recover_force(problem, sigma=sigma)
    cube = windows.displacement[:, 0] ** 3
    curves = {
        "windows": float(cube @ windows.force[:, 0] / (cube @ cube)),
        "smoother": float(curve_fit(problem, recovered, _CUBIC).coefficients[0]),
    }
    response = LawResponse(problem, _CUBIC, sigma)
    start = np.array([curves["smoother"], *recovered.smoothed.means[0, :2]])
    return windows, recovered, curves, fit_many(response, response.observed[None], start)
