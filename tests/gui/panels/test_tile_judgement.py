"""Tiles and cells of actuators whose alarms are judged, not judged, or of a service that is lost."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product

import pytest
from msgspec import structs

from gui.model.receiver import ReceivedMessages
from gui.panels.base import panel_instant
from gui.panels.tile_content import actuator_content
from gui.panels.wall import WallCell, urgency
from gui.widgets.theme import DARK, LIGHT, level_colour
from gui.wording.level import Level
from monitor.messages.alarms import Alarm, AlarmReport, AlarmState, Severity
from tests.gui.panels.tile_rig import RECEIVING, VALUES, history_of

S = AlarmState
REASON = "broadband paused: overload"
PAEI = {"paei_delay": 0.0697, "paei_ratio": 1.01}
NO_BROADBAND = {**VALUES, **dict.fromkeys((name for name in VALUES if name.startswith("broadband")), math.nan)}
DELAY = Alarm(
    "north.delay.trip", "delay", "north", "s", Severity.TRIP, -0.06, 0.06, last=0.0123, source="broadband_delay"
)
NOT_JUDGED = structs.replace(DELAY, state=S.NOT_JUDGED, last=None, not_judged=REASON)


def tile(values, *alarms, health=RECEIVING, silence=0.1, age=0.02):
    history = history_of(values, health=health)
    history.update(ReceivedMessages(health=health, alarms=AlarmReport(alarms)), silence=silence, age=age)
    at = panel_instant(history, None)
    return actuator_content(history, "north", at, history.alarms_at(at.x), {}, 0.25)


def figure(content):
    return content.values[0].text


def test_the_figure_is_that_of_the_alarm_with_the_name_of_who_speaks():
    both = {**VALUES, **PAEI}
    assert (tile(both, DELAY).source, figure(tile(both, DELAY))) == ("broadband", "12.3")
    by_paei = structs.replace(DELAY, source="paei_delay", state=S.UNACKNOWLEDGED, active=True, last=0.0697)
    content = tile({**NO_BROADBAND, **PAEI}, by_paei)
    assert (content.source, figure(content), content.severity.text) == ("PAEI", "69.7", "■ TRIP: delay 69.7 ms")
    assert content.values[0].level is Level.BAD


def test_another_indicator_is_shown_for_a_paused_headline_never_for_one_that_declines():
    values = {**NO_BROADBAND, **PAEI}
    paused = tile(values, health=replace(RECEIVING, shed=("viewers", "results", "broadband")))
    assert (paused.source, figure(paused)) == ("PAEI", "69.7")
    declined = tile(values, health=replace(RECEIVING, shed=("viewers", "results", "transfer")))
    assert (declined.source, figure(declined), declined.status.words) == ("broadband", "—", "no delay")


def test_a_judged_value_that_is_missing_from_a_few_rows_is_the_last_one():
    content = tile(NO_BROADBAND, DELAY)
    assert (figure(content), content.severity.words) == ("12.3", "normal")
    assert content.status.words != "no delay"


def test_what_is_not_judged_is_grey_without_a_number_of_before():
    content = tile(NO_BROADBAND, NOT_JUDGED)
    assert (content.severity.text, content.level) == (f"⊘ not judged: {REASON}", Level.NONE)
    assert figure(content) == "—" and not content.current
    active = tile(NO_BROADBAND, structs.replace(NOT_JUDGED, state=S.ACKNOWLEDGED, active=True))
    assert active.severity.text == f"■ TRIP, not judged: delay, {REASON}"
    assert (figure(active), active.level) == ("—", Level.BAD)


@pytest.mark.parametrize(
    ("state", "silence", "age"), [*product(("receiving", "stale", "waiting", "ended"), (0.1, 9.0), (0.02, 9.0))]
)
def test_nothing_is_normal_unless_values_are_current(state, silence, age):
    history = history_of(VALUES, health=replace(RECEIVING, state=state))
    history.update(ReceivedMessages(health=history.health, alarms=AlarmReport((DELAY,))), silence=silence, age=age)
    assert history.state.current is ((state, silence, age) == ("receiving", 0.1, 0.02))
    for alarm in (DELAY, structs.replace(DELAY, state=S.UNACKNOWLEDGED, active=True)):
        content = tile(VALUES, alarm, health=history.health, silence=silence, age=age)
        if not history.state.current:
            assert content.level is not Level.GOOD and "12.3 ms" not in content.severity.text
    # the views that list alarms have no value of before either
    assert history.state.current or all(alarm.last is None for alarm in history.alarms_at(None))


@pytest.mark.parametrize("missing", [(), ("delay",), ("ratio",), ("delay", "ratio")])
def test_a_tile_is_not_normal_beside_a_missing_figure_that_it_judges(missing):
    gone = dict.fromkeys((f"broadband_{name}" for name in missing), math.nan)
    ratio = structs.replace(DELAY, name="r", value="ratio", source="broadband_ratio", last=1.08)
    for alarms in ((DELAY,), (DELAY, ratio), (NOT_JUDGED,), (NOT_JUDGED, ratio)):
        content = tile({**VALUES, **gone}, *alarms)
        assert (content.severity.words == "normal") is (NOT_JUDGED not in alarms)
        if content.severity.words == "normal":
            assert figure(content) != "—" and "no value" not in content.status.words


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_a_cell_that_is_not_judged_has_the_grey_of_no_level(qtbot, theme):
    cell = WallCell(theme, None)
    qtbot.addWidget(cell)
    cell.resize(240, 140)
    grounds = {}
    for name, content in (("normal", tile(VALUES, DELAY)), ("not judged", tile(VALUES, NOT_JUDGED))):
        cell.set_content(content)
        image = cell.grab().toImage()
        grounds[name] = [image.pixelColor(x, image.height() - 8).name() for x in (4, image.width() - 12)]
        assert name in cell.state
    assert grounds == {"normal": [theme.good, theme.base], "not judged": [theme.muted, theme.invalid]}
    assert level_colour(theme, Level.NONE) == theme.muted


def test_cells_that_are_not_judged_come_after_alarms_and_before_the_others():
    active = structs.replace(DELAY, state=S.UNACKNOWLEDGED, active=True)
    shelved = structs.replace(DELAY, state=S.SHELVED)
    ranks = [urgency(tile(VALUES, alarm)) for alarm in (active, NOT_JUDGED, shelved, DELAY)]
    assert ranks == sorted(set(ranks))


@pytest.mark.parametrize("source", ["", "delay", "kalman_delay", "_delay", "<b>x</b>_delay"])
def test_a_speaker_of_a_later_version_leaves_the_figures_as_they_are(source):
    content = tile(VALUES, structs.replace(DELAY, source=source))
    assert (content.source, figure(content), content.severity.words) == ("broadband", "12.3", "normal")
