"""Material properties that vary from specimen to specimen: their distributions, and confidence from data."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from sim.arrays import Samples


class Distribution(Protocol):
    """Of a property, from specimen to specimen."""

    @property
    def mean(self) -> float:
        """In the property's unit."""

    def sample(self, generator: np.random.Generator, number: int) -> Samples:
        """Return (number,) realizations."""

    def cdf(self, value: ArrayLike) -> Samples:
        """Return the probability of each value or less."""

    def nodes(self, number: int) -> tuple[Samples, Samples]:
        """Return values and weights of a rule that integrates over the distribution, `number` each at the most."""


@dataclass(frozen=True, slots=True, eq=False)
class PropertyFit:
    """A constant or a line in temperature, by least squares, and what scatters about it.

    Parameters
    ----------
    coefficients : (1,) or (2,): value at 0 degC and, of a line, slope.
    covariance : of the coefficients.
    fitted, residuals : (n,), in the property's unit.
    leverages : (n,), the share of each value in its own fit.
    residual_deviation : standard deviation from specimen to specimen, unbiased in its square.
    """

    coefficients: Samples
    covariance: Samples
    fitted: Samples
    residuals: Samples
    leverages: Samples
    residual_deviation: float

    @property
    def degrees_of_freedom(self) -> int:
        """How many more values there are than coefficients."""
        return len(self.residuals) - len(self.coefficients)

    @property
    def slope(self) -> float:
        """Per degC; zero of a constant."""
        return float(self.coefficients[1]) if len(self.coefficients) > 1 else 0.0

    @property
    def standard_errors(self) -> Samples:
        """Of the coefficients."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def slope_p_value(self) -> float:
        """How probable a slope so far from zero is where there is none; NaN of a constant."""
        if len(self.coefficients) < 2:
            return float("nan")
        from scipy import stats

        size = abs(self.slope) / float(self.standard_errors[1])
        return float(2.0 * stats.t.sf(size, self.degrees_of_freedom))

    @property
    def rescaled_residuals(self) -> Samples:
        """(n,): the residuals as large as those of specimens that the fit does not know, about a mean of zero."""
        scaled = self.residuals / np.sqrt(1.0 - self.leverages)
        return np.asarray(scaled - scaled.mean())

    def at(self, temperature: float) -> float:
        """Return the mean property at a temperature in degC."""
        return float(self.coefficients[0] + self.slope * temperature)

    def interval(self, confidence: float = 0.95) -> Samples:
        """Return (n_coefficients, 2): between which each coefficient is, by Student's t."""
        from scipy import stats

        reach = stats.t.ppf(0.5 + 0.5 * confidence, self.degrees_of_freedom) * self.standard_errors
        return np.column_stack([self.coefficients - reach, self.coefficients + reach])

    def deviation_interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return between which the standard deviation is, by chi-square."""
        from scipy import stats

        free = self.degrees_of_freedom
        tails = stats.chi2.ppf([0.5 + 0.5 * confidence, 0.5 - 0.5 * confidence], free)
        low, high = self.residual_deviation * np.sqrt(free / tails)
        return float(low), float(high)


def fit_property(temperature: Samples, values: Samples, *, trend: bool) -> PropertyFit:
    """Fit a constant or, with a trend, a line.

    Parameters
    ----------
    temperature : (n,), degC.
    values : (n,), one a specimen.
    trend : whether the property may change with temperature.

    Raises
    ------
    ValueError : there are too few values, or all are at one temperature.
    """
    n, n_coefficients = len(values), 2 if trend else 1
    if n <= n_coefficients or (trend and np.ptp(temperature) == 0.0):
        raise ValueError(f"{n} values for {n_coefficients} coefficients: give more, at several temperatures")
    leverages = np.full(n, 1.0 / n)
    mean = float(values.mean())
    fitted, coefficients, covariance = np.full(n, mean), np.array([mean]), np.array([[1.0 / n]])
    if trend:
        # about the mean temperature the mean and the slope know nothing of each other
        middle = float(temperature.mean())
        away = temperature - middle
        extent = float(away @ away)
        slope = float(away @ values) / extent
        leverages += away**2 / extent
        fitted += slope * away
        coefficients = np.array([mean - slope * middle, slope])
        covariance = np.array([[1.0 / n + middle**2 / extent, -middle / extent], [-middle / extent, 1.0 / extent]])
    residuals = values - fitted
    variance = float(residuals @ residuals) / (n - n_coefficients)
    return PropertyFit(coefficients, variance * covariance, fitted, residuals, leverages, sqrt(variance))
