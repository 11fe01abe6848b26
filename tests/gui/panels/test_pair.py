"""XY panel: the samples of the visible range, of the channels that are chosen."""

from weakref import WeakMethod

import numpy as np
import pytest

from gui.model.history import History
from gui.model.receiver import ReceivedMessages
from gui.panels.xy_panel import PairPanel
from gui.plots.value_axis import SHRINK_DELAY
from gui.plots.view import View
from gui.widgets.theme import LIGHT
from monitor.messages.blocks import Channel, Role, SignalBlock, Stream
from monitor.messages.health import Health
from tests.gui.panels.tile_rig import history_of


def shown(qtbot, history):
    view = View()
    view.span = 4.0
    view.extend(history.begin_x, history.end_x)
    panel = PairPanel(view, LIGHT)
    qtbot.addWidget(panel)
    # a connection that refers to the panel would keep it, and the menus of its plots
    refresh = WeakMethod(panel.refresh)
    view.range_changed.connect(lambda: refresh()(history))
    panel.resize(600, 500)
    panel.show()
    panel.configure(history)
    return panel, view


def points(panel):
    parts = [part.getData() for part in panel.trail.parts]
    return {pair for x, y in parts for pair in zip(x.tolist(), y.tolist(), strict=True)}


def samples_between(history, left, right, names):
    channels = [channel.name for channel in history.signals.channels]
    _, samples = history.signals.samples(left, right)
    return [samples[:, channels.index(name)] for name in names]


def test_measured_is_drawn_against_command_by_default(qtbot, watched):
    panel, view = shown(qtbot, watched)
    names = panel.horizontal.currentText(), panel.vertical.currentText()
    assert names == ("north.command", "north.measured")
    x, y = samples_between(watched, view.left, view.right, names)
    drawn = points(panel)
    assert drawn and drawn <= set(zip(x.tolist(), y.tolist(), strict=True))
    (left, right), (low, high) = panel.plot.view_box.viewRange()
    assert left <= x.min() and x.max() <= right and low <= y.min() and y.max() <= high
    assert panel.heading.text().endswith("north.measured against north.command")


def test_any_two_channels_are_chosen_and_remain(qtbot, watched):
    panel, view = shown(qtbot, watched)
    names = [channel.name for channel in watched.signals.channels]
    for box, name in ((panel.horizontal, names[-1]), (panel.vertical, names[2])):
        box.setCurrentText(name)
        box.activated.emit(box.currentIndex())
    panel.configure(watched)
    x, y = samples_between(watched, view.left, view.right, (names[-1], names[2]))
    assert points(panel) <= set(zip(x.tolist(), y.tolist(), strict=True))
    assert panel.under_mouse(panel.plot, 0.0, 0.0).startswith(f"{names[-1]} ")


def test_an_instant_in_the_past_is_the_end_of_the_curve(qtbot, watched):
    panel, view = shown(qtbot, watched)
    view.set_right(6.0)
    x, y = samples_between(watched, view.left, 6.0, ("north.command", "north.measured"))
    assert panel.trail.newest.pos().x() == pytest.approx(x[-1]) and panel.trail.newest.pos().y() == pytest.approx(
        y[-1]
    )
    assert np.isfinite(panel.plot.view_box.viewRange()).all()


def test_without_signals_it_says_so(qtbot):
    panel, _ = shown(qtbot, History(memory=1 << 20))
    assert panel.plot.annotation == "waiting for signals"
    assert not panel.horizontal.isEnabled()


def test_a_prefix_stays_while_the_motion_becomes_smaller(qtbot):
    """2 mm that decay to 0.2 mm are in mm throughout, as in the plots over time; 20 m are in m again."""
    rate = 100.0
    stream = Stream(
        "rig", 1, rate, (Channel("a.command", Role.COMMAND, "m", "a"), Channel("a.measured", Role.MEASURED, "m", "a"))
    )
    history, view = History(memory=8 << 20), View()
    panel = PairPanel(view, LIGHT)
    qtbot.addWidget(panel)
    panel.resize(600, 500)
    panel.show()
    view.span = 2.0
    units, index = [], 0

    def move(amplitude):
        nonlocal index
        time = (index + np.arange(40)) / rate
        motion = amplitude * np.sin(12.0 * time)
        block = SignalBlock(stream, index, index / rate, np.column_stack([motion, 0.9 * motion]))
        history.update(ReceivedMessages(health=Health("rig", "receiving"), signals=(block,)), silence=0.1, age=0.0)
        index += 40
        view.extend(history.begin_x, history.end_x)
        if not units:
            panel.configure(history)
        panel.refresh(history)
        units.append(tuple(panel.plot.units.values()))

    for amplitude in (*np.linspace(0.002, 0.0002, 40), *[0.0002] * 2 * SHRINK_DELAY):
        move(float(amplitude))
    low, high = panel.plot.view_box.viewRange()[1]
    assert high - low < 0.002
    assert set(units) == {("mm", "mm")}
    assert panel.plot.getAxis("left").labelText == "a.measured [mm]"
    move(20.0)
    assert units[-1] == ("m", "m")


def test_a_service_that_sends_results_alone_publishes_no_signals(qtbot):
    panel, _ = shown(qtbot, history_of())
    assert panel.plot.annotation == "the service publishes no signals"
