"""What else to fit to a record: a drift or a lag, tried where the residuals of a fit are no white noise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from monitor.messages.blocks import Samples
from replay.identification.actuator_regression import ActuatorRegression
from replay.identification.lag_choice import Chosen, lag_is_seen, tells_lag_from_delay
from replay.identification.record import enough_for
from sim.identification.fit import Fit

# what is left must fall by more than this factor for a parameter more to be worth it
_CURE = 0.8


def suggestions(chosen: Chosen, unit: str) -> Iterator[str]:
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
    if len(more.observed) < 0.5 * len(regression.observed) or not tells_lag_from_delay(more, found):
        return
    lags = np.array([0.2, 0.6]) * max(found.of("delay"), 2.0 * dt)
    gain, delay = at
    trial = _tried(more, np.column_stack([np.full(2, gain), delay - lags, lags]))
    before = float(np.sqrt(more.least_without_a_lag(trial) / trial.degrees_of_freedom))
    if trial.converged and trial.sigma < _CURE * before and lag_is_seen(more, trial):
        yield _words("a lag", "--lag", before, trial.sigma, unit)


def _tried(regression: ActuatorRegression, starts: Samples) -> Fit:
    return regression.fitted(np.hstack([starts, np.zeros((len(starts), regression.n_drift))]))[0]


def _words(what: str, option: str, before: float, after: float, unit: str) -> str:
    return (
        f"{what} is missing: with {option} what is left falls from {before:.2g} to {f'{after:.2g} {unit}'.rstrip()}"
    )
