"""Accept, watch or reject a model: decisions from its reliabilities and the limits of the user."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from math import isnan

import numpy as np

from monitor.messages.blocks import Samples
from monitor.reliability.curves import NAMES

SIGMA_MARGIN = 2.0
"""Standard errors by which a reliability must clear a limit."""


class ModelVerdict(IntEnum):
    """The decision on a model, as published."""

    REJECT = -1
    WATCH = 0
    ACCEPT = 1


@dataclass(frozen=True, slots=True)
class DecisionLimits:
    """Limits on one reliability: below `reject` the model is rejected, from `accept` on it is accepted.

    Raises
    ------
    ValueError : they are not probabilities, or `reject` exceeds `accept`.
    """

    reject: float
    accept: float

    def __post_init__(self) -> None:
        if not 0.0 <= self.reject <= self.accept <= 1.0:
            raise ValueError(f"limits {self.reject:g} and {self.accept:g}: must increase, from 0 to 1")


@dataclass(frozen=True, slots=True)
class Decision:
    """A verdict and its reason, in a sentence."""

    verdict: ModelVerdict
    reason: str


@dataclass(frozen=True, slots=True)
class ReliabilityEstimate:
    """A reliability at one instant.

    Parameters
    ----------
    value, standard_error : NaN where it is not known.
    resolution : lower bound of its error: the standard error is zero where all of `M` realizations agree, and one
        more could still differ. See `resolution_of`.
    """

    value: float
    standard_error: float = 0.0
    resolution: float = 0.0


def resolution_of(n_realizations: int) -> float:
    """Return the fraction that one more realization would contribute."""
    return 1.0 / (n_realizations + 1)


def decide(estimates: Mapping[str, ReliabilityEstimate], limits: Mapping[str, DecisionLimits]) -> Decision:
    """Decide by every reliability that has limits.

    The model is rejected as soon as one is below its lower limit, and accepted when all are at or above their upper
    limits, with a margin of two standard errors, or of twice the resolution. Until then it is watched.

    Parameters
    ----------
    estimates, limits : by the name of the reliability, such as ``first_passage``.

    Raises
    ------
    ValueError : there are limits on a reliability that is not estimated.
    """
    if not limits:
        return Decision(ModelVerdict.WATCH, "no limits are set")
    against, in_favour = [], []
    for name, limit in limits.items():
        if name not in estimates:
            raise ValueError(f"limits on {name!r}: there is {', '.join(sorted(estimates)) or 'no reliability'}")
        estimate = estimates[name]
        error = max(estimate.resolution, 0.0 if isnan(estimate.standard_error) else estimate.standard_error)
        label = name.replace("_", "-")
        reading = f"{label} {estimate.value:.3f}"
        if isnan(estimate.value):
            against.append(f"{label} is not known yet")
        elif estimate.value + SIGMA_MARGIN * error < limit.reject:
            return Decision(ModelVerdict.REJECT, f"{reading} is below {limit.reject:g}")
        elif estimate.value - SIGMA_MARGIN * error < limit.accept:
            against.append(f"{reading} {_doubt(estimate.value, limit)}")
        else:
            in_favour.append(f"{reading} is at least {limit.accept:g}")
    if against:
        return Decision(ModelVerdict.WATCH, "; ".join(against))
    return Decision(ModelVerdict.ACCEPT, "; ".join(in_favour))


def _doubt(value: float, limit: DecisionLimits) -> str:
    if value >= limit.accept:
        return f"is not significantly above {limit.accept:g}"
    if value >= limit.reject:
        return f"is below {limit.accept:g}"
    return f"is not significantly below {limit.reject:g}"


def decide_rows(estimates: Samples, limits: Mapping[str, DecisionLimits], resolution: float) -> Samples:
    """Return the verdicts of `decide` for many estimates, (n,), without the reasons.

    Parameters
    ----------
    estimates : (n, 2 len(NAMES)), each reliability and its standard error, all known.
    limits, resolution : see `decide`.
    """
    rejected, accepted = np.zeros(len(estimates), dtype=bool), np.ones(len(estimates), dtype=bool)
    for name, limit in limits.items():
        value, error = estimates[:, 2 * NAMES.index(name) :][:, :2].T
        margin = SIGMA_MARGIN * np.fmax(error, resolution)
        rejected |= value + margin < limit.reject
        accepted &= value - margin >= limit.accept
    unless_rejected = np.where(accepted, float(ModelVerdict.ACCEPT), float(ModelVerdict.WATCH))
    return np.where(rejected, float(ModelVerdict.REJECT), unless_rejected)
