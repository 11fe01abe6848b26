"""Sections of the dashboard: sparklines, alarms, and model reliability at every width, old or missing."""

from __future__ import annotations

import io
import math
from io import StringIO

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from msgspec.structs import replace
from rich.console import Console, Group

from gui.model.results import ResultHistory
from gui.terminal.dashboard import Screen
from gui.terminal.sections import alarm_lines, decision, reliability_lines, sparkline
from monitor.messages.alarms import Alarm, AlarmState, Severity
from monitor.messages.blocks import Column, ResultStream

VALUES = {
    "model_low": 0.2,
    "model_median": 0.3,
    "model_high": 0.4,
    "reliability_first_passage": 0.591,
    "reliability_first_passage_se": 0.0016,
    "reliability_accumulated": 0.942,
    "reliability_accumulated_se": 0.0003,
    "reliability_windowed": 0.977,
    "reliability_windowed_se": 0.0004,
}
WIDTHS = [60, 80, 100, 110, 140, 200]


def judged(sites=("deflection",), n=200, decided=1.0, epoch=1, **changes):
    """Return the results of sites with these values, all the time, and a decision at the last."""
    values = VALUES | changes
    columns = [Column(name, "", site) for site in sites for name in values]
    columns.append(Column("reliability_decision", "1", sites[-1]))
    results = ResultHistory(ResultStream("rig", epoch, 20.0, 1, tuple(columns)), minutes=1.0, memory=8 << 20)
    row = [*values.values()] * len(sites) + [decided]
    results.append(0.0, np.tile(row, (n, 1)))
    return results


def silence(results, n=1):
    """Add rows that mean nothing."""
    results.append(10.0, np.full((n, len(results.columns)), np.nan))
    return results


def drawn(results, width, styles=False, silent=""):
    console = Console(file=io.StringIO(), record=True, width=width, force_terminal=True, color_system="standard")
    # one by one, print would join them and let them wrap
    console.print(Group(*reliability_lines(results, width, silent=silent)))
    return console.export_text(styles=styles).splitlines()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("decided", [1.0, np.nan])
def test_each_site_has_one_line_that_fits(width, decided):
    for sites in (("deflection",), ("a", "strain at midspan of the north beam", "all sites")):
        heading, *lines = drawn(judged(sites, decided=decided), width)
        assert len(lines) == len(sites)
        assert len(heading) == width
        assert all(len(line.rstrip()) <= width and "…" not in line[14:] for line in lines)
        for name, line in zip(sites, lines, strict=True):
            assert line.startswith(name if len(name) <= 14 else "…he north beam")
            # each number stands under its name
            for words, number in (("first-passage", "0.591 ±0.0016"), ("accumulated", "0.942 ±0.0003")):
                assert line[heading.index(words) :].startswith(number)
        assert ("● accept" in lines[-1]) == (decided == 1.0)
        assert not any("accept" in line for line in lines[:-1])


def test_more_room_tells_more():
    lines = {width: "\n".join(drawn(judged(), width)) for width in WIDTHS}
    assert "windowed" not in lines[60] and "0.977" not in lines[60]
    assert all("windowed" in lines[width] and "0.977 ±0.0004" in lines[width] for width in WIDTHS[1:])
    assert [lines[width].count("▄") for width in WIDTHS] == [8, 13, 24, 24, 24, 24]


@pytest.mark.parametrize("width", [1, 10, 30])
def test_what_is_too_narrow_is_cut_and_does_not_wrap(width):
    assert len(drawn(judged(), width)) == 2


@pytest.mark.parametrize(
    ("value", "word", "colour"), [(1.0, "● accept", "32"), (0.0, "▲ watch", "33"), (-1.0, "■ reject", "31")]
)
def test_a_decision_is_a_word_and_a_colour(value, word, colour):
    results = judged(decided=value)
    (line,) = drawn(results, 100, styles=True)[1:]
    assert f"\x1b[1;{colour}m  {word}" in line
    assert decision(results, "deflection") == word[2:]


@pytest.mark.parametrize("value", [2.0, -7.0, 0.5, np.inf, -np.inf])
def test_a_decision_that_is_none_is_a_dash(value):
    results = judged(decided=value)
    (line,) = drawn(results, 80)[1:]
    assert "0.942 ±0.0003" in line and line.split().count("—") == 1
    assert decision(results, "deflection") == "—"


def test_before_the_first_value_there_are_dashes():
    nothing = dict.fromkeys(VALUES, np.nan)
    results = judged(decided=np.nan, **nothing)
    assert drawn(results, 100)[1].split() == ["deflection", "—", "—", "—"]
    assert decision(results, "deflection") == decision(results, "nowhere") == ""


def test_a_single_realization_has_no_standard_error():
    (line,) = drawn(judged(reliability_first_passage_se=np.nan), 100)[1:]
    assert line.split()[:4] == ["deflection", "0.591", "0.942", "±0.0003"]


def test_values_that_stay_after_the_ensembles_end_are_dim():
    now, after = judged(), silence(judged())
    assert drawn(now, 100) == drawn(after, 100)
    assert "\x1b[2m" not in drawn(now, 100, styles=True)[1]
    assert "\x1b[2m  0.591" in drawn(after, 100, styles=True)[1]


@pytest.mark.parametrize("word", ["stale", "no data"])
def test_old_values_are_not_shown_as_current(word):
    _, *lines = drawn(judged(("a", "b", "all sites")), 100, silent=word)
    assert [line.split(maxsplit=1)[1] if "all" not in line else line[9:].strip() for line in lines] == [word] * 3


def test_nothing_that_a_rig_says_is_taken_for_markup():
    assert "[bold]" in drawn(judged(("[bold]",)), 100)[1]


def test_the_curve_begins_with_the_first_value():
    stream = judged().stream
    rising = np.full((200, len(stream.columns)), np.nan)
    rising[:, [c.name for c in stream.columns].index("reliability_accumulated")] = np.linspace(0.0, 1.0, 200)
    results = ResultHistory(stream, minutes=1.0, memory=8 << 20)
    results.append(0.0, rising)
    (line,) = drawn(results, 140)[1:]
    curve = line[-24:] if len(line) >= 24 else line
    assert curve.strip()[0] == "▁" and curve.strip()[-1] == "▇"
    assert len(curve.strip()) == 24


def test_a_ramp_climbs_all_bars():
    line = sparkline(np.arange(700.0), 7)
    assert line.text == "▁▂▃▄▅▆▇"
    assert (line.low, line.high) == (49.5, 649.5)


def test_gaps_are_blank_and_a_span_is_at_least_that():
    trace = np.array([np.nan, np.nan, 1.0, 1.0, 1.1, np.nan])
    line = sparkline(trace, 6, least_span=2.0)
    assert [character == " " for character in line.text] == [True, True, False, False, False, True]
    assert line.high - line.low == pytest.approx(2.0)
    assert set(line.text) <= set(" ▃▄▅")
    assert sparkline(np.full(5, np.nan), 3).text == "   "


@given(arrays(np.float64, st.integers(1, 50), elements=st.floats(-1e9, 1e9) | st.just(math.nan)), st.integers(1, 60))
def test_a_line_is_as_wide_as_asked(trace, width):
    line = sparkline(trace, width)
    assert len(line.text) == width
    assert (line.text.strip() == "") == bool(np.isnan(trace).all())


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


def test_what_is_not_judged_is_told_after_what_stands_with_its_reason() -> None:
    paused = replace(QUIET, state=AlarmState.NOT_JUDGED, not_judged="broadband paused: overload")
    heading, first, second = (line.plain for line in alarm_lines([paused, WARN], 110, 5))
    assert heading.startswith("─ alarms: ▲ WARN 1, 1 not judged ")
    assert "▲ WARN" in first and "⊘ TRIP  north.fdb_delay  not judged: broadband paused: overload" in second
    heading, only = (line.plain for line in alarm_lines([paused], 110, 5))
    assert heading.startswith("─ alarms: 1 not judged ") and "⊘" in only
    lost = replace(WARN, not_judged="no data", last=None)
    assert list(alarm_lines([lost], 110, 5))[1].plain.endswith("north.fdb_delay  acknowledged, not judged: no data")
