"""SessionManager: which processes are started, with which words, and what is said when they go."""

from argparse import Namespace
from dataclasses import replace
from pathlib import Path

import pytest

from gui.sources.processes.catalogue import EnsembleCache, ModelUnderTest
from gui.sources.processes.playback import PlaybackSession, PlayFile, PlaySimulation
from gui.sources.processes.session import ANY_PORT, ConnectToService, ServeRig, default_or_any_endpoint, free_endpoint
from monitor.__main__ import parser_for
from monitor.messages.recordings import read_description
from monitor.system.default_endpoints import RESULTS

READY = {"ready": {"signals": ["x"], "results": "tcp://127.0.0.1:40123"}}
STATE = {"duration": 10.0, "subscribed": True}
BEAM = ModelUnderTest("beam", "deflection", "16%", "literal", ("accumulated=0.7:0.85",), 2000)


def options(words):
    """Read the words as the command does: a wrong one ends the test."""
    given = vars(parser_for(list(words)).parse_args(list(words)))
    short = {"record.path": "record", "reliability.channel": "response"}
    return Namespace(**{short.get(name, name.rpartition(".")[2]): value for name, value in given.items()})


@pytest.fixture
def ended():
    def count(session):
        said = []
        session.ended.connect(lambda: said.append(True))
        return said

    return count


def test_a_connection_starts_nothing(qtbot, launch, heard, ended):
    session = ConnectToService("tcp://host:5556").session(launch=launch)
    ready, over = heard(session.ready), ended(session)
    session.start()
    assert ready == ["tcp://host:5556"]
    assert session.results_url == "tcp://host:5556"
    assert not launch
    session.stop()
    session.finish()
    assert over == [True]


def test_a_rig_gets_a_service_that_outlives_the_window(qtbot, launch, heard, ended, monkeypatch):
    monkeypatch.setattr("gui.sources.processes.session.default_or_any_endpoint", lambda: RESULTS)
    source = ServeRig("tcp://rig:5555", config=Path("lab.toml"), words=("--window", "2"), record="runs/")
    session = source.session(launch=launch)
    ready, told, over = heard(session.ready), heard(session.notified), ended(session)
    session.start()
    given = options(launch[0].words)
    assert (given.connect, given.bind, given.record, given.window) == (["tcp://rig:5555"], None, "runs/", 2.0)
    assert given.config == Path("lab.toml")
    assert given.publish == RESULTS
    assert given.until_closed is not launch[0].outlives
    launch[0].answer.emit(READY)
    assert ready == ["tcp://127.0.0.1:40123"]
    assert not told
    session.stop()
    assert launch[0].stopped
    launch[0].end()
    assert over == [True]


def test_where_the_usual_port_is_taken_a_rig_is_told(qtbot, launch, heard, monkeypatch):
    monkeypatch.setattr("gui.sources.processes.session.default_or_any_endpoint", lambda: ANY_PORT)
    session = ServeRig(bind="tcp://127.0.0.1:7000").session(launch=launch)
    told = heard(session.notified)
    session.start()
    assert options(launch[0].words).bind == ["tcp://127.0.0.1:7000"]
    launch[0].answer.emit(READY)
    assert [level for level, _ in told] == ["info"]
    assert "tcp://127.0.0.1:40123" in told[0][1]


def test_ports_of_loopback_are_free():
    first, second = free_endpoint(), free_endpoint()
    assert first.startswith("tcp://127.0.0.1:")
    assert first != second
    assert default_or_any_endpoint() in (RESULTS, ANY_PORT)


@pytest.fixture
def played(qtbot, launch, described):
    source = PlayFile(Path("/data/x.csv"), ("--command=p", "--measured=q"), read_description(described))
    return source.session(launch=launch)


def test_a_file_is_played_by_a_service_and_a_player_that_meet(played, launch, heard):
    played.start()
    serve, play = (options(launch.of(word).words) for word in ("monitor", "replay"))
    assert serve.connect == [play.bind]
    assert (serve.record, serve.rig, serve.publish) == ("", "", ANY_PORT)
    assert serve.until_closed
    assert (play.source, play.command, play.measured) == ("/data/x.csv", ["p"], ["q"])
    assert play.control
    assert play.until_closed
    assert play.paused
    assert all(process.exits_on_stdin_close and not process.outlives for process in launch)


def test_it_begins_when_the_service_hears_and_the_results_are_watched(played, launch, controls, heard):
    changed = []
    played.player_changed.connect(lambda: changed.append(played.player))
    played.start()
    service, player = launch.of("monitor"), launch.of("replay")
    assert played.player is None
    player.take_requests()
    assert changed == [played.player]
    assert played.player.description.overview is not None
    (control,) = controls
    assert control.url == "tcp://127.0.0.1:9"
    control.say(STATE | {"subscribed": False}, played.player)
    service.answer.emit(READY)
    played.on_client_connected()
    assert control.told == []
    control.say(STATE, played.player)
    control.say(STATE | {"position": 0.1}, played.player)
    assert control.told == [{"request": "resume"}]
    # what is known already is not asked again
    assert len(launch) == 2


def test_all_processes_end_and_it_is_said_once(played, launch, ended):
    over = ended(played)
    played.start()
    played.stop()
    played.stop()
    assert all(process.stopped for process in launch)
    launch.of("replay").end()
    assert not over
    launch.of("monitor").end()
    assert over == [True]


def test_a_file_that_cannot_be_read_fails_in_one_line(played, launch, heard, ended):
    failed, over = heard(played.failed), ended(played)
    played.start()
    launch.of("replay").end(2, "synchroscope replay: /data/x.csv: the file is empty")
    assert failed == ["/data/x.csv: the file is empty"]
    assert launch.of("monitor").stopped
    launch.of("monitor").end()
    assert over == [True]
    assert len(failed) == 1


def test_a_player_that_dies_is_told_and_what_came_stays(played, launch, controls, heard):
    told, failed = heard(played.notified), heard(played.failed)
    played.start()
    launch.of("replay").take_requests()
    launch.of("replay").end(-11, "")
    assert told == [("error", "the player ended: ended by signal 11; what it has sent can be looked at")]
    assert played.player is None
    assert controls[0].closed
    assert not failed
    assert not launch.of("monitor").stopped


def test_a_file_that_is_damaged_is_said_to_be(qtbot, launch, described, heard):
    description = read_description(described | {"doubts": ["samples 4 to 9 are doubtful"]})
    source = PlayFile(Path("run.h5"), (), description)
    session = source.session(launch=launch)
    told = heard(session.notified)
    session.start()
    launch.of("--control").take_requests()
    assert told == [("warning", "the file is damaged: samples 4 to 9 are doubtful")]
    session.stop()
    for process in launch:
        process.end()


def test_a_service_that_dies_under_a_replay_is_told(played, launch, heard):
    told = heard(played.notified)
    played.start()
    launch.of("monitor").answer.emit(READY)
    launch.of("monitor").end(-9, "")
    assert told[0][0] == "error"
    assert "started again" in told[0][1]


def test_a_refusal_is_a_line(played, launch, controls, heard):
    told = heard(played.notified)
    played.start()
    launch.of("replay").take_requests()
    played.player.pause()
    controls[0].refuse("nothing is there", played.player)
    assert told == [("warning", "the player refuses: nothing is there")]


def test_a_simulation_is_described_while_it_plays(qtbot, launch, described, heard):
    session = PlaySimulation("hybrid").session(launch=launch)
    session.start()
    told = heard(session.notified)
    launch.of("--control").take_requests()
    assert launch[-1].words == ("replay", "hybrid", "--describe")
    launch[-1].answer.emit(described | {"doubts": ["sample 4 is doubtful"]})
    assert session.player.description.overview is not None
    assert told == [("warning", "the file is damaged: sample 4 is doubtful")]
    launch[-1].end()


@pytest.mark.parametrize(
    ("positions", "wanted"),
    [
        # once each time that it is played, after a restart again; not by a seek over it
        ((0.0, 0.0, 0.5, 2.5, 1.0, 3.5, 8.9, 9.0, 0.0, 0.0, 0.2), [0, 2, 2, 3, 9, 0]),
        # its description comes late on a busy machine
        ((7.5, 8.5), [0, 2, 3, 8]),
    ],
)
def test_what_a_simulation_injects_is_told(qtbot, launch, controls, described, heard, positions, wanted):
    session = PlaySimulation("hybrid").session(launch=launch)
    session.start()
    told, injected = heard(session.notified), heard(session.injected)
    launch.of("--control").take_requests()
    events = [{"time": time, "kind": "note", "detail": f"at {time:g}"} for time in (0.0, 2.0, 3.0, 8.0, 9.0)]
    launch[-1].answer.emit(described | {"format": "simulation", "events": events})
    for position in positions:
        controls[0].say(STATE | {"position": position}, session.player)
    assert injected == [(f"at {time}", time) for time in wanted]
    assert [text for _, text in told] == [text for text, _ in injected]
    launch[-1].end()


def judged(launch, folder):
    ensemble = EnsembleCache(BEAM, folder=folder, launch=launch)
    return PlaybackSession("beam", ("beam",), (), ensemble=ensemble, launch=launch)


def test_a_model_is_simulated_first_and_then_judged(qtbot, launch, heard, tmp_path):
    session = judged(launch, tmp_path / "cache")
    progress = heard(session.progress)
    session.start()
    assert len(launch) == 1
    made = options(launch[0].words)
    assert (made.model, made.realizations) == ("beam", 2000)
    assert made.out.parent == tmp_path / "cache"
    assert "2,000 realizations" in progress[0]
    launch[0].end()
    assert progress[-1] == ""
    serve = options(launch.of("monitor").words)
    assert (serve.ensemble, serve.response) == ([str(made.out)], ["deflection"])
    assert (serve.tolerance, serve.policy, serve.limit) == ("16%", "literal", ["accumulated=0.7:0.85"])
    assert options(launch.of("--control").words).source == "beam"


def test_what_a_decision_rejects_is_a_trip():
    played = PlaySimulation("beam", replace(BEAM, limits=("accumulated=0.7:0.85", "first_passage=0.05:0.3")))
    # warning, and trip
    wanted = ["reliability_accumulated=0.85:0.7", "reliability_first_passage=0.3:0.05"]
    assert list(played._alarms) == ["--alarm", wanted[0], "--alarm", wanted[1]]
    options(("monitor", *played._alarms))


def test_a_model_that_is_there_is_not_simulated_again(qtbot, launch, tmp_path):
    first = EnsembleCache(BEAM, folder=tmp_path, launch=launch)
    first.start()
    Path(launch[0].words[-1]).touch()
    judged(launch, tmp_path).start()
    assert [process.words[0] for process in launch] == ["simulate", "monitor", "replay"]


def test_a_model_that_cannot_be_simulated_fails(qtbot, launch, heard, ended, tmp_path):
    session = judged(launch, tmp_path)
    failed, over = heard(session.failed), ended(session)
    session.start()
    launch[0].end(2, "synchroscope simulate: the disk is full")
    assert failed == ["the model beam could not be simulated: the disk is full"]
    assert over == [True]
    file = tmp_path / "file"
    file.touch()
    session = judged(launch, file / "below")
    failed = heard(session.failed)
    session.start()
    assert len(failed) == 1


def test_stopped_while_it_simulates_nothing_else_starts(qtbot, launch, heard, ended, tmp_path):
    session = judged(launch, tmp_path)
    failed, over = heard(session.failed), ended(session)
    session.start()
    session.stop()
    assert launch[0].stopped
    launch[0].end(-15, "")
    assert over == [True]
    assert not failed
    assert len(launch) == 1
