"""A validation as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from monitor.commands.json_values import number, numbers

if TYPE_CHECKING:
    from monitor.messages.blocks import Samples
    from monitor.reliability.curves import Reliability
    from replay.validation.site import SiteResult
    from replay.validation.validation import Validation


def as_json(found: Validation) -> dict[str, Any]:
    """Return the reliabilities over time, and what stands beside them; null where a value is not known."""
    shifts = [shift for site in found.sites for shift in site.shifts]
    return {
        "time": _row(found.time),
        **reliability_json(found.reliability),
        # each replicate has its own where they differ
        "shift_s": shifts[0] if len(set(shifts)) == 1 else None,
        "tolerance": found.tolerance,
        "judged": found.judged,
        "decision": {"verdict": found.decision.verdict.name.lower(), "reason": found.decision.reason},
        "sites": [_site(site) for site in found.sites],
        "notes": list(found.notes),
    }


def reliability_json(reliability: Reliability) -> dict[str, Any]:
    """Return each curve by its name, and the standard errors under one key."""
    from monitor.reliability.curves import NAMES

    curves = dict(zip(NAMES, reliability.curves, strict=True))
    return {
        **{name: _row(curve.value) for name, curve in curves.items()},
        "standard_error": {name: _row(curve.standard_error) for name, curve in curves.items()},
    }


def _site(result: SiteResult) -> dict[str, Any]:
    from monitor.reliability.ensemble import Ensemble

    model = result.site.model
    return {
        "model": model.name,
        "unit": model.unit,
        "realizations": model.n_realizations if isinstance(model, Ensemble) else None,
        "reliability": _at_end(result.reliability),
        "area": number(result.area),
        "u_area": number(result.u_area),
        "replicates": [
            {
                "name": record.name,
                "shift_s": shift,
                "lag_s": number(lag),
                "reliability": _at_end(alone),
                "measures": None if comparison is None else numbers(asdict(comparison)),
            }
            for record, shift, lag, alone, comparison in zip(
                result.site.records, result.shifts, result.lags, result.alone, result.comparisons, strict=True
            )
        ],
    }


def _at_end(reliability: Reliability) -> dict[str, Any]:
    """Return the values at the last instant that was judged, and their standard errors."""
    last = reliability.last()
    values = {name: number(value) for name, (value, _) in last.items()}
    return values | {"standard_error": {name: number(error) for name, (_, error) in last.items()}}


def _row(values: Samples) -> list[float | None]:
    return [number(value) for value in values.tolist()]
