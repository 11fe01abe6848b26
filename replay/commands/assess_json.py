"""An assessment as the JSON that scripts read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from monitor.commands.json_values import criteria_json, number
from monitor.messages.headline import HEADLINE
from replay.commands.assess_table import group_of

if TYPE_CHECKING:
    from monitor.indicators.frequency_evaluation import FrequencyEvaluation
    from monitor.messages.blocks import Column
    from monitor.messages.transfer import TransferBlock
    from replay.assessment import Assessment, Headline, PairAssessment, Spread
    from replay.assessment.change_points import Course
    from replay.assessment.results import WholeRecord


def as_json(path: Path, assessment: Assessment, notes: list[str]) -> dict[str, Any]:
    """Return what one record's assessment says; times in ms, angles in rad, null where a value means nothing."""
    return {
        "file": str(path),
        "sample_rate": assessment.stream.sample_rate,
        "samples": assessment.samples,
        "duration_s": assessment.duration,
        "window_s": assessment.settings.window,
        "notes": notes,
        "warnings": [{"code": w.code, "actuator": w.actuator, "text": w.text} for w in assessment.warnings],
        "pairs": [_pair(found, assessment) for found in assessment.pairs],
    }


def _pair(found: PairAssessment, assessment: Assessment) -> dict[str, Any]:
    channels = assessment.stream.channels
    pair: dict[str, Any] = {
        "actuator": found.pair.actuator,
        "command": channels[found.pair.command].name,
        "measured": channels[found.pair.measured].name,
        "headline": _headline(found.headline),
    }
    for column in assessment.series.columns:
        if column.actuator != found.pair.actuator or column.name.startswith("fei_"):
            continue
        group = group_of(column.name)
        # the index of HSEM itself has no name of its own within its group
        name = "normalized" if column.name == group else column.name.removeprefix(f"{group}_")
        key, factor = _key(name, column)
        value: object = (
            number(factor * found.totals[column.name])
            if column.name in found.totals
            else _spread(found.spreads[column.name], factor)
        )
        (pair.setdefault(group, {}) if group else pair)[key] = value
    for group, how in found.contradicts.items():
        pair[group]["contradicts"] = number(how.fraction)
    pair |= _whole(found.whole)
    pair["transfer"] = _transfer(assessment.transfer, found.pair.actuator)
    pair["valid_fraction"] = found.valid_fraction
    return pair


def _headline(headline: Headline | None) -> dict[str, Any] | None:
    if headline is None:
        return None
    return {
        "indicator": HEADLINE,
        "delay_ms": number(1e3 * headline.delay),
        "delay_sd_ms": number(1e3 * headline.delay_sd),
        "ratio": number(headline.ratio),
        "ratio_sd": number(headline.ratio_sd),
        "valid_fraction": headline.valid_fraction,
        "delay_range_ms": headline.delay_range and [1e3 * delay for delay in headline.delay_range],
        "ratio_range": headline.ratio_range and [*headline.ratio_range],
        **_course("delay", headline.delay_course, 1e3, "_ms"),
        **_course("ratio", headline.ratio_course, 1.0, ""),
    }


def _course(name: str, course: Course, factor: float, unit: str) -> dict[str, Any]:
    """Return the changes of a value, steps and drifts; times in s after the record's first sample."""
    return {
        f"{name}_changes": [
            {
                "time_s": step.time,
                "time_uncertainty_s": step.time_uncertainty,
                f"from{unit}": factor * step.before,
                f"from_sd{unit}": factor * step.before_sd,
                f"to{unit}": factor * step.after,
                f"to_sd{unit}": factor * step.after_sd,
            }
            for step in course.steps
        ],
        f"{name}_drifts": [
            {
                "start_s": segment.start,
                "stop_s": segment.stop,
                f"from{unit}": factor * segment.first,
                f"to{unit}": factor * segment.last,
                f"sd{unit}": factor * segment.sd,
            }
            for segment in course.drifts
        ],
    }


def _key(name: str, column: Column) -> tuple[str, float]:
    if name.startswith("delay"):
        return f"{name}_ms", 1e3
    suffix = {"s": "_s", "rad": "_rad", "Hz": "_hz"}.get(column.unit, "")
    return name + suffix, 1.0


def _spread(spread: Spread, factor: float) -> dict[str, float | None]:
    return {name: number(factor * getattr(spread, name)) for name in ("median", "mean", "p05", "p95")}


def _whole(whole: WholeRecord) -> dict[str, Any]:
    return {
        "fei": _fei(whole.fei),
        "fei_tapered": _fei(whole.fei_tapered),
        "criteria": criteria_json(whole.criteria),
    }


def _fei(fei: FrequencyEvaluation) -> dict[str, float | None]:
    return {
        "ratio": number(fei.ratio),
        "phase_rad": number(fei.phase),
        "delay_ms": number(1e3 * fei.delay),
        "frequency_hz": number(fei.frequency),
    }


def _transfer(transfer: TransferBlock | None, actuator: str) -> dict[str, list[float | None]] | None:
    if transfer is None:
        return None
    known = np.isfinite(transfer.of(actuator, "coherence"))
    curves: dict[str, list[float | None]] = {"frequency_hz": [*transfer.frequency[known].tolist()]}
    for column in transfer.stream.columns:
        if column.actuator == actuator:
            key, factor = _key(column.name, column)
            values = transfer.of(actuator, column.name)[known]
            curves[key] = [number(factor * value) for value in values.tolist()]
    return curves
