"""The runs on the start page: listed by another process; sorted, filtered, opened, compared; failures in one line."""

import pytest
from PySide6.QtCore import QItemSelectionModel, QPoint, Qt
from PySide6.QtGui import QDesktopServices, QGuiApplication, QPalette
from PySide6.QtWidgets import QApplication, QFileDialog, QMenu

from gui.model.run_catalogue import COLUMNS
from gui.sources.opening.run_list import RunList
from gui.widgets.theme import DARK, LIGHT
from monitor.messages.recordings import RunRow

ROWS = (
    RunRow("b.h5", "2026-01-06T10:00:00+00:00", 60.0, outcome="clean", worst_delay_ms=40.0, alarms=2, notes=0),
    RunRow("a/c.h5", "2026-01-05T10:00:00+00:00", 70.0, outcome="lossy", worst_delay_ms=-4.0, alarms=0, notes=1,
           note_texts="pump on"),
    RunRow("d.h5", problem="cut short"),
)  # fmt: skip


def answer(rows=ROWS, foreign=0, index="/x/index"):
    return {
        "folder": "/x",
        "index": index,
        "found": len(rows),
        "foreign": foreign,
        "runs": [r.values() for r in rows],
    }


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "runs"
    place.mkdir()
    return place


@pytest.fixture
def runs(qtbot, settings, launch, folder):
    settings.setValue("serve/record", str(folder))
    runs = RunList(settings, LIGHT, launch=launch)
    qtbot.addWidget(runs)
    runs.resize(900, 500)
    runs.show()
    qtbot.waitExposed(runs)
    return runs


@pytest.fixture
def listed(runs, launch):
    launch[-1].answer.emit(answer())
    launch[-1].end()
    return runs


def files(runs):
    return [row.file for row in runs.table.rows]


def menu_of(runs):
    index = runs.view.selectionModel().selectedRows()[0]
    runs.view.menu_requested.emit(index, runs.mapToGlobal(QPoint(5, 5)))
    menu = next(found for found in runs.findChildren(QMenu) if found.isVisible())
    return {action.text(): action for action in menu.actions() if action.text()}


def select(runs, *rows):
    model, flags = runs.view.selectionModel(), QItemSelectionModel.SelectionFlag
    for row in rows:
        model.select(runs.table.index(row, 0), flags.Select | flags.Rows)


def test_the_folder_of_the_recordings_is_listed_when_the_list_is_shown(runs, launch, folder):
    assert [process.words for process in launch] == [("runs", str(folder), "--json")]
    assert runs.status.text() == "reading the folder ..."
    assert not runs.view.isVisible()
    launch[-1].line.emit("run files read: 3 of 9")
    assert runs.status.text() == "run files read: 3 of 9"
    launch[-1].answer.emit(answer(foreign=1))
    launch[-1].end()
    assert files(runs) == ["b.h5", "a/c.h5", "d.h5"]
    assert runs.status.text() == "3 runs; 1 damaged; HDF5 files of other programs left out: 1"


def test_without_a_folder_nothing_is_started(qtbot, settings, launch):
    runs = RunList(settings, LIGHT, launch=launch)
    qtbot.addWidget(runs)
    runs.show()
    assert not launch
    assert "choose one" in runs.place.text()
    assert not runs.view.isVisible()


@pytest.mark.parametrize(
    ("code", "last", "expected"),
    [
        (2, "synchroscope runs: /x: no such folder; name another", "/x: no such folder; name another"),
        (-9, "run files read: 3 of 9", "ended by signal 9"),
        (1, "", "ended with exit code 1"),
    ],
)  # fmt: skip
def test_a_failure_is_one_line(runs, launch, code, last, expected):
    launch[-1].end(code, last)
    assert runs.status.text() == expected
    assert runs.status.foregroundRole() is QPalette.ColorRole.BrightText
    assert not runs.view.isVisible()
    # the next listing is as the first
    runs.again.click()
    launch[-1].answer.emit(answer())
    launch[-1].end()
    assert runs.status.foregroundRole() is not QPalette.ColorRole.BrightText
    assert len(files(runs)) == 3


def test_an_answer_that_is_none_is_one_line(runs, launch):
    launch[-1].answer.emit({"runs": 3})
    launch[-1].end()
    assert runs.status.text().startswith("no list of runs")


def test_an_empty_folder_is_one_line(runs, launch):
    launch[-1].answer.emit(answer(()))
    launch[-1].end()
    assert runs.status.text() == "no run files here"


def test_headings_sort_and_the_selection_stays(listed, qtbot):
    select(listed, 1)
    header = listed.view.horizontalHeader()
    worst = COLUMNS.index("Worst [ms]")
    at = QPoint(header.sectionViewportPosition(worst) + 5, header.height() // 2)
    qtbot.mouseClick(header.viewport(), Qt.MouseButton.LeftButton, pos=at)
    ascending = files(listed)
    qtbot.mouseClick(header.viewport(), Qt.MouseButton.LeftButton, pos=at)
    assert sorted([ascending, files(listed)]) == [["a/c.h5", "b.h5", "d.h5"], ["b.h5", "a/c.h5", "d.h5"]]
    assert [row.file for row in listed.view.chosen] == ["a/c.h5"]


def test_the_filter_has_words_and_alarms(listed, qtbot):
    qtbot.keyClicks(listed.filter, "PUMP")
    assert files(listed) == ["a/c.h5"]
    assert listed.status.text() == "1 of 3 runs; 1 damaged"
    listed.filter.clear()
    listed.with_alarms.click()
    assert files(listed) == ["b.h5"]


def test_enter_and_double_click_open(listed, heard, qtbot, folder):
    opened = heard(listed.opened)
    listed.view.selectRow(1)
    qtbot.keyClick(listed.view, Qt.Key.Key_Return)
    at = listed.view.visualRect(listed.table.index(0, 1)).center()
    qtbot.mouseClick(listed.view.viewport(), Qt.MouseButton.LeftButton, pos=at)
    qtbot.mouseDClick(listed.view.viewport(), Qt.MouseButton.LeftButton, pos=at)
    assert opened == [str(folder / "a" / "c.h5"), str(folder / "b.h5")]


def test_the_menu_of_a_run(listed, heard, folder, monkeypatch):
    shown = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: shown.append(url.toLocalFile()) or True)
    opened, compared, reported = heard(listed.opened), heard(listed.compared), heard(listed.reported)
    listed.last_opened = "/elsewhere/last.csv"
    select(listed, 1)
    for text in ("Open", "Compare with last.csv", "Report…", "Show in folder", "Copy path"):
        menu_of(listed)[text].trigger()
    path = str(folder / "a" / "c.h5")
    assert (opened, reported) == ([path], [path])
    assert compared == [["/elsewhere/last.csv", path]]
    assert shown == [str(folder / "a")]
    assert QGuiApplication.clipboard().text() == path


def test_the_menu_of_several_runs_compares_them(listed, heard, folder):
    compared = heard(listed.compared)
    select(listed, 0, 1)
    actions = menu_of(listed)
    assert not actions["Open"].isEnabled()
    assert not actions["Report…"].isEnabled()
    actions["Compare the 2 runs"].trigger()
    assert compared == [[str(folder / "b.h5"), str(folder / "a" / "c.h5")]]


def test_nothing_to_compare_with_is_no_choice(listed):
    select(listed, 0)
    assert not menu_of(listed)["Compare with the recording opened last"].isEnabled()


def test_a_refresh_while_it_reads_lists_again(runs, launch):
    runs.refresh()
    runs.refresh()
    assert len(launch) == 1
    launch[0].answer.emit(answer(ROWS[:1]))
    launch[0].end()
    assert len(launch) == 2
    launch[1].answer.emit(answer())
    launch[1].end()
    assert len(launch) == 2
    assert len(files(runs)) == 3


def test_a_hidden_list_stops_and_lists_again_when_it_is_shown(runs, launch):
    runs.hide()
    assert launch[0].stopped
    # too late to be of use
    launch[0].answer.emit(answer())
    launch[0].end(-15)
    assert files(runs) == []
    assert len(launch) == 1
    runs.refresh()
    assert len(launch) == 1
    runs.show()
    assert len(launch) == 2


def test_another_folder_replaces_the_list(listed, launch, tmp_path, settings):
    other = tmp_path / "other"
    other.mkdir()
    listed.choose.click()
    dialog = listed.findChild(QFileDialog)
    dialog.fileSelected.emit(str(other))
    dialog.close()
    assert launch[-1].words == ("runs", str(other), "--json")
    assert listed.place.text() == str(other)
    assert files(listed) == []
    assert settings.value("runs/folder") == str(other)
    # while that is read, yet another one
    listed.set_folder(tmp_path)
    assert launch[-1].stopped
    launch[-1].end(-15)
    assert launch[-1].words == ("runs", str(tmp_path), "--json")


def test_the_same_runs_leave_selection_and_place(listed, launch):
    select(listed, 2)
    resets = []
    listed.table.modelReset.connect(lambda: resets.append(1))
    listed.refresh()
    launch[-1].answer.emit(answer())
    launch[-1].end()
    assert resets == []
    assert [row.file for row in listed.view.chosen] == ["d.h5"]


@pytest.mark.parametrize("width", [300, 420, 520, 640, 900])
def test_columns_fit_the_width_and_the_main_ones_remain(listed, width):
    listed.resize(width, 500)
    QApplication.processEvents()
    view = listed.view
    shown = [COLUMNS[n] for n in range(len(COLUMNS)) if not view.isColumnHidden(n)]
    assert {"Start", "Name", "Record", "Worst [ms]"} <= set(shown)
    if width >= 420:
        assert view.horizontalHeader().length() <= view.viewport().width()
    if width == 900:
        assert len(shown) == len(COLUMNS)


def test_other_colours_are_taken(listed):
    listed.apply_theme(DARK)
    colour = listed.table.data(listed.table.index(1, 2), Qt.ItemDataRole.ForegroundRole)
    assert colour.color().name() == DARK.warn
    listed.grab()
