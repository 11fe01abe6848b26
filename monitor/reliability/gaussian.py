"""Reliability without an ensemble: a prediction, and Gaussian uncertainties of model and sensor, in closed form."""

from __future__ import annotations

from enum import StrEnum

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from monitor.messages.blocks import Samples
from monitor.reliability.curves import Curve, Reliability
from monitor.reliability.measurements import ReplicateValidator
from monitor.reliability.ranks import Integers
from monitor.reliability.tolerance import Tolerance

# of standard normal draws: nothing lies beyond
_FARTHEST = 9.0
# of the sensor's share of the model's deviation: steps in which draws are summed up, and below what it is nothing
_STEP, _NOTHING = 0.25, 1e-3
_LARGEST_STEP = 0.01


class Errors(StrEnum):
    """How the errors at different instants hang together, of which first-passage reliability makes everything.

    COMMON : the model's error is one draw for the whole record, which scales the deviation of every instant, as a
        wrong parameter does; the sensor's noise is white.
    INDEPENDENT : all is white.

    Near the prediction the first-passage reliability of common errors is the larger one. It is the smaller one where
    the measurement is off now to one side and now to the other: no single draw fits both.
    """

    COMMON = "common"
    INDEPENDENT = "independent"


class GaussianReliability:
    """A model that says what it expects and how sure it is.

    The difference of model and measurement at an instant is normal, as in Rebba and Mahadevan's reliability metric:
    its mean is the prediction less the measurement, its variance the model's and the sensor's together. First-passage
    under common errors and a noisy sensor is an integral over the model's draw; a sensor of less than a thousandth of
    the model's deviation has no say in it.

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
        self._intake = ReplicateValidator("prediction", len(self._prediction), n_replicates)
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
        self._model = np.broadcast_to(model, self._prediction.shape)
        self._deviation = np.hypot(self._model, sensor_deviation)
        self._sensor = sensor_deviation
        self._tolerance, self._errors, self._window = tolerance, errors, window
        self._draws, self._weights = _grid(sensor_deviation / max(float(self._model.max()), np.finfo(float).tiny))
        self.reset()

    def reset(self) -> None:
        """Forget every sample."""
        self._intake.reset()
        n_replicates = self._intake.n_replicates
        # the standard normal draws that are within so far; or the product so far, of each draw or of all
        self._lowest, self._highest = np.full((2, n_replicates), [[-np.inf], [np.inf]])
        n_draws = len(self._draws) if self._errors is Errors.COMMON else 1
        self._product = np.ones((n_replicates, n_draws))
        # the instants of the last window, and what was found at them
        self._recent: tuple[Integers, Samples] = np.empty(0, dtype=np.int64), np.empty(0)
        self._first: int | None = None
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
        if len(rows):
            self._sum, self._judged = float(total[-1]), int(judged[-1])
        values = now, ever, total / judged, self._of_late(rows, now)
        instantaneous, first_passage, accumulated, windowed_curve = (
            Curve(value, np.zeros(len(value))).at(known) for value in values
        )
        return Reliability(instantaneous, first_passage, accumulated, windowed_curve)

    def _of_late(self, rows: Integers, now: Samples) -> Samples:
        """Return the mean of what was judged of the last instants; NaN until the window is full."""
        values = np.full(len(rows), np.nan)
        if not self._window or not len(rows):
            return values
        instants = np.concatenate([self._recent[0], rows])
        recent = np.concatenate([self._recent[1], now])
        self._first = int(rows[0]) if self._first is None else self._first
        oldest = np.searchsorted(instants, rows - self._window, side="right")
        for place, start in enumerate(oldest.tolist()):
            if rows[place] - self._first >= self._window - 1:
                values[place] = recent[start : len(recent) - len(rows) + place + 1].mean()
        kept = instants > rows[-1] - self._window
        self._recent = instants[kept], recent[kept]
        return values

    def _judge(self, rows: Integers, measured: Samples) -> tuple[Samples, Samples]:
        """Return the instantaneous and the first-passage reliability, means over the replicates, (n_instants,)."""
        away = measured - self._prediction[rows, None]
        tolerance = self._tolerance.at(rows, measured)
        low, high = _ends(away, tolerance, self._deviation[rows, None])
        within = _between(low, high)
        if self._errors is Errors.INDEPENDENT:
            return within.mean(axis=1), self._multiplied(within[:, :, None])[:, :, 0].mean(axis=1)
        if len(self._draws):
            return within.mean(axis=1), self._under_noise(rows, away, tolerance).mean(axis=1)
        lowest = np.maximum.accumulate(np.vstack([self._lowest, low]), axis=0)
        highest = np.minimum.accumulate(np.vstack([self._highest, high]), axis=0)
        self._lowest, self._highest = lowest[-1], highest[-1]
        return within.mean(axis=1), _between(lowest[1:], highest[1:]).mean(axis=1)

    def _under_noise(self, rows: Integers, away: Samples, tolerance: Samples) -> Samples:
        """Return (n_instants, n_replicates): the model's error is one draw, the sensor's a new one at every instant.

        Given the draw, instants are independent; over the draws it is an integral.
        """
        ever = np.empty(away.shape)
        for place, row in enumerate(rows.tolist()):
            given = away[place][:, None] - self._model[row] * self._draws
            within = _between(*_ends(given, tolerance[place][:, None], np.float64(self._sensor)))
            ever[place] = self._multiplied(within[None])[0] @ self._weights
        return ever

    def _multiplied(self, within: Samples) -> Samples:
        """Return the products so far of probabilities (n_instants, n_replicates, n_draws)."""
        products = np.cumprod(np.concatenate([self._product[None], within]), axis=0)[1:]
        self._product = products[-1] if len(products) else self._product
        return products


def _grid(sensor: float) -> tuple[Samples, Samples]:
    """Return draws of the model and their weights; none where the sensor is nothing beside its deviation.

    Sums over equal steps converge with the last digit once the steps are finer than what the noise smooths.
    """
    if sensor < _NOTHING:
        return np.empty(0), np.empty(0)
    steps = round(_FARTHEST / min(_LARGEST_STEP, _STEP * sensor))
    draws = np.linspace(-_FARTHEST, _FARTHEST, 2 * steps + 1)
    density = np.exp(-0.5 * draws**2)
    return draws, density / density.sum()


def _ends(away: Samples, tolerance: Samples, deviation: Samples | np.float64) -> tuple[Samples, Samples]:
    """Return between which standard normal draws the difference is within the tolerance."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        low, high = (away - tolerance) / deviation, (away + tolerance) / deviation
    # a sure model is within, whatever the draw, or it is not
    sure = deviation == 0.0
    low = np.where(sure, np.where(np.abs(away) < tolerance, -np.inf, np.inf), low)
    return low, np.where(sure, np.inf, high)


def _between(low: Samples, high: Samples) -> Samples:
    """Return the probability that a standard normal variable lies between."""
    high = np.maximum(low, high)
    # in the left tail the two are small numbers, in the right one their difference would be lost
    flip = low > 0.0
    return np.asarray(ndtr(np.where(flip, -low, high)) - ndtr(np.where(flip, -high, low)))
