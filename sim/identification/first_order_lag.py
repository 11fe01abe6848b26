"""A first-order lag of a curve that is a cubic between any two samples: exact, and with its derivatives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sim.arrays import Samples

# samples; of a shorter lag the first terms of its series are exact to a billionth
_SHORT = 1e-3


@dataclass(frozen=True, slots=True, eq=False)
class Lagged:
    """The lagged curve at some instants, (n,): its values, and their derivatives by time and by the lag."""

    value: Samples
    by_time: Samples
    by_lag: Samples


def lagged(pieces: Samples, lag: float, which: slice, within: float) -> Lagged:
    """Return what a lag makes of a curve: z of `lag z' + z = u`, at rest on the curve's first value.

    Parameters
    ----------
    pieces : (4, n), the derivatives 0 to 3 of the curve at the beginning of each piece; a sample is the unit of time.
    lag : samples, zero or more.
    which : pieces in which values are wanted.
    within : samples from the beginning of each of them on, 0 to 1.
    """
    here = pieces[:, which]
    value, slope, bend, third = _shift(within) @ here
    if lag < _SHORT:
        # what is left of a corner between pieces is gone sooner than any sample sees it
        z = value - lag * slope + lag**2 * bend - lag**3 * third
        return Lagged(z, slope - lag * bend + lag**2 * third, -slope + 2.0 * lag * bend - 3.0 * lag**2 * third)
    from scipy.signal import lfilter

    whole = _transition(lag, 1.0)
    forcing = whole[:, 2:] @ pieces
    decay = [1.0, -whole[1, 1]]
    z = lfilter([1.0], decay, np.append(pieces[0, 0], forcing[1, :-1]))
    scaled = lfilter([1.0], decay, np.append(0.0, whole[0, 1] * z[:-1] + forcing[0, :-1]))
    part = _transition(lag, within)
    scaled, z = part[:, :2] @ np.array([scaled[which], z[which]]) + part[:, 2:] @ here
    return Lagged(z, (value - z) / lag, scaled / lag)


def _shift(within: float) -> Samples:
    """Return (4, 4): Taylor's series, the derivatives so much later."""
    one, two, three = within, within**2 / 2.0, within**3 / 6.0
    return np.array([[1.0, one, two, three], [0.0, 1.0, one, two], [0.0, 0.0, 1.0, one], [0.0, 0.0, 0.0, 1.0]])


def _transition(lag: float, time: float) -> Samples:
    """Return (2, 6): lag dz/dlag and z after a time, from both and the curve's derivatives before it."""
    from scipy.linalg import expm

    rate = np.diag(np.array([0.0, 0.0, 1.0, 1.0, 1.0]), 1)
    rate[0, :3] = np.array([-1.0, 1.0, -1.0]) / lag
    rate[1, :3] = np.array([0.0, -1.0, 1.0]) / lag
    return np.asarray(expm(time * rate)[:2], dtype=np.float64)
