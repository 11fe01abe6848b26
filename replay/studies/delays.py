"""The study of parameter estimation with delays: two methods, many runs, several levels of noise."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from monitor.blocks import Samples
from replay.ensembles import Progress, silent
from replay.studies.delay_examples import BAYARRI, EXAMPLES, LATER, NEAR_UNSTABLE, TIME, Example
from replay.studies.delay_priors import Prior, with_prior
from sim.identification.delay_response import stable
from sim.identification.fit import Fit, Fits, fit, fit_many
from sim.identification.profile import profile
from sim.identification.regression import InCoordinates, Regression
from sim.identification.starts import spread_starts

# the deviations that suit Example 3, 2 and 1; the paper prints a variance of 0.3
SIGMAS = (0.027, 0.1, 0.3)
RUNS = 500
REPEATS = 5
_STARTS = 20
_CHUNK = 125


@dataclass(frozen=True, slots=True, eq=False)
class Typical:
    """The first run of a method, looked at closely.

    Parameters
    ----------
    fit : of the best of many starts.
    intervals : 95 % of each parameter, from its profile.
    """

    fit: Fit
    intervals: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """An example at one level of noise.

    Parameters
    ----------
    example, sigma : which.
    observed : (n_runs, n_times).
    fits : of every run, by method.
    typical : the first run, by method.
    later_error : (n_runs,) by method: the prediction at t = 30 less the truth.
    stable_fits : Method 2 kept stable; None without a delay.
    mean_parameters : (n_runs / 5, p), of Method 2: means over five observations each, as in the paper.
    joint : Method 2 of the same five observations fitted together.
    prior : the posterior of the first run of Example 3, kept stable; None elsewhere.
    """

    example: Example
    sigma: float
    observed: Samples
    fits: dict[int, Fits]
    typical: dict[int, Typical]
    later_error: dict[int, Samples]
    stable_fits: Fits | None
    mean_parameters: Samples
    joint: Fits
    prior: Prior | None

    @property
    def bias(self) -> Samples:
        """(p,): mean of Method 2's estimates less the truth, in standard errors of that mean."""
        found = self.fits[2]
        known = np.array([self.example.known(name) for name in found.names])
        error = found.parameters.std(axis=0, ddof=1) / np.sqrt(len(found.parameters))
        return np.asarray((found.parameters.mean(axis=0) - known) / error)

    @property
    def told_over_scatter(self) -> Samples:
        """(p,): the root mean square of the standard errors over the scatter of the estimates, of Method 2."""
        found = self.fits[2]
        told = np.sqrt(np.mean(np.einsum("mpp->mp", found.covariance), axis=0))
        return np.asarray(told / found.parameters.std(axis=0, ddof=1))

    @property
    def gain(self) -> float:
        """How many times closer than Method 1 Method 2 is at t = 30, in the median."""
        far, near = (np.median(np.abs(self.later_error[method])) for method in (1, 2))
        return float(far / near)

    def steady_states(self, parameters: Samples) -> Samples:
        """Return (m,): -omega / (q0 + q1) of Method 2's parameters; NaN where these are not stable."""
        rates, omega = parameters[:, :-1], parameters[:, -1]
        with np.errstate(divide="ignore"):
            return np.where(self.example.is_stable(parameters), -omega / rates.sum(axis=1), np.nan)


@dataclass(frozen=True, slots=True, eq=False)
class DelayStudy:
    """The study as a whole.

    Parameters
    ----------
    levels : every example at every level of noise.
    bayarri : the hypothesised model alone, fitted to data with a residual, at the last level.
    """

    levels: tuple[Level, ...]
    bayarri: Fit


def run_study(
    sigmas: Sequence[float] = SIGMAS,
    *,
    n_runs: int = RUNS,
    seed: int = 1,
    priors: bool = False,
    progress: Progress = silent,
) -> DelayStudy:
    """Make the observations of each example, and estimate by both methods.

    Parameters
    ----------
    sigmas : standard deviations of the noise. Every level has the same noise but for its size.
    n_runs : a multiple of five.
    priors : sample a posterior of Example 3 at each level, too.
    progress : told how many fits are done.

    Raises
    ------
    ValueError : a number is out of range.
    """
    if n_runs < 2 * REPEATS or n_runs % REPEATS:
        raise ValueError(f"{n_runs} runs: give {2 * REPEATS} or more, a multiple of {REPEATS}, for repeated ones")
    if not sigmas or not all(np.isfinite(sigma) and sigma > 0.0 for sigma in sigmas):
        raise ValueError("sigma: must be a positive number")
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        levels = tuple(
            _level(example, sigma, n_runs, seed, priors, pool, progress) for example in EXAMPLES for sigma in sigmas
        )
    observed = _observations(BAYARRI, sigmas[-1], 1, seed)
    return DelayStudy(levels, fit(BAYARRI.model(0), observed, BAYARRI.start(0), sigma=sigmas[-1]))


def _observations(example: Example, sigma: float, n_runs: int, seed: int) -> Samples:
    """Return (n_runs, n_times)."""
    generator = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(example.number,)))
    return example.truth.response(TIME) + sigma * generator.standard_normal((n_runs, len(TIME)))


def _level(
    example: Example,
    sigma: float,
    n_runs: int,
    seed: int,
    priors: bool,
    pool: ThreadPoolExecutor,
    progress: Progress,
) -> Level:
    observed = _observations(example, sigma, n_runs, seed)
    words = f"example {example.number}, sigma {sigma:g}"

    def many(what: str, regression: Regression, start: Samples, observed: Samples) -> Fits:
        chunks = [observed[first : first + _CHUNK] for first in range(0, len(observed), _CHUNK)]
        found = []
        for fits in pool.map(lambda chunk: fit_many(regression, chunk, start), chunks):
            found.append(fits)
            progress(f"{words}: {what}", sum(len(each.sigma) for each in found), len(observed))
        return _together(found)

    fits = {
        method: many(f"method {method}", example.model(method), example.start(method), observed) for method in (1, 2)
    }
    truth = example.truth.response([LATER])
    later = {
        method: (example.predict(method, found.parameters, np.array([LATER])) - truth)[:, 0]
        for method, found in fits.items()
    }
    kept = None
    if "q1" in example.rates:
        coordinates: InCoordinates = stable(example.disturbed)
        inside = coordinates.of(example.start(2))
        kept = many("kept stable", coordinates, inside, observed)
    prior = None
    if priors and example is NEAR_UNSTABLE:
        prior = with_prior(example, observed[0], sigma, seed)
        progress(f"{words}: posterior", 1, 1)
    groups = observed.reshape(-1, REPEATS, len(TIME)).mean(axis=1)
    return Level(
        example,
        sigma,
        observed,
        fits,
        {method: _typical(example, method, observed[0], sigma) for method in fits},
        later,
        kept,
        fits[2].parameters.reshape(-1, REPEATS, fits[2].parameters.shape[1]).mean(axis=1),
        many("five together", example.model(2), example.start(2), groups),
        prior,
    )


def _together(parts: list[Fits]) -> Fits:
    fields = ("parameters", "covariance", "sigma", "sum_of_squares", "at_bound", "converged")
    return Fits(parts[0].names, *(np.concatenate([getattr(part, name) for part in parts]) for name in fields))


def _typical(example: Example, method: int, observed: Samples, sigma: float) -> Typical:
    model, start = example.model(method), example.start(method)
    away = np.where(start == 0.0, 0.5, 1.0)
    starts = np.vstack([start, spread_starts(start - away, start + away, _STARTS - 1)])
    found = fit(model, observed, starts, sigma=sigma)
    intervals = tuple(profile(model, observed, found, name).interval() for name in found.names)
    return Typical(found, intervals)
