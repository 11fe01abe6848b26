"""Ranking of actuators: by the severity of their alarms, else by the size of a result."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from gui.model.results import ResultHistory
from gui.wording.event_text import severity_level
from gui.wording.level import Level
from monitor.messages.alarms import Alarm
from monitor.messages.blocks import Samples

_BUCKETS = 256
_KEEP = 1.25  # factor by which another actuator must be larger to replace one that is shown


@dataclass(frozen=True, slots=True)
class RankedResult:
    """A result of several actuators.

    Parameters
    ----------
    name : of the result.
    actuators : that have it.
    ideal : its value for perfect tracking.
    """

    name: str
    actuators: tuple[str, ...]
    ideal: float = 0.0


def severities(alarms: Iterable[Alarm]) -> dict[str, int]:
    """Return 3 for each actuator with an active trip alarm, else 2 for a warning, 1 for one that is not judged."""
    found: dict[str, int] = {}
    for alarm in alarms:
        rank = 1 if alarm.not_judged else 0
        if alarm.is_annunciated:
            rank = 3 if severity_level(alarm.severity) is Level.BAD else 2
        if rank:
            found[alarm.actuator] = max(rank, found.get(alarm.actuator, 0))
    return found


def worst(
    results: ResultHistory, ranked: RankedResult, left: float, right: float, most: int, severity: dict[str, int],
    shown: Sequence[str] = (),
) -> tuple[str, ...]:  # fmt: skip
    """Return the `most` actuators with the most severe alarms and, of equal severity, the largest deviation in view.

    Parameters
    ----------
    left, right : the view, s on the display's axis.
    severity : by actuator; see `severities`.
    shown : those returned before; they remain where others are about as large, and keep their order.
    """
    size = dict(zip(ranked.actuators, _largest(results, ranked, left, right).tolist(), strict=True))

    def rank(actuator: str) -> tuple[int, float]:
        return severity.get(actuator, 0), size[actuator] * (_KEEP if actuator in shown else 1.0)

    # sorting is stable: equal ones are in the order of the actuators
    found = sorted(ranked.actuators, key=rank, reverse=True)[:most]
    return tuple(shown) if set(found) == set(shown) else tuple(found)


def _largest(results: ResultHistory, ranked: RankedResult, left: float, right: float) -> Samples:
    """Return the largest deviation from the ideal value in view, (n_actuators,); -1 where there is no value."""
    found = results.envelope(left, right, _BUCKETS, [(actuator, ranked.name) for actuator in ranked.actuators])
    if not len(found):
        return np.full(len(ranked.actuators), -1.0)
    size = np.fmax(np.abs(found.low - ranked.ideal), np.abs(found.high - ranked.ideal))
    largest: Samples = np.nan_to_num(np.fmax.reduce(size, axis=0), nan=-1.0)
    return largest
