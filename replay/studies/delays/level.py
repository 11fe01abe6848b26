"""What many runs of an example at one level of noise say of the two methods."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from monitor.blocks import Samples
from replay.studies.delays.examples import Example
from replay.studies.delays.posteriors import Prior
from replay.studies.delays.spread import quartiles
from sim.identification.fit import Fit
from sim.identification.many_fits import Fits


@dataclass(frozen=True, slots=True, eq=False)
class Runs:
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
        return np.asarray(self.scatter / np.sqrt(len(self.fits.parameters)))

    @property
    def scatter(self) -> Samples:
        """(p,): standard deviation of the estimates."""
        return np.asarray(self.fits.parameters.std(axis=0, ddof=1))

    @property
    def told(self) -> Samples:
        """(p,): mean of the standard errors that the fits tell, of those that tell one."""
        errors = self.fits.standard_errors
        number = np.isfinite(errors).sum(axis=0)
        total = np.where(np.isfinite(errors), errors, 0.0).sum(axis=0)
        return np.where(number, total / np.maximum(number, 1), np.nan)

    @property
    def told_over_scatter(self) -> Samples:
        """(p,): near one where the fits know how good they are."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.told / self.scatter

    @property
    def unstable(self) -> int:
        """How many runs do not have q0 + |q1| < 0."""
        return int(np.sum(~self.example.is_stable(self.fits.parameters)))

    @property
    def at_bound(self) -> int:
        """How many runs stand at a bound."""
        return int(self.fits.at_bound.any(axis=1).sum())

    @property
    def later(self) -> tuple[float, float, float]:
        """Quartiles of the absolute error at t = 30, the median in the middle."""
        return quartiles(np.abs(self.later_error))


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
    free, kept : every run by method 1 and 2: without the stability constraint, and with it.
    typical : the first run, by method, without the constraint.
    mean_parameters : (n_runs / 5, p), of Method 2: means over five observations each, as in the paper.
    joint : Method 2 of the same five observations fitted together.
    prior : the posterior of the first run of Example 3, kept stable; None elsewhere.
    """

    example: Example
    sigma: float
    observed: Samples
    free: dict[int, Runs]
    kept: dict[int, Runs]
    typical: dict[int, Typical]
    mean_parameters: Samples
    joint: Fits
    prior: Prior | None

    @property
    def gain(self) -> float:
        """How many times closer than Method 1 Method 2 is at t = 30, in the median."""
        far, near = (self.free[method].later[1] for method in (1, 2))
        return far / near if near else np.inf

    @property
    def estimates(self) -> dict[str, Samples]:
        """Method 2's parameters, (m, p), of single runs, of repeated observations in two ways, and kept stable."""
        return {
            "single": self.free[2].fits.parameters,
            "mean_of_repeated": self.mean_parameters,
            "repeated_together": self.joint.parameters,
            "kept_stable": self.kept[2].fits.parameters,
        }

    @property
    def steady_states(self) -> dict[str, Samples]:
        """Those of the `estimates`, of what is stable among them."""
        states = {name: self.example.steady_states(found) for name, found in self.estimates.items()}
        return {name: found[np.isfinite(found)] for name, found in states.items()}
