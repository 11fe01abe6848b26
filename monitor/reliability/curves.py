"""Reliability over time with its Monte-Carlo standard error, of one site and as a product over several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monitor.kernel import kernel
from monitor.messages.blocks import Samples
from monitor.reliability.ensemble import Integers

NAMES = ("instantaneous", "first_passage", "accumulated", "windowed")


@dataclass(frozen=True, slots=True, eq=False)
class ReliabilityCurve:
    """One reliability over time.

    Parameters
    ----------
    value : (n_instants,), a probability; NaN where it is not known.
    standard_error : (n_instants,), of the value, due to the finite number of realizations; the scatter of the
        replicates is not included. Zero where all realizations agree; NaN for a single realization.
    """

    value: Samples
    standard_error: Samples

    def reindexed(self, known: NDArray[np.bool_]) -> ReliabilityCurve:
        """Return the curve with its values at the instants that are `known`, (n,), and NaN at the others."""
        filled = np.full((2, len(known)), np.nan)
        filled[:, known] = self.value, self.standard_error
        return ReliabilityCurve(*filled)

    def sliced(self, first: int, last: int) -> ReliabilityCurve:
        """Return the instants `first` to `last`, without `last`."""
        return ReliabilityCurve(self.value[first:last], self.standard_error[first:last])


@dataclass(frozen=True, slots=True, eq=False)
class Reliability:
    """The reliabilities of a model at consecutive instants.

    Parameters
    ----------
    instantaneous, first_passage, accumulated : eq. 6, 19 and 26.
    windowed : accumulated over the assessed instants of the last window; NaN until the window is full.
    """

    instantaneous: ReliabilityCurve
    first_passage: ReliabilityCurve
    accumulated: ReliabilityCurve
    windowed: ReliabilityCurve

    @property
    def curves(self) -> tuple[ReliabilityCurve, ReliabilityCurve, ReliabilityCurve, ReliabilityCurve]:
        """In the order of `NAMES`."""
        return self.instantaneous, self.first_passage, self.accumulated, self.windowed

    def reindexed(self, known: NDArray[np.bool_]) -> Reliability:
        """Return all curves reindexed, see `ReliabilityCurve.reindexed`."""
        return Reliability(*(curve.reindexed(known) for curve in self.curves))

    def sliced(self, first: int, last: int) -> Reliability:
        """Return all curves sliced, see `ReliabilityCurve.sliced`."""
        return Reliability(*(curve.sliced(first, last) for curve in self.curves))

    def final_values(self) -> dict[str, tuple[float, float]]:
        """Return each value and its standard error, by name, at the last assessed instant; NaN if there is none."""
        known = np.flatnonzero(np.isfinite(self.instantaneous.value))
        if not len(known):
            return dict.fromkeys(NAMES, (float("nan"), float("nan")))
        end = int(known[-1])
        pairs = [(float(curve.value[end]), float(curve.standard_error[end])) for curve in self.curves]
        return dict(zip(NAMES, pairs, strict=True))

    def __len__(self) -> int:
        return len(self.instantaneous.value)


def product_of_sites(sites: Sequence[Reliability]) -> Reliability:
    """Return the reliability at all sites if the sites are independent (eq. 9, 21 and 28).

    The sum over all combinations of replicates is the product of the means of the sites. The standard error is that
    of a product of independent estimates, one ensemble per site.

    Raises
    ------
    ValueError : there is no site, or the sites differ in instants.
    """
    lengths = sorted({len(site) for site in sites})
    if len(lengths) != 1:
        raise ValueError(f"sites with {lengths} instants have no product: give one or more, of the same instants")
    return Reliability(*(_product(curves) for curves in zip(*(site.curves for site in sites), strict=True)))


def _product(curves: Sequence[ReliabilityCurve]) -> ReliabilityCurve:
    value, variance = np.ones(len(curves[0].value)), np.zeros(len(curves[0].value))
    for curve in curves:
        # a recursion without differences of large numbers
        square = curve.standard_error**2
        variance = variance * (curve.value**2 + square) + value**2 * square
        value = value * curve.value
    return ReliabilityCurve(value, np.sqrt(variance))


def estimate_curve(
    counts: Integers | Samples, squares: Integers | Samples, trials: Integers, n_realizations: int
) -> ReliabilityCurve:
    """Return the mean fraction of successes and its Monte-Carlo standard error.

    Parameters
    ----------
    counts, squares : (n_instants,), the sums over the realizations of c and of c^2, where c is the number of
        successes of a realization. Realizations are independent of each other; the trials of one are not. Floating
        point where the squares exceed an integer.
    trials : (n_instants,), of each realization.
    n_realizations : of the ensemble.
    """
    value = np.empty(len(counts))
    error = np.empty(len(counts))
    estimate(counts, squares, trials, n_realizations, value, error)
    return ReliabilityCurve(value, error)


@kernel
def estimate(
    counts: Integers | Samples, squares: Integers | Samples, trials: Integers, m: int, value: Samples, error: Samples
) -> None:
    """Write what `estimate_curve` returns."""
    for i in range(len(counts)):
        # of c, whose mean square and squared mean are integers where all realizations agree
        mean = counts[i] / m
        spread = max(squares[i] / m - mean * mean, 0.0)
        value[i] = mean / trials[i]
        error[i] = np.sqrt(spread / (m - 1)) / trials[i] if m > 1 else np.nan
