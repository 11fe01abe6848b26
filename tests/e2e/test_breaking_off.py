"""A service that breaks off in mid-test ends so that systemd starts it again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from monitor.recording import RunReader
from tests.e2e.hanging_disk import hanging_disk

_BREAKS = """
import sys
from monitor.__main__ import main
from monitor.service.service import Service
def run(*_, **__):
    raise ValueError("a block that nobody thought of")
Service.run = run
sys.exit(main(["monitor", "--bind", "tcp://127.0.0.1:*", "--publish", "tcp://127.0.0.1:*", "--quiet"]))
"""
_BREAKS_WHILE_IT_RECORDS = """
import os, shutil, sys
import numpy as np
from monitor import engine
from monitor.__main__ import main
from monitor.messages.blocks import Channel, Role, SignalBlock, Stream
from monitor.recording import RecorderProcess, RunWriter
from monitor.service.service import Service
folder, what = sys.argv[1:]
def run(service, *_, **__):
    (writer,) = (sink for sink in service._sinks.all if isinstance(sink, RunWriter | RecorderProcess))
    writer.signals(SignalBlock(Stream("rig", 1, 100.0, (Channel("a", Role.AUXILIARY),)), 0, 0.0, np.ones((50, 1))))
    if what == "removed":
        shutil.rmtree(folder)
        assert service._recording().path == f"{folder}/run.h5", service._recording()
    raise KeyError("a block that nobody thought of")
Service.run = run
engine.warm_up = lambda *_, **__: None
os.chdir(folder)
words = ["--bind", "tcp://127.0.0.1:*", "--publish", "tcp://127.0.0.1:*", "--record", "run.h5", "--quiet"]
sys.exit(main(["monitor", *words]))
"""


def _broken_off(folder: Path, what: str) -> None:
    folder.mkdir()
    words = [sys.executable, "-c", _BREAKS_WHILE_IT_RECORDS, str(folder), what]
    environment = {**os.environ, **(hanging_disk(folder.with_name("hanging")) if what == "hangs" else {})}
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False, env=environment)
    assert done.returncode == 1, done.stderr
    assert "KeyError: 'a block that nobody thought of'" in done.stderr


def test_what_was_recorded_until_then_is_closed_and_does_not_say_that_it_is_all(tmp_path):
    _broken_off(tmp_path / "runs", "")
    with RunReader(tmp_path / "runs" / "run.h5") as run:
        assert (run.n_samples, run.outcome) == (50, "truncated")


def test_it_ends_though_the_disk_hangs(tmp_path):
    _broken_off(tmp_path / "runs", "hangs")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there, the current folder cannot be removed")
def test_the_folder_that_it_was_started_in_may_be_removed(tmp_path):
    _broken_off(tmp_path / "runs", "removed")


def test_a_failure_once_it_listens_is_exit_code_1_with_a_traceback():
    done = subprocess.run([sys.executable, "-c", _BREAKS], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1, done.stderr
    assert "Traceback" in done.stderr
    assert "the service failed: a block that nobody thought of" in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such limit")
def test_too_little_memory_is_said_before_anything_is_loaded():
    limited = f"ulimit -v 400000; exec '{sys.executable}' -m monitor monitor --bind tcp://127.0.0.1:*"
    done = subprocess.run(["/bin/sh", "-c", limited], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("synchroscope monitor: the address space is limited to 390 MB")
    assert len(done.stderr.splitlines()) == 1


_RUNS_OUT = """
import sys
from monitor.__main__ import main
from monitor.service.service import Service
def run(*_, **__):
    bytearray(1 << 60)
Service.run = run
sys.exit(main(["monitor", "--bind", "tcp://127.0.0.1:*", "--publish", "tcp://127.0.0.1:*", "--quiet"]))
"""


@pytest.mark.usefixtures("warm_kernels")
def test_memory_that_runs_out_is_one_line():
    words = [sys.executable, "-c", _RUNS_OUT]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert done.stderr.startswith("synchroscope monitor: out of memory:")
