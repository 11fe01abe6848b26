"""An actuator's response as a regression: gain, delay and first-order lag of its command."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft

from sim.arrays import Samples, check_positive
from sim.laboratory.actuator import LONGEST

# what varies less than this share of the command, as a variance, is rounding
_STILL = 1e-12
# samples; of a shorter lag the first terms of its series are exact to a billionth
_SHORT = 1e-3
_STARTS = 4
# what is less alike, for this share, is no start: the fit would only fall back to a better one
_CORRELATION_TIE_RATIO = 0.7


@dataclass(frozen=True, eq=False)
class ActuatorResponse:
    """gain u(t - delay), where a first-order lag may smooth u.

    The command between its samples is a cubic spline, and the lag is that of the spline, exactly. The simulated
    actuator of `sim.laboratory` takes straight lines instead: its lag is found longer by dt^2/(12 lag), its delay
    shorter by as much. A delay and a lag can be separated only by a motion of several frequencies; without a lag the
    delay is both together.

    Parameters
    ----------
    command : (n_samples,), the whole record.
    dt : s.
    max_delay : s; a delay is sought up to it, a lead as well. So much of each end of the record is left out, where
        the command before or after is not known; with a lag three times as much.
    with_lag : fit the lag, too.
    every : only each so many of the samples is compared.

    Raises
    ------
    ValueError : a number is out of range, or the record is too short to leave anything.
    """

    command: Samples
    dt: float
    max_delay: float = 0.1
    with_lag: bool = False
    every: int = 1

    def __post_init__(self) -> None:
        check_positive("actuator", dt=self.dt)
        if self.every < 1:
            raise ValueError(f"actuator every {self.every}: must be 1 or more")
        if not 0.0 < self.max_delay <= LONGEST:
            raise ValueError(f"actuator max_delay {self.max_delay}: must be positive, {LONGEST} s at most")
        if len(self.command[self.rows]) < 16:
            n = len(self.command)
            raise ValueError(f"{n} samples are too few for a delay of up to {self.max_delay:g} s: seek a smaller one")

    @property
    def names(self) -> tuple[str, ...]:
        """gain (measured over command, of a slow motion), delay and lag [s]."""
        return ("gain", "delay", "lag") if self.with_lag else ("gain", "delay")

    @property
    def lower(self) -> Samples:
        """(p,)."""
        return np.array([-np.inf, -self.max_delay, 0.0])[: len(self.names)]

    @property
    def upper(self) -> Samples:
        """(p,)."""
        return np.array([np.inf, self.max_delay, self.max_delay])[: len(self.names)]

    @cached_property
    def rows(self) -> slice:
        """The samples that are compared."""
        edge = int(np.ceil(self.max_delay / self.dt)) + 1
        return slice(edge * (3 if self.with_lag else 1), max(len(self.command) - edge, 0), self.every)

    @property
    def time(self) -> Samples:
        """(n,) in s, of the samples that are compared, from the first of the record on."""
        return np.asarray(self.dt * np.arange(len(self.command))[self.rows], dtype=np.float64)

    @cached_property
    def _pieces(self) -> Samples:
        """(4, n_samples - 1), the derivatives 0 to 3 of the spline at each sample; a sample is the unit of time."""
        from scipy.interpolate import CubicSpline

        cubic, square, slope, value = CubicSpline(np.arange(len(self.command)), self.command).c
        return np.array([value, slope, 2.0 * square, 6.0 * cubic])

    def evaluate(self, parameters: Samples) -> tuple[Samples, Samples]:
        """Return the responses, (m, n), and their derivatives, (m, n, p)."""
        n = len(self.command[self.rows])
        response, sensitivities = np.empty((len(parameters), n)), np.empty((len(parameters), len(self.names), n))
        for i, (gain, delay, *lag) in enumerate(parameters.tolist()):
            # every instant lies in its piece as far from the beginning as all others
            whole = int(np.floor(-delay / self.dt))
            which = slice(self.rows.start + whole, self.rows.stop + whole, self.every)
            moved = lagged(self._pieces, lag[0] / self.dt if lag else 0.0, which, -delay / self.dt - whole)
            response[i] = gain * moved.value
            sensitivities[i, 0], sensitivities[i, 1] = moved.value, -gain / self.dt * moved.by_time
            if lag:
                sensitivities[i, 2] = gain / self.dt * moved.by_lag
        return response, sensitivities.transpose(0, 2, 1)

    def starts(self, measured: Samples) -> Samples:
        """Return (k, p) starts: the delays at which the measured signal, (n_samples,), is most alike the command.

        A motion that repeats itself has a minimum at every repetition, and with the sign turned one between any two.
        The fit is begun at those that are most alike, and at the shortest delay of each sign.
        """
        reach = int(self.max_delay / self.dt)
        alike = delay_correlation(self.command, measured, reach)
        places = peaks(np.abs(alike))
        places = places[np.abs(alike[places]) >= _CORRELATION_TIE_RATIO * np.abs(alike).max()]
        nearest = places[np.argsort(np.abs(places - reach), kind="stable")]
        of_each_sign = [nearest[np.sign(alike[nearest]) == sign][:1] for sign in (1.0, -1.0)]
        best = np.unique(np.concatenate([places[:_STARTS], *of_each_sign]))
        gain = alike[best] * float(measured.std() / max(self.command.std(), np.finfo(float).tiny))
        delay = self.dt * (best - reach)
        if not self.with_lag:
            return np.column_stack([gain, delay])
        # what is late is so by delay, or by lag
        lags = self.dt, 0.5 * self.max_delay
        return np.vstack([np.column_stack([gain, delay - lag, np.full(len(best), lag)]) for lag in lags])


def delay_correlation(command: Samples, measured: Samples, reach: int) -> Samples:
    """Return (2 reach + 1,): the correlation coefficients at delays of -reach to reach samples.

    The same samples of the measured signal, all but `reach` at each end, are compared with the command as it was
    so long before; each time with its own mean and size, so that the square is the share of the variance that a gain,
    an offset and this delay explain.

    Parameters
    ----------
    command, measured : (n_samples,).
    reach : samples, less than half of them.

    Raises
    ------
    ValueError : fewer than two samples are left.
    """
    n = len(command) - 2 * reach
    if reach < 0 or n < 2:
        raise ValueError(f"{len(command)} samples are too few for a delay of up to {reach} samples")
    reference = command - command.mean()
    kept = measured[reach : reach + n] - measured[reach : reach + n].mean()
    # the earliest segment of the command is first: the longest delay
    length = next_fast_len(len(command), real=True)
    products = irfft(rfft(reference, length) * rfft(kept, length).conj(), length)[2 * reach :: -1]
    sums, squares = (np.concatenate([[0.0], np.cumsum(reference**power)]) for power in (1, 2))
    sizes = ((squares[n:] - squares[:-n]) - (sums[n:] - sums[:-n]) ** 2 / n)[::-1]
    moving = sizes > _STILL * sizes.max()
    size = float(kept @ kept)
    found = np.zeros(2 * reach + 1)
    if size > 0.0:
        np.divide(products, np.sqrt(size * np.where(moving, sizes, 1.0)), out=found, where=moving)
    return found


def peaks(heights: Samples) -> NDArray[np.intp]:
    """Return where a curve is highest locally, the highest first; an end can be such a place."""
    padded = np.concatenate([[-np.inf], heights, [-np.inf]])
    places = np.flatnonzero((padded[1:-1] > padded[:-2]) & (padded[1:-1] >= padded[2:]))
    return np.asarray(places[np.argsort(-heights[places], kind="stable")])


@dataclass(frozen=True, slots=True, eq=False)
class _Lagged:
    """The lagged curve at some instants, (n,): its values, and their derivatives by time and by the lag."""

    value: Samples
    by_time: Samples
    by_lag: Samples


def lagged(pieces: Samples, lag: float, which: slice, within: float) -> _Lagged:
    """Return what a lag makes of a curve: z of `lag z' + z = u`, at rest on the curve's first value.

    Parameters
    ----------
    pieces : (4, n), the derivatives 0 to 3 of the curve at the beginning of each piece; a sample is the unit of time.
    lag : samples, zero or more.
    which : pieces in which values are wanted.
    within : samples from the beginning of each of them on, 0 to 1.
    """
    here = pieces[:, which]
    # Taylor's series, the derivatives so much later
    one, two, three = within, within**2 / 2.0, within**3 / 6.0
    shift = np.array([[1.0, one, two, three], [0.0, 1.0, one, two], [0.0, 0.0, 1.0, one], [0.0, 0.0, 0.0, 1.0]])
    value, slope, bend, third = shift @ here
    if lag < _SHORT:
        # what is left of a corner between pieces is gone sooner than any sample sees it
        z = value - lag * slope + lag**2 * bend - lag**3 * third
        return _Lagged(z, slope - lag * bend + lag**2 * third, -slope + 2.0 * lag * bend - 3.0 * lag**2 * third)
    from scipy.signal import lfilter

    whole = _transition(lag, 1.0)
    forcing = whole[:, 2:] @ pieces
    decay = [1.0, -whole[1, 1]]
    z = lfilter([1.0], decay, np.append(pieces[0, 0], forcing[1, :-1]))
    scaled = lfilter([1.0], decay, np.append(0.0, whole[0, 1] * z[:-1] + forcing[0, :-1]))
    part = _transition(lag, within)
    scaled, z = part[:, :2] @ np.array([scaled[which], z[which]]) + part[:, 2:] @ here
    return _Lagged(z, (value - z) / lag, scaled / lag)


def _transition(lag: float, time: float) -> Samples:
    """Return (2, 6): lag dz/dlag and z after a time, from both and the curve's derivatives before it."""
    from scipy.linalg import expm

    rate = np.diag(np.array([0.0, 0.0, 1.0, 1.0, 1.0]), 1)
    rate[0, :3] = np.array([-1.0, 1.0, -1.0]) / lag
    rate[1, :3] = np.array([0.0, -1.0, 1.0]) / lag
    return np.asarray(expm(time * rate)[:2], dtype=np.float64)
