"""A page for Prometheus: what is newest of the service's health and alarms, told to whoever asks."""

from __future__ import annotations

import errno
import ipaddress
import math
import re
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from socketserver import TCPServer, ThreadingMixIn
from threading import BoundedSemaphore, Lock, Thread
from typing import Any

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from monitor.alarm_report import AlarmReport
from monitor.blocks import Event, ResultBlock, SignalBlock
from monitor.health import Health
from monitor.transfer import TransferBlock
from monitor.transport.endpoint import TransportError
from monitor.transport.metrics import metrics_of

DEFAULT_PROMETHEUS = "127.0.0.1:9464"

_ADDRESS = re.compile(r"(?:http://)?(?P<host>\[[0-9A-Fa-f:.%]+\]|[^\s:/\[\]]+):(?P<port>\d{1,5})(?:/metrics)?/?")
_MOST_READERS = 8
_BREATH = 1e-4  # s between two metrics
_PATIENCE = 5.0  # s for a reader to say what it wants and to take it


class PrometheusSink:
    """Keep the newest health and alarms; threads of its own tell them over HTTP, and the service waits for none.

    Parameters
    ----------
    address : HOST:PORT; port 0 finds a free one.
    insecure : may be read from other machines: there is no password and no encryption.
    clock : s, monotonic.

    Raises
    ------
    TransportError : the address is malformed, taken or not this machine's, or other machines could read it.
    """

    def __init__(
        self,
        address: str = DEFAULT_PROMETHEUS,
        *,
        insecure: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._health: Health | None = None
        self._report = AlarmReport()
        self._heard = clock()
        registry = CollectorRegistry()
        registry.register(_Newest(self._metrics))
        self._server: _Server | None = _Server(*_checked(address, insecure), registry)
        self.url = self._server.url
        self._thread = Thread(target=self._server.serve_forever, args=(0.1,), name="prometheus", daemon=True)
        self._thread.start()

    def _metrics(self) -> Iterator[Metric]:
        # values that never change: whatever is newest is whole
        return metrics_of(self._health, self._report.alarms, max(0.0, self._clock() - self._heard))

    def health(self, health: Health) -> None:
        """Keep the look at the service."""
        self._health, self._heard = health, self._clock()

    def alarms(self, report: AlarmReport) -> None:
        """Keep the alarms."""
        self._report = report

    def signals(self, block: SignalBlock) -> None:
        """Keep nothing."""

    def results(self, block: ResultBlock) -> None:
        """Keep nothing."""

    def transfer(self, block: TransferBlock) -> None:
        """Keep nothing."""

    def event(self, event: Event) -> None:
        """Keep nothing."""

    def close(self) -> None:
        """End every thread and connection; a second call does nothing."""
        if self._server is None:
            return
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        self._server = None


class _Newest(Collector):
    def __init__(self, metrics: Callable[[], Iterator[Metric]]) -> None:
        self._metrics = metrics

    def collect(self) -> Iterator[Metric]:
        for metric in self._metrics():
            yield metric
            # the interpreter's lock is given up, or the service would wait until it is taken away
            time.sleep(_BREATH)

    def describe(self) -> tuple[Metric, ...]:
        # or the registry would collect to see the names
        return ()


def _checked(address: str, insecure: bool) -> tuple[str, int]:
    """Return host and port; raises TransportError."""
    match = _ADDRESS.fullmatch(address)
    if match is None or int(match["port"]) > 65535:
        raise TransportError(f"{address!r} is not HOST:PORT, for example {DEFAULT_PROMETHEUS}")
    host = match["host"].strip("[]")
    try:
        local = ipaddress.ip_address(host).is_loopback
    except ValueError:
        local = host == "localhost"
    if not local and not insecure:
        raise TransportError(f"{address} would be open to other machines: take 127.0.0.1 or say --insecure")
    return "" if host == "*" else host, int(match["port"])


class _Server(ThreadingMixIn, TCPServer):
    """HTTP for a few readers at a time; one that is slow or says nothing is given up."""

    allow_reuse_address = True
    daemon_threads = False  # these are waited for at the end
    request_queue_size = 64

    def __init__(self, host: str, port: int, registry: CollectorRegistry) -> None:
        self.registry = registry
        self._room = BoundedSemaphore(_MOST_READERS)
        self._until: dict[socket.socket, float] = {}
        self._lock = Lock()
        shown = f"[{host}]" if ":" in host else host or "*"
        try:
            found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
            self.address_family, _, _, _, where = found[0]
            super().__init__((str(where[0]), port), _Reader)
        except OSError as problem:
            taken = problem.errno in (errno.EADDRINUSE, errno.EACCES)
            why = "is in use, or not for this user: choose another port" if taken else problem.strerror
            raise TransportError(f"{shown}:{port} {why}") from problem
        self.url = f"http://{shown}:{self.server_address[1]}/metrics"

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self._room.acquire(blocking=False):
            self.shutdown_request(request)
            return
        with self._lock:
            self._until[request] = time.monotonic() + _PATIENCE
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            with self._lock:
                del self._until[request]
            self._room.release()

    def service_actions(self) -> None:
        """Cut those off who have had their time; called again and again."""
        self._cut(time.monotonic())

    def server_close(self) -> None:
        """Leave no thread behind, however slow a reader is."""
        self._cut(math.inf)
        super().server_close()

    def _cut(self, now: float) -> None:
        with self._lock:
            for reader, until in self._until.items():
                if now >= until:
                    with suppress(OSError):
                        reader.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a reader that goes away or talks nonsense is its own affair."""


class _Reader(BaseHTTPRequestHandler):
    server: _Server
    server_version = "synchroscope"
    sys_version = ""

    def do_GET(self) -> None:
        """Answer."""
        if self.path.split("?")[0] != "/metrics":
            self.send_error(404, "the metrics are at /metrics")
            return
        try:
            encode, kind = choose_encoder(self.headers.get("Accept", ""))
        except (TypeError, ValueError):
            # a version that is none
            encode, kind = choose_encoder("")
        page = encode(self.server.registry)
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  as its base calls it
        """Say nothing."""
