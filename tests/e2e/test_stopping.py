"""The service is told to stop while it reads its ensemble."""

from __future__ import annotations

import os
import signal

import pytest


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs a pipe with a name")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_stops_at_once_and_has_said_what_it_does(start, tmp_path, number):
    # a file that nobody writes takes for ever to read
    path = tmp_path / "endless.npz"
    os.mkfifo(path)
    running = start("monitor", "--ensemble", path, "--response", "deflection", "--publish", "tcp://127.0.0.1:*")
    assert str(path) in running.until(r"reading the ensemble .*")
    running.stop(number)
    assert "listening" not in running.err
