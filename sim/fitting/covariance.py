"""Covariances of estimates, for white errors and for autocorrelated ones, and of linear functions of parameters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sim.arrays import Flags, Samples

# a direction that a normal matrix of unit diagonal sees so many times less than the best seen is not seen at all
WORST_CONDITION = 1e13
# a parameter has a part in such a direction if this share of it lies there; less is rounding
_SHARE = 1e-4
# with fewer degrees of freedom nothing is given
_FEWEST_DEGREES = 5.0
_BATCHES, _FEWEST_BATCHES = 32, 10
# how many times longer a batch is than the errors are correlated
_BATCH_LENGTH = 4.0


@dataclass(frozen=True, slots=True, eq=False)
class Information:
    """Information of the observations about the parameters, for m problems; covariances are unknown (NaN) at a bound.

    The scatter of an estimate at a bound is unknown, as the normal approximation does not hold there. The covariance
    of the others assumes that those at a bound are known.

    Parameters
    ----------
    inverse : (m, p, p), pseudo-inverse of the normal matrices over the coordinates that are not held.
    matrix : (p, p), parameters = matrix @ coordinates.
    at_bound : (m, p), which parameters a bound takes part in.
    unidentified : (m, p), which the observations do not determine: those with a part in a null direction.
    rank : (m,), p less the number of null directions.
    """

    inverse: Samples
    matrix: Samples
    at_bound: Flags
    unidentified: Flags
    rank: NDArray[np.int64]

    def covariance(self, variance: Samples) -> Samples:
        """Return (m, p, p) for white errors of these variances, (m,).

        Unidentified parameters have an infinite variance, and covariances that are not known.
        """
        return self._marked(self.matrix @ (self.inverse * variance[:, None, None]) @ self.matrix.T)

    def sandwich(self, scores: Samples) -> Samples:
        """Return the covariance, (m, p, p), of estimates whose scores J'e have these covariances, (m, p, p)."""
        return self._marked(self.matrix @ (self.inverse @ scores @ self.inverse) @ self.matrix.T)

    def _marked(self, covariance: Samples) -> Samples:
        unknown = self.at_bound | self.unidentified
        covariance[unknown[:, :, None] | unknown[:, None, :]] = np.nan
        np.einsum("mpp->mp", covariance)[self.unidentified & ~self.at_bound] = np.inf
        return covariance


def information(normal: Samples, held: Flags, matrix: Samples) -> Information:
    """Return what normal matrices J'J, (m, p, p), yield where some coordinates, (m, p), are held at bounds."""
    size = np.sqrt(np.einsum("mpp->mp", normal))
    size[size == 0.0] = 1.0
    scaled = normal / size[:, :, None] / size[:, None, :]
    beside = held[:, :, None] | held[:, None, :]
    scaled[beside] = 0.0
    np.einsum("mpp->mp", scaled)[held] = 1.0
    seen, direction = np.linalg.eigh(scaled)
    null = ~(seen * WORST_CONDITION > seen[:, -1:])
    weight = np.where(null, 0.0, 1.0 / np.where(null, 1.0, seen))
    inverse = (direction * weight[:, None, :]) @ direction.swapaxes(1, 2)
    inverse[beside] = 0.0
    # each parameter as a direction among the scaled coordinates
    along = matrix / size[:, None, :]
    along /= np.linalg.norm(along, axis=2, keepdims=True)
    unidentified = ((np.abs(along @ direction) > _SHARE) & null[:, None, :]).any(axis=2)
    return Information(
        np.asarray(inverse / size[:, :, None] / size[:, None, :]),
        matrix,
        (held @ (matrix != 0.0).T).astype(bool),
        np.asarray(unidentified),
        normal.shape[1] - null.sum(axis=1),
    )


def correlated_covariance(
    info: Information, sensitivities: Samples, residual: Samples, white: Samples
) -> tuple[Samples, float]:
    """Return the covariance, (p, p), for errors that are autocorrelated, and its degrees of freedom.

    The middle factor, between the inverses of J'J, is J'GJ, with G the autocovariances of the residuals up to their
    first change of sign (Newey and West 1987, truncated at the first zero). The errors are assumed stationary, so
    that it holds for a motion that is one event, too. Where the standard errors of white errors are
    larger, or those from how the scores of consecutive batches scatter (batch means; errors that
    grow with the motion make them larger), these are taken, with the correlations left as they are.

    Parameters
    ----------
    info : of one problem.
    sensitivities : (n, p), by the coordinates.
    residual : (n,); NaN is returned where this is correlated over too much of its length.
    white : (p, p), the covariance for white errors.
    """
    n, rank = len(residual), int(info.rank[0])
    gamma = _autocovariance(residual)
    # number of independent errors with the same information about their mean
    effective = n * gamma[0] / (2.0 * gamma.sum() - gamma[0]) if gamma[0] > 0.0 else float(n)
    degrees = effective - rank
    if not degrees >= _FEWEST_DEGREES:
        return info.sandwich(np.full((1, *white.shape), np.nan))[0], float(degrees)
    # residuals are smaller than errors, by what was fitted
    stationary = info.sandwich(_stationary(sensitivities, gamma)[None] * (effective / degrees))[0]
    batches = _batch_scores(sensitivities, residual, int(effective / _BATCH_LENGTH))
    others = [white, info.sandwich(batches[None])[0]] if batches is not None else [white]
    own = np.diag(stationary)
    with np.errstate(invalid="ignore", divide="ignore"):
        larger = np.sqrt([np.fmax(np.diag(each) / own, 1.0) for each in others]).max(axis=0)
    # what is zero or infinite has no ratio
    larger[~np.isfinite(larger)] = 1.0
    return stationary * np.outer(larger, larger), float(degrees)


def _autocovariance(residual: Samples) -> Samples:
    """Return the autocovariances, (k,), from lag zero to before the first that is not positive."""
    n = len(residual)
    padded = 1 << (2 * n - 1).bit_length()
    products = np.fft.irfft(np.abs(np.fft.rfft(residual, padded)) ** 2, padded)[:n] / n
    positive = np.logical_and.accumulate(products > 0.0)
    return products[: max(int(positive.sum()), 1)]


def _stationary(sensitivities: Samples, gamma: Samples) -> Samples:
    """Return J'GJ, (p, p), with the Toeplitz matrix of these autocovariances, by Fourier transforms."""
    n = len(sensitivities)
    padded = 1 << (2 * n - 1).bit_length()
    circle = np.zeros(padded)
    circle[: len(gamma)] = gamma
    circle[padded - len(gamma) + 1 :] = gamma[:0:-1]
    # cut off, autocovariances can be those of no process: no frequency has less than no power
    power = np.maximum(np.fft.rfft(circle).real, 0.0)
    spread = np.fft.irfft(power[:, None] * np.fft.rfft(sensitivities, padded, axis=0), padded, axis=0)[:n]
    return np.asarray(sensitivities.T @ spread)


def _batch_scores(sensitivities: Samples, residual: Samples, most: int) -> Samples | None:
    """Return the products of the scores, (p, p), of consecutive batches; None where these are too few."""
    number = min(_BATCHES, most)
    if number < _FEWEST_BATCHES:
        return None
    edges = np.linspace(0, len(residual), number + 1).astype(np.int64)[:-1]
    scores = np.add.reduceat(sensitivities * residual[:, None], edges, axis=0)
    return np.asarray(scores.T @ scores * (number / (number - 1.0)))


def transformed_covariance(covariance: Samples, matrix: Samples) -> Samples:
    """Return the covariance, (p, p), of parameters = matrix @ coordinates; unknown, or infinite, where a part is."""
    variance, part = np.diag(covariance), matrix != 0.0
    known = np.isfinite(variance)
    found = matrix @ np.where(known[:, None] & known, covariance, 0.0) @ matrix.T
    unknown = (part & ~known).any(axis=1)
    found[unknown[:, None] | unknown] = np.nan
    infinite, missing = ((part & which).any(axis=1) for which in (np.isinf(variance), np.isnan(variance)))
    np.einsum("pp->p", found)[infinite & ~missing] = np.inf
    return np.asarray(found)


def transformed_normal(normal: Samples, matrix: Samples) -> Samples:
    """Return the normal matrix, (p, p), of parameters = matrix @ coordinates."""
    inverse = np.linalg.inv(matrix)
    return np.asarray(inverse.T @ normal @ inverse)


def transformed_ranges(ranges: Samples, matrix: Samples) -> Samples:
    """Return the ranges, (p,), of parameters = matrix @ coordinates; infinite for a sum of several."""
    alone = (matrix != 0.0).sum(axis=1) == 1
    place = np.argmax(matrix != 0.0, axis=1)
    with np.errstate(invalid="ignore"):
        scaled = np.abs(matrix[np.arange(len(matrix)), place]) * ranges[place]
    return np.where(alone, scaled, np.inf)
