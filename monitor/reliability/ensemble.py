"""An ensemble: what a model with uncertain inputs says of one response over time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monitor.messages.blocks import Samples

Ranks = NDArray[np.uint32]

# instants that are sorted together: so much more memory than the ensemble itself
_SORTED_AT_ONCE = 16
# of the mean step: what an instant may be off its place
_JITTER = 1e-3


class EnsembleError(ValueError):
    """The ensemble cannot be used; the text says what is wrong, where, and what to do."""


@dataclass(frozen=True, slots=True, eq=False)
class Ensemble:
    """Realizations of a model's response over time.

    Parameters
    ----------
    time : (n_times,), s, of the model's own clock.
    response : (n_times, n_realizations), in `unit`; often mapped from a file.
    order : (n_times, n_realizations): at every instant the realizations by rising response.
    unit : of the response; empty where it is not said.
    name : of the response or of the validation site, for messages.

    All arrays are read-only.

    Raises
    ------
    EnsembleError : shapes do not fit, times do not rise, or a response is not finite.
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
        """Look at the least and the largest response of each instant: what is not finite is sorted there."""
        rows = np.arange(len(self.time))
        for ranks in (self.order[:, 0], self.order[:, -1]):
            if int(ranks.max()) >= self.n_realizations:
                raise EnsembleError(f"{self.name}: order does not fit the response: build the ensemble anew")
            wrong = np.flatnonzero(~np.isfinite(self.response[rows, ranks]))
            if len(wrong):
                first = int(wrong[0])
                raise EnsembleError(
                    f"{self.name}: realization {int(ranks[first])} is not finite at {self.time[first]:g} s: "
                    "leave it out or run it again"
                )

    @property
    def n_realizations(self) -> int:
        """How many realizations there are."""
        return int(self.response.shape[1])

    @property
    def dt(self) -> float:
        """Time from instant to instant, s.

        Raises
        ------
        EnsembleError : there is a single instant, or the steps are not equal.
        """
        if len(self.time) < 2:
            raise EnsembleError(f"{self.name}: a single instant has no step in time")
        steps = len(self.time) - 1
        mean = float(self.time[-1] - self.time[0]) / steps
        # what matters is how far an instant is from its place, not a single step
        off = np.abs(self.time - self.time[0] - mean * np.arange(steps + 1)) > _JITTER * mean
        if off.any():
            where = self.time[np.argmax(off)]
            raise EnsembleError(
                f"{self.name}: time does not rise in equal steps at {where:g} s: interpolate it first"
            )
        return mean

    @property
    def mean(self) -> Samples:
        """(n_times,): the mean over the realizations."""
        return np.asarray(self.response.mean(axis=1))

    def quantile(self, probability: float) -> Samples:
        """Return (n_times,): the realization at this share of the sorted ones, without interpolation.

        Raises
        ------
        ValueError : the share is not from 0 to 1.
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
    for start in range(0, len(response), _SORTED_AT_ONCE):
        order[start : start + _SORTED_AT_ONCE] = sort_rows(response[start : start + _SORTED_AT_ONCE])
    # views, so that the arrays of the caller stay writable
    return Ensemble(time.view(), response.view(), order, unit, name)


def sort_rows(response: Samples) -> Ranks:
    """Return the realizations of each instant by rising response; equal ones in any order."""
    return np.argsort(response, axis=1).astype(np.uint32)


def check_time(time: Samples, name: str) -> None:
    """Raise `EnsembleError` unless these are instants that rise, in s."""
    if time.ndim != 1 or not len(time):
        raise EnsembleError(f"{name}: time has shape {time.shape}: it must be (n_times,)")
    if not np.isfinite(time).all():
        raise EnsembleError(f"{name}: time is not finite at instant {int(np.argmin(np.isfinite(time)))}")
    steps = np.diff(time)
    if len(steps) and steps.min() <= 0.0:
        raise EnsembleError(f"{name}: time does not rise after {time[np.argmax(steps <= 0.0)]:g} s")
