"""From settings to a plan: the ensembles are opened, the tolerances made, before the first sample comes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from monitor.config import ReliabilitySettings
from monitor.ensembles.reader import read_ensemble
from monitor.ensembles.tolerance_table import read_tolerance_table
from monitor.reliability.amount import check_units, read_amount
from monitor.reliability.decision import Limits
from monitor.reliability.ensemble import Ensemble
from monitor.reliability.plan import PlannedSite, ReliabilityPlan
from monitor.reliability.tolerance import Policy, Tolerance, ToleranceError

_SMALL = 0.05  # of its peak: where a response is smaller, a literal tolerance says little
_NEXT_TO_NOTHING = ", next to nothing where that is small: policy floored or peak knows that"


def open_plan(settings: ReliabilitySettings) -> ReliabilityPlan | None:
    """Return what the settings ask for; None if they name no channel.

    Raises
    ------
    ValueError : an ensemble or a tolerance cannot be used; the text begins with what it is about.
    """
    if not settings.channel:
        return None
    ensembles = [read_ensemble(Path(name)) for name in settings.ensemble]
    try:
        tolerances = _tolerances(settings, ensembles)
    except ToleranceError as problem:
        raise ToleranceError(f"reliability.tolerance: {problem}") from None
    sites, notes = [], []
    parts = zip(settings.channel, settings.ensemble, ensembles, tolerances, strict=True)
    for channel, name, ensemble, (tolerance, note) in parts:
        sites.append(PlannedSite(channel, ensemble, tolerance))
        notes.append(f"{channel} is judged by {ensemble.n_realizations} realizations in {name}, tolerance {note}")
    limits = {name: Limits(*pair) for name, pair in settings.limits if pair is not None}
    return ReliabilityPlan(
        tuple(sites), settings.window, settings.start, settings.shift, settings.after, limits, tuple(notes)
    )


def _tolerances(settings: ReliabilitySettings, ensembles: Sequence[Ensemble]) -> list[tuple[Tolerance, str]]:
    """Return the tolerance of each site, and what it is in words."""
    policy, value = _amount(settings)
    referred = settings.reference is not None and policy in (Policy.FLOORED, Policy.PEAK)
    # a reference is in the response's unit as well
    check_units(Policy.ABSOLUTE if referred else policy, [ensemble.unit for ensemble in ensembles])
    return [_tolerance(settings, policy, value, ensemble) for ensemble in ensembles]


def _amount(settings: ReliabilitySettings) -> tuple[Policy, float]:
    """Return the policy and its value, which a varying one does not have."""
    is_table = settings.policy is None and Path(str(settings.tolerance)).is_file()
    if is_table or settings.policy == "varying":
        return Policy.VARYING, float("nan")
    return read_amount(settings.tolerance, settings.policy)


def _tolerance(
    settings: ReliabilitySettings, policy: Policy, value: float, ensemble: Ensemble
) -> tuple[Tolerance, str]:
    if policy is Policy.VARYING:
        path = Path(str(settings.tolerance))
        return Tolerance(policy, profile=read_tolerance_table(path, ensemble.time)), f"as in {path}"
    unit = f" {ensemble.unit}".rstrip()
    if policy is Policy.ABSOLUTE:
        return Tolerance(policy, value), f"{value:g}{unit}"
    if policy is Policy.LITERAL:
        size = np.abs(ensemble.quantile(0.5))
        warning = "" if size.min() >= _SMALL * size.max() else _NEXT_TO_NOTHING
        return Tolerance(policy, value), f"{100.0 * value:g} % of the measurement{warning}"
    # the measurement is not there yet: what the model expects stands in for it
    mean = ensemble.mean
    expected = float(np.max(np.abs(mean)) if policy is Policy.PEAK else np.sqrt(np.mean(mean**2)))
    reference, whose = (settings.reference, "as set") if settings.reference else (expected, "the model's mean")
    least = "" if policy is Policy.PEAK else "the measurement, at least of "
    words = f"{100.0 * value:g} % of {least}{reference:.3g}{unit} ({whose})"
    return Tolerance(policy, value, np.array([reference])), words
