"""A recorded run -> what its actuators make of their commands: gain, delay and lag, fitted."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from monitor.blocks import Pair, Samples
from replay.ensembles import Progress, silent
from replay.formats import Recording
from replay.identification_doubts import notes_on, warnings_of
from replay.identification_record import fitted_stretch
from sim.actuator import LONGEST
from sim.identification.actuator_response import ActuatorResponse
from sim.identification.fit import Fit, fit
from sim.identification.regression import PolynomialDiscrepancy, Regression

# more do not make the estimates better by anything that matters
_MOST_ROWS = 100_000
# sums of squares that differ by less than this share, and so many errors' worth, are as good as each other
_AS_GOOD, _ERRORS = 0.01, 10.0
# a gain of fewer standard errors is none; many delays are tried, so that two or three come by chance
_FEWEST_ERRORS = 4.0


@dataclass(frozen=True, slots=True, eq=False)
class ActuatorFit:
    """One actuator.

    Parameters
    ----------
    pair : its channels.
    fit : of gain (measured over command), delay and lag [s], and the polynomial beside.
    rivals : (n_rivals, p), parameters that fit as well, of a motion that repeats itself.
    compared, left_out : samples; left out are those without an unbroken record around them.
    explained : the share of the measured signal's variance.
    warnings : why not to trust the estimates.
    notes : what was taken for granted, and what the residuals say.
    """

    pair: Pair
    fit: Fit
    rivals: Samples
    compared: int
    left_out: int
    explained: float
    warnings: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def standard_errors(self) -> Samples:
        """(p,), for errors that hang together over time; NaN at a bound, or where the record is too short to tell.

        Not less than for white errors: where one event of the record says all, stretches do not tell its scatter.
        """
        return np.maximum(np.sqrt(np.diag(self.fit.correlated_covariance)), self.fit.standard_errors)


@dataclass(frozen=True, slots=True)
class Identified:
    """What was found of a recording: the actuators that could be fitted; why the others could not, a line each."""

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
    max_delay : s, up to which a delay (or a lead) is sought.
    with_lag : fit a first-order lag beside the delay.
    n_drift : terms of the polynomial in time that stands for what the actuator does not explain: 1 for an offset.
    progress : told how many actuators are done.

    Raises
    ------
    ValueError : the recording has no command and measured pair, or a number is out of range.
    """
    pairs = recording.stream.pairs
    if not pairs:
        raise ValueError("the recording has no command and measured channels: name them with --command, --measured")
    if not 0.0 < max_delay <= LONGEST:
        raise ValueError(f"max_delay {max_delay}: must be positive, {LONGEST} s at most")
    if not 0 <= n_drift <= 6:
        raise ValueError(f"drift {n_drift}: give the terms of the polynomial, 0 to 6")
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


def _identify(recording: Recording, pair: Pair, max_delay: float, with_lag: bool, n_drift: int) -> ActuatorFit:
    dt = 1.0 / recording.stream.sample_rate
    command, measured, left_out = fitted_stretch(recording, pair, max_delay, with_lag)
    every = -(-len(command) // _MOST_ROWS)
    actuator = ActuatorResponse(command, dt, max_delay, with_lag, every)
    observed = measured[actuator.rows]
    begin = actuator.starts(measured)
    # the polynomial's first term takes the mean
    offset = np.zeros((len(begin), n_drift))
    offset[:, :1] = observed.mean()
    model = PolynomialDiscrepancy(actuator, actuator.time, n_drift)
    fitted, rivals = chosen_and_rivals(model, observed, fit(model, observed, np.hstack([begin, offset])))
    _refuse_what_does_not_follow(fitted, max_delay)
    explained = 1.0 - fitted.sum_of_squares / float(np.sum((observed - observed.mean()) ** 2))
    channels = recording.stream.channels[pair.command], recording.stream.channels[pair.measured]
    warnings = warnings_of(fitted, rivals, explained, actuator, measured, channels)
    notes = notes_on(fitted, observed, every, len(command), recording.n_samples)
    return ActuatorFit(pair, fitted, rivals, len(observed), left_out, explained, warnings, notes)


def chosen_and_rivals(model: Regression, observed: Samples, best: Fit) -> tuple[Fit, Samples]:
    """Return the fit to give among those as good as the least, and the parameters of the others, (n_rivals, p).

    It is that with a gain over zero and the shortest delay. One that came to rest stands for a start that stalled
    beside it, where rounding hides the last steps.
    """
    limit = (1.0 + _AS_GOOD + _ERRORS / len(observed)) * best.sum_of_squares + 1e-20 * float(observed @ observed)
    equal = best.minima_at[np.asarray(best.minima) <= limit]
    if not len(equal):
        return best, equal
    gain, delay = equal[:, best.names.index("gain")], equal[:, best.names.index("delay")]
    order = np.lexsort((np.abs(delay), gain <= 0.0))
    chosen, rivals = equal[order[0]], equal[order[1:]]
    if best.converged and np.array_equal(chosen, best.parameters):
        return best, rivals
    again = fit(model, observed, chosen)
    return replace(again, minima=best.minima, minima_at=best.minima_at), rivals


def _refuse_what_does_not_follow(fitted: Fit, max_delay: float) -> None:
    place = fitted.names.index("gain")
    gain, white = fitted.of("gain"), float(fitted.standard_errors[place])
    error = float(np.fmax(white, np.sqrt(fitted.correlated_covariance[place, place])))
    # an infinite one says that the gain is not determined, which is another matter
    if np.isfinite(error) and not abs(gain) > _FEWEST_ERRORS * error:
        raise ValueError(
            f"the measured signal does not follow the command, its gain is {gain:.2g} ± {error:.2g}: a dead channel, "
            f"a wrong column, or a delay of more than {max_delay:g} s (--max-delay)"
        )
