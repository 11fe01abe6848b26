"""The synchronization subspace panel: what is seen of tones with a known gain and delay."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QMouseEvent, QWheelEvent
from PySide6.QtWidgets import QApplication

from gui.panels.hysteresis import HysteresisPanel
from gui.panels.subspace import SubspacePanel
from gui.panels.transfer import TransferPanel
from gui.plots.view import View
from gui.widgets.theme import DARK, LIGHT
from tests.gui.panels.tone_rig import AMPLITUDE, RATE, WINDOW, pulsation, tone_history, tone_samples
from tests.gui.shown import look

pytestmark = pytest.mark.usefixtures("warm_kernels")


@pytest.fixture
def view():
    return View()


@pytest.fixture
def panel(qtbot, view):
    shown = SubspacePanel(view, LIGHT)
    shown.window_seconds = WINDOW
    qtbot.addWidget(shown)
    shown.resize(500, 500)
    shown.show()
    return shown


def drawn(panel):
    """Return the points of the trail, those that two parts share once."""
    xy = [part.getData() for part in panel.trail.parts]
    return np.concatenate([x[: -1 if k < len(xy) - 1 else None] for k, (x, _) in enumerate(xy)]), np.concatenate(
        [y[: -1 if k < len(xy) - 1 else None] for k, (_, y) in enumerate(xy)]
    )


def off_ellipse(panel, command, measured):
    """Return how far samples are from the drawn ellipse, in amplitudes: the distance to its nearest side."""
    x, y = panel.ellipse.getData()
    begin, along = np.stack([x, y], axis=1)[:-1], np.diff(np.stack([x, y], axis=1), axis=0)
    points = np.stack([command, measured], axis=1)[:, None, :]
    part = np.clip(np.sum((points - begin) * along, axis=2) / np.sum(along**2, axis=1), 0.0, 1.0)
    return np.linalg.norm(points - begin - part[..., None] * along, axis=2).min(axis=1) / AMPLITUDE


@pytest.mark.parametrize(("delay", "ratio"), [(0.012, 1.1), (-0.02, 0.8), (0.0004, 1.0)])
def test_every_sample_of_the_window_lies_on_the_ellipse(panel, delay, ratio):
    look(panel, tone_history(delay=delay, ratio=ratio))
    _, command, measured, _ = tone_samples(5.0, delay, ratio)
    n_window = round(WINDOW * RATE)
    x, y = drawn(panel)
    np.testing.assert_allclose(x, command[-n_window:], rtol=0.0, atol=1e-15)
    np.testing.assert_allclose(y, measured[-n_window:], rtol=0.0, atol=1e-15)
    assert off_ellipse(panel, command[-n_window:], measured[-n_window:]).max() < 1e-3


def test_a_lag_is_told_in_degrees_milliseconds_and_words(panel):
    delay, ratio = 0.012, 1.1
    look(panel, tone_history(delay=delay, ratio=ratio))
    lines = panel.plot.annotation.splitlines()
    assert lines[0].split()[:2] == ["phase", f"−{np.degrees(pulsation() * delay):.2f}"]
    assert lines[0].endswith("°")
    assert lines[1].split()[:2] == ["delay", "12.00"]
    assert lines[1].endswith(" ms")
    assert lines[2].split()[:2] == ["ratio", "1.100"]
    assert lines[3:] == ["measured lags", "↺ counter-clockwise", "undershoot"]


def test_a_lead_goes_the_other_way(panel):
    look(panel, tone_history(delay=-0.012, ratio=0.9))
    assert panel.plot.annotation.splitlines()[3:] == ["measured leads", "↻ clockwise", "overshoot"]


def test_the_way_that_is_told_is_the_way_it_goes(panel):
    for delay, turn in ((0.03, 1.0), (-0.03, -1.0)):
        look(panel, tone_history(delay=delay, ratio=1.0))
        x, y = drawn(panel)
        assert np.sign(np.sum(x[:-1] * np.diff(y) - y[:-1] * np.diff(x))) == turn
        assert ("counter-clockwise" in panel.plot.annotation) is (turn > 0.0)


def test_the_newest_point_is_marked_and_the_arrow_shows_the_way(panel):
    history = tone_history(delay=0.012)
    look(panel, history)
    QApplication.processEvents()
    panel.refresh(history)
    _, command, measured, _ = tone_samples(5.0, 0.012, 1.1)
    at = panel.trail.newest.pos()
    assert (at.x(), at.y()) == pytest.approx((command[-1], measured[-1]))
    assert panel.trail.head.isVisible()
    # an angle of 0 points left, 90 up; both signals go the same way here
    angle = np.radians(180.0 - panel.trail.head.opts["angle"])
    going = np.array([command[-1] - command[-6], measured[-1] - measured[-6]])
    assert np.dot([np.cos(angle), np.sin(angle)], going) / np.linalg.norm(going) > 0.95


def test_older_points_are_fainter(panel):
    look(panel, tone_history())
    opacity = [part.opts["pen"].color().alphaF() for part in panel.trail.parts]
    assert opacity == sorted(opacity)
    assert opacity[0] < 0.3 < 0.99 < opacity[-1]


def test_both_axes_have_one_scale(panel):
    history = tone_history(ratio=2.0)
    look(panel, history)
    QApplication.processEvents()
    width, height = panel.plot.view_box.viewPixelSize()
    assert width == pytest.approx(height, rel=1e-3)
    assert panel.diagonal.isVisible()
    assert panel.plot.getAxis("bottom").labelText == "command [mm]"
    assert panel.plot.getAxis("left").labelText == "measured [mm]"
    x, y = panel.plot.view_box.viewRange()
    assert x[0] <= -AMPLITUDE
    assert x[1] >= AMPLITUDE
    assert y[0] <= -AMPLITUDE / 2.0


def test_of_two_units_there_is_no_diagonal(panel):
    look(panel, tone_history(units=("V", "m"), force=False))
    assert not panel.diagonal.isVisible()
    assert panel.plot.view_box.getAspectRatio() != 0.0
    assert not panel.plot.square
    assert panel.plot.annotation.splitlines()[2].endswith("V/m")
    assert "shoots" not in panel.plot.annotation


def test_a_pinned_instant_is_shown_with_its_own_values(panel, view):
    def slower(command, measured, force):
        # from 3 s on the lag is another one
        _, _, late, _ = tone_samples(8.0, 0.03, 1.1)
        measured[round(3.0 * RATE) :] = late[round(3.0 * RATE) :]

    history = tone_history(8.0, edit=slower)
    look(panel, history)
    assert panel.plot.annotation.splitlines()[1].split()[1] == "30.00"
    view.pin(2.9)
    panel.refresh(history)
    assert panel.plot.annotation.splitlines()[1].split()[1] == "12.00"
    assert "at 2.90 s" in panel.heading.text()
    _, command, _, _ = tone_samples(8.0, 0.012, 1.1)
    assert drawn(panel)[0][-1] == pytest.approx(command[round(2.9 * RATE)])


def test_before_a_window_is_full_there_is_no_ellipse(panel):
    look(panel, tone_history(1.2))
    assert panel.plot.annotation.splitlines() == ["no ellipse:", "window not full, 1.20 of 2 s without a gap"]
    assert len(panel.ellipse.getData()[0] if panel.ellipse.getData()[0] is not None else ()) == 0
    assert len(drawn(panel)[0]) == round(1.2 * RATE)


def test_a_missing_sample_breaks_the_line_and_the_ellipse(panel):
    def lost(command, measured, force):
        measured[round(4.5 * RATE)] = np.nan

    look(panel, tone_history(edit=lost))
    assert "window not full, 0.50 of 2 s" in panel.plot.annotation
    _, y = drawn(panel)
    assert np.isnan(y).sum() == 1
    assert np.isnan(y[-round(0.5 * RATE)])


def test_a_command_that_stands_still_is_said_to(panel, view):
    def still(command, measured, force):
        for column in (command, measured, force):
            column[round(3.0 * RATE) :] = column[round(3.0 * RATE)]

    history = tone_history(6.0, edit=still)
    look(panel, history)
    view.pin(2.5)
    panel.refresh(history)
    assert panel.plot.annotation.startswith("phase")
    view.pin(None)
    view.follow()
    panel.refresh(history)
    assert panel.plot.annotation.splitlines() == ["no ellipse:", "too little motion"]
    assert not panel.trail.head.isVisible()


def test_without_paei_it_says_so(panel):
    look(panel, tone_history(measures=("fdb",)))
    assert panel.plot.annotation.splitlines() == ["no ellipse:", "PAEI is not computed"]


@pytest.mark.parametrize(
    ("more", "words"),
    [({"state": "stale"}, "▲ stale"), ({"silence": 9.0}, "▲ no data from the service"), ({"age": 60.0}, "▲ stale")],
)
def test_what_is_old_is_grey_and_said_to_be(panel, more, words):
    look(panel, tone_history(**more))
    assert panel.heading.text().startswith(words)
    assert panel.trail.parts[-1].opts["pen"].color().name() == LIGHT.muted
    look(panel, tone_history())
    assert panel.heading.text().startswith("● live")
    assert panel.trail.parts[-1].opts["pen"].color().name() == LIGHT.measured


def test_without_signals_nothing_is_drawn(panel, qtbot):
    from gui.model.history import History

    look(panel, tone_history())
    panel.configure(History(memory=1 << 20))
    assert panel.plot.annotation == "waiting for signals"
    assert all(len(part.getData()[0] if part.getData()[0] is not None else ()) == 0 for part in panel.trail.parts)
    assert not panel.trail.newest.isVisible()


def test_the_wheel_zooms_and_a_double_click_goes_back(panel, qtbot):
    history = tone_history()
    look(panel, history)
    QApplication.processEvents()
    before = panel.plot.view_box.viewRange()
    middle = panel.pane.viewport().rect().center()
    wheel = QWheelEvent(
        QPointF(middle),
        QPointF(panel.pane.viewport().mapToGlobal(middle)),
        QPoint(0, 0),
        QPoint(0, 240),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(panel.pane.viewport(), wheel)
    nearer = panel.plot.view_box.viewRange()
    assert nearer[0][1] - nearer[0][0] < 0.9 * (before[0][1] - before[0][0])
    # somebody looks closer: it stays so
    panel.refresh(history)
    np.testing.assert_allclose(panel.plot.view_box.viewRange(), nearer)
    qtbot.mouseDClick(panel.pane.viewport(), Qt.MouseButton.LeftButton, pos=middle)
    qtbot.mouseRelease(panel.pane.viewport(), Qt.MouseButton.LeftButton, pos=middle)
    np.testing.assert_allclose(panel.plot.view_box.viewRange(), before)


def test_the_mouse_tells_where_it_is(panel, qtbot):
    look(panel, tone_history())
    QApplication.processEvents()
    at = panel.plot.view_box.mapViewToScene(QPointF(0.001, -0.002))
    qtbot.mouseMove(panel.pane.viewport(), panel.pane.mapFromScene(at))
    # within two pixels, in mm
    pixel = 2e3 * panel.plot.view_box.viewPixelSize()[0]
    command, measured = panel.readout.text().replace("−", "-").split(", ")
    assert float(command.split()[1]) == pytest.approx(1.0, abs=pixel)
    assert float(measured.split()[1]) == pytest.approx(-2.0, abs=pixel)
    assert command.endswith(" mm")
    QApplication.sendEvent(panel.pane, QEvent(QEvent.Type.Leave))
    assert not panel.readout.text().strip()


def test_dragging_pans(panel, qtbot):
    history = tone_history()
    look(panel, history)
    QApplication.processEvents()
    (low, high), _ = panel.plot.view_box.viewRange()
    plane, port = panel.plot.view_box, panel.pane.viewport()
    begin, end = (panel.pane.mapFromScene(plane.mapViewToScene(QPointF(x, 0.0))) for x in (0.0, 0.002))
    qtbot.mousePress(port, Qt.MouseButton.LeftButton, pos=begin)
    for step in range(1, 11):
        at = begin + (end - begin) * (step / 10.0)
        held = QMouseEvent(
            QEvent.Type.MouseMove,
            QPointF(at),
            QPointF(port.mapToGlobal(at)),
            Qt.MouseButton.NoButton,
            Qt.MouseButton.LeftButton,
            Qt.KeyboardModifier.NoModifier,
        )
        QApplication.sendEvent(port, held)
    qtbot.mouseRelease(port, Qt.MouseButton.LeftButton, pos=end)
    panel.refresh(history)
    moved = panel.plot.view_box.viewRange()[0]
    assert moved[0] < low - 0.001
    assert moved[1] - moved[0] == pytest.approx(high - low)


def test_samples_that_are_no_longer_kept_are_said_to_be(panel, view):
    history = tone_history(12.0, memory=1 << 17)
    kept = history.signals.exact_begin_x
    assert 2.5 < kept < 10.0
    look(panel, history)
    assert not panel.readout.text().strip()
    view.pin(2.5)
    panel.refresh(history)
    assert panel.readout.text().startswith(f"drawn from {kept:.2f} s on")


def test_a_restart_is_no_line(panel):
    history = tone_history(3.0)
    from gui.model.receiver import ReceivedMessages
    from monitor.messages.blocks import SignalBlock
    from tests.gui.panels.tone_rig import tone_stream

    _, *columns = tone_samples(1.0, 0.0, 1.0)
    block = SignalBlock(tone_stream(epoch=2), 0, 0.0, np.ascontiguousarray(np.stack(columns, axis=1)))
    history.update(ReceivedMessages(signals=(block,)))
    look(panel, history)
    x, _ = drawn(panel)
    assert np.isnan(x).any()
    assert "window not full, 1.00 of 2 s" in panel.plot.annotation


def test_it_takes_other_colours(panel):
    history = tone_history()
    look(panel, history)
    panel.apply_theme(DARK)
    panel.refresh(history)
    assert panel.trail.parts[-1].opts["pen"].color().name() == DARK.measured
    assert panel.pane.backgroundBrush().color().name() == DARK.base


@pytest.mark.parametrize("kind", [SubspacePanel, HysteresisPanel, TransferPanel])
def test_no_panel_outlives_its_window(qtbot, view, kind):
    panel = kind(view, LIGHT)
    gone = weakref.ref(panel)
    look(panel, tone_history(2.5))
    panel.deleteLater()
    del panel
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
    gc.collect()
    assert gone() is None
