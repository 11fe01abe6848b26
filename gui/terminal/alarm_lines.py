"""The alarms that stand: how many, and one line for each that has room."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from gui.model.alarm_summary import in_order, summary
from gui.wording.alarm_text import counted_before, severity_shape, severity_word
from gui.wording.instant_text import instant_text
from monitor.alarms.text import reading
from monitor.messages.alarms import Alarm, Severity

_STYLES = {Severity.WARN: "yellow", Severity.TRIP: "bold red"}


def alarm_lines(alarms: Sequence[Alarm], width: int, room: int, *, silent: str = "") -> Iterator[Text]:
    """Give a heading, and the alarms that matter most; nothing where none stands, or there is no room for a line.

    Parameters
    ----------
    alarms : all of the service.
    width : characters.
    room : lines at the most.
    silent : a word that says that the alarms are old; empty when they are not.
    """
    found = summary(alarms)
    if not found.stands or room < 1:
        return
    heading = f"─ alarms: {found.words}"
    if found.unacknowledged:
        heading += f", {found.unacknowledged} unacknowledged"
    if silent:
        heading += f" ({silent})"
    style = _STYLES[Severity.TRIP if found.trips else Severity.WARN]
    yield _cut(Text(f"{heading} ".ljust(width, "─"), style=style), width)
    for alarm in in_order(alarm for alarm in alarms if alarm.standing)[: room - 1]:
        line = Text(f"{instant_text(alarm.time):>10}  ", style="dim")
        line.append(
            f"{severity_shape(alarm.severity)} {severity_word(alarm.severity)}  ",
            style=f"not dim {_STYLES[alarm.severity]}",
        )
        line.append(alarm.name.removesuffix(f".{alarm.severity}"), style="not dim bold")
        line.append(f"{_value(alarm)}  {alarm.state.replace('_', ' ')}", style="not dim")
        yield _cut(line, width)


def _value(alarm: Alarm) -> str:
    if alarm.last is None or counted_before(alarm):
        return ""
    sides = (("<", alarm.low), (">", alarm.high))
    limits = " or ".join(f"{sign} {reading(limit, alarm.unit)}" for sign, limit in sides if limit is not None)
    return f"  {reading(alarm.last, alarm.unit)}" + (f" (alarm {limits})" if limits else "")


def _cut(line: Text, width: int) -> Text:
    line.no_wrap, line.overflow = True, "ellipsis"
    line.truncate(width, overflow="ellipsis")
    return line
