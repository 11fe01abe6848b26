"""Identification of the actuators of a recorded run: gain, delay and lag."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from monitor.messages.blocks import Channel, Pair, Samples, units_differ
from replay import Progress, silent
from replay.formats import Recording
from replay.identification.actuator_regression import (
    ActuatorRegression,
    ChosenFit,
    enough_for,
    fit_lag_if_present,
    fitted_segment,
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


def warnings_of(chosen: ChosenFit, explained: float, channels: tuple[Channel, Channel]) -> Iterator[str]:
    """Yield the reasons not to trust the estimates, a line each.

    Parameters
    ----------
    chosen : the fit.
    explained : fraction of the variance of the measured signal.
    channels : command and measured.
    """
    fitted, actuator, measured = chosen.fit, chosen.regression.actuator, chosen.regression.measured
    place, gain, delay = fitted.names.index("delay"), fitted.of("gain"), fitted.of("delay")
    if chosen.why_no_lag:
        yield (
            f"lag: {chosen.why_no_lag}; the fit without a lag is shown: its delay includes the lag, its ± are for no "
            "lag"
        )
    for name in fitted.bounded:
        yield (
            f"{name}: at the bound of the search, its standard error is unknown; give a --max-delay of "
            f"more than {actuator.max_delay:g}"
        )
    # if delay and lag cannot be separated, other pairs of them are no alternatives
    if len(chosen.alternatives) and not fitted.unidentified:
        at_gain = fitted.names.index("gain")
        others = ", ".join(f"{1e3 * each[place]:.4g} ms (gain {each[at_gain]:.3g})" for each in chosen.alternatives)
        yield f"the motion is periodic, other delays fit as well: {others}; shown is the shortest of positive gain"
    if fitted.unidentified:
        names = " and ".join(fitted.unidentified)
        yield f"{names} cannot be separated with this record: that needs a longer motion of the command"
    if gain < 0.0:
        yield "the gain is negative: one of the two channels has the wrong sign, or the delay is half a cycle off"
    if not units_differ(*channels) and not 1.0 / _LARGEST_GAIN < abs(gain) < _LARGEST_GAIN:
        yield f"a gain of {gain:.3g}: are command and measured signal in the same unit?"
    error = np.fmax(fitted.standard_errors, fitted.correlated_standard_errors)[place]
    # in a periodic motion a lead may be a delay of nearly a cycle
    late = any(each[0] > 0.0 and each[place] > 0.0 for each in chosen.alternatives)
    if delay + _CERTAIN * np.nan_to_num(error) < -max(_LONG_LEAD, chosen.regression.dt) and not late:
        yield f"a lead of {-1e3 * delay:.4g} ms: an actuator is late; are command and measured signal swapped?"
    yield from _beyond(explained, actuator, measured)
    if explained < _LEAST_EXPLAINED and fitted.checks.independence < _DOUBTFUL:
        share = f"{100.0 * max(explained, 0.0):.2g} %"
        yield f"only {share} of the measured variance is explained: another cause, or a wrong channel"
    frozen = frozen_samples(actuator.command, measured, int(np.ceil(actuator.max_delay / actuator.dt)))
    if frozen:
        yield f"the measured signal is constant for {frozen * actuator.dt:.3g} s while the command moves"


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


# a gain of fewer standard errors is zero; many delays are tried, so that two or three occur by chance
_FEWEST_ERRORS = 4.0


@dataclass(frozen=True, slots=True, eq=False)
class ActuatorFit:
    """The fit of one actuator.

    Parameters
    ----------
    pair : its channels.
    fit : of gain (measured over command), delay and lag [s], and a polynomial in s from the start of the record.
    alternatives : (n_alternatives, p), gain, delay and lag that fit as well, for a periodic motion.
    compared, left_out : samples; left out are those without an unbroken record around them.
    explained : fraction of the variance of the measured signal.
    warnings : reasons not to trust the estimates.
    notes : assumptions and results of the residual checks.
    undetermined : requested parameters that the record does not determine.
    """

    pair: Pair
    fit: Fit
    alternatives: Samples
    compared: int
    left_out: int
    explained: float
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    undetermined: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Identified:
    """Fits of the actuators of a recording, and an error message for each that could not be fitted."""

    fits: tuple[ActuatorFit, ...]
    problems: tuple[str, ...]


def identify(
    recording: Recording,
    *,
    max_delay: float = 0.1,
    with_lag: bool = False,
    n_drift: int = 1,
    progress: Progress = silent,
) -> Identified:
    """Fit every actuator of a recording.

    Parameters
    ----------
    max_delay : s, largest delay or lead that is searched.
    with_lag : fit a first-order lag as well, if the record shows one.
    n_drift : terms of the polynomial in time that is added to the response: 1 for an offset.
    progress : receives the number of actuators done.

    Raises
    ------
    ValueError : the recording has no command and measured pair, or a number is out of range.
    """
    pairs = recording.stream.pairs
    if not pairs:
        raise ValueError("the recording has no command and measured channels: name them with --command, --measured")
    check_settings(max_delay, n_drift)
    found, problems = [], []
    for done, pair in enumerate(pairs):
        progress("actuators", done, len(pairs))
        try:
            found.append(_identify(recording, pair, max_delay, with_lag, n_drift))
        except ValueError as problem:
            names = (recording.stream.channels[channel].name for channel in (pair.command, pair.measured))
            problems.append(f"{' -> '.join(names)}: {problem}")
    progress("actuators", len(pairs), len(pairs))
    return Identified(tuple(found), tuple(problems))


def check_settings(max_delay: float, n_drift: int) -> None:
    """Raise ValueError if a number is out of range."""
    if not 0.0 < max_delay <= LONGEST:
        raise ValueError(f"max_delay {max_delay}: must be positive, {LONGEST} s at most")
    if not 0 <= n_drift <= 6:
        raise ValueError(f"drift {n_drift}: give the terms of the polynomial, 0 to 6")


def _identify(recording: Recording, pair: Pair, max_delay: float, with_lag: bool, n_drift: int) -> ActuatorFit:
    segment = fitted_segment(recording, pair, max_delay, with_lag)
    command, measured = np.ascontiguousarray(segment.samples.T)
    dt = 1.0 / recording.stream.sample_rate
    plain = ActuatorRegression(command, measured, segment.start, dt, max_delay, False, n_drift)
    chosen = ChosenFit(plain, *plain.fitted())
    # without a lag: with one, a single frequency leaves the gain undetermined
    _check_fit(chosen.fit, max_delay)
    if with_lag:
        chosen = fit_lag_if_present(chosen)
    regression, observed = chosen.regression, chosen.regression.observed
    explained = 1.0 - chosen.fit.sum_of_squares / float(np.sum((observed - observed.mean()) ** 2))
    channels = recording.stream.channels[pair.command], recording.stream.channels[pair.measured]
    return ActuatorFit(
        pair,
        regression.in_record_units(chosen.fit),
        chosen.alternatives,
        len(observed),
        segment.left_out,
        explained,
        tuple(warnings_of(chosen, explained, channels)),
        notes_on(chosen, recording.n_samples, channels[1].unit),
        ("lag",) if chosen.why_no_lag else (),
    )


def _check_fit(fitted: Fit, max_delay: float) -> None:
    """Raise ValueError if the estimates are meaningless."""
    if not fitted.converged:
        raise ValueError("the fit did not converge")
    place = fitted.names.index("gain")
    # for white errors if there is none for correlated ones
    gain, errors = fitted.of("gain"), (fitted.standard_errors, fitted.correlated_standard_errors)
    error = float(np.fmax(*(each[place] for each in errors)))
    # infinite: the gain is undetermined, which is reported elsewhere
    if np.isfinite(error) and not abs(gain) > _FEWEST_ERRORS * error:
        raise ValueError(
            f"the measured signal does not follow the command, its gain is {gain:.2g} ± {error:.2g}: a dead channel, "
            f"a wrong column, or a delay of more than {max_delay:g} s (--max-delay)"
        )
