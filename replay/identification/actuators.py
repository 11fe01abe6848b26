"""Identification of the actuators of a recorded run: gain, delay and lag."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from monitor.messages.blocks import Pair, Samples
from replay import Progress, silent
from replay.formats import Recording
from replay.identification.actuator_regression import (
    ActuatorRegression,
    ChosenFit,
    fit_lag_if_present,
    fitted_segment,
)
from replay.identification.diagnostics import notes_on, warnings_of
from sim.fitting.fit import Fit
from sim.laboratory.actuator import LONGEST

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
        warnings_of(chosen, explained, channels),
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
