"""Model selection: whether a lag or a drift is worth a parameter more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from monitor.messages.blocks import Samples
from replay.identification.actuator_regression import ActuatorRegression, enough_for
from sim.identification.fit import Fit

# what a lag does, less what gain, delay and drift do as well, as a share of its square: of one frequency rounding
_LEAST_OF_ITS_OWN = 1e-7
# the lag at which that is looked at: s, and a share of max_delay, so that the record's beginning is forgotten
_TRIED, _TRIED_SHARE = 0.01, 0.1
# a lag takes away so many times the variance of the errors; by chance, with one parameter, once in 370
_LEAST_GAIN = 9.0


@dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    """A fit, inside, of one of two regressions.

    Parameters
    ----------
    rivals : (n_rivals, p), parameters that fit as well.
    why_no_lag : where one was asked for, and is not given.
    """

    regression: ActuatorRegression
    fit: Fit
    rivals: Samples
    why_no_lag: str = ""


def with_a_lag_if_seen(plain: Chosen) -> Chosen:
    """Return the fit with a lag if the record shows one, else the one without, and why."""
    regression = replace(plain.regression, with_lag=True)
    if not tells_lag_from_delay(regression, plain.fit):
        return replace(plain, why_no_lag="the motion has a single frequency, which does not tell delay and lag apart")
    found, rivals = regression.fitted()
    if not found.converged:
        return replace(plain, why_no_lag="the search for one found no end")
    if not lag_is_seen(regression, found):
        return replace(plain, why_no_lag="none is seen: with one the fit is no better")
    return Chosen(regression, found, rivals)


def tells_lag_from_delay(regression: ActuatorRegression, plain: Fit) -> bool:
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


def lag_is_seen(regression: ActuatorRegression, found: Fit) -> bool:
    """Return whether a fit with a lag is better than without one by more than chance."""
    place = found.names.index("lag")
    variance = found.sigma**2
    white, correlated = found.covariance[place, place], found.correlated_covariance[place, place]
    # autocorrelated errors take a lag for what is none more often
    if np.isfinite(white) and correlated > white:
        variance *= correlated / white
    return regression.least_without_a_lag(found) - found.sum_of_squares > _LEAST_GAIN * variance


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
