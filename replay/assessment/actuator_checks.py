"""Several actuators side by side: whether they are equally late."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from replay.assessment.headline import delay_changes, milliseconds
from replay.assessment.results import PairAssessment, RecordWarning

# s, and standard deviations of both, from which two delays are different
_APART, _APART_SDS = 1e-3, 3.0


def actuator_warnings(pairs: Sequence[PairAssessment]) -> Iterator[RecordWarning]:
    """Say that the actuators of a record are not equally late; those whose own delay changes are left out."""
    known = sorted(
        ((p.pair.actuator, p.headline) for p in pairs if p.headline is not None and not delay_changes(p)),
        key=lambda each: each[1].delay,
    )
    known = [(name, headline) for name, headline in known if math.isfinite(headline.delay)]
    if len(known) < 2:
        return
    (first, least), (last, most) = known[0], known[-1]
    apart = most.delay - least.delay
    if apart > max(_APART, _APART_SDS * math.hypot(least.delay_sd, most.delay_sd)):
        yield RecordWarning(
            "actuators_differ",
            f"the actuators are not equally late: {first} {milliseconds(least.delay)} ms, {last} "
            f"{milliseconds(most.delay)} ms, {milliseconds(apart)} ms apart; compensate each by its own delay",
        )
