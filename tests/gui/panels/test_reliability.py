"""A model that is judged: its reliabilities, its band with the measurement, and what was decided."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QPoint

from gui.model.history import History
from gui.model.receiver import ReceivedMessages
from gui.panels.reliability import ReliabilityPanel
from gui.widgets.theme import DARK, LIGHT
from monitor.messages.blocks import Column, Event, EventKind, ResultBlock, ResultStream
from tests.gui.shown import show_panel

RATE = 25.0
NAMES = [f"reliability_{name}" for name in ("instantaneous", "first_passage", "accumulated", "windowed")]
KINDS = [f"{name}{suffix}" for name in NAMES for suffix in ("", "_se")]
BAND = ["model_low", "model_median", "model_high"]


def shown(qtbot, history, span=6.0):
    panel = show_panel(qtbot, ReliabilityPanel, history, (900, 600), span=span)
    return panel, panel.view


@pytest.fixture
def two_sites():
    columns = [Column(name, "m", site) for site in ("deck", "pier") for name in BAND + KINDS]
    columns += [Column(name, "1", "all sites") for name in [*KINDS, "reliability_decision"]]
    values = np.random.default_rng(2).uniform(0.2, 0.8, (100, len(columns)))
    stream = ResultStream("rig", 1, RATE, 1, tuple(columns))
    history = History(memory=8 << 20)
    decision = Event(
        EventKind.DECISION, 1.0, 25, detail="accumulated 0.5 is under 0.7", site="all sites", verdict="watch"
    )
    history.update(ReceivedMessages(results=(ResultBlock(stream, 0, 0.0, values),), events=(decision,)))
    return values, columns, history


def test_the_reliabilities_are_drawn_from_0_to_1_with_their_errors(qtbot, two_sites):
    values, columns, history = two_sites
    panel, _ = shown(qtbot, history)
    row, data = panel.stack.rows[0], panel.stack.frame.rows[0]
    assert [curve.label for curve in row.curves] == ["instantaneous", "first-passage", "accumulated", "windowed"]
    assert row.curves[0].faint
    low, high = panel.stack.limits(row.key)
    assert -0.1 < low <= 0.0
    assert 1.0 <= high < 1.1
    for k, (curve, band) in enumerate(zip(data.curves[1:], data.bands, strict=True), start=1):
        at = columns.index(Column(NAMES[k], "m", "deck"))
        places = np.rint(curve.centers * RATE).astype(int)
        np.testing.assert_array_equal(curve.low, values[places, at])
        np.testing.assert_array_equal(band.high, values[places, at] + values[places, at + 1])
        np.testing.assert_array_equal(band.low, values[places, at] - values[places, at + 1])
    assert "± 1 se" in row.legend
    tip = panel.stack.tip(QPoint(20, 5)).splitlines()
    assert tip[0] == "deck reliability"
    assert tip[1:5] == panel.stack.legend(0)
    assert tip[5] == row.legend


def test_the_measurement_lies_over_the_models_band(qtbot, judged, judged_arrivals):
    panel, _ = shown(qtbot, judged)
    row, data = panel.stack.rows[1], panel.stack.frame.rows[1]
    assert [curve.label for curve in row.curves] == ["model median", "measured"]
    assert row.unit == "m"
    measured = np.concatenate([block.samples[:, 0] for arrived in judged_arrivals for block in arrived.signals])
    rate = judged.signals.sample_rate
    curve = data.curves[1]
    places = np.rint(curve.centers * rate).astype(int)
    np.testing.assert_array_equal(curve.low, measured[places])
    (band,) = data.bands
    known = ~np.isnan(band.low)
    assert known.any()
    assert (band.low[known] <= data.curves[0].low[known]).all()
    assert (band.high[known] >= data.curves[0].high[known]).all()


def test_the_decision_is_a_shape_a_word_and_its_reason(qtbot, judged):
    panel, _ = shown(qtbot, judged)
    newest = [placed.event for placed in judged.events if placed.event.kind is EventKind.DECISION][-1]
    assert (newest.site, newest.verdict) == ("deflection", "reject")
    assert newest.detail.startswith("deflection: reject: ")
    assert panel.heading.text() == f"■ {newest.detail}"


def test_scrubbing_shows_what_was_decided_by_then(qtbot, judged):
    panel, view = shown(qtbot, judged)
    decisions = [placed for placed in judged.events if placed.event.kind is EventKind.DECISION]
    first, second = decisions[0], decisions[1]
    view.pin((first.x + second.x) / 2.0)
    panel.refresh(judged)
    assert panel.heading.text().endswith(first.event.detail)
    view.pin(first.x - 0.1)
    panel.refresh(judged)
    assert panel.heading.text().startswith("○ no decision")


def test_a_decision_is_not_that_of_the_next_run(qtbot, two_sites):
    values, _, history = two_sites
    stream = history.results.stream
    again = ResultStream(stream.rig, 2, RATE, 1, stream.columns)
    history.update(ReceivedMessages(results=(ResultBlock(again, 0, 0.0, values),)))
    panel, _ = shown(qtbot, history)
    panel.sites.setCurrentText("all sites")
    assert panel.heading.text().startswith("○ no decision")


def test_sites_are_chosen_and_all_of_them_are_one_of_the_choices(qtbot, two_sites):
    _, _, history = two_sites
    panel, _ = shown(qtbot, history)
    assert [panel.sites.itemText(i) for i in range(panel.sites.count())] == ["deck", "pier", "all sites"]
    assert panel.sites.isVisible()
    assert [row.name for row in panel.stack.rows] == ["deck", "deck"]
    assert panel.heading.text() == "no decision for this site: there is one for all sites together"
    panel.sites.setCurrentText("all sites")
    assert [row.name for row in panel.stack.rows] == ["all sites", "deck", "pier"]
    assert panel.heading.text() == "▲ accumulated 0.5 is under 0.7"
    panel.configure(history)
    assert panel.site == "all sites"


def test_without_signals_the_band_stands_alone(qtbot, two_sites):
    _, _, history = two_sites
    panel, _ = shown(qtbot, history)
    assert [curve.label for curve in panel.stack.rows[1].curves] == ["model median"]
    assert len(panel.stack.frame.rows[1].curves) == 1


def test_the_legend_reads_both_model_and_measurement(qtbot, judged):
    panel, view = shown(qtbot, judged)
    view.set_cursor(2.0)
    median, measured = panel.stack.legend(1)
    expected = judged.signals.at(2.0, [0])[0]
    value, unit = measured.removeprefix("measured ").split()
    assert unit == "mm"
    assert float(value) == pytest.approx(1e3 * expected, abs=0.01)
    assert median.startswith("model median ")


def test_without_a_model_it_says_how_to_get_one(qtbot, watched):
    panel, _ = shown(qtbot, watched)
    assert panel.stack.rows == ()
    assert "--ensemble" in panel.stack.message
    assert "Simulations" in panel.stack.message
    assert panel.heading.text() == ""


def test_the_decision_has_its_colour_in_every_theme(qtbot, judged):
    panel, _ = shown(qtbot, judged)
    assert panel.heading.palette().windowText().color().name() == LIGHT.bad
    panel.apply_theme(DARK)
    assert panel.heading.palette().windowText().color().name() == DARK.bad


def test_no_model_is_said_only_once_there_are_results_without_one(qtbot, watched):
    # a model that is being simulated, a service that is being connected
    panel, _ = shown(qtbot, History(memory=1 << 20))
    assert panel.stack.message == "Waiting for results."
    panel.configure(watched)
    assert panel.stack.message.startswith("No model is loaded.")
