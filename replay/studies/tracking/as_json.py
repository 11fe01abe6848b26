"""The study of the tracking indicators as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from monitor.commands.json_values import criteria_json

if TYPE_CHECKING:
    from replay.studies.tracking.plant import PlantResponse, PlantStudy
    from replay.studies.tracking.printed import PrintedFigure
    from replay.studies.tracking.study import CaseStudy, Reading, TrackingStudy


def as_json(study: TrackingStudy) -> dict[str, Any]:
    """Return the study; SI and rad but for the criteria, which name their units.

    ``paper`` has the units of its numbers beside them.
    """
    found: dict[str, Any] = {"study": "tracking", "cases": [_case(case) for case in study.cases]}
    if study.growth is not None:
        found["growth_from_ii_a_to_ii_b"] = study.growth
    if study.noise is not None:
        found["noise"] = study.noise
    if study.plant is not None:
        found["plant"] = _plant(study.plant)
    return found


def _case(study: CaseStudy) -> dict[str, Any]:
    from replay.studies.tracking.printed import printed_figures

    case, pair = study.case, study.assessment.pairs[0]
    return {
        "case": case.name,
        "title": case.title,
        "virtual": case.virtual,
        "sample_rate": case.sample_rate,
        "window_s": study.assessment.settings.window,
        "known": {reading.column: reading.known for reading in study.readings},
        "indicators": {reading.column: _reading(reading) for reading in study.readings},
        "totals": pair.totals,
        "fei": pair.whole.fei._asdict(),
        "fei_tapered": pair.whole.fei_tapered._asdict(),
        "criteria": criteria_json(pair.whole.criteria) | _resolution(case.sample_rate),
        "paper": {figure.name: _printed(figure) for figure in printed_figures(study)},
    }


def _reading(reading: Reading) -> dict[str, float]:
    return {name: getattr(reading, name) for name in ("mean", "deviation", "error", "worst")}


def _printed(figure: PrintedFigure) -> dict[str, Any]:
    """Return a printed number and ours, in the unit that stands beside them."""
    return {name: value for name, value in asdict(figure).items() if name != "name"}


def _plant(study: PlantStudy) -> dict[str, Any]:
    from replay.studies.tracking.plant import PUBLISHED_RATE, RATE

    transfer = study.transfer
    known = np.isfinite(transfer.of("plant", "coherence"))
    curves = {
        "frequency_hz": transfer.frequency,
        "ratio": transfer.of("plant", "ratio"),
        "phase": transfer.of("plant", "phase"),
        "coherence": transfer.of("plant", "coherence"),
        "known_ratio": 1.0 / np.abs(study.known_transfer),
        "known_phase": np.angle(study.known_transfer),
        "continuous_ratio": 1.0 / np.abs(study.continuous_transfer),
        "continuous_phase": np.angle(study.continuous_transfer),
    }
    return {
        "responses": [_response(row) for row in study.responses],
        "sines": study.sines,
        "transfer": {name: curve[known] for name, curve in curves.items()},
        "criteria": criteria_json(study.criteria) | _resolution(RATE),
        "criteria_at_4096_hz": criteria_json(study.criteria_published) | _resolution(PUBLISHED_RATE),
    }


def _response(row: PlantResponse) -> dict[str, Any]:
    continuous, published, held = row.delays()
    return {
        "frequency_hz": row.frequency,
        "ratio_continuous": 1.0 / abs(row.continuous),
        "ratio_held": 1.0 / abs(row.held),
        "delay_continuous_s": continuous,
        "delay_held_at_4096_hz_s": published,
        "delay_held_at_1024_hz_s": held,
    }


def _resolution(sample_rate: float) -> dict[str, float]:
    """Return how finely J1 is told: it is a whole number of samples."""
    return {"j1_resolution_ms": 1000.0 / sample_rate}
