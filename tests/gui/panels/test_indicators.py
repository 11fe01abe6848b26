"""The indicators over time: their values, what is uncertain of them, and where there are none."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gui.model.alarms import DisplayLimit
from gui.model.history import History
from gui.model.receiver import ReceivedMessages
from gui.panels.indicators import IndicatorsPanel
from gui.widgets.theme import LIGHT
from monitor.messages.blocks import Column, ResultBlock, ResultStream
from tests.gui.shown import show_panel

RATE = 25.0


def block(values, columns, index=0):
    stream = ResultStream("rig", 1, RATE, 1, tuple(columns))
    return ResultBlock(stream, index, index / RATE, np.ascontiguousarray(values, dtype=float))


def shown(qtbot, history, span=20.0):
    panel = show_panel(qtbot, IndicatorsPanel, history, (1000, 800), span=span)
    return panel, panel.view


def kept(values, columns):
    history = History(memory=8 << 20)
    history.update(ReceivedMessages(results=(block(values, columns),)))
    return history


@pytest.fixture
def delays():
    """Ten seconds of delay of two actuators, from 2 s on, missing from 5 to 6 s."""
    t = np.arange(250) / RATE
    values = np.column_stack([0.010 + 0.001 * t, np.full(250, 0.002), -0.005 + 0.0 * t, np.full(250, 0.001)])
    values[(t < 2.0) | ((t >= 5.0) & (t < 6.0))] = np.nan
    columns = [
        Column(name, "s", actuator) for actuator in ("north", "south") for name in ("fdb_delay", "fdb_delay_sd")
    ]
    return t, values, kept(values, columns)


def test_the_rows_are_those_there_are_results_of(qtbot, watched, delays):
    panel, _ = shown(qtbot, watched)
    # the headline, as high as the panel allows; the others are chosen
    assert [row.key for row in panel.stack.rows] == ["delay", "ratio"]
    panel.show_rows(["delay", "ratio", "phase", "ti", "hsem", "nrmse", "added_damping", "peak_error"])
    assert [row.name for row in panel.stack.rows] == [
        "delay",
        "ratio",
        "phase",
        "tracking indicator",
        "energy error",
        "NRMSE",
        "added damping",
        "peak error",
    ]
    assert [row.unit for row in panel.stack.rows] == ["ms", "1", "°", "m^2", "J", "%", "%/share", "m"]
    assert [curve.label for curve in panel.stack.rows[0].curves] == ["broadband", "FDB", "PAEI"]
    assert [row.key for row in shown(qtbot, delays[2])[0].stack.rows] == ["delay"]


def test_the_headline_is_drawn_over_the_others_and_an_indicator_has_one_colour_in_all_rows(qtbot, watched):
    panel, _ = shown(qtbot, watched)
    panel.show_rows(["delay", "ratio", "phase", "frequency"])
    delay, ratio, phase, frequency = (row.curves for row in panel.stack.rows)
    for curves in (delay, ratio):
        assert [(curve.label, curve.faint) for curve in curves] == [
            ("broadband", False), ("FDB", True), ("PAEI", True),
        ]  # fmt: skip
    assert not any(curve.faint for curve in (*phase, *frequency))
    colours = {(curve.label, curve.colour) for curves in (delay, ratio, phase, frequency) for curve in curves}
    assert len(colours) == 3
    legend = panel.stack.legend(0)
    newest = 1e3 * watched.results.value("north", "broadband_delay")
    assert legend[0].startswith("broadband ")
    assert float(legend[0].split()[1].replace("−", "-")) == pytest.approx(newest, abs=0.01)


def test_without_the_headline_nothing_is_faint_and_all_actuators_have_what_there_is(qtbot):
    columns = [Column(f"{prefix}_delay", "s", a) for a in ("a", "b") for prefix in ("fdb", "paei")]
    panel, _ = shown(qtbot, kept(np.full((250, 4), 0.01), columns))
    (row,) = panel.stack.rows
    assert [(curve.label, curve.faint) for curve in row.curves] == [("FDB", False), ("PAEI", False)]
    panel.together.click()
    (row,) = panel.stack.rows
    assert [curve.label for curve in row.curves] == ["a", "b"]
    assert row.legend == "> 0 lags, by FDB"


@pytest.mark.parametrize(
    ("name", "key", "factor"), [("xcorr_delay", "xcorr_delay", 1e3), ("ti_angle", "ti_angle", 180.0 / math.pi)]
)
def test_a_row_has_bands_as_soon_as_its_standard_deviation_is_published(qtbot, name, key, factor):
    columns = [Column(name, "s", "a"), Column(f"{name}_sd", "s", "a")]
    panel, _ = shown(qtbot, kept(np.tile([0.010, 0.002], (250, 1)), columns))
    panel.show_rows([key])
    (band,) = panel.stack.frame.rows[0].bands
    np.testing.assert_allclose(band.low, factor * 0.008)
    np.testing.assert_allclose(band.high, factor * 0.012)
    panel, _ = shown(qtbot, kept(np.full((250, 1), 0.010), columns[:1]))
    panel.show_rows([key])
    assert not panel.stack.frame.rows[0].bands


def test_delay_is_in_milliseconds_and_missing_where_it_means_nothing(qtbot, delays):
    t, values, history = delays
    panel, _ = shown(qtbot, history)
    trace = panel.stack.frame.rows[0].curves[0]
    places = np.rint(trace.centers * RATE).astype(int)
    np.testing.assert_allclose(trace.low, 1e3 * values[places, 0])
    assert np.isnan(trace.low[(t[places] >= 5.0) & (t[places] < 6.0)]).all()


def test_bands_are_one_standard_deviation_on_either_side_and_say_so(qtbot, delays):
    _, values, history = delays
    panel, _ = shown(qtbot, history)
    band = panel.stack.frame.rows[0].bands[0]
    places = np.rint(band.centers * RATE).astype(int)
    np.testing.assert_allclose(band.low, 1e3 * (values[places, 0] - values[places, 1]))
    np.testing.assert_allclose(band.high, 1e3 * (values[places, 0] + values[places, 1]))
    assert "± 1 sd" in panel.stack.rows[0].legend


def test_no_number_is_shown_for_what_is_not_valid(qtbot, delays):
    _, _, history = delays
    panel, view = shown(qtbot, history)
    view.set_cursor(5.5)
    assert panel.stack.legend(0) == ["FDB —"]
    view.set_cursor(8.0)
    assert panel.stack.legend(0)[0].startswith("FDB 18.0")
    assert panel.stack.legend(0)[0].endswith(" ms")


def test_what_is_not_valid_is_grey(qtbot, delays):
    panel, _ = shown(qtbot, delays[2])
    stack = panel.stack
    image = stack.viewport().grab().toImage()

    def grounds(x):
        column = round(stack.scale().pixel(x))
        return {image.pixelColor(column, y).name() for y in range(60, 600)} & {LIGHT.invalid, LIGHT.base}

    assert grounds(5.5) == {LIGHT.invalid}
    assert grounds(1.1) == {LIGHT.invalid}
    assert grounds(8.1) == {LIGHT.base}


def test_the_chosen_actuator_is_shown(qtbot, delays):
    _, values, history = delays
    panel, view = shown(qtbot, history)
    assert panel.heading.text() == "actuator north"
    view.select_actuator("south")
    assert panel.heading.text() == "actuator south"
    trace = panel.stack.frame.rows[0].curves[0]
    places = np.rint(trace.centers * RATE).astype(int)
    np.testing.assert_allclose(trace.low, 1e3 * values[places, 2])


def test_all_actuators_lie_over_each_other_when_asked_for(qtbot, delays):
    panel, _ = shown(qtbot, delays[2])
    panel.together.click()
    assert [curve.label for curve in panel.stack.rows[0].curves] == ["north", "south"]
    assert "by FDB" in panel.stack.rows[0].legend
    newest = [text.split() for text in panel.stack.legend(0)]
    assert [(words[0], float(words[1].replace("−", "-"))) for words in newest] == [
        ("north", pytest.approx(19.96, abs=0.01)),
        ("south", pytest.approx(-5.0)),
    ]


def test_the_limits_are_lines_on_both_sides(qtbot, delays):
    panel, _ = shown(qtbot, delays[2])
    assert panel.stack.rows[0].limits == ()
    panel.set_limits({"delay": DisplayLimit("delay", warn=5.0, trip=12.0)})
    lines = {(line.word, line.value) for line in panel.stack.rows[0].limits}
    assert lines == {("display limit", value) for value in (5.0, -5.0, 12.0, -12.0)}


def test_a_limit_of_the_ratio_lies_around_one(qtbot, watched):
    panel, _ = shown(qtbot, watched)
    panel.set_limits({"ratio": DisplayLimit("ratio", 3.0)})
    lines = {(line.word, round(line.value, 9)) for line in panel.stack.rows[1].limits}
    assert lines == {("display limit", 1.03), ("display limit", 0.97)}


def test_a_ratio_with_a_unit_has_no_limits(qtbot):
    columns = [Column("fdb_ratio", "V/mm", "a")]
    panel, _ = shown(qtbot, kept(np.full((50, 1), 3.0), columns))
    assert panel.stack.rows[0].limits == ()
    assert panel.stack.rows[0].unit == "V/mm"


def test_rows_can_be_chosen(qtbot, watched):
    panel, _ = shown(qtbot, watched)
    panel.show_rows(["nrmse", "frequency"])
    assert panel.shown == ("nrmse", "frequency")
    value, (legend, *_) = watched.results.value("north", "fdb_frequency"), panel.stack.legend(1)
    assert legend == f"FDB {value:.{len(legend.split()[1].split('.')[1])}f} Hz"


def test_nothing_to_show_is_said(qtbot):
    panel, _ = shown(qtbot, History(memory=1 << 20))
    assert panel.stack.rows == ()
    assert "No indicators yet" in panel.stack.message


@pytest.mark.parametrize(("warn", "trip"), [(0.0, 1.0), (-1.0, 1.0), (2.0, 1.0), (1.0, 0.0), (math.nan, 1.0)])
def test_limits_that_make_no_sense_are_refused(warn, trip):
    with pytest.raises(ValueError, match="delay"):
        DisplayLimit("delay", warn, trip)
