"""Exporter for Prometheus: serves the newest health, alarms and indicators."""

from __future__ import annotations

import errno
import ipaddress
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from monitor.messages import Sink
from monitor.messages.alarms import AlarmReport
from monitor.messages.blocks import ResultBlock, ResultStream, Samples
from monitor.messages.health import Health
from monitor.system.default_endpoints import PROMETHEUS
from monitor.transport.base import TransportError
from monitor.transport.prometheus_metrics import metrics_of

_ADDRESS = re.compile(r"(?:http://)?(?P<host>\[[0-9A-Fa-f:.%]+\]|[^\s:/\[\]]+):(?P<port>\d{1,5})(?:/metrics)?/?")
_OLD = 5.0  # s after which a row is no longer shown: the stream, or the publication to viewers, is suspended
_YIELD = 1e-4  # s between two metrics
_MAX_READERS, _LONGEST_READ = 16, 10.0  # connections at once, and s for each: a page takes some 10 ms
_ALL_ADDRESSES = "0.0.0.0"  # noqa: S104  bound only if requested


class PrometheusSink(Sink):
    """Sink that serves the newest health, alarms and indicators over HTTP, in threads of its own.

    Parameters
    ----------
    address : HOST:PORT; port 0 finds a free one.
    insecure : may bind where other machines can read it, without password and encryption.
    clock : s, monotonic.

    Raises
    ------
    TransportError : the address is malformed, in use or not of this machine, or open to other machines.
    """

    def __init__(
        self,
        address: str = PROMETHEUS,
        *,
        insecure: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._health: Health | None = None
        self._report = AlarmReport()
        self._last_health = clock()
        self._row: tuple[float, ResultStream, Samples] | None = None
        registry = CollectorRegistry()
        registry.register(_NewestCollector(self._metrics))
        host, port = _checked(address, insecure)
        try:
            family = _Server6 if ":" in host else _Server
            self._server = make_server(host, port, make_wsgi_app(registry), family, _SilentHandler)
        except OSError as problem:
            taken = problem.errno in (errno.EADDRINUSE, errno.EACCES)
            why = "is in use, or not permitted for this user: choose another port" if taken else problem.strerror
            raise TransportError(f"{address} {why}") from problem
        self._thread = threading.Thread(target=self._server.serve_forever, name="prometheus", daemon=True)
        self._thread.start()
        self._closed = False
        shown = "*" if host == _ALL_ADDRESSES else f"[{host}]" if ":" in host else host
        self.url = f"http://{shown}:{self._server.server_port}/metrics"

    def _metrics(self) -> Iterator[Metric]:
        # all are immutable, so that the thread reads consistent values
        now, newest = self._clock(), self._row
        row = newest[1:] if newest is not None and now - newest[0] < _OLD else None
        return metrics_of(self._health, self._report.alarms, max(0.0, now - self._last_health), row)

    def health(self, health: Health) -> None:
        """Store the health."""
        self._health, self._last_health = health, self._clock()

    def alarms(self, report: AlarmReport) -> None:
        """Store the alarms."""
        self._report = report

    def results(self, block: ResultBlock) -> None:
        """Store the newest row."""
        if len(block):
            self._row = self._clock(), block.stream, block.values[-1]

    def close(self) -> None:
        """Stop serving; a second call does nothing."""
        if not self._closed:
            self._closed = True
            self._server.shutdown()
            self._thread.join()
            self._server.server_close()


class _Server(ThreadingMixIn, WSGIServer):
    """One thread for each reader, and few readers: the oldest makes room for the next, and none may take long."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, *arguments: Any) -> None:
        self._readers: dict[Any, float] = {}  # sockets, and when each was accepted, s
        super().__init__(*arguments)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a reader in a thread."""
        if len(self._readers) >= _MAX_READERS:
            self._disconnect(next(iter(tuple(self._readers)), None))
        self._readers[request] = time.monotonic()
        super().process_request(request, client_address)

    def service_actions(self) -> None:
        """Disconnect readers that take too long; called twice a second."""
        oldest = time.monotonic() - _LONGEST_READ
        for reader, since in tuple(self._readers.items()):
            if since < oldest:
                self._disconnect(reader)

    def _disconnect(self, reader: Any) -> None:
        # its thread reads the end, and closes it
        if self._readers.pop(reader, None) is not None:
            with suppress(OSError):
                reader.shutdown(socket.SHUT_RDWR)

    def shutdown_request(self, request: Any) -> None:
        """Close a connection."""
        self._readers.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a reader that breaks off."""


class _Server6(_Server):
    address_family = socket.AF_INET6


class _SilentHandler(WSGIRequestHandler):
    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
        """Ignore."""


class _NewestCollector(Collector):
    def __init__(self, metrics: Callable[[], Iterator[Metric]]) -> None:
        self._metrics = metrics

    def collect(self) -> Iterator[Metric]:
        for metric in self._metrics():
            yield metric
            # release the GIL, or the service would wait a whole switch interval
            time.sleep(_YIELD)

    def describe(self) -> tuple[Metric, ...]:
        # without this the registry would call `collect` when it registers
        return ()


def _checked(address: str, insecure: bool) -> tuple[str, int]:
    """Return host and port; raises TransportError."""
    match = _ADDRESS.fullmatch(address)
    if match is None or int(match["port"]) > 65535:
        raise TransportError(f"{address!r} is not HOST:PORT, for example {PROMETHEUS}")
    host = match["host"].strip("[]")
    try:
        local = ipaddress.ip_address(host).is_loopback
    except ValueError:
        local = host == "localhost"
    if not local and not insecure:
        raise TransportError(f"{address} would be open to other machines: use 127.0.0.1 or add --insecure")
    return _ALL_ADDRESSES if host == "*" else host, int(match["port"])
