"""Assessment of a recorded run: headline, statistics, series and warnings."""

from __future__ import annotations

from replay.assessment.results import (
    Assessment,
    CompensatorSummary,
    Contradiction,
    Departure,
    HeadlineEstimate,
    PairAssessment,
    RecordWarning,
    Series,
    Spread,
)
from replay.assessment.run import assess

__all__ = [
    "Assessment",
    "CompensatorSummary",
    "Contradiction",
    "Departure",
    "HeadlineEstimate",
    "PairAssessment",
    "RecordWarning",
    "Series",
    "Spread",
    "assess",
]
