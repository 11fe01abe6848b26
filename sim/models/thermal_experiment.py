"""A test of a heated slab as an experiment that is streamed, faster than it was."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from sim.arrays import Samples, check_not_negative, check_positive
from sim.ensembles.ensemble import AddedDiscrepancy, EqualSteps
from sim.models.thermal_population import Conductivity, Population, characterize
from sim.models.thermal_slab import SlabTest, series_temperature
from sim.models.thermal_tables import ACCREDITATION, LIMIT_TIME, configurations, material


def _accreditation() -> SlabTest:
    return configurations()[ACCREDITATION]


def _best_known() -> Population:
    return characterize(material("High")).population(Conductivity.TEMPERATURE_DEPENDENT)


@dataclass(frozen=True)
class ThermalExperiment(EqualSteps, AddedDiscrepancy):
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

    Raises
    ------
    ValueError : a number is out of its range.
    """

    test: SlabTest = field(default_factory=_accreditation)
    population: Population = field(default_factory=_best_known)
    depth: float = 0.0
    time_scale: float = 50.0
    horizon: float = 20.0
    dt: float = 0.1
    fault: float = 0.5
    fault_onset: float = 6.0
    noise: float = 0.0

    name: ClassVar[str] = "thermal"
    unit: ClassVar[str] = "degC"

    def __post_init__(self) -> None:
        what = "thermal experiment"
        check_positive(what, time_scale=self.time_scale, horizon=self.horizon, dt=self.dt)
        check_not_negative(what, fault=self.fault, fault_onset=self.fault_onset, noise=self.noise)
        self.test.depth(self.depth)

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
