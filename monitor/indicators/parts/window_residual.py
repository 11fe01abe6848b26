"""The residual of a window, for indicators that evaluate it from Python."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monitor.indicators.parts.residual import fit_delayed, scatter_of_sums, take_gain
from monitor.messages.blocks import Samples


class Residual(NamedTuple):
    """What `fit_delayed` fills in and returns, for a caller in Python; ``later``, ``rest`` and ``bent`` are (n,)."""

    later: Samples
    rest: Samples
    bent: Samples
    start: int
    stop: int
    share: float
    drift: float
    gain: float

    def with_gain(self, gain: float) -> Residual:
        """Return what is left by another gain, see `take_gain`."""
        rest = self.rest.copy()
        take_gain(self.later[self.start : self.stop], rest[self.start : self.stop], self.gain, gain)
        return self._replace(rest=rest, gain=gain)


def residual_of(c: Samples, m: Samples, lag: float) -> Residual:
    """Return what no delay near `lag` and no gain of the command explains in measured, (n,) each."""
    later, slope, rest, bent = np.empty((4, len(c)))
    return Residual(later, rest, bent, *fit_delayed(c, m, lag, later, slope, rest, bent))


def scatter(weight: Samples, left: Residual) -> float:
    """Return the standard deviation of a weighted sum of measured, (n,) weights."""
    return scatter_of_sums(weight, weight, left.rest, left.bent, left.start, left.stop)[0]
