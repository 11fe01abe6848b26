"""Correlation metrics: features of a response at sensors, compared with those of a record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from sim.arrays import Samples
from sim.identification.regression import Regression, evaluated


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

    @property
    def names(self) -> tuple[str, ...]:
        """Those of the model."""
        return self.regression.names

    @property
    def lower(self) -> Samples:
        """(p,)."""
        return self.regression.lower

    @property
    def upper(self) -> Samples:
        """(p,)."""
        return self.regression.upper

    def evaluate(self, parameters: Samples) -> tuple[Samples, Samples]:
        """Return features and their derivatives by the parameters, (m, k) and (m, k, p)."""
        instants, sensors = self.metric.shape
        response, sensitivities = evaluated(self.regression, parameters, instants * sensors)
        shape = (len(parameters), instants, sensors)
        return self.metric.features(response.reshape(shape), sensitivities.reshape(*shape, -1))
