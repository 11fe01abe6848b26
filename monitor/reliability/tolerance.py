"""How far a model may be from a measurement: the tolerance of eq. 3, by one of several policies."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from monitor.messages.blocks import Samples
from monitor.reliability.measurements import ReplicateValidator


class Policy(StrEnum):
    """What the tolerance is a share of, or that it is given as it is."""

    LITERAL = "literal"
    FLOORED = "floored"
    PEAK = "peak"
    ABSOLUTE = "absolute"
    VARYING = "varying"


RELATIVE = frozenset({Policy.LITERAL, Policy.FLOORED, Policy.PEAK})


class ToleranceError(ValueError):
    """The tolerance means nothing; the text says why and what to do."""


@dataclass(frozen=True, slots=True, eq=False)
class Tolerance:
    """The tolerance at each instant of each replicate.

    Parameters
    ----------
    policy : what it is made of:
        literal, ``value * |Y_D|`` at the instant, as eq. 2 and 33 print it. Nothing is within it where
        the measurement is zero: a response that starts at rest fails its first passage at the first sample;
        floored, ``value * max(|Y_D|, reference)``, for which the reference is the measurement's rms;
        peak, ``value * reference``, for which the reference is the measurement's largest magnitude;
        absolute, ``value``;
        varying, ``profile`` at the instant.
    value : a share such as 0.08, or in the response's unit; not used by varying.
    reference : (n_replicates,) or (1,) for all, in the response's unit; of floored and peak. It is needed before the
        first sample: a record that is complete gives its own (`of_records`).
    profile : (n_times,), in the response's unit, one for each instant of the ensemble; of varying.

    Raises
    ------
    ToleranceError : the value, the reference or the profile is not positive, or one that is needed is missing.
    """

    policy: Policy
    value: float = float("nan")
    reference: Samples | None = None
    profile: Samples | None = None

    def __post_init__(self) -> None:
        if self.policy is Policy.VARYING:
            if self.profile is None or not len(self.profile):
                raise ToleranceError("a varying tolerance needs its profile: one value for each instant")
            if not (np.isfinite(self.profile).all() and self.profile.min() > 0.0):
                raise ToleranceError("a varying tolerance must be positive at every instant")
            return
        if not 0.0 < self.value < float("inf"):
            raise ToleranceError(f"tolerance {self.value:g}: it must be a positive number")
        if self.policy in (Policy.FLOORED, Policy.PEAK):
            if self.reference is None:
                raise ToleranceError(f"a tolerance of policy {self.policy} needs a reference, in the response's unit")
            if not (np.isfinite(self.reference).all() and np.min(self.reference) > 0.0):
                raise ToleranceError(
                    f"a tolerance of policy {self.policy} is a share of the measurement's size, "
                    "which is zero: give an absolute one"
                )

    def check_fit(self, intake: ReplicateValidator) -> None:
        """Raise `ToleranceError` unless these measurements have one for every instant and replicate."""
        given, fitting = self.reference, {(1,), (intake.n_replicates,)}
        if self.policy is Policy.VARYING:
            given, fitting = self.profile, {(intake.n_times,)}
        if given is not None and given.shape not in fitting:
            raise ToleranceError(
                f"{intake.name}: the tolerance's numbers have shape {given.shape}: give "
                + " or ".join(str(shape) for shape in sorted(fitting))
            )

    def alone(self, replicate: int) -> Tolerance:
        """Return the tolerance of one replicate."""
        if self.reference is None or len(self.reference) == 1:
            return self
        return replace(self, reference=self.reference[[replicate]])

    @property
    def _reference(self) -> Samples:
        assert self.reference is not None
        return self.reference

    def at(self, instants: NDArray[np.int64], measured: Samples) -> Samples:
        """Return (n_instants, n_replicates) for measurements of that shape at these rows of the ensemble."""
        if self.policy is Policy.LITERAL:
            return self.value * np.abs(measured)
        if self.policy is Policy.FLOORED:
            return self.value * np.maximum(np.abs(measured), self._reference)
        if self.policy is Policy.VARYING:
            assert self.profile is not None
            return np.repeat(self.profile[instants][:, None], measured.shape[1], axis=1)
        size = self.value if self.policy is Policy.ABSOLUTE else self.value * self._reference
        return np.broadcast_to(size, measured.shape).copy()


def of_records(policy: Policy, value: float, measured: Samples) -> Tolerance:
    """Return the tolerance for complete records, each with its own size as the reference.

    Parameters
    ----------
    policy, value : see `Tolerance`; not varying.
    measured : (n_times, n_replicates); what is not finite is left out of rms and peak.

    Raises
    ------
    ToleranceError : see `Tolerance`; or a record holds no number.
    """
    reference: Samples | None = None
    if policy in (Policy.FLOORED, Policy.PEAK):
        finite = np.isfinite(measured)
        if not finite.any(axis=0).all():
            raise ToleranceError("a record without a single number has no size to take a share of")
        size = np.where(finite, np.abs(measured), np.nan)
        reference = np.nanmax(size, axis=0) if policy is Policy.PEAK else np.sqrt(np.nanmean(size**2, axis=0))
    return Tolerance(policy, value, reference)
