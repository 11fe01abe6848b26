"""What is opened: a rig that is recorded is not left without a word, and options are for what they came with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtWidgets import QMessageBox

from gui.sources.processes.playback import PlayFile, PlaySimulation
from gui.sources.processes.session import ServeRig, SourceSession

RIG = ServeRig(connect="tcp://rig:5555", record="runs/")


class PlayedSession(SourceSession):
    """Ready at once, without a process."""

    def start(self):
        self.ready.emit("tcp://127.0.0.1:1")

    def stop(self):
        self.ended.emit()


@pytest.fixture
def opened(monkeypatch):
    """The sources that were opened, none of which starts a process."""
    sources = []

    def session(source, parent=None, **_):
        sources.append(source)
        return PlayedSession("played", parent)

    for kind in (ServeRig, PlayFile, PlaySimulation):
        monkeypatch.setattr(kind, "session", session)
    return sources


@pytest.fixture
def served(opened, fed, hybrid_arrivals):
    """A rig is recorded."""
    hands = fed()
    hands.program.sources.open(RIG)
    first = hybrid_arrivals[0]
    hands.played.say(replace(first, health=replace(first.health, recording="runs/a.h5")))
    hands.until(lambda: hands.history.health is not None)
    return hands


def question(hands):
    boxes = [box for box in hands.window.findChildren(QMessageBox) if box.isVisible()]
    return boxes[0] if boxes else None


def answer(hands, word):
    box = question(hands)
    hands.click(next(button for button in box.buttons() if button.text() == word))
    assert question(hands) is None


def names(opened):
    return [source.name if isinstance(source, PlaySimulation) else type(source) for source in opened]


def test_a_rig_that_is_recorded_is_left_only_if_the_user_says_so(served, opened):
    served.program.sources.simulate("hybrid")
    assert names(opened) == [ServeRig]
    assert question(served).text() == "runs/a.h5 is being recorded from hybrid. End it?"
    # the window works on
    assert served.modal is None
    answer(served, "Continue")
    assert names(opened) == [ServeRig]
    assert served.connection.is_open
    served.program.actions["source.simulate.hybrid"].trigger()
    # what was wanted last is what is done
    served.program.actions["source.simulate.beam-bad"].trigger()
    answer(served, "End it")
    assert names(opened) == [ServeRig, "beam-bad"]
    # nothing is lost with a simulation
    served.program.sources.simulate("hybrid")
    assert names(opened) == [ServeRig, "beam-bad", "hybrid"]


def test_neither_is_it_by_disconnecting_nor_by_esc(served):
    session = served.program.sessions.current
    served.program.actions["source.disconnect"].trigger()
    served.until(question(served).isActiveWindow)
    served.key("Esc")
    assert question(served) is None
    assert served.program.sessions.current is session
    served.program.actions["source.disconnect"].trigger()
    answer(served, "End it")
    assert served.program.sessions.current is None


@pytest.mark.parametrize("way", ["close button", "Ctrl+Q"])
def test_closing_the_window_asks_too(served, way):
    def leave():
        served.window.activateWindow()
        served.until(served.window.isActiveWindow)
        served.window.close() if way == "close button" else served.key(way)

    leave()
    assert served.window.isVisible()
    assert question(served).text() == "runs/a.h5 is being recorded from hybrid. End it?"
    # the window still draws
    served.ticks(2)
    answer(served, "Continue")
    assert served.window.isVisible()
    assert served.connection.is_open
    leave()
    answer(served, "End it")
    assert not served.window.isVisible()
    assert not served.connection.is_open


def test_a_window_that_records_nothing_closes_without_a_question(fed, hybrid_arrivals):
    hands = fed()
    # the service is somebody else's
    first = hybrid_arrivals[0]
    hands.played.say(replace(first, health=replace(first.health, recording="runs/a.h5")))
    hands.until(lambda: hands.history.health is not None)
    hands.window.close()
    assert not hands.window.isVisible()


def test_a_service_that_hears_no_rig_is_left_without_a_question(opened, fed):
    hands = fed()
    hands.program.sources.open(RIG)
    hands.program.actions["source.disconnect"].trigger()
    assert question(hands) is None
    assert hands.program.sessions.current is None


def test_options_of_the_command_line_are_for_its_own_source(opened, begin, tmp_path):
    config = tmp_path / "rig.toml"
    config.write_text("")
    hands = begin(simulation="hybrid", config=str(config), record="runs/")
    assert (opened[0].config, opened[0].record) == (config, "runs/")
    hands.program.sources.open(PlayFile(Path("/x.csv")))
    hands.program.sources.open(ServeRig(connect="tcp://rig:5555"))
    hands.program.sources.open(ServeRig(connect="tcp://rig:5555", record="mine/"))
    assert [source.record for source in opened[1:]] == ["", "", "mine/"]
    assert config not in [source.config for source in opened[1:]]


def test_limits_of_the_command_line_go_to_the_service_of_its_rig(opened, begin):
    begin(serve="tcp://rig:5555", alarms=("fdb_delay=0.02", "nrmse=:0.3"))
    assert opened[0].words == ("--alarm", "fdb_delay=0.02", "--alarm", "nrmse=:0.3")


def test_neither_are_they_for_what_is_quicker_than_its_file(opened, begin, monkeypatch):
    monkeypatch.setattr("gui.sources.opening.open_dialog.Opener.open_path", lambda *_, **__: None)
    hands = begin(file="x.csv", record="runs/")
    hands.program.sources.simulate("hybrid")
    hands.program.sources.open(PlayFile(Path("x.csv").absolute()))
    assert [source.record for source in opened] == ["", ""]


def test_they_are_for_the_file_however_long_it_takes(opened, begin, monkeypatch):
    monkeypatch.setattr("gui.sources.opening.open_dialog.Opener.open_path", lambda *_, **__: None)
    hands = begin(file="x.csv", record="runs/")
    hands.program.sources.open(PlayFile(Path("x.csv").absolute()))
    assert [source.record for source in opened] == ["runs/"]
