"""`synchroscope monitor` under systemd, whose socket the test holds."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="systemd is on Linux only")
def test_systemd_hears_when_it_listens_that_it_goes_on_and_that_it_stops(start, tmp_path: Path) -> None:
    address = tmp_path / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(address))
        manager.settimeout(90.0)
        words = ("--connect", "tcp://127.0.0.1:9", "--publish", "tcp://127.0.0.1:*", "--measures", "nrmse")
        service = start("monitor", *words, NOTIFY_SOCKET=str(address))
        ready = manager.recv(1000).decode()
        assert ready.startswith("READY=1\nSTATUS=listening on tcp://127.0.0.1:9; results on tcp://127.0.0.1:")
        alive = b"WATCHDOG=1\nSTATUS=waiting: 0 samples received, 0 lost"
        assert manager.recv(1000) == manager.recv(1000) == alive
        service.stop()
        said = b""
        while said != b"STOPPING=1":
            said = manager.recv(1000)
