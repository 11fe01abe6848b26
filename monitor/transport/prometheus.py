"""Exporter for Prometheus: health and alarms as metrics, in base units, counters with `_total`."""

from __future__ import annotations

import errno
import ipaddress
import re
import time
from collections.abc import Callable, Iterator, Sequence
from importlib import metadata

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, InfoMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from monitor.messages.alarms import Alarm, AlarmReport, Severity
from monitor.messages.blocks import Event, ResultBlock, SignalBlock, TransferBlock
from monitor.messages.health import LATENCY_BOUNDS, BrokerStatus, Health, StreamCounts
from monitor.system.default_endpoints import PROMETHEUS
from monitor.transport.base import TransportError

STREAM_STATES = ("waiting", "receiving", "stale", "ended")

_VERSION = metadata.version("synchroscope")
_PREFIX = "synchroscope_"
_COUNTS = {
    "samples_received": ("received", "Samples accepted."),
    "samples_lost": ("lost", "Samples missing in the stream."),
    "samples_duplicated": ("duplicates", "Samples received twice and ignored."),
    "samples_reordered": ("reordered", "Samples received out of order and ignored."),
    "stream_gaps": ("gaps", "Gaps in the stream."),
    "stream_restarts": ("restarts", "Restarts of the publisher."),
    "stream_clock_jumps": ("clock_jumps", "Jumps of the publisher's clock."),
    "stream_reconnects": ("reconnects", "Reconnections to the publisher."),
    "messages_rejected": ("rejected", "Messages that could not be decoded."),
}


def metrics_of(health: Health | None, alarms: Sequence[Alarm], silence: float) -> Iterator[Metric]:
    """Yield the metrics of a service.

    Parameters
    ----------
    health : published last; None before the first.
    alarms : published last.
    silence : s since the last health.
    """
    yield InfoMetricFamily(_PREFIX + "build", "Version of the program.", {"version": _VERSION})
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


def _alarms(alarms: Sequence[Alarm]) -> Iterator[Metric]:
    active = _gauge(
        "alarms_standing", "Alarms that are neither normal, shelved nor out of service.", labels=("severity",)
    )
    for severity in Severity:
        active.add_metric([severity], float(sum(a.is_annunciated and a.severity is severity for a in alarms)))
    yield active
    waiting = sum(alarm.needs_acknowledgement for alarm in alarms)
    yield _gauge("alarms_unacknowledged", "Alarms that are not acknowledged.", waiting)
    active = _gauge("alarm_active", "1 while the alarm's condition holds.", labels=("name", "severity"))
    # the current state only: zeros for the seven others would make the page several times as long
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


_ADDRESS = re.compile(r"(?:http://)?(?P<host>\[[0-9A-Fa-f:.%]+\]|[^\s:/\[\]]+):(?P<port>\d{1,5})(?:/metrics)?/?")
_YIELD = 1e-4  # s between two metrics
_ALL_ADDRESSES = "0.0.0.0"  # noqa: S104  bound only if requested


class PrometheusSink:
    """Sink that serves the newest health and alarms over HTTP, in threads of its own.

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
        # both are immutable, so that the thread reads consistent values
        return metrics_of(self._health, self._report.alarms, max(0.0, self._clock() - self._last_health))

    def health(self, health: Health) -> None:
        """Store the health."""
        self._health, self._last_health = health, self._clock()

    def alarms(self, report: AlarmReport) -> None:
        """Store the alarms."""
        self._report = report

    def signals(self, block: SignalBlock) -> None:
        """Ignore."""

    def results(self, block: ResultBlock) -> None:
        """Ignore."""

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
