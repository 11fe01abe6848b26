"""An ensemble: realizations of one response of a model with uncertain inputs, over time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monitor.messages.blocks import Samples

Integers = NDArray[np.int64]
Ranks = NDArray[np.uint32]
Flags = NDArray[np.uint8]

# rows that are sorted in one call: bounds the memory beside the ensemble itself
_ROWS_PER_SORT = 16
# largest deviation of an instant from equal steps, as a fraction of the mean step
_MAX_JITTER = 1e-3


class EnsembleError(ValueError):
    """The ensemble cannot be used; the message states what is wrong, where, and the remedy."""


@dataclass(frozen=True, slots=True, eq=False)
class Ensemble:
    """Realizations of a model's response over time. All arrays are read-only.

    Parameters
    ----------
    time : (n_times,), s, on the model's clock.
    response : (n_times, n_realizations), in `unit`; often memory-mapped.
    order : (n_times, n_realizations), the realizations of each instant by increasing response (argsort).
    unit : of the response; empty if unknown.
    name : of the response or of the validation site, for error messages.

    Raises
    ------
    EnsembleError : shapes do not match, times do not increase, or a response is not finite.
    """

    time: Samples
    response: Samples
    order: Ranks
    unit: str = ""
    name: str = "ensemble"

    def __post_init__(self) -> None:
        check_time(self.time, self.name)
        shape = self.response.shape
        if len(shape) != 2 or shape[0] != len(self.time) or not shape[1]:
            raise EnsembleError(
                f"{self.name}: response has shape {shape} and time {self.time.shape}: "
                "it must be (n_times, n_realizations)"
            )
        if self.order.shape != shape:
            raise EnsembleError(f"{self.name}: order has shape {self.order.shape}, response {shape}")
        self._check_ends()
        for array in (self.time, self.response, self.order):
            array.setflags(write=False)

    def _check_ends(self) -> None:
        """Check the smallest and the largest response of each instant: argsort puts non-finite values there."""
        rows = np.arange(len(self.time))
        for ranks in (self.order[:, 0], self.order[:, -1]):
            if int(ranks.max()) >= self.n_realizations:
                raise EnsembleError(f"{self.name}: order does not match the response: create the ensemble again")
            wrong = np.flatnonzero(~np.isfinite(self.response[rows, ranks]))
            if len(wrong):
                first = int(wrong[0])
                raise EnsembleError(
                    f"{self.name}: realization {int(ranks[first])} is not finite at {self.time[first]:g} s: "
                    "omit it or run it again"
                )

    @property
    def n_realizations(self) -> int:
        """Number of realizations."""
        return int(self.response.shape[1])

    @property
    def dt(self) -> float:
        """Time step, s.

        Raises
        ------
        EnsembleError : there is only one instant, or the steps are not equal.
        """
        if len(self.time) < 2:
            raise EnsembleError(f"{self.name}: a single instant has no time step")
        steps = len(self.time) - 1
        mean = float(self.time[-1] - self.time[0]) / steps
        # the deviation from an equally spaced grid counts, not that of a single step
        off = np.abs(self.time - self.time[0] - mean * np.arange(steps + 1)) > _MAX_JITTER * mean
        if off.any():
            where = self.time[np.argmax(off)]
            raise EnsembleError(f"{self.name}: time steps are not equal at {where:g} s: interpolate first")
        return mean

    @property
    def mean(self) -> Samples:
        """(n_times,), the mean over the realizations."""
        return np.asarray(self.response.mean(axis=1))

    def quantile(self, probability: float) -> Samples:
        """Return the empirical quantile of each instant, (n_times,), without interpolation.

        Raises
        ------
        ValueError : the probability is not in 0..1.
        """
        if not 0.0 <= probability <= 1.0:
            raise ValueError(f"{self.name}: quantile at {probability:g}: must be from 0 to 1")
        rank = min(self.n_realizations - 1, int(probability * self.n_realizations))
        return np.asarray(self.response[np.arange(len(self.time)), self.order[:, rank]])


def sort_ensemble(time: Samples, response: Samples, unit: str = "", name: str = "ensemble") -> Ensemble:
    """Return the ensemble of these realizations, sorted in memory.

    Parameters
    ----------
    time, response, unit, name : see `Ensemble`; lists and other number types are converted.

    Raises
    ------
    EnsembleError : see `Ensemble`.
    """
    if np.iscomplexobj(time) or np.iscomplexobj(response):
        raise EnsembleError(f"{name}: time and response must be real numbers")
    try:
        time = np.ascontiguousarray(time, dtype=np.float64)
        response = np.ascontiguousarray(response, dtype=np.float64)
    except (TypeError, ValueError) as problem:
        raise EnsembleError(f"{name}: time and response must be numbers") from problem
    if response.ndim != 2 or not response.size:
        raise EnsembleError(f"{name}: response has shape {response.shape}: it must be (n_times, n_realizations)")
    order: Ranks = np.empty(response.shape, dtype=np.uint32)
    for start in range(0, len(response), _ROWS_PER_SORT):
        order[start : start + _ROWS_PER_SORT] = sort_rows(response[start : start + _ROWS_PER_SORT])
    # views, so that the arrays of the caller stay writable
    return Ensemble(time.view(), response.view(), order, unit, name)


def sort_rows(response: Samples) -> Ranks:
    """Return the realizations of each instant by increasing response; the order of ties is arbitrary."""
    return np.argsort(response, axis=1).astype(np.uint32)


def check_time(time: Samples, name: str) -> None:
    """Raise `EnsembleError` unless `time` is one-dimensional, finite and increasing."""
    if time.ndim != 1 or not len(time):
        raise EnsembleError(f"{name}: time has shape {time.shape}: it must be (n_times,)")
    if not np.isfinite(time).all():
        raise EnsembleError(f"{name}: time is not finite at instant {int(np.argmin(np.isfinite(time)))}")
    steps = np.diff(time)
    if len(steps) and steps.min() <= 0.0:
        raise EnsembleError(f"{name}: time does not increase after {time[np.argmax(steps <= 0.0)]:g} s")
