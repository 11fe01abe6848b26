"""The hysteresis panel: the loop of a spring beside a damper, whose area is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gui.panels.hysteresis import LENGTHS, HysteresisPanel, loop_energy, work_unit
from gui.plots.view import View
from gui.widgets.theme import LIGHT
from tests.gui.panels.tone_rig import AMPLITUDE, DAMPING, RATE, WINDOW, pulsation, tone_history, tone_samples
from tests.gui.shown import look


@pytest.fixture
def panel(qtbot):
    shown = HysteresisPanel(View(), LIGHT)
    shown.window_seconds = WINDOW
    qtbot.addWidget(shown)
    shown.resize(500, 400)
    shown.show()
    return shown


def points(*curves):
    """Return displacement and force of curves, one behind the other; of what two share, once."""
    found = [curve.getData() for curve in curves]
    found = [xy for xy in found if xy[0] is not None and len(xy[0])]
    x = [x[:-1] for x, _ in found[:-1]] + [found[-1][0]]
    y = [y[:-1] for _, y in found[:-1]] + [found[-1][1]]
    return np.concatenate(x), np.concatenate(y)


def test_the_newest_window_is_drawn_over_what_was_before(panel, warm_kernels):
    look(panel, tone_history(9.0))
    _, _, measured, force = tone_samples(9.0, 0.012, 1.1)
    x, y = points(*panel.trail.parts)
    n_window = round(WINDOW * RATE)
    np.testing.assert_allclose(x, measured[-n_window:], atol=1e-15)
    np.testing.assert_allclose(y, force[-n_window:], atol=1e-12)
    x, y = points(panel.older)
    np.testing.assert_allclose(x, measured[-4 * n_window :], atol=1e-15)
    np.testing.assert_allclose(y, force[-4 * n_window :], atol=1e-12)
    assert panel.plot.getAxis("bottom").labelText == "measured [mm]"
    assert panel.plot.getAxis("left").labelText == "restoring force [N]"


def test_the_energy_of_a_turn_is_that_of_the_damper(panel, warm_kernels):
    look(panel, tone_history(5.0, ratio=1.1))
    # a viscous damper takes up pi c w A^2 a turn
    energy = np.pi * DAMPING * pulsation() * (AMPLITUDE / 1.1) ** 2
    told = panel.plot.annotation.split()
    assert told[:-2] == ["energy", "per", "cycle"]
    assert float(told[-2]) == pytest.approx(1e3 * energy, rel=5e-3)
    assert told[-1] == "mJ"


def test_the_prefix_of_the_energy_remains_while_it_is_readable(panel):
    texts = [panel._energy_text("a", energy, "J") for energy in (0.9, 1.1, 0.9, 0.02)]
    assert texts == ["900 mJ", "1.1 J", "0.9 J", "0.02 J"]
    # too small to be read in J; of another actuator
    assert panel._energy_text("a", 0.0005, "J") == "500 µJ"
    assert panel._energy_text("a", 1.1, "J") == "1.1 J"
    assert panel._energy_text("b", 0.9, "J") == "900 mJ"


def test_without_a_frequency_no_energy_is_told(panel, warm_kernels):
    look(panel, tone_history(5.0, measures=("ti",)))
    assert panel.plot.annotation == "energy per cycle —"


def test_how_far_back_it_goes_can_be_chosen(panel, warm_kernels, qtbot):
    history = tone_history(14.0)
    look(panel, history)
    moved = []
    panel.view.range_changed.connect(lambda: moved.append(True))
    for choice, seconds in ((0, 0.0), (1, 4.0 * WINDOW), (2, 7.0)):
        panel.view.span = 7.0
        panel.lengths.setCurrentIndex(choice)
        panel.refresh(history)
        x, _ = panel.older.getData()
        assert (0 if x is None else len(x)) == pytest.approx(seconds * RATE, abs=1)
    # the window is told to draw
    assert moved
    assert len(LENGTHS) == panel.lengths.count()


def test_long_loops_are_drawn_from_few_points_that_keep_the_corners(panel, warm_kernels):
    history = tone_history(40.0)
    panel.view.span = 40.0
    panel.lengths.setCurrentIndex(2)
    look(panel, history)
    x, y = panel.older.getData()
    _, _, measured, force = tone_samples(40.0, 0.012, 1.1)
    assert len(x) <= 4010
    assert (x.min(), x.max()) == (measured.min(), measured.max())
    assert (y.min(), y.max()) == (force.min(), force.max())


def test_what_is_older_is_not_drawn_at_every_look(panel, warm_kernels):
    history = tone_history(14.0)
    panel.view.following = False
    panel.view.right = 12.0
    look(panel, history)
    older, newest = panel.older.getData()[0], panel.trail.newest.pos()
    panel.view.set_right(panel.view.right)
    panel.view.right = 12.04
    panel.refresh(history)
    assert panel.older.getData()[0] is older
    assert panel.trail.newest.pos() != newest
    panel.view.right = 13.0
    panel.refresh(history)
    _, _, measured, _ = tone_samples(14.0, 0.012, 1.1)
    assert panel.older.getData()[0][-1] == pytest.approx(measured[round(13.0 * RATE)])


def test_without_a_force_there_is_a_line_of_text(panel, warm_kernels):
    look(panel, tone_history(3.0, force=False))
    assert panel.plot.annotation == "a has no force channel: no loop to show"
    assert not panel.trail.newest.isVisible()


def test_a_stale_loop_is_grey(panel, warm_kernels):
    look(panel, tone_history(3.0, state="stale"))
    assert panel.heading.text().startswith("▲ stale")
    assert panel.trail.parts[-1].opts["pen"].color().name() == LIGHT.muted


@given(
    stiffness=st.floats(-1e5, 1e5),
    damping=st.floats(-300.0, 300.0),
    offset=st.floats(-10.0, 10.0),
    n_turn=st.integers(50, 900),
    begin=st.floats(0.0, 6.0),
)
def test_what_a_spring_stores_does_not_count(stiffness, damping, offset, n_turn, begin):
    amplitude, rate = 0.01, 1000.0
    frequency = rate / n_turn
    turn = begin + 2.0 * np.pi * frequency * np.arange(2 * n_turn) / rate
    displacement, velocity = amplitude * np.sin(turn), amplitude * 2.0 * np.pi * frequency * np.cos(turn)
    force = stiffness * displacement + damping * velocity + offset
    energy = np.pi * damping * 2.0 * np.pi * frequency * amplitude**2
    # a polygon of n corners has less area than its circle, by 2 pi^2 / 3 n^2
    # an area below 1e-9 of the bounding box, which has the sides 2 A and 2 k A, counts as rounding error
    least = 4e-9 * (abs(stiffness) + 1.0) * amplitude**2
    told = loop_energy(displacement + 3.0 * offset, force, rate, frequency)
    assert told == pytest.approx(energy, rel=7.0 / n_turn**2 + 1e-9, abs=least)


def test_no_turn_has_no_energy():
    x = np.sin(np.arange(100) / 10.0)
    assert np.isnan(loop_energy(x, x, 1000.0, 2.0))
    assert np.isnan(loop_energy(x, x, 1000.0, np.nan))
    assert np.isnan(loop_energy(x, x, 1000.0, 5e-324))
    assert np.isnan(loop_energy(x, x, 1000.0, 400.0))
    x[-3] = np.nan
    assert np.isnan(loop_energy(x, x, 1000.0, 20.0))


def test_the_unit_of_the_work():
    assert [work_unit(*units) for units in (("m", "N"), ("mm", "kN"), ("in", "kip"), ("", "N"))] == [
        "J",
        "J",
        "kip·in",
        "N",
    ]
