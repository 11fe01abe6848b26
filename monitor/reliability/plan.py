"""What is to be judged of a stream: sites, tolerances, limits; made before it starts, from whatever files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf

import numpy as np

from monitor.messages.blocks import Samples
from monitor.reliability.curves import NAMES
from monitor.reliability.decision import Limits
from monitor.reliability.ensemble import Ensemble
from monitor.reliability.tolerance import Tolerance

ALL_SITES = "all sites"
BAND = {"model_low": 0.05, "model_median": 0.5, "model_high": 0.95}

# of a step: what the instants of two sites may differ by
_SLACK = 0.1


@dataclass(frozen=True, slots=True, eq=False)
class PlannedSite:
    """A channel of the stream, the ensemble that speaks of it, and how far that may be off.

    ``band``, (n_times, 3), has the quantiles of `BAND`. It is made here and not when the stream starts: a mapped
    ensemble is read from the disk for it.
    """

    channel: str
    ensemble: Ensemble
    tolerance: Tolerance
    band: Samples = field(init=False, repr=False)

    def __post_init__(self) -> None:
        band = np.column_stack([self.ensemble.quantile(probability) for probability in BAND.values()])
        object.__setattr__(self, "band", band)


@dataclass(frozen=True, slots=True, eq=False)
class ReliabilityPlan:
    """How a model is judged while the test runs.

    Parameters
    ----------
    sites : one or more; the product of several is judged beside each.
    window : s, of the windowed reliability.
    start : s from the rig's start to the time 0 of the ensembles.
    shift : s that the channels are read later than their own time says.
    after : s from the first judged instant in which no decision falls; None: a tenth of the ensembles' time.
    limits : for the decision, by the name of the reliability.
    notes : what is to be told when the stream starts.

    Raises
    ------
    ValueError : there is no site, a channel is judged twice, an ensemble's steps are not equal, two ensembles have
        different instants, or a limit is on something else than a reliability.
    """

    sites: tuple[PlannedSite, ...]
    window: float = 1.0
    start: float = 0.0
    shift: float = 0.0
    after: float | None = None
    limits: Mapping[str, Limits] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        channels = [site.channel for site in self.sites]
        if not channels:
            raise ValueError("nothing is to be judged: give a channel and its ensemble")
        for channel in channels:
            if channels.count(channel) > 1:
                raise ValueError(f"channel {channel!r} is judged twice: give every ensemble a channel of its own")
        if len(channels) > 1 and ALL_SITES in channels:
            raise ValueError(f"channel {ALL_SITES!r} has the name of what is told of all sites: rename it")
        first = self.sites[0]
        for site in self.sites:
            time, slack = site.ensemble.time, _SLACK * site.ensemble.dt
            if len(time) != len(first.ensemble.time) or np.abs(time - first.ensemble.time).max() > slack:
                raise ValueError(
                    f"the ensembles of {first.channel} and {site.channel} have different instants: "
                    "make them over the same time"
                )
        if not 0.0 < self.window < inf:
            raise ValueError(f"window {self.window:g} s: must be a positive time")
        if self.after is not None and not 0.0 <= self.after < inf:
            raise ValueError(f"after {self.after:g} s: must be zero or more")
        for name in self.limits:
            if name not in NAMES:
                raise ValueError(f"limits on {name!r}: the reliabilities are {', '.join(NAMES)}")
