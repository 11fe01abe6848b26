"""Diagnostics of an actuator's fit: warnings, notes and suggestions, as text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from monitor.messages.blocks import Channel, Samples, units_differ
from replay.identification.actuator_regression import (
    ActuatorRegression,
    ChosenFit,
    enough_for,
    frozen_samples,
    lag_is_identifiable,
    lag_is_significant,
)
from sim.fitting.actuator_response import ActuatorResponse, delay_correlation
from sim.fitting.fit import Fit
from sim.laboratory.actuator import LONGEST

# an actuator's gain is near one where command and measured signal have one unit
_LARGEST_GAIN = 30.0
# below it, the command is not what moved the specimen
_LEAST_EXPLAINED = 0.5
_DOUBTFUL = 0.01
# s; overcompensation leads by less
_LONG_LEAD = 0.005
# standard errors
_CERTAIN = 4.0
# of the measured signal; less left is rounding
_ROUNDING = 1e-9


def warnings_of(chosen: ChosenFit, explained: float, channels: tuple[Channel, Channel]) -> tuple[str, ...]:
    """Return the reasons not to trust the estimates, a line each.

    Parameters
    ----------
    chosen : the fit.
    explained : fraction of the variance of the measured signal.
    channels : command and measured.
    """
    fitted, actuator, measured = chosen.fit, chosen.regression.actuator, chosen.regression.measured
    return (
        *_no_lag(chosen.why_no_lag),
        *(_at_bound(name, actuator) for name in fitted.bounded),
        *_alternatives(fitted, chosen.alternatives),
        *_unidentified(fitted),
        *_gain(fitted.of("gain"), channels),
        *_lead(chosen),
        *_beyond(explained, actuator, measured),
        *_unexplained(fitted, explained),
        *_frozen(actuator, measured),
    )


def notes_on(chosen: ChosenFit, n_samples: int, unit: str) -> tuple[str, ...]:
    """Return the assumptions, the results of the residual checks, and options that would reduce the residuals.

    Parameters
    ----------
    n_samples : of the record.
    unit : of the measured signal.
    """
    notes, fitted, regression = [], chosen.fit, chosen.regression
    n_segment, n_compared = len(regression.measured), len(regression.observed)
    if n_segment < n_samples:
        notes.append(f"only the longest segment without a gap is fitted: {n_segment} of {n_samples} samples")
    if regression.every > 1:
        notes.append(f"a long record: every {regression.every}-th sample is compared")
    elif n_compared < 0.5 * n_segment:
        times = "three times that " if regression.with_lag else ""
        notes.append(
            f"{n_compared} of {n_segment} samples are compared: --max-delay is left out at the end, and {times}"
            "at the beginning; a smaller one leaves more"
        )
    if fitted.sigma <= _ROUNDING * float(regression.observed.std()):
        notes.append("residuals are rounding errors: the measured signal is the command, or computed from it")
        return tuple(notes)
    notes += fitted.checks.doubts(_DOUBTFUL)
    if np.isnan(fitted.correlated_covariance).all():
        notes.append("no standard errors: the residuals are autocorrelated over much of the record")
    if fitted.checks.independence < _DOUBTFUL:
        notes += suggestions(chosen, unit)
    return tuple(notes)


def _no_lag(why: str) -> Iterator[str]:
    if why:
        yield f"lag: {why}; the fit without a lag is shown: its delay includes the lag, its ± are for no lag"


def _lead(chosen: ChosenFit) -> Iterator[str]:
    fitted, place = chosen.fit, chosen.fit.names.index("delay")
    delay, error = fitted.of("delay"), np.fmax(fitted.standard_errors, fitted.correlated_standard_errors)[place]
    # in a periodic motion a lead may be a delay of nearly a cycle
    late = any(each[0] > 0.0 and each[place] > 0.0 for each in chosen.alternatives)
    if delay + _CERTAIN * np.nan_to_num(error) < -max(_LONG_LEAD, chosen.regression.dt) and not late:
        yield f"a lead of {-1e3 * delay:.4g} ms: an actuator is late; are command and measured signal swapped?"


def _at_bound(name: str, actuator: ActuatorResponse) -> str:
    return (
        f"{name}: at the bound of the search, its standard error is unknown; give a --max-delay of "
        f"more than {actuator.max_delay:g}"
    )


def _alternatives(fitted: Fit, alternatives: Samples) -> Iterator[str]:
    # if delay and lag cannot be separated, other pairs of them are no alternatives
    if len(alternatives) and not fitted.unidentified:
        gain, delay = fitted.names.index("gain"), fitted.names.index("delay")
        others = ", ".join(f"{1e3 * each[delay]:.4g} ms (gain {each[gain]:.3g})" for each in alternatives)
        yield f"the motion is periodic, other delays fit as well: {others}; shown is the shortest of positive gain"


def _unidentified(fitted: Fit) -> Iterator[str]:
    if fitted.unidentified:
        names = " and ".join(fitted.unidentified)
        yield f"{names} cannot be separated with this record: that needs a longer motion of the command"


def _gain(gain: float, channels: tuple[Channel, Channel]) -> Iterator[str]:
    if gain < 0.0:
        yield "the gain is negative: one of the two channels has the wrong sign, or the delay is half a cycle off"
    if not units_differ(*channels) and not 1.0 / _LARGEST_GAIN < abs(gain) < _LARGEST_GAIN:
        yield f"a gain of {gain:.3g}: are command and measured signal in the same unit?"


def _beyond(explained: float, actuator: ActuatorResponse, measured: Samples) -> Iterator[str]:
    """Warn if the two signals are much more correlated at a delay beyond the search range."""
    near = int(actuator.max_delay / actuator.dt)
    reach = min(int(LONGEST / actuator.dt), len(measured) // 4)
    if reach <= near:
        return
    correlation = delay_correlation(actuator.command, measured, reach)
    correlation[reach - near : reach + near + 1] = 0.0
    best = int(np.argmax(np.abs(correlation)))
    delay, share = (best - reach) * actuator.dt, float(correlation[best]) ** 2
    if share > _LEAST_EXPLAINED and 1.0 - share < 0.5 * (1.0 - explained):
        yield f"the correlation is higher at a delay of {1e3 * delay:.4g} ms: give a --max-delay of more than that"


def _unexplained(fitted: Fit, explained: float) -> Iterator[str]:
    if explained < _LEAST_EXPLAINED and fitted.checks.independence < _DOUBTFUL:
        share = f"{100.0 * max(explained, 0.0):.2g} %"
        yield f"only {share} of the measured variance is explained: another cause, or a wrong channel"


def _frozen(actuator: ActuatorResponse, measured: Samples) -> Iterator[str]:
    reach = int(np.ceil(actuator.max_delay / actuator.dt))
    frozen = frozen_samples(actuator.command, measured, reach)
    if frozen:
        yield f"the measured signal is constant for {frozen * actuator.dt:.3g} s while the command moves"


# an additional parameter must reduce the residuals below this fraction
_IMPROVEMENT = 0.8


def suggestions(chosen: ChosenFit, unit: str) -> Iterator[str]:
    """Return the options that would reduce the residuals of a fit.

    Parameters
    ----------
    chosen : the fit, inside.
    unit : of the measured signal.
    """
    regression, found = chosen.regression, chosen.fit
    at, n_drift = found.parameters[: len(regression.actuator.names)], regression.n_drift
    if n_drift < 2:
        more = replace(regression, n_drift=2)
        trial = _tried(more, at[None])
        if trial.sigma < _IMPROVEMENT * found.sigma:
            yield _words("a drift", "--drift 2", found.sigma, trial.sigma, unit)
    n, dt, max_delay = len(regression.command), regression.dt, regression.max_delay
    if regression.with_lag or chosen.why_no_lag or not enough_for(n, max_delay, dt, with_lag=True):
        return
    more = replace(regression, with_lag=True)
    # few samples are fitted by any model
    if len(more.observed) < 0.5 * len(regression.observed) or not lag_is_identifiable(more, found):
        return
    lags = np.array([0.2, 0.6]) * max(found.of("delay"), 2.0 * dt)
    gain, delay = at
    trial = _tried(more, np.column_stack([np.full(2, gain), delay - lags, lags]))
    before = float(np.sqrt(more.sum_of_squares_without_lag(trial) / trial.degrees_of_freedom))
    if trial.converged and trial.sigma < _IMPROVEMENT * before and lag_is_significant(more, trial):
        yield _words("a lag", "--lag", before, trial.sigma, unit)


def _tried(regression: ActuatorRegression, starts: Samples) -> Fit:
    return regression.fitted(np.hstack([starts, np.zeros((len(starts), regression.n_drift))]))[0]


def _words(what: str, option: str, before: float, after: float, unit: str) -> str:
    return (
        f"{what} is missing: with {option} the residuals fall from {before:.2g} to {f'{after:.2g} {unit}'.rstrip()}"
    )
