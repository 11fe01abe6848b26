"""Time histories: the residual of each sensor at each instant, weighted by the errors of the sensors."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from sim.arrays import Samples
from sim.identification.correlation.metric import sensor_record, sensor_response

# of the largest eigenvalue of a correlation matrix: below, two sensors are one
_SINGULAR = 1e-12
_LEAST_VARIANCE = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, eq=False)
class TimeHistories:
    """The time histories themselves: J = sum over instants of R' S^-1 R (Hemez and Doebling, eq. 9 and 10).

    Features are L^-1 u(t), all sensors of an instant beside each other, with S = L L' (Cholesky): their residuals
    are independent and of unit variance where the errors have the covariance S.

    Parameters
    ----------
    record : (n, s), or (n,) of one sensor.
    errors : standard deviation of the errors, of all sensors or (s,); or their covariance, (s, s). One: J is
        the plain sum of squares.

    Raises
    ------
    ValueError : the record is not finite, or the errors are not positive, or not of these sensors.
    """

    record: ArrayLike
    errors: ArrayLike = 1.0
    shape: tuple[int, int] = field(init=False)
    observed: Samples = field(init=False)
    _whitening: Samples = field(init=False)

    def __post_init__(self) -> None:
        samples = sensor_record(self.record, "time histories: record")
        whitening = np.linalg.inv(np.linalg.cholesky(_covariance(self.errors, samples.shape[1])))
        object.__setattr__(self, "shape", samples.shape)
        object.__setattr__(self, "_whitening", whitening)
        object.__setattr__(self, "observed", (samples @ whitening.T).ravel())

    def features(self, response: Samples, sensitivities: Samples) -> tuple[Samples, Samples]:
        """Return (m, n * s) whitened responses and (m, n * s, p) of their derivatives."""
        m = len(response)
        with np.errstate(invalid="ignore", over="ignore"):
            whitened = sensor_response(response, self.shape, "time histories") @ self._whitening.T
            derivatives = self._whitening @ sensitivities
        return whitened.reshape(m, -1), derivatives.reshape(m, self.observed.size, sensitivities.shape[-1])

    def cost(self, response: ArrayLike) -> Samples:
        """Return (m,): J of responses, (m, n, s)."""
        samples = sensor_response(response, self.shape, "time histories")
        features, _ = self.features(samples, np.empty((*samples.shape, 0)))
        return np.asarray(np.sum((self.observed - features) ** 2, axis=1))


def rms_residual(record: ArrayLike, response: ArrayLike) -> Samples:
    """Return (m, s): the root mean square over time of record less response, in the unit of the sensor.

    Parameters
    ----------
    record : (n, s).
    response : (m, n, s), or (n, s) of one.

    Raises
    ------
    ValueError : shapes differ, or the record is not finite.
    """
    samples = sensor_record(record, "rms residual: record")
    difference = samples - sensor_response(response, (samples.shape[0], samples.shape[1]), "rms residual")
    return np.asarray(np.sqrt(np.mean(difference**2, axis=1)))


def _covariance(errors: ArrayLike, sensors: int) -> Samples:
    given = np.asarray(errors, dtype=np.float64)
    if given.shape not in ((), (sensors,), (sensors, sensors)):
        raise ValueError(
            f"time histories errors of shape {given.shape}: give one standard deviation, {sensors}, one a sensor, "
            f"or their covariance {(sensors, sensors)}"
        )
    if given.ndim < 2:
        if not np.all(np.isfinite(given) & (given > 0.0)):
            raise ValueError(f"time histories errors {given}: a standard deviation must be positive")
        with np.errstate(over="ignore", under="ignore"):
            square = np.atleast_1d(given) ** 2
        small = np.atleast_1d(given)[~((square >= _LEAST_VARIANCE) & np.isfinite(square))]
        if small.size:
            raise ValueError(f"time histories errors {small[0]:g}: its square is out of range, use another unit")
        return np.diag(np.broadcast_to(given**2, sensors))
    variance = np.diag(given)
    if (
        not np.isfinite(given).all()
        or not np.all(variance > 0.0)
        or not np.allclose(given, given.T, rtol=1e-9, atol=0.0)
    ):
        raise ValueError("time histories errors: a covariance must be symmetric, with a positive diagonal")
    correlation = given / np.sqrt(np.outer(variance, variance))
    least = float(np.linalg.eigvalsh(correlation)[0])
    if least < _SINGULAR:
        raise ValueError(
            f"time histories errors: a covariance whose correlation has the eigenvalue {least:.2g} is singular: "
            "leave one of the sensors out that repeat each other"
        )
    return 0.5 * (given + given.T)
