"""What a reader of an actuator's fit must be told, in words."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from monitor.blocks import Channel, Samples, units_differ
from replay.identification_record import frozen_samples
from sim.actuator import LONGEST
from sim.identification.actuator_response import ActuatorResponse
from sim.identification.delay_correlation import delay_correlation
from sim.identification.fit import Fit

# an actuator's gain is near one where command and measured signal have one unit
_LARGEST_GAIN = 30.0
# what leaves more of the variance unexplained is not what moved the specimen
_LEAST_EXPLAINED = 0.5
_DOUBTFUL = 0.01
# of the measured signal; less left is rounding
_ROUNDING = 1e-9


def warnings_of(
    fitted: Fit,
    rivals: Samples,
    explained: float,
    actuator: ActuatorResponse,
    measured: Samples,
    channels: tuple[Channel, Channel],
) -> tuple[str, ...]:
    """Return why not to trust the estimates.

    Parameters
    ----------
    rivals : (n_rivals, p), parameters that fit as well.
    explained : the share of the variance.
    actuator, measured : what was fitted to what, (n_samples,).
    channels : command and measured.
    """
    return (
        *([] if fitted.converged else ["the fit did not converge: its estimates mean nothing"]),
        *(_at_bound(name, fitted.of(name), actuator) for name in fitted.bounded),
        *_rivals(fitted, rivals),
        *_unidentified(fitted),
        *_gain(fitted.of("gain"), channels),
        *_beyond(explained, actuator, measured),
        *_unexplained(fitted, explained),
        *_frozen(actuator, measured),
    )


def notes_on(fitted: Fit, observed: Samples, every: int, n_stretch: int, n_samples: int) -> tuple[str, ...]:
    """Return what was taken for granted, and what the residuals say.

    Parameters
    ----------
    observed : (n,), what was compared.
    every : each so many of the samples.
    n_stretch, n_samples : of the stretch that was fitted, and of the record.
    """
    notes = []
    if n_stretch < n_samples:
        notes.append(f"only the longest stretch without a hole is fitted: {n_stretch} of {n_samples} samples")
    if every > 1:
        notes.append(f"a long record: every {every}-th sample is compared")
    if fitted.sigma <= _ROUNDING * float(observed.std()):
        notes.append("only rounding is left: the measured signal is the command itself, or was made from it")
        return tuple(notes)
    notes += fitted.checks.doubts(_DOUBTFUL)
    if np.isnan(fitted.correlated_covariance).all():
        notes.append("the record is too short for standard errors: the residuals hang together over much of it")
    return tuple(notes)


def _at_bound(name: str, value: float, actuator: ActuatorResponse) -> str:
    if name == "lag" and value <= 0.0:
        return "lag: none is seen; it stands at zero, and its standard error is not known"
    return (
        f"{name}: stands at the end of what was searched, and its standard error is not known; give a --max-delay of "
        f"more than {actuator.max_delay:g}"
    )


def _rivals(fitted: Fit, rivals: Samples) -> Iterator[str]:
    # where the data do not tell delay and lag apart, a different pair of them says nothing
    if len(rivals) and not fitted.unidentified:
        gain, delay = fitted.names.index("gain"), fitted.names.index("delay")
        others = ", ".join(f"{1e3 * each[delay]:.4g} ms (gain {each[gain]:.3g})" for each in rivals)
        yield f"the motion repeats itself, other delays fit as well: {others}; given is the shortest of positive gain"


def _unidentified(fitted: Fit) -> Iterator[str]:
    if fitted.unidentified:
        names = " and ".join(fitted.unidentified)
        needed = "a motion of several frequencies" if "lag" in fitted.names else "a command that moves for longer"
        yield f"the record does not tell {names} apart, so that they mean nothing: that needs {needed}"


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
        share = f"{100.0 * explained:.2g} %"
        yield f"only {share} of the measured variance is explained: something else moves it, or it is another channel"


def _frozen(actuator: ActuatorResponse, measured: Samples) -> Iterator[str]:
    reach = int(np.ceil(actuator.max_delay / actuator.dt))
    frozen = frozen_samples(actuator.command, measured, reach)
    if frozen:
        yield f"the measured signal stands still for {frozen * actuator.dt:.3g} s while the command moves"
