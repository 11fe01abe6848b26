"""How far estimates can be trusted: what observations tell of parameters, and the covariances that follow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sim.arrays import Flags, Samples

# a direction that a normal matrix of unit diagonal sees so many times less than the best seen is not seen at all
_WORST_CONDITION = 1e13
# a parameter has a part in such a direction if this share of it lies there; less is rounding
_SHARE = 1e-4


@dataclass(frozen=True, slots=True, eq=False)
class Information:
    """What observations tell of the parameters, for m problems; covariances are unknown (NaN) at a bound.

    A bound that is reached says nothing of how far an estimate behind it would have scattered, and the normal
    approximation does not hold there. The covariance of the others takes what is at a bound for known.

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
    """Return what normal matrices J'J, (m, p, p), tell where some coordinates, (m, p), are held by bounds."""
    size = np.sqrt(np.einsum("mpp->mp", normal))
    size[size == 0.0] = 1.0
    scaled = normal / size[:, :, None] / size[:, None, :]
    beside = held[:, :, None] | held[:, None, :]
    scaled[beside] = 0.0
    np.einsum("mpp->mp", scaled)[held] = 1.0
    seen, direction = np.linalg.eigh(scaled)
    null = ~(seen * _WORST_CONDITION > seen[:, -1:])
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
