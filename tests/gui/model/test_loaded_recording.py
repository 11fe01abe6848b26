"""Alarms at an instant of a recording, by their recorded transitions and the values then."""

from __future__ import annotations

import math

import numpy as np
import pytest
from msgspec.structs import replace

from gui.model.loaded_recording import RecordedStates
from gui.model.results import ResultHistory
from monitor.messages.alarms import Alarm, AlarmAction, AlarmState, Severity, Transition
from monitor.messages.blocks import Column, Event, ResultStream

S, A = AlarmState, AlarmAction
RATE = 10.0
# as the settings define it: the alarm of a service that has just started
ALARM = Alarm(
    "n.delay.warn", "delay", "n", "s", Severity.WARN, -0.04, 0.04, S.NOT_JUDGED, not_judged="no value yet",
    source="broadband_delay",
)  # fmt: skip


def results(broadband, paei) -> ResultHistory:
    """Return ten seconds of results."""
    columns = Column("broadband_delay", "s", "n"), Column("paei_delay", "s", "n")
    found = ResultHistory(ResultStream("rig", 1, RATE, 1, columns), 1.0, 1 << 20, math.inf, 60.0)
    found.append(0.0, np.tile([broadband, paei], (100, 1)))
    return found


def states(*steps) -> RecordedStates:
    found = RecordedStates()
    found.configure([ALARM])
    for x, action, previous, state, reason in steps:
        step = Transition(1, ALARM.name, Severity.WARN, action, previous, state, x, 0, None, 0.04, "s", reason)
        found.add_event(x, Event.of_alarm(step))
    return found


LOST = (3.0, A.LOSE_VALUE, S.NORMAL, S.NOT_JUDGED, "not judged: broadband paused: overload")
BACK = (6.0, A.REGAIN_VALUE, S.NOT_JUDGED, S.NORMAL, "judged again")


@pytest.mark.parametrize(
    ("steps", "x", "values", "expected"),
    [
        # without a transition: by its value
        ((), 5.0, (0.01, 0.02), (S.NORMAL, "", 0.01, "broadband_delay")),
        ((), 5.0, (math.nan, 0.02), (S.NORMAL, "", 0.02, "paei_delay")),
        ((), 5.0, (math.nan, math.nan), (S.NOT_JUDGED, "no value at this instant", None, "broadband_delay")),
        # what was not judged then is not judged now, though its value has been computed since
        ((LOST, BACK), 2.0, (0.01, 0.02), (S.NORMAL, "", 0.01, "broadband_delay")),
        ((LOST, BACK), 5.0, (0.01, 0.02), (S.NOT_JUDGED, "broadband paused: overload", None, "")),
        ((LOST, BACK), 7.0, (0.01, 0.02), (S.NORMAL, "", 0.01, "broadband_delay")),
        (
            (LOST, BACK),
            7.0,
            (math.nan, math.nan),
            (S.NOT_JUDGED, "no value at this instant", None, "broadband_delay"),
        ),
    ],
)
def test_a_recorded_alarm_is_normal_only_where_it_was_judged(steps, x, values, expected):
    (alarm,) = states(*steps).alarms(x, results(*values))
    assert (alarm.state, alarm.not_judged, alarm.last, alarm.source) == expected


def test_an_active_alarm_that_lost_its_value_keeps_its_state_without_a_value():
    occurs = (2.0, A.OCCUR, S.NORMAL, S.UNACKNOWLEDGED, "n delay 0.05 s is above 0.04 s")
    lost = (3.0, A.LOSE_VALUE, S.UNACKNOWLEDGED, S.UNACKNOWLEDGED, "not judged: no data")
    (alarm,) = states(occurs, lost).alarms(5.0, results(0.05, 0.05))
    assert (alarm.state, alarm.active, alarm.not_judged, alarm.last) == (S.UNACKNOWLEDGED, True, "no data", None)


def test_without_results_nothing_is_normal():
    (alarm,) = states().alarms(5.0, None)
    assert (alarm.state, alarm.last) == (S.NOT_JUDGED, None)
    idle = RecordedStates()
    idle.configure([replace(ALARM, state=S.OUT_OF_SERVICE, not_judged="")])
    assert [each.state for each in idle.alarms(5.0, None)] == [S.OUT_OF_SERVICE]
