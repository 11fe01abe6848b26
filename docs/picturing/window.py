"""Pictures of the window: a test that is watched, a run that is replayed, runs compared, a model that is judged."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QSize
from PySide6.QtWidgets import QApplication, QWidget

from docs.picturing.run_files import write_runs
from docs.picturing.stage import Stage, stage
from gui.panels.catalogue import FrequencyPanel, GroupPanel, XYGroup
from gui.panels.comparison import ComparisonPanel
from gui.panels.events import EventsPanel
from gui.panels.hysteresis import HysteresisPanel
from gui.panels.spectrum import SpectrumPanel
from gui.panels.subspace import SubspacePanel
from gui.panels.transfer import TransferPanel
from gui.panels.xy_panel import XYPanel
from gui.window.launch import LaunchOptions
from monitor.messages.requests import AcknowledgeRequest

THEMES = "dark", "light"
_PANELS = "tiles", "histories", "indicators", "events"
_VIEWS: Mapping[str, tuple[type[GroupPanel], type[XYPanel]]] = {
    "subspace": (XYGroup, SubspacePanel),
    "hysteresis": (XYGroup, HysteresisPanel),
    "transfer": (FrequencyPanel, TransferPanel),
    "spectrum": (FrequencyPanel, SpectrumPanel),
}
_PANEL = QSize(620, 420)
_FAULTY = 33.0  # s of the simulated test: north is 25 ms late, south has just become too large
_PUMP = 25.0  # s, when somebody writes a note
_BEFORE, _LATE, _LATER = 6.0, 3, 4  # s before delays by hand, and how many of 5 ms there are, twice
_LOOKED_AT = 34.0  # s
_COMPARED = 8.0, 16.0  # s
_SCREEN = QSize(1280, 720)


def photograph(folder: Path) -> None:
    """Take all pictures."""
    with tempfile.TemporaryDirectory() as kept:
        run, table = Path(kept) / "run.h5", Path(kept) / "bench.csv"
        _watch(folder, run)
        _replay(folder, run)
        _alarm(folder)
        _judge(folder)
        _compare(folder, Path(kept))
        _write_table(table)
        _begin(folder, table, write_runs(Path(kept) / "runs"))


def _watch(folder: Path, run: Path) -> None:
    """A simulated test with a gap, live, and recorded."""
    words = ("--faults", "gap=12:0.3")
    with stage(
        LaunchOptions(simulation="hybrid", layout="Operator", theme="dark", replay_options=words, record=str(run))
    ) as live:
        live.live_until(_PUMP)
        live.program.window.note_bar.written.emit("pump 2 started", live.program.view.instant)
        live.live_until(_FAULTY)
        live.program.view.select_actuator("south")
        for theme in reversed(THEMES):
            live.theme(theme)
            live.shoot(folder / f"operator-{theme}.png")
        for theme in THEMES:
            live.theme(theme)
            for key in _PANELS:
                live.shoot_panel(key, _PANEL, folder / "panels" / f"{key}-{theme}.png")
            for name, (group, kind) in _VIEWS.items():
                live.program.window.dock_area.panel(group).show_part(kind)
                live.shoot_panel(group.key, _PANEL, folder / "panels" / f"{name}-{theme}.png")
        _play_to_the_end(live)


def _replay(folder: Path, run: Path) -> None:
    """The same test from its run file, looked at with the play head."""
    with stage(LaunchOptions(file=str(run), layout="Replay", theme="light")) as replay:
        sessions, view = replay.program.sessions, replay.program.view
        replay.until(lambda: sessions.player is not None)
        view.select_actuator("south")
        view.pin(_LOOKED_AT)
        for theme in THEMES:
            replay.theme(theme)
            replay.shoot(folder / f"replay-{theme}.png")


def _alarm(folder: Path) -> None:
    """Delays by hand until alarms stand, one of which is acknowledged and another trips."""
    with stage(LaunchOptions(simulation="hybrid", layout="Operator", theme="dark")) as alarmed:
        program = alarmed.program
        window, watch = program.window, program.connection
        alarms = window.dock_area.panel(EventsPanel).alarms
        alarms.operator = "Anna"
        alarmed.live_until(_BEFORE)
        _be_late(alarmed, _LATE)
        alarmed.until(lambda: watch.history.summary.unacknowledged > 0)
        alarms.requested.emit(AcknowledgeRequest())
        alarmed.until(lambda: watch.history.summary.any_active and not watch.history.summary.unacknowledged)
        _be_late(alarmed, _LATER)
        alarmed.until(lambda: watch.history.summary.trips > 0)
        alarmed.wait(2.0)
        alarms.view.select_first()
        window.alarm_banner.blinks = False
        for theme in THEMES:
            alarmed.theme(theme)
            alarmed.shoot(folder / f"alarms-{theme}.png")
            alarmed.shoot_panel("events", _PANEL, folder / "panels" / f"alarms-{theme}.png")
        for theme in THEMES:
            alarmed.theme(theme)
            alarmed.layout("Wall", _SCREEN)
            alarmed.shoot(folder / f"wall-{theme}.png")


def _compare(folder: Path, kept: Path) -> None:
    """The same motion before and after the controller was tuned, later by half a second in the second record."""
    before, after = kept / "before.csv", kept / "tuned.csv"
    _write_motion(before, delay=0.018, gain=0.92)
    _write_motion(after, delay=0.006, gain=0.99, later=0.5)
    options = LaunchOptions(file=str(before), compare=(str(after),), layout="Comparison", theme="light")
    with stage(options, _SCREEN) as compared:
        program = compared.program
        compared.until(lambda: bool(program.connection.history.compared))
        program.view.show(*_COMPARED)
        program.view.pin(sum(_COMPARED) / 2.0)
        compared.until(lambda: all(each.judged for each in program.connection.history.compared))
        program.window.notification_bar.dismiss_of_source()
        for theme in THEMES:
            compared.theme(theme)
            compared.shoot(folder / f"comparison-{theme}.png")
        panel = program.window.dock_area.panel(ComparisonPanel)
        panel.differences_button.click()
        for row, tolerance in enumerate(("15", "5 %")):
            panel.differences.model.setData(panel.differences.model.index(row, 4), tolerance)
        compared.until(lambda: "of 2 within" in panel.differences.heading.text())
        for theme in THEMES:
            compared.theme(theme)
            compared.shoot(folder / f"differences-{theme}.png")


def _be_late(stage: Stage, times: int) -> None:
    """Let the measured signals lag more, so many times."""
    for _ in range(times):
        stage.program.window.fault_bar.delay.click()
        stage.wait(0.5)


def _judge(folder: Path) -> None:
    """An experiment on a beam that its model describes badly."""
    with stage(LaunchOptions(simulation="beam-bad", layout="Reliability", theme="dark")) as judged:
        _play_to_the_end(judged)
        judged.program.view.show_all()
        for theme in THEMES:
            judged.theme(theme)
            judged.shoot(folder / f"reliability-{theme}.png")
            judged.shoot_panel("reliability", _PANEL, folder / "panels" / f"reliability-{theme}.png")


def _begin(folder: Path, table: Path, runs: Path) -> None:
    """The first page with the runs of a folder, and what opens over it."""
    with stage(LaunchOptions(theme="light")) as begun:
        program = begun.program
        page = program.window.start_page
        page.runs.set_folder(runs)
        begun.until(lambda: bool(page.runs.table.rows))
        # the folder is one of this computer
        page.runs.place.setText("~/runs")
        begun.wait(0.5)
        begun.shoot(folder / "first-page.png")
        for key, name in (("window.settings", "settings"), ("help.keys", "keys"), ("help.palette", "palette")):
            before = _opened()
            begun.trigger(key)
            (opened,) = _opened() - before
            begun.shoot(folder / f"{name}.png", opened)
            opened.close()
        program.sources.opener.open_path(table, choose=True)
        begun.until(lambda: program.sources.opener.chooser is not None)
        chooser = program.sources.opener.chooser
        assert chooser is not None
        for role, place in (("command", 2), ("measured", 3), ("force", 4)):
            chooser.rows[0].boxes[role].setCurrentIndex(place)
        begun.until(lambda: bool(chooser.preview.curves))
        begun.wait(0.5)
        begun.shoot(folder / "columns.png", chooser)


def _opened() -> set[QWidget]:
    return {widget for widget in QApplication.topLevelWidgets() if widget.isVisible()}


def _play_to_the_end(stage: Stage) -> None:
    sessions = stage.program.sessions
    stage.until(lambda: sessions.player is not None and sessions.player.ended)
    stage.wait(1.0)


def _write_motion(path: Path, delay: float, gain: float, later: float = 0.0) -> None:
    """Write command and measured signal of an actuator that follows a motion of three tones."""
    time = np.arange(0.0, 30.0, 1.0 / 256.0)

    def motion(t: NDArray[np.float64]) -> NDArray[np.float64]:
        return sum(
            (size * np.sin(2.0 * np.pi * f * t + f) for size, f in ((8.0, 0.7), (3.0, 1.9), (1.0, 4.3))), 0.0 * t
        )

    noise = np.random.default_rng(3).normal(0.0, 0.01, len(time))
    columns = np.column_stack((time, motion(time - later), gain * motion(time - later - delay) + noise))
    np.savetxt(path, columns, delimiter=",", header="t [s],command [mm],measured [mm]", comments="", fmt="%.6g")


def _write_table(path: Path) -> None:
    """Write a table of numbers whose columns say little of what they are."""
    time = np.arange(0.0, 20.0, 1.0 / 256.0)
    command, measured = (5.0 * np.sin(2.0 * np.pi * 1.1 * (time - delay)) for delay in (0.0, 0.015))
    columns = np.column_stack((time, command, measured, 12.0 * measured))
    np.savetxt(path, columns, delimiter=",", header="t,xc,chan2,load cell", comments="", fmt="%.5f")
