"""Limit lines of a row: those of the alarms of the service, and the display limits of the window."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from gui.model.alarms import LIMITED_QUANTITIES, AlarmLimit, DisplayLimits, display_limits_apply
from gui.plots.time.rows import LimitHandle, LimitLine
from monitor.messages.alarms import Severity

ResultKey = tuple[str, str]
"""Actuator or site, and name of one of its results."""


@dataclass(frozen=True, slots=True)
class LimitSubject:
    """A curve whose limits can be edited.

    Parameters
    ----------
    name : of the curve, for messages.
    results : that it shows.
    quantity : that display limits are for; empty: none.
    watched : an alarm is on it.
    has_limits : it is watched, or its display limits apply.
    """

    name: str
    results: tuple[ResultKey, ...] = ()
    quantity: str = ""
    watched: bool = False
    has_limits: bool = False


def limit_subject(
    name: str, results: tuple[ResultKey, ...], quantity: str, limits: Iterable[AlarmLimit]
) -> LimitSubject:
    """Return a curve with its results; it has limits where an alarm or, without alarms, a display limit can be."""
    limits = tuple(limits)
    of_window = quantity if quantity in LIMITED_QUANTITIES else ""
    watched = any((limit.actuator, limit.value) in results for limit in limits)
    return LimitSubject(
        name, results, of_window, watched, watched or bool(of_window and display_limits_apply(limits))
    )


def on_headline(limits: Iterable[AlarmLimit], quantity: str, first: Mapping[str, str]) -> tuple[AlarmLimit, ...]:
    """Return the limits, those of the headline `quantity` on the first curve of its row.

    Parameters
    ----------
    first : name of the result of that curve, by actuator.
    """
    return tuple(
        replace(limit, value=first.get(limit.actuator, quantity)) if limit.value == quantity else limit
        for limit in limits
    )


def alarm_lines(
    limits: Iterable[AlarmLimit],
    labels: Mapping[ResultKey, str],
    factor: float = 1.0,
    in_band: Collection[ResultKey] = (),
) -> tuple[LimitLine, ...]:
    """Return the limit lines of a row.

    Parameters
    ----------
    limits : of all alarms; those of other rows are ignored.
    labels : of the row's curves by their result; empty for the main one. A line is labelled with its curves unless it
        holds for all of them.
    factor : from results to displayed values.
    in_band : results of the row that have no curve of their own: lines for them alone are omitted.
    """
    found: dict[tuple[Severity, float, bool], list[ResultKey]] = {}
    alarms: dict[tuple[Severity, float, bool], set[tuple[str, bool]]] = {}
    for limit in limits:
        key = limit.actuator, limit.value
        for side in limit.sides if key in labels or key in in_band else ():
            at = limit.severity, side * factor, limit.pending
            found.setdefault(at, []).append(key)
            alarms.setdefault(at, set()).add((limit.name, side == limit.high))
    n_curves = len(labels) + len(in_band)
    # trip limits are drawn over warn limits
    by_severity = sorted(found.items(), key=lambda item: (item[0][0] is Severity.TRIP, item[0][1]))
    return tuple(
        LimitLine(
            value,
            severity.value,
            *_LIMIT_STYLES[severity],
            owner="" if len(keys) >= n_curves else ", ".join(filter(None, map(labels.get, keys))),
            handle=_handle(alarms[severity, value, pending], factor),
            pending=pending,
        )
        for (severity, value, pending), keys in by_severity
        if len(keys) >= n_curves or any(key in labels for key in keys)
    )


def display_lines(limits: DisplayLimits, quantity: str, unit: str) -> tuple[LimitLine, ...]:
    """Return the lines of the limits of the window on a quantity, on both sides of its ideal value."""
    limit = limits.get(quantity)
    if limit is None or (quantity == "ratio" and unit != "1"):
        return ()
    ideal, scale = (1.0, 0.01) if quantity == "ratio" else (0.0, 1.0)
    return tuple(
        LimitLine(ideal + sign * scale * value, "display limit", "muted")
        for value in (limit.warn, limit.trip)
        if math.isfinite(value)
        for sign in (1.0, -1.0)
    )


def _handle(alarms: Collection[tuple[str, bool]], factor: float) -> LimitHandle | None:
    """Return the handle of a line; None where one of its alarms cannot be changed, or has it on another side."""
    names = tuple(sorted(name for name, _ in alarms))
    sides = {upper for _, upper in alarms}
    return LimitHandle(names, sides.pop(), factor) if all(names) and len(sides) == 1 else None


_LIMIT_STYLES = {Severity.WARN: ("warn", False), Severity.TRIP: ("bad", True)}
