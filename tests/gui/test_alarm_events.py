"""Steps of alarms as people read them: in the list of events, and as marks on the line of a run."""

from dataclasses import replace

import pytest
from PySide6.QtGui import QColor

from gui.sources.replay_bar.overview import RunPicture
from gui.widgets.theme import DARK, LIGHT
from gui.wording.event_text import event_level, event_sentence
from gui.wording.level import Level
from monitor.messages.alarms import AlarmAction, AlarmState, LimitChange, Severity, Transition
from monitor.messages.blocks import Event, EventKind
from monitor.messages.recordings import Description, RecordedEvent

S, A = AlarmState, AlarmAction


def step(
    action,
    previous,
    state,
    *,
    severity=Severity.WARN,
    called="fdb_delay",
    actuator="north",
    quantity="fdb_delay",
    reason="why",
    **numbers,
):
    name = ".".join(filter(None, (actuator, called, severity)))
    before = (7, name, severity, action, previous, state, 9.0, 1800)
    return Event.of_alarm(Transition(*before, reason=reason, actuator=actuator, quantity=quantity, **numbers))


OCCURS = step(A.OCCUR, S.NORMAL, S.UNACKNOWLEDGED, value=0.0313, limit=0.02, unit="s")
TRIPS = step(A.OCCUR, S.NORMAL, S.UNACKNOWLEDGED, severity=Severity.TRIP, value=0.06, limit=0.05, unit="s")
TAKEN = step(A.ACKNOWLEDGE, S.UNACKNOWLEDGED, S.ACKNOWLEDGED, reason="acknowledged by Anna")


@pytest.mark.parametrize(
    ("event", "words", "level"),
    [
        (OCCURS, "▲ WARN north delay (FDB) 31.3 ms, limit 20 ms: unacknowledged", Level.WARN),
        (TRIPS, "■ TRIP north delay (FDB) 60 ms, limit 50 ms: unacknowledged", Level.BAD),
        (TAKEN, "▲ WARN north delay (FDB), acknowledged by Anna: acknowledged", Level.INFO),
        (
            step(A.RETURN_TO_NORMAL, S.UNACKNOWLEDGED, S.RETURNED, value=0.0131, limit=0.02, unit="s"),
            "▲ WARN north delay (FDB) 13.1 ms, limit 20 ms: returned, unacknowledged",
            Level.INFO,
        ),
        (
            step(
                *(A.OCCUR, S.NORMAL, S.UNACKNOWLEDGED),
                called="lost_data",
                actuator="",
                quantity="health.lost",
                reason="12 samples lost",
                value=12.0,
            ),
            "▲ WARN lost data, 12 samples lost: unacknowledged",
            Level.WARN,
        ),
        (
            step(
                A.OCCUR,
                S.NORMAL,
                S.UNACKNOWLEDGED,
                called="soft",
                reason="north fdb_delay 0.06 s is above 0.05 s",
                value=0.06,
                limit=0.05,
                unit="s",
            ),
            "▲ WARN north soft, delay (FDB) 60 ms, limit 50 ms: unacknowledged",
            Level.WARN,
        ),
        # of a service whose words nobody here knows
        (Event(EventKind.ALARM, 1.0, 1, 0, "something new"), "something new", Level.WARN),
    ],
)
def test_a_step_is_told_in_units_and_words(event, words, level):
    assert event_sentence(event) == words
    assert event_level(event) is level


def test_a_trip_stands_out_on_the_line_of_a_run(qapp):
    events = tuple(
        RecordedEvent(time, "alarm", event.detail, event.alarm)
        for time, event in ((2.0, OCCURS), (5.0, TRIPS), (8.0, TAKEN))
    )
    picture = RunPicture(Description(events=events), "", 10.0, 400, 44)
    for theme in (LIGHT, DARK):
        image = picture.draw(theme, 1.0).toImage()
        foot = [image.pixelColor(round(picture.x_of(event.time)), 41) for event in events]
        assert foot == [QColor(theme.warn), QColor(theme.bad), QColor(theme.info)]
        # higher than what warns: told by more than a colour
        above = [image.pixelColor(round(picture.x_of(event.time)), 44 - 10) for event in events]
        assert above == [QColor(theme.base), QColor(theme.bad), QColor(theme.base)]
    assert "alarm: ■ TRIP north delay (FDB) 60 ms, limit 50 ms: unacknowledged" in picture.tip(picture.x_of(5.0))


def test_a_change_of_limits_is_said_in_the_units_of_the_display() -> None:
    change = LimitChange(
        "north.fdb_delay.warn", Severity.WARN, None, 0.025, -0.02, 0.02, "s", "kim", "north", "fdb_delay"
    )
    event = Event(EventKind.LIMITS, 1.0, 1, 0, "any words", limits=change)
    assert event_sentence(event) == "▲ WARN north delay (FDB): limit ≤ 25 ms, was ± 20 ms, by kim"
    assert event_level(event) is Level.INFO
    assert not event_sentence(replace(event, limits=replace(change, by=""))).endswith("kim")
