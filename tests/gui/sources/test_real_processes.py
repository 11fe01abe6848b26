"""Child processes as they are: their lines, answers and ends."""

import itertools
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from time import monotonic, sleep

import numpy as np
import pytest
import shiboken6
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtWidgets import QWidget

from gui.sources.opening.open_dialog import Opener
from gui.sources.processes.catalogue import Catalogue
from gui.sources.processes.child_process import ChildProcess, LineBuffer, finish_all
from gui.sources.processes.playback import PlayFile
from gui.sources.processes.player import ReplayControl
from gui.sources.processes.session import ANY_PORT, free_endpoint
from monitor.messages.ready import Endpoints
from monitor.recording import RunReader
from monitor.transport.zeromq.requests import RequestClient
from monitor.transport.zeromq.results import ResultSubscriber

PATIENCE = 90_000  # ms


ROOT = Path(__file__).parents[3]


@pytest.fixture
def processes():
    """Take processes away that a failing test has left."""
    made = []
    yield made
    finish_all(made, 0.1)


def gone(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.parametrize("outlives", [False, True])
def test_its_last_word_says_why_it_ended(qtbot, processes, outlives):
    process = ChildProcess(["replay", "/nowhere/at/all.csv"], outlives=outlives)
    processes.append(process)
    lines = []
    process.line.connect(lines.append)
    with qtbot.waitSignal(process.ended, timeout=PATIENCE) as ended:
        process.start()
    code, last = ended.args
    assert code == 2
    assert "/nowhere/at/all.csv" in last
    assert lines[-1] == last
    assert not process.running
    # nothing is left to end, and nobody is told twice
    process.stop()


def test_one_that_cannot_be_started_says_so(qtbot, processes, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    process = ChildProcess(["monitor"])
    with qtbot.waitSignal(process.ended, timeout=PATIENCE) as ended:
        process.start()
    assert ended.args[0] == 127
    assert "/nowhere/python cannot be started" in ended.args[1]


def test_a_replay_is_controlled_and_ends_when_its_input_is_closed(qtbot, processes):
    words = ["replay", "case-i", "--control", "--paused", "--until-closed", "--ready-json", "--bind", ANY_PORT]
    process = ChildProcess(words, exits_on_stdin_close=True)
    processes.append(process)
    answers = []
    process.answer.connect(answers.append)
    process.start()
    qtbot.waitUntil(lambda: bool(answers), timeout=PATIENCE)
    if os.name == "posix":
        # in a session of its own: the terminal's Ctrl-C does not come to it
        assert os.getsid(process.process_id) == process.process_id
    player = ReplayControl(RequestClient(Endpoints.from_message(answers[0]).requests))
    player.set_speed(2.0)
    qtbot.waitUntil(lambda: player.speed == 2.0, timeout=PATIENCE)
    player.close()
    with qtbot.waitSignal(process.ended, timeout=PATIENCE) as ended:
        process.stop()
        # it was asked, and not waited for
        assert process.running
    assert ended.args[0] == 0


def played(program, **how):
    """A process that runs a text in Python instead of ours."""
    process = ChildProcess([], **how)
    process._process.setArguments(["-c", dedent(program)])
    return process


SLOW_TO_CLOSE = """
    import pathlib, signal, sys
    def close(*_):
        pathlib.Path({asked!r}).touch()
        while not pathlib.Path({may!r}).exists():
            signal.sigtimedwait((), 0.01)
        pathlib.Path({closed!r}).touch()
        sys.exit()
    signal.signal(signal.SIGTERM, close)
    print("up", file=sys.stderr, flush=True)
    signal.pause()
"""


@pytest.mark.skipif(os.name != "posix", reason="elsewhere nothing outlives the window")
@pytest.mark.parametrize("outlives", [False, True])
def test_at_the_exit_a_recording_is_left_to_be_closed(qtbot, tmp_path, outlives):
    asked, may, closed = (tmp_path / name for name in ("asked", "may", "closed"))
    process = played(SLOW_TO_CLOSE.format(asked=str(asked), may=str(may), closed=str(closed)), outlives=outlives)
    with qtbot.waitSignal(process.line, timeout=PATIENCE):
        process.start()
    pid = process.process_id
    process.stop()
    qtbot.waitUntil(asked.exists, timeout=PATIENCE)
    finish_all([process], 0.2)
    assert not process.running
    if not outlives:
        assert gone(pid)
        return
    # nor does it end with what started it
    shiboken6.delete(process)
    may.touch()
    assert os.waitpid(pid, 0)[1] == 0
    assert closed.exists()


def test_modules_that_lie_in_the_current_folder_are_not_run(qtbot, processes, tmp_path, monkeypatch):
    for name in ("monitor", "numpy"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(77)")
    monkeypatch.chdir(tmp_path)
    process = ChildProcess(["replay", "/nowhere/at/all.csv"])
    processes.append(process)
    with qtbot.waitSignal(process.ended, timeout=PATIENCE) as ended:
        process.start()
    assert ended.args[0] == 2
    assert "/nowhere/at/all.csv" in ended.args[1]


def write_table(path):
    time = np.arange(400) / 100.0
    command = np.sin(2.0 * np.pi * time)
    table = np.column_stack([time, command, 0.9 * command])
    np.savetxt(path, table, delimiter=",", header="time [s],cmd [mm],fbk [mm]", comments="")


def test_a_table_is_opened_played_and_heard_from_its_first_sample(qtbot, warm_kernels, tmp_path, settings):
    path = tmp_path / "rig.csv"
    write_table(path)
    window = QWidget()
    qtbot.addWidget(window)
    opener = Opener(window, settings, Catalogue())
    with qtbot.waitSignal(opener.opened, timeout=PATIENCE) as opened:
        opener.open_path(path)
    whole = opened.args[0]
    source = PlayFile(whole.path, whole.words, whole.description)
    assert source.description.overview.channels
    session = source.session(window)
    told, failed = [], []
    session.notified.connect(lambda *words: told.append(words))
    session.failed.connect(failed.append)
    with qtbot.waitSignal(session.ready, timeout=PATIENCE) as ready:
        session.start()
    link = ResultSubscriber(ready.args[0], kinds=("signals", "health"))
    try:
        received = []
        session.player.set_speed(np.inf)

        def listen():
            for item in link.receive(0.0):
                if not hasattr(item, "samples"):
                    session.on_client_connected()
                else:
                    received.append(item.samples)
            assert sum(map(len, received)) == 400

        qtbot.waitUntil(listen, timeout=PATIENCE)
        qtbot.waitUntil(lambda: session.player.ended, timeout=PATIENCE)
    finally:
        link.close()
    command = [channel.name for channel in source.description.channels].index("cmd")
    expected = np.sin(2.0 * np.pi * np.arange(400) / 100.0)
    np.testing.assert_allclose(np.concatenate(received)[:, command], expected, atol=1e-12)
    processes = [process.process_id for process in session.processes]
    with qtbot.waitSignal(session.ended, timeout=PATIENCE):
        session.stop()
    assert not session.processes
    assert all(gone(pid) for pid in processes)
    assert (told, failed) == ([], [])


WINDOW = """
    import os, sys
    from PySide6.QtWidgets import QApplication
    from gui.sources.processes.session import ServeRig

    application = QApplication([])
    session = ServeRig(sys.argv[1], record=sys.argv[2]).session()
    session.ready.connect(lambda url: (print(session.processes[0].process_id, url, flush=True), os._exit(9)))
    session.start()
    application.exec()
"""


@pytest.mark.skipif(os.name != "posix", reason="elsewhere the service ends with the window, in good order")
def test_the_service_of_a_rig_goes_on_when_the_window_crashes(tmp_path, warm_kernels):
    rig = free_endpoint()
    record = f"{tmp_path}/runs/"
    script = [sys.executable, "-c", dedent(WINDOW), rig, record]
    environment = os.environ | {"QT_QPA_PLATFORM": "offscreen", "TMPDIR": str(tmp_path)}
    crashed = subprocess.run(script, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=90)
    assert crashed.returncode == 9, crashed.stderr
    process, results = crashed.stdout.split()
    pid = int(process)
    publisher = subprocess.run(
        [sys.executable, "-m", "monitor", "replay", "case-i", "--bind", rig, "--speed", "max"],
        cwd=ROOT, capture_output=True, text=True, timeout=90,
    )  # fmt: skip
    sent = int(publisher.stderr.split(" samples sent")[0].splitlines()[-1])
    link = ResultSubscriber(results, kinds=("health",))
    deadline = monotonic() + 90.0
    try:
        while not any(health.recorded == sent for health in link.receive(0.1)):
            assert not gone(pid)
            assert monotonic() < deadline
    finally:
        link.close()
        os.kill(pid, signal.SIGTERM)
    while not gone(pid):
        assert monotonic() < deadline
        sleep(0.02)
    # beside it are kept the alarms
    (run,) = Path(record).glob("*.h5")
    with RunReader(run) as reader:
        assert reader.outcome == "clean"


@given(
    st.lists(st.binary(min_size=1).map(lambda b: b.replace(b"\n", b"?")), max_size=8),
    st.binary().map(lambda b: b.replace(b"\n", b"?")),
    st.lists(st.integers(0, 400), max_size=12),
)
def test_any_chopping_gives_the_same_lines(whole, rest, cuts):
    text = b"".join(line + b"\n" for line in whole) + rest
    edges = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    reader, got = LineBuffer(), []
    for begin, end in itertools.pairwise(edges):
        got += reader.feed(text[begin:end])
    got += reader.rest()
    assert got == [line for line in (*whole, rest) if line.strip()]
    assert reader.rest() == []


def test_a_line_that_never_ends_takes_no_memory(monkeypatch):
    monkeypatch.setattr("gui.sources.processes.child_process._LONGEST", 100)
    reader = LineBuffer()
    for _ in range(50):
        assert reader.feed(b"x" * 30) == []
    assert len(reader.rest()) <= 130


def test_an_answer_may_have_names_that_are_no_text(qtbot, heard):
    process = ChildProcess(["runs"])
    answers, lines = heard(process.answer), heard(process.line)
    name = os.fsdecode(b"\xff.h5")
    process._emit_lines(process._lines, [json.dumps({"file": name}).encode(), b'{"file": '])
    assert answers == [{"file": name}]
    assert lines == ['{"file":']
