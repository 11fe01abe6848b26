"""A simply supported beam of random section under random loads, Gaussian processes in time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import ClassVar

import numpy as np

from sim.arrays import Samples, check_not_negative, check_positive
from sim.ensembles import AddedDiscrepancy, Lognormal

# of a correlation, by whatever formula; largest share of the total variance that a factor leaves out
_ROUNDING, _NEGLECT = 1e-12, 1e-12
_NO_CORRELATION = "excitation correlation: must be one number a lag, the same for -lag, and 1 at no lag"


@dataclass(frozen=True)
class GaussianProcess:
    """A Gaussian process whose correlation depends on the lag alone.

    Parameters
    ----------
    mean : a number, or a function of the times (n_times,) in s.
    standard_deviation : zero or more, in the unit of the mean.
    correlation : function of the lags in s, any shape; 1 at no lag.

    Raises
    ------
    ValueError : a number is out of its range, or the correlation is not one.
    """

    mean: float | Callable[[Samples], Samples]
    standard_deviation: float
    correlation: Callable[[Samples], Samples]

    def __post_init__(self) -> None:
        check_not_negative("excitation", standard_deviation=self.standard_deviation)

    def covariance(self, time: Samples) -> Samples:
        """Return (n_times, n_times): the variance times the correlation at the lags between the times."""
        correlation = np.asarray(self.correlation(time[:, None] - time), dtype=np.float64)
        even = correlation.shape == 2 * time.shape and np.allclose(
            correlation, correlation.T, rtol=0.0, atol=_ROUNDING
        )
        if not even or not np.allclose(np.diag(correlation), 1.0, rtol=0.0, atol=_ROUNDING):
            raise ValueError(_NO_CORRELATION)
        return self.standard_deviation**2 * correlation

    def on(self, time: Samples) -> SampledProcess:
        """Return the process at the times, (n_times,) in s, ready to be sampled: the covariance is factored once."""
        mean = self.mean(time) if callable(self.mean) else self.mean
        factor = _karhunen_loeve(self.covariance(time))
        return SampledProcess(np.full(len(time), mean, dtype=np.float64), factor)

    def evenly(self, time: Samples) -> CirculantProcess:
        """Return the process at many equally spaced times, (n_times,) in s, ready to be sampled.

        Raises
        ------
        ValueError : the correlation is not one, or not that of a process on a circle of twice the time.
        """
        n_times = len(time)
        correlation = np.asarray(self.correlation(time - time[0]), dtype=np.float64)
        mirrored = np.asarray(self.correlation(time[0] - time), dtype=np.float64)
        if correlation.shape != (n_times,) or not (
            np.allclose(correlation, mirrored, rtol=0.0, atol=_ROUNDING) and abs(correlation[0] - 1.0) <= _ROUNDING
        ):
            raise ValueError(_NO_CORRELATION)
        # an odd circle, on which each lag up to the longest is its own: no frequency but zero is alone
        circle = self.standard_deviation**2 * np.concatenate([correlation, correlation[:0:-1]])
        variances = np.fft.rfft(circle).real
        allowed = max(_NEGLECT, n_times * float(np.finfo(np.float64).eps)) * float(circle[0]) * len(circle)
        if -variances.min() > allowed:
            raise ValueError(
                "excitation correlation: must be positive definite on a circle of twice the time: "
                "give longer times, or sample it by its covariance"
            )
        # each but the first is that of two terms
        pairs = np.where(np.arange(len(variances)) > 0, 2.0, 1.0) * np.maximum(variances, 0.0)
        order = np.argsort(pairs)
        neglected = order[np.cumsum(pairs[order]) <= allowed]
        sizes = np.sqrt(len(circle) * np.maximum(variances, 0.0))
        sizes[1:] *= np.sqrt(0.5)
        sizes[neglected] = 0.0
        mean = self.mean(time) if callable(self.mean) else self.mean
        return CirculantProcess(np.full(n_times, mean, dtype=np.float64), sizes)

    def sample(self, time: Samples, generator: np.random.Generator, number: int) -> Samples:
        """Return (n_times, number) realizations; to draw more than once at the same times, keep `on(time)`."""
        return self.on(time).sample(generator, number)


@dataclass(frozen=True, slots=True, eq=False)
class SampledProcess:
    """A Gaussian process at given times: its mean, and a factor whose square is its covariance.

    Parameters
    ----------
    mean : (n_times,).
    factor : (n_times, terms); factor times its transpose is the covariance, but for the share that is neglected.

    A smooth process has far fewer terms than times: its covariance is singular in double precision, and a plain
    Cholesky factorization breaks down. The largest eigenvalues are kept, the fewest terms (Karhunen and Loeve).
    """

    mean: Samples
    factor: Samples

    @property
    def terms(self) -> int:
        """How many standard normal numbers make a realization."""
        return int(self.factor.shape[1])

    def sample(self, generator: np.random.Generator, number: int) -> Samples:
        """Return (n_times, number) realizations."""
        realizations = self.factor @ generator.standard_normal((self.terms, number))
        realizations += self.mean[:, None]
        return realizations


@dataclass(frozen=True, slots=True, eq=False)
class CirculantProcess:
    """A Gaussian process at equally spaced times, as the first half of one on a circle (Dietrich and Newsam 1997).

    Its covariance there is circulant, and Fourier's transform factors it: n log n operations instead of n^3. Where it
    has no negative variances, but for what is neglected, the process is exact.

    Parameters
    ----------
    mean : (n_times,).
    sizes : (n_times,), standard deviations of the coefficients at each frequency of the circle; 0 where neglected.
    """

    mean: Samples
    sizes: Samples

    @property
    def terms(self) -> int:
        """How many standard normal numbers make a realization."""
        return 2 * int(np.count_nonzero(self.sizes))

    def sample(self, generator: np.random.Generator, number: int) -> Samples:
        """Return (n_times, number) realizations."""
        n_times, used = len(self.mean), np.flatnonzero(self.sizes)
        real, imaginary = generator.standard_normal((2, len(used), number))
        coefficients = np.zeros((n_times, number), dtype=np.complex128)
        coefficients[used] = self.sizes[used, None] * (real + 1j * imaginary)
        # the imaginary part of the first is ignored
        realizations = np.fft.irfft(coefficients, 2 * n_times - 1, axis=0)[:n_times]
        return np.ascontiguousarray(realizations + self.mean[:, None])


def squared_exponential(rate: float) -> Callable[[Samples], Samples]:
    """Return the correlation exp(-(rate lag)^2) as a function of the lag in s; `rate` in 1/s.

    Ao, Hu and Mahadevan, eqs. 30 and 31, whose minus sign is lost in print.
    """
    check_positive("excitation", rate=rate)
    return partial(_squared_exponential, rate)  # a function of its own can be sent to another process


def _squared_exponential(rate: float, lag: Samples) -> Samples:
    return np.asarray(np.exp(-((rate * lag) ** 2)))


def _karhunen_loeve(covariance: Samples) -> Samples:
    """Return (n, terms): eigenvectors times the roots of the eigenvalues, the largest first."""
    values, vectors = np.linalg.eigh(covariance)
    values, vectors = values[::-1], vectors[:, ::-1]
    # less than the rounding of the variance means nothing
    allowed = max(_NEGLECT, len(covariance) * float(np.finfo(np.float64).eps)) * float(np.trace(covariance))
    if -values[-1] > allowed:
        raise ValueError("excitation correlation: must be positive definite, else no process has it")
    # what lies in and behind each eigenvalue, added up from the small end
    remaining = np.cumsum(np.maximum(values, 0.0)[::-1])[::-1]
    terms = int(np.count_nonzero(remaining > allowed))
    factor = vectors[:, :terms] * np.sqrt(values[:terms])
    # an eigenvector has no sign of its own, and libraries differ. Its first large entry is taken, not its largest: an
    # antisymmetric one has two of those, and rounding would choose
    size = np.abs(factor)
    first = np.argmax(size >= 0.5 * size.max(axis=0, initial=0.0), axis=0)
    return np.ascontiguousarray(factor * np.sign(factor[first, np.arange(terms)]))


Real = float | Samples

# instants, whose covariance is factored in 0.2 s; of 3001 it takes 5 s
_MOST_EIGENVALUES = 1001
WIDTH, HEIGHT = Lognormal(0.2, 0.005), Lognormal(0.04, 0.0008)


@dataclass(frozen=True)
class StochasticBeam(AddedDiscrepancy):
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

        def mean(time: Samples) -> Samples:
            return np.asarray(self.point_load * (1.0 + np.sin(2.0 + time)))

        return self._sampled(GaussianProcess(mean, self.point_load_deviation, correlation))

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

    def _flexibility(self, width: Real, height: Real) -> tuple[Real, Real]:
        """Return the deflections that a force of 1 N and a load of 1 N/m cause, m."""
        bending_stiffness = self.modulus * width * height**3 / 12.0
        return self.span**3 / (48.0 * bending_stiffness), 5.0 * self.span**4 / (384.0 * bending_stiffness)
