"""Standing alarms in the terminal: words and shapes, the gravest first, never more lines than there are."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from gui.terminal.alarm_lines import alarm_lines
from gui.terminal.screen import Screen
from monitor.messages.alarms import Alarm, AlarmState, Severity

WARN = Alarm(
    *("north.fdb_delay.warn", "fdb_delay", "north", "s", Severity.WARN),
    high=0.02,
    state=AlarmState.ACKNOWLEDGED,
    last=0.0312,
    time=12.0,
)
TRIP = Alarm(
    *("south.paei_ratio.trip", "paei_ratio", "south", "", Severity.TRIP),
    low=0.9,
    high=1.1,
    state=AlarmState.LATCHED_UNACKNOWLEDGED,
    last=1.0,
    time=9.0,
)
QUIET = Alarm("north.fdb_delay.trip", "fdb_delay", "north", "s", Severity.TRIP, high=0.05)


def test_what_stands_is_told_in_words_and_shapes_the_gravest_first() -> None:
    heading, first, second = (line.plain for line in alarm_lines([QUIET, WARN, TRIP], 110, 5))
    assert heading.startswith("─ alarms: ■ TRIP 1 · ▲ WARN 1, 1 unacknowledged ")
    assert "■ TRIP  south.paei_ratio  1 (alarm < 0.9 or > 1.1)  latched unacknowledged" in first
    assert "▲ WARN  north.fdb_delay  0.0312 s (alarm > 0.02 s)  acknowledged" in second


def test_where_nothing_stands_no_line_is_taken() -> None:
    assert list(alarm_lines([QUIET], 80, 5)) == []
    assert list(alarm_lines([], 80, 5)) == []


def test_the_lines_are_as_many_and_as_long_as_there_is_room() -> None:
    for room in range(5):
        lines = list(alarm_lines([TRIP, WARN] * 9, 30, room))
        assert len(lines) == room
        assert all(line.cell_len <= 30 for line in lines)


def shown(height: int, **options) -> list[str]:
    out = StringIO()
    console = Console(file=out, width=100, height=height, force_terminal=True, color_system=None)
    console.print(Screen(**options), height=height)
    return out.getvalue().rstrip("\n").split("\n")


def test_the_screen_shows_them_and_fills_no_more_than_it_is_given() -> None:
    for height in range(8, 40):
        lines = shown(height, alarms=[WARN, TRIP])
        assert len(lines) <= height
        text = "\n".join(lines)
        assert "alarms: ■ TRIP 1 · ▲ WARN 1" in text
        assert "south.paei_ratio" in text


def test_beside_an_alarm_for_what_was_lost_stands_no_later_count() -> None:
    state = AlarmState.UNACKNOWLEDGED
    lost = Alarm(
        "lost_data.warn", "health.lost", "", "samples", Severity.WARN, None, 0.0, state, active=True, last=0.0
    )
    (line,) = (line.plain for line in list(alarm_lines([lost], 110, 5))[1:])
    assert line.endswith("lost_data  unacknowledged")
