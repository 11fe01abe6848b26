"""Correlation metrics: features of a response at sensors, compared with those of a record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import svd

from sim.arrays import Samples
from sim.identification.regression import ModelWrapper, evaluated


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
class Correlated(ModelWrapper):
    """A model's response as a metric sees it: what is fitted to `metric.observed`.

    Parameters
    ----------
    regression : its response is (m, n * s): all sensors of an instant beside each other.
    metric : of the record.
    """

    metric: Metric

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
