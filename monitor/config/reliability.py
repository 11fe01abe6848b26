"""The settings of a model that is judged live."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, model_validator

from monitor.config.section import Names, NotNegative, Positive, Section, Share, Time, Window


def _not_falling(limit: tuple[float, float]) -> tuple[float, float]:
    if limit[0] > limit[1]:
        raise ValueError("must be [reject under, accept from], the first not above the second")
    return limit


Limit = Annotated[tuple[Share, Share], AfterValidator(_not_falling)]


class ReliabilityLimits(Section):
    """Of each reliability: [reject under, accept from]; those that are not given decide nothing."""

    instantaneous: Limit | None = None
    first_passage: Limit | None = None
    accumulated: Limit | None = None
    windowed: Limit | None = None


class ReliabilitySettings(Section):
    """A model that is judged live: which channel its ensemble speaks of, and how far it may be off.

    ``channel`` and ``ensemble`` (a file) name the response; both empty: no model is judged; several of each: several
    sites. ``tolerance`` is a share such as "8%" or a number in the response's unit, ``policy`` and ``reference`` are
    those of `monitor.reliability.tolerance.Tolerance`; a varying one is a file of ``time,tolerance``. The ensemble's
    time 0 is ``start`` s after the rig's, and the channel is read ``shift`` s later. ``window`` in s is the windowed
    reliability's; no decision falls in the first ``after`` s, by default a tenth of the ensemble's time.
    """

    channel: Names = ()
    ensemble: Names = ()
    tolerance: str | float = "8%"
    policy: Literal["literal", "floored", "peak", "absolute", "varying"] | None = None
    reference: Positive | None = None
    start: Time = 0.0
    shift: Time = 0.0
    window: Window = 1.0
    after: NotNegative | None = None
    limits: ReliabilityLimits = ReliabilityLimits()

    @model_validator(mode="after")
    def _one_ensemble_a_channel(self) -> Self:
        channels, ensembles = len(self.channel), len(self.ensemble)
        if channels != ensembles:
            raise ValueError(
                f"channels and ensembles go in pairs: there are {channels} and {ensembles} "
                "(options --response and --ensemble)"
            )
        if not channels and self.model_fields_set:
            given = ", ".join(sorted(self.model_fields_set))
            raise ValueError(f"{given} without a model: give channel and ensemble too (--response and --ensemble)")
        return self
