"""When the alarms of a run were not judged, from their recorded transitions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from monitor.messages.alarms import AlarmAction
from monitor.messages.blocks import Event


@dataclass(frozen=True, slots=True)
class Unjudged:
    """The times at which an alarm was not judged.

    Parameters
    ----------
    spans : begin and end of each, s in the run; none is empty.
    reasons : what was said, each once.
    """

    spans: tuple[tuple[float, float], ...]
    reasons: tuple[str, ...]

    @property
    def seconds(self) -> float:
        """Their total."""
        return covered(self.spans)


def unjudged_times(events: Iterable[tuple[Event, float]], first: float, last: float) -> dict[str, Unjudged]:
    """Return the times at which alarms were not judged, by the name of the alarm; others are not among them.

    Parameters
    ----------
    events : of the run, each with its time, s.
    first, last : of the run or of a part of it, s.
    """
    since: dict[str, tuple[float, str]] = {}
    found: dict[str, list[tuple[float, float, str]]] = {}

    def finish(name: str, until: float) -> None:
        begin, reason = since.pop(name, (until, ""))
        begin, until = max(begin, first), min(until, last)
        if until > begin:
            found.setdefault(name, []).append((begin, until, reason))

    for event, seconds in events:
        step = event.alarm
        if step is not None and step.action in (AlarmAction.LOSE_VALUE, AlarmAction.REGAIN_VALUE):
            finish(step.name, seconds)
            if step.action is AlarmAction.LOSE_VALUE:
                since[step.name] = seconds, step.not_judged
    for name in tuple(since):
        finish(name, last)
    return {
        name: Unjudged(
            tuple((begin, until) for begin, until, _ in spans), tuple(dict.fromkeys(reason for _, _, reason in spans))
        )
        for name, spans in found.items()
    }


def covered(spans: Iterable[tuple[float, float]]) -> float:
    """Return the length that intervals cover together."""
    total, reached = 0.0, float("-inf")
    for begin, end in sorted(spans):
        total += max(0.0, end - max(begin, reached))
        reached = max(reached, end)
    return total
