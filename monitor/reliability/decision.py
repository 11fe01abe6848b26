"""Accept, watch or reject: what the reliabilities mean for somebody who has said what he wants of the model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from math import isnan

import numpy as np

from monitor.messages.blocks import Samples
from monitor.reliability.curves import NAMES

# of its standard error, that a reliability must clear a limit by
SURE = 2.0


class Verdict(IntEnum):
    """What is to be done; the numbers are those that are published."""

    REJECT = -1
    WATCH = 0
    ACCEPT = 1


@dataclass(frozen=True, slots=True)
class Limits:
    """Of one reliability: under `reject` the model is rejected, from `accept` on it is accepted.

    Raises
    ------
    ValueError : they are not probabilities, or the other way round.
    """

    reject: float
    accept: float

    def __post_init__(self) -> None:
        if not 0.0 <= self.reject <= self.accept <= 1.0:
            raise ValueError(f"limits {self.reject:g} and {self.accept:g}: must rise, from 0 to 1")


@dataclass(frozen=True, slots=True)
class Decision:
    """A verdict, and the sentence that says why."""

    verdict: Verdict
    reason: str


@dataclass(frozen=True, slots=True)
class Estimate:
    """A reliability at one instant.

    Parameters
    ----------
    value, standard_error : NaN where it is not known.
    resolution : the least error it can have: where all of `M` realizations agree the standard error is zero, and
        the next one may still differ. `resolution_of` an ensemble.
    """

    value: float
    standard_error: float = 0.0
    resolution: float = 0.0


def resolution_of(n_realizations: int) -> float:
    """Return the share that one more realization would have."""
    return 1.0 / (n_realizations + 1)


def decide(estimates: Mapping[str, Estimate], limits: Mapping[str, Limits]) -> Decision:
    """Decide by every reliability that has limits.

    The model is rejected as soon as one is surely under its lower limit, and accepted when all are surely at their
    upper ones; "surely" is by two standard errors, or by twice the resolution. Until then it is watched.

    Parameters
    ----------
    estimates, limits : by the name of the reliability, such as ``first_passage``.

    Raises
    ------
    ValueError : a limit is on something that is not estimated.
    """
    if not limits:
        return Decision(Verdict.WATCH, "no limits are set")
    doubts, merits = [], []
    for name, limit in limits.items():
        if name not in estimates:
            raise ValueError(f"limits on {name!r}: there is {', '.join(sorted(estimates)) or 'no reliability'}")
        estimate = estimates[name]
        error = max(estimate.resolution, 0.0 if isnan(estimate.standard_error) else estimate.standard_error)
        word = name.replace("_", "-")
        said = f"{word} {estimate.value:.3f}"
        if isnan(estimate.value):
            doubts.append(f"{word} is not known yet")
        elif estimate.value + SURE * error < limit.reject:
            return Decision(Verdict.REJECT, f"{said} is under {limit.reject:g}")
        elif estimate.value - SURE * error < limit.accept:
            doubts.append(f"{said} {_doubt(estimate.value, limit)}")
        else:
            merits.append(f"{said} is at least {limit.accept:g}")
    if doubts:
        return Decision(Verdict.WATCH, "; ".join(doubts))
    return Decision(Verdict.ACCEPT, "; ".join(merits))


def _doubt(value: float, limit: Limits) -> str:
    if value >= limit.accept:
        return f"is not surely over {limit.accept:g}"
    return f"is under {limit.accept:g}" if value >= limit.reject else f"is not surely under {limit.reject:g}"


def verdicts(estimates: Samples, limits: Mapping[str, Limits], resolution: float) -> Samples:
    """Return (n,): what `decide` says of many estimates, without a sentence each, which would take too long.

    Parameters
    ----------
    estimates : (n, 2 len(NAMES)), each reliability and its standard error, known all.
    limits, resolution : see `decide`.
    """
    rejected, accepted = np.zeros(len(estimates), dtype=bool), np.ones(len(estimates), dtype=bool)
    for name, limit in limits.items():
        value, error = estimates[:, 2 * NAMES.index(name) :][:, :2].T
        margin = SURE * np.fmax(error, resolution)
        rejected |= value + margin < limit.reject
        accepted &= value - margin >= limit.accept
    unless_rejected = np.where(accepted, float(Verdict.ACCEPT), float(Verdict.WATCH))
    return np.where(rejected, float(Verdict.REJECT), unless_rejected)
