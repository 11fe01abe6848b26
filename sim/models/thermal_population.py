"""The specimens of the thermal challenge: properties fitted to data, populations, and how they heat up.

The last is an experiment that is streamed, faster than it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import sqrt
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from sim.arrays import Samples
from sim.ensembles import AddedDiscrepancy, Distribution, Lognormal, Normal, Resampled
from sim.models.thermal_slab import SlabTest, conduction_temperature, series_temperature
from sim.models.thermal_tables import ACCREDITATION, APPLICATION, LIMIT_TIME, Material, configurations, material

_ROUNDS = 20


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


class Conductivity(StrEnum):
    """What is assumed of a specimen's conductivity."""

    CONSTANT = "constant"
    REPRESENTATIVE = "representative"
    TEMPERATURE_DEPENDENT = "temperature_dependent"

    @property
    def label(self) -> str:
        """For a reader of tables and pictures."""
        return "k(T)" if self is Conductivity.TEMPERATURE_DEPENDENT else f"{self} k"


class Family(StrEnum):
    """How properties are distributed from specimen to specimen."""

    NORMAL = "normal"
    LOGNORMAL = "lognormal"
    RESAMPLED = "resampled"


@dataclass(frozen=True, slots=True, eq=False)
class Specimens:
    """Specimens with k(T) = conductivity + slope T.

    Parameters
    ----------
    conductivity : (n,), W/(m K), at 0 degC.
    slope : W/(m K^2), the same of all.
    heat_capacity : (n,), J/(m^3 K).
    """

    conductivity: Samples
    slope: float
    heat_capacity: Samples

    def temperature(self, test: SlabTest, time: ArrayLike, depths: Sequence[float] = (0.0,)) -> Samples:
        """Return (n_times, n_depths, n) in degC: eq. 2 where the conductivity is constant, else finite volumes.

        Raises
        ------
        ValueError : see `conduction_temperature`.
        """
        if self.slope:
            return conduction_temperature(test, time, self.conductivity, self.slope, self.heat_capacity, depths)
        return np.stack(
            [series_temperature(test, time, self.conductivity, self.heat_capacity, depth) for depth in depths], axis=1
        )

    def between(self, first: int, last: int) -> Specimens:
        """Return the specimens from `first` on, without `last`."""
        return Specimens(self.conductivity[first:last], self.slope, self.heat_capacity[first:last])

    def __len__(self) -> int:
        return len(self.conductivity)


@dataclass(frozen=True, slots=True)
class Population:
    """What specimens are drawn from; conductivity and capacity know nothing of each other.

    Parameters
    ----------
    conductivity : W/(m K), at 0 degC.
    slope : W/(m K^2), the same of all specimens.
    heat_capacity : J/(m^3 K).
    """

    conductivity: Distribution
    slope: float
    heat_capacity: Distribution

    def sample(self, generator: np.random.Generator, number: int) -> Specimens:
        """Return so many specimens."""
        conductivity = self.conductivity.sample(generator, number)
        return Specimens(conductivity, self.slope, self.heat_capacity.sample(generator, number))

    def mean(self) -> Specimens:
        """Return one specimen, whose properties are the means."""
        return Specimens(np.array([self.conductivity.mean]), self.slope, np.array([self.heat_capacity.mean]))


@dataclass(frozen=True, slots=True, eq=False)
class Characterization:
    """What measured properties say: conductivity with and without a trend, capacity likewise.

    Parameters
    ----------
    line, constant : fits of the conductivity, W/(m K).
    capacity_line, capacity : fits of the volumetric heat capacity, J/(m^3 K).
    representative_temperature : degC, at which k is taken where it is to be constant and yet the material's.
    """

    line: PropertyFit
    constant: PropertyFit
    capacity_line: PropertyFit
    capacity: PropertyFit
    representative_temperature: float

    def population(self, conductivity: Conductivity, family: Family = Family.NORMAL) -> Population:
        """Return the specimens under an assumption on k, with properties of a family.

        Constant: mean and spread of all values, whatever their temperature, so that the trend counts as spread.
        Representative: the line at the representative temperature, and what scatters about it. Temperature-dependent:
        the line, moved up or down from specimen to specimen.
        """
        fit = self.constant if conductivity is Conductivity.CONSTANT else self.line
        at = self.representative_temperature if conductivity is Conductivity.REPRESENTATIVE else 0.0
        slope = fit.slope if conductivity is Conductivity.TEMPERATURE_DEPENDENT else 0.0
        return Population(
            _distribution(fit, fit.at(at), family), slope, _distribution(self.capacity, self.capacity.at(0.0), family)
        )


def characterize(data: Material, representative_temperature: float | None = None) -> Characterization:
    """Fit what was measured, see `Characterization`.

    Parameters
    ----------
    data : measured properties.
    representative_temperature : degC; by default half way between front and back of a mean specimen at the end of the
        application.

    Raises
    ------
    ValueError : there are too few values, or all are at one temperature.
    """
    line, constant = (fit_property(data.temperature, data.conductivity, trend=trend) for trend in (True, False))
    capacity_line, capacity = (
        fit_property(data.temperature, data.heat_capacity, trend=trend) for trend in (True, False)
    )
    if representative_temperature is None:
        representative_temperature = _half_way(line, capacity)
    return Characterization(line, constant, capacity_line, capacity, representative_temperature)


def _half_way(line: PropertyFit, capacity: PropertyFit) -> float:
    """Return the temperature half way between front and back of a mean specimen at the end of the application.

    The mean of k over the temperatures between the faces is its value there, because k is a line in them. Front and
    back come from eq. 2 with that k: the temperature is sought until it agrees with itself.
    """
    test = configurations()[APPLICATION]
    temperature = test.initial_temperature
    for _ in range(_ROUNDS):
        properties = line.at(temperature), capacity.at(0.0)
        front, back = (float(series_temperature(test, LIMIT_TIME, *properties, depth)[0, 0]) for depth in (0.0, 1.0))
        temperature = 0.5 * (front + back)
    return temperature


def _distribution(fit: PropertyFit, mean: float, family: Family) -> Distribution:
    if family is Family.RESAMPLED:
        return Resampled(tuple((mean + fit.rescaled_residuals).tolist()))
    return (Lognormal if family is Family.LOGNORMAL else Normal)(mean, fit.residual_deviation)


@dataclass(frozen=True)
class ThermalExperiment(AddedDiscrepancy):
    """The accreditation test of the thermal challenge, of newly drawn specimens (Dowding, Pilch and Hills 2006).

    The specimens are those of Table 4, with a conductivity that rises with temperature. Ours: the fault, a heater
    that from the onset on gives more than its set value; the time scale, instants and horizon.

    Parameters
    ----------
    test : flux and thickness.
    population : what the specimens are drawn from.
    depth : of the thermocouple, as a share of the thickness.
    time_scale : s of the test in a second of the stream.
    horizon, dt : s of the stream.
    fault : share of the flux that the heater gives too much in the bad experiment.
    fault_onset : s of the stream.
    noise : degC, standard deviation of a measurement; the challenge has none.
    """

    test: SlabTest = field(default_factory=lambda: configurations()[ACCREDITATION])
    population: Population = field(
        default_factory=lambda: characterize(material("High")).population(Conductivity.TEMPERATURE_DEPENDENT)
    )
    depth: float = 0.0
    time_scale: float = 50.0
    horizon: float = 20.0
    dt: float = 0.1
    fault: float = 0.5
    fault_onset: float = 6.0
    noise: float = 0.0

    name: ClassVar[str] = "thermal"
    unit: ClassVar[str] = "degC"

    @property
    def quantity(self) -> str:
        """What is measured, and where."""
        places = {0.0: "on the heated front", 1.0: "on the insulated back"}
        return f"temperature {places.get(self.depth, f'at {self.depth:g} of the thickness')}"

    @property
    def discrepancy(self) -> Samples:
        """(n_times,) in degC: what the additional flux heats, by eq. 2, where constant properties add up.

        They are those of the population's mean specimen, its conductivity that at half way between front and back
        after 1000 s of the test, however long it lasts.
        """
        since = np.maximum(self.time - self.fault_onset, 0.0) * self.time_scale
        if not self.fault:
            return np.zeros(len(since))
        more = SlabTest(self.fault * self.test.flux, self.test.thickness, 0.0)
        mean = self.population.mean()
        half_way = mean.temperature(self.test, [LIMIT_TIME], (0.0, 1.0)).mean()
        k = mean.conductivity + mean.slope * half_way
        return series_temperature(more, since, k, mean.heat_capacity, self.depth)[:, 0]

    def realize(self, generator: np.random.Generator, number: int) -> Samples:
        """Return (n_times, number) temperatures in degC, each of a specimen of its own."""
        specimens = self.population.sample(generator, number)
        found = specimens.temperature(self.test, self.time * self.time_scale, (self.depth,))
        return np.ascontiguousarray(found[:, 0])
