"""Statistics between the two cursors, in a table below the plots."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from gui.model.history import History
from gui.model.receiver import ReceivedMessages
from gui.model.statistics import statistics
from gui.panels.histories import HistoriesPanel
from gui.panels.indicators import IndicatorsPanel
from gui.widgets.theme import LIGHT
from monitor.messages.blocks import Channel, Column, ResultBlock, ResultStream, Role, SignalBlock, Stream
from tests.gui.shown import show_panel

RATE, N = 100.0, 3000


def samples():
    t = np.arange(N) / RATE
    return np.column_stack([0.01 * np.sin(3.0 * t), 0.001 * t])


@pytest.fixture
def history():
    history = History(memory=16 << 20)
    channels = Channel("a.command", Role.COMMAND, "m", "a"), Channel("a.measured", Role.MEASURED, "m", "a")
    signals = SignalBlock(Stream("rig", 1, RATE, channels), 0, 0.0, samples())
    values = np.column_stack([0.001 * np.arange(N // 4) / 25.0, np.full(N // 4, np.nan)])
    columns = Column("broadband_delay", "s", "a"), Column("fdb_delay", "s", "a")
    results = ResultBlock(ResultStream("rig", 1, RATE, 4, columns), 0, 0.0, values)
    history.update(ReceivedMessages(signals=(signals,), results=(results,)))
    return history


def shown(qtbot, panel_of, history):
    return show_panel(qtbot, panel_of, history, (800, 400), span=30.0)


def point(panel, x):
    stack = panel.stack
    return QPoint(round(stack.scale().pixel(x)), round(stack.plot_of(0).center().y()))


def hover(panel, x):
    at = QPointF(point(panel, x))
    event = QMouseEvent(
        QEvent.Type.MouseMove, at, QPointF(panel.stack.viewport().mapToGlobal(at)), Qt.MouseButton.NoButton,
        Qt.MouseButton.NoButton, Qt.KeyboardModifier.NoModifier,
    )  # fmt: skip
    QApplication.sendEvent(panel.stack.viewport(), event)


def between(panel, history, x0, x1):
    QTest.mouseClick(panel.stack.viewport(), Qt.MouseButton.LeftButton, pos=point(panel, x0))
    hover(panel, x1)
    panel.refresh(history)


def test_they_are_those_of_the_samples_between_the_cursors(qtbot, history):
    panel = shown(qtbot, HistoriesPanel, history)
    assert not panel.statistics.isVisible()
    QTest.mouseClick(panel.statistics_button, Qt.MouseButton.LeftButton)
    panel.refresh(history)
    assert panel.statistics.isVisible() and "click" in panel.statistics.heading.text()
    between(panel, history, 20.0, 8.0)
    x0, x1 = sorted((panel.view.pinned, panel.view.cursor))
    part = samples()[int(np.ceil(x0 * RATE)) : int(np.floor(x1 * RATE)) + 1]
    command, measured = panel.statistics.texts
    assert command[0] == "a command" and measured[0] == "a measured"
    numbers = [float(text.replace("−", "-")) for text in measured[1:7]]
    column = 1e3 * part[:, 1]
    rms = np.sqrt(np.mean(column**2))
    expected = [column.min(), column.max(), np.ptp(column), column.mean(), rms, column[-1] - column[0]]
    assert numbers == pytest.approx(expected, abs=0.01)
    assert measured[7:] == ("mm", "1 mm/s")
    assert float(command[5]) == pytest.approx(1e3 * np.sqrt(np.mean(part[:, 0] ** 2)), abs=0.01)
    assert "Δt 1" in panel.statistics.heading.text()


def test_they_remain_when_the_mouse_has_left_and_go_with_the_pinned_cursor(qtbot, history):
    panel = shown(qtbot, HistoriesPanel, history)
    panel.statistics_button.click()
    between(panel, history, 20.0, 8.0)
    before = panel.statistics.texts
    QApplication.sendEvent(panel.stack.viewport(), QEvent(QEvent.Type.Leave))
    panel.refresh(history)
    assert panel.view.cursor is None and panel.statistics.texts == before
    panel.view.pin(None)
    panel.refresh(history)
    assert panel.statistics.texts == []


def test_results_have_them_too_and_what_is_unknown_is_a_dash(qtbot, history):
    panel = shown(qtbot, IndicatorsPanel, history)
    panel.statistics_button.click()
    between(panel, history, 5.0, 25.0)
    delay, fdb = panel.statistics.texts
    assert delay[0] == "delay broadband"
    assert float(delay[4]) == pytest.approx(15.0, abs=0.1)
    assert delay[8] == "1 ms/s"
    assert fdb[1:7] == ("—",) * 6 and fdb[8].startswith("—")


def test_numbered_cursors_have_them_between_any_two(qtbot, history):
    """The second channel rises by 1 mm per second."""
    panel = shown(qtbot, HistoriesPanel, history)
    view, table = panel.view, panel.statistics
    panel.statistics_button.click()
    for x in (20.0, 5.0, 11.0):
        view.add_mark(x)
        panel.refresh(history)
    assert view.marks == (5.0, 11.0, 20.0)
    assert [table.between.itemText(i) for i in range(table.between.count())] == [
        "pinned and mouse", "1 and 2", "1 and 3", "2 and 3",
    ]  # fmt: skip
    rises = []
    for chosen in (1, 2, 3):
        table.between.setCurrentIndex(chosen)
        table.between.activated.emit(chosen)
        _name, least, most, peaks, *_ = table.texts[1]
        rises.append([float(text) for text in (least, most, peaks, table.texts[1][6])])
    assert rises == [[5.0, 11.0, 6.0, 6.0], [5.0, 20.0, 15.0, 15.0], [11.0, 20.0, 9.0, 9.0]]
    assert "Δt 9" in table.heading.text()
    # on the picture, at its place
    image = panel.stack.viewport().grab().toImage()
    at = point(panel, 11.0)
    column = {image.pixelColor(at.x(), y).name() for y in range(at.y() - 20, at.y() + 20)}
    assert LIGHT.force in column
    assert view.marked_region(12.0) == (11.0, 20.0) and view.marked_region(3.0) is None
    view.set_marks((5.0,))
    panel.refresh(history)
    assert table.between.isHidden() and table.region is None


def test_a_hidden_curve_has_none(qtbot, history):
    panel = shown(qtbot, HistoriesPanel, history)
    panel.statistics_button.click()
    panel.stack._styles.toggle("motion:a", "command")
    panel.stack._apply_styles()
    between(panel, history, 5.0, 25.0)
    assert [texts[0] for texts in panel.statistics.texts] == ["a measured"]


def test_statistics_are_those_of_numpy_whatever_is_missing():
    random = np.random.default_rng(1)
    x, values = np.sort(random.uniform(0.0, 1e6, 500)), random.normal(size=(500, 2))
    values[::7, 0] = np.nan
    values[:, 1] = np.nan
    found, nothing = statistics(x, values)
    known = np.isfinite(values[:, 0])
    assert found.mean == pytest.approx(values[known, 0].mean())
    assert found.slope == pytest.approx(np.polyfit(x[known], values[known, 0], 1)[0])
    assert np.isnan([nothing.minimum, nothing.mean, nothing.slope]).all()
    assert np.isnan(statistics(np.array([1.0]), np.array([[2.0]]))[0].slope)
