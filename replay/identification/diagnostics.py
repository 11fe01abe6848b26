"""What a reader of an actuator's fit must be told, in words."""

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
from sim.actuator import LONGEST
from sim.identification.actuator_response import ActuatorResponse, delay_correlation
from sim.identification.fit import Fit

# an actuator's gain is near one where command and measured signal have one unit
_LARGEST_GAIN = 30.0
# what leaves more of the variance unexplained is not what moved the specimen
_LEAST_EXPLAINED = 0.5
_DOUBTFUL = 0.01
# s; a controller that compensates for too much leads by less
_LONG_LEAD = 0.005
# standard errors
_CERTAIN = 4.0
# of the measured signal; less left is rounding
_ROUNDING = 1e-9


def warnings_of(chosen: ChosenFit, explained: float, channels: tuple[Channel, Channel]) -> tuple[str, ...]:
    """Return why not to trust the estimates.

    Parameters
    ----------
    chosen : the fit.
    explained : the share of the variance.
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
    """Return what was taken for granted, what the residuals say, and what would make them smaller.

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
        notes.append("only rounding is left: the measured signal is the command itself, or was made from it")
        return tuple(notes)
    notes += fitted.checks.doubts(_DOUBTFUL)
    if np.isnan(fitted.correlated_covariance).all():
        notes.append("no standard errors: the residuals are autocorrelated over much of the record")
    if fitted.checks.independence < _DOUBTFUL:
        notes += suggestions(chosen, unit)
    return tuple(notes)


def _no_lag(why: str) -> Iterator[str]:
    if why:
        yield f"lag: {why}; given is the fit without, whose delay is both together and whose ± hold if there is none"


def _lead(chosen: ChosenFit) -> Iterator[str]:
    fitted, place = chosen.fit, chosen.fit.names.index("delay")
    delay, error = fitted.of("delay"), np.fmax(fitted.standard_errors, fitted.correlated_standard_errors)[place]
    # of a motion that repeats itself a lead may be a delay of nearly a cycle
    late = any(each[0] > 0.0 and each[place] > 0.0 for each in chosen.alternatives)
    if delay + _CERTAIN * np.nan_to_num(error) < -max(_LONG_LEAD, chosen.regression.dt) and not late:
        yield f"a lead of {-1e3 * delay:.4g} ms: an actuator is late; are command and measured signal swapped?"


def _at_bound(name: str, actuator: ActuatorResponse) -> str:
    return (
        f"{name}: stands at the end of what was searched, and its standard error is not known; give a --max-delay of "
        f"more than {actuator.max_delay:g}"
    )


def _alternatives(fitted: Fit, alternatives: Samples) -> Iterator[str]:
    # where the data do not tell delay and lag apart, a different pair of them says nothing
    if len(alternatives) and not fitted.unidentified:
        gain, delay = fitted.names.index("gain"), fitted.names.index("delay")
        others = ", ".join(f"{1e3 * each[delay]:.4g} ms (gain {each[gain]:.3g})" for each in alternatives)
        yield f"the motion repeats itself, other delays fit as well: {others}; given is the shortest of positive gain"


def _unidentified(fitted: Fit) -> Iterator[str]:
    if fitted.unidentified:
        names = " and ".join(fitted.unidentified)
        yield f"the record does not tell {names} apart: that needs a command that moves for longer"


def _gain(gain: float, channels: tuple[Channel, Channel]) -> Iterator[str]:
    if gain < 0.0:
        yield "the gain is negative: one of the two channels has its sign turned, or the delay is half a cycle off"
    if not units_differ(*channels) and not 1.0 / _LARGEST_GAIN < abs(gain) < _LARGEST_GAIN:
        yield f"a gain of {gain:.3g}: are command and measured signal in one unit?"


def _beyond(explained: float, actuator: ActuatorResponse, measured: Samples) -> Iterator[str]:
    """Say where, beyond the delays that were searched, the two signals are much more alike."""
    near = int(actuator.max_delay / actuator.dt)
    reach = min(int(LONGEST / actuator.dt), len(measured) // 4)
    if reach <= near:
        return
    alike = delay_correlation(actuator.command, measured, reach)
    alike[reach - near : reach + near + 1] = 0.0
    best = int(np.argmax(np.abs(alike)))
    delay, share = (best - reach) * actuator.dt, float(alike[best]) ** 2
    if share > _LEAST_EXPLAINED and 1.0 - share < 0.5 * (1.0 - explained):
        yield f"at a delay of {1e3 * delay:.4g} ms the two are more alike: give a --max-delay of more than that"


def _unexplained(fitted: Fit, explained: float) -> Iterator[str]:
    if explained < _LEAST_EXPLAINED and fitted.checks.independence < _DOUBTFUL:
        share = f"{100.0 * max(explained, 0.0):.2g} %"
        yield f"only {share} of the measured variance is explained: something else moves it, or it is another channel"


def _frozen(actuator: ActuatorResponse, measured: Samples) -> Iterator[str]:
    reach = int(np.ceil(actuator.max_delay / actuator.dt))
    frozen = frozen_samples(actuator.command, measured, reach)
    if frozen:
        yield f"the measured signal stands still for {frozen * actuator.dt:.3g} s while the command moves"


# what is left must fall by more than this factor for a parameter more to be worth it
_CURE = 0.8


def suggestions(chosen: ChosenFit, unit: str) -> Iterator[str]:
    """Say which option would make what is left by a fit smaller.

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
        if trial.sigma < _CURE * found.sigma:
            yield _words("a drift", "--drift 2", found.sigma, trial.sigma, unit)
    n, dt, max_delay = len(regression.command), regression.dt, regression.max_delay
    if regression.with_lag or chosen.why_no_lag or not enough_for(n, max_delay, dt, with_lag=True):
        return
    more = replace(regression, with_lag=True)
    # few samples are explained by anything
    if len(more.observed) < 0.5 * len(regression.observed) or not lag_is_identifiable(more, found):
        return
    lags = np.array([0.2, 0.6]) * max(found.of("delay"), 2.0 * dt)
    gain, delay = at
    trial = _tried(more, np.column_stack([np.full(2, gain), delay - lags, lags]))
    before = float(np.sqrt(more.sum_of_squares_without_lag(trial) / trial.degrees_of_freedom))
    if trial.converged and trial.sigma < _CURE * before and lag_is_significant(more, trial):
        yield _words("a lag", "--lag", before, trial.sigma, unit)


def _tried(regression: ActuatorRegression, starts: Samples) -> Fit:
    return regression.fitted(np.hstack([starts, np.zeros((len(starts), regression.n_drift))]))[0]


def _words(what: str, option: str, before: float, after: float, unit: str) -> str:
    return (
        f"{what} is missing: with {option} what is left falls from {before:.2g} to {f'{after:.2g} {unit}'.rstrip()}"
    )
