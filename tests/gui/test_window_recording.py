"""Recordings as a whole: opened, looked at by the play head, and equal to what `assess` computes."""

from __future__ import annotations

import csv
import io
import math
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QComboBox, QLabel

from gui.model.history import History
from gui.model.receiver import ReceivedMessages
from gui.panels.events import EventsPanel
from gui.panels.indicators import IndicatorsPanel
from gui.panels.tiles import TileGrid, TilesPanel
from gui.panels.transfer import TransferPanel
from gui.panels.wall import WallPanel
from gui.sources.processes import recording as loading
from gui.sources.processes.playback import PlayFile
from gui.sources.processes.player import PlayHead
from gui.sources.processes.recording import OpenRecording
from monitor.__main__ import main
from monitor.config import IndicatorSettings
from monitor.engine.monitor import Monitor
from monitor.messages.alarms import AlarmAction, AlarmState, Severity, Transition
from monitor.messages.blocks import Event, EventKind
from monitor.messages.recordings import SIGNALS_COMPLETE
from monitor.recording import RunWriter
from monitor.system.worker_process import pack_message
from monitor.text.numbers import instant_text
from replay.assessment import assess
from replay.assessment.messages import write_messages
from replay.assessment.run import record_settings, updates
from replay.formats import open_recording
from replay.simulations import simulation

RATE, N, START = 100.0, 1500, 5.0
LIVE_WORDS = ("live", "receiving", "newest", "stale", "connect")


@pytest.fixture
def table(tmp_path):
    """Fifteen seconds whose clock begins at 5 s; the measured signal lags by 20 ms."""
    time = np.arange(N) / RATE
    columns = (START + time, 10.0 * np.sin(20.0 * time), 9.0 * np.sin(20.0 * (time - 0.02)))
    path = tmp_path / "table.csv"
    header = "t [s],cmd [mm],meas [mm]"
    np.savetxt(path, np.column_stack(columns), delimiter=",", header=header, comments="", fmt="%.10g")
    return path


@pytest.fixture(scope="module")
def recorded_run(tmp_path_factory, warm_kernels):
    """A run file as a service records it, with a note and an alarm; and what it published."""
    recording = simulation("hybrid", duration=12.0)
    monitor = Monitor(IndicatorSettings(window=1.5), max_rows=200.0)
    path, history = tmp_path_factory.mktemp("recorded") / "run.h5", History(memory=64 << 20)
    writer = RunWriter(path, {"indicators": {"window": 1.5}})
    for block in recording.blocks(400):
        update = monitor.update(block)
        writer.signals(update.signals)
        writer.results(update.results)
        events = list(update.events)
        if block.index == 4 * 400:
            events.append(Event(EventKind.NOTE, block.time, block.index, 0, "valve opened"))
            step = Transition(
                1, "north.delay", Severity.WARN, AlarmAction.OCCUR, AlarmState.NORMAL, AlarmState.UNACKNOWLEDGED,
                block.time, block.index, 0.02, 0.01, "s", "delay above 10 ms", "", "north", "broadband_delay",
            )  # fmt: skip
            events.append(Event.of_alarm(step))
        for event in events:
            writer.event(event)
        history.update(ReceivedMessages(results=(update.results,), signals=(update.signals,), events=tuple(events)))
    writer.close()
    return path, history


@pytest.fixture
def run(tmp_path, recorded_run):
    """A copy of that file, and what was published."""
    path, history = recorded_run
    return Path(shutil.copy(path, tmp_path)), history


def load(hands):
    hands.until(lambda: hands.program.sessions.player is not None or "error" in "".join(hands.notices))
    assert not [line for line in hands.notices if "error" in line]
    hands.ticks(3)


def visible_texts(window):
    """All texts that are seen on labels, strips and in boxes."""
    labels = [each.text() for each in window.findChildren(QLabel) if each.isVisible()]
    boxes = [each.currentText() for each in window.findChildren(QComboBox) if each.isVisible()]
    return [*labels, *boxes, window.windowTitle(), *window.health_strip.texts]


def series_of(path, tmp_path, *words):
    """What `assess --series` writes: headings and rows of text."""
    target = tmp_path / "series.csv"
    assert main(["assess", str(path), "--series", str(target), *words]) == 0
    with target.open(encoding="utf-8", newline="") as file:
        headings, *rows = csv.reader(file)
    return headings, rows


def shown_rows(history):
    """The stored results as `assess --series` writes them."""
    x, values = history.results.rows(history.begin_x, history.end_x)
    times = [history.timeline.time_at(each) for each in x]
    cells = [["" if math.isnan(value) else f"{value:.10g}" for value in row] for row in values.tolist()]
    return [[f"{round(time, 9):.10g}", *row] for time, row in zip(times, cells, strict=True)]


def test_a_file_is_shown_whole_on_its_own_axis_and_equals_assess(begin, warm_kernels, table, tmp_path):
    hands = begin(file=str(table))
    load(hands)
    history, view = hands.history, hands.view
    assert (view.left, view.right) == pytest.approx((history.begin_x, history.end_x))
    assert history.timeline.time_at(history.begin_x) == pytest.approx(START)
    assert history.timeline.time_at(history.end_x) == pytest.approx(START + (N - 1) / RATE)
    assert "Recording table.csv, 15 s" in hands.strip
    assert not [text for text in visible_texts(hands.window) if any(word in text.lower() for word in LIVE_WORDS)]
    assert not hands.window.alarm_banner.isVisible()
    # every value of every column at every sample
    headings, rows = series_of(table, tmp_path, "--every", "1")
    assert [f"{c.name} [{c.unit or 1}]" for c in history.results.columns] == headings[1:]
    assert shown_rows(history) == rows
    # and the signals, bit for bit
    written = np.loadtxt(table, delimiter=",", skiprows=1)
    _, samples = history.signals.samples(history.begin_x, history.end_x)
    assert np.array_equal(samples, written[:, 1:])
    # tiles show the value at the play head
    hands.program.sessions.player.seek(10.0)
    hands.ticks()
    at = next(row for row in rows if float(row[0]) == START + 10.0)
    delay = 1e3 * float(at[headings.index("broadband_delay [s]")])
    (text,) = hands.tile_texts.values()
    assert f"delay {delay:.1f} ms" in text
    assert "at 15.00 s" in text


def test_live_replay_and_offline_agree_to_the_last_bit(begin, run, tmp_path):
    path, live = run
    hands = begin(file=str(path))
    load(hands)
    offline = hands.history
    assert offline.results.columns == live.results.columns
    # a live history has the last row of each of 25 instants a second
    x, values = live.results.rows(live.begin_x, live.end_x)
    assert len(x) == 300
    for place, row in zip(x, values, strict=True):
        at = offline.results.rows(place, place)[1]
        assert np.array_equal(at, row[None], equal_nan=True)
    headings, rows = series_of(path, tmp_path, "--every", "1")
    assert shown_rows(offline) == rows
    assert len(headings) == 1 + len(offline.results.columns)
    # the transfer function is that of the whole record
    opened = open_recording(path)
    whole = assess(opened, record_settings(opened, {})[0]).transfer
    assert np.array_equal(offline.transfer_at(None).values, whole.values, equal_nan=True)
    assert "Recording run.h5, 12 s" in hands.strip
    assert "window 1.5 s" in hands.strip


def test_notes_and_alarms_of_the_run_are_in_events_at_their_instants(begin, run):
    path, _ = run
    hands = begin(file=str(path))
    load(hands)
    assert [line for line in hands.events if "valve opened" in line]
    assert [line for line in hands.events if "delay" in line and "north" in line]
    placed = {each.event.kind: each.x for each in hands.history.events}
    signals = hands.history.signals
    assert placed[EventKind.NOTE] == placed[EventKind.ALARM] == pytest.approx(4 * 400 / signals.sample_rate)


def step(action, previous, state, block, value, number):
    return Transition(
        number, "north.delay", Severity.WARN, action, previous, state, block.time, block.index, value, 0.01, "s",
        "delay above 10 ms", "", "north", "broadband_delay",
    )  # fmt: skip


@pytest.fixture
def watched_run(tmp_path, warm_kernels):
    """A run with alarms on the delay of all actuators: north's occurs, is acknowledged, and returns to normal."""
    recording = simulation("hybrid", duration=12.0)
    path = tmp_path / "watched.h5"
    limit = {"value": "broadband_delay", "warn": 0.5}
    writer = RunWriter(path, {"indicators": {"window": 1.5}, "alarms": {"limit": [limit]}})
    a, s = AlarmAction, AlarmState
    steps = {
        8: (a.OCCUR, s.NORMAL, s.UNACKNOWLEDGED, 0.02),
        12: (a.ACKNOWLEDGE, s.UNACKNOWLEDGED, s.ACKNOWLEDGED, None),
        20: (a.RETURN_TO_NORMAL, s.ACKNOWLEDGED, s.NORMAL, 0.004),
    }
    times = []
    for number, block in enumerate(recording.blocks(400)):
        writer.signals(block)
        if number in steps:
            writer.event(Event.of_alarm(step(*steps[number][:3], block, steps[number][3], number)))
            times.append(block.index / recording.stream.sample_rate)
    writer.close()
    return path, times


@pytest.mark.parametrize("panel_type", [TilesPanel, WallPanel])
def test_tiles_have_the_state_of_the_alarms_at_the_play_head(begin, watched_run, panel_type):
    path, (occurs, acknowledged, returns) = watched_run
    hands = begin(file=str(path), layout="Wall" if panel_type is WallPanel else "Operator")
    load(hands)
    panel = hands.window.dock_area.panel(panel_type)
    player = hands.program.sessions.player

    def severities(seconds):
        player.seek(seconds)
        hands.ticks()
        tiles = [tile for tile in panel.findChild(TileGrid).tiles if tile.selectable]
        assert all(tile.content.known for tile in tiles)
        return {tile.content.name: tile.content.severity for tile in tiles}

    before = severities(occurs - 0.2)
    others = set(before) - {"north"}
    assert before["north"].words == "normal" and not before["north"].active
    for seconds in (occurs + 0.1, acknowledged + 0.1, returns - 0.1):
        active = severities(seconds)
        assert active["north"].words == "WARN" and active["north"].active
        assert {active[name].words for name in others} == {"normal"}
    # what the alarm is about is the value at the head
    value = hands.history.results.value("north", "broadband_delay", hands.view.pinned)
    assert f"{1e3 * value:.4g} ms" in active["north"].details
    if panel_type is WallPanel:
        # the most urgent first
        assert panel.findChild(TileGrid).tiles[0].content.name == "north"
    assert severities(returns + 0.1)["north"].words == "normal"
    # back again: nothing is remembered from the end
    assert severities(occurs + 0.1)["north"].words == "WARN"


def test_the_transfer_function_is_that_at_the_play_head(begin, run):
    path, _ = run
    hands = begin(file=str(path), layout="Tracking")
    load(hands)
    panel = hands.window.dock_area.panel(TransferPanel)
    opened = open_recording(path)
    found = [update.transfer for update in updates(opened, record_settings(opened, {})[0])]
    computed = [block for block in found if block is not None]
    player, rate = hands.program.sessions.player, hands.history.signals.sample_rate

    def shown(seconds):
        player.seek(seconds)
        hands.ticks()
        return panel._block

    hands.ticks()
    assert "of the whole recording" in panel.heading.text()
    assert np.array_equal(panel._block.values, computed[-1].values, equal_nan=True)
    middle = computed[0]
    assert middle.index < computed[-1].index
    at_head = shown(middle.index / rate + 0.01)
    assert np.array_equal(at_head.values, middle.values, equal_nan=True)
    assert f"averaged from the beginning to {instant_text(middle.time, 2)}" in panel.heading.text()
    assert shown(0.1) is None
    assert "whole" not in panel.heading.text() and "averaged" not in panel.heading.text()


def test_playing_and_seeking_move_the_head_and_compute_nothing(begin, warm_kernels, table):
    hands = begin(file=str(table))
    load(hands)
    player, history, generation = hands.program.sessions.player, hands.history, hands.history.generation
    version = history.version
    begun = hands.view.left, hands.view.right
    timeline = hands.window.replay_bar.timeline
    hands.click(timeline, QPoint(round(timeline.picture.x_of(6.0)), timeline.height() // 2))
    hands.until(lambda: player.position == pytest.approx(6.0, abs=0.1))
    assert hands.view.pinned == player.x
    assert hands.view.instant == pytest.approx(history.begin_x + player.position)
    # a click in the time plots moves the head too, and the view stays
    stack = hands.stack
    scale = stack.scale()
    hands.click(stack.viewport(), QPoint(round(scale.begin + 0.5 * scale.width), stack.viewport().height() // 2))
    assert player.position == pytest.approx(7.5, abs=0.05)
    hands.window.setFocus()
    stood = player.position
    hands.key(".")
    assert player.position == pytest.approx(stood + 0.1)
    hands.key("]")
    assert player.speed == 2.0
    hands.key("Space")
    assert player.playing
    hands.until(lambda: player.position > stood + 0.5)
    hands.key("P")
    assert not player.playing
    assert hands.view.pinned == player.x
    for _ in range(6):
        hands.key("]")
    assert math.isinf(player.speed)
    hands.key("P")
    hands.until(lambda: player.ended and not player.playing)
    assert hands.view.pinned == pytest.approx(history.end_x)
    hands.key("Ctrl+Home")
    assert player.position == 0.0 or player.playing
    assert (hands.view.left, hands.view.right) == begun
    assert hands.history is history
    assert (history.generation, history.version) == (generation, version)
    assert not hands.program.sessions.current.processes


def test_a_zoomed_view_follows_the_head_that_leaves_it(begin, warm_kernels, table):
    hands = begin(file=str(table))
    load(hands)
    player = hands.program.sessions.player
    player.seek(1.0)
    hands.view.show(0.0, 2.0)
    player.seek(1.9)
    assert (hands.view.left, hands.view.right) == (0.0, 2.0)
    player.seek(2.1)
    assert hands.view.left <= hands.view.pinned <= hands.view.right
    assert hands.view.span == pytest.approx(2.0)
    # what is looked at elsewhere is left alone
    hands.view.show(8.0, 10.0)
    player.seek(2.5)
    assert (hands.view.left, hands.view.right) == (8.0, 10.0)


def test_what_cannot_be_computed_is_one_line_and_the_window_is_usable(begin, run, table, tmp_path):
    hands = begin()
    path, _ = run
    cut = tmp_path / "cut.h5"
    cut.write_bytes(path.read_bytes()[:20_000])
    hands.program.sources.opener.open_path(cut)
    hands.until(lambda: any("cut.h5" in line for line in hands.notices))
    assert "error" in hands.notices[-1]
    assert hands.first_page
    # times in a unit that is none: the columns are asked for, and need not be given
    wrong = tmp_path / "wrong.csv"
    wrong.write_text(table.read_text().replace("t [s]", "t [kg]"))
    opener = hands.program.sources.opener
    opener.open_path(wrong)
    hands.until(lambda: opener.chooser is not None and opener.chooser.isActiveWindow())
    hands.key("Escape")
    hands.until(lambda: opener.chooser is None)
    assert hands.first_page
    # the file is gone when it is computed
    gone = tmp_path / "gone.csv"
    hands.program.sources.open(OpenRecording(gone))
    hands.until(lambda: any("gone.csv" in line for line in hands.notices))
    assert "Traceback" not in hands.notices[-1]
    assert hands.first_page
    hands.program.sources.opener.open_path(table)
    hands.until(lambda: hands.program.sessions.player is not None)
    assert not hands.first_page


def test_samples_that_are_no_numbers_are_gaps_in_the_curves(begin, warm_kernels, tmp_path):
    time = np.arange(N) / RATE
    table = np.column_stack([time, np.sin(20.0 * time), np.sin(20.0 * time)])
    table[700:720, 2] = np.nan
    path = tmp_path / "nan.csv"
    np.savetxt(path, table, delimiter=",", header="t [s],cmd [mm],meas [mm]", comments="")
    hands = begin(file=str(path))
    load(hands)
    column = [channel.name for channel in hands.history.signals.channels].index("meas")
    assert np.isnan(hands.history.signals.at(7.1, [column])).all()
    assert np.isfinite(hands.history.signals.at(7.3, [column])).all()


def test_signals_without_roles_are_shown_without_results(begin, warm_kernels, table):
    hands = begin(file=str(table), replay_options=("--auxiliary",))
    load(hands)
    assert hands.history.results is None
    assert [channel.role for channel in hands.history.signals.channels] == ["auxiliary", "auxiliary"]
    assert len(hands.stack.rows) > 0


def test_a_long_computation_shows_its_progress_and_can_be_cancelled(begin, monkeypatch, table):
    started = []

    def start(_words, **options):
        # sends nothing, and does not end by itself
        script = "import sys; sys.stdin.read()"
        started.append(subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, **options))
        return started[-1]

    monkeypatch.setattr(loading, "start_python", start)
    hands = begin(file=str(table))
    page = hands.window.loading_page
    hands.until(page.isVisible)
    assert page.text == "table.csv: reading the file"
    hands.until(lambda: hands.strip == "○ loading table.csv")
    assert not [text for text in visible_texts(hands.window) if any(word in text.lower() for word in LIVE_WORDS)]
    assert not hands.window.view_bar.isVisible()
    assert not hands.window.alarm_banner.isVisible()
    assert hands.window.windowTitle() == "table.csv - Synchroscope"
    hands.click(page.cancel)
    assert hands.first_page
    assert started[0].poll() is not None
    hands.ticks()
    assert hands.first_page
    assert hands.strip == "○ not connected"


def test_the_signals_are_there_before_the_results(begin, monkeypatch, warm_kernels, table, tmp_path):
    sent, started = io.BytesIO(), []
    write_messages(open_recording(table), {}, sent, math.inf)
    at = sent.getvalue().index(pack_message([SIGNALS_COMPLETE])) + len(pack_message([SIGNALS_COMPLETE]))
    for name, part in (("signals", sent.getvalue()[:at]), ("results", sent.getvalue()[at:])):
        (tmp_path / name).write_bytes(part)

    def start(_words, **options):
        # what assess sends, but the results only when it is asked to
        script = "import sys; o = sys.stdout.buffer; o.write(open('signals', 'rb').read()); o.flush(); "
        script += "sys.stdin.readline(); o.write(open('results', 'rb').read())"
        command = [sys.executable, "-c", script]
        started.append(subprocess.Popen(command, stdin=subprocess.PIPE, cwd=tmp_path, **options))
        return started[-1]

    monkeypatch.setattr(loading, "start_python", start)
    hands = begin(file=str(table))
    hands.until(lambda: hands.history.end_x > 0.0)
    hands.ticks(3)
    assert not hands.window.loading_page.isVisible()
    history = hands.history
    assert history.signals.end - history.signals.begin == N and history.results is None
    assert "computing" in hands.strip
    assert "Indicators are being computed." in visible_texts(hands.window)
    assert hands.window.dock_area.panel(IndicatorsPanel).stack.message == "Indicators are being computed."
    assert not hands.program.actions["file.export_csv"].isEnabled()
    hands.view.pin(7.0)
    started[0].stdin.write(b"\n")
    started[0].stdin.flush()
    load(hands)
    assert hands.history is history
    assert shown_rows(history) == series_of(table, tmp_path, "--every", "1")[1]
    assert hands.program.sessions.player.x == pytest.approx(7.0, abs=0.5 / RATE)
    assert "computing" not in hands.strip
    assert hands.program.actions["file.export_csv"].isEnabled()


def test_a_file_can_be_streamed_as_if_live(begin, warm_kernels, table):
    hands = begin(file=str(table))
    load(hands)
    assert not hands.program.actions["replay.faults"].isEnabled()
    hands.key("Ctrl+Shift+T")
    assert isinstance(hands.program.sources.source, PlayFile)
    hands.until(lambda: hands.connection.is_open and hands.history.end_x > 0.3)
    assert not hands.view.recorded
    assert hands.program.actions["replay.faults"].isEnabled()
    hands.key("Ctrl+D")
    assert hands.first_page


@pytest.fixture
def judged_run(tmp_path, judged_arrivals):
    """A run of a beam with a model under test and alarms, as a service records it; and its recorded results."""
    path = tmp_path / "beam.h5"
    limit = {"value": "reliability_accumulated", "warn": 0.85, "side": "below"}
    writer = RunWriter(path, {"alarms": {"limit": [limit]}})
    for arrived in judged_arrivals:
        for block in arrived.signals:
            writer.signals(block)
        for block in arrived.results:
            writer.results(block)
        for event in arrived.events:
            writer.event(event)
    writer.close()
    return path, judged_arrivals


def test_results_of_a_model_and_the_limits_of_alarms_are_those_that_were_recorded(begin, judged_run):
    path, arrivals = judged_run
    hands = begin(file=str(path), layout="Reliability")
    load(hands)
    results = hands.history.results
    recorded = [block for arrived in arrivals for block in arrived.results]
    columns = recorded[0].stream.columns
    chosen = [i for i, column in enumerate(columns) if column.name.startswith(("reliability_", "model_"))]
    assert len(chosen) > 5
    rate = recorded[0].stream.sample_rate
    for block in recorded[::7]:
        x = hands.history.begin_x + (block.index - recorded[0].index) / rate
        found = [results.value(columns[i].actuator, columns[i].name, x) for i in chosen]
        assert np.array_equal(found, block.values[0, chosen], equal_nan=True)
    assert ("reliability_accumulated", 0.85) in [(limit.value, limit.low) for limit in hands.history.limits]
    # what was active then is an event, not a state of now
    assert hands.history.alarms is None
    assert [placed for placed in hands.history.events if placed.event.kind is EventKind.DECISION]


def test_an_event_is_gone_to_and_an_instant_is_typed(begin, run):
    path, _ = run
    hands = begin(file=str(path), layout="Operator")
    load(hands)
    player = hands.program.sessions.player
    hands.view.show(6.0, 8.0)
    panel = hands.window.dock_area.panel(EventsPanel)
    row = next(i for i, text in enumerate(hands.events) if "valve opened" in text)
    panel.events.view.selectRow(row)
    panel.events.view.setFocus()
    hands.key("Return")
    instant = 4 * 400 / hands.history.signals.sample_rate
    assert player.position == pytest.approx(instant)
    assert hands.view.left <= hands.view.pinned <= hands.view.right
    assert hands.view.span == pytest.approx(2.0)
    hands.key("Ctrl+G")
    hands.type("7.5 s")
    hands.key("Return")
    assert player.position == pytest.approx(7.5, abs=1e-3)
    assert hands.view.left <= 7.5 <= hands.view.right


def test_a_restart_of_the_rig_takes_a_pause_on_the_axis_and_none_of_the_recording(begin, tmp_path, warm_kernels):
    recording = simulation("hybrid", duration=8.0)
    half = recording.n_samples // 2
    writer = RunWriter(tmp_path / "twice.h5", {"indicators": {"window": 1.0}})
    for epoch in (1, 2):
        stream = replace(recording.stream, epoch=epoch)
        for block in recording.blocks(512):
            if block.index < half:
                writer.signals(replace(block, stream=stream))
        if epoch == 2:
            writer.event(Event(EventKind.RESTART, 0.0, 0, 0, ""))
        writer.event(Event(EventKind.NOTE, 2.0, 2048, 0, f"note of epoch {epoch}"))
    writer.close()
    hands = begin(file=str(tmp_path / "twice.h5"))
    load(hands)
    player, history = hands.program.sessions.player, hands.history
    assert player.duration == pytest.approx(8.0)
    assert history.end_x == pytest.approx(9.0, abs=0.01)
    notes = [placed.x for placed in history.events if placed.event.kind is EventKind.NOTE]
    assert notes == pytest.approx([2.0, 7.0], abs=0.01)
    for seconds, x in ((1.0, 1.0), (3.99, 3.99), (4.0, 5.0), (6.5, 7.5)):
        player.seek(seconds)
        assert hands.view.pinned == pytest.approx(x, abs=0.01)
        hands.view.pin(x)
        assert player.position == pytest.approx(seconds, abs=0.01)


def test_a_play_head_moves_by_the_clock_and_loops(begin, warm_kernels, table):
    hands = begin(file=str(table))
    load(hands)
    now = [100.0]
    player = PlayHead(hands.history, clock=lambda: now[0])
    player.seek(1.0)
    player.set_speed(2.0)
    player.resume()
    for elapsed, position in ((0.5, 2.0), (1.0, 4.0), (4.0, 12.0)):
        now[0] += elapsed
        player.advance()
        assert player.position == pytest.approx(position)
    now[0] += 10.0
    player.advance()
    assert player.ended
    assert not player.playing
    player.set_loop(True)
    player.resume()
    assert player.position == 0.0
    now[0] += 20.0
    player.advance()
    assert player.playing
    assert player.position == 0.0
    player.close()


def test_a_figure_of_a_recording_names_its_run_and_time(begin, run, tmp_path):
    hands = begin(file=str(run[0]))
    load(hands)
    for key, title in (("histories", "Time histories"), ("indicators", "Tracking indicators"), ("xy", "XY")):
        path = tmp_path / f"{key}.svg"
        panel = hands.window.dock_area.panels[key]
        panel.refresh(hands.history)
        hands.program.exports.write_figure(panel, path)
        assert f"{title}: saved as {path}" in hands.notices[-1]
        text = "".join(ElementTree.parse(path).getroot().itertext())
        assert "run run.h5" in text
        assert "live" not in text
    assert "rig hybrid" in text
