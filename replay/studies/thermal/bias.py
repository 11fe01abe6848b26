"""What the validation runs say the model misses, carried on to the application: an extrapolation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from monitor.messages.blocks import Samples
from sim.models.thermal_population import Characterization, Conductivity
from sim.models.thermal_slab import SlabTest, series_temperature
from sim.models.thermal_tables import APPLICATION, LIMIT, LIMIT_TIME, configurations, front_runs


@dataclass(frozen=True, slots=True)
class BiasCorrection:
    """The share of too hot units when what eq. 2 misses on the average is added.

    Parameters
    ----------
    probability : with the correction; constant conductivity.
    low, high : 5 and 95 % of it in a bootstrap of the runs.
    shift : degC, added at the application.
    farthest_rise, rise : degC over the initial temperature: the model's largest in the runs, and in the application.
    farthest_flux, flux : W/m^2, the same.
    """

    probability: float
    low: float
    high: float
    shift: float
    farthest_rise: float
    rise: float
    farthest_flux: float
    flux: float

    @property
    def extrapolates(self) -> bool:
        """Whether the application lies beyond the runs."""
        return self.rise > self.farthest_rise or self.flux > self.farthest_flux


def correct_bias(
    known: Characterization, level: str, n_units: int, n_resampled: int, generator: np.random.Generator
) -> BiasCorrection:
    """Learn from the runs of a level how far the model is off at a temperature rise, and correct the application.

    Measured less predicted front temperature is a parabola through zero in the predicted rise, by least squares over
    all runs and instants; the prediction is eq. 2 with mean properties. Runs are resampled whole: the instants of one
    are of one specimen.
    """
    units = known.population(Conductivity.CONSTANT).sample(generator, n_units)
    mean_properties = known.constant.at(0.0), known.capacity.at(0.0)

    def rise(test: SlabTest, time: Samples) -> Samples:
        return series_temperature(test, time, *mean_properties)[:, 0] - test.initial_temperature

    tests = configurations()
    runs = front_runs(level)
    normal, right, farthest = [], [], 0.0
    for name, each in runs.items():
        predicted = rise(tests[name], each.time[1:])
        powers = np.column_stack([predicted, predicted**2])
        missed = each.temperature[1:] - tests[name].initial_temperature - predicted[:, None]
        for one in missed.T:
            normal.append(powers.T @ powers)
            right.append(powers.T @ one)
        farthest = max(farthest, float(predicted.max()))
    application = tests[APPLICATION]
    reached = float(rise(application, np.array([LIMIT_TIME]))[0])
    front = np.sort(units.temperature(application, LIMIT_TIME)[0, 0])

    def corrected(chosen: Samples) -> tuple[float, float]:
        weights = chosen[:, None]
        slopes = np.linalg.solve((weights[..., None] * normal).sum(axis=0), (weights * right).sum(axis=0))
        shift = float(slopes @ [reached, reached**2])
        return shift, 1.0 - float(np.searchsorted(front, LIMIT - shift, side="right")) / n_units

    shift, probability = corrected(np.ones(len(normal)))
    chances = np.full(len(normal), 1.0 / len(normal))
    others = [corrected(generator.multinomial(len(normal), chances).astype(float))[1] for _ in range(n_resampled)]
    low, high = np.quantile(others, [0.05, 0.95]).tolist()
    flux = max(tests[name].flux for name in runs)
    return BiasCorrection(probability, low, high, shift, farthest, reached, flux, application.flux)
