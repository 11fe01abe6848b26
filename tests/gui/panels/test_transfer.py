"""The transfer function panel: curves, bands and words of blocks that are made by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QFontMetricsF
from PySide6.QtWidgets import QApplication

from gui.model.history import History
from gui.model.receiver import ReceivedMessages
from gui.panels.transfer import TransferPanel
from gui.plots.view import View
from gui.plots.xy.plot import log_ticks
from gui.widgets.theme import LIGHT
from monitor.messages.blocks import (
    FREQUENCY,
    QUANTITIES,
    Column,
    ResultBlock,
    ResultStream,
    TransferBlock,
    TransferStream,
)
from monitor.messages.health import Health
from tests.gui.shown import look

F = np.arange(0.5, 10.5, 0.5)  # Hz
COHERENCE = np.where(F < 6.0, 0.98, 0.4)
RATIO, DELAY = 1.0 + 0.02 * F, 0.01 + 0.001 * F
SD = 0.05, 0.002
UNITS = {"ratio": "", "coherence": "1"}


def block(actuators=("a", "b"), time=12.5, hole=None):
    columns = [Column(name, UNITS.get(name, unit), one) for one in actuators for name, unit in QUANTITIES]
    phase = -2.0 * np.pi * F * DELAY
    one = [RATIO, phase, DELAY, COHERENCE, np.full_like(F, SD[0]), 2.0 * np.pi * F * SD[1], np.full_like(F, SD[1])]
    values = np.stack(
        [F, *(column * (1.0 + 0.1 * k * (i != 3)) for k in range(len(actuators)) for i, column in enumerate(one))]
    )
    values = np.ascontiguousarray(values.T)
    if hole is not None:
        values[hole, 1:] = np.nan
    return TransferBlock(TransferStream("rig", 1, 1000.0, (FREQUENCY, *columns)), 0, time, values)


def heard(transfer, *, frequency=2.2, state="receiving"):
    history = History(memory=8 << 20)
    columns = tuple(Column("fdb_frequency", "Hz", name) for name in ("a", "b"))
    stream = ResultStream("rig", 1, 1000.0, 40, columns)
    rows = np.tile([frequency, 3.3], (50, 1))
    rows[:25, 0] = 4.4
    results = ResultBlock(stream, 0, 11.0, rows)
    health = Health(rig="rig", state=state, transfer_memory=30.0)
    history.update(ReceivedMessages(health=health, results=(results,), transfer=transfer), age=0.1)
    return history


@pytest.fixture
def panel(qtbot):
    shown = TransferPanel(View(), LIGHT)
    qtbot.addWidget(shown)
    shown.resize(560, 560)
    shown.show()
    return shown


def curve(panel, row, actuator="a"):
    return panel.curves[actuator][row]


def test_the_rows_show_ratio_delay_and_coherence(panel):
    look(panel, heard(block()))
    for row, values in enumerate((RATIO, 1e3 * DELAY, COHERENCE)):
        x, y = curve(panel, row).weak.getData()
        np.testing.assert_allclose(x, F)
        np.testing.assert_allclose(y, values)
    assert [row.getAxis("left").labelText for row in panel.rows] == ["ratio", "delay [ms]", "coherence"]
    assert panel.rows[-1].getAxis("bottom").labelText == "frequency [Hz]"


def test_the_phase_takes_the_place_of_the_delay(panel):
    history = heard(block())
    look(panel, history)
    panel.phase.setChecked(True)
    panel.refresh(history)
    np.testing.assert_allclose(curve(panel, 1).weak.getData()[1], -360.0 * F * DELAY)
    assert panel.rows[1].getAxis("left").labelText == "phase [°]"


def test_what_is_hardly_coherent_is_thin_and_grey(panel):
    look(panel, heard(block()))
    strong = curve(panel, 0).strong.getData()[1]
    np.testing.assert_array_equal(np.isfinite(strong), COHERENCE >= 0.7)
    weak, bold = curve(panel, 0).weak.opts["pen"], curve(panel, 0).strong.opts["pen"]
    assert weak.widthF() < bold.widthF()
    assert weak.color().name() == LIGHT.muted
    assert bold.color().name() == LIGHT.series[0]
    assert "grey: coherence < 0.7" in panel.readout.text()


def test_the_band_is_one_standard_deviation_each_way(panel):
    look(panel, heard(block()))
    for row, (values, deviation) in enumerate(((RATIO, SD[0]), (1e3 * DELAY, 1e3 * SD[1]))):
        box = curve(panel, row).band.path().boundingRect()
        good = values[COHERENCE >= 0.7]
        assert (box.top(), box.bottom()) == pytest.approx((good.min() - deviation, good.max() + deviation))
        assert box.right() == pytest.approx(5.5)
    assert curve(panel, 2).band.path().isEmpty()
    assert "band ± 1 sd" in panel.readout.text()


def test_a_frequency_without_values_is_a_gap(panel):
    look(panel, heard(block(hole=4)))
    assert np.isnan(curve(panel, 0).strong.getData()[1][4])
    path = curve(panel, 0).band.path()
    assert path.contains(QPointF(F[1] + 0.1, RATIO[1]))
    assert not path.contains(QPointF(F[4], RATIO[4]))


def test_the_logarithmic_axis_has_the_logarithm_of_the_frequency(panel):
    history = heard(block())
    look(panel, history)
    panel.logarithmic.setChecked(True)
    panel.refresh(history)
    np.testing.assert_allclose(curve(panel, 0).weak.getData()[0], np.log10(F))
    assert panel.dominant[0].value() == pytest.approx(math.log10(2.2))
    axis = panel.rows[-1].getAxis("bottom")
    low, high = panel.rows[-1].view_box.viewRange()[0]
    ((_, places), *_) = axis.tickValues(low, high, 400.0)
    assert {"0.5", "1", "2", "5", "10"} <= set(axis.tickStrings(places, 1.0, 1.0))


def test_the_dominant_frequency_is_that_of_the_instant(panel):
    history = heard(block())
    look(panel, history)
    assert all(mark.isVisible() and mark.value() == 2.2 for mark in panel.dominant)
    assert "dominant 2.2 Hz" in panel.readout.text()
    panel.view.pin(history.begin_x + 0.5)
    panel.refresh(history)
    assert panel.dominant[0].value() == 4.4
    look(panel, heard(block(), frequency=math.nan))
    panel.view.pin(None)
    panel.view.follow()
    panel.refresh(heard(block(), frequency=math.nan))
    assert not panel.dominant[0].isVisible()
    assert "dominant" not in panel.readout.text()


def test_it_says_of_which_time_it_is(panel):
    look(panel, heard(block(time=12.5)))
    assert panel.heading.text() == "● live · a · newest, up to 12.50 s, averaged over 30 s"
    panel.view.pin(0.2)
    panel.refresh(heard(block(time=12.5)))
    assert panel.heading.text().startswith("◆ at 11.20 s")
    assert "up to 12.50 s" in panel.heading.text()


def test_all_actuators_differ_in_colour_stroke_and_name(panel):
    history = heard(block())
    look(panel, history)
    assert tuple(panel.curves) == ("a",)
    panel.everyone.setChecked(True)
    panel.refresh(history)
    assert tuple(panel.curves) == ("a", "b")
    np.testing.assert_allclose(curve(panel, 0, "b").weak.getData()[1], 1.1 * RATIO)
    pens = [curve(panel, 0, name).strong.opts["pen"] for name in ("a", "b")]
    assert pens[0].color() != pens[1].color()
    assert pens[0].style() != pens[1].style()
    assert panel.readout.text().startswith("── a · ╌╌ b")
    panel.everyone.setChecked(False)
    panel.view.select_actuator("b")
    panel.refresh(history)
    assert tuple(panel.curves) == ("b",)


def test_the_mouse_tells_the_values_at_the_nearest_frequency(panel, qtbot):
    look(panel, heard(block()))
    at = panel.rows[1].view_box.mapViewToScene(QPointF(2.1, 12.0))
    qtbot.mouseMove(panel.pane.viewport(), panel.pane.mapFromScene(at))
    assert panel.readout.text() == "2 Hz: ratio 1.040 ± 0.050, delay 12.0 ± 2.0 ms, coherence 0.980"
    at = panel.rows[1].view_box.mapViewToScene(QPointF(8.0, 12.0))
    qtbot.mouseMove(panel.pane.viewport(), panel.pane.mapFromScene(at))
    assert panel.readout.text().endswith("coherence 0.400 (low)")


def test_the_rows_zoom_together_and_a_double_click_frees_them(panel, qtbot):
    history = heard(block())
    look(panel, history)
    before = [row.view_box.viewRange() for row in panel.rows]
    panel.rows[0].zoom(0.5)
    panel.rows[0].view_box.sigRangeChangedManually.emit([True, True])
    np.testing.assert_allclose(panel.rows[2].view_box.viewRange()[0], panel.rows[0].view_box.viewRange()[0])
    assert not any(row.auto_range_on for row in panel.rows)
    middle = panel.pane.mapFromScene(panel.rows[1].view_box.sceneBoundingRect().center())
    qtbot.mouseDClick(panel.pane.viewport(), Qt.MouseButton.LeftButton, pos=middle)
    qtbot.mouseRelease(panel.pane.viewport(), Qt.MouseButton.LeftButton, pos=middle)
    np.testing.assert_allclose([row.view_box.viewRange() for row in panel.rows], before)


def test_coherence_is_shown_from_none_to_full(panel):
    look(panel, heard(block()))
    low, high = panel.rows[2].view_box.viewRange()[1]
    assert low == 0.0
    assert 1.0 <= high < 1.1


def test_the_scale_is_that_of_the_coherent_values(panel):
    wild = block()
    wild.values[-3:, 1] = 50.0
    look(panel, heard(wild))
    assert panel.rows[0].view_box.viewRange()[1][1] < 2.0


def test_noise_does_not_fill_the_scale_and_tick_labels_leave_room_for_the_name(panel):
    """A perfect actuator: a ratio of one to a millionth, a constant delay."""
    flat = block()
    columns = flat.stream.positions
    for name in ("a", "b"):
        flat.values[:, columns[name, "ratio"]] = 1.0 + 1e-6 * np.sin(F)
        flat.values[:, columns[name, "ratio_sd"]] = 1e-6
        flat.values[:, columns[name, "delay"]] = 0.012
        flat.values[:, columns[name, "delay_sd"]] = 1e-7
    look(panel, heard(flat))
    for row, least in zip(panel.rows[:2], (0.02, 1.0), strict=True):
        low, high = row.view_box.viewRange()[1]
        assert high - low >= least
        axis = row.getAxis("left")
        axis.picture = None
        QApplication.processEvents()
        widest = max(
            QFontMetricsF(axis.style["tickFont"]).horizontalAdvance(text)
            for text in axis.tickStrings([low, 0.5 * (low + high), high], axis.scale, 0.5 * least)
        )
        name = axis.label.mapRectToParent(axis.label.boundingRect())
        assert name.right() <= axis.width() - widest - 4.0


def test_without_a_transfer_function_it_says_so(panel):
    look(panel, heard(block()))
    history = heard(None)
    panel.configure(history)
    assert panel.rows[0].annotation == "no transfer function yet"
    assert not panel.curves
    assert not panel.dominant[0].isVisible()


def test_a_stale_one_is_grey(panel):
    look(panel, heard(block(), state="stale"))
    assert panel.heading.text().startswith("▲ stale")
    assert curve(panel, 0).strong.opts["pen"].color().name() == LIGHT.muted


def test_nothing_is_drawn_anew_that_is_there(panel):
    history = heard(block())
    look(panel, history)
    data = curve(panel, 0).weak.getData()[1]
    panel.refresh(history)
    assert curve(panel, 0).weak.getData()[1] is data


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.4, 11.0, [0.5, 1.0, 2.0, 5.0, 10.0]),
        (2.2, 2.8, [2.2, 2.3, 2.4, 2.5, 2.6, 2.7, 2.8]),
        (9.0, 14.0, [9.0, 10.0, 11.0, 12.0, 13.0, 14.0]),
    ],
)
def test_marks_of_a_logarithmic_axis_are_round(low, high, expected):
    assert log_ticks(low, high) == pytest.approx(expected)
