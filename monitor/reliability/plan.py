"""Plan of a live model reliability: sites, tolerances and limits, and which samples of a stream are assessed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from fractions import Fraction
from math import inf, isnan

import numpy as np

from monitor.messages.blocks import Samples
from monitor.reliability.curves import NAMES
from monitor.reliability.ensemble import Ensemble, Integers
from monitor.reliability.tolerance import Tolerance

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


ALL_SITES = "all sites"
MODEL_QUANTILES = {"model_low": 0.05, "model_median": 0.5, "model_high": 0.95}

# largest difference between the instants of two sites, in time steps
_MAX_TIME_DIFFERENCE = 0.1


@dataclass(frozen=True, slots=True, eq=False)
class ValidationSite:
    """A channel of the stream, the ensemble it is compared with, and the tolerance.

    ``quantiles``, (n_times, 3), are those of `MODEL_QUANTILES`. They are computed here and not when the stream
    starts: a memory-mapped ensemble is read from disk for them.
    """

    channel: str
    ensemble: Ensemble
    tolerance: Tolerance
    quantiles: Samples = field(init=False, repr=False)

    def __post_init__(self) -> None:
        quantiles = [self.ensemble.quantile(probability) for probability in MODEL_QUANTILES.values()]
        object.__setattr__(self, "quantiles", np.column_stack(quantiles))


@dataclass(frozen=True, slots=True, eq=False)
class ReliabilityPlan:
    """How the reliability of a model is computed during the test.

    Parameters
    ----------
    sites : one or more; of several, their product is computed as well.
    window : s, of the windowed reliability.
    start : s from the start of the rig to time 0 of the ensembles.
    shift : s by which the channels are read later than their own time.
    after : s from the first assessed instant to the first decision; None: a tenth of the duration of the ensembles.
    limits : for the decision, by the name of the reliability.
    notes : reported as events when the stream starts.

    Raises
    ------
    ValueError : there is no site, two sites have the same channel, the time steps of an ensemble are not equal, two
        ensembles have different instants, or there are limits on an unknown reliability.
    """

    sites: tuple[ValidationSite, ...]
    window: float = 1.0
    start: float = 0.0
    shift: float = 0.0
    after: float | None = None
    limits: Mapping[str, DecisionLimits] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        channels = [site.channel for site in self.sites]
        if not channels:
            raise ValueError("there is no model: give a channel and its ensemble")
        for channel in channels:
            if channels.count(channel) > 1:
                raise ValueError(f"channel {channel!r} has two ensembles: give each ensemble its own channel")
        if len(channels) > 1 and ALL_SITES in channels:
            raise ValueError(f"channel {ALL_SITES!r} has the name of the product of all sites: rename it")
        first = self.sites[0]
        for site in self.sites:
            time, largest = site.ensemble.time, _MAX_TIME_DIFFERENCE * site.ensemble.dt
            if len(time) != len(first.ensemble.time) or np.abs(time - first.ensemble.time).max() > largest:
                raise ValueError(
                    f"the ensembles of {first.channel} and {site.channel} have different instants: "
                    "compute them over the same time"
                )
        if not 0.0 < self.window < inf:
            raise ValueError(f"window {self.window:g} s: must be a positive time")
        if self.after is not None and not 0.0 <= self.after < inf:
            raise ValueError(f"after {self.after:g} s: must be zero or more")
        for name in self.limits:
            if name not in NAMES:
                raise ValueError(f"limits on {name!r}: the reliabilities are {', '.join(NAMES)}")


# largest drift between ensemble and stream over the whole ensemble, as a fraction of the smaller step
_MAX_DRIFT = 0.5
_MAX_RATIO = 100_000
# samples between the start of the rig and that of the ensemble: the integers that a float represents exactly
_MAX_ORIGIN = 1 << 53


@dataclass(frozen=True, slots=True)
class SampleMap:
    """Sample ``origin + k * samples`` is at instant ``k * steps``; one of `samples` and `steps` is 1.

    Parameters
    ----------
    origin : number of the sample at the first instant; negative if it is before the first sample of the stream.
    samples, steps : samples from one assessed instant to the next, and instants of the ensemble.
    n_times : instants of the ensemble.
    offset : s from sample to instant, where its magnitude is largest, at the first or at the last instant: at most
        half a sample plus half of the drift.
    """

    origin: int
    samples: int
    steps: int
    n_times: int
    offset: float = 0.0

    def select(self, first: int, n: int) -> tuple[Integers, Integers]:
        """Return which of the samples `first` to `first + n` are assessed, and their instants."""
        low = max(0, -(-(first - self.origin) // self.samples))
        high = min(self.n_assessed - 1, (first + n - 1 - self.origin) // self.samples)
        counted = np.arange(low, high + 1, dtype=np.int64)
        return self.origin + counted * self.samples, counted * self.steps

    @property
    def n_assessed(self) -> int:
        """Number of instants that have a sample."""
        return (self.n_times - 1) // self.steps + 1

    @property
    def end(self) -> int:
        """Number of the first sample after the ensemble."""
        return self.origin + self.n_assessed * self.samples


def map_samples(ensemble: Ensemble, sample_rate: float, start: float, shift: float) -> SampleMap:
    """Return which samples of a stream are at the instants of an ensemble.

    Parameters
    ----------
    ensemble : with equal time steps.
    sample_rate : Hz, of the stream.
    start : s from sample 0 of the stream to time 0 of the ensemble.
    shift : s by which the stream is read later.

    Raises
    ------
    ValueError : the time steps of the ensemble are not equal, neither step is a multiple of the other, or the start
        is too far away.
    """
    ratio = ensemble.dt * sample_rate
    whole = Fraction(0)
    if 1.0 / _MAX_RATIO <= ratio <= _MAX_RATIO:
        whole = Fraction(round(ratio)) if ratio >= 1.0 else Fraction(1, round(1.0 / ratio))
    # in samples, over the whole ensemble
    drift = (ratio - float(whole)) * (len(ensemble.time) - 1)
    if not whole or abs(drift) > _MAX_DRIFT * min(1.0, float(whole)):
        raise ValueError(
            f"{ensemble.name} has a time step of {ensemble.dt:g} s, the stream one of {1.0 / sample_rate:g} s: "
            "one must be a multiple of the other; resample the ensemble"
        )
    begins = (start + shift + float(ensemble.time[0])) * sample_rate
    if not abs(begins) < _MAX_ORIGIN:
        raise ValueError(f"{ensemble.name} begins {begins:.3g} samples from the rig's start: give a nearer start")
    # the sample nearest to the middle instant, so that the offset is small at both ends
    origin = round(begins + 0.5 * drift)
    at_first = begins - origin
    offset = max(at_first, at_first + drift, key=abs) / sample_rate
    return SampleMap(origin, whole.numerator, whole.denominator, len(ensemble.time), offset)
