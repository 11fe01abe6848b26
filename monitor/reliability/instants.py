"""Which samples of a stream stand at the instants of an ensemble."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from monitor.reliability.ensemble import Ensemble
from monitor.reliability.ranks import Integers

# of the smaller step: what the two may drift apart from the first instant to the last
_LARGEST_DRIFT = 0.5
_LARGEST_RATIO = 100_000
# samples between the rig's start and the ensemble's: beyond it a float does not count one by one
_FARTHEST = 1 << 53


@dataclass(frozen=True, slots=True)
class Instants:
    """Sample ``origin + k * samples`` stands at instant ``k * steps``; one of the two is 1.

    Parameters
    ----------
    origin : number of the sample at the first instant; negative where it came before the stream's first.
    samples, steps : samples from one judged instant to the next, and instants of the ensemble.
    n_times : instants that the ensemble has.
    offset : s that the instants are after their samples, where that is most, at the first or at the last: half a
        sample at the most, and half of what the two drift apart.
    """

    origin: int
    samples: int
    steps: int
    n_times: int
    offset: float = 0.0

    def within(self, first: int, n: int) -> tuple[Integers, Integers]:
        """Return, of samples `first` to `first + n`, the numbers of those that are judged, and their instants."""
        low = max(0, -(-(first - self.origin) // self.samples))
        high = min(self.n_judged - 1, (first + n - 1 - self.origin) // self.samples)
        counted = np.arange(low, high + 1, dtype=np.int64)
        return self.origin + counted * self.samples, counted * self.steps

    @property
    def n_judged(self) -> int:
        """How many instants stand at a sample."""
        return (self.n_times - 1) // self.steps + 1

    @property
    def end(self) -> int:
        """The number of the sample from which on the ensemble says nothing."""
        return self.origin + self.n_judged * self.samples


def instants_of(ensemble: Ensemble, sample_rate: float, start: float, shift: float) -> Instants:
    """Return where an ensemble's instants are in a stream.

    Parameters
    ----------
    ensemble : with equal steps.
    sample_rate : Hz, of the stream.
    start : s from the stream's sample 0 to the ensemble's time 0.
    shift : s that the stream is read later.

    Raises
    ------
    ValueError : the ensemble's steps are not equal, the steps of one are no whole number of the other's, or the
        start is too far away.
    """
    ratio = ensemble.dt * sample_rate
    whole = Fraction(0)
    if 1.0 / _LARGEST_RATIO <= ratio <= _LARGEST_RATIO:
        whole = Fraction(round(ratio)) if ratio >= 1.0 else Fraction(1, round(1.0 / ratio))
    # in samples, over the whole ensemble
    drift = (ratio - float(whole)) * (len(ensemble.time) - 1)
    if not whole or abs(drift) > _LARGEST_DRIFT * min(1.0, float(whole)):
        raise ValueError(
            f"{ensemble.name} has an instant every {ensemble.dt:g} s, the stream a sample every "
            f"{1.0 / sample_rate:g} s: neither is a whole number of the other; make the ensemble fit the stream"
        )
    begins = (start + shift + float(ensemble.time[0])) * sample_rate
    if not abs(begins) < _FARTHEST:
        raise ValueError(f"{ensemble.name} begins {begins:.3g} samples from the rig's start: give a nearer start")
    # the nearest in the middle, so that neither end is far off
    origin = round(begins + 0.5 * drift)
    at_first = begins - origin
    offset = max(at_first, at_first + drift, key=abs) / sample_rate
    return Instants(origin, whole.numerator, whole.denominator, len(ensemble.time), offset)
