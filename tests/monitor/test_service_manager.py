"""What systemd hears: read from a socket like its own."""

from __future__ import annotations

import socket
import uuid

import pytest

from monitor.commands.sinks import open_systemd
from monitor.messages.health import Health, StreamCounts

pytestmark = pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="systemd is on Linux only")


@pytest.fixture(params=["a path", "an abstract name"])
def manager(request, tmp_path):
    """A socket as systemd binds it, and the address that it would tell."""
    name = str(tmp_path / "notify") if request.param == "a path" else f"@synchroscope-{uuid.uuid4().hex}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as bound:
        bound.bind(name.replace("@", "\0", 1) if name.startswith("@") else name)
        bound.settimeout(5.0)
        yield bound, name


def test_it_hears_when_the_service_is_ready_alive_and_stopping(manager):
    bound, name = manager
    told = open_systemd({"NOTIFY_SOCKET": name})
    assert told is not None
    told.ready("listening on tcp://127.0.0.1:5555")
    assert bound.recv(1000) == b"READY=1\nSTATUS=listening on tcp://127.0.0.1:5555"
    told.health(Health())
    told.health(Health(rig="north", state="receiving", counts=StreamCounts(received=2000, lost=3)))
    told.close()
    told.close()
    assert [bound.recv(1000) for _ in range(3)] == [
        b"WATCHDOG=1\nSTATUS=waiting: 0 samples received, 0 lost",
        b"WATCHDOG=1\nSTATUS=north, receiving: 2000 samples received, 3 lost",
        b"STOPPING=1",
    ]


@pytest.mark.parametrize("environment", [{}, {"NOTIFY_SOCKET": ""}, {"NOTIFY_SOCKET": "vsock:2:1"}])
def test_without_a_manager_nobody_is_told(environment):
    assert open_systemd(environment) is None


def test_a_manager_that_is_gone_or_does_not_listen_stops_nobody(tmp_path):
    told = open_systemd({"NOTIFY_SOCKET": str(tmp_path / "gone")})
    assert told is not None
    told.ready("listening")
    told.health(Health())
    told.close()


def test_a_manager_that_does_not_read_holds_nobody_up(manager):
    _, name = manager
    told = open_systemd({"NOTIFY_SOCKET": name})
    for _ in range(10_000):
        told.health(Health())
    told.close()
