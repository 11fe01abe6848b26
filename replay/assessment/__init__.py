"""Assessment of a recorded run: headline, statistics, series and warnings."""

from __future__ import annotations

from replay.assessment.results import (
    Assessment,
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
    "Contradiction",
    "Departure",
    "HeadlineEstimate",
    "PairAssessment",
    "RecordWarning",
    "Series",
    "Spread",
    "assess",
]
