"""Gaussian random processes from a mean, a standard deviation and a correlation function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from sim.arrays import Samples, check_not_negative, check_positive, require

Method = Literal["karhunen-loeve", "cholesky"]
# of a correlation, by whatever formula
_ROUNDING = 1e-12


@dataclass(frozen=True)
class GaussianProcess:
    """A Gaussian process whose correlation depends on the lag alone.

    Parameters
    ----------
    mean : a number, or a function of the times (n_times,) in s.
    standard_deviation : zero or more, in the unit of the mean.
    correlation : function of the lags in s, any shape; 1 at no lag.
    method : how the covariance is factored, see `SampledProcess`.
    neglect : largest share of the total variance that the factor may leave out.

    Raises
    ------
    ValueError : a number is out of its range, or the correlation is not one.
    """

    mean: float | Callable[[Samples], Samples]
    standard_deviation: float
    correlation: Callable[[Samples], Samples]
    method: Method = "karhunen-loeve"
    neglect: float = 1e-12

    def __post_init__(self) -> None:
        check_not_negative("excitation", standard_deviation=self.standard_deviation)
        require(0.0 < self.neglect < 1.0, "excitation neglect", self.neglect, "between 0 and 1")
        if self.method not in _FACTORS:
            raise ValueError(f"excitation method {self.method!r}: must be one of {', '.join(_FACTORS)}")

    def covariance(self, time: Samples) -> Samples:
        """Return (n_times, n_times): the variance times the correlation at the lags between the times."""
        correlation = np.asarray(self.correlation(time[:, None] - time), dtype=np.float64)
        if not (correlation.shape == 2 * time.shape and _is_even(correlation)):
            raise _no_even_correlation()
        return self.standard_deviation**2 * correlation

    def on(self, time: Samples) -> SampledProcess:
        """Return the process at the times, (n_times,) in s, ready to be sampled: the covariance is factored once."""
        mean = self.mean(time) if callable(self.mean) else self.mean
        factor = _FACTORS[self.method](self.covariance(time), self.neglect)
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
            raise _no_even_correlation()
        # an odd circle, on which each lag up to the longest is its own: no frequency but zero is alone
        circle = self.standard_deviation**2 * np.concatenate([correlation, correlation[:0:-1]])
        variances = np.fft.rfft(circle).real
        allowed = max(self.neglect, n_times * float(np.finfo(np.float64).eps)) * float(circle[0]) * len(circle)
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

    Notes
    -----
    A smooth process has far fewer terms than times: its covariance is singular in double precision, and a
    plain Cholesky factorization breaks down. Neither method adds anything to the diagonal. "karhunen-loeve" keeps
    the largest eigenvalues, which are the fewest terms for a given neglect. "cholesky" takes the time of the largest
    remaining variance next and stops when little remains: no eigenvalues needed, more terms.
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
    return partial(_squared_exponential, rate)


def _squared_exponential(rate: float, lag: Samples) -> Samples:
    return np.asarray(np.exp(-((rate * lag) ** 2)))


def _karhunen_loeve(covariance: Samples, neglect: float) -> Samples:
    """Return (n, terms): eigenvectors times the roots of the eigenvalues, the largest first."""
    values, vectors = np.linalg.eigh(covariance)
    values, vectors = values[::-1], vectors[:, ::-1]
    allowed = _allowed(covariance, neglect)
    if -values[-1] > allowed:
        raise _no_correlation()
    # what lies in and behind each eigenvalue, added up from the small end
    remaining = np.cumsum(np.maximum(values, 0.0)[::-1])[::-1]
    terms = int(np.count_nonzero(remaining > allowed))
    factor = vectors[:, :terms] * np.sqrt(values[:terms])
    # an eigenvector has no sign of its own, and libraries differ. Its first large entry is taken, not its largest: an
    # antisymmetric one has two of those, and rounding would choose
    size = np.abs(factor)
    first = np.argmax(size >= 0.5 * size.max(axis=0, initial=0.0), axis=0)
    return np.ascontiguousarray(factor * np.sign(factor[first, np.arange(terms)]))


def _cholesky(covariance: Samples, neglect: float) -> Samples:
    """Return (n, terms): the Cholesky factor with pivots, its rows in the order of the times."""
    factor = np.zeros_like(covariance)
    remaining = np.diag(covariance).copy()
    allowed = _allowed(covariance, neglect)
    terms = 0
    while terms < len(covariance) and np.sum(remaining) > allowed:
        pivot = int(np.argmax(remaining))
        column = covariance[pivot] - factor[:, :terms] @ factor[pivot, :terms]
        factor[:, terms] = column / np.sqrt(remaining[pivot])
        remaining -= factor[:, terms] ** 2
        remaining[pivot] = 0.0
        terms += 1
    factor = np.ascontiguousarray(factor[:, :terms])
    # no entry of a covariance exceeds the variances: one that does was never a covariance
    if terms and np.max(np.abs(covariance - factor @ factor.T)) > allowed:
        raise _no_correlation()
    return factor


def _allowed(covariance: Samples, neglect: float) -> float:
    """Return the variance that may be left out, over all times; less than its rounding means nothing."""
    return max(neglect, len(covariance) * float(np.finfo(np.float64).eps)) * float(np.trace(covariance))


def _is_even(correlation: Samples) -> bool:
    mirrored = np.allclose(correlation, correlation.T, rtol=0.0, atol=_ROUNDING)
    return mirrored and np.allclose(np.diag(correlation), 1.0, rtol=0.0, atol=_ROUNDING)


def _no_even_correlation() -> ValueError:
    return ValueError("excitation correlation: must be one number a lag, the same for -lag, and 1 at no lag")


def _no_correlation() -> ValueError:
    return ValueError("excitation correlation: must be positive definite, else no process has it")


_FACTORS: dict[str, Callable[[Samples, float], Samples]] = {"karhunen-loeve": _karhunen_loeve, "cholesky": _cholesky}
