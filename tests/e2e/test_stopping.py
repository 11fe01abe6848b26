"""The service is told to stop while it reads its ensemble."""

from __future__ import annotations

import signal

import numpy as np
import pytest


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
