"""The runs of a folder in the window: listed by the real command, opened, compared, and what was just recorded."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QMimeData, QPoint, Qt, QUrl
from PySide6.QtGui import QDesktopServices, QDropEvent
from PySide6.QtWidgets import QFileDialog

from monitor.messages.blocks import Channel, Event, EventKind, Role, SignalBlock, Stream
from monitor.recording import RunWriter

RATE = 200.0


CHANNELS = Channel("c", Role.COMMAND, "mm", "north"), Channel("m", Role.MEASURED, "mm", "north")


def record(path: Path, lag: float, start: float) -> None:
    time = np.arange(3000) / RATE
    writer = RunWriter(path, {"indicators": {"window": 2.0}})
    samples = np.stack((np.sin(7.0 * time), np.sin(7.0 * (time - lag))), 1)
    writer.signals(SignalBlock(Stream("rig", 1, RATE, CHANNELS), 0, start, samples, last=True))
    writer.event(Event(EventKind.NOTE, start + 1.0, 200, 0, f"{1e3 * lag:.0f} ms late"))
    writer.close()


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "runs"
    place.mkdir()
    record(place / "first.h5", 0.01, 1_763_000_000.0)
    record(place / "second.h5", 0.02, 1_763_000_100.0)
    (place / "damaged.h5").write_text("no HDF5")
    return place


def names(hands):
    return [row.file for row in hands.window.start_page.runs.table.rows]


def listed(hands, n):
    hands.until(lambda: len(names(hands)) == n)
    return hands.window.start_page.runs


def test_runs_are_listed_opened_and_compared(begin, warm_kernels, store, folder):
    store.setValue("serve/record", str(folder))
    hands = begin()
    runs = listed(hands, 3)
    assert names(hands) == ["second.h5", "first.h5", "damaged.h5"]
    assert runs.table.rows[0].note_texts == "20 ms late"

    # what cannot be opened is not compared, also not with the next that is opened
    runs.compared.emit([str(folder / "damaged.h5"), str(folder / "first.h5")])
    hands.until(lambda: any("damaged.h5" in line for line in hands.notices))
    assert hands.first_page
    runs.view.setFocus()
    runs.view.selectRow(0)
    hands.key("Return")
    hands.until(lambda: hands.history.recording is not None)
    assert not hands.first_page
    assert hands.window.title == "second.h5"
    hands.ticks(3)
    assert not hands.program.comparison.opener.busy
    assert hands.history.compared == ()

    # the same list, over the recording that is shown
    shown = hands.history
    hands.program.actions["file.runs"].trigger()
    dialog = hands.program.runs.dialog
    hands.until(lambda: len(dialog.runs.table.rows) == 3)
    assert dialog.runs.last_opened == str(folder / "second.h5")
    dialog.runs.compared.emit([dialog.runs.last_opened, str(folder / "first.h5")])
    assert not dialog.isVisible()
    hands.until(lambda: len(hands.history.compared) == 1)
    assert hands.history is shown
    assert hands.history.compared[0].name == "first.h5"

    hands.program.actions["source.disconnect"].trigger()
    assert hands.first_page
    # the list is that of before while it is read again
    assert [row.file for row in runs.view.chosen] == ["second.h5"]
    assert runs.last_opened == str(folder / "second.h5")


def test_a_recorded_test_is_listed_when_it_ends(begin, warm_kernels, tmp_path):
    folder = tmp_path / "new"
    hands = begin(simulation="hybrid", record=f"{folder}/")
    hands.until(lambda: hands.history.end_x > 0.3)
    hands.key("Ctrl+D")
    assert hands.first_page
    hands.until(lambda: [row.outcome for row in hands.window.start_page.runs.table.rows] == ["clean"])
    assert hands.window.start_page.runs.folder == folder


def test_a_folder_is_dropped(begin, folder):
    hands = begin()
    assert names(hands) == []
    dragged = QMimeData()
    dragged.setUrls([QUrl.fromLocalFile(str(folder))])
    none = Qt.KeyboardModifier.NoModifier, Qt.MouseButton.LeftButton
    hands.window.dropEvent(QDropEvent(QPoint(5, 5), Qt.DropAction.CopyAction, dragged, none[1], none[0]))
    listed(hands, 3)
    # nothing was opened
    assert hands.first_page
    assert hands.notices == []


def test_a_missing_folder_is_one_line_of_the_command(begin, store, tmp_path):
    store.setValue("serve/record", str(tmp_path / "gone"))
    hands = begin()
    status = hands.window.start_page.runs.status
    hands.until(lambda: "no such folder" in status.text())
    assert status.text() == f"{tmp_path / 'gone'}: no such folder; name a folder of run files"


pytest.importorskip("jinja2")


@pytest.fixture
def opened(monkeypatch):
    """What a browser is asked to open."""
    pages = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: pages.append(url.toLocalFile()) or True)
    return pages


@pytest.fixture
def shown(begin, warm_kernels, tmp_path):
    """The window with a table."""
    t = np.arange(3000) / 200.0
    table = np.column_stack([t, np.sin(7.0 * t), 0.9 * np.sin(7.0 * (t - 0.02))])
    path = tmp_path / "test.csv"
    np.savetxt(path, table, delimiter=",", header="t [s],command [mm],measured [mm]", comments="")
    hands = begin(file=str(path))
    hands.until(lambda: hands.program.actions["file.report"].isEnabled())
    return hands


def test_a_report_is_written_and_opened(shown, opened, tmp_path):
    page = tmp_path / "page.html"
    shown.program.actions["file.report"].trigger()
    shown.name_file(page)
    shown.until(lambda: opened)
    assert opened == [str(page)]
    # of the table: 20 ms late, 10 % too small
    text = page.read_text("utf-8")
    assert "20.0 ± &lt;0.1 ms late" in text or "20.000 ± &lt;0.001 ms late" in text
    assert "undershoots by 10.0 %" in text
    assert any(f"report saved as {page}" in line for line in shown.notices)


def test_a_failure_is_one_line(shown, opened, tmp_path):
    path = shown.program.sources.source.path
    shown.program.reports.write(tmp_path / "nowhere" / "page.html", path)
    shown.program.reports.write(tmp_path / "second.html", path)
    assert any("still being written" in line for line in shown.notices)
    shown.until(lambda: any("no report: " in line and "cannot be written" in line for line in shown.notices))
    assert opened == []
    assert not list(tmp_path.glob("*.html"))


def test_there_is_no_report_without_a_recording(begin):
    assert not begin().program.actions["file.report"].isEnabled()


def test_a_live_run_is_reported_as_far_as_it_is_recorded(begin, service, rig, opened, tmp_path):
    live = begin(connect=service.url)
    live.until(lambda: live.program.actions["file.report"].isEnabled())
    rig.move(6.0)
    live.until(lambda: live.history.health is not None and live.history.health.recorded >= 1000)
    page = tmp_path / "page.html"
    live.program.actions["file.report"].trigger()
    live.name_file(page)
    live.until(lambda: opened)
    assert opened == [str(page)]
    assert "ms late" in page.read_text("utf-8")
    # the run continues
    rig.move(1.0)
    live.until(lambda: live.history.health.recorded >= 1400)


@pytest.mark.parametrize(
    ("recording", "line"),
    [
        ("", "nothing is recorded, so there is nothing to report on: "),
        ("/elsewhere/run.h5", "/elsewhere/run.h5 is on the service's machine: run synchroscope report there"),
    ],
)
def test_a_live_run_without_a_file_here_is_one_line(fed, hybrid_arrivals, recording, line):
    live = fed()
    first = hybrid_arrivals[0]
    live.played.say(replace(first, health=replace(first.health, recording=recording)))
    live.until(lambda: live.history.health is not None)
    live.program.actions["file.report"].trigger()
    assert any(line in notice for notice in live.notices)
    assert live.window.findChild(QFileDialog) is None
