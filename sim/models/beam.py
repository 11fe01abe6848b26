"""A simply supported beam of random section under a random point load and a random distributed load."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from sim.arrays import Samples, check_not_negative, check_positive
from sim.ensembles.distributions import Lognormal
from sim.ensembles.ensemble import AddedDiscrepancy, EqualSteps
from sim.ensembles.gaussian_process import CirculantProcess, GaussianProcess, SampledProcess, squared_exponential

Real = float | Samples

# instants, whose covariance is factored in 0.2 s; of 3001 it takes 5 s
_MOST_EIGENVALUES = 1001
WIDTH, HEIGHT = Lognormal(0.2, 0.005), Lognormal(0.04, 0.0008)


@dataclass(frozen=True)
class StochasticBeam(EqualSteps, AddedDiscrepancy):
    """Deflection at midspan (Ao, Hu and Mahadevan, eq. 29 and Table 1); a section drawn once, loads drawn over time.

    Corrected: `weight_density` (rho_st in Table 1) is a weight in N/m^3, so that eq. 29 has no acceleration of
    gravity; the minus signs of eqs. 30 and 31 are lost in print. Ours: `noise`, because the printed variance 0.1^2
    in metres would hide the response, `horizon` and `dt`, which are not given.

    Parameters
    ----------
    point_load : N; the mean force at midspan is point_load (1 + sin(2 + t)).
    distributed_load : N/m, the mean load along the beam.
    point_load_deviation, distributed_load_deviation : standard deviations, N and N/m.
    point_load_rate, distributed_load_rate : 1/s, of the correlations exp(-(rate lag)^2).
    width, height : of the section, m; a0 and b0 in the paper.
    span : m.
    modulus : Young's, Pa.
    weight_density : N/m^3.
    noise : m, standard deviation of a synthetic measurement.
    bias : m; the bad model misses bias sin(2 t) from `bias_onset` on (eq. 32).
    bias_onset, horizon, dt : s.

    Raises
    ------
    ValueError : a number is out of its range.
    """

    point_load: float = 1000.0
    distributed_load: float = 450.0
    point_load_deviation: float = 100.0
    distributed_load_deviation: float = 20.0
    point_load_rate: float = 8.0
    distributed_load_rate: float = 2.0
    width: Lognormal = WIDTH
    height: Lognormal = HEIGHT
    span: float = 5.0
    modulus: float = 30e9
    weight_density: float = 78.5e3
    noise: float = 1e-3
    bias: float = 0.08
    bias_onset: float = 1.0
    horizon: float = 5.0
    dt: float = 0.02

    name: ClassVar[str] = "beam"
    quantity: ClassVar[str] = "deflection at midspan"
    unit: ClassVar[str] = "m"

    def __post_init__(self) -> None:
        positive = ("span", "modulus", "dt", "horizon", "point_load_rate", "distributed_load_rate")
        not_negative = ("weight_density", "noise", "point_load_deviation", "distributed_load_deviation")
        check_positive("beam", **{name: getattr(self, name) for name in positive})
        check_not_negative("beam", **{name: getattr(self, name) for name in not_negative})

    @property
    def discrepancy(self) -> Samples:
        """(n_times,) in m: the bias of eq. 32, nothing before its onset."""
        # an instant at the onset has begun, whatever its last bit
        started = self.time >= self.bias_onset - 1e-6 * self.dt
        return np.where(started, self.bias * np.sin(2.0 * self.time), 0.0)

    @cached_property
    def force(self) -> SampledProcess | CirculantProcess:
        """F(t) in N, at the model's instants."""
        correlation = squared_exponential(self.point_load_rate)
        return self._sampled(GaussianProcess(self._mean_force, self.point_load_deviation, correlation))

    @cached_property
    def load(self) -> SampledProcess | CirculantProcess:
        """q(t) in N/m, at the model's instants."""
        correlation = squared_exponential(self.distributed_load_rate)
        return self._sampled(GaussianProcess(self.distributed_load, self.distributed_load_deviation, correlation))

    def realize(self, generator: np.random.Generator, number: int) -> Samples:
        """Return (n_times, number) deflections in m."""
        width, height = self.width.sample(generator, number), self.height.sample(generator, number)
        return self.deflection(
            self.force.sample(generator, number), self.load.sample(generator, number), width, height
        )

    def deflection(self, force: Real, load: Real, width: Real, height: Real) -> Samples:
        """Return the deflection at midspan in m, of the arguments' common shape (eq. 29); N, N/m, m and m."""
        per_force, per_load = self._flexibility(width, height)
        return np.asarray(per_force * force + per_load * (load + self.weight_density * width * height))

    def conditional(self, width: float, height: float) -> tuple[Samples, Samples]:
        """Return mean and standard deviation of the deflection of a given section, (n_times,) each, in m.

        Given the section the deflection is normal: what a quadrature over the section needs.
        """
        per_force, per_load = self._flexibility(width, height)
        mean = self.deflection(self.force.mean, self.load.mean, width, height)
        deviation = np.hypot(per_force * self.point_load_deviation, per_load * self.distributed_load_deviation)
        return mean, np.full(len(mean), deviation)

    def _sampled(self, process: GaussianProcess) -> SampledProcess | CirculantProcess:
        return process.on(self.time) if len(self.time) <= _MOST_EIGENVALUES else process.evenly(self.time)

    def _mean_force(self, time: Samples) -> Samples:
        return np.asarray(self.point_load * (1.0 + np.sin(2.0 + time)))

    def _flexibility(self, width: Real, height: Real) -> tuple[Real, Real]:
        """Return the deflections that a force of 1 N and a load of 1 N/m cause, m."""
        bending_stiffness = self.modulus * width * height**3 / 12.0
        return self.span**3 / (48.0 * bending_stiffness), 5.0 * self.span**4 / (384.0 * bending_stiffness)
