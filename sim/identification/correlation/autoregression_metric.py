"""Autoregressions as a metric: coefficients and residuals of records, in standard errors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sim.arrays import Samples
from sim.identification.correlation.autoregression import Autoregression, Orders, fit_autoregression, least_squares
from sim.identification.correlation.metric import sensor_record, sensor_response


@dataclass(frozen=True, eq=False)
class AutoregressionMetric:
    """Coefficients and residuals of autoregressions as features: a residual of 1 is a standard error of the record's.

    Of each sensor the coefficients, multiplied by the root of their information in the record, and the logarithm of
    the residual deviation by sqrt(2 n).

    Parameters
    ----------
    record : (n, s), of s sensors.
    orders : of each.
    excitation : (n,), the input, of the record and of the model; None of an AR model.
    residuals : whether the deviation is a feature. That of a response without noise says nothing.

    Raises
    ------
    ValueError : see `fit_autoregression`.
    """

    record: Samples
    orders: Orders
    excitation: Samples | None = None
    residuals: bool = True

    def __post_init__(self) -> None:
        # mistakes are raised here
        self._roots  # noqa: B018

    @property
    def shape(self) -> tuple[int, int]:
        """(n, s) of the record."""
        n, sensors = sensor_record(self.record, "ARX metric").shape
        return n, sensors

    @property
    def observed(self) -> Samples:
        """(k,), features of the record: sensor by sensor."""
        found = self._fitted
        return np.asarray(self._features(found.coefficients[None], found.deviation[None])[0])

    def features(self, response: Samples, sensitivities: Samples) -> tuple[Samples, Samples]:
        """Return (m, k) features of responses, (m, n, s), and (m, k, p) of their derivatives; NaN if singular."""
        response = sensor_response(response, self.shape, "ARX metric")
        m = len(response)
        p, lag = sensitivities.shape[-1], self.orders.lag
        right = np.isfinite(response).all((1, 2)) & np.isfinite(sensitivities).all((1, 2, 3))
        # a response that overflows has no features, and a fit rejects the step
        outputs = np.where(np.reshape(right, (m, 1, 1)), response, 0.0).transpose(0, 2, 1)
        moved = np.where(np.reshape(right, (m, 1, 1, 1)), sensitivities, 0.0).transpose(0, 2, 3, 1)
        inputs = None if self.excitation is None else np.asarray(self.excitation, dtype=np.float64)
        regressors, known = self.orders.regressors(outputs, inputs), outputs[..., lag:]
        coefficients, root, dependent = least_squares(regressors, known)
        n, k = regressors.shape[-2:]
        error = known - (regressors @ coefficients[..., None])[..., 0]
        # R'R da = X'(dy - dX a) + dX'e, and of the squared error 2 e'(dy - dX a)
        slopes = self.orders.regressors(moved, None if inputs is None else np.zeros_like(inputs))
        change = moved[..., lag:] - (slopes @ coefficients[..., None, :, None])[..., 0]
        pull = change @ regressors + (error[..., None, None, :] @ slopes)[..., 0, :]
        usable = np.where(dependent[..., None, None], np.eye(k), root)
        halfway = np.linalg.solve(usable.swapaxes(-1, -2)[:, :, None], pull[..., None])
        moved_coefficients = np.linalg.solve(usable[:, :, None], halfway)[..., 0]
        squares = np.sum(error**2, axis=-1)
        with np.errstate(divide="ignore", invalid="ignore"):
            moved_logarithm = (change @ error[..., None])[..., 0] / squares[..., None]
            features = self._features(coefficients, np.sqrt(squares / (n - k)))
            derivatives = self._derivatives(moved_coefficients, moved_logarithm)
        broken = ~right | dependent.any(axis=-1)
        features[broken], derivatives[broken] = np.nan, np.nan
        return features, derivatives.reshape(m, -1, p)

    @cached_property
    def _fitted(self) -> Autoregression:
        return fit_autoregression(sensor_record(self.record, "ARX metric").T, self.orders, self.excitation)

    @cached_property
    def _roots(self) -> tuple[Samples, float]:
        """Return what multiplies the coefficients, (s, k, k), and the logarithm of the deviation."""
        found = self._fitted
        # L L' = covariance: L^-1 makes them independent and of unit deviation
        return np.linalg.inv(np.linalg.cholesky(found.covariance)), float(np.sqrt(2.0 * found.n_equations))

    def _features(self, coefficients: Samples, deviation: Samples) -> Samples:
        roots, size = self._roots
        both = [(roots @ coefficients[..., None])[..., 0]]
        if self.residuals:
            both.append(size * np.log(deviation)[..., None])
        return np.concatenate(both, axis=-1).reshape(len(coefficients), -1)

    def _derivatives(self, coefficients: Samples, logarithm: Samples) -> Samples:
        """Return (m, s (k + 1), p) of (m, s, p, k) and (m, s, p)."""
        roots, size = self._roots
        both = [roots @ coefficients.swapaxes(-1, -2)]
        if self.residuals:
            both.append(size * logarithm[..., None, :])
        return np.concatenate(both, axis=-2)
