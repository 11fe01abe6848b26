"""Several validation sites at once: as a product of theirs, or jointly over common realizations."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from monitor.kernel import kernel
from monitor.messages.blocks import Samples
from monitor.reliability.curves import Curve, Reliability
from monitor.reliability.ensemble import Ensemble
from monitor.reliability.measurements import ReplicateValidator
from monitor.reliability.ranks import Integers
from monitor.reliability.shares import share
from monitor.reliability.tolerance import Tolerance


def product(sites: Sequence[Reliability]) -> Reliability:
    """Return the reliability at all sites if they know nothing of each other (eq. 9, 21 and 28).

    The sum over all combinations of replicates is the product of the sites' means over their own. The standard
    error is that of a product of independent estimates, each of an ensemble of its own.

    Raises
    ------
    ValueError : there is no site, or the sites differ in instants.
    """
    lengths = sorted({len(site) for site in sites})
    if len(lengths) != 1:
        raise ValueError(f"sites with {lengths} instants have no product: give one or more, of the same instants")
    return Reliability(*(_product(curves) for curves in zip(*(site.curves for site in sites), strict=True)))


def _product(curves: Sequence[Curve]) -> Curve:
    value, variance = np.ones(len(curves[0].value)), np.zeros(len(curves[0].value))
    for curve in curves:
        # one after the other, so that no large number is taken from another
        square = curve.standard_error**2
        variance = variance * (curve.value**2 + square) + value**2 * square
        value = value * curve.value
    return Curve(value, np.sqrt(variance))


_MOST_COMBINATIONS = 1 << 31


class JointReliability:
    """Several sites whose realizations are the same model's: realization k here is realization k there.

    Eq. 7-8, 20 and 27: a realization counts when it is within the tolerance at every site. Each sample scans the
    ensembles, as there is no order that all sites share. There is no windowed form.

    Parameters
    ----------
    ensembles, tolerances, n_replicates : one a site.

    Raises
    ------
    ValueError : there is no site, the sites differ in realizations or instants, there is no replicate, or a
        tolerance does not fit.
    """

    def __init__(
        self, ensembles: Sequence[Ensemble], tolerances: Sequence[Tolerance], n_replicates: Sequence[int]
    ) -> None:
        if not len(ensembles) == len(tolerances) == len(n_replicates) > 0:
            raise ValueError(
                f"{len(ensembles)} ensembles, {len(tolerances)} tolerances and {len(n_replicates)} numbers of "
                "replicates: give one of each for every site"
            )
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
        self._intakes = [
            ReplicateValidator(e.name, len(e.time), n) for e, n in zip(ensembles, n_replicates, strict=True)
        ]
        for tolerance, intake in zip(tolerances, self._intakes, strict=True):
            tolerance.check_fit(intake)
        self._combinations = prod(n_replicates)
        if self._combinations > _MOST_COMBINATIONS:
            raise ValueError(f"{self._combinations} combinations of replicates are too many to count: give fewer")
        self.reset()

    def reset(self) -> None:
        """Forget every sample."""
        for intake in self._intakes:
            intake.reset()
        m = self._ensembles[0].n_realizations
        self._alive = [np.ones((intake.n_replicates, m), dtype=np.uint8) for intake in self._intakes]
        self._hits: Integers = np.zeros(m, dtype=np.int64)
        self._judged = 0

    def update(self, instants: Integers, measured: Sequence[Samples]) -> Reliability:
        """Take measurements at instants that follow each other, (n_instants, n_replicates) from each site.

        An instant at which one is not finite is not judged, see `SiteReliability.update`.

        Raises
        ------
        ValueError : a site is missing, shapes do not fit, or an instant lies outside the ensembles.
        """
        if len(measured) != len(self._intakes):
            raise ValueError(f"measurements of {len(measured)} sites: there are {len(self._intakes)}")
        for intake, samples in zip(self._intakes, measured, strict=True):
            # all before any is taken: a call that is refused leaves nothing behind
            intake.check(instants, samples)
        taken = [intake.take(instants, samples) for intake, samples in zip(self._intakes, measured, strict=True)]
        known = np.all([np.isfinite(samples).all(axis=1) for _, samples in taken], axis=0)
        rows = np.flatnonzero(known)
        # squares of products of counts go beyond what an integer holds
        totals: Samples = np.zeros((3, 2, len(rows)))
        trials = np.arange(1, len(rows) + 1) + self._judged
        m = len(self._hits)
        for place, row in enumerate(rows.tolist()):
            within: Integers = np.ones(m, dtype=np.int64)
            survived = np.ones_like(within)
            for site, (places, samples) in enumerate(taken):
                self._scan(site, places[row : row + 1], samples[row : row + 1], within, survived)
            self._hits += within
            for kind, counts in enumerate((within, survived, self._hits)):
                real = counts.astype(np.float64)
                totals[kind, :, place] = real.sum(), real @ real
        self._judged += len(rows)
        n = self._combinations
        every = np.full(len(rows), n)
        instantaneous, first_passage, accumulated = (
            share(totals[kind, 0], totals[kind, 1], each, m).at(known)
            for kind, each in enumerate((every, every, n * trials))
        )
        unknown = np.full(len(known), np.nan)
        return Reliability(instantaneous, first_passage, accumulated, Curve(unknown, unknown))

    def _scan(self, site: int, instant: Integers, measured: Samples, within: Integers, survived: Integers) -> None:
        response = self._ensembles[site].response[instant[0]]
        tolerance = self._tolerances[site].at(instant, measured)
        _scan(response, measured[0], tolerance[0], self._alive[site], within, survived)


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
