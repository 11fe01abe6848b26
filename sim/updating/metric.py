"""Correlation metrics: features of a response at sensors, compared with those of a record.

The plainest are the time histories themselves: the residual of each sensor at each instant, over its errors.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import svd

from sim.arrays import Samples
from sim.fitting.regression import Regression, evaluated

# of the largest eigenvalue of a correlation matrix: below, two sensors are one
_SINGULAR = 1e-12


class Metric(Protocol):
    """Features of a record at s sensors and n instants; the residual is what they are less those of a response.

    The features are weighted already: the cost is the sum of the squared residuals (Hemez and Doebling, eq. 3).
    """

    @property
    def shape(self) -> tuple[int, int]:
        """(n, s) of the record: instants and sensors."""

    @property
    def observed(self) -> Samples:
        """(k,): features of the record."""

    def features(self, response: Samples, sensitivities: Samples) -> tuple[Samples, Samples]:
        """Return (m, k) features of responses, (m, n, s), and (m, k, p) of their derivatives, (m, n, s, p)."""


@dataclass(frozen=True, eq=False)
class Correlated:
    """A model's response as a metric sees it: what is fitted to `metric.observed`.

    Parameters
    ----------
    regression : its response is (m, n * s): all sensors of an instant beside each other.
    metric : of the record.
    """

    regression: Regression
    metric: Metric
    names: tuple[str, ...] = field(init=False)
    lower: Samples = field(init=False)
    upper: Samples = field(init=False)

    def __post_init__(self) -> None:
        for name in ("names", "lower", "upper"):
            object.__setattr__(self, name, getattr(self.regression, name))

    def evaluate(self, parameters: Samples) -> tuple[Samples, Samples]:
        """Return features and their derivatives by the parameters, (m, k) and (m, k, p).

        Raises
        ------
        ValueError : the response has another size than the record, or is sensors by instants.
        """
        instants, sensors = self.metric.shape
        response, sensitivities = evaluated(self.regression, parameters, instants * sensors)
        if min(instants, sensors) > 1 and instants != sensors:
            self._check_orientation(instants, sensors)
        shape = (len(parameters), instants, sensors)
        return self.metric.features(response.reshape(shape), sensitivities.reshape(*shape, -1))

    def _check_orientation(self, instants: int, sensors: int) -> None:
        inner: object = self.regression
        while (wrapped := getattr(inner, "regression", None)) is not None:
            inner = wrapped
        if (sensors, instants) in getattr(inner, "returned_shapes", ()):
            raise ValueError(
                f"the model returns {sensors} by {instants} numbers, and the record has {instants} instants at "
                f"{sensors} sensors: return instants by sensors, the transpose"
            )


def sensor_record(record: ArrayLike, what: str) -> Samples:
    """Return a record as (n, s): instants and sensors.

    Parameters
    ----------
    record : (n, s), or (n,) of one sensor.
    what : named in errors.

    Raises
    ------
    ValueError : sensors have unequal lengths, there is no sample, or one is not finite.
    """
    try:
        samples = np.asarray(record, dtype=np.float64)
    except ValueError:
        raise ValueError(f"{what}: its sensors have unequal lengths: cut them to the same instants") from None
    samples = samples[:, None] if samples.ndim == 1 else samples
    if samples.ndim != 2 or not samples.size:
        raise ValueError(f"{what} of shape {np.shape(record)}: give instants by sensors, one of each at least")
    bad = ~np.isfinite(samples)
    if bad.any():
        instant, sensor = np.argwhere(bad)[0].tolist()
        raise ValueError(
            f"{what}: sample {instant} of sensor {sensor + 1} is not finite: delete that instant (row) "
            "from the record and from the model's response, or bridge it"
        )
    return samples


def sensor_response(response: ArrayLike, shape: tuple[int, int], what: str) -> Samples:
    """Return responses as (m, n, s), which are finite or not.

    Parameters
    ----------
    response : (m, n, s), or (n, s) of one.
    shape : (n, s) of the record that they are compared with.
    what : named in errors.

    Raises
    ------
    ValueError : instants or sensors are others than those of the record.
    """
    samples = np.asarray(response, dtype=np.float64)
    samples = samples[None] if samples.ndim == 2 else samples
    if samples.ndim != 3 or samples.shape[1:] != shape:
        raise ValueError(
            f"{what}: a record of {shape[0]} instants at {shape[1]} sensors and a response of shape "
            f"{np.shape(response)}: give both the same instants and sensors"
        )
    return samples


def thin_svd(matrix: Samples) -> tuple[Samples, Samples, Samples]:
    """Return left vectors, (n, k), singular values, (k,), and right vectors, (k, s), of a finite matrix, (n, s)."""
    try:
        left, values, right = np.linalg.svd(matrix, full_matrices=False)
    except np.linalg.LinAlgError:
        # divide and conquer may fail where most values are rounding; the slower QR iteration does not
        left, values, right = svd(matrix, full_matrices=False, lapack_driver="gesvd")
    return left, values, right


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
