"""The profile of a fit: the least sum of squares with one parameter held, and the interval from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from sim.arrays import Samples
from sim.identification.covariance import information
from sim.identification.fit import Fit
from sim.identification.least_squares import minimize
from sim.identification.regression import Regression

# standard errors to each side; with few degrees of freedom so many times the ends of the interval of 95 %
_REACH, _BEYOND = 4.0, 1.5
_POINTS = 33


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
