"""Wall panel: what is read from three metres, for one actuator and for hundreds; the most urgent first."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtGui import QFontMetricsF
from PySide6.QtWidgets import QScrollArea

from gui.model.alarms import DisplayLimit
from gui.model.receiver import ReceivedMessages
from gui.model.severity import ActuatorSeverity
from gui.model.tracking_status import Status
from gui.panels.tile import fitted
from gui.panels.tile_content import TileContent
from gui.panels.wall import WallCell, WallPanel, urgency
from gui.widgets.theme import DARK, LIGHT
from gui.wording.level import Level
from monitor.messages.alarms import Alarm, AlarmReport, AlarmState, Severity
from tests.gui.panels.tile_rig import RECEIVING, VALUES, drawn, history_of, tiles
from tests.gui.shown import show_panel

WARN = Alarm("w", "broadband_delay", "a00", "s", Severity.WARN, high=0.02)
ACTIVE = {"state": AlarmState.UNACKNOWLEDGED, "active": True, "last": 0.0312}


def names_of(n):
    return tuple(f"a{i:02d}" for i in range(n))


def wall(qtbot, history, width=1440, height=790, theme=LIGHT):
    panel = show_panel(qtbot, WallPanel, history, (width, height), window=0.25, theme=theme)
    return panel, panel.view


def order(panel):
    return [tile.content.name for tile in tiles(panel)]


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_the_number_is_at_least_90_px_high_on_a_laboratory_screen(qtbot, n):
    panel, _ = wall(qtbot, history_of({**VALUES, "broadband_delay": -0.0888}, names_of(n)))
    for cell in tiles(panel):
        size = cell.font_size(cell.width(), cell.height())
        # the number of the usual length has its full size
        font, fits = fitted("−88.8", cell.font(), size, 10 * size, bold=True)
        assert fits and font.pixelSize() >= 90
        assert QFontMetricsF(font).horizontalAdvance("−88.8") < cell.width()
        assert {"−88.8", "ms"} <= set(drawn(cell))


# the panel in a window of 1440 x 900 and of 1280 x 720
@pytest.mark.parametrize("size", [(1440, 790), (1280, 576)])
@pytest.mark.parametrize(("n", "scrolls"), [(64, False), (256, True)])
def test_many_actuators_have_a_cell_each(qtbot, n, scrolls, size):
    panel, view = wall(qtbot, history_of(actuators=names_of(n)), *size)
    assert len(tiles(panel)) == n
    area = panel.findChild(QScrollArea)
    assert (area.verticalScrollBar().maximum() > 0) == scrolls
    for cell in (tiles(panel)[0], tiles(panel)[-1]):
        words = drawn(cell)
        assert {cell.content.name, "12.3", "ms", "→ lag, undershoot"} <= set(words)
        assert not any("…" in word for word in words)
    view.select_actuator(names_of(n)[-1])
    last = tiles(panel)[-1]
    assert area.viewport().rect().contains(last.mapTo(area.viewport(), last.rect().center()))


def test_the_most_urgent_are_first_and_the_others_keep_their_places(qtbot):
    history = history_of(actuators=names_of(6))
    report = [replace(WARN, name=name, actuator=name) for name in names_of(6)]
    history.update(ReceivedMessages(health=RECEIVING, alarms=AlarmReport(tuple(report))), silence=0.1, age=0.02)
    panel, _ = wall(qtbot, history)
    assert order(panel) == list(names_of(6))
    report[2] = replace(report[2], state=AlarmState.SHELVED)
    report[3] = replace(report[3], **ACTIVE)
    report[5] = replace(report[5], severity=Severity.TRIP, **ACTIVE)
    history.update(ReceivedMessages(alarms=AlarmReport(tuple(report))), silence=0.1, age=0.02)
    panel.refresh(history)
    assert order(panel) == ["a05", "a03", "a02", "a00", "a01", "a04"]
    assert [cell.state for cell in tiles(panel)[:4]] == ["■ TRIP", "▲ WARN", "◷ shelved", "● normal"]
    assert "delay 31.2 ms" in tiles(panel)[0].content.severity.details
    # back to normal, back in its place
    report[5] = replace(report[5], state=AlarmState.NORMAL, active=False)
    history.update(ReceivedMessages(alarms=AlarmReport(tuple(report))), silence=0.1, age=0.02)
    panel.refresh(history)
    assert order(panel) == ["a03", "a02", "a00", "a01", "a04", "a05"]


def test_the_selected_actuator_is_outlined_wherever_its_cell_is(qtbot):
    history = history_of(actuators=names_of(3))
    panel, view = wall(qtbot, history)
    qtbot.mouseClick(tiles(panel)[2], Qt.MouseButton.LeftButton)
    assert view.actuator == "a02"
    trip = replace(WARN, actuator="a02", severity=Severity.TRIP, **ACTIVE)
    history.update(ReceivedMessages(health=RECEIVING, alarms=AlarmReport((trip,))), silence=0.1, age=0.02)
    panel.refresh(history)
    assert [(cell.content.name, cell.selected) for cell in tiles(panel)] == [
        ("a02", True), ("a00", False), ("a01", False),
    ]  # fmt: skip


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_an_active_alarm_fills_its_cell_and_a_display_limit_does_not(qtbot, theme):
    def ground(cell):
        return cell.grab().toImage().pixelColor(cell.width() - 8, 8).name()

    history = history_of()
    panel, _ = wall(qtbot, history, theme=theme)
    panel.set_limits({"delay": DisplayLimit("delay", 1.0, 2.0)})
    panel.refresh(history)
    (cell,) = tiles(panel)
    assert cell.state == "◇ over display limit" and ground(cell) == theme.base
    trip = replace(WARN, actuator="north", severity=Severity.TRIP, **ACTIVE)
    history.update(ReceivedMessages(health=RECEIVING, alarms=AlarmReport((trip,))), silence=0.1, age=0.02)
    panel.refresh(history)
    assert cell.state == "■ TRIP" and ground(cell) == theme.bad


def test_sites_are_cells_that_cannot_be_selected(qtbot, judged):
    panel, view = wall(qtbot, judged)
    first = tiles(panel)[0]
    # rejected: before the actuators, which have no limits
    assert (first.content.name, first.state) == ("deflection", "■ reject")
    qtbot.mouseClick(first, Qt.MouseButton.LeftButton)
    assert view.actuator == ""


_level = st.sampled_from([Level.NONE, Level.GOOD, Level.INFO, Level.WARN, Level.BAD])


@given(_level, _level, st.booleans(), st.booleans())
def test_an_active_alarm_is_always_before_what_is_none(level, status, active, limited):
    severity = ActuatorSeverity(
        "words" if active or limited else "", "", level if active or limited else Level.NONE, "", active
    )
    content = TileContent("a", "", Status("", "", status), (), severity=severity)
    rank = urgency(content)
    if active and level in (Level.WARN, Level.BAD):
        assert rank == (0 if level is Level.BAD else 1)
    else:
        assert rank >= 2


@given(st.floats(160.0, 4000.0), st.floats(64.0, 3000.0))
def test_name_number_and_state_have_room_in_every_cell(width, height):
    size = WallCell.font_size(width, height)
    # lines of 0.5, 1 and 0.5 font sizes with their spacing, and margins
    assert (1.2 * 0.5 + 1.25 + 1.2 * 0.5 + 0.12) * size <= height - 3.0 + 0.2 * size
    assert 0.0 < size <= width


@pytest.mark.parametrize("n", [3, 8, 64])
def test_the_amplitude_is_beside_the_delay(qtbot, n):
    # 100 over the ratio of command to measured, 1.082
    panel, _ = wall(qtbot, history_of(actuators=names_of(n)))
    cell = tiles(panel)[0]
    words = drawn(cell)
    assert words[words.index("12.3") - 2 : words.index("12.3")] == ["92.4", "%"]
    assert not any("…" in word for word in words)
