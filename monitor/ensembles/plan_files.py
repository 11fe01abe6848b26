"""Reliability plan from the settings: reads the ensembles and the tolerance table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from monitor.config import ReliabilitySettings
from monitor.ensembles.files import read_ensemble
from monitor.messages.blocks import Samples
from monitor.reliability.ensemble import Ensemble
from monitor.reliability.plan import DecisionLimits, ReliabilityPlan, ValidationSite
from monitor.reliability.tolerance import Tolerance, ToleranceError, TolerancePolicy, check_units, parse_tolerance
from monitor.system.files import check_regular

# only these: nothing is converted, and another header may mean other units
_HEADERS = (["time", "tolerance"], ["time[s]", "tolerance"])
_MAX_BYTES = 1 << 26
_MAX_QUOTED = 60  # characters of an invalid header


def read_tolerance_table(path: Path, instants: Samples) -> Samples:
    """Return the tolerance from a text table at the instants of an ensemble, linearly interpolated.

    Parameters
    ----------
    path : with the header ``time,tolerance`` or ``time [s],tolerance``; in s and the unit of the response.
    instants : (n_times,), s.

    Returns
    -------
    tolerance : (n_times,), in the unit of the response.

    Raises
    ------
    ToleranceError : the file is missing or has another header, or its times do not increase or do not cover the
        instants.
    """
    try:
        check_regular(path, _MAX_BYTES)
        text = path.read_text(encoding="utf-8-sig")
        header, *lines = text.splitlines() or [""]
        rows = [line.split(",") for line in lines if line.strip()]
        if ["".join(cell.split()).lower() for cell in header.split(",")] not in _HEADERS:
            raise ValueError(f"not {header[:_MAX_QUOTED]!r}")
        if not text.endswith("\n"):
            raise ValueError("its last line has no end and may be cut short: end it with a line break")
        time, tolerance = np.array(rows, dtype=np.float64).T
    except (OSError, ValueError) as problem:
        reason = str(problem).splitlines()[0]
        raise ToleranceError(
            f"{path}: must be a table with the header time,tolerance, in s and the response's unit ({reason})"
        ) from None
    if not (np.isfinite(tolerance).all() and (tolerance > 0.0).all()):
        raise ToleranceError(f"{path}: a tolerance must be positive at every instant")
    if not (np.diff(time) > 0.0).all():
        raise ToleranceError(f"{path}: time must increase from line to line")
    if not time[0] <= instants[0] <= instants[-1] <= time[-1]:
        raise ToleranceError(f"{path}: must cover {instants[0]:g} to {instants[-1]:g} s")
    return np.asarray(np.interp(instants, time, tolerance))


_SMALL_RESPONSE = 0.05  # of its peak; a literal tolerance of a smaller response is too small to be useful
_SMALL_NOTE = ", which is nearly zero where the measurement is: use policy floored or peak"


def open_plan(settings: ReliabilitySettings) -> ReliabilityPlan | None:
    """Return the plan that the settings describe; None if they name no channel.

    Raises
    ------
    ValueError : an ensemble or a tolerance cannot be used; the message begins with its file or setting.
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
        sites.append(ValidationSite(channel, ensemble, tolerance))
        notes.append(f"{channel} is compared with {ensemble.n_realizations} realizations in {name}, tolerance {note}")
    limits = {name: DecisionLimits(*pair) for name, pair in settings.limits if pair is not None}
    return ReliabilityPlan(
        tuple(sites), settings.window, settings.start, settings.shift, settings.after, limits, tuple(notes)
    )


def _tolerances(settings: ReliabilitySettings, ensembles: Sequence[Ensemble]) -> list[tuple[Tolerance, str]]:
    """Return the tolerance of each site, and its description."""
    policy, value = _policy_and_value(settings)
    referred = settings.reference is not None and policy in (TolerancePolicy.FLOORED, TolerancePolicy.PEAK)
    # the reference has the unit of the response
    check_units(TolerancePolicy.ABSOLUTE if referred else policy, [ensemble.unit for ensemble in ensembles])
    return [_tolerance(settings, policy, value, ensemble) for ensemble in ensembles]


def _policy_and_value(settings: ReliabilitySettings) -> tuple[TolerancePolicy, float]:
    """Return the policy and its value, NaN for a varying one."""
    is_table = settings.policy is None and Path(str(settings.tolerance)).is_file()
    if is_table or settings.policy == "varying":
        return TolerancePolicy.VARYING, float("nan")
    return parse_tolerance(settings.tolerance, settings.policy)


def _tolerance(
    settings: ReliabilitySettings, policy: TolerancePolicy, value: float, ensemble: Ensemble
) -> tuple[Tolerance, str]:
    if policy is TolerancePolicy.VARYING:
        path = Path(str(settings.tolerance))
        return Tolerance(policy, profile=read_tolerance_table(path, ensemble.time)), f"as in {path}"
    unit = f" {ensemble.unit}".rstrip()
    if policy is TolerancePolicy.ABSOLUTE:
        return Tolerance(policy, value), f"{value:g}{unit}"
    if policy is TolerancePolicy.LITERAL:
        size = np.abs(ensemble.quantile(0.5))
        warning = "" if size.min() >= _SMALL_RESPONSE * size.max() else _SMALL_NOTE
        return Tolerance(policy, value), f"{100.0 * value:g} % of the measurement{warning}"
    # the measurement is not known yet: the mean of the model takes its place
    mean = ensemble.mean
    expected = float(np.max(np.abs(mean)) if policy is TolerancePolicy.PEAK else np.sqrt(np.mean(mean**2)))
    reference, origin = (settings.reference, "as set") if settings.reference else (expected, "mean of the model")
    least = "" if policy is TolerancePolicy.PEAK else "the measurement, at least of "
    description = f"{100.0 * value:g} % of {least}{reference:.3g}{unit} ({origin})"
    return Tolerance(policy, value, np.array([reference])), description
