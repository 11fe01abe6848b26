"""What the command line says to mistakes and signals: one line, an exit code, and never a traceback."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from time import sleep

import pytest

from monitor.__main__ import main
from monitor.recording import RunReader
from tests.e2e.running import wait_for_library

ROOT = Path(__file__).parents[2]
ANY_PORT = "tcp://127.0.0.1:*"


def said_by(capsys, *words: object) -> str:
    """Run a command that must fail, and return the last line of what it says."""
    try:
        code = main([str(word) for word in words])
    except SystemExit as end:
        code = end.code
    told = capsys.readouterr()
    assert code == 2, told.err
    assert told.out == ""
    assert "Traceback" not in told.err
    starts = (f"synchroscope {words[0]}: ", "synchroscope: ")
    lines = [line for line in told.err.splitlines() if line.startswith(starts)]
    assert len(lines) == 1
    assert told.err.endswith(f"{lines[0]}\n")
    return lines[0]


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["assess", "nowhere.csv"], ["nowhere.csv", "no such file"]),
        (["replay", "nowhere"], ["nowhere", "no such file or simulation", "hybrid"]),
        (["replay", "RECORD", "--speed", "0"], ["--speed", "positive number or max"]),
        (["replay", "RECORD", "--speed", "fast"], ["--speed", "positive number or max"]),
        (["replay", "RECORD", "--faults", "nonsense"], ["nonsense", "drop=P"]),
        (["replay", "RECORD", "--start", "99", "--bind", ANY_PORT], ["99", "ends before"]),
        (["replay", "RECORD", "--block", "0", "--bind", ANY_PORT], ["block length 0"]),
        (["replay", "RECORD", "--bind", "localhost"], ["'localhost'", "tcp://HOST:PORT"]),
        (["replay", "RECORD", "--bind", ANY_PORT, "--connect", "tcp://127.0.0.1:9"], ["--bind", "--connect"]),
        (["replay", "RECORD", "--bind", "tcp://0.0.0.0:0"], ["--insecure"]),
        (["replay", "RECORD", "--command", "nothing", "--measured", "x_m"], ["'nothing'", "x_c"]),
        (["monitor", "nowhere.toml"], ["nowhere.toml", "cannot be read"]),
        (["monitor", "--connect", "tcp://nowhere"], ["tcp://nowhere"]),
        (["monitor", "--duration", "nan"], ["--duration", "nan", "give seconds"]),
        (["monitor", "--window", "-1", "--every", "0"], ["indicators.window", "indicators.every"]),
        (["assess", "JUNK"], ["junk.csv", "not a recording"]),
        (["assess", "RECORD", "--series", "nowhere/series.csv"], ["nowhere/series.csv", "cannot be written"]),
        (["assess", "RECORD", "RECORD", "--series", "series.csv"], ["--series takes one file"]),
        (["assess", "RECORD", "--window", "0.001"], ["window", "32 samples"]),
        (["assess", "RECORD", "--frequency", "3"], ["--frequency"]),
        (["assess"], ["FILE"]),
        (["demo", "--duration", "3"], ["--duration 3: give 9 s or more"]),
        (["demo", "--record", "."], ["--record .: already exists"]),
        (["demo", "--speed", "100"], ["--speed 100: give a positive number, at most 20"]),
        (["monitor", "--measures", "fdb", "paei", "lab.toml"], ["synchroscope monitor: ", "lab.toml"]),
    ],
    ids=lambda value: " ".join(value)[:60],
)
def test_a_mistake_is_one_line(capsys, tmp_path, words, parts) -> None:
    record, junk = tmp_path / "record.csv", tmp_path / "junk.csv"
    record.write_text("t,x_c,x_m\n" + "".join(f"{i / 100},{i % 7},{i % 5}\n" for i in range(500)))
    junk.write_bytes(bytes(range(256)) * 40)
    places = {"RECORD": record, "JUNK": junk}
    line = said_by(capsys, *(places.get(word, word) for word in words))
    assert all(part in line for part in parts), line


def test_a_settings_file_with_many_mistakes_has_all_of_them_named(capsys, tmp_path) -> None:
    config = tmp_path / "settings.toml"
    config.write_text('[indicators]\nwindow = -1\nwindo = 2\n[stream]\nstale_after = "soon"\n[recrod]\npath = "x"\n')
    line = said_by(capsys, "monitor", config)
    parts = config.name, "indicators.window:", "indicators.windo: there is no", "stream.stale_after:", "recrod:"
    assert all(part in line for part in parts), line


def test_a_port_in_use_is_named(start, free_url) -> None:
    with socket.create_server(("127.0.0.1", int(free_url.rsplit(":", 1)[1]))):
        for words in (("--bind", free_url, "--publish", ANY_PORT), ("--publish", free_url)):
            said = start("monitor", *words).wait(2).err
            assert said.startswith(f"synchroscope monitor: {free_url} is in use")
            assert said.count("\n") == 1


def test_a_window_too_short_for_the_stream_is_told_and_the_samples_are_recorded(start, record, tmp_path) -> None:
    kept = tmp_path / "run.h5"
    rig = start("replay", record(3000), "--speed", "max", "--block", 50, "--bind", ANY_PORT)
    words = ("--connect", rig.publishing, "--publish", ANY_PORT, "--record", kept, "--once", "--window", 0.005)
    service = start("monitor", *words).wait()
    rig.wait()
    assert "no indicators: window = 0.005 s: must hold at least" in service.err
    assert "0 messages rejected" in service.err
    with RunReader(kept) as reader:
        assert (reader.n_samples, reader.outcome) == (3000, "clean")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_recording_monitor_that_is_told_to_stop_closes_its_file(start, record, tmp_path, number) -> None:
    kept = tmp_path / "run.h5"
    rig = start("replay", record(), "--bind", ANY_PORT)
    service = start("monitor", "--connect", rig.publishing, "--publish", ANY_PORT, "--record", kept, "--window", 0.5)
    service.until("the stream starts")
    sleep(0.3)
    service.stop(number)
    rig.stop(number, 130 if number == signal.SIGINT else -number)
    with RunReader(kept) as reader:
        assert reader.outcome == "clean"
        assert reader.n_samples > 100


@pytest.mark.parametrize("command", ["monitor", "replay"])
def test_ctrl_c_at_any_time_of_the_start(start, record, command) -> None:
    words = ("replay", record(), "--bind", ANY_PORT) if command == "replay" else ("monitor", "--publish", ANY_PORT)
    for wait in (0.0, 0.2, 0.5, 0.8):
        running = start(*words)
        # before that it is Python's start, and not our program yet
        wait_for_library(running.process, "numpy")
        sleep(wait)
        running.stop(signal.SIGINT, None)
        assert running.process.returncode in (0, 130, -signal.SIGINT)


def test_a_pipe_that_lacks_a_character_gets_another(record) -> None:
    words = [sys.executable, "-m", "monitor", "assess", str(record(2000))]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, check=True)
    assert b"? <0.001" in done.stdout and max(done.stdout) < 128


def test_a_reader_that_goes_away_is_no_error(record) -> None:
    words = [sys.executable, "-m", "monitor", "assess", str(record(2000)), "--json"]
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 1
