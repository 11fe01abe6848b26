"""The regression that an actuator is fitted by, with a lag or without, and the choice between the two."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from monitor.messages.blocks import Pair, Samples
from replay.formats import Recording
from replay.formats.parts import GapFreeSegment, longest_gap_free_segment
from sim.fitting.actuator_response import ActuatorResponse
from sim.fitting.fit import Fit, fit, reparameterized
from sim.fitting.least_squares import minimize
from sim.fitting.regression import PolynomialDiscrepancy, Regression

# a signal that varies by less than this fraction of its largest value is constant, but for rounding
_STILL = 1e-12
_FAINTEST = 1e-50
# samples of a segment, and of those that are left to compare
_FEWEST, _COMPARED = 32, 24


def enough_for(n: int, max_delay: float, dt: float, with_lag: bool) -> bool:
    """Return whether a segment of n samples leaves enough to compare; with a lag four times max_delay is left out."""
    return max_delay <= _longest_delay(n, dt, with_lag)


def _longest_delay(n: int, dt: float, with_lag: bool) -> float:
    # the initial state of a lag decays in three times as long
    return (n - _COMPARED) * dt / (4.0 if with_lag else 2.0)


def fitted_segment(recording: Recording, pair: Pair, max_delay: float, with_lag: bool) -> GapFreeSegment:
    """Return the longest segment without a gap.

    Raises
    ------
    ValueError : there are too few samples, or one of the two is constant.
    """
    segment = longest_gap_free_segment(recording, pair)
    n, dt = len(segment.samples), 1.0 / recording.stream.sample_rate
    if n < _FEWEST:
        raise ValueError(
            f"the longest segment of numbers without a gap has {n} of {recording.n_samples} samples: "
            f"a fit needs {_FEWEST}"
        )
    if not enough_for(n, max_delay, dt, with_lag):
        advised = min(_longest_delay(n, dt, with_lag), 0.5 * n * dt / (4.0 if with_lag else 2.0))
        digit = 10.0 ** (math.floor(math.log10(advised)) - 1)
        otherwise = ", or leave --lag out" if with_lag and enough_for(n, max_delay, dt, False) else ""
        raise ValueError(
            f"{n * dt:.3g} s without a gap are too short to seek a delay of up to {max_delay:g} s"
            f"{' and a lag' if with_lag else ''}: give "
            f"--max-delay {math.floor(advised / digit) * digit:.2g} or less{otherwise}"
        )
    for name, signal in zip(("command", "measured signal"), segment.samples.T, strict=True):
        if np.ptp(signal) <= max(_STILL * float(np.abs(signal).max()), _FAINTEST):
            raise ValueError(f"the {name} is constant, {signal[0] + 0.0:.4g}: a dead channel, or a wrong column")
    return segment


def frozen_samples(command: Samples, measured: Samples, reach: int) -> int:
    """Return for how many samples the measured signal keeps one value while the command crosses half of its range.

    Parameters
    ----------
    reach : samples at each end of such a time in which the command may move: the delay.
    """
    changes = np.concatenate([[0], np.flatnonzero(np.diff(measured)) + 1, [len(measured)]])
    lengths = np.diff(changes)
    half = 0.5 * float(np.ptp(command))
    longest = 0
    for i in np.flatnonzero(lengths > 2 * reach + 1).tolist():
        within = command[changes[i] + reach : changes[i + 1] - reach]
        if float(np.ptp(within)) > half:
            longest = max(longest, int(lengths[i]))
    return longest


# more do not make the estimates better by anything that matters
_MOST_ROWS = 100_000
# sums of squares that differ by less than this fraction, and so many standard errors, are equally good
_AS_GOOD, _ERRORS = 0.01, 10.0


@dataclass(frozen=True, eq=False)
class ActuatorRegression:
    """The model that is fitted to a segment of a record: an actuator, plus a polynomial in time.

    Command and measured signal are used without their means, for which an offset accounts, and the time of the
    polynomial runs from -1 to 1: a large offset causes no rounding errors.

    Parameters
    ----------
    command, measured : (n_samples,), the segment.
    start : samples, of the segment in the record.
    dt, max_delay : s.
    with_lag : whether a first-order lag is fitted.
    n_drift : terms of the polynomial.
    """

    command: Samples
    measured: Samples
    start: int
    dt: float
    max_delay: float
    with_lag: bool
    n_drift: int

    @cached_property
    def _means(self) -> tuple[float, float]:
        return (float(self.command.mean()), float(self.measured.mean())) if self.n_drift else (0.0, 0.0)

    @property
    def every(self) -> int:
        """Each so many of the samples is compared."""
        return -(-len(self.command) // _MOST_ROWS)

    @cached_property
    def actuator(self) -> ActuatorResponse:
        """The actuator alone, of the command without its mean."""
        return ActuatorResponse(self.command - self._means[0], self.dt, self.max_delay, self.with_lag, self.every)

    @cached_property
    def observed(self) -> Samples:
        """(n,), what is compared, without the mean of the segment."""
        return np.asarray(self.measured[self.actuator.rows] - self._means[1])

    @cached_property
    def _time(self) -> tuple[float, float]:
        """Middle and half the length of the compared samples, in s from the start of the record."""
        time = self.actuator.time + self.dt * self.start
        return 0.5 * float(time[0] + time[-1]), 0.5 * float(time[-1] - time[0])

    @cached_property
    def model(self) -> PolynomialDiscrepancy:
        """The actuator and the polynomial."""
        middle, half = self._time
        time = self.actuator.time + self.dt * self.start
        return PolynomialDiscrepancy(self.actuator, (time - middle) / half, self.n_drift)

    def fitted(self, starts: Samples | None = None) -> tuple[Fit, Samples]:
        """Return the best fit, inside, and the parameters of others that are as good, (n_alternatives, p).

        Parameters
        ----------
        starts : (k, p); by default those of the highest correlation.
        """
        if starts is None:
            starts = self.actuator.starts(self.measured)
            starts = np.hstack([starts, np.zeros((len(starts), self.n_drift))])
        return select_fit(self.model, self.observed, fit(self.model, self.observed, starts))

    def in_record_units(self, found: Fit) -> Fit:
        """Return the fit with offset and drift in the units of the record, from its start."""
        p = len(self.actuator.names)
        matrix, shift = np.eye(p + self.n_drift), np.zeros(p + self.n_drift)
        middle, half = self._time
        for power in range(self.n_drift):
            term = np.polynomial.polynomial.polypow([-middle / half, 1.0 / half], power)
            matrix[p : p + power + 1, p + power] = term
        if self.n_drift:
            matrix[p, self.model.names.index("gain")] = -self._means[0]
            shift[p] = self._means[1]
        return reparameterized(found, matrix, shift)

    def sum_of_squares_without_lag(self, found: Fit) -> float:
        """Return the least sum of squares over the same samples if the lag is held at zero."""
        lag, delay = (self.model.names.index(name) for name in ("lag", "delay"))
        start, upper = found.parameters[None].copy(), self.model.upper.copy()
        start[0, delay] += start[0, lag]
        upper[lag] = 0.0
        return float(minimize(self.model, self.observed[None], start, upper=upper).sum_of_squares[0])


def select_fit(model: Regression, observed: Samples, best: Fit) -> tuple[Fit, Samples]:
    """Return the fit to give among those as good as the least, and the parameters of the others, (n_alternatives, p).

    It is that with a positive gain and the shortest delay. A converged start replaces one that stalled near it, where
    rounding hides the last steps.
    """
    limit = (1.0 + _AS_GOOD + _ERRORS / len(observed)) * best.sum_of_squares + 1e-20 * float(observed @ observed)
    equal = best.minima_at[np.asarray(best.minima) <= limit]
    if not len(equal):
        return best, equal
    gain, delay = equal[:, best.names.index("gain")], equal[:, best.names.index("delay")]
    order = np.lexsort((np.abs(delay), gain <= 0.0))
    chosen, alternatives = equal[order[0]], equal[order[1:]]
    if best.converged and np.array_equal(chosen, best.parameters):
        return best, alternatives
    again = fit(model, observed, chosen)
    return replace(again, minima=best.minima, minima_at=best.minima_at), alternatives


# what a lag does, less what gain, delay and drift do as well, as a share of its square: of one frequency rounding
_LEAST_OF_ITS_OWN = 1e-7
# the lag at which that is checked: s, and a share of max_delay, so that the record's beginning is forgotten
_TRIED, _TRIED_SHARE = 0.01, 0.1
# a lag takes away so many times the variance of the errors; by chance, with one parameter, once in 370
_LEAST_GAIN = 9.0


@dataclass(frozen=True, slots=True, eq=False)
class ChosenFit:
    """A fit, inside, of one of two regressions.

    Parameters
    ----------
    alternatives : (n_alternatives, p), parameters that fit as well.
    why_no_lag : where one was asked for, and is not given.
    """

    regression: ActuatorRegression
    fit: Fit
    alternatives: Samples
    why_no_lag: str = ""


def fit_lag_if_present(plain: ChosenFit) -> ChosenFit:
    """Return the fit with a lag if the record shows one, else the one without, and why."""
    regression = replace(plain.regression, with_lag=True)
    if not lag_is_identifiable(regression, plain.fit):
        return replace(plain, why_no_lag="the motion has a single frequency: delay and lag cannot be separated")
    found, alternatives = regression.fitted()
    if not found.converged:
        return replace(plain, why_no_lag="the search for one found no end")
    if not lag_is_significant(regression, found):
        return replace(plain, why_no_lag="none is seen: with one the fit is no better")
    return ChosenFit(regression, found, alternatives)


def lag_is_identifiable(regression: ActuatorRegression, plain: Fit) -> bool:
    """Return whether a lag does what gain, delay and drift do not do as well: a matter of the motion.

    Parameters
    ----------
    regression : with a lag.
    plain : the fit without.
    """
    most, (gain, delay) = regression.max_delay, plain.parameters[:2]
    lag = min(_TRIED, _TRIED_SHARE * most)
    at = np.array([[gain, np.clip(delay - lag, -most, most), lag, *plain.parameters[2:]]])
    effects = regression.model.evaluate(at)[1][0]
    effects = effects / np.linalg.norm(effects, axis=0)
    others, own = np.delete(effects, 2, axis=1), effects[:, 2]
    weights = np.linalg.lstsq(others.T @ others, others.T @ own, rcond=None)[0]
    return bool(np.sum((own - others @ weights) ** 2) > _LEAST_OF_ITS_OWN)


def lag_is_significant(regression: ActuatorRegression, found: Fit) -> bool:
    """Return whether a fit with a lag is better than without one by more than chance."""
    place = found.names.index("lag")
    variance = found.sigma**2
    white, correlated = found.covariance[place, place], found.correlated_covariance[place, place]
    # with autocorrelated errors a lag is more often found where there is none
    if np.isfinite(white) and correlated > white:
        variance *= correlated / white
    return regression.sum_of_squares_without_lag(found) - found.sum_of_squares > _LEAST_GAIN * variance
