"""The study of parameter estimation with delays: two methods, many runs, several levels of noise."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from math import sqrt
from time import perf_counter

import numpy as np
from scipy.stats import norm

from monitor.messages.blocks import Samples
from replay import Progress, silent
from replay.papers.delays.examples import BAYARRI, EXAMPLES, LATER, METHODS, NEAR_UNSTABLE, TIME, Example, Method
from sim.fitting.fit import Fit, Fits, fit, fit_many
from sim.fitting.intervals import Posterior, profile, require_sampler, sample_posterior
from sim.fitting.least_squares import spread_starts
from sim.fitting.model_responses import stable
from sim.fitting.regression import Regression

_FARTHEST = 1e150
_ALIKE = 1e-12


def quartiles(values: Samples) -> tuple[float, float, float]:
    """Return the lower quartile, the median and the upper one; NaN counts as infinitely large."""
    if not len(values):
        return (np.nan,) * 3
    sort, found = np.sort(np.where(np.isnan(values), np.inf, values)), []
    for i in (1, 2, 3):
        below, share = divmod(0.25 * i * (len(sort) - 1), 1.0)
        with np.errstate(all="ignore"):
            here, after = sort[int(below)], sort[min(int(below) + 1, len(sort) - 1)]
            found.append(float((1.0 - share) * here + share * after if share else here))
    return found[0], found[1], found[2]


def histogram(values: Samples, bins: int) -> tuple[Samples, Samples]:
    """Return counts, (bins,), and edges, (bins + 1,), of what is finite, also where all are alike."""
    values = values[np.abs(values) < _FARTHEST]
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 0.0)
    if high - low <= _ALIKE * max(abs(low), abs(high)):
        width = _ALIKE * max(abs(low), abs(high)) or 1.0
        low, high = low - bins * width, high + bins * width
    counts, edges = np.histogram(values, bins, (low, high))
    return counts.astype(np.float64), edges


# a disturbance is as likely positive as negative, and hardly larger than this
DISTURBANCE_DEVIATION = 0.5
_MARGIN = 0.02
POSTERIOR_STEPS = 3000


@dataclass(frozen=True, slots=True, eq=False)
class PosteriorOfRun:
    """The posterior of one run, and its prediction.

    Parameters
    ----------
    posterior : of Method 2's parameters.
    steady_state : (n_samples,).
    """

    posterior: Posterior
    steady_state: Samples


def with_prior(
    example: Example, observed: Samples, sigma: float, seed: int, *, n_steps: int = POSTERIOR_STEPS
) -> PosteriorOfRun:
    """Sample the posterior of a run: omega is normal beforehand, the rates are anything that is stable.

    Parameters
    ----------
    observed : (n,).
    sigma : of the noise.
    seed, n_steps : of the chains.

    Raises
    ------
    ValueError : emcee is not installed.
    """
    model = example.disturbed
    inside = stable(model, _MARGIN)
    start = fit(inside, observed, inside.of(example.start(Method.DISTURBANCE)))
    # at a bound no standard error is known
    spread = np.clip(np.nan_to_num(start.standard_errors, nan=_MARGIN), 1e-3, DISTURBANCE_DEVIATION)
    priors = {"omega": norm(0.0, DISTURBANCE_DEVIATION)}
    found = sample_posterior(
        model,
        observed,
        start.parameters,
        spread,
        priors,
        sigma=sigma,
        support=example.is_stable,
        n_steps=n_steps,
        seed=seed,
    )
    return PosteriorOfRun(found, example.steady_states(found.samples))


@dataclass(frozen=True, slots=True, eq=False)
class MethodRuns:
    """All runs by one method, each fitted for itself.

    Parameters
    ----------
    example : of the runs.
    fits : of every run.
    later_error : (n_runs,), the prediction at t = 30 less the truth.
    seconds : that the fits took.
    """

    example: Example
    fits: Fits
    later_error: Samples
    seconds: float

    @property
    def bias(self) -> Samples:
        """(p,): mean of the estimates less the truth; NaN for what has none."""
        known = np.array([self.example.known(name) for name in self.fits.names])
        return np.asarray(self.fits.parameters.mean(axis=0) - known)

    @property
    def bias_error(self) -> Samples:
        """(p,): the standard error of the bias."""
        return np.asarray(self.deviation / np.sqrt(len(self.fits.parameters)))

    @property
    def deviation(self) -> Samples:
        """(p,): standard deviation of the estimates."""
        return np.asarray(self.fits.parameters.std(axis=0, ddof=1))

    @property
    def mean_standard_error(self) -> Samples:
        """(p,): of the fits that have one, which is near the deviation where the fits know how good they are."""
        errors = self.fits.standard_errors
        number = np.isfinite(errors).sum(axis=0)
        total = np.where(np.isfinite(errors), errors, 0.0).sum(axis=0)
        return np.where(number, total / np.maximum(number, 1), np.nan)

    @property
    def unstable(self) -> int:
        """How many runs have parameters with which the equation does not settle."""
        return int(np.sum(~self.example.is_stable(self.fits.parameters)))

    @property
    def at_bound(self) -> int:
        """Number of runs at a bound."""
        return int(self.fits.at_bound.any(axis=1).sum())

    @property
    def later(self) -> tuple[float, float, float]:
        """Quartiles of the absolute error at t = 30, the median in the middle."""
        return quartiles(np.abs(self.later_error))


@dataclass(frozen=True, slots=True, eq=False)
class FirstRun:
    """The first run of a method, in detail.

    Parameters
    ----------
    fit : of the best of many starts.
    intervals : 95 % of each parameter, from its profile.
    """

    fit: Fit
    intervals: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True, eq=False)
class NoiseLevel:
    """An example at one level of noise.

    Parameters
    ----------
    example, sigma : which.
    observed : (n_runs, n_times).
    free, kept : every run by method 1 and 2: without the stability constraint, and with it.
    first_run : the first run, by method, without the constraint.
    mean_parameters : (n_runs / 5, p), of Method 2: means over five observations each, as in the paper.
    joint : Method 2 of the same five observations fitted together.
    posterior : of the first run of Example 3, with priors and the stability constraint; None elsewhere.
    """

    example: Example
    sigma: float
    observed: Samples
    free: dict[Method, MethodRuns]
    kept: dict[Method, MethodRuns]
    first_run: dict[Method, FirstRun]
    mean_parameters: Samples
    joint: Fits
    posterior: PosteriorOfRun | None = None

    @property
    def times_closer(self) -> float:
        """How many times closer than Method 1 Method 2 is at t = 30, in the median."""
        far, near = (self.free[method].later[1] for method in METHODS)
        return far / near if near else np.inf

    @property
    def estimates(self) -> dict[str, Samples]:
        """Method 2's parameters, (m, p): single runs, repeated observations in two ways, single runs kept stable."""
        return {
            "single": self.free[Method.DISTURBANCE].fits.parameters,
            "mean_of_repeated": self.mean_parameters,
            "repeated_together": self.joint.parameters,
            "kept_stable": self.kept[Method.DISTURBANCE].fits.parameters,
        }

    @property
    def steady_states(self) -> dict[str, Samples]:
        """Those of the `estimates`, of what is stable among them."""
        states = {name: self.example.steady_states(found) for name, found in self.estimates.items()}
        return {name: found[np.isfinite(found)] for name, found in states.items()}


# of the noise that the paper prints
PRINTED_VARIANCE = 0.3
# the deviations that suit Example 3, 2 and 1, and the printed one
SIGMAS = (0.027, 0.1, 0.3, sqrt(PRINTED_VARIANCE))
# less drowns in the rounding of the observations; of more than a fifth of where they begin the fits make nothing
LEAST_SIGMA, MOST_SIGMA = 1e-9, 1.0
RUNS = 500
REPEATS = 5
MOST_RUNS = 20_000
_STARTS = 20
_CHUNK = 125


@dataclass(frozen=True, slots=True, eq=False)
class DelayStudy:
    """The study as a whole.

    Parameters
    ----------
    levels : every example at every level of noise.
    bayarri : the hypothesised model alone, fitted to data with a residual, at the last level.
    """

    levels: tuple[NoiseLevel, ...]
    bayarri: Fit


def run_study(
    sigmas: Sequence[float] = SIGMAS,
    *,
    n_runs: int = RUNS,
    seed: int = 1,
    priors: bool = False,
    posterior_steps: int = POSTERIOR_STEPS,
    progress: Progress = silent,
) -> DelayStudy:
    """Make the observations of each example, and estimate by both methods.

    Parameters
    ----------
    sigmas : standard deviations of the noise. Every level has the same noise but for its size.
    n_runs : a multiple of five, from 10 to 20000.
    seed : of the noise, and of the chains of the posteriors.
    priors, posterior_steps : sample a posterior of Example 3 at each level, too, and with how many steps.
    progress : called with the task, how many of its fits are done, and their number.

    Raises
    ------
    ValueError : a number is out of range, or there is no sampler for posteriors.
    """
    if not 2 * REPEATS <= n_runs <= MOST_RUNS or n_runs % REPEATS:
        least = f"give {2 * REPEATS} or more, a multiple of {REPEATS}, for repeated ones"
        raise ValueError(f"{n_runs} runs: {least}, and {MOST_RUNS} at most")
    for sigma in sigmas:
        if not LEAST_SIGMA <= sigma <= MOST_SIGMA:
            raise ValueError(
                f"sigma: must be a positive number, from {LEAST_SIGMA:g} to {MOST_SIGMA:g}, not {sigma:g}"
            )
    if not sigmas:
        raise ValueError("sigma: give one level of noise at least")
    if priors:
        require_sampler()
    # of every run four fits, and one of every five together
    total = len(sigmas) * (4 * n_runs + n_runs // REPEATS)
    counts = {example.number: _CountedProgress(progress, f"example {example.number}", total) for example in EXAMPLES}
    sampled = _CountedProgress(progress, "posteriors", len(sigmas)) if priors else None
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        levels = [
            _Experiments(
                example, sigma, _observations(example, sigma, n_runs, seed), pool, counts[example.number]
            ).level()
            for example in EXAMPLES
            for sigma in sigmas
        ]
    for i, level in enumerate(levels):
        if sampled and level.example is NEAR_UNSTABLE:
            posterior = with_prior(level.example, level.observed[0], level.sigma, seed, n_steps=posterior_steps)
            levels[i] = replace(level, posterior=posterior)
            sampled.add(1)
    observed = _observations(BAYARRI, sigmas[-1], 1, seed)
    alone, start = BAYARRI.model(Method.UNDISTURBED), BAYARRI.start(Method.UNDISTURBED)
    return DelayStudy(tuple(levels), fit(alone, observed, start, sigma=sigmas[-1]))


class _CountedProgress:
    """Progress of one task of `total` steps, reported from its beginning on."""

    def __init__(self, progress: Progress, task: str, total: int) -> None:
        self._progress, self._task, self._total, self._done = progress, task, total, 0
        self.add(0)

    def add(self, number: int) -> None:
        """Report that so many more steps are done."""
        self._done += number
        self._progress(self._task, self._done, self._total)


def _observations(example: Example, sigma: float, n_runs: int, seed: int) -> Samples:
    """Return (n_runs, n_times)."""
    generator = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(example.number,)))
    return example.truth.response(TIME) + sigma * generator.standard_normal((n_runs, len(TIME)))


class _Experiments:
    """The observations of one example at one level of noise, and their fits, several threads at once."""

    def __init__(
        self, example: Example, sigma: float, observed: Samples, pool: ThreadPoolExecutor, count: _CountedProgress
    ) -> None:
        self._example, self._sigma, self._observed, self._pool, self._count = example, sigma, observed, pool, count

    def level(self) -> NoiseLevel:
        """Fit everything by both methods, with the constraint and without."""
        example, observed = self._example, self._observed
        free = {method: self._runs(method, kept_stable=False) for method in METHODS}
        kept = {method: self._runs(method, kept_stable=True) for method in METHODS}
        groups = observed.reshape(-1, REPEATS, len(TIME)).mean(axis=1)
        single = free[Method.DISTURBANCE].fits.parameters
        first_runs = {}
        for method in free:
            model, start = example.model(method), example.start(method)
            away = np.where(start == 0.0, 0.5, 1.0)
            starts = np.vstack([start, spread_starts(start - away, start + away, _STARTS - 1)])
            found = fit(model, observed[0], starts, sigma=self._sigma)
            intervals = tuple(profile(model, observed[0], found, name).interval() for name in found.names)
            first_runs[method] = FirstRun(found, intervals)
        return NoiseLevel(
            example,
            self._sigma,
            observed,
            free,
            kept,
            first_runs,
            single.reshape(-1, REPEATS, single.shape[1]).mean(axis=1),
            self._many(example.disturbed, example.start(Method.DISTURBANCE), groups),
        )

    def _runs(self, method: Method, *, kept_stable: bool) -> MethodRuns:
        example, later = self._example, np.array([LATER])
        began = perf_counter()
        if kept_stable:
            inside = example.kept_stable(method)
            start = inside.of(example.start(method))
            fits = self._many(inside, start, self._observed)
        else:
            fits = self._many(example.model(method), example.start(method), self._observed)
        seconds = perf_counter() - began
        # what is unstable may be beyond all numbers by then
        with np.errstate(all="ignore"):
            error = (example.predict(method, fits.parameters, later) - example.truth.response(later))[:, 0]
        return MethodRuns(example, fits, error, seconds)

    def _many(self, regression: Regression, start: Samples, observed: Samples) -> Fits:
        chunks = [observed[first : first + _CHUNK] for first in range(0, len(observed), _CHUNK)]
        found = []
        for fits in self._pool.map(lambda chunk: fit_many(regression, chunk, start), chunks):
            found.append(fits)
            self._count.add(len(fits.sigma))
        fields = ("parameters", "covariance", "sigma", "sum_of_squares", "at_bound", "converged")
        return Fits(found[0].names, *(np.concatenate([getattr(part, name) for part in found]) for name in fields))
