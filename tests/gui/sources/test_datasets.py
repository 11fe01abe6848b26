"""A file with several datasets: offered, read one by one, and remembered beside the file."""

from __future__ import annotations

import h5py
import numpy as np
import pytest
from PySide6.QtWidgets import QDialogButtonBox

from gui.commands.gui import _column_options
from gui.sources.opening.columns import DATASET, ActuatorColumns, ColumnChoice
from gui.sources.opening.open_dialog import Opener
from gui.sources.processes.catalogue import Catalogue
from gui.sources.processes.child_process import finish_all
from monitor.__main__ import main, parser_for
from replay.assessment import assess
from replay.assessment.run import record_settings
from replay.formats import Selection, open_recording

LAGS = {"run1": 0.01, "run2": 0.025}


def motion(time):
    return 5.0 * np.sin(7.0 * time) + 2.0 * np.sin(15.0 * time)


@pytest.fixture
def path(tmp_path):
    """Two runs and temperatures in a file."""
    time = np.arange(3000) / 200.0
    with h5py.File(tmp_path / "tests.h5", "w") as file:
        for name, lag in LAGS.items():
            group = file.create_group(name)
            group["time"], group["command"], group["measured"] = time, motion(time), motion(time - lag)
        file["oil/degrees"] = np.linspace(30.0, 40.0, 50)
    return tmp_path / "tests.h5"


@pytest.fixture
def opener(window, settings, launch):
    return Opener(window, settings, Catalogue(), launch=launch)


def column(dataset, name):
    return {
        "name": f"{dataset}/{name}",
        "unit": "mm",
        "number": 1,
        "reference": f"{dataset}/{name}",
        "dataset": dataset,
    }


def guess(dataset):
    return {
        "command": [f"{dataset}/c"],
        "measured": [f"{dataset}/m"],
        "force": [],
        "time": None,
        "auxiliary": False,
        "dataset": dataset,
    }


@pytest.fixture
def several(table):
    """As a process describes two datasets with an actuator each."""
    columns = [column(dataset, name) for dataset in "ab" for name in "cm"]
    problem = "2 datasets have a command and a measured signal: name one with --dataset NAME; there are a, b"
    return table | {"columns": columns, "problem": problem, "guess": guess("a")}


def open_button(chooser):
    return chooser.buttons.button(QDialogButtonBox.StandardButton.Open)


def texts(box):
    return [box.itemText(n) for n in range(box.count())]


def test_datasets_are_offered_and_each_has_its_own_columns(opener, launch, heard, several):
    opened = heard(opener.opened)
    opener.open_path("/data/x.h5")
    launch[0].answer.emit(several)
    chooser = opener.chooser
    assert chooser.heading.text() == "2 datasets have a command and a measured signal: choose one."
    assert texts(chooser.dataset) == ["all datasets", "a   (2 columns)", "b   (2 columns)"]
    assert chooser.choice == ColumnChoice((ActuatorColumns("a/c", "a/m"),), dataset="a")
    assert launch[1].words[2:] == ("--auxiliary", "--dataset=a", "--describe")
    assert texts(chooser.rows[0].boxes["command"]) == ["—", "a/c [mm]", "a/m [mm]"]

    chooser.dataset.setCurrentIndex(2)
    assert launch[1].stopped
    assert [process.words[2:-1] for process in launch[2:]] == [("--dataset=b",), ("--auxiliary", "--dataset=b")]
    assert not open_button(chooser).isEnabled()
    launch[2].answer.emit(several | {"problem": "", "guess": guess("b")})
    assert texts(chooser.rows[0].boxes["command"]) == ["—", "b/c [mm]", "b/m [mm]"]
    open_button(chooser).click()
    assert launch[-1].words[2:-1] == ("--command=b/c", "--measured=b/m", "--dataset=b")
    launch[-1].answer.emit(several | {"problem": "", "guess": guess("b"), "sample_rate": 100.0})
    assert opened[0].words == ("--command=b/c", "--measured=b/m", "--dataset=b")

    # the next file with these columns is read in the same way
    opener.open_path("/data/y.h5")
    launch[-1].answer.emit(several)
    assert launch[-1].words[2:-1] == ("--command=b/c", "--measured=b/m", "--dataset=b")


def test_all_datasets_are_a_choice_for_columns_of_several(opener, launch, several):
    opener.open_path("/data/x.h5")
    launch[0].answer.emit(several)
    chooser = opener.chooser
    chooser.dataset.setCurrentIndex(0)
    assert len(launch) == 2
    assert len(texts(chooser.rows[0].boxes["command"])) == 5
    assert chooser.choice.actuators == (ActuatorColumns("a/c", "a/m"),)
    assert open_button(chooser).isEnabled()
    chooser.auxiliary.click()
    assert "choose one" in chooser.problems[DATASET].text()
    assert not open_button(chooser).isEnabled()


def test_a_file_of_one_table_has_no_such_choice(opener, launch, table):
    opener.open_path("/data/x.csv")
    launch[0].answer.emit(table)
    assert not opener.chooser.dataset.isVisible()
    assert not opener.chooser.choice.dataset


def test_what_is_remembered_beside_the_file_comes_before_what_the_window_knows(opener, launch, heard, several):
    opened = heard(opener.opened)
    known = ColumnChoice((ActuatorColumns("b/c", "b/m"),), dataset="b")
    opener.open_path("/data/x.h5", choose=True)
    launch[0].answer.emit(several)
    assert not opener.chooser.remember.isChecked()
    opener.stop()
    opener._memory.remember(opener._first.columns, known)
    remembered = several | {"problem": "", "remembered": True, "sample_rate": 100.0}
    opener.open_path("/data/x.h5")
    launch[-1].answer.emit(remembered)
    assert opened[0].words == ()
    opener.open_path("/data/x.h5", choose=True)
    launch[-1].answer.emit(remembered)
    assert opener.chooser.choice.dataset == "a"
    assert opener.chooser.remember.isChecked()


def test_remember_is_an_option_of_the_process_that_checks_the_choice(opener, launch, heard, several):
    opened = heard(opener.opened)
    opener.open_path("/data/x.h5")
    launch[0].answer.emit(several)
    opener.chooser.remember.click()
    open_button(opener.chooser).click()
    assert launch[-1].words[-2:] == ("--remember", "--describe")
    launch[-1].end(2, "synchroscope replay: /data/x.h5.synchroscope.toml: cannot be written")
    assert "cannot be written" in opener.chooser.problems[-1, "file"].text()
    open_button(opener.chooser).click()
    launch[-1].answer.emit(several | {"problem": "", "sample_rate": 100.0})
    assert "--remember" not in opened[0].words


def test_the_command_line_remembers(opener, launch, heard, several, capsys):
    given = parser_for(["gui"]).parse_args(["gui", "x.h5", "--dataset", "b", "--remember"])
    words = _column_options(given)
    assert words == ("--dataset", "b", "--remember")
    opened = heard(opener.opened)
    opener.open_path("/data/x.h5", words)
    assert launch[0].words[2:-1] == words
    launch[0].answer.emit(several | {"problem": "", "guess": guess("b"), "sample_rate": 100.0})
    assert opened[0].words == ("--dataset", "b")
    # where it is not clear, the dialog writes it
    opener.open_path("/data/x.h5", ("--remember",))
    launch[-1].answer.emit(several)
    assert opener.chooser.remember.isChecked()
    assert main(["gui", "--remember"]) == 2
    assert capsys.readouterr().err.splitlines() == ["synchroscope gui: --remember requires a FILE"]


def test_a_real_file_is_chosen_from_and_remembered(window, settings, qtbot, path, heard, warm_kernels):
    opener = Opener(window, settings, Catalogue())
    opened, told = heard(opener.opened), heard(opener.notified)
    opener.open_path(path)
    qtbot.waitUntil(lambda: opener.chooser is not None, timeout=60_000)
    chooser = opener.chooser
    assert set(texts(chooser.dataset)) > {"run1   (3 columns)", "run2   (3 columns)"}
    chooser.dataset.setCurrentIndex(chooser.dataset.findData("run2"))
    qtbot.waitUntil(lambda: chooser.can_open and bool(chooser.preview.curves), timeout=60_000)
    chooser.remember.click()
    open_button(chooser).click()
    qtbot.waitUntil(lambda: bool(opened), timeout=60_000)
    assert ("info", "tests.h5: the columns are remembered in tests.h5.synchroscope.toml") in told
    # as the command line reads it now
    recording = open_recording(path, Selection())
    settings, _ = record_settings(recording, {"window": 2.0})
    (pair,) = assess(recording, settings).pairs
    assert 1e3 * pair.headline.delay == pytest.approx(1e3 * LAGS["run2"], abs=0.1)
    opener.open_path(path)
    qtbot.waitUntil(lambda: len(opened) == 2, timeout=60_000)
    assert opened[1].description.guess.dataset == "run2"
    reading = opener.processes
    opener.stop()
    finish_all(reading, 5.0)
