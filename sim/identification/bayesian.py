"""Fits with priors: the posterior of the parameters, sampled by emcee, which the extra `bayes` installs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sim.arrays import Flags, Samples
from sim.identification.regression import Regression

# fewer steps than so many autocorrelation times, and their estimate means little (emcee's documentation)
_MIN_AUTOCORRELATION_TIMES = 50.0
_BURN_IN_TIMES = 5


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
