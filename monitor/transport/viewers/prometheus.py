"""A page for Prometheus: what is newest of the service's health and alarms, told to whoever asks."""

from __future__ import annotations

import ipaddress
import re
import time
from collections.abc import Callable, Iterator
from threading import Thread

from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from monitor.messages.alarms import AlarmReport
from monitor.messages.blocks import Event, ResultBlock, SignalBlock
from monitor.messages.health import Health
from monitor.messages.transfer import TransferBlock
from monitor.system.default_endpoints import PROMETHEUS
from monitor.transport.base import TransportError
from monitor.transport.viewers.metrics import metrics_of
from monitor.transport.viewers.metrics_server import PageServer

_ADDRESS = re.compile(r"(?:http://)?(?P<host>\[[0-9A-Fa-f:.%]+\]|[^\s:/\[\]]+):(?P<port>\d{1,5})(?:/metrics)?/?")
_BREATH = 1e-4  # s between two metrics


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
        address: str = PROMETHEUS,
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
        self._server: PageServer | None = PageServer(*_checked(address, insecure), registry)
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
        raise TransportError(f"{address!r} is not HOST:PORT, for example {PROMETHEUS}")
    host = match["host"].strip("[]")
    try:
        local = ipaddress.ip_address(host).is_loopback
    except ValueError:
        local = host == "localhost"
    if not local and not insecure:
        raise TransportError(f"{address} would be open to other machines: take 127.0.0.1 or say --insecure")
    return "" if host == "*" else host, int(match["port"])
