"""The hysteresis panel: the loop of a spring beside a damper, whose area is known."""

from __future__ import annotations

import numpy as np
import pytest

from gui.panels.hysteresis import LENGTHS, HysteresisPanel
from gui.plots.view import View
from gui.widgets.theme import LIGHT
from tests.gui.panels.tone_rig import (
    AMPLITUDE,
    DAMPING,
    RATE,
    STIFFNESS,
    WINDOW,
    pulsation,
    tone_history,
    tone_samples,
)
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


def test_the_newest_loop_is_that_of_the_spring_and_the_damper(panel, warm_kernels):
    look(panel, tone_history(5.0, ratio=1.1, measures=("specimen",)))
    # a viscous damper takes up pi c w A^2 a loop
    energy = np.pi * DAMPING * pulsation() * (AMPLITUDE / 1.1) ** 2
    known = ("stiffness", STIFFNESS, "N/m"), ("damping", 50.0 * DAMPING * pulsation() / STIFFNESS, "%")
    parts = panel.plot.annotation.removeprefix("loop: ").split(" · ")
    for part, (word, value, unit) in zip(parts, (*known, ("energy", 1e3 * energy, "mJ")), strict=True):
        name, told, _, deviation, of = part.split()
        assert (name, of) == (word, unit)
        assert float(told) == pytest.approx(value, rel=1e-3, abs=4.0 * float(deviation.strip("<")))


def test_without_the_specimens_measures_no_loop_is_told(panel, warm_kernels):
    look(panel, tone_history(5.0, measures=("ti",)))
    assert panel.plot.annotation == "loop: —"


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
