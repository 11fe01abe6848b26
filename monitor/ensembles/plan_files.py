"""From settings to a plan: the ensembles are opened, the tolerances made, before the first sample comes."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from monitor.blocks import Samples
from monitor.config import ReliabilitySettings
from monitor.ensembles.reader import read_ensemble
from monitor.reliability.amount import read_amount
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
    sites, notes = [], []
    for channel, name in zip(settings.channel, settings.ensemble, strict=True):
        ensemble = read_ensemble(Path(name))
        try:
            tolerance, note = _tolerance(settings, ensemble)
        except ToleranceError as problem:
            raise ToleranceError(f"reliability.tolerance: {problem}") from None
        sites.append(PlannedSite(channel, ensemble, tolerance))
        notes.append(f"{channel} is judged by {ensemble.n_realizations} realizations in {name}, tolerance {note}")
    limits = {name: Limits(*pair) for name, pair in settings.limits if pair is not None}
    return ReliabilityPlan(
        tuple(sites), settings.window, settings.start, settings.shift, settings.after, limits, tuple(notes)
    )


def _tolerance(settings: ReliabilitySettings, ensemble: Ensemble) -> tuple[Tolerance, str]:
    """Return the tolerance, and what it is in words."""
    if settings.policy == "varying":
        path = str(settings.tolerance)
        return Tolerance(Policy.VARYING, profile=_profile(path, ensemble)), f"as in {path}"
    policy, value = read_amount(settings.tolerance, settings.policy)
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


def _profile(path: str, ensemble: Ensemble) -> Samples:
    try:
        rows = [line.split(",") for line in Path(path).read_text(encoding="utf-8").splitlines()[1:] if line.strip()]
        time, tolerance = np.array(rows, dtype=np.float64).T
    except (OSError, ValueError) as problem:
        reason = str(problem).splitlines()[0]
        raise ToleranceError(f"{path}: must be a table of time,tolerance with a header ({reason})") from None
    if not (np.diff(time) > 0.0).all():
        raise ToleranceError(f"{path}: time must rise from line to line")
    if not time[0] <= ensemble.time[0] <= ensemble.time[-1] <= time[-1]:
        raise ToleranceError(f"{path}: must reach from {ensemble.time[0]:g} to {ensemble.time[-1]:g} s")
    return np.asarray(np.interp(ensemble.time, time, tolerance))
