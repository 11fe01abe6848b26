"""The three reliabilities at one validation site, updated sample by sample."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monitor.kernel import kernel
from monitor.messages.blocks import Samples
from monitor.reliability.accumulated import Accumulated
from monitor.reliability.curves import Curve, Reliability
from monitor.reliability.ensemble import Ensemble
from monitor.reliability.first_passage import FirstPassage
from monitor.reliability.measurements import ReplicateValidator
from monitor.reliability.ranks import Integers, locate
from monitor.reliability.shares import share
from monitor.reliability.tolerance import Tolerance


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """Of the M realizations, how many, at the instants that were judged.

    Parameters
    ----------
    within : (n_judged, n_replicates), are within the tolerance at the instant.
    survivors : (n_judged, n_replicates), have been at every instant judged so far.
    accumulated : (n_judged, n_replicates), are within, summed over the instants judged so far.
    judged : (n_judged,), how many instants that were.
    """

    within: Integers
    survivors: Integers
    accumulated: Integers
    judged: Integers


@dataclass(frozen=True, slots=True, eq=False)
class SiteUpdate:
    """What came of a few instants.

    Parameters
    ----------
    reliability : of the site; NaN at the instants that were not judged.
    counts : the integers behind it, at the instants that were judged.
    known : (n_instants,), which those are.
    """

    reliability: Reliability
    counts: Counts
    known: NDArray[np.bool_]


class SiteReliability:
    """An ensemble at one site, and the replicates of its experiment as they come in.

    Any way of cutting the measurements into blocks gives the same integers.

    Parameters
    ----------
    ensemble : the model.
    tolerance : how far it may be off.
    n_replicates : measurements that come side by side.
    window : instants of the ensemble that the windowed reliability looks back; 0: there is none.

    Raises
    ------
    ValueError : there is no replicate, the window is negative, or the tolerance does not fit.
    """

    def __init__(self, ensemble: Ensemble, tolerance: Tolerance, n_replicates: int = 1, window: int = 0) -> None:
        self._intake = ReplicateValidator(ensemble.name, len(ensemble.time), n_replicates)
        tolerance.check_fit(self._intake)
        if window < 0:
            raise ValueError(f"{ensemble.name}: window of {window} instants: must be zero or more")
        self.ensemble, self.tolerance, self.n_replicates = ensemble, tolerance, n_replicates
        # one that is never full needs no more room than that
        self.window = min(window, len(ensemble.time) + 1)
        self.reset()
        # one sample, forgotten at once, loads the kernels: none of a test waits for them
        self.update(np.zeros(1, dtype=np.int64), np.zeros((1, n_replicates)))
        self.reset()

    def reset(self) -> None:
        """Forget every sample."""
        self._intake.reset()
        size = self.ensemble.n_realizations, self.n_replicates
        self._first_passage = FirstPassage(*size)
        self._accumulated = Accumulated(*size)
        self._windowed = Accumulated(*size, self.window) if self.window else None
        self._within: Integers = np.zeros(self.n_replicates, dtype=np.int64)
        # the instant at which the window began to fill
        self._first: int | None = None

    def update(self, instants: Integers, measured: Samples) -> SiteUpdate:
        """Take measurements at instants that follow each other.

        Parameters
        ----------
        instants : (n_instants,), rows of the ensemble, rising, each taken once.
        measured : (n_instants, n_replicates), in the ensemble's unit. An instant at which one is not finite is not
            judged: its reliabilities are NaN, and the ones after it know nothing of it.

        Raises
        ------
        ValueError : shapes do not fit, or an instant lies outside the ensemble.
        """
        instants, measured = self._intake.take(instants, measured)
        known: NDArray[np.bool_] = np.asarray(np.isfinite(measured).all(axis=1))
        if known.all():
            return SiteUpdate(*self._judge(instants, measured), known)
        reliability, counts = self._judge(instants[known], measured[known])
        return SiteUpdate(reliability.at(known), counts, known)

    def _judge(self, instants: Integers, measured: Samples) -> tuple[Reliability, Counts]:
        ensemble, m, n = self.ensemble, self.ensemble.n_realizations, self.n_replicates
        tolerance = np.ascontiguousarray(self.tolerance.at(instants, measured))
        low, high = locate(ensemble, instants, measured, tolerance)
        within = high - low
        sums, squares = np.empty((2, len(low)), dtype=np.int64)
        _overlaps(low, high, sums, squares)
        once = np.full(len(low), n)
        instantaneous = share(sums, squares, once, m)
        survivors, squares = self._first_passage.advance(ensemble, instants, measured, tolerance, low, high)
        first_passage = share(survivors.sum(axis=1), squares, once, m)
        sums, squares, judged = self._accumulated.advance(ensemble, instants, low, high)
        accumulated = share(sums, squares, n * judged, m)
        windowed = self._over_window(instants, low, high)
        totals = self._within + np.cumsum(within, axis=0)
        self._within = totals[-1] if len(totals) else self._within
        reliability = Reliability(instantaneous, first_passage, accumulated, windowed)
        return reliability, Counts(within, survivors, totals, judged)

    def _over_window(self, instants: Integers, low: Integers, high: Integers) -> Curve:
        if self._windowed is None:
            unknown = np.full(len(instants), np.nan)
            return Curve(unknown, unknown)
        sums, squares, judged = self._windowed.advance(self.ensemble, instants, low, high)
        curve = share(sums, squares, self.n_replicates * judged, self.ensemble.n_realizations)
        if self._first is None and len(instants):
            self._first = int(instants[0])
        filling = instants - (self._first or 0) < self.window - 1
        for values in (curve.value, curve.standard_error):
            values[filling] = np.nan
        return curve


@kernel
def _overlaps(low: Integers, high: Integers, sums: Integers, squares: Integers) -> None:
    """Write the sums over the realizations of the replicates they are within, and of the square of these.

    The realizations within two replicates are where their intervals of ranks overlap.
    """
    for i in range(low.shape[0]):
        sums[i] = squares[i] = 0
        for j in range(low.shape[1]):
            sums[i] += high[i, j] - low[i, j]
            for k in range(low.shape[1]):
                squares[i] += max(min(high[i, j], high[i, k]) - max(low[i, j], low[i, k]), 0)
