"""Exporter for Prometheus: serves the newest health, alarms and indicators."""

from __future__ import annotations

import errno
import ipaddress
import re
import time
from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from monitor.messages.alarms import AlarmReport
from monitor.messages.blocks import Event, ResultBlock, ResultStream, Samples, SignalBlock
from monitor.messages.health import Health
from monitor.messages.transfer import TransferBlock
from monitor.system.default_endpoints import PROMETHEUS
from monitor.transport.base import TransportError
from monitor.transport.prometheus_metrics import metrics_of

_ADDRESS = re.compile(r"(?:http://)?(?P<host>\[[0-9A-Fa-f:.%]+\]|[^\s:/\[\]]+):(?P<port>\d{1,5})(?:/metrics)?/?")
_OLD = 5.0  # s after which a row is no longer shown: the stream, or the publication to viewers, is suspended
_YIELD = 1e-4  # s between two metrics
_ALL_ADDRESSES = "0.0.0.0"  # noqa: S104  bound only if requested


class PrometheusSink:
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
            self._server, self._thread = start_http_server(port, host, registry)
        except OSError as problem:
            taken = problem.errno in (errno.EADDRINUSE, errno.EACCES)
            why = "is in use, or not permitted for this user: choose another port" if taken else problem.strerror
            raise TransportError(f"{address} {why}") from problem
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

    def signals(self, block: SignalBlock) -> None:
        """Ignore."""

    def results(self, block: ResultBlock) -> None:
        """Store the newest row."""
        if len(block):
            self._row = self._clock(), block.stream, block.values[-1]

    def transfer(self, block: TransferBlock) -> None:
        """Ignore."""

    def event(self, event: Event) -> None:
        """Ignore."""

    def close(self) -> None:
        """Stop serving; a second call does nothing."""
        if not self._closed:
            self._closed = True
            self._server.shutdown()
            self._thread.join()
            self._server.server_close()


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
