"""The tolerance of eq. 3: how far a model may be from a measurement, by one of several policies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import combinations

import numpy as np

from monitor.messages.blocks import Samples, same_unit
from monitor.reliability.ensemble import Integers


class TolerancePolicy(StrEnum):
    """The reference of a relative tolerance, or the kind of an absolute one."""

    LITERAL = "literal"
    FLOORED = "floored"
    PEAK = "peak"
    ABSOLUTE = "absolute"
    VARYING = "varying"


RELATIVE = frozenset({TolerancePolicy.LITERAL, TolerancePolicy.FLOORED, TolerancePolicy.PEAK})
_WITH_REFERENCE = (TolerancePolicy.FLOORED, TolerancePolicy.PEAK)


class ToleranceError(ValueError):
    """The tolerance is invalid; the message states why and the remedy."""


@dataclass(frozen=True, slots=True, eq=False)
class Tolerance:
    """The tolerance at each instant of each replicate.

    Parameters
    ----------
    policy : how it is computed:
        literal, ``value * |Y_D|`` at the instant, as eq. 2 and 33 print it. It is zero where the measurement is
        zero: a response that starts at rest fails its first passage at the first sample;
        floored, ``value * max(|Y_D|, reference)``, where the reference is the rms of the measurement;
        peak, ``value * reference``, where the reference is the largest magnitude of the measurement;
        absolute, ``value``;
        varying, ``profile`` at the instant.
    value : a fraction such as 0.08, or in the unit of the response; not used by varying.
    reference : (n_replicates,) or (1,) for all, in the unit of the response; for floored and peak. It is needed
        before the first sample: `from_records` computes it from complete records.
    profile : (n_times,), in the unit of the response, one for each instant of the ensemble; for varying.

    Raises
    ------
    ToleranceError : the value, the reference or the profile is not positive, or is needed and missing.
    """

    policy: TolerancePolicy
    value: float = float("nan")
    reference: Samples | None = None
    profile: Samples | None = None

    def __post_init__(self) -> None:
        if self.policy is TolerancePolicy.VARYING:
            if self.profile is None or not len(self.profile):
                raise ToleranceError("a varying tolerance needs its profile: one value for each instant")
            if not (np.isfinite(self.profile).all() and self.profile.min() > 0.0):
                raise ToleranceError("a varying tolerance must be positive at every instant")
            return
        if not 0.0 < self.value < float("inf"):
            raise ToleranceError(f"tolerance {self.value:g}: it must be a positive number")
        if self.policy in _WITH_REFERENCE:
            if self.reference is None:
                raise ToleranceError(
                    f"a tolerance of policy {self.policy} needs a reference, in the unit of the response"
                )
            if not (np.isfinite(self.reference).all() and np.min(self.reference) > 0.0):
                raise ToleranceError(
                    f"a tolerance of policy {self.policy} is a fraction of the measurement's size, "
                    "which is zero: give an absolute one"
                )

    @classmethod
    def from_records(cls, policy: TolerancePolicy, value: float, measured: Samples) -> Tolerance:
        """Return the tolerance for complete records, each with its own reference.

        Parameters
        ----------
        policy, value : see `Tolerance`; not varying.
        measured : (n_times, n_replicates); rms and peak ignore samples that are not finite.

        Raises
        ------
        ToleranceError : see `Tolerance`; or a record has no finite sample.
        """
        reference: Samples | None = None
        if policy in _WITH_REFERENCE:
            finite = np.isfinite(measured)
            if not finite.any(axis=0).all():
                raise ToleranceError("a record without a finite sample has no size to take a fraction of")
            size = np.where(finite, np.abs(measured), np.nan)
            is_peak = policy is TolerancePolicy.PEAK
            reference = np.nanmax(size, axis=0) if is_peak else np.sqrt(np.nanmean(size**2, axis=0))
        return cls(policy, value, reference)

    def check_shape(self, site: str, n_times: int, n_replicates: int) -> None:
        """Raise `ToleranceError` unless there is a value for every instant and replicate of `site`."""
        given, allowed = self.reference, {(1,), (n_replicates,)}
        if self.policy is TolerancePolicy.VARYING:
            given, allowed = self.profile, {(n_times,)}
        if given is not None and given.shape not in allowed:
            raise ToleranceError(
                f"{site}: the tolerance has shape {given.shape}: it must be "
                + " or ".join(str(shape) for shape in sorted(allowed))
            )

    def for_replicate(self, replicate: int) -> Tolerance:
        """Return the tolerance of one replicate."""
        if self.reference is None or len(self.reference) == 1:
            return self
        return replace(self, reference=self.reference[[replicate]])

    def evaluate(self, instants: Integers, measured: Samples) -> Samples:
        """Return the tolerance, (n_instants, n_replicates), for `measured` of that shape at rows of the ensemble."""
        if self.policy is TolerancePolicy.LITERAL:
            return self.value * np.abs(measured)
        if self.policy is TolerancePolicy.VARYING:
            assert self.profile is not None
            return np.repeat(self.profile[instants][:, None], measured.shape[1], axis=1)
        if self.policy is TolerancePolicy.ABSOLUTE:
            return np.full(measured.shape, float(self.value))
        assert self.reference is not None
        if self.policy is TolerancePolicy.FLOORED:
            return self.value * np.maximum(np.abs(measured), self.reference)
        return np.broadcast_to(self.value * self.reference, measured.shape).copy()


def parse_tolerance(text: str | float, policy: str | None = None) -> tuple[TolerancePolicy, float]:
    """Return policy and value of a tolerance as a user writes it: ``8%``, or a number.

    Parameters
    ----------
    text : a percentage, or a number in the unit of the response.
    policy : by default literal for a percentage and absolute for a number; with a relative policy a number is a
        fraction.

    Raises
    ------
    ToleranceError : it is not a number, not positive, or does not match the policy.
    """
    words = str(text).strip()
    is_percentage = words.endswith("%")
    try:
        value = float(words.removesuffix("%")) / (100.0 if is_percentage else 1.0)
    except ValueError:
        raise ToleranceError(f"tolerance {words!r}: give a percentage such as 8%, or a number") from None
    if value <= 0.0:
        raise ToleranceError(f"tolerance {words}: give more than 0")
    if not value < float("inf"):
        raise ToleranceError(f"tolerance {words}: give a finite number")
    if is_percentage and policy == TolerancePolicy.ABSOLUTE:
        raise ToleranceError(f"tolerance {words}: an absolute tolerance is a number in the response's unit")
    if not is_percentage and policy is not None and TolerancePolicy(policy) in RELATIVE and value > 1.0:
        raise ToleranceError(f"tolerance {words}: this is {100.0 * value:g} %: write {words}% or {100.0 * value:g}%")
    if policy is not None:
        return TolerancePolicy(policy), value
    return (TolerancePolicy.LITERAL if is_percentage else TolerancePolicy.ABSOLUTE), value


def check_units(policy: TolerancePolicy, units: Sequence[str]) -> None:
    """Raise `ToleranceError` if one number or table would apply to sites with different units."""
    if policy in RELATIVE:
        return
    for one, other in combinations(units, 2):
        if not same_unit(one, other):
            raise ToleranceError(
                f"the sites are in {one} and {other}, a single number cannot apply to both: give a percentage "
                "such as 8%, or assess the sites separately"
            )
