"""Reliability without an ensemble: a prediction with Gaussian uncertainties of model and sensor, in closed form."""

from __future__ import annotations

from enum import StrEnum
from math import erfc, inf, sqrt

import numpy as np
from numpy.typing import NDArray

from monitor.kernel import kernel
from monitor.messages.blocks import Samples
from monitor.reliability.curves import Reliability, ReliabilityCurve
from monitor.reliability.ensemble import Integers
from monitor.reliability.site import ReplicateValidator
from monitor.reliability.tolerance import Tolerance

# range of the integral over standard normal draws
_MAX_DRAW = 9.0
# step of the integral as a fraction of sensor over model deviation, and the ratio below which the sensor is ignored
_STEP, _MIN_SENSOR_RATIO = 0.25, 1e-3
_MAX_STEP = 0.01
_SQRT_HALF = sqrt(0.5)


class ErrorCorrelation(StrEnum):
    """How the errors at different instants are correlated, which determines the first-passage reliability.

    COMMON : the error of the model is one draw for the whole record, scaled by the deviation of each instant, as with
        an uncertain parameter; the noise of the sensor is white.
    INDEPENDENT : both are white.

    Near the prediction the first-passage reliability of common errors is the larger one. It is the smaller one where
    the measurement deviates to both sides in turn: no single draw fits both.
    """

    COMMON = "common"
    INDEPENDENT = "independent"


class GaussianReliability:
    """Reliability of a model that gives its expected response and the standard deviation of its error.

    The difference of model and measurement at an instant is normal, as in the reliability metric of Rebba and
    Mahadevan: its mean is the prediction minus the measurement, its variance the sum of those of model and sensor.
    First-passage with common errors and a noisy sensor is an integral over the draw of the model; a sensor deviation
    below a thousandth of that of the model is ignored there.

    Parameters
    ----------
    prediction : (n_times,), in the unit of the response.
    model_deviation : (n_times,) or a number, standard deviation of the error of the model, in that unit.
    tolerance : allowable error.
    sensor_deviation : standard deviation of the noise of the sensor, in that unit.
    errors : correlation between instants, for first-passage reliability.
    n_replicates, window : see `SiteReliability`.

    Raises
    ------
    ValueError : the prediction is not finite, a deviation is negative, not finite or of another shape, there is no
        replicate, the window is negative, or the shape of the tolerance does not match.
    """

    def __init__(
        self,
        prediction: Samples,
        model_deviation: Samples | float,
        tolerance: Tolerance,
        *,
        sensor_deviation: float = 0.0,
        errors: ErrorCorrelation = ErrorCorrelation.COMMON,
        n_replicates: int = 1,
        window: int = 0,
    ) -> None:
        self._prediction = np.array(prediction, dtype=np.float64)
        self._validator = ReplicateValidator("prediction", len(self._prediction), n_replicates)
        tolerance.check_shape("prediction", len(self._prediction), n_replicates)
        if window < 0:
            raise ValueError(f"prediction: window of {window} instants: must be zero or more")
        model = np.asarray(model_deviation, dtype=np.float64)
        if self._prediction.ndim != 1 or model.shape not in ((), self._prediction.shape):
            raise ValueError(
                f"prediction has shape {self._prediction.shape} and its deviation {model.shape}: "
                "they must be (n_times,), or the deviation a single number"
            )
        if not (np.isfinite(model).all() and (model >= 0.0).all() and 0.0 <= sensor_deviation < inf):
            raise ValueError("standard deviations must be zero or more, and finite")
        if not np.isfinite(self._prediction).all():
            raise ValueError("the prediction must be finite at every instant")
        self._model = np.broadcast_to(model, self._prediction.shape)
        self._deviation = np.hypot(self._model, sensor_deviation)
        self._sensor = sensor_deviation
        self._tolerance, self._errors, self._window = tolerance, errors, window
        ratio = sensor_deviation / max(float(self._model.max()), np.finfo(float).tiny)
        self._draws, self._weights = _integration_grid(ratio)
        self.reset()

    def reset(self) -> None:
        """Discard all samples."""
        self._validator.reset()
        n_replicates = self._validator.n_replicates
        # interval of standard normal draws within the tolerance so far; or the product so far, per draw or overall
        self._low, self._high = np.full((2, n_replicates), [[-np.inf], [np.inf]])
        n_draws = len(self._draws) if self._errors is ErrorCorrelation.COMMON else 1
        self._product = np.ones((n_replicates, n_draws))
        # instants of the last window, and their instantaneous reliability
        self._recent: tuple[Integers, Samples] = np.empty(0, dtype=np.int64), np.empty(0)
        self._first_instant: int | None = None
        self._sum, self._assessed = 0.0, 0

    def update(self, instants: Integers, measured: Samples) -> Reliability:
        """Process measurements, (n_instants, n_replicates), in their order; see `SiteReliability.update`."""
        instants, measured = self._validator.accept(instants, measured)
        known: NDArray[np.bool_] = np.asarray(np.isfinite(measured).all(axis=1))
        rows = instants[known]
        now, ever = self._assess(rows, measured[known])
        assessed = self._assessed + np.arange(1, len(rows) + 1)
        # summed sequentially, so that the result does not depend on the blocks
        total = np.cumsum(np.append(self._sum, now))[1:]
        if len(rows):
            self._sum, self._assessed = float(total[-1]), int(assessed[-1])
        values = now, ever, total / assessed, self._over_window(rows, now)
        return Reliability(*(ReliabilityCurve(value, np.zeros(len(value))).reindexed(known) for value in values))

    def _over_window(self, rows: Integers, now: Samples) -> Samples:
        """Return the mean over the assessed instants of the last window; NaN until the window is full."""
        values = np.full(len(rows), np.nan)
        if not self._window or not len(rows):
            return values
        instants = np.concatenate([self._recent[0], rows])
        recent = np.concatenate([self._recent[1], now])
        self._first_instant = int(rows[0]) if self._first_instant is None else self._first_instant
        oldest = np.searchsorted(instants, rows - self._window, side="right")
        for place, start in enumerate(oldest.tolist()):
            if rows[place] - self._first_instant >= self._window - 1:
                values[place] = recent[start : len(recent) - len(rows) + place + 1].mean()
        in_window = instants > rows[-1] - self._window
        self._recent = instants[in_window], recent[in_window]
        return values

    def _assess(self, rows: Integers, measured: Samples) -> tuple[Samples, Samples]:
        """Return the instantaneous and the first-passage reliability, means over the replicates, (n_instants,)."""
        difference = measured - self._prediction[rows, None]
        tolerance = self._tolerance.evaluate(rows, measured)
        low, high = _draw_interval(difference, tolerance, self._deviation[rows, None])
        within = normal_probability(low, high)
        if self._errors is ErrorCorrelation.INDEPENDENT:
            return within.mean(axis=1), self._multiplied(within[:, :, None])[:, :, 0].mean(axis=1)
        if len(self._draws):
            return within.mean(axis=1), self._with_sensor_noise(rows, difference, tolerance).mean(axis=1)
        lows = np.maximum.accumulate(np.vstack([self._low, low]), axis=0)
        highs = np.minimum.accumulate(np.vstack([self._high, high]), axis=0)
        self._low, self._high = lows[-1], highs[-1]
        return within.mean(axis=1), normal_probability(lows[1:], highs[1:]).mean(axis=1)

    def _with_sensor_noise(self, rows: Integers, difference: Samples, tolerance: Samples) -> Samples:
        """Return (n_instants, n_replicates): one draw of the model for all instants, white noise of the sensor.

        Given the draw, the instants are independent; the result is the integral over the draws.
        """
        ever = np.empty(difference.shape)
        for place, row in enumerate(rows.tolist()):
            given = difference[place][:, None] - self._model[row] * self._draws
            interval = _draw_interval(given, tolerance[place][:, None], np.float64(self._sensor))
            ever[place] = self._multiplied(normal_probability(*interval)[None])[0] @ self._weights
        return ever

    def _multiplied(self, within: Samples) -> Samples:
        """Return the cumulative products of probabilities (n_instants, n_replicates, n_draws)."""
        products = np.cumprod(np.concatenate([self._product[None], within]), axis=0)[1:]
        self._product = products[-1] if len(products) else self._product
        return products


def _integration_grid(ratio: float) -> tuple[Samples, Samples]:
    """Return draws of the model and their weights; empty where the sensor is negligible beside the model.

    Sums over equal steps converge to rounding once the steps are finer than the smoothing by the noise.
    """
    if ratio < _MIN_SENSOR_RATIO:
        return np.empty(0), np.empty(0)
    steps = round(_MAX_DRAW / min(_MAX_STEP, _STEP * ratio))
    draws = np.linspace(-_MAX_DRAW, _MAX_DRAW, 2 * steps + 1)
    density = np.exp(-0.5 * draws**2)
    return draws, density / density.sum()


def _draw_interval(
    difference: Samples, tolerance: Samples, deviation: Samples | np.float64
) -> tuple[Samples, Samples]:
    """Return the interval of standard normal draws for which the difference is within the tolerance."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        low, high = (difference - tolerance) / deviation, (difference + tolerance) / deviation
    # without uncertainty the model is within for every draw, or for none
    certain = deviation == 0.0
    low = np.where(certain, np.where(np.abs(difference) < tolerance, -np.inf, np.inf), low)
    return low, np.where(certain, np.inf, high)


def normal_probability(low: Samples, high: Samples) -> Samples:
    """Return the probability that a standard normal variable is between `low` and `high`; 0 where high < low.

    With full relative accuracy in both tails.
    """
    result = np.empty(low.shape)
    _normal_probability(low.ravel(), high.ravel(), result.ravel())
    return result


@kernel
def _normal_probability(low: Samples, high: Samples, result: Samples) -> None:
    for i in range(len(low)):
        a, b = low[i], max(low[i], high[i])
        # in the right tail the difference of two numbers near 1 would lose all digits
        if a > 0.0:
            a, b = -b, -a
        # of the standard normal distribution function
        result[i] = 0.5 * erfc(-b * _SQRT_HALF) - 0.5 * erfc(-a * _SQRT_HALF)
