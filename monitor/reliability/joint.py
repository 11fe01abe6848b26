"""Joint reliability at several sites whose realizations come from the same runs of the model."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from monitor.kernel import kernel
from monitor.messages.blocks import Samples
from monitor.reliability.curves import Reliability, ReliabilityCurve, estimate_curve
from monitor.reliability.ensemble import Ensemble, Flags, Integers
from monitor.reliability.site import ReplicateValidator
from monitor.reliability.tolerance import Tolerance

_MAX_COMBINATIONS = 1 << 31


class JointReliability:
    """Reliability at all sites at once, where realization k of one site is realization k of the others.

    Eq. 7-8, 20 and 27: a realization counts when it is within the tolerance at every site. Each sample scans the
    ensembles, as no sorted order is common to all sites. There is no windowed form.

    Parameters
    ----------
    ensembles, tolerances, n_replicates : one for each site.

    Raises
    ------
    ValueError : there is no site, the sites differ in realizations or instants, there is no replicate, or the shape
        of a tolerance does not match.
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
        self._validators = [
            ReplicateValidator(e.name, len(e.time), n) for e, n in zip(ensembles, n_replicates, strict=True)
        ]
        for tolerance, each in zip(tolerances, self._validators, strict=True):
            tolerance.check_shape(each.site, each.n_times, each.n_replicates)
        self._combinations = prod(n_replicates)
        if self._combinations > _MAX_COMBINATIONS:
            raise ValueError(f"{self._combinations} combinations of replicates are too many to count: give fewer")
        self.reset()

    def reset(self) -> None:
        """Discard all samples."""
        for validator in self._validators:
            validator.reset()
        m = self._ensembles[0].n_realizations
        self._alive = [np.ones((each.n_replicates, m), dtype=np.uint8) for each in self._validators]
        self._hits: Integers = np.zeros(m, dtype=np.int64)
        self._assessed = 0

    def update(self, instants: Integers, measured: Sequence[Samples]) -> Reliability:
        """Process measurements at consecutive instants, (n_instants, n_replicates) for each site.

        An instant at which one is not finite is not assessed, see `SiteReliability.update`.

        Raises
        ------
        ValueError : a site is missing, shapes do not match, or an instant is outside the ensembles.
        """
        if len(measured) != len(self._validators):
            raise ValueError(f"measurements of {len(measured)} sites: there are {len(self._validators)}")
        pairs = list(zip(self._validators, measured, strict=True))
        for validator, samples in pairs:
            # all are checked before one is accepted: a rejected call changes nothing
            validator.check(instants, samples)
        accepted = [validator.accept(instants, samples) for validator, samples in pairs]
        known = np.all([np.isfinite(samples).all(axis=1) for _, samples in accepted], axis=0)
        rows = np.flatnonzero(known)
        # squares of products of counts exceed an integer
        totals: Samples = np.zeros((3, 2, len(rows)))
        trials = np.arange(1, len(rows) + 1) + self._assessed
        m = len(self._hits)
        for place, row in enumerate(rows.tolist()):
            within: Integers = np.ones(m, dtype=np.int64)
            survived = np.ones_like(within)
            for site, (places, samples) in enumerate(accepted):
                self._scan(site, places[row : row + 1], samples[row : row + 1], within, survived)
            self._hits += within
            for kind, counts in enumerate((within, survived, self._hits)):
                real = counts.astype(np.float64)
                totals[kind, :, place] = real.sum(), real @ real
        self._assessed += len(rows)
        n = self._combinations
        once = np.full(len(rows), n)
        instantaneous, first_passage, accumulated = (
            estimate_curve(totals[kind, 0], totals[kind, 1], each, m).reindexed(known)
            for kind, each in enumerate((once, once, n * trials))
        )
        unknown = np.full(len(known), np.nan)
        return Reliability(instantaneous, first_passage, accumulated, ReliabilityCurve(unknown, unknown))

    def _scan(self, site: int, instant: Integers, measured: Samples, within: Integers, survived: Integers) -> None:
        response = self._ensembles[site].response[instant[0]]
        tolerance = self._tolerances[site].evaluate(instant, measured)
        _scan(response, measured[0], tolerance[0], self._alive[site], within, survived)


@kernel
def _scan(
    response: Samples,
    measured: Samples,
    tolerance: Samples,
    alive: Flags,
    within: Integers,
    survived: Integers,
) -> None:
    """Multiply the counts so far by the number of replicates of this site that each realization is within."""
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
