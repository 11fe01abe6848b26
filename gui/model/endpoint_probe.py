"""Probes of an endpoint where no service answers, or no rig sends: why, and what to do."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from threading import Thread

PROBE_TIME, PROBE_INTERVAL = 2.5, 5.0  # s before an endpoint is probed, and probed again
PROBE_TIMEOUT = 1.0  # s for an answer


def probe_endpoint(url: str) -> str:
    """Return why no service answers at an endpoint, and what to do, in one line."""
    from monitor.transport.zeromq.endpoint import host_and_port, server_mechanism

    if host_and_port(url) is None:
        return f"{url}: no service answers: start it, or correct the endpoint; still trying"
    if problem := _unreachable(url, "service"):
        return problem
    mechanism = server_mechanism(url, PROBE_TIMEOUT)
    if not mechanism:
        return f"{url}: the program that listens there is not a service: correct the endpoint"
    if mechanism == "CURVE":
        return f"{url}: the service does not accept this connection: it requires keys, give their folder"
    return f"{url}: what listens there sends no results, like a rig: connect to the endpoint of a service's results"


def probe_rig(url: str) -> str:
    """Return why a service cannot receive from the rig at an endpoint, and what to do; empty where a rig can be."""
    from monitor.transport.zeromq.endpoint import host_and_port, server_mechanism

    if host_and_port(url) is None:
        return ""
    if problem := _unreachable(url, "rig"):
        return problem
    if not server_mechanism(url, PROBE_TIMEOUT):
        return f"{url}: the program that listens there is not a rig: correct the endpoint"
    return ""


def _unreachable(url: str, sender: str) -> str:
    """Return why nothing can be reached at a TCP endpoint; empty where it can."""
    from monitor.transport.zeromq.endpoint import host_and_port

    address = host_and_port(url)
    assert address is not None
    try:
        socket.create_connection(address, timeout=PROBE_TIMEOUT).close()
    except (socket.gaierror, UnicodeError):
        return f"{url}: there is no computer of this name: correct the endpoint"
    except ConnectionRefusedError:
        return f"{url}: nothing listens there: start the {sender}, or correct the endpoint; still trying"
    except OSError:
        return (
            f"{url}: this computer does not answer: correct the endpoint, or allow it in the firewall; still trying"
        )
    return ""


class RigProbe:
    """Probes the endpoint of a rig until its service receives from it; in a thread, as name servers may be slow.

    Parameters
    ----------
    url : to which the service connects.
    clock : s, monotonic.

    Attributes
    ----------
    problem : why nothing is received, in one line; empty: something is, or it is not known yet.
    """

    def __init__(self, url: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._url, self._clock = url, clock
        self._probe_time = clock() + PROBE_TIME
        self._thread: Thread | None = None
        self._received = False
        self.problem = ""

    def update(self, *, received: bool) -> None:
        """Probe when it is due; `received`: the service has received from the rig, which then is not probed again."""
        self._received |= received
        if self._received:
            self.problem = ""
        elif self._clock() >= self._probe_time and (self._thread is None or not self._thread.is_alive()):
            self._probe_time = self._clock() + PROBE_INTERVAL
            self._thread = Thread(target=self._probe, name="endpoint-probe", daemon=True)
            self._thread.start()

    def _probe(self) -> None:
        problem = probe_rig(self._url)
        if not self._received:
            self.problem = problem
