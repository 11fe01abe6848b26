"""Reliability without an ensemble: a prediction, and Gaussian uncertainties of model and sensor, in closed form."""

from __future__ import annotations

from enum import StrEnum

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from scipy.special import ndtr

from monitor.blocks import Samples
from monitor.reliability.curves import Curve, Reliability
from monitor.reliability.measurements import Intake
from monitor.reliability.ranks import Integers
from monitor.reliability.tolerance import Tolerance


class Errors(StrEnum):
    """How the errors at different instants hang together, of which first-passage reliability makes everything.

    COMMON : one draw for the whole record, which scales the deviation of every instant: a wrong parameter.
    INDEPENDENT : a draw of its own at every instant: white noise.

    Near the prediction the first-passage reliability of common errors is the larger one. It is the smaller one where
    the measurement is off now to one side and now to the other: no single draw fits both.
    """

    COMMON = "common"
    INDEPENDENT = "independent"


class GaussianReliability:
    """A model that says what it expects and how sure it is.

    The difference of model and measurement at an instant is normal, as in Rebba and Mahadevan's reliability metric:
    its mean is the prediction less the measurement, its variance the model's and the sensor's together.

    Parameters
    ----------
    prediction : (n_times,), in the response's unit.
    model_deviation : (n_times,) or a number, standard deviation of the model's error, in that unit.
    tolerance : how far it may be off.
    sensor_deviation : standard deviation of the sensor's noise, in that unit.
    errors : of first-passage reliability.
    n_replicates, window : see `SiteReliability`.

    Raises
    ------
    ValueError : the prediction is not finite, a deviation is negative, not finite or does not fit, there is no
        replicate, the window is negative, or the tolerance does not fit.
    """

    def __init__(
        self,
        prediction: Samples,
        model_deviation: Samples | float,
        tolerance: Tolerance,
        *,
        sensor_deviation: float = 0.0,
        errors: Errors = Errors.COMMON,
        n_replicates: int = 1,
        window: int = 0,
    ) -> None:
        self._prediction = np.array(prediction, dtype=np.float64)
        self._intake = Intake("prediction", len(self._prediction), n_replicates)
        tolerance.check_fit(self._intake)
        if window < 0:
            raise ValueError(f"prediction: window of {window} instants: must be zero or more")
        model = np.asarray(model_deviation, dtype=np.float64)
        if self._prediction.ndim != 1 or model.shape not in ((), self._prediction.shape):
            raise ValueError(
                f"prediction has shape {self._prediction.shape} and its deviation {model.shape}: "
                "they must be (n_times,), or the deviation a single number"
            )
        if not (np.isfinite(model).all() and (model >= 0.0).all() and 0.0 <= sensor_deviation < float("inf")):
            raise ValueError("standard deviations must be zero or more, and finite")
        if not np.isfinite(self._prediction).all():
            raise ValueError("the prediction must be finite at every instant")
        self._deviation = np.broadcast_to(np.hypot(model, sensor_deviation), self._prediction.shape)
        self._tolerance, self._errors, self._window = tolerance, errors, window
        # the standard normal draws that are within so far, or the product so far
        self._lowest, self._highest = np.full((2, n_replicates), [[-np.inf], [np.inf]])
        self._product = np.ones(n_replicates)
        self._recent: Samples = np.empty(0)
        self._sum, self._judged = 0.0, 0

    def update(self, instants: Integers, measured: Samples) -> Reliability:
        """Take measurements, (n_instants, n_replicates), in their order; see `SiteReliability.update`."""
        instants, measured = self._intake.take(instants, measured)
        known: NDArray[np.bool_] = np.asarray(np.isfinite(measured).all(axis=1))
        rows = instants[known]
        now, ever = self._judge(rows, measured[known])
        judged = self._judged + np.arange(1, len(rows) + 1)
        # added one after the other, whatever the blocks
        total = np.cumsum(np.append(self._sum, now))[1:]
        recent = np.concatenate([self._recent, now])
        windowed = np.full(len(rows), np.nan)
        if self._window and len(recent) >= self._window:
            means = sliding_window_view(recent, self._window).mean(axis=1)
            windowed[len(rows) - len(means) :] = means
        if len(rows):
            self._sum, self._judged = float(total[-1]), int(judged[-1])
        self._recent = recent[max(0, len(recent) - self._window + 1) :] if self._window else recent[:0]
        values = now, ever, total / judged, windowed
        instantaneous, first_passage, accumulated, windowed_curve = (
            Curve(value, np.zeros(len(value))).at(known) for value in values
        )
        return Reliability(instantaneous, first_passage, accumulated, windowed_curve)

    def _judge(self, rows: Integers, measured: Samples) -> tuple[Samples, Samples]:
        """Return the instantaneous and the first-passage reliability, means over the replicates, (n_instants,)."""
        away = measured - self._prediction[rows, None]
        tolerance = self._tolerance.at(rows, measured)
        deviation = self._deviation[rows, None]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            low, high = (away - tolerance) / deviation, (away + tolerance) / deviation
        # a sure model is within, whatever the draw, or it is not
        sure = deviation == 0.0
        low = np.where(sure, np.where(np.abs(away) < tolerance, -np.inf, np.inf), low)
        high = np.where(sure, np.inf, high)
        within = _between(low, high)
        if self._errors is Errors.INDEPENDENT:
            products = np.cumprod(np.vstack([self._product, within]), axis=0)
            self._product = products[-1]
            return within.mean(axis=1), products[1:].mean(axis=1)
        lowest = np.maximum.accumulate(np.vstack([self._lowest, low]), axis=0)
        highest = np.minimum.accumulate(np.vstack([self._highest, high]), axis=0)
        self._lowest, self._highest = lowest[-1], highest[-1]
        return within.mean(axis=1), _between(lowest[1:], highest[1:]).mean(axis=1)


def _between(low: Samples, high: Samples) -> Samples:
    """Return the probability that a standard normal variable lies between."""
    high = np.maximum(low, high)
    # in the left tail the two are small numbers, in the right one their difference would be lost
    flip = low > 0.0
    return np.asarray(ndtr(np.where(flip, -low, high)) - ndtr(np.where(flip, -high, low)))
