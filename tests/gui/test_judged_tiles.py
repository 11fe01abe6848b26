"""From results to a tile: a service's alarm, its report, and what the tile of the actuator says of it."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gui.model.history import History
from gui.model.receiver import ReceivedMessages
from gui.panels.base import panel_instant
from gui.panels.tile_content import actuator_content
from gui.wording.event_text import Level
from monitor.alarms.monitor import AlarmMonitor
from monitor.config import AlarmSettings, LimitSettings
from monitor.messages.alarms import AlarmReport
from monitor.messages.blocks import Column, ResultBlock, ResultStream
from monitor.messages.health import Health
from monitor.messages.reasons import Reason

ROWS, AGE = 10, 3.5  # a second; s
STREAM = ResultStream("rig", 1, 10.0, 1, (Column("broadband_delay", "s", "n"), Column("paei_delay", "s", "n")))
BROADBAND, PAEI, NAN = 0.012, 0.013, math.nan
# of each second: values of broadband and PAEI, whether broadband is paused, and who is heard
SECONDS = {
    "good": (BROADBAND, PAEI, False, "broadband"),
    "declined": (NAN, PAEI, False, ""),
    "nothing": (NAN, NAN, False, ""),
    "paused": (NAN, PAEI, True, "PAEI"),
    "paused, nothing": (NAN, NAN, True, ""),
}


@given(st.lists(st.sampled_from(sorted(SECONDS)), min_size=1, max_size=14))
def test_a_tile_is_green_while_somebody_who_may_speak_was_heard_lately_and_shows_that_value(seconds):
    off = {"dead_stream": False, "overload": False, "lost_data": False, "recording": False}
    limit = LimitSettings(value="delay", warn=0.06, trip=0.07)
    service = AlarmMonitor(AlarmSettings(limit=(limit,), max_value_age=AGE, **off), window=2.0)
    service.set_stream(STREAM, 0.0)
    history, silent_for = History(memory=4 << 20), math.inf
    for number, name in enumerate(seconds):
        broadband, paei, paused, heard = SECONDS[name]
        now, index = float(number + 1), number * ROWS
        service.pause({"broadband": Reason.PAUSED} if paused else {}, float(number), index)
        block = ResultBlock(STREAM, index, float(number), np.tile([broadband, paei], (ROWS, 1)))
        service.evaluate(block, now, now)
        shed = ("viewers", "results", "broadband") if paused else ()
        health = Health("rig", "receiving", sample_rate=10.0, measured_rate=10.0, shed=shed)
        service.evaluate_health(health, now, index + ROWS, 1.0, now)
        report = AlarmReport(service.alarms)
        history.update(ReceivedMessages(health=health, alarms=report, results=(block,)), silence=0.1, age=0.02)
        at = panel_instant(history, None)
        content = actuator_content(history, "n", at, history.alarms_at(None), {}, 2.0)
        silent_for = 0.0 if heard else silent_for + 1.0
        if silent_for < AGE:
            assert (content.severity.words, content.level) == ("normal", Level.GOOD)
            assert content.values[0].text in ("12.0", "13.0")
            assert not heard or (content.source, content.values[0].text) == (
                heard,
                {"broadband": "12.0", "PAEI": "13.0"}[heard],
            )
        else:
            assert (content.severity.words, content.level) == ("not judged", Level.NONE)
            assert content.severity.details
        # a service that falls silent is believed no more, whatever it said last
        lost = History(memory=4 << 20)
        lost.update(ReceivedMessages(health=health, alarms=report, results=(block,)), silence=9.0, age=9.0)
        old = actuator_content(lost, "n", panel_instant(lost, None), lost.alarms_at(None), {}, 2.0)
        assert old.level is not Level.GOOD and old.values[0].text == "—"
