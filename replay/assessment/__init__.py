"""A recorded run -> what the indicators say of it: the headline, the statistics, the series and the warnings."""

from __future__ import annotations

from replay.assessment.results import (
    Assessment,
    Contradiction,
    Headline,
    PairAssessment,
    RecordWarning,
    Series,
    Spread,
)
from replay.assessment.run import assess

__all__ = ["Assessment", "Contradiction", "Headline", "PairAssessment", "RecordWarning", "Series", "Spread", "assess"]
