"""What a stream may say that no rig would: nothing of it stops a panel, and its words are words."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import Qt as GuiQt
from PySide6.QtGui import QTextDocument
from PySide6.QtWidgets import QApplication, QLabel, QTableView, QWidget

from gui.model.history import History
from gui.model.receiver import ReceivedMessages
from gui.panels.catalogue import GroupPanel
from gui.panels.histories import HistoriesPanel
from gui.plots.view import View
from gui.widgets.theme import LIGHT
from gui.window.panel_docks import PanelDocks
from gui.window.status_bars import HealthStrip
from monitor.messages.blocks import (
    Channel,
    Column,
    Event,
    EventKind,
    ResultBlock,
    ResultStream,
    Role,
    SignalBlock,
    Stream,
)
from monitor.messages.health import Health

IMAGE = "<img src='/dev/null'>&lt;"
MEASURES = [
    "fdb_delay",
    "fdb_phase",
    "fdb_ratio",
    "fdb_delay_sd",
    "fdb_frequency",
    "paei_delay",
    "paei_phase",
    "paei_ratio",
    "paei_ratio_sd",
    "ti",
    "nrmse",
    "hsem_energy",
]
JUDGED = ("reliability_accumulated", "reliability_decision", "model_median", "model_low", "model_high")
STEP, N_BLOCKS = 20, 12
LARGEST, LEAST = 1.7e308, 5e-324

# what the numbers do at these sizes is not the question: all that is asked is that it is drawn
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def blocks(*, rate=100.0, t0=0.0, i0=0, signal=None, result=0.01, units=("m", "N"), every=1, window=1.0, name="a"):
    """Return what a service tells, a fifth of a second at a time."""
    roles = ((Role.COMMAND, units[0]), (Role.MEASURED, units[0]), (Role.FORCE, units[1]))
    channels = tuple(Channel(f"{name}.{role.value}", role, unit, name) for role, unit in roles)
    stream = Stream(name, 1, rate, (*channels, Channel(f"{name} aux", Role.AUXILIARY, units[0])))
    columns = [Column(measure, "1", name) for measure in MEASURES] + [Column(each, "m", name) for each in JUDGED]
    results = ResultStream(name, 1, rate, every, tuple(columns))
    health = Health(rig=name, state="receiving", sample_rate=rate, window=window, recording=name)
    for k in range(0, STEP * N_BLOCKS, STEP):
        i = np.arange(k, k + STEP)
        values = np.sin(i / 5.0) if signal is None else np.asarray(signal(i), dtype=float)
        taken = np.ascontiguousarray(np.broadcast_to(values[:, None], (STEP, len(stream.channels))))
        said = np.ascontiguousarray(
            np.broadcast_to(np.where(i[:, None] % 2, 1.0, -1.0) * result, (STEP, len(columns)))
        )
        at = i0 + k, t0 + k / rate
        yield ReceivedMessages(
            health=health,
            signals=(SignalBlock(stream, *at, taken),),
            results=(ResultBlock(results, *at, said),),
            events=(Event(EventKind.NOTE, at[1], at[0], 3, name),) if k % 100 == 0 else (),
        )


@pytest.fixture
def dock_area(qtbot):
    shown = PanelDocks(View(), LIGHT)
    qtbot.addWidget(shown)
    shown.resize(1400, 900)
    shown.show()
    for dock in shown.docks.values():
        dock.show()
    return shown


def watch(dock_area, name="a", **told):
    """Let all panels draw all that is told; return what failed, and what has come."""
    failed, history, generation = [], History(memory=16 << 20), None
    dock_area.failed.connect(failed.append)
    dock_area._in_front.update(dock_area.panels)
    QApplication.processEvents()
    dock_area._in_front.update(dock_area.panels)
    view = dock_area.panels["histories"].view
    view.actuator = name

    def draw():
        assert len(dock_area.visible_panels) == len(dock_area.panels)
        dock_area.refresh(history)
        for panel in dock_area.panels.values():
            panel.grab()

    for number, arrived in enumerate(blocks(name=name, **told)):
        history.update(arrived, age=0.0)
        view.extend(history.begin_x, history.end_x)
        if history.generation != generation:
            generation = history.generation
            dock_area.configure(history)
        if number % 6 == 5:
            draw()
    view.show_all()
    draw()
    view.zoom(0.001)
    draw()
    return failed, history


def alternating(value):
    return lambda i: np.where(i % 2, value, -value)


HOSTILE = {
    "as large as floats are": {"signal": alternating(LARGEST)},
    "large and still": {"signal": lambda i: np.full(len(i), LARGEST)},
    "as small as floats are": {"signal": lambda i: (i % 2) * LEAST},
    "small beside its offset": {"signal": lambda i: 1e16 + 2.0 * (i % 2)},
    "no number": {"signal": lambda i: np.full(len(i), np.nan)},
    "infinite": {"signal": lambda i: np.full(len(i), np.inf)},
    "results as large": {"result": LARGEST},
    "infinite results": {"result": np.inf},
    "results as small": {"result": LEAST},
    "no results": {"result": 0.0},
    "a sample in eleven days": {"rate": 1e-6},
    "a sample in a nanosecond": {"rate": 1e9, "i0": 1 << 61, "t0": 1.7e9},
    "a clock beyond everything": {"t0": 1e300},
    "a clock before everything": {"t0": -1e12},
    "a clock in microseconds": {"t0": 1.7e15},
    "a clock in nanoseconds": {"t0": 1.7e18},
    "results that are rare": {"every": 1 << 30},
    "long windows": {"window": 1e300},
    "windows below nothing": {"window": -5.0},
    "endless windows": {"window": np.inf},
    "units that format": {"units": ("%s", "{x}")},
}


@pytest.mark.parametrize("told", HOSTILE.values(), ids=HOSTILE.keys())
def test_every_panel_draws_what_no_rig_would_say(dock_area, monkeypatch, told):
    raised = []
    monkeypatch.setattr(sys, "excepthook", lambda kind, error, trace: raised.append(error))
    failed, history = watch(dock_area, **told)
    assert not failed
    assert not raised
    assert history.end_x > 0.0


def read(tip: str) -> str:
    """Return what Qt shows of a tool tip."""
    if not GuiQt.mightBeRichText(tip):
        return tip
    document = QTextDocument()
    document.setHtml(tip)
    return document.toPlainText()


def test_names_units_and_notes_are_shown_as_they_are(qtbot, dock_area):
    failed, history = watch(dock_area, name=IMAGE, units=("<b>", "<i>"))
    assert not failed
    strip = HealthStrip(LIGHT)
    qtbot.addWidget(strip)
    strip.resize(3000, 30)
    strip.show_health(history)
    widgets = [*dock_area.findChildren(QWidget), *strip.findChildren(QWidget)]
    labels = [widget for widget in widgets if isinstance(widget, QLabel) and "<" in widget.text()]
    assert len(labels) >= 3
    assert all(label.textFormat() is Qt.TextFormat.PlainText for label in labels)
    tips = [widget.toolTip() for widget in widgets if "img" in widget.toolTip()]
    assert len(tips) >= 2
    assert all(IMAGE in read(tip) for tip in tips)
    events = dock_area.panels["events"].findChild(QTableView).model()
    told = events.index(0, 2).data(Qt.ItemDataRole.ToolTipRole)
    assert read(told) == IMAGE
    groups = [panel for panel in dock_area.panels.values() if isinstance(panel, GroupPanel)]
    plots = [plot for group in groups for part in group.parts for plot in part.plots]
    labels = [plot.getAxis(side).label.toPlainText() for plot in plots for side in ("left", "bottom")]
    assert any("[<b>]" in label for label in labels)
    assert any("[<i>]" in label for label in labels)


def test_a_panel_that_fails_is_told_once_and_the_others_go_on(dock_area, monkeypatch):
    # docks lie beside each other: none hides another
    first, *others = dock_area.panels.values()
    drawn, failed = [], []
    dock_area.failed.connect(failed.append)

    def fail(_history):
        raise OverflowError("too <large>")

    monkeypatch.setattr(first, "refresh", fail)
    monkeypatch.setattr(first, "configure", fail)
    for panel in others:
        monkeypatch.setattr(panel, "refresh", lambda _history, key=panel.key: drawn.append(key))
    dock_area._in_front.update(dock_area.panels)
    QApplication.processEvents()
    dock_area._in_front.update(dock_area.panels)
    seen = {panel.key for panel in dock_area.visible_panels}
    history = History(memory=1 << 20)
    dock_area.configure(history)
    for _ in range(3):
        dock_area.refresh(history)
    assert first.key in seen
    assert set(drawn) == seen - {first.key}
    # once where it is made, once where it is drawn
    assert failed == [f"{first.title}: cannot be drawn (OverflowError: too <large>)"] * 2


def test_a_window_tells_what_cannot_be_drawn_and_how_the_service_is(fed, hybrid_arrivals, monkeypatch):
    hands = fed()

    def fail(*_):
        raise OverflowError("too large")

    panel = hands.window.dock_area.panel(HistoriesPanel)
    # undone before the window is left: what is patched is kept alive, and a panel knows its window
    with monkeypatch.context() as patched:
        patched.setattr(panel, "refresh", fail)
        hands.played.say(*hybrid_arrivals[:50])
        hands.until(lambda: "receiving" in hands.strip and "ms" in hands.tile_texts.get("north", ""))
    told = f"{panel.title}: cannot be drawn (OverflowError: too large)"
    assert [line for line in hands.notices if told in line] == [f"■ error: {told}"]


def test_a_picture_that_cannot_be_drawn_says_so_and_ends_its_painter(dock_area, monkeypatch):
    watch(dock_area)
    raised = []
    monkeypatch.setattr(sys, "excepthook", lambda kind, error, trace: raised.append(error))
    stack = dock_area.panels["histories"].stack

    def fail(*_):
        raise TypeError("no such number")

    monkeypatch.setattr("gui.plots.time.picture.ScenePainter.draw", fail)
    before = stack.grab().toImage()
    stack._background.invalidate()
    after = stack.grab().toImage()
    assert [type(error) for error in raised] == [TypeError]
    assert before != after
    monkeypatch.undo()
    stack._background.invalidate()
    assert stack.grab().toImage() == before
