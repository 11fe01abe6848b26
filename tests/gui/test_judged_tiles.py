"""Tiles in the window: judged, of specimens."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gui.model.history import History
from gui.model.receiver import ReceivedMessages
from gui.panels.base import panel_instant
from gui.panels.tile_content import actuator_content
from gui.panels.tiles import TilesPanel
from gui.panels.wall import WallPanel
from gui.wording.level import Level
from monitor.alarms.monitor import AlarmMonitor
from monitor.config import AlarmSettings, LimitSettings
from monitor.messages.alarms import AlarmReport
from monitor.messages.blocks import Column, ResultBlock, ResultStream
from monitor.messages.health import Health
from monitor.messages.reasons import Reason
from tests.gui.shown import show_panel

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


@pytest.mark.parametrize("x", [None, 6.0])
def test_a_specimen_has_a_tile_beside_that_of_its_actuator(qtbot, watched, x):
    panel = show_panel(qtbot, TilesPanel, watched)
    panel.view.pin(x)
    panel.refresh(watched)
    contents = {tile.content.name: tile.content for tile in panel._grid.tiles}
    actuators = watched.results.actuators
    assert list(contents) == [*actuators, *(f"{name} specimen" for name in actuators)]
    for actuator in actuators:
        stiffness, damping = contents[f"{actuator} specimen"].values
        of_loop = {
            name: watched.results.value(actuator, f"specimen_loop_{name}", x)
            for name in ("stiffness", "stiffness_sd", "damping", "damping_sd")
        }
        assert (stiffness.label, damping.label, damping.unit) == ("stiffness", "damping", "%")
        for shown, factor, name in ((stiffness, 1.0, "stiffness"), (damping, 100.0, "damping")):
            value, deviation = factor * of_loop[name], factor * of_loop[f"{name}_sd"]
            if np.isnan(value):
                assert shown.text == "–" and not shown.spread
            else:
                assert float(shown.text.replace("−", "-")) == pytest.approx(value, rel=1e-2, abs=0.006)
                assert shown.spread.startswith("± ") and np.isfinite(deviation)


def test_the_wall_has_actuators_only(qtbot, watched):
    panel = show_panel(qtbot, WallPanel, watched)
    assert {tile.content.name for tile in panel._grid.tiles} == set(watched.results.actuators)
