"""What is known of parameters without a normal approximation: profiles of a fit, and samples of a posterior.

A profile is the least sum of squares with one parameter held, and the interval from it. With priors the posterior is
sampled by emcee, which the extra `bayes` installs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import stdtrit

from sim.arrays import Flags, Samples
from sim.fitting.fit import Fit
from sim.fitting.information import information
from sim.fitting.least_squares import minimize
from sim.fitting.regression import Regression

# standard errors to each side; with few degrees of freedom so many times the ends of the interval of 95 %
_REACH, _BEYOND = 4.0, 1.5
_POINTS = 33
# fewer steps than so many autocorrelation times, and their estimate means little (emcee's documentation)
_MIN_AUTOCORRELATION_TIMES = 50.0
_BURN_IN_TIMES = 5


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """A parameter held at values, the others refitted (Bates and Watts 1988, 6.1).

    Parameters
    ----------
    name : of the parameter.
    values : (k,), rising; only the estimate where there is no scale to go by.
    sum_of_squares : (k,), the least with it held there.
    root : (k,), the signed square root of what the fit loses, in standard deviations of the errors; a straight line
        through the estimate with the slope 1 / standard error where the model is linear.
    degrees_of_freedom : of the fit.
    lower, upper : the bounds of the parameter.
    """

    name: str
    values: Samples
    sum_of_squares: Samples
    root: Samples
    degrees_of_freedom: int
    lower: float
    upper: float

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return the interval of the parameter.

        A side ends at the bound where the profile does; it is infinite where the profile does not reach far enough.
        """
        limit = float(stdtrit(self.degrees_of_freedom, 0.5 + 0.5 * confidence))
        low, high = np.interp([-limit, limit], np.maximum.accumulate(self.root), self.values).tolist()
        return (
            low if self.root[0] < -limit else self.lower if self.values[0] == self.lower else -np.inf,
            high if self.root[-1] > limit else self.upper if self.values[-1] == self.upper else np.inf,
        )


def profile(regression: Regression, observed: Samples, fitted: Fit, name: str) -> Profile:
    """Return the profile of one parameter of a fit, over four standard errors to each side, within its bounds.

    With few degrees of freedom it goes further, past the interval of 95 %.

    A parameter at a bound has the standard error it would have without the bound. For
    an undetermined parameter, and for a fit without residuals, the profile is the estimate alone, and its interval
    has no ends.

    Parameters
    ----------
    regression, observed : as they were fitted; not in coordinates of other names.

    Raises
    ------
    ValueError : there is no such parameter, or what was fitted were coordinates.
    """
    if fitted.names != regression.names:
        raise ValueError(f"profile of {name!r}: fit without coordinates, not {', '.join(regression.names)}")
    if name not in fitted.names:
        raise ValueError(f"profile of {name!r}: choose among {', '.join(regression.names)}")
    i, observed = fitted.names.index(name), np.atleast_2d(observed)
    estimate, sigma, degrees = fitted.parameters[i], fitted.sigma, fitted.degrees_of_freedom
    lower, upper = float(regression.lower[i]), float(regression.upper[i])
    error, slope = _scale(regression, fitted, i, len(observed))
    reach = max(_REACH, _BEYOND * float(stdtrit(degrees, 0.975)))
    # no scale, no values around the estimate
    away = np.linspace(-reach, reach, _POINTS) * (error if np.isfinite(error) else 0.0)
    held = np.unique(np.clip(estimate + away, lower, upper))
    if len(held) < 3 or sigma == 0.0:
        only = np.array([estimate]), np.array([fitted.sum_of_squares]), np.zeros(1)
        return Profile(name, *only, degrees, lower, upper)
    # the others from where a linear model would have them
    start = fitted.parameters + (held - estimate)[:, None] * slope
    start[:, i] = held
    low, high = (np.tile(bound, (len(held), 1)) for bound in (regression.lower, regression.upper))
    low[:, i] = high[:, i] = held
    mean = observed.mean(axis=0)
    found = minimize(regression, np.broadcast_to(mean, (len(held), len(mean))), start, lower=low, upper=high)
    # where even the start overflows there is no profile
    held, reached = held[np.isfinite(found.sum_of_squares)], found.sum_of_squares[np.isfinite(found.sum_of_squares)]
    squares = len(observed) * reached + float(np.sum((observed - mean) ** 2))
    lost = np.maximum(squares - fitted.sum_of_squares, 0.0)
    return Profile(name, held, squares, np.sign(held - estimate) * np.sqrt(lost) / sigma, degrees, lower, upper)


def _scale(regression: Regression, fitted: Fit, i: int, repeated: int) -> tuple[float, Samples]:
    """Return the standard error of a parameter, were it not at a bound, and how the others, (p,), follow it."""
    jacobian = regression.evaluate(fitted.parameters[None])[1]
    held = fitted.at_bound[None].copy()
    held[0, i] = False
    info = information(jacobian.swapaxes(1, 2) @ jacobian, held, np.eye(len(fitted.names)))
    if info.unidentified[0, i]:
        return np.inf, np.zeros(len(fitted.names))
    column = info.inverse[0, i]
    return fitted.sigma * float(np.sqrt(column[i] / repeated)), np.asarray(column / column[i])


class Prior(Protocol):
    """What is known of a parameter beforehand; a frozen distribution of scipy.stats is one."""

    def logpdf(self, x: Samples) -> Samples:
        """Return the logarithm of the density."""


@dataclass(frozen=True, slots=True, eq=False)
class Posterior:
    """Samples of the parameters, given the observations.

    Parameters
    ----------
    names : (p,).
    samples : (n_samples, p), without the beginning of the chains.
    autocorrelation : (p,), steps after which a chain has forgotten.
    acceptance : the share of steps that were taken.
    enough : whether the chains are 50 autocorrelation times long; else take more steps.
    """

    names: tuple[str, ...]
    samples: Samples
    autocorrelation: Samples
    acceptance: float
    enough: bool

    def of(self, name: str) -> Samples:
        """Return (n_samples,): one parameter."""
        return self.samples[:, self.names.index(name)]

    @property
    def mean(self) -> Samples:
        """(p,)."""
        return np.asarray(self.samples.mean(axis=0))

    @property
    def covariance(self) -> Samples:
        """(p, p)."""
        return np.atleast_2d(np.cov(self.samples.T))


def require_sampler() -> None:
    """Raise ValueError, which says how to get it, if emcee is not installed: before anything that takes its time."""
    try:
        import emcee  # noqa: F401
    except ImportError as problem:
        raise ValueError(
            "a fit with priors needs emcee: pip install synchroscope[bayes], in a clone pip install -e .[bayes]"
        ) from problem


def sample_posterior(
    regression: Regression,
    observed: Samples,
    start: Samples,
    spread: Samples,
    priors: Mapping[str, Prior],
    *,
    sigma: float | None = None,
    support: Callable[[Samples], Flags] | None = None,
    n_walkers: int = 32,
    n_steps: int = 2000,
    seed: int = 1,
) -> Posterior:
    """Sample the posterior of independent normal errors.

    Parameters
    ----------
    observed : (n,), or (n_observations, n).
    start, spread : (p,), where the walkers begin and how far apart: the estimates and standard errors of a fit.
    priors : of parameters by name; what is not named is flat within the regression's bounds.
    sigma : of the errors; unknown, it is integrated out under the prior 1/sigma.
    support : which of (m, p) parameters are possible at all, such as the stable ones.
    n_walkers, n_steps, seed : of the affine invariant sampler (Goodman and Weare 2010).

    Raises
    ------
    ValueError : emcee is not installed, a prior is of no parameter, or the start is not possible.
    """
    require_sampler()
    import emcee

    if not set(priors) <= set(regression.names):
        raise ValueError(f"priors of {', '.join(priors)}: the parameters are {', '.join(regression.names)}")
    observed = np.atleast_2d(observed)
    mean = observed.mean(axis=0)
    within = float(np.sum((observed - mean) ** 2))

    def log_density(parameters: Samples) -> Samples:
        found = np.full(len(parameters), -np.inf)
        possible = ((parameters >= regression.lower) & (parameters <= regression.upper)).all(axis=1)
        if support is not None:
            possible &= support(parameters)
        inside = parameters[possible]
        with np.errstate(all="ignore"):
            response, _ = regression.evaluate(inside)
            squares = len(observed) * np.sum((mean - response) ** 2, axis=1) + within
            total = -0.5 * squares / sigma**2 if sigma else -0.5 * observed.size * np.log(squares)
        for name, prior in priors.items():
            total = total + prior.logpdf(inside[:, regression.names.index(name)])
        found[possible] = np.where(np.isfinite(total), total, -np.inf)
        return found

    if not np.isfinite(log_density(np.asarray(start)[None])[0]):
        raise ValueError("a fit with priors: the start must be possible under the priors")
    generator = np.random.default_rng(seed)
    walkers = _begin(log_density, start, spread, n_walkers, generator)
    sampler = emcee.EnsembleSampler(n_walkers, len(start), log_density, vectorize=True)
    # the sampler takes no other
    random = np.random.RandomState(seed).get_state()
    sampler.run_mcmc(emcee.State(walkers, random_state=random), n_steps)
    forgotten = np.asarray(sampler.get_autocorr_time(tol=0))
    burned = min(int(_BURN_IN_TIMES * np.nan_to_num(forgotten).max()) + 1, n_steps // 2)
    enough = bool(np.all(n_steps >= _MIN_AUTOCORRELATION_TIMES * forgotten))
    acceptance = float(np.mean(sampler.acceptance_fraction))
    samples = np.ascontiguousarray(sampler.get_chain(discard=burned, flat=True))
    return Posterior(regression.names, samples, forgotten, acceptance, enough)


def _begin(
    log_density: Callable[[Samples], Samples],
    start: Samples,
    spread: Samples,
    number: int,
    generator: np.random.Generator,
) -> Samples:
    """Return (number, p) feasible starts around one, drawn nearer to it where it is close to a bound."""
    walkers = start + spread * generator.standard_normal((number, len(start)))
    for _ in range(60):
        bad = ~np.isfinite(log_density(walkers))
        walkers[bad] = start + 0.5 * (walkers[bad] - start)
    return walkers
