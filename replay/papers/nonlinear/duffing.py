"""Duffing's oscillator whose cubic force the model lacks: recovered from 11 and from 151 samples, over many runs.

Tables and figures next to those of Hemez and Doebling: 2, 21 and 22.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from monitor.messages.blocks import Samples
from monitor.text.blocks import Block, Column, Data, Figure, Row, Table, Text, Tone, words
from replay import Progress, silent
from replay.pictures import new_drawing
from sim.fitting.fit import Fits, fit_many
from sim.laboratory.structure import Structure
from sim.missing_force.law_fit import RecoveredMotion, regressed
from sim.missing_force.law_motion import LawResponse
from sim.missing_force.law_terms import Term, term
from sim.missing_force.recovery import RecoveredForce, recover_force
from sim.missing_force.smoother import ForceProblem
from sim.missing_force.state_space import Sensor
from sim.missing_force.windows import MatchedForce, matched_force
from sim.models.chain import chain_response
from sim.models.nonlinear_chains import DuffingOscillator

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

RUNS, MOST_RUNS = 100, 20000
COUNTS = (11, 151)
# what the paper prints: 0.065 by a curve fit of 11 samples, 16 to 20 hours
PAPER = {11: 0.065, 151: None}
PAPER_HOURS = (16.0, 20.0)
METHODS = ("refined", "windows")
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
        windows, recovered, curve, refined = _identified(problem, sigma)
        seconds.append(perf_counter() - begun)
        alpha["windows"].append(curve)
        alpha["refined"].append(float(refined.of("x^3")[0]))
        covered = np.abs(recovered.force[:, 0] - force) <= 1.96 * recovered.force_sd[:, 0]
        coverage.append(float(np.mean(covered)))
        if first is None:
            motion = LawResponse(problem, _CUBIC, sigma).motion(refined.parameters)[0][0]
            first = problem.observed, recovered, windows, motion
        progress(name, i + 1, len(problems))
    assert first is not None
    every = {method: np.array(values) for method, values in alpha.items()}
    return Sampled(every, np.array(coverage), np.array(seconds), *first)


def _identified(problem: ForceProblem, sigma: Samples) -> tuple[MatchedForce, RecoveredForce, float, Fits]:
    """Return the window form, the smoothed force, alpha of a curve fit of the first, and the refined fit."""
    observed = problem.observed
    windows = matched_force(
        problem.structure, problem.forces, problem.time, np.asarray(problem.load), observed[:, :1], observed[:, 1:]
    )
    recovered = recover_force(problem, sigma=sigma)
    cube = windows.displacement[:, 0] ** 3
    curve = float(cube @ windows.force[:, 0] / (cube @ cube))
    response = LawResponse(problem, _CUBIC, sigma)
    start = np.append(
        regressed(RecoveredMotion(problem, recovered), 0, _CUBIC[0])[0], recovered.smoothed.means[0, :2]
    )
    return windows, recovered, curve, fit_many(response, response.observed[None], start)


_WORDS = {
    "windows": "window form, ends matched (eq. 16 to 23), curve fit",
    "refined": "smoother, then the law on the raw samples",
}
_LABELS = ("displacement [m]", "velocity [m/s]")


def study_blocks(study: DuffingStudy) -> Iterator[Block]:
    """Yield alpha of every method beside the paper's, and how long it takes.

    In JSON `alpha` is that of the refined law; that of every method is beside it.
    """
    of, found, runs = study.oscillator, study.sampled, len(study.sampled[COUNTS[0]].coverage)
    yield Data({
        "study": "duffing",
        "runs": runs,
        "true_alpha": of.cubic,
        "noise_percent": 100.0 * of.noise,
        "noise_sd": {"displacement": study.sigma[0], "velocity": study.sigma[1]},
        "alpha": {str(count): _scatter(each.alpha["refined"]) for count, each in found.items()},
        "methods": {
            method: {str(count): _scatter(each.alpha[method]) for count, each in found.items()} for method in METHODS
        },
        "paper_alpha": {str(count): PAPER[count] for count in found},
        "band_coverage": {str(count): float(each.coverage.mean()) for count, each in found.items()},
        "seconds": study.seconds,
        "paper_hours": PAPER_HOURS,
    })  # fmt: skip
    yield Text(
        f"{_factor(of.mass)}x'' + {_factor(of.damping)}x' + {_factor(of.stiffness)}x + alpha x^3 = cos t "
        f"with alpha = {of.cubic:g}, {of.horizon:g} s from x = {of.displacement:g}, x' = {of.velocity:g}. "
        "The model lacks alpha x^3. Displacement and velocity are sampled with noise of "
        f"{100.0 * of.noise:g} % of the rms of each; {runs} runs, each with its own noise."
    )
    yield Figure("duffing-before", partial(_before, study))
    columns = [words("method")]
    for count in found:
        columns += [Column(f"{count} samples", form=".4f"), Column("sd", form=".4f")]
    rows = [
        (text, *(value for each in found.values() for value in _scatter(each.alpha[method]).values()))
        for method, text in _WORDS.items()
    ]
    printed = [cell for count in found for cell in (PAPER[count] and str(PAPER[count]), None)]
    yield Table("alpha [N/m^3]", columns, [*rows, Row(("paper, window form, curve fit", *printed), Tone.PAPER)])
    coverage = ", ".join(f"{100.0 * np.mean(each.coverage):.1f} % ({count} samples)" for count, each in found.items())
    yield Text(f"The band of at least 95 % has the true force at {coverage} of the instants.")
    low, high = PAPER_HOURS
    yield Text(f"A whole identification takes {study.seconds:.2f} s; paper: {low:g} to {high:g} hours.")
    yield Figure("duffing-after", partial(_after, study))
    yield Figure("duffing-force", partial(_force, study))


def _scatter(values: Samples) -> dict[str, float]:
    sd = float(values.std(ddof=1)) if len(values) > 1 else float("nan")
    return {"mean": float(values.mean()), "sd": sd}


def _factor(value: float) -> str:
    return "" if value == 1.0 else f"{value:g} "


def _before(study: DuffingStudy) -> Drawing:
    """Return Figure 2: the linear model beside the truth."""
    figure = new_drawing(10.0, 6.5, "Figure 2: before updating, the model lacks the cubic force")
    for i, axis in enumerate(figure.subplots(2, 1, sharex=True)):
        axis.plot(study.time, study.true[:, i], color="black", label="truth")
        axis.plot(study.time, study.linear[:, i], "--", color="tab:red", label="linear model")
        _finish(axis, _LABELS[i], time=i == 1)
    return figure


def _after(study: DuffingStudy) -> Drawing:
    """Return Figure 21: the model with the force, from few and from many samples."""
    figure = new_drawing(14.0, 6.5, "Figure 21: after updating, first run")
    axes = figure.subplots(2, len(study.sampled), sharex=True, sharey="row")
    for column, (count, found) in enumerate(study.sampled.items()):
        axes[0, column].set_title(f"{count} samples")
        for i in range(2):
            axis = axes[i, column]
            axis.plot(study.time, study.true[:, i], color="black", label="truth")
            axis.plot(found.windows.time, found.windows.displacement if i == 0 else found.windows.velocity,
                      ":", color="tab:orange", label="window form")  # fmt: skip
            smoothed = found.recovered.smoothed
            axis.plot(study.time, smoothed.means[:, i], "--", color="tab:blue", label="smoother")
            axis.plot(study.time, found.motion[:, i], "-.", color="tab:green", label="refined law")
            axis.plot(study.time, found.observed[:, i], ".", color="tab:red", markersize=5, label="samples")
            _finish(axis, _LABELS[i] if column == 0 else "", legend=False, time=i == 1)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
    return figure


def _force(study: DuffingStudy) -> Drawing:
    """Return Figure 22: the force that the model lacks, with its band."""
    figure = new_drawing(12.0, 8.0, "Figure 22: the force that the model lacks, first run")
    for axis, (count, found) in zip(
        figure.subplots(len(study.sampled), 1, sharex=True), study.sampled.items(), strict=True
    ):
        recovered = found.recovered
        mean, sd = recovered.force[:, 0], recovered.force_sd[:, 0]
        low, high = mean - 1.96 * sd, mean + 1.96 * sd
        axis.fill_between(study.time, low, high, color="tab:blue", alpha=0.2, label="at least 95 %")
        largest, windows = 2.0 * float(np.max(np.abs(study.force))), found.windows.force[:, 0]
        label = "window form, cut off" if np.max(np.abs(windows)) > largest else "window form"
        axis.plot(found.windows.time, windows, color="tab:orange", linewidth=0.5, alpha=0.5, label=label)
        axis.plot(study.time, mean, "--", color="tab:blue", label="smoother")
        axis.plot(study.time, study.force, color="black", label="truth")
        axis.set_title(f"{count} samples")
        axis.set_ylim(-largest, largest)
        _finish(axis, "force [N]", time=count == list(study.sampled)[-1])
    return figure


def _finish(axis: Axes, label: str, *, legend: bool = True, time: bool = True) -> None:
    axis.set_ylabel(label)
    axis.grid(alpha=0.3)
    if time:
        axis.set_xlabel("time [s]")
    if legend:
        low, high = axis.get_ylim()
        # room for the legend above the largest peak
        axis.set_ylim(low, high + 0.25 * (high - low))
        axis.legend(loc="upper right", ncols=2, framealpha=1.0)
