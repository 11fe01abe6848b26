"""The runs of a folder in the window: listed by the real command, opened, compared, and what was just recorded."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QMimeData, QPoint, Qt, QUrl
from PySide6.QtGui import QDropEvent

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
