"""Alarms as a table for a reader."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from rich.console import Console
from rich.table import Table
from rich.text import Text

from monitor.alarms.text import reading
from monitor.messages.alarms import Alarm, Severity

_STYLES = {Severity.WARN: "yellow", Severity.TRIP: "bold red"}
_SHAPES = {Severity.WARN: "▲", Severity.TRIP: "■"}


def print_alarms(alarms: Iterable[Alarm]) -> None:
    """Print them, those that are to be seen first."""
    # in a pipe Rich takes 80 columns for granted, and cuts the names
    console = Console(soft_wrap=True, width=None if sys.stdout.isatty() else 140)
    table = Table()
    for heading in ("", "alarm", "state", "value", "normal", "since s", "advice"):
        table.add_column(heading, justify="right" if heading in ("value", "since s") else "left")
    for alarm in sorted(alarms, key=lambda a: (not a.standing, not a.needs_acknowledgement, a.severity, a.name)):
        seen = alarm.standing
        table.add_row(
            _SHAPES[alarm.severity] if seen else "",
            Text(alarm.name),
            state(alarm),
            "—" if alarm.last is None else Text(reading(alarm.last, alarm.unit)),
            Text(normal(alarm)),
            f"{alarm.time:.3f}" if seen else "",
            Text(alarm.advice if seen else ""),
            style=_STYLES[alarm.severity] if seen else "dim",
        )
    console.print(table if table.row_count else "this monitor has no alarms")


def state(alarm: Alarm) -> str:
    """Return where it is in its life, in words."""
    words = alarm.state.replace("_", " ")
    return f"{words} for {alarm.shelved_for:.0f} s" if alarm.shelved_for else words


def normal(alarm: Alarm) -> str:
    """Return the normal range in words."""
    low, high = (None if limit is None else reading(limit, alarm.unit) for limit in (alarm.low, alarm.high))
    if low is not None and high is not None:
        return f"{low} to {high}"
    if low is not None:
        return f"at least {low}"
    return "" if high is None else f"at most {high}"
