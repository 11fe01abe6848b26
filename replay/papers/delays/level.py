"""Results of many runs of an example at one level of noise: errors, quartiles, a posterior."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from monitor.messages.blocks import Samples
from replay.papers.delays.examples import METHODS, Example, Method
from sim.fitting.fit import Fit, Fits, fit
from sim.fitting.intervals import Posterior, sample_posterior
from sim.fitting.model_responses import stable

_FARTHEST = 1e150
_ALIKE = 1e-12


def quartiles(values: Samples) -> tuple[float, float, float]:
    """Return the lower quartile, the median and the upper one; NaN counts as infinitely large."""
    if not len(values):
        return (np.nan,) * 3
    with np.errstate(all="ignore"):
        sort = np.sort(np.where(np.isnan(values), np.inf, values))
        low, middle, high = (_between(sort, 0.25 * i * (len(sort) - 1)) for i in (1, 2, 3))
    return low, middle, high


def _between(sort: Samples, place: float) -> float:
    below, share = int(place), place - int(place)
    return float(sort[below] if not share else (1.0 - share) * sort[below] + share * sort[below + 1])


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
