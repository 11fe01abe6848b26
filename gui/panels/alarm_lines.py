"""Limits of alarms as lines of a row: dashed where they warn, solid where they trip."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gui.model.alarm_limits import WatchedLimit
from gui.plots.time.rows import Limit
from monitor.messages.alarms import Severity

Source = tuple[str, str]
"""An actuator or site, and the name of one of its results."""


def alarm_lines(
    watched: Iterable[WatchedLimit], labels: Mapping[Source, str], factor: float = 1.0
) -> tuple[Limit, ...]:
    """Return the lines of a row.

    Parameters
    ----------
    watched : all limits there are; those of other rows are left out.
    labels : of the row's curves, by what they show; empty for the one that is read first. A line says whose it is
        unless it holds for all of them.
    factor : of the values that are shown.
    """
    found: dict[tuple[Severity, float], list[str]] = {}
    for limit in watched:
        label = labels.get((limit.actuator, limit.value))
        for side in () if label is None else limit.sides:
            found.setdefault((limit.severity, side * factor), []).append(str(label))
    # those that trip are drawn over those that warn
    by_gravity = sorted(found.items(), key=lambda item: (item[0][0] is Severity.TRIP, item[0][1]))
    return tuple(
        Limit(value, _word(severity, owners, len(labels)), *_LOOKS[severity])
        for (severity, value), owners in by_gravity
    )


def _word(severity: Severity, owners: list[str], n_curves: int) -> str:
    told = [] if len(owners) >= n_curves else [owner for owner in owners if owner]
    return f"{severity.value} {', '.join(told)}".rstrip()


_LOOKS = {Severity.WARN: ("warn", False), Severity.TRIP: ("bad", True)}
