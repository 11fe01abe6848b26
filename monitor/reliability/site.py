"""The three reliabilities at one validation site, updated sample by sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.kernel import kernel, part
from monitor.messages.blocks import Samples
from monitor.reliability.counts import FirstPassageCounter, rank_intervals
from monitor.reliability.curves import Reliability, ReliabilityCurve, estimate_curve
from monitor.reliability.ensemble import Ensemble, Integers, Ranks
from monitor.reliability.tolerance import Tolerance

SmallIntegers = NDArray[np.int32]

# indices into the state
_EVERYWHERE, _SUM, _SQUARES, _ASSESSED, _OLDEST = range(5)


class Accumulation(NamedTuple):
    """The arrays of `AccumulatedCounter`.

    ``extra`` (n_realizations,): count of each realization relative to the one that is common to all; ``state`` (5,):
    that one, sums and numbers; ``instants`` (window,), ``low`` and ``high`` (window, n_replicates): a ring of the
    instants in the window and their rank intervals.
    """

    extra: SmallIntegers
    state: Integers
    instants: Integers
    low: Integers
    high: Integers


def new_accumulation(n_realizations: int, n_replicates: int, window: int) -> Accumulation:
    """Return the initial arrays."""
    low, high = np.zeros((2, window, n_replicates), dtype=np.int64)
    extra, state = np.zeros(n_realizations, dtype=np.int32), np.zeros(5, dtype=np.int64)
    return Accumulation(extra, state, np.zeros(window, dtype=np.int64), low, high)


class AccumulatedCounter:
    """Number of instants at which each realization was within the tolerance (eq. 24-26), so far or in a window.

    A sample visits the realizations outside its tolerance, or those inside if they are fewer. The sums alone would
    give the reliability; the count of each realization gives its standard error.

    Parameters
    ----------
    n_realizations, n_replicates : of the ensemble, and of the measurements at each instant.
    window : length in instants of the ensemble, assessed or not; 0: all instants so far.
    """

    def __init__(self, n_realizations: int, n_replicates: int = 1, window: int = 0) -> None:
        self._state = new_accumulation(n_realizations, n_replicates, window)

    def advance(
        self, ensemble: Ensemble, instants: Integers, low: Integers, high: Integers
    ) -> tuple[Integers, Integers, Integers]:
        """Process the next instants.

        Parameters
        ----------
        ensemble, instants, low, high : see `rank_intervals`.

        Returns
        -------
        within, squares : (n_instants,), the sum over the realizations of the instants (times replicates) within
            the tolerance, and of its square.
        assessed : (n_instants,), the number of instants in these sums.
        """
        totals: Integers = np.empty((3, len(instants)), dtype=np.int64)
        advance_accumulated(ensemble.order, instants, low, high, *self._state, totals)
        return totals[0], totals[1], totals[2]


@part
def _count(
    order: Ranks, instant: int, low: int, high: int, entering: bool, extra: SmallIntegers, state: Integers
) -> None:
    """Count an instant for the realizations ``order[instant, low:high]``, or subtract it."""
    m = order.shape[1]
    inside = 2 * (high - low) <= m
    step = 1 if entering == inside else -1
    squares = 0
    for side in range(1 if inside else 2):
        start = low if inside else (0 if side == 0 else high)
        stop = high if inside else (low if side == 0 else m)
        for rank in range(start, stop):
            k = min(order[instant, rank], m - 1)
            # (e + s)^2 - e^2
            squares += 2 * step * extra[k] + 1
            extra[k] += step
        state[_SUM] += step * (stop - start)
    state[_SQUARES] += squares
    if not inside:
        state[_EVERYWHERE] -= step


@kernel
def advance_accumulated(
    order: Ranks,
    instants: Integers,
    low: Integers,
    high: Integers,
    extra: SmallIntegers,
    state: Integers,
    ring_instants: Integers,
    ring_low: Integers,
    ring_high: Integers,
    totals: Integers,
) -> None:
    """Process the next instants, see `AccumulatedCounter.advance`, and update the arrays of `Accumulation`."""
    m, window = order.shape[1], ring_instants.shape[0]
    for i in range(low.shape[0]):
        q = instants[i]
        while window and state[_ASSESSED] and ring_instants[state[_OLDEST]] <= q - window:
            oldest = state[_OLDEST]
            for j in range(low.shape[1]):
                _count(order, ring_instants[oldest], ring_low[oldest, j], ring_high[oldest, j], False, extra, state)
            state[_OLDEST] = (oldest + 1) % window
            state[_ASSESSED] -= 1
        for j in range(low.shape[1]):
            _count(order, q, low[i, j], high[i, j], True, extra, state)
        if window:
            newest = (state[_OLDEST] + state[_ASSESSED]) % window
            ring_instants[newest] = q
            ring_low[newest], ring_high[newest] = low[i], high[i]
        state[_ASSESSED] += 1
        everywhere, total = state[_EVERYWHERE], state[_SUM]
        totals[0, i] = m * everywhere + total
        totals[1, i] = m * everywhere**2 + 2 * everywhere * total + state[_SQUARES]
        totals[2, i] = state[_ASSESSED]


class ReplicateValidator:
    """Check shape and order of the measurements at one site, so that the kernels need no checks.

    Parameters
    ----------
    site : name, for error messages.
    n_times : instants of the model.
    n_replicates : measurements at each instant.

    Raises
    ------
    ValueError : there is no replicate.
    """

    def __init__(self, site: str, n_times: int, n_replicates: int) -> None:
        if n_replicates < 1:
            raise ValueError(f"{site}: {n_replicates} replicates: there must be one or more")
        self.site, self.n_times, self.n_replicates = site, n_times, n_replicates
        self._last_instant = -1

    def reset(self) -> None:
        """Accept all instants again."""
        self._last_instant = -1

    def accept(self, instants: Integers, measured: Samples) -> tuple[Integers, Samples]:
        """Return the result of `check`; the instants cannot be accepted twice."""
        instants, measured = self.check(instants, measured)
        self._last_instant = int(instants[-1]) if len(instants) else self._last_instant
        return instants, measured

    def check(self, instants: Integers, measured: Samples) -> tuple[Integers, Samples]:
        """Return copies of the instants, (n_instants,), and of the measurements, (n_instants, n_replicates).

        Raises
        ------
        ValueError : shapes do not match, an instant is outside the model, or does not follow those before it.
        """
        # copies: a read-only array would make numba compile another signature during the test
        instants = np.array(instants, dtype=np.int64)
        measured = np.array(measured, dtype=np.float64, order="C")
        if instants.ndim != 1 or measured.shape != (len(instants), self.n_replicates):
            raise ValueError(
                f"{self.site}: measured has shape {measured.shape} and instants {instants.shape}: "
                f"they must be (n_instants, {self.n_replicates}) and (n_instants,)"
            )
        if not len(instants):
            return instants, measured
        if not 0 <= int(instants.min()) <= int(instants.max()) < self.n_times:
            given = f"{instants.min()} to {instants.max()}"
            raise ValueError(f"{self.site}: instants {given}: the model has 0 to {self.n_times - 1}")
        if int(instants[0]) <= self._last_instant or (len(instants) > 1 and int(np.diff(instants).min()) <= 0):
            raise ValueError(f"{self.site}: instants must increase and be given once; call reset() to start again")
        return instants, measured


@dataclass(frozen=True, slots=True, eq=False)
class RealizationCounts:
    """Numbers of realizations at the assessed instants.

    Parameters
    ----------
    within : (n_assessed, n_replicates), within the tolerance at the instant.
    survivors : (n_assessed, n_replicates), within the tolerance at every instant assessed so far.
    accumulated : (n_assessed, n_replicates), the sum of `within` over the instants assessed so far.
    assessed : (n_assessed,), the number of these instants.
    """

    within: Integers
    survivors: Integers
    accumulated: Integers
    assessed: Integers


@dataclass(frozen=True, slots=True, eq=False)
class SiteUpdate:
    """Result of `SiteReliability.update`.

    Parameters
    ----------
    reliability : of the site; NaN at the instants that were not assessed.
    counts : the integers behind it, at the assessed instants.
    known : (n_instants,), which instants were assessed.
    """

    reliability: Reliability
    counts: RealizationCounts
    known: NDArray[np.bool_]


class SiteReliability:
    """Reliability of an ensemble at one site, against the replicates of its experiment.

    The integer counts do not depend on how the measurements are divided into blocks.

    Parameters
    ----------
    ensemble : the model.
    tolerance : allowable error.
    n_replicates : measurements at each instant.
    window : length of the windowed reliability in instants of the ensemble; 0: none.

    Raises
    ------
    ValueError : there is no replicate, the window is negative, or the shape of the tolerance does not match.
    """

    def __init__(self, ensemble: Ensemble, tolerance: Tolerance, n_replicates: int = 1, window: int = 0) -> None:
        self._validator = ReplicateValidator(ensemble.name, len(ensemble.time), n_replicates)
        tolerance.check_shape(ensemble.name, len(ensemble.time), n_replicates)
        if window < 0:
            raise ValueError(f"{ensemble.name}: window of {window} instants: must be zero or more")
        self.ensemble, self.tolerance, self.n_replicates = ensemble, tolerance, n_replicates
        # a longer window is never full and needs no more memory
        self.window = min(window, len(ensemble.time) + 1)
        self.reset()
        self.load_kernels()

    def load_kernels(self) -> None:
        """Load the kernels, or compile them, before the test."""
        self.update(np.zeros(1, dtype=np.int64), np.zeros((1, self.n_replicates)))
        self.reset()

    def reset(self) -> None:
        """Discard all samples."""
        self._validator.reset()
        size = self.ensemble.n_realizations, self.n_replicates
        self._first_passage = FirstPassageCounter(*size)
        self._accumulated = AccumulatedCounter(*size)
        self._windowed = AccumulatedCounter(*size, self.window) if self.window else None
        self._within: Integers = np.zeros(self.n_replicates, dtype=np.int64)
        self._first_instant: int | None = None

    def update(self, instants: Integers, measured: Samples) -> SiteUpdate:
        """Process measurements at consecutive instants.

        Parameters
        ----------
        instants : (n_instants,), rows of the ensemble, increasing, each given once.
        measured : (n_instants, n_replicates), in the unit of the ensemble. An instant at which one is not finite is
            not assessed: its reliabilities are NaN, and later instants ignore it.

        Raises
        ------
        ValueError : shapes do not match, or an instant is outside the ensemble.
        """
        instants, measured = self._validator.accept(instants, measured)
        known: NDArray[np.bool_] = np.asarray(np.isfinite(measured).all(axis=1))
        if known.all():
            return SiteUpdate(*self._assess(instants, measured), known)
        reliability, counts = self._assess(instants[known], measured[known])
        return SiteUpdate(reliability.reindexed(known), counts, known)

    def _assess(self, instants: Integers, measured: Samples) -> tuple[Reliability, RealizationCounts]:
        ensemble, m, n = self.ensemble, self.ensemble.n_realizations, self.n_replicates
        tolerance = np.ascontiguousarray(self.tolerance.evaluate(instants, measured))
        low, high = rank_intervals(ensemble, instants, measured, tolerance)
        within = high - low
        sums, squares = np.empty((2, len(low)), dtype=np.int64)
        sum_overlaps(low, high, sums, squares)
        once = np.full(len(low), n)
        instantaneous = estimate_curve(sums, squares, once, m)
        survivors, squares = self._first_passage.advance(ensemble, instants, measured, tolerance, low, high)
        first_passage = estimate_curve(survivors.sum(axis=1), squares, once, m)
        sums, squares, assessed = self._accumulated.advance(ensemble, instants, low, high)
        accumulated = estimate_curve(sums, squares, n * assessed, m)
        windowed = self._over_window(instants, low, high)
        totals = self._within + np.cumsum(within, axis=0)
        self._within = totals[-1] if len(totals) else self._within
        reliability = Reliability(instantaneous, first_passage, accumulated, windowed)
        return reliability, RealizationCounts(within, survivors, totals, assessed)

    def _over_window(self, instants: Integers, low: Integers, high: Integers) -> ReliabilityCurve:
        if self._windowed is None:
            unknown = np.full(len(instants), np.nan)
            return ReliabilityCurve(unknown, unknown)
        sums, squares, assessed = self._windowed.advance(self.ensemble, instants, low, high)
        curve = estimate_curve(sums, squares, self.n_replicates * assessed, self.ensemble.n_realizations)
        if self._first_instant is None and len(instants):
            self._first_instant = int(instants[0])
        filling = instants - (self._first_instant or 0) < self.window - 1
        for values in (curve.value, curve.standard_error):
            values[filling] = np.nan
        return curve


@kernel
def sum_overlaps(low: Integers, high: Integers, sums: Integers, squares: Integers) -> None:
    """Sum over the realizations the number of replicates they are within, and its square.

    The realizations within two replicates are those in the overlap of their rank intervals.
    """
    for i in range(low.shape[0]):
        sums[i] = squares[i] = 0
        for j in range(low.shape[1]):
            sums[i] += high[i, j] - low[i, j]
            for k in range(low.shape[1]):
                squares[i] += max(min(high[i, j], high[i, k]) - max(low[i, j], low[i, k]), 0)
