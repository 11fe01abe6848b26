"""Ports of this machine that are free."""

from __future__ import annotations

import socket

from monitor.system.default_endpoints import RESULTS

ANY = "tcp://127.0.0.1:*"
"""What a service binds to take a free port."""


def free_endpoint() -> str:
    """Return an endpoint that is free at this moment, for two processes that must know it beforehand."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"tcp://127.0.0.1:{server.getsockname()[1]}"


def usual_or_any() -> str:
    """Return the usual endpoint of results where it is free, else one that takes any port."""
    port = int(RESULTS.rpartition(":")[2])
    try:
        with socket.create_server(("127.0.0.1", port)):
            return RESULTS
    except OSError:
        return ANY
