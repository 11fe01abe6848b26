"""The reliability of a model against replicates at one or several sites, with all that a validator asks beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from monitor.messages.blocks import Samples
from monitor.reliability.amount import check_units
from monitor.reliability.curves import Reliability
from monitor.reliability.decision import Decision, Estimate, Limits, Verdict, decide, resolution_of
from monitor.reliability.ensemble import Ensemble
from monitor.reliability.several_sites import JointReliability, product
from replay.formats.base import RecordingError
from replay.validation.model import check_same_time
from replay.validation.site import Align, Site, SiteResult, judge_site
from replay.validation.tolerance_choice import ToleranceChoice

# of the model's instants: with fewer judged there is a note, with fewer still no decision
_HALF, _FEW = 0.5, 0.1


@dataclass(frozen=True, slots=True, eq=False)
class Validation:
    """What was found at all sites.

    Parameters
    ----------
    time : (n_instants,), s, those from the first to the last that was judged.
    reliability : at these, of all sites together.
    sites : each alone.
    judged : how many of the instants.
    tolerance : in words.
    decision : at the end.
    notes : what the user should know, a line each.
    """

    time: Samples
    reliability: Reliability
    sites: tuple[SiteResult, ...]
    judged: int
    tolerance: str
    decision: Decision
    notes: tuple[str, ...]


def validate(
    sites: Sequence[Site],
    tolerance: ToleranceChoice,
    *,
    align: Align = "no",
    resample: bool = False,
    joint: bool = False,
    window: float | None = None,
    limits: Mapping[str, Limits] | None = None,
) -> Validation:
    """Judge models by their records.

    Parameters
    ----------
    sites : at least one; several have the same instants.
    tolerance : how far a model may be off.
    align : shift the records by how much they lag: all of a site by the mean of it, or each by its own; a shift is
        applied only if asked for, and the lag is reported in any case.
    resample : interpolate records whose samples do not stand at the model's instants.
    joint : of several sites, count a realization only if it is within at all; by default the sites' product.
    window : s, of the windowed reliability; by default a fifth of the model's time.
    limits : for the decision, by the name of the reliability.

    Raises
    ------
    ValueError : something does not fit; the text says what.
    """
    models = [site.model for site in sites]
    check_same_time(models)
    check_units(tolerance.policy, [site.unit for site in sites])
    instants = models[0].time
    span = float(instants[-1] - instants[0])
    step = span / max(1, len(instants) - 1)
    if window is not None and not window > 0.0:
        raise ValueError(f"--window {window:g}: must be a positive time")
    # longer than the model's time it is never full, however long
    wanted = 0.2 * span if window is None else min(window, 2.0 * span)
    n_window = max(1, round(wanted / step)) if step > 0.0 else 1
    if joint and "windowed" in (limits or {}):
        raise ValueError("--limit windowed: there is no windowed form of the joint reliability")
    results = tuple(judge_site(site, tolerance, align=align, resample=resample, window=n_window) for site in sites)
    together = _together(results, joint)
    known = np.flatnonzero(np.isfinite(together.instantaneous.value))
    if not len(known):
        raise RecordingError("no instant of the model has a sample of every replicate: nothing can be judged")
    first, last = int(known[0]), int(known[-1]) + 1
    resolution = max(resolution_of(m.n_realizations) if isinstance(m, Ensemble) else 0.0 for m in models)
    estimates = {name: Estimate(*pair, resolution) for name, pair in together.last().items()}
    decision = decide(estimates, limits or {})
    notes = [note for result in results for note in result.notes]
    if len(known) < _HALF * len(instants):
        few = f"only {len(known)} of the model's {len(instants)} instants were judged"
        notes.append(f"{few}: check the unit of time, and how far the records reach")
        if len(known) < _FEW * len(instants):
            decision = Decision(Verdict.WATCH, few)
    cut = together.between(first, last)
    return Validation(instants[first:last], cut, results, len(known), str(tolerance), decision, tuple(notes))


def _together(results: Sequence[SiteResult], joint: bool) -> Reliability:
    if not joint:
        reliabilities = [result.reliability for result in results]
        return reliabilities[0] if len(reliabilities) == 1 else product(reliabilities)
    ensembles = [result.site.model for result in results if isinstance(result.site.model, Ensemble)]
    if len(ensembles) < len(results):
        raise ValueError("--joint: a prediction has no realizations in common with another site")
    tolerances = [result.tolerance for result in results]
    everything = JointReliability(ensembles, tolerances, [result.measured.shape[1] for result in results])
    return everything.update(np.arange(len(ensembles[0].time)), [result.measured for result in results])
