"""Accept, watch or reject: what the reliabilities mean for somebody who has said what he wants of the model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from math import isnan

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
    """A reliability and its standard error at one instant; NaN where it is not known."""

    value: float
    standard_error: float = 0.0


def decide(estimates: Mapping[str, Estimate], limits: Mapping[str, Limits]) -> Decision:
    """Decide by every reliability that has limits.

    The model is rejected as soon as one is surely under its lower limit, and accepted when all are surely at their
    upper ones; "surely" is by two standard errors. Until then it is watched.

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
        error = estimate.standard_error if estimate.standard_error > 0.0 else 0.0
        word = name.replace("_", "-")
        said = f"{word} {estimate.value:.3f}"
        if isnan(estimate.value):
            doubts.append(f"{word} is not known yet")
        elif estimate.value + SURE * error < limit.reject:
            return Decision(Verdict.REJECT, f"{said} is under {limit.reject:g}")
        elif estimate.value - SURE * error < limit.accept:
            doubts.append(f"{said} is under {limit.accept:g} or too near to it")
        else:
            merits.append(f"{said} is at least {limit.accept:g}")
    if doubts:
        return Decision(Verdict.WATCH, "; ".join(doubts))
    return Decision(Verdict.ACCEPT, "; ".join(merits))
