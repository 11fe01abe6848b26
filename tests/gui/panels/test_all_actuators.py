"""All actuators in the indicators panel: the worst by name, the others as a band, limits of the named ones only."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace
from PySide6.QtCore import QPoint
from PySide6.QtGui import QColor

from gui.model.history import History
from gui.model.receiver import ReceivedMessages
from gui.panels.indicators import IndicatorsPanel
from gui.widgets.theme import LIGHT
from monitor.messages.alarms import Alarm, AlarmReport, AlarmState, Severity
from monitor.messages.blocks import Column, ResultBlock, ResultStream
from tests.gui.shown import show_panel

RATE, EVERY, N = 1000.0, 40, 250
UNACKNOWLEDGED = AlarmState.UNACKNOWLEDGED


def names(n):
    return [f"a{i:02d}" for i in range(n)]


class Rig:
    """Results of `n` actuators: delays of 1, 2, ... ms and ratios, the first one 5 % off."""

    def __init__(self, n):
        self.n, self.index = n, 0
        columns = [
            Column(name, unit, a)
            for a in names(n)
            for name, unit in (("broadband_delay", "s"), ("broadband_ratio", "1"))
        ]
        self.stream = ResultStream("rig", 1, RATE, EVERY, tuple(columns))
        self.history = History(memory=16 << 20)

    def move(self, delays, ratios, rows=N, alarms=None):
        values = np.empty((rows, 2 * self.n))
        values[:, ::2], values[:, 1::2] = delays, ratios
        block = ResultBlock(self.stream, self.index, self.index / RATE, values)
        self.index += rows * EVERY
        self.history.update(ReceivedMessages(results=(block,), alarms=alarms))


@pytest.fixture(params=[64])
def shown(qtbot, request):
    rig = Rig(request.param)
    rig.move(1e-3 * np.arange(1, rig.n + 1), np.r_[0.95, np.full(rig.n - 1, 1.001)])
    panel = show_panel(qtbot, IndicatorsPanel, rig.history, (900, 500), span=10.0)
    panel.together.click()
    panel.refresh(rig.history)
    return panel, rig


def curves(panel, key="delay"):
    (row,) = (row for row in panel.stack.rows if row.key == key)
    return [curve.label for curve in row.curves]


def advance(panel, rig, *changes, **more):
    rig.move(*changes, **more)
    panel.view.extend(0.0, rig.history.end_x)
    panel.refresh(rig.history)


def test_of_64_the_worst_of_each_row_are_named_and_the_others_are_a_band(shown):
    panel, _ = shown
    assert curves(panel) == ["a63", "a62", "a61", "a60", "60 others"]
    assert curves(panel, "ratio")[0] == "a00"
    assert curves(panel, "ratio")[-1] == "60 others"
    band = panel.stack.frame.rows[0].curves[-1]
    np.testing.assert_allclose(band.low, 1.0)
    np.testing.assert_allclose(band.high, 60.0)
    assert panel.stack.legend(0)[-1] == "60 others 1.00 … 60.00 ms"
    # of one colour in all rows, and no two alike in a row
    styles = {}
    for row in panel.stack.rows:
        for curve in row.curves:
            assert styles.setdefault(curve.label, (curve.colour, curve.dashed)) == (curve.colour, curve.dashed)
        assert (
            len({(curve.colour % 8 if isinstance(curve.colour, int) else "", curve.dashed) for curve in row.curves})
            == 5
        )


def test_the_band_is_drawn_and_within_the_scale(shown):
    panel, _ = shown
    image, stack = panel.stack.viewport().grab().toImage(), panel.stack
    scale, place = stack.scale(), stack.places.rows[0]
    x = round(scale.pixel(5.0))
    tinted = [
        y for y in range(place.plot_top, place.bottom)
        if image.pixelColor(x, y).name() not in (QColor(LIGHT.base).name(), QColor(LIGHT.grid).name())
    ]  # fmt: skip
    # the band is most of the scale from 0 to 64
    assert len(tinted) > 0.7 * place.plot_height
    low, high = stack.limits("delay")
    assert low <= 1.0 and high >= 64.0


def test_an_alarm_comes_before_a_large_value(shown):
    panel, rig = shown
    alarm = Alarm(
        "a05.d", "broadband_delay", "a05", "s", Severity.WARN, high=0.005, state=UNACKNOWLEDGED, active=True
    )
    trip = replace(alarm, name="a07.d", actuator="a07", severity=Severity.TRIP)
    delays = 1e-3 * np.arange(1, 65)
    advance(panel, rig, delays, np.ones(64), alarms=AlarmReport((alarm, trip)))
    assert curves(panel) == ["a07", "a05", "a63", "a62", "60 others"]
    # their limits have lines and names; those of actuators in the band have none
    quiet = tuple(
        replace(alarm, name=f"{a}.q", actuator=a, high=0.03, state=AlarmState.NORMAL, active=False)
        for a in ("a10", "a63")
    )
    advance(panel, rig, delays, np.ones(64), alarms=AlarmReport((alarm, trip, *quiet)))
    (row,) = (row for row in panel.stack.rows if row.key == "delay")
    assert {(line.word, line.owner, line.value) for line in row.limits} == {
        ("warn", "a05", 5.0), ("trip", "a07", 5.0), ("warn", "a63", 30.0),
    }  # fmt: skip
    # a limit that holds for all is one line without a name
    every = tuple(replace(quiet[0], name=a, actuator=a) for a in names(64))
    advance(panel, rig, delays, np.ones(64), alarms=AlarmReport(every))
    (row,) = (row for row in panel.stack.rows if row.key == "delay")
    assert [(line.word, line.owner) for line in row.limits] == [("warn", "")]


def test_names_change_with_the_values_and_not_for_a_trifle(shown):
    panel, rig = shown
    delays = 1e-3 * np.arange(1, 65)
    delays[59] = 0.065
    advance(panel, rig, delays, np.ones(64))
    rows = panel.stack.rows
    assert curves(panel) == ["a63", "a62", "a61", "a60", "60 others"]
    delays[20] = -0.3
    advance(panel, rig, delays, np.ones(64))
    assert panel.stack.rows is not rows
    assert curves(panel)[0] == "a20"
    assert panel.stack.legend(0)[0] == "a20 −300.00 ms"


def test_a_paused_view_names_the_worst_in_view(shown):
    panel, rig = shown
    delays = np.full(64, 1e-3)
    delays[30:34] = 0.5
    advance(panel, rig, delays, np.ones(64))
    assert set(curves(panel)[:4]) == {"a30", "a31", "a32", "a33"}
    panel.view.pause()
    panel.view.set_span(8.0)
    panel.view.set_right(9.5)
    panel.refresh(rig.history)
    assert set(curves(panel)[:4]) == {"a60", "a61", "a62", "a63"}


@pytest.mark.parametrize("shown", [5], indirect=True)
def test_a_few_actuators_are_all_named(shown):
    panel, _ = shown
    assert curves(panel) == names(5)
    assert not any(curve.filled for row in panel.stack.rows for curve in row.curves)


def test_in_a_narrow_panel_names_come_before_numbers(shown):
    panel, _ = shown
    panel.resize(540, 300)
    image = panel.stack.viewport().grab().toImage()
    assert "a60" in panel.stack.tip(QPoint(20, 4))
    colours = {
        image.pixelColor(x, y).name()
        for x in range(image.width())
        for y in range(panel.stack.places.rows[0].plot_top)
    }
    # the sample of every curve is in the header
    assert {QColor(LIGHT.series[i]).name() for i in range(4)} <= colours
