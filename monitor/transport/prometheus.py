"""Exporter for Prometheus: the newest health, alarms and indicators, in base units, counters with `_total`."""

from __future__ import annotations

import errno
import ipaddress
import math
import re
import socket
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, InfoMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from monitor import __version__
from monitor.catalogue import CODE_UNIT
from monitor.messages import Sink
from monitor.messages.alarms import Alarm, AlarmReport, Severity, alarm_counts
from monitor.messages.blocks import ResultBlock, ResultStream, Samples
from monitor.messages.headline import first_indicator
from monitor.messages.health import LATENCY_BOUNDS, BrokerStatus, Health, StreamCounts
from monitor.system.default_endpoints import PROMETHEUS
from monitor.transport.base import TransportError

STREAM_STATES = ("waiting", "receiving", "stale", "ended")

_PREFIX = "synchroscope_"
_COUNTS = {
    "samples_received": ("received", "Samples accepted."),
    "samples_lost": ("lost", "Samples missing in the stream."),
    "samples_duplicated": ("duplicates", "Samples received twice and ignored."),
    "samples_reordered": ("reordered", "Samples received out of order and ignored."),
    "stream_gaps": ("gaps", "Gaps in the stream."),
    "stream_restarts": ("restarts", "Restarts of the publisher."),
    "stream_clock_jumps": ("clock_jumps", "Jumps of the publisher's clock."),
    "stream_contradictions": ("contradictions", "Contradictions in what the publisher sends."),
    "stream_reconnects": ("reconnects", "Reconnections to the publisher."),
    "messages_rejected": ("rejected", "Messages that could not be decoded."),
    "samples_rejected": ("rejected_samples", "Samples in rejected messages that no gap shows."),
}


def metrics_of(
    health: Health | None, alarms: Sequence[Alarm], silence: float, row: tuple[ResultStream, Samples] | None = None
) -> Iterator[Metric]:
    """Yield the metrics of a service.

    Parameters
    ----------
    health : published last; None before the first.
    alarms : published last.
    silence : s since the last health.
    row : newest row of results, (n_columns,), with its stream; None without one, or if it is old.
    """
    yield InfoMetricFamily(_PREFIX + "build", "Version of the program.", {"version": __version__})
    yield _gauge(
        "service_silence_seconds", "Since the last health message of the service, sent five times a second.", silence
    )
    if health is None:
        return
    yield InfoMetricFamily(_PREFIX + "stream", "Rig that is monitored.", {"rig": health.rig})
    yield from _stream(health, silence)
    yield from _counts(health.counts)
    yield from _latency(health)
    yield from _recording(health)
    yield _counter("requests_refused", "Requests that could not be read or carried out.", health.requests_refused)
    yield from _broker(health.broker)
    yield from _alarms(alarms)
    if row is not None:
        yield from indicator_metrics(*row, paused=health.paused)


def _stream(health: Health, silence: float) -> Iterator[Metric]:
    yield _gauge("stream_up", "1 while samples arrive.", health.state == "receiving")
    state = _gauge("stream_state", "1 for the current state of the stream.", labels=("state",))
    for name in STREAM_STATES:
        state.add_metric([name], float(health.state == name))
    yield state
    if health.state != "waiting":
        yield _gauge("stream_age_seconds", "Since the newest block arrived.", health.age + silence)
    yield _gauge("sample_rate_hertz", "Nominal rate of the publisher.", health.sample_rate)
    yield _gauge("measured_sample_rate_hertz", "Actual rate of the samples.", health.measured_rate)
    yield _gauge("window_seconds", "Length of the indicators' windows.", health.window)


def _counts(counts: StreamCounts) -> Iterator[Metric]:
    for name, (field, text) in _COUNTS.items():
        yield _counter(name, text, getattr(counts, field))


def _latency(health: Health) -> Iterator[Metric]:
    bounds = [*(f"{bound:g}" for bound in LATENCY_BOUNDS), "+Inf"]
    counts = health.latency_counts or (0,) * len(bounds)
    buckets, total = [], 0
    for bound, count in zip(bounds, counts, strict=True):
        total += count
        buckets.append((bound, float(total)))
    yield HistogramMetricFamily(
        _PREFIX + "latency_seconds",
        "From the arrival of a block's newest sample until its results were published.",
        buckets=buckets,
        sum_value=health.latency_sum,
    )
    yield _counter("messages_unpublished", "Messages dropped before any subscriber got them.", health.unpublished)
    yield _gauge("latency_longest_seconds", "Longest latency since the last health message.", health.latency)
    yield _gauge("lag_seconds", "Age of the newest results when they were published.", health.lag)
    yield _gauge("load_ratio", "Share of the time in which the service was not waiting.", health.load)
    yield _gauge("shed", "Number of load-shedding steps in force.", len(health.shed))
    yield _gauge("memory_used_ratio", "Share of the memory for samples that wait.", health.memory_used)
    yield _gauge("memory_seconds", "Samples that this memory holds at the present rate.", health.memory_seconds)


def _recording(health: Health) -> Iterator[Metric]:
    yield _gauge("recording", "1 while a run file is written.", bool(health.recording))
    yield _counter("samples_recorded", "Samples written to the run file.", health.recorded)
    yield _counter("samples_unrecorded", "Samples that could not be recorded.", health.unrecorded)
    yield _counter("recording_breaks", "Times that the recording continued in a new file.", health.recording_breaks)
    yield _gauge(
        "samples_unaccounted",
        "Samples in none of the counts, or in two: a defect of the service.",
        health.unaccounted,
    )
    if health.recording:
        yield _gauge(
            "unwritten_age_seconds", "Age of the oldest sample that waits for the disk.", health.unwritten_age
        )
    if health.recording and health.disk_free >= 0:
        yield _gauge("disk_free_bytes", "Free space on the disk of the run file.", health.disk_free)


def _broker(broker: BrokerStatus) -> Iterator[Metric]:
    if not broker.state:
        return
    yield _gauge("broker_up", "1 while the MQTT broker is connected.", broker.state == "connected")
    yield _gauge("broker_waiting_messages", "Messages that wait for the broker.", broker.waiting)
    yield _counter("broker_messages_dropped", "Messages to the broker that were dropped.", broker.dropped)
    yield _gauge("broker_denied_messages", "Messages that the broker does not let us publish.", broker.denied)


def _alarms(alarms: Sequence[Alarm]) -> Iterator[Metric]:
    active = _gauge(
        "alarms_standing",
        "Alarms that are neither normal, not judged, shelved nor out of service.",
        labels=("severity",),
    )
    for severity in Severity:
        active.add_metric([severity], float(sum(a.is_annunciated and a.severity is severity for a in alarms)))
    yield active
    counts = alarm_counts(alarms)
    yield _gauge("alarms_unacknowledged", "Alarms that are not acknowledged.", counts["unacknowledged"])
    text = "Alarms without a recent value: nobody knows whether they hold."
    yield _gauge("alarms_not_judged", text, counts["not_judged"])
    active = _gauge("alarm_active", "1 while the alarm's condition holds.", labels=("name", "severity"))
    # the current state only: zeros for the eight others would make the page several times as long
    state = _gauge("alarm_state", "1 for the current state of the alarm.", labels=("name", "severity", "state"))
    for alarm in alarms:
        active.add_metric([alarm.name, alarm.severity], float(alarm.active))
        state.add_metric([alarm.name, alarm.severity, alarm.state], 1.0)
    yield active
    yield state


def _gauge(name: str, text: str, value: float | None = None, labels: Sequence[str] = ()) -> GaugeMetricFamily:
    if labels:
        return GaugeMetricFamily(_PREFIX + name, text, labels=labels)
    return GaugeMetricFamily(_PREFIX + name, text, value)


def _counter(name: str, text: str, value: int) -> CounterMetricFamily:
    return CounterMetricFamily(_PREFIX + name, text, float(value))


_BASE_UNITS = {
    "": ("", 1.0),
    "1": ("", 1.0),
    CODE_UNIT: ("", 1.0),
    "%": ("", 1e-2),
    "s": ("seconds", 1.0),
    "ms": ("seconds", 1e-3),
    "Hz": ("hertz", 1.0),
    "rad": ("radians", 1.0),
    "deg": ("radians", math.pi / 180.0),
    "°": ("radians", math.pi / 180.0),
    "m": ("meters", 1.0),
    "cm": ("meters", 1e-2),
    "mm": ("meters", 1e-3),
    "N": ("newtons", 1.0),
    "kN": ("newtons", 1e3),
    "MN": ("newtons", 1e6),
    "J": ("joules", 1.0),
    "kJ": ("joules", 1e3),
    "V": ("volts", 1.0),
}
"""Suffix of the name and factor of each unit; values in any other unit have it as a label."""
_UNFIT = re.compile("[^a-zA-Z0-9_]")
_HEADLINES = {
    "delay": "Delay of the actuator, of its first indicator; > 0 where it lags.",
    "ratio": "Amplitude ratio of the actuator, command over measured, of its first indicator.",
    "delay_sd": "Standard deviation of the delay.",
    "ratio_sd": "Standard deviation of the ratio.",
}


def indicator_metrics(stream: ResultStream, values: Samples, paused: Collection[str] = ()) -> Iterator[Metric]:
    """Yield delay and ratio of each actuator, then each column of a row, (n_columns,); without values not valid.

    Parameters
    ----------
    paused : what the service has shed: where that is the headline, another indicator speaks for it.
    """
    first = {actuator: first_indicator(own.__contains__, paused) for actuator, own in stream.places.items()}
    headlines: dict[str, GaugeMetricFamily] = {}
    others: dict[str, GaugeMetricFamily] = {}
    for column, value in zip(stream.columns, values.tolist(), strict=True):
        suffix, factor = _BASE_UNITS.get(column.unit, (None, 1.0))
        unit = "" if suffix is None else suffix
        is_site = column.name.startswith(("reliability_", "model_"))
        labels = {"site" if is_site else "actuator": column.actuator}
        if suffix is None:
            labels["unit"] = column.unit
        quantity = column.name.removeprefix(f"{first[column.actuator]}_")
        if quantity != column.name and quantity in _HEADLINES:
            _add(headlines, quantity, unit, _HEADLINES[quantity], labels, value * factor)
        text = "Reliability of a model." if is_site else "Value of an indicator."
        _add(others, column.name, unit, text, labels, value * factor)
    yield from headlines.values()
    yield from (family for name, family in others.items() if name not in headlines)


def _add(
    families: dict[str, GaugeMetricFamily], name: str, unit: str, text: str, labels: dict[str, str], value: float
) -> None:
    full = "_".join(filter(None, (_UNFIT.sub("_", name), unit)))
    family = families.setdefault(full, GaugeMetricFamily(_PREFIX + full, text))
    if math.isfinite(value):
        family.add_sample(family.name, labels, value)


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
