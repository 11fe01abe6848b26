"""Opening a file: asked only where it must be, checked before it is played, remembered afterwards."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialogButtonBox, QFileDialog

from gui.sources.opening.columns import RATE
from gui.sources.opening.open_dialog import Opener
from gui.sources.processes.catalogue import Catalogue, FileKind, SimulationEntry
from gui.sources.processes.recording import parts_of, run_title
from gui.widgets.theme import LIGHT

OFFERS = Catalogue((FileKind("run file", ("*.h5", "*.hdf5")), FileKind("text file", ("*.csv", "*.txt"))))
GUESS = {"command": ["p"], "measured": ["q"], "force": [], "time": "t", "auxiliary": False}


@pytest.fixture
def opener(window, settings, launch):
    return Opener(window, settings, OFFERS, launch=launch)


@pytest.fixture
def good(table):
    """What the file is when its columns are known."""
    channels = [{"name": "p", "role": "command"}, {"name": "q", "role": "measured"}]
    known = {"sample_rate": 100.0, "duration": 1.0, "problem": "", "guess": GUESS, "channels": channels}
    return table | known


@pytest.fixture
def everything(table):
    """All columns of the file, as they are."""
    curves = {name: [0.0, 1.0] for name in "pqr"}
    return table | {"sample_rate": 100.0, "overview": {"seconds": [0.0, 0.5], "low": curves, "high": curves}}


def button(chooser):
    return chooser.buttons.button(QDialogButtonBox.StandardButton.Open)


def test_several_files_are_the_parts_of_one_run_in_the_order_of_their_numbers(opener, launch, heard, described):
    opened = heard(opener.opened)
    names = [f"/data/{name}.h5" for name in ("run", "run-2", "run-10")]
    first, *others = (str(Path(name).absolute()) for name in names)
    opener.open_paths([names[1], names[2], names[0]])
    assert launch[0].words == ("replay", first, *others, "--join", "--describe")
    launch[0].answer.emit(described)
    launch[0].end()
    assert (opened[0].path, opened[0].words) == (Path(first), (*others, "--join"))
    assert run_title(opened[0].path, opened[0].words) == "run.h5 and 2 more"
    assert run_title(Path(first), ("/data/run-2.h5", "--join", "--window=2")) == "run.h5 + run-2.h5"
    # the columns of the same parts are chosen again
    opener.open_path(opened[0].path, parts_of(opened[0].words), choose=True)
    assert launch[1].words == launch[0].words


def test_a_run_file_is_opened_without_a_question(opener, launch, heard, described):
    opened, progress = heard(opener.opened), heard(opener.progress)
    opener.open_path("/data/run.h5")
    assert launch[0].words == ("replay", str(Path("/data/run.h5").absolute()), "--describe")
    launch[0].answer.emit(described)
    launch[0].end()
    (source,) = opened
    assert (source.path, source.words) == (Path("/data/run.h5").absolute(), ())
    assert source.description.duration == 10.0
    assert progress == ["", "reading run.h5 ...", ""]
    assert opener.chooser is None


def test_a_good_guess_is_taken_and_its_notes_told(opener, launch, heard, good):
    opened, told = heard(opener.opened), heard(opener.notified)
    opener.open_path("/data/x.csv")
    launch[0].answer.emit(good | {"notes": ["times are rounded"]})
    assert opened[0].words == ()
    assert told == [("info", "x.csv: times are rounded")]


def test_no_recording_is_one_line(opener, launch, heard):
    failed = heard(opener.failed)
    opener.open_path("/data/x.csv")
    launch[0].end(2, "synchroscope replay: /data/x.csv: the file is empty")
    assert failed == ["/data/x.csv: the file is empty"]


def test_what_cannot_be_guessed_is_asked_checked_played_and_remembered(
    opener, launch, heard, table, good, everything, qtbot
):
    opened = heard(opener.opened)
    opener.open_path("/data/x.csv")
    launch[0].answer.emit(table)
    launch[0].end()
    chooser = opener.chooser
    assert chooser.isVisible()
    assert not chooser.isHidden()
    assert chooser.heading.text() == "Which column is the command, which the measured signal?"
    assert not button(chooser).isEnabled()
    assert chooser.rows[0].faults["command"].text() == "choose a column"
    assert launch[1].words[-2:] == ("--auxiliary", "--describe")
    launch[1].answer.emit(everything)
    qtbot.keyClicks(chooser.rows[0].boxes["command"], "p")
    qtbot.keyClicks(chooser.rows[0].boxes["measured"], "q")
    assert chooser.preview.curves == (("p", LIGHT.command), ("q", LIGHT.measured))
    chooser.preview.grab()
    assert button(chooser).isEnabled()
    qtbot.mouseClick(button(chooser), Qt.MouseButton.LeftButton)
    assert not opened
    assert not button(chooser).isEnabled()
    assert launch[2].words[2:-1] == ("--command=p", "--measured=q")
    launch[2].answer.emit(good)
    assert opened[0].words == ("--command=p", "--measured=q")
    assert opener.chooser is None

    opener.open_path("/elsewhere/y.csv")
    launch[3].answer.emit(table)
    assert opener.chooser is None
    launch[4].answer.emit(good)
    assert opened[1].words == ("--command=p", "--measured=q")


def test_a_choice_that_the_file_does_not_bear_is_said_in_the_dialog(opener, launch, heard, table, qtbot):
    opened, failed = heard(opener.opened), heard(opener.failed)
    opener.open_path("/data/x.csv", choose=True)
    launch[0].answer.emit(table | {"guess": GUESS, "problem": ""})
    chooser = opener.chooser
    assert chooser.choice.actuators[0].command == "p"
    launch[1].answer.emit(table)
    button(chooser).click()
    launch[-1].end(2, "synchroscope replay: /data/x.csv: times run back")
    told = chooser.problems[-1, "file"]
    assert told.text() == "/data/x.csv: times run back"
    assert not told.isHidden()
    assert button(chooser).isEnabled()
    button(chooser).click()
    assert told.isHidden()
    launch[-1].answer.emit(table)
    assert told.text() == table["problem"]
    assert not opened
    assert not failed


def test_actuators_come_and_go(opener, launch, table, qtbot):
    opener.open_path("/data/x.csv")
    launch[0].answer.emit(table)
    chooser = opener.chooser
    chooser.rows[0].boxes["command"].choose("p")
    chooser.rows[0].boxes["measured"].choose("q")
    chooser.add.click()
    assert [row.title.text() for row in chooser.rows] == ["Actuator 1", "Actuator 2"]
    chooser.rows[1].boxes["command"].choose("p")
    assert chooser.rows[1].faults["command"].text() == "serves as command of actuator 1 already"
    assert not button(chooser).isEnabled()
    chooser.rows[0].remove.click()
    assert [row.title.text() for row in chooser.rows] == ["Actuator 1"]
    assert chooser.choice.actuators[0].command == "p"
    chooser.rows[0].remove.click()
    assert "add an actuator" in chooser.problems[-1, "actuators"].text()
    chooser.auxiliary.click()
    assert button(chooser).isEnabled()
    chooser.time.rate.setText("fast")
    assert not chooser.time.faults[RATE].isHidden()
    assert not button(chooser).isEnabled()
    chooser.time.rate.setText("100")
    assert chooser.choice.words == ("--auxiliary", "--rate=100")


def test_a_proposal_by_values_fills_the_chooser_and_is_no_choice_yet(opener, launch, heard, table, qtbot):
    opened = heard(opener.opened)
    opener.open_path("/data/x.csv")
    launch[0].answer.emit(table | {"guess": GUESS})
    chooser = opener.chooser
    assert chooser.heading.text() == (
        "Which column is the command, which the measured signal? By their values perhaps these:"
    )
    assert [(row.columns.command, row.columns.measured) for row in chooser.rows] == [("p", "q")]
    assert not opened
    qtbot.keyClicks(chooser.time.resample, "100")
    button(chooser).click()
    assert launch[-1].words[2:-1] == ("--command=p", "--measured=q", "--time=t", "--resample=100")


def test_where_the_times_are_not_known_rows_are_shown(opener, launch, table, everything):
    opener.open_path("/data/x.csv")
    launch[0].answer.emit(table)
    launch[1].answer.emit(table)
    assert launch[2].words[2:] == ("--auxiliary", "--rate=1", "--describe")
    launch[2].answer.emit(everything)
    assert opener.chooser.preview.overview is not None


def test_cancelled_nothing_is_opened(opener, launch, heard, table, good):
    opened, failed = heard(opener.opened), heard(opener.failed)
    opener.open_path("/data/x.csv")
    launch[0].answer.emit(table)
    opener.chooser.reject()
    assert opener.chooser is None
    assert launch[1].stopped
    launch[1].answer.emit(good)
    launch[1].end(-15, "")
    assert not opened
    assert not failed


def test_another_file_takes_the_place_of_the_first(opener, launch, heard, described, table):
    opened = heard(opener.opened)
    opener.open_path("/data/x.csv")
    opener.open_path("/data/run.h5")
    assert launch[0].stopped
    launch[0].answer.emit(table)
    assert opener.chooser is None
    launch[1].answer.emit(described)
    assert [source.path.name for source in opened] == ["run.h5"]


def test_what_was_remembered_and_does_not_serve_is_asked_again(opener, launch, heard, table, good):
    opener.open_path("/data/x.csv", choose=True)
    launch[-1].answer.emit(table | {"guess": GUESS})
    button(opener.chooser).click()
    launch[-1].answer.emit(good)
    opener.open_path("/data/other.csv")
    launch[-1].answer.emit(table)
    launch[-1].end(2, "synchroscope replay: p has only words")
    assert opener.chooser.problems[-1, "file"].text() == "p has only words"
    assert opener.chooser.choice.actuators[0].command == "p"


def test_a_dialog_offers_the_kinds_of_files_and_never_holds_up_the_window(opener, window, launch, tmp_path, heard):
    opener.ask()
    dialog = window.findChild(QFileDialog)
    assert dialog.nameFilters() == [
        "Recordings (*.h5 *.hdf5 *.csv *.txt)",
        "run file (*.h5 *.hdf5)",
        "text file (*.csv *.txt)",
        "All files (*)",
    ]
    dialog.filesSelected.emit([str(tmp_path / "a.csv")])
    assert launch[0].words[1] == str(tmp_path / "a.csv")
    dialog.reject()


def test_offers_have_their_groups_in_order():
    first, second, third = (SimulationEntry(n, "", g) for n, g in (("a", "x"), ("b", "y"), ("c", "x")))
    offers = Catalogue((), (first, second, third))
    assert offers.groups == {"x": (first, third), "y": (second,)}
    assert offers.simulation("b") is second
    assert offers.simulation("d") is None
    assert offers.filters == "All files (*)"
