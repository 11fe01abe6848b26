"""The service is told to stop while it reads its ensemble."""

from __future__ import annotations

import signal
import time

import numpy as np
import pytest

from tests.e2e.running import wait_for_library


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_stops_at_once_and_has_said_what_it_does(start, tmp_path, number):
    # takes seconds to sort
    path = tmp_path / "large.npz"
    response = np.random.default_rng(1).random((1 << 12, 1 << 12))
    np.savez(path, time=np.arange(len(response)) / 100.0, response=response)
    running = start("monitor", "--ensemble", path, "--response", "deflection", "--publish", "tcp://127.0.0.1:*")
    assert str(path) in running.until(r"reading the ensemble .*")
    running.stop(number)
    assert "loading kernels" not in running.err
    path.unlink()


@pytest.mark.parametrize("seconds", [0.5, 2.0, 3.5])
@pytest.mark.parametrize("command", ["monitor", "assess"])
def test_ctrl_c_while_kernels_are_compiled(start, record, tmp_path, command, seconds):
    words = ("assess", record()) if command == "assess" else ("monitor", "--publish", "tcp://127.0.0.1:*")
    running = start(*words, NUMBA_CACHE_DIR=str(tmp_path / "empty"))
    if command == "monitor":
        running.until("loading kernels")
    wait_for_library(running.process, "llvmlite")
    time.sleep(seconds)
    pressed = time.monotonic()
    running.stop(signal.SIGINT, 0 if command == "monitor" else 130)
    # all kernels together take a minute, one may take ten seconds
    assert time.monotonic() - pressed < (5.0 if command == "monitor" else 10.0)
    assert running.out == "" and "Traceback" not in running.err
