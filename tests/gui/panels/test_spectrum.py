"""Spectrum panel: spectra of the visible range, against scipy; gaps; what is chosen."""

from weakref import WeakMethod

import numpy as np
import pytest
from PySide6.QtCore import QPointF
from scipy import signal

from gui.model.history import History
from gui.model.receiver import ReceivedMessages
from gui.panels.spectrum import SpectrumPanel
from gui.widgets.theme import DARK, LIGHT
from monitor.messages.blocks import Channel, Role, SignalBlock, Stream
from monitor.messages.health import Health
from tests.gui.shown import show_panel

RATE = 200.0
CHANNELS = (
    Channel("a.command", Role.COMMAND, "mm", "a"),
    Channel("a.measured", Role.MEASURED, "mm", "a"),
    Channel("load", Role.AUXILIARY, "kN"),
)


def history_of(samples):
    history = History(memory=32 << 20)
    block = SignalBlock(Stream("rig", 1, RATE, CHANNELS), 0, 0.0, np.ascontiguousarray(samples))
    health = Health("rig", "receiving", sample_rate=RATE)
    history.update(ReceivedMessages(health=health, signals=(block,)), silence=0.1, age=0.1)
    return history


def motion(seconds=40.0):
    t = np.arange(round(seconds * RATE)) / RATE
    noise = np.random.default_rng(3).normal(scale=0.01, size=(len(t), 3))
    command = np.sin(2.0 * np.pi * 2.0 * t)
    return np.column_stack([command, 0.9 * command, np.sin(2.0 * np.pi * 7.5 * t)]) + noise


def shown(qtbot, history, theme=LIGHT, actuator="a"):
    panel = show_panel(qtbot, SpectrumPanel, history, (700, 560), span=30.0, actuator=actuator, theme=theme)
    return panel, panel.view


def curve(panel, number):
    x, y = panel.curves[number].getData()
    return (np.empty(0), np.empty(0)) if x is None else (10.0**x, 10.0**y)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_command_and_measured_of_the_visible_range_are_drawn(qtbot, theme):
    samples = motion()
    history = history_of(samples)
    panel, view = shown(qtbot, history, theme)
    first = round(view.left * RATE)
    for number in range(2):
        frequency, density = curve(panel, number)
        wanted, power = signal.welch(samples[first:, number], RATE, "hann", 512, detrend="constant")
        np.testing.assert_allclose(frequency, wanted[1:], rtol=1e-9)
        np.testing.assert_allclose(density, np.sqrt(power[1:]), rtol=1e-6)
        assert frequency[np.argmax(density)] == pytest.approx(2.0, abs=0.2)
    assert panel.plot.annotation == ""
    assert [label.text for _, label in panel.legend.items] == ["command", "measured"]
    assert panel.plot.getAxis("left").labelText == "density [mm/√Hz]"
    # the spectrogram is that of the measured signal, up to a little over the band in which it moves
    assert panel.image.image.shape[1] == 257
    (left, right), (low, high) = panel.over_time.view_box.viewRange()
    assert left == pytest.approx(view.left, abs=2.6) and right == pytest.approx(view.right, abs=2.6)
    assert low == pytest.approx(0.0, abs=0.6) and 5.0 <= high < 20.0
    assert not panel.grab().isNull()
    # of a span, wherever in it the cursor is pinned
    view.pin(view.left + 1.0)
    panel.refresh(history)
    assert panel.heading.text().startswith(f"{view.left:.2f} s to {view.right:.2f} s")


def test_another_channel_and_segment_length_are_chosen(qtbot):
    history = history_of(motion())
    panel, view = shown(qtbot, history)
    # a connection that refers to the panel would keep it, and the menus of its plots
    refresh = WeakMethod(panel.refresh)
    view.range_changed.connect(lambda: refresh()(history))
    panel.channels.setCurrentIndex(panel.channels.findText("load"))
    panel.channels.activated.emit(panel.channels.currentIndex())
    frequency, density = curve(panel, 0)
    assert frequency[np.argmax(density)] == pytest.approx(7.5, abs=0.2)
    assert len(curve(panel, 1)[0]) == 0
    panel.segments.setCurrentIndex(0)
    panel.segments.activated.emit(0)
    assert len(curve(panel, 0)[0]) == 64
    # it remains for other signals of the same name
    panel.configure(history)
    assert panel.channels.currentText() == "load"


def test_the_mouse_reads_frequency_and_densities(qtbot):
    panel, _ = shown(qtbot, history_of(motion()))
    text = panel.under_mouse(panel.plot, np.log10(2.0), 0.0)
    assert text.startswith("1.953 Hz: command 0.") and ", measured 0." in text and text.endswith(" mm/√Hz")
    assert panel.under_mouse(panel.over_time, 20.0, 2.0) == text
    panel.pane._mouse = QPointF(-1.0, -1.0)
    panel._read_out()


def test_what_cannot_be_shown_is_a_message(qtbot):
    panel, _ = shown(qtbot, History(memory=1 << 20))
    assert panel.plot.annotation == "waiting for signals"
    panel, _ = shown(qtbot, history_of(motion()), actuator="b")
    assert panel.plot.annotation == "no actuator is selected"
    broken = motion()
    broken[::100] = np.nan
    panel, _ = shown(qtbot, history_of(broken))
    assert panel.plot.annotation == "no 2.56 s without a gap: choose shorter segments"
    panel, _ = shown(qtbot, history_of(motion(0.05)))
    assert panel.plot.annotation == "the visible range has too few samples"
    assert len(curve(panel, 0)[0]) == 0


def test_a_live_spectrum_is_computed_at_intervals(qtbot):
    samples = motion(60.0)
    history = history_of(samples[:8000])
    panel, view = shown(qtbot, history)
    before = panel._found
    stream = history.signals.stream
    for start, end, again in ((8000, 8020, False), (8020, 8200, True)):
        block = SignalBlock(stream, start, start / RATE, np.ascontiguousarray(samples[start:end]))
        history.update(ReceivedMessages(signals=(block,)), silence=0.1, age=0.1)
        view.extend(history.begin_x, history.end_x)
        panel.refresh(history)
        assert (panel._found is not before) == again


def test_the_legend_has_the_colours_of_another_theme(qtbot):
    panel, _ = shown(qtbot, history_of(motion()), DARK)
    assert panel.legend.items
    panel.apply_theme(LIGHT)
    for _, label in panel.legend.items:
        assert LIGHT.text in label.item.toHtml()
        assert DARK.text not in label.item.toHtml()
