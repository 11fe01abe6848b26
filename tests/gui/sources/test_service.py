"""The service is kept alive: where it publishes stays, and each new start waits longer."""

import pytest

from gui.sources.processes import session as module
from gui.sources.processes.child_process import exit_reason
from gui.sources.processes.session import ServiceProcess

READY = {"ready": {"signals": ["tcp://127.0.0.1:5555"], "results": "tcp://127.0.0.1:40123"}}


@pytest.fixture
def clock():
    return [0.0]


@pytest.fixture
def service(qtbot, launch, clock):
    return ServiceProcess(("--connect", "tcp://rig:1"), "tcp://127.0.0.1:*", launch=launch, clock=lambda: clock[0])


@pytest.fixture
def at_once(monkeypatch):
    """Let the pause before a new start be none."""
    monkeypatch.setattr(module, "_FIRST", 0.0)


def test_it_says_where_its_results_are_once(service, launch, heard):
    ready, progress = heard(service.ready), heard(service.progress)
    service.start()
    assert launch[0].words == (
        "monitor", "--connect", "tcp://rig:1", "--publish", "tcp://127.0.0.1:*",
        "--ready-json", "--until-closed",
    )  # fmt: skip
    launch[0].line.emit("loading kernels ...")
    assert not service.listening
    launch[0].answer.emit(READY)
    launch[0].line.emit("at 1.0 s: samples lost")
    assert ready == ["tcp://127.0.0.1:40123"]
    assert progress == ["loading kernels ...", ""]
    assert service.listening


def test_one_that_dies_is_started_again_where_it_was(service, launch, heard, qtbot):
    ready, told = heard(service.ready), heard(service.notified)
    service.start()
    launch[0].answer.emit(READY)
    launch[0].end(-9, "at 3 s: the stream starts")
    assert not service.listening
    assert told == [("error", "the service died (ended by signal 9); it is started again in 1 s")]
    service.start()
    assert launch[1].words[launch[1].words.index("--publish") + 1] == "tcp://127.0.0.1:40123"
    launch[1].answer.emit(READY)
    assert told[1:] == [("info", "the service runs again")]
    assert len(ready) == 1


def test_the_pauses_grow_and_are_short_again_when_it_ran_long(service, launch, heard, clock):
    told = heard(service.notified)
    service.start()
    launch[0].answer.emit(READY)
    for _ in range(7):
        launch[-1].end(1, "")
        service.start()
    assert [float(text.rpartition("in ")[2].removesuffix(" s")) for _, text in told] == [1, 2, 4, 8, 16, 30, 30]
    launch[-1].answer.emit(READY)
    clock[0] += 100.0
    launch[-1].end(1, "")
    assert told[-1][1].endswith("in 1 s")


def test_it_starts_by_itself(at_once, launch, qtbot):
    service = ServiceProcess((), "tcp://127.0.0.1:*", launch=launch)
    service.start()
    launch[0].answer.emit(READY)
    launch[0].end(1, "")
    qtbot.waitUntil(lambda: len(launch) == 2)


def test_a_mistake_is_told_and_not_repeated(service, launch, heard):
    failed, ended = heard(service.failed), []
    service.ended.connect(lambda: ended.append(True))
    service.start()
    launch[0].end(2, "synchroscope monitor: --connect nonsense: is no endpoint")
    assert failed == ["the service cannot run: --connect nonsense: is no endpoint"]
    assert ended
    assert len(launch) == 1


def test_one_that_never_runs_is_given_up(service, launch, heard):
    failed = heard(service.failed)
    service.start()
    for _ in range(2):
        launch[-1].end(1, "out of memory")
        assert not failed
        service.start()
    launch[-1].end(1, "out of memory")
    assert failed == ["the service cannot run: out of memory"]


@pytest.mark.parametrize("outlives", [False, True])
def test_told_to_stop_it_ends_and_stays_ended(launch, heard, qtbot, outlives):
    service = ServiceProcess((), "tcp://127.0.0.1:*", launch=launch, outlives=outlives)
    ended, told, ready = [], heard(service.notified), heard(service.ready)
    service.ended.connect(lambda: ended.append(True))
    service.start()
    assert (launch[0].outlives, launch[0].exits_on_stdin_close) == (outlives, not outlives)
    assert ("--until-closed" in launch[0].words) is not outlives
    service.stop()
    assert launch[0].stopped
    assert not ended
    launch[0].answer.emit(READY)
    launch[0].end(0, "no samples were received, nothing was recorded")
    assert ended == [True]
    assert not told
    assert not ready
    assert service.process is None


def test_stopped_while_it_waits_for_a_new_start_it_does_not_start(at_once, launch, qtbot):
    service = ServiceProcess((), "tcp://127.0.0.1:*", launch=launch)
    ended = []
    service.ended.connect(lambda: ended.append(True))
    service.start()
    launch[0].answer.emit(READY)
    launch[0].end(1, "")
    service.stop()
    assert ended
    for _ in range(10):
        qtbot.wait(1)
    assert len(launch) == 1


def test_why_it_ended_is_its_own_last_word():
    assert exit_reason(2, "synchroscope replay: x.csv: the file is empty") == "x.csv: the file is empty"
    assert exit_reason(2, "synchroscope: no") == "no"
    assert exit_reason(-9, "at 3 s: samples lost") == "ended by signal 9"
    assert exit_reason(3, "") == "ended with exit code 3"
