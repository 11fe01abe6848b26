"""Limits of alarms in the plots and on the tiles: at their places, in the panels' units, in place of the window's."""

import math
from dataclasses import replace

import pytest
from msgspec import structs

from gui.model.alarms import AlarmLimit, DisplayLimit
from gui.model.history import History
from gui.model.receiver import ReceivedMessages
from gui.model.severity import NO_LIMITS
from gui.panels.indicators import IndicatorsPanel
from gui.panels.limit_lines import alarm_lines
from gui.panels.reliability import ReliabilityPanel
from gui.panels.tiles import TilesPanel
from gui.plots.time.rows import LimitHandle, LimitLine
from gui.wording.level import Level
from monitor.messages.alarms import Alarm, AlarmReport, AlarmState, Severity
from tests.gui.shown import show_panel

S = AlarmState
WARN = Alarm("north.fdb_delay.warn", "fdb_delay", "north", "s", Severity.WARN, low=-0.02, high=0.02)
TRIP = structs.replace(WARN, name="north.fdb_delay.trip", severity=Severity.TRIP, low=None, high=0.05)


def limits_of(panel, key):
    (row,) = (row for row in panel.stack.rows if row.key == key)
    return {(f"{limit.word} {limit.owner}".rstrip(), round(limit.value, 9), limit.solid) for limit in row.limits}


def tell(panel, history, *alarms):
    history.update(ReceivedMessages(alarms=AlarmReport(alarms)))
    panel.refresh(history)


def test_the_services_limits_take_the_place_of_the_windows(qtbot, watched):
    panel = show_panel(qtbot, IndicatorsPanel, watched)
    assert limits_of(panel, "delay") == set()
    panel.set_limits({"delay": DisplayLimit("delay", 1.0), "phase": DisplayLimit("phase", 10.0)})
    panel.show_rows(["delay", "ratio", "phase"])
    own = limits_of(panel, "delay")
    # neither the words nor the colours of an alarm
    assert own == {("display limit", 1.0, False), ("display limit", -1.0, False)}
    assert not {line.colour for row in panel.stack.rows for line in row.limits} & {"warn", "bad"}
    assert limits_of(panel, "phase")
    tell(
        panel,
        watched,
        WARN,
        TRIP,
        structs.replace(WARN, name="r", value="paei_ratio", unit="", low=0.9, high=1.1),
        structs.replace(
            WARN, name="p", value="fdb_phase", unit="rad", low=None, high=math.radians(12.0), actuator="south"
        ),
    )
    assert limits_of(panel, "delay") == {
        ("warn FDB", 20.0, False), ("warn FDB", -20.0, False), ("trip FDB", 50.0, True),
    }  # fmt: skip
    assert limits_of(panel, "ratio") == {("warn PAEI", 0.9, False), ("warn PAEI", 1.1, False)}
    # of another actuator: here there is none, not even the window's own, which would look like the laboratory's
    assert limits_of(panel, "phase") == set()
    panel.view.select_actuator("south")
    assert limits_of(panel, "phase") == {("warn FDB", 12.0, False)}
    # of what is read first a line need not say whose it is
    panel.view.select_actuator("north")
    tell(panel, watched, WARN, structs.replace(WARN, name="b", value="broadband_delay", low=None, high=0.03))
    assert limits_of(panel, "delay") == {
        ("warn FDB", 20.0, False), ("warn FDB", -20.0, False), ("warn", 30.0, False),
    }  # fmt: skip
    # another service in its place watches something else, or nothing
    panel.view.select_actuator("north")
    tell(panel, watched, structs.replace(TRIP, high=0.03))
    assert limits_of(panel, "delay") == {("trip FDB", 30.0, True)}
    tell(panel, watched)
    assert limits_of(panel, "delay") == own


def test_lines_change_with_limits_and_not_with_values(qtbot, watched):
    panel = show_panel(qtbot, IndicatorsPanel, watched)
    tell(panel, watched, WARN)
    rows = panel.stack.rows
    tell(panel, watched, structs.replace(WARN, last=0.013, state=S.UNACKNOWLEDGED, active=True))
    assert panel.stack.rows is rows
    tell(panel, watched, structs.replace(WARN, state=S.OUT_OF_SERVICE))
    assert limits_of(panel, "delay") == set()


def test_a_line_says_whose_it_is_unless_it_is_everybodys():
    labels = {("north", "fdb_delay"): "north", ("south", "fdb_delay"): "south"}
    both = tuple(AlarmLimit("fdb_delay", name, Severity.WARN, None, 0.02) for name in ("north", "south"))
    assert alarm_lines(both, labels, 1e3) == (LimitLine(20.0, "warn", "warn", False),)
    assert alarm_lines(both[:1], labels, 1e3) == (LimitLine(20.0, "warn", "warn", False, "north"),)
    assert alarm_lines(both, {("roof", "fdb_delay"): "roof"}) == ()


def test_a_line_can_be_dragged_where_all_its_alarms_can_be_changed():
    labels = {("north", "fdb_delay"): "north", ("south", "fdb_delay"): "south"}
    north = AlarmLimit("fdb_delay", "north", Severity.WARN, -0.02, 0.02, "n.warn")
    south = replace(north, actuator="south", name="s.warn")
    low, high = alarm_lines((north, south), labels, 1e3)
    assert (high.handle, low.handle) == (
        LimitHandle(("n.warn", "s.warn"), True, 1e3),
        LimitHandle(("n.warn", "s.warn"), False, 1e3),
    )
    # one of them is not changeable, one has the value on its other side
    for other in (replace(south, name=""), replace(south, low=0.02, high=None)):
        lines = {line.value: line.handle for line in alarm_lines((north, other), labels, 1e3)}
        assert lines[20.0] is None
    # one that is pending is a line of its own
    moved = replace(south, high=0.03, pending=True)
    pending = {line.value: line.pending for line in alarm_lines((north, moved), labels, 1e3) if line.value > 0.0}
    assert pending == {20.0: False, 30.0: True}


def test_a_model_has_lines_where_its_reliability_is_watched(qtbot, judged):
    panel = show_panel(qtbot, ReliabilityPanel, judged)
    owner = panel.site
    assert limits_of(panel, f"reliability:{owner}") == set()
    of_model = structs.replace(
        WARN, name="m", value="reliability_accumulated", actuator=owner, low=0.85, high=None, unit=""
    )
    tell(panel, judged, of_model, structs.replace(of_model, name="n", severity=Severity.TRIP, low=0.7))
    assert limits_of(panel, f"reliability:{owner}") == {
        ("warn accum.", 0.85, False), ("trip accum.", 0.7, True),
    }  # fmt: skip


def contents(panel):
    return {tile.content.name: tile.content for tile in panel._grid.tiles}


def test_a_tile_shows_the_most_severe_active_alarm(qtbot, watched):
    watched.update(ReceivedMessages(health=replace(watched.health, state="receiving")), age=0.0)
    panel = show_panel(qtbot, TilesPanel, watched)
    watched.update(
        ReceivedMessages(
            alarms=AlarmReport(
                (
                    structs.replace(WARN, state=S.UNACKNOWLEDGED, active=True, last=0.061, time=9.0),
                    structs.replace(TRIP, state=S.ACKNOWLEDGED, active=True, last=0.061, time=8.0),
                    structs.replace(WARN, name="s", actuator="south", state=S.RETURNED, last=0.002),
                    structs.replace(TRIP, name="t", actuator="roof", state=S.SHELVED, active=True, last=0.061),
                )
            )
        ),
        age=0.0,
    )
    panel.refresh(watched)
    found = contents(panel)
    assert found["north"].severity.text == "■ TRIP: delay (FDB) 61 ms (+1 more)"
    assert (found["north"].level, found["north"].severity.active) == (Level.BAD, True)
    assert found["south"].severity.text == "▲ WARN: delay (FDB) back to normal" and found["south"].severity.active
    # a shelved alarm is neither active nor normal
    assert found["roof"].severity.text == "◷ shelved: delay (FDB)"
    assert (found["roof"].level, found["roof"].severity.active) == (Level.INFO, False)
    # the alarms at an instant in the past are not known
    panel.view.pin(watched.begin_x + 6.0)
    panel.refresh(watched)
    assert {content.severity for content in contents(panel).values()} == {NO_LIMITS}


def test_a_tile_is_normal_only_with_alarms_and_values(qtbot, watched):
    receiving = replace(watched.health, state="receiving")
    report = AlarmReport((WARN, structs.replace(WARN, name="o", actuator="south", state=S.OUT_OF_SERVICE)))
    watched.update(ReceivedMessages(health=receiving, alarms=report), age=0.0)
    panel = show_panel(qtbot, TilesPanel, watched)
    found = contents(panel)
    # whatever the size of a lead: without an active alarm nothing is coloured
    assert found["north"].status.words == "lead"
    assert (found["north"].severity.text, found["north"].level) == ("● normal: delay (FDB)", Level.GOOD)
    assert (found["south"].severity.text, found["south"].level) == ("◌ alarms out of service", Level.NONE)
    assert (found["roof"].severity, found["roof"].level) == (NO_LIMITS, Level.NONE)
    assert {value.level for content in found.values() for value in content.values} == {Level.NONE}
    # a service that is silent or stale is not normal; what was active remains active
    for state, level in (("stale", Level.BAD), ("waiting", Level.WARN)):
        watched.update(ReceivedMessages(health=replace(receiving, state=state)), age=0.0)
        panel.refresh(watched)
        assert (contents(panel)["north"].severity, contents(panel)["north"].level) == (NO_LIMITS, level)


@pytest.mark.parametrize(("state", "level"), [(S.NORMAL, Level.NONE), (S.UNACKNOWLEDGED, Level.BAD)])
def test_a_number_has_the_level_of_its_active_alarm(qtbot, watched, state, level):
    headline = structs.replace(TRIP, value="broadband_delay", state=state, active=state is not S.NORMAL, last=0.061)
    # of the numbers that are shown: FDB's delay is none of them, its phase is one
    active = structs.replace(TRIP, state=S.ACKNOWLEDGED, active=True, last=0.061)
    beside = structs.replace(active, name="f"), structs.replace(active, name="p", value="fdb_phase", unit="rad")
    watched.update(
        ReceivedMessages(health=replace(watched.health, state="receiving"), alarms=AlarmReport((headline, *beside))),
        age=0.0,
    )
    panel = show_panel(qtbot, TilesPanel, watched)
    delay, phase, ratio = contents(panel)["north"].values
    assert (delay.label, delay.level) == ("delay", level)
    assert (phase.label, phase.level, ratio.level) == ("phase", Level.BAD, Level.NONE)


@pytest.mark.parametrize(("value", "said"), [("broadband_delay", "delay"), ("fdb_delay", "delay (FDB)")])
def test_an_alarm_says_its_indicator_where_it_is_not_that_of_the_numbers(qtbot, watched, value, said):
    stands = structs.replace(TRIP, value=value, state=S.UNACKNOWLEDGED, active=True, last=0.061)
    health = replace(watched.health, state="receiving")
    watched.update(ReceivedMessages(health=health, alarms=AlarmReport((stands,))), age=0.0)
    assert contents(show_panel(qtbot, TilesPanel, watched))["north"].severity.text == f"■ TRIP: {said} 61 ms"


def test_a_history_without_word_of_alarms_has_none():
    history = History()
    assert history.alarms is None and history.limits == () and not history.summary.any_active


@pytest.mark.parametrize("source", ["broadband_delay", "paei_delay"])
def test_limits_of_the_headline_are_drawn_in_its_row_whoever_speaks(qtbot, watched, source):
    panel = show_panel(qtbot, IndicatorsPanel, watched)
    delay = structs.replace(TRIP, name="north.delay.trip", value="delay", source=source, changeable=True)
    ratio = structs.replace(
        TRIP, name="north.ratio.warn", value="ratio", unit="", low=0.9, high=1.1, severity=Severity.WARN
    )
    tell(panel, watched, delay, ratio)
    assert limits_of(panel, "delay") == {("trip", 50.0, True)}
    assert limits_of(panel, "ratio") == {("warn", 0.9, False), ("warn", 1.1, False)}
    (row,) = (row for row in panel.stack.rows if row.key == "delay")
    assert row.limits[0].handle.alarms == (delay.name,)
    # the dialog of its curve has them too, that of FDB's has not
    first, fdb = (panel.limit_subject("delay", curve.label) for curve in row.curves[:2])
    assert (("north", "delay") in first.results, ("north", "delay") in fdb.results) == (True, False)
    assert (first.watched, fdb.watched) == (True, False)
    panel.together.setChecked(True)
    panel.refresh(watched)
    assert limits_of(panel, "delay") == {("trip north", 50.0, True)}
    every = [structs.replace(delay, name=name, actuator=name) for name in watched.results.actuators]
    tell(panel, watched, *every)
    assert limits_of(panel, "delay") == {("trip", 50.0, True)}
