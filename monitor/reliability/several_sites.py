"""Several validation sites at once: as a product of theirs, or jointly over common realizations."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from monitor.blocks import Samples
from monitor.kernel import kernel
from monitor.reliability.curves import Curve, Reliability, share
from monitor.reliability.ensemble import Ensemble
from monitor.reliability.ranks import Integers
from monitor.reliability.tolerance import Tolerance


def product(sites: Sequence[Reliability]) -> Reliability:
    """Return the reliability at all sites if they know nothing of each other (eq. 9, 21 and 28).

    The sum over all combinations of replicates is the product of the sites' means over their own. The standard
    error is that of a product of independent estimates, each of an ensemble of its own.
    """
    return Reliability(*(_product(curves) for curves in zip(*(site.curves for site in sites), strict=True)))


def _product(curves: Sequence[Curve]) -> Curve:
    value = np.prod([curve.value for curve in curves], axis=0)
    squares = np.prod([curve.value**2 + curve.standard_error**2 for curve in curves], axis=0)
    return Curve(value, np.sqrt(np.maximum(squares - value**2, 0.0)))


class JointReliability:
    """Several sites whose realizations are the same model's: realization k here is realization k there.

    Eq. 7-8, 20 and 27: a realization counts when it is within the tolerance at every site. Each sample scans the
    ensembles, as there is no order that all sites share. There is no windowed form.

    Parameters
    ----------
    ensembles, tolerances, n_replicates : one a site.

    Raises
    ------
    ValueError : the sites differ in realizations or instants.
    """

    def __init__(
        self, ensembles: Sequence[Ensemble], tolerances: Sequence[Tolerance], n_replicates: Sequence[int]
    ) -> None:
        first = ensembles[0]
        for other in ensembles[1:]:
            if other.n_realizations != first.n_realizations:
                raise ValueError(
                    f"{first.name} has {first.n_realizations} realizations, {other.name} {other.n_realizations}: "
                    "a joint reliability needs the same ones at every site"
                )
            if len(other.time) != len(first.time):
                raise ValueError(f"{first.name} has {len(first.time)} instants, {other.name} {len(other.time)}")
        self._ensembles, self._tolerances = tuple(ensembles), tuple(tolerances)
        self._combinations = prod(n_replicates)
        m = first.n_realizations
        self._alive = [np.ones((n, m), dtype=np.uint8) for n in n_replicates]
        self._hits: Integers = np.zeros(m, dtype=np.int64)
        self._judged = 0

    def update(self, instants: Integers, measured: Sequence[Samples]) -> Reliability:
        """Take measurements at instants that follow each other, (n_instants, n_replicates) from each site.

        An instant at which one is not finite is not judged, see `SiteReliability.update`.
        """
        known = np.all([np.isfinite(samples).all(axis=1) for samples in measured], axis=0)
        rows = np.flatnonzero(known)
        totals: Integers = np.zeros((3, 2, len(rows)), dtype=np.int64)
        trials = np.arange(1, len(rows) + 1) + self._judged
        m = len(self._hits)
        for place, row in enumerate(rows.tolist()):
            within: Integers = np.ones(m, dtype=np.int64)
            survived = np.ones_like(within)
            for site, samples in enumerate(measured):
                self._scan(site, int(instants[row]), samples[row : row + 1], within, survived)
            self._hits += within
            for kind, counts in enumerate((within, survived, self._hits)):
                totals[kind, :, place] = counts.sum(), counts @ counts
        self._judged += len(rows)
        n = self._combinations
        every = np.full(len(rows), n)
        instantaneous, first_passage, accumulated = (
            share(totals[kind, 0], totals[kind, 1], each, m).at(known)
            for kind, each in enumerate((every, every, n * trials))
        )
        unknown = np.full(len(known), np.nan)
        return Reliability(instantaneous, first_passage, accumulated, Curve(unknown, unknown))

    def _scan(self, site: int, instant: int, measured: Samples, within: Integers, survived: Integers) -> None:
        measured = np.ascontiguousarray(measured, dtype=np.float64)
        tolerance = np.ascontiguousarray(self._tolerances[site].at(np.array([instant]), measured))
        _scan(self._ensembles[site].response[instant], measured[0], tolerance[0], self._alive[site], within, survived)


@kernel
def _scan(
    response: Samples,
    measured: Samples,
    tolerance: Samples,
    alive: NDArray[np.uint8],
    within: Integers,
    survived: Integers,
) -> None:
    """Multiply what is counted so far with the replicates of this site that each realization is within."""
    for k in range(len(response)):
        now, ever = 0, 0
        for j in range(len(measured)):
            if np.abs(response[k] - measured[j]) < tolerance[j]:
                now += 1
                ever += alive[j, k]
            else:
                alive[j, k] = 0
        within[k] *= now
        survived[k] *= ever
