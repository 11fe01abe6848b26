"""What the operator is told: no noise, but every decision and every note."""

from __future__ import annotations

import numpy as np
import pytest

from monitor.commands.console_sink import ConsoleSink
from monitor.messages.blocks import Column, Event, EventKind, ResultBlock, ResultStream
from monitor.messages.health import Health, StreamCounts


class Listener:
    """An announcer on a clock that is set by hand."""

    def __init__(self):
        self.now, self.said = 0.0, []
        self.announcer = ConsoleSink(self.said.append, lambda: self.now)

    def hear(self, kind, time, count=0, detail=""):
        self.announcer.event(Event(kind, time, 0, count, detail))


@pytest.mark.parametrize("kind", [EventKind.DECISION, EventKind.NOTE])
def test_decisions_and_notes_are_always_said_in_their_own_words(kind):
    listener = Listener()
    for detail in ("deflection: accept: so it is", "deflection: watch: who knows"):
        listener.hear(kind, 1.9, detail=detail)
    assert listener.said == ["at 1.900 s: deflection: accept: so it is", "at 1.900 s: deflection: watch: who knows"]


def test_of_other_kinds_a_line_in_five_seconds_is_enough():
    listener = Listener()
    for now, count in ((0.0, 3), (1.0, 4), (4.9, 5), (5.0, 6)):
        listener.now = now
        listener.hear(EventKind.GAP, now, count)
    listener.hear(EventKind.DUPLICATE, 5.0, 7)
    assert listener.said == [
        "at 0.000 s: 3 samples lost",
        "at 5.000 s: 6 samples lost",
        "at 5.000 s: 7 duplicate samples ignored",
    ]


@pytest.mark.parametrize("kind", list(EventKind))
def test_every_kind_is_said(kind):
    listener = Listener()
    listener.hear(kind, 0.0, 1, "why")
    assert len(listener.said) == 1 and listener.said[0].endswith("why")


def test_at_the_end_of_a_stream_it_says_how_the_model_came_out():
    names = [
        f"reliability_{name}{end}" for name in ("first_passage", "accumulated", "windowed") for end in ("", "_se")
    ]
    columns = tuple(Column(name, "1", "deflection") for name in names)
    stream = ResultStream("rig", 1, 10.0, 1, (Column("fdb_delay", "s", "north"), *columns))
    nothing = [np.nan] * 7
    rows = np.array([nothing, [0.01, 0.5, 0.02, 0.9, 0.01, np.nan, np.nan], nothing])
    listener = Listener()
    listener.announcer.results(ResultBlock(stream, 0, 0.0, rows))
    listener.hear(EventKind.ENDED, 0.3)
    assert listener.said == [
        "at 0.300 s: the stream has ended",
        "deflection: first-passage 0.5000 ± 0.0200, accumulated 0.9000 ± 0.0100",
    ]


def test_a_flood_of_alarms_is_twenty_lines_and_how_many_more():
    listener = Listener()
    for number in range(50):
        listener.hear(EventKind.ALARM, 0.001 * number, detail=f"step {number}")
    assert len(listener.said) == 20
    listener.now += 6.0
    listener.announcer.health(Health())
    assert listener.said[20:] == ["30 more alarm transitions"]
    listener.hear(EventKind.ALARM, 9.0, detail="again")
    assert "again" in listener.said[-1]


def test_a_rig_that_sends_nothing_is_told_once_within_three_seconds():
    now, said = [0.0], []
    sink = ConsoleSink(said.append, lambda: now[0], awaited=["tcp://rig:5555"])
    for now[0] in (0.2, 2.4, 2.6, 9.0):
        sink.health(Health())
    assert said == ["no samples from tcp://rig:5555: still trying"]


def test_of_a_rig_that_has_sent_nothing_is_told():
    now, said = [0.0], []
    sink = ConsoleSink(said.append, lambda: now[0], awaited=["tcp://rig:5555"])
    sink.health(Health(counts=StreamCounts(received=3)))
    now[0] = 9.0
    sink.health(Health())
    assert said == []
