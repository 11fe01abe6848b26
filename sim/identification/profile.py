"""The profile of a fit: how good it can still be when one parameter is held, and the interval that follows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import t

from sim.identification.fit import Fit
from sim.identification.least_squares import minimize
from sim.identification.regression import Regression, Samples

_REACH = 4.0  # standard errors to each side
_POINTS = 33


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """A parameter held at values, the others fitted anew (Bates and Watts 1988, 6.1).

    Parameters
    ----------
    name : of the parameter.
    values : (k,), rising.
    sum_of_squares : (k,), the least with it held there.
    root : (k,), the signed square root of what the fit loses, in standard deviations of the errors; a straight line
        through the estimate with the slope 1 / standard error where the model is linear.
    degrees_of_freedom : of the fit.
    """

    name: str
    values: Samples
    sum_of_squares: Samples
    root: Samples
    degrees_of_freedom: int

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return the interval of the parameter; infinite on a side that the profile does not reach."""
        limit = float(t.ppf(0.5 + 0.5 * confidence, self.degrees_of_freedom))
        low, high = np.interp([-limit, limit], np.maximum.accumulate(self.root), self.values)
        return (
            float(low) if self.root[0] < -limit else -np.inf,
            float(high) if self.root[-1] > limit else np.inf,
        )


def profile(regression: Regression, observed: Samples, fitted: Fit, name: str) -> Profile:
    """Return the profile of one parameter of a fit, over four standard errors to each side.

    Parameters
    ----------
    regression, observed : as they were fitted; not in coordinates.

    Raises
    ------
    ValueError : there is no such parameter, or its standard error is not known.
    """
    if name not in fitted.names or fitted.names != regression.names:
        raise ValueError(f"profile of {name!r}: choose among {', '.join(regression.names)}")
    i = fitted.names.index(name)
    error = float(fitted.standard_errors[i])
    if not (np.isfinite(error) and error > 0.0):
        raise ValueError(f"profile of {name!r}: the fit knows no standard error of it")
    observed = np.atleast_2d(observed)
    away = np.linspace(-_REACH, _REACH, _POINTS) * error
    # the others from where a linear model would have them
    start = fitted.parameters + away[:, None] * fitted.covariance[i] / error**2
    held = fitted.parameters[i] + away
    held = held[(held >= regression.lower[i]) & (held <= regression.upper[i])]
    start = start[np.isin(fitted.parameters[i] + away, held)]
    start[:, i] = held
    lower, upper = (np.tile(bound, (len(held), 1)) for bound in (regression.lower, regression.upper))
    lower[:, i] = upper[:, i] = held
    mean = observed.mean(axis=0)
    found = minimize(regression, np.broadcast_to(mean, (len(held), len(mean))), start, lower=lower, upper=upper)
    within = float(np.sum((observed - mean) ** 2))
    squares = len(observed) * found.sum_of_squares + within
    lost = np.maximum(squares - fitted.sum_of_squares, 0.0)
    degrees = observed.size - len(fitted.names)
    root = np.sign(held - fitted.parameters[i]) * np.sqrt(lost) / fitted.sigma
    return Profile(name, held, squares, root, degrees)
