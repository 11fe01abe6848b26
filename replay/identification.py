"""A recorded run -> what its actuators make of their commands: gain, delay and lag, fitted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from monitor.blocks import Pair, Samples
from replay.ensembles import Progress, silent
from replay.formats import Recording
from replay.whole_record import longest_stretch
from sim.identification.actuator_response import ActuatorResponse
from sim.identification.fit import Fit, fit
from sim.identification.regression import PolynomialDiscrepancy

# more do not make the estimates better by anything that matters
_MOST_ROWS = 100_000


@dataclass(frozen=True, slots=True, eq=False)
class ActuatorFit:
    """One actuator.

    Parameters
    ----------
    pair : its channels.
    fit : of gain (measured over command), delay and lag [s], and the polynomial beside.
    compared, left_out : samples; left out are those without an unbroken record around them.
    explained : the share of the measured signal's variance.
    notes : what was taken for granted, and what the residuals say.
    """

    pair: Pair
    fit: Fit
    compared: int
    left_out: int
    explained: float
    notes: tuple[str, ...]

    @property
    def standard_errors(self) -> Samples:
        """(p,), for errors that hang together over time; NaN where the record is too short to tell."""
        return np.asarray(np.sqrt(np.diag(self.fit.correlated_covariance)))


def identify(
    recording: Recording,
    *,
    max_delay: float = 0.1,
    with_lag: bool = False,
    n_drift: int = 1,
    progress: Progress = silent,
) -> tuple[ActuatorFit, ...]:
    """Fit every actuator of a recording.

    Parameters
    ----------
    max_delay : s, up to which a delay (or a lead) is sought.
    with_lag : fit a first-order lag beside the delay.
    n_drift : terms of the polynomial in time that stands for what the actuator does not explain: 1 for an offset.
    progress : told which actuator is done.

    Raises
    ------
    ValueError : the recording has no command and measured pair, or too few samples, or a number is out of range.
    """
    pairs = recording.stream.pairs
    if not pairs:
        raise ValueError("the recording has no command and measured channels: name them with --command, --measured")
    if not 0 <= n_drift <= 6:
        raise ValueError(f"drift {n_drift}: give the terms of the polynomial, 0 to 6")
    found = []
    for pair in pairs:
        found.append(_identify(recording, pair, max_delay, with_lag, n_drift))
        progress("actuators", len(found), len(pairs))
    return tuple(found)


def _identify(recording: Recording, pair: Pair, max_delay: float, with_lag: bool, n_drift: int) -> ActuatorFit:
    both, left_out = longest_stretch(recording, pair)
    command, measured = np.ascontiguousarray(both.T)
    if not len(command) or not np.ptp(command) > 0.0:
        raise ValueError(f"actuator {pair.actuator}: the command stands still, or has no samples that are numbers")
    dt = 1.0 / recording.stream.sample_rate
    every = -(-len(command) // _MOST_ROWS)
    actuator = ActuatorResponse(command, dt, max_delay, with_lag, every)
    observed = measured[actuator.rows]
    begin = actuator.starts(measured)
    if not len(begin):
        raise ValueError(f"actuator {pair.actuator}: command and measured signal have nothing to do with each other")
    # the polynomial's first term takes the mean
    offset = np.zeros((len(begin), n_drift))
    offset[:, :1] = observed.mean()
    model = PolynomialDiscrepancy(actuator, actuator.time, n_drift)
    fitted = fit(model, observed, np.hstack([begin, offset]))
    notes = list(fitted.checks.doubts())
    if np.isnan(fitted.correlated_covariance).any():
        notes.append("the record is too short for standard errors: the residuals hang together over much of it")
    if every > 1:
        notes.append(f"a long record: every {every}-th sample is compared")
    if fitted.at_bound.any():
        held = ", ".join(name for name, at_bound in zip(fitted.names, fitted.at_bound, strict=True) if at_bound)
        notes.append(f"{held}: at the end of what was searched")
    explained = 1.0 - fitted.sum_of_squares / max(float(np.sum((observed - observed.mean()) ** 2)), 1e-300)
    return ActuatorFit(pair, fitted, len(observed), left_out, explained, tuple(notes))
