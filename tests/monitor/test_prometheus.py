"""The page for Prometheus, read by Prometheus' own parser."""

from __future__ import annotations

import json
import socket
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import fields, replace
from itertools import pairwise
from pathlib import Path
from time import monotonic
from urllib.request import Request, urlopen

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from prometheus_client.metrics_core import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_open
from prometheus_client.parser import text_string_to_metric_families as parse

from monitor.messages.alarms import MAX_ALARMS, Alarm, AlarmReport, AlarmState, Severity
from monitor.messages.blocks import Column, ResultBlock, ResultStream
from monitor.messages.health import LATENCY_BOUNDS, BrokerStatus, Health, StreamCounts
from monitor.transport import prometheus
from monitor.transport.base import TransportError
from monitor.transport.prometheus import PrometheusSink, metrics_of
from tests.needs import needs, program
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("no_leftovers")

COUNTS = StreamCounts(10_000, 7, 5, 3, 2, 1, 4, 6, 8, contradictions=9)
HEALTH = Health(
    rig="lab",
    state="receiving",
    counts=COUNTS,
    sample_rate=1000.0,
    measured_rate=998.5,
    age=0.25,
    latency=0.004,
    latency_counts=(3, 0, 2, *(0,) * (len(LATENCY_BOUNDS) - 3), 1),
    latency_sum=3.25,
    recording="/runs/run.h5",
    recorded=9000,
    unrecorded=11,
    disk_free=5_000_000,
    requests_refused=2,
    window=2.0,
    memory_used=0.25,
    memory_seconds=40.0,
    broker=BrokerStatus("away", 4, 9, 3),
)
TRIP = Alarm(
    "north.fdb_delay.trip", "fdb_delay", "north", "s", Severity.TRIP, state=AlarmState.UNACKNOWLEDGED, active=True
)
WARN = Alarm("health.lost", "lost", "", "", Severity.WARN, state=AlarmState.SHELVED)
UNJUDGED = Alarm(
    "south.delay", "delay", "south", "s", Severity.WARN, state=AlarmState.NOT_JUDGED, not_judged="no data"
)


class Clock:
    now = 10.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def sink(clock: Clock) -> Iterator[PrometheusSink]:
    sink = PrometheusSink("127.0.0.1:0", clock=clock)
    yield sink
    sink.close()


def scrape(sink: PrometheusSink, accept: str = "") -> str:
    with urlopen(Request(sink.url, headers={"Accept": accept} if accept else {}), timeout=30) as answer:
        return answer.read().decode()


def values(page: str) -> dict[str, float]:
    """Return every sample by its name with its labels."""
    found = {}
    for family in parse(page):
        for sample in family.samples:
            labels = ",".join(f"{name}={value}" for name, value in sorted(sample.labels.items()))
            found[f"{sample.name}{{{labels}}}" if labels else sample.name] = sample.value
    return found


def test_the_page_says_what_the_health_says(sink: PrometheusSink, clock: Clock) -> None:
    sink.health(HEALTH)
    sink.alarms(AlarmReport((TRIP, WARN, UNJUDGED)))
    clock.now += 0.5
    found = values(scrape(sink))
    expected = {
        "samples_received_total": 10_000,
        "samples_lost_total": 7,
        "samples_duplicated_total": 5,
        "samples_reordered_total": 3,
        "stream_gaps_total": 2,
        "stream_restarts_total": 1,
        "stream_clock_jumps_total": 4,
        "messages_rejected_total": 6,
        "stream_contradictions_total": 9,
        "stream_reconnects_total": 8,
        "sample_rate_hertz": 1000.0,
        "measured_sample_rate_hertz": 998.5,
        "stream_up": 1,
        "stream_state{state=receiving}": 1,
        "stream_state{state=stale}": 0,
        "stream_age_seconds": 0.75,
        "service_silence_seconds": 0.5,
        "latency_longest_seconds": 0.004,
        "latency_seconds_sum": 3.25,
        "latency_seconds_count": 6,
        "recording": 1,
        "samples_recorded_total": 9000,
        "samples_unrecorded_total": 11,
        "disk_free_bytes": 5_000_000,
        "requests_refused_total": 2,
        "window_seconds": 2.0,
        "broker_up": 0,
        "broker_waiting_messages": 4,
        "broker_messages_dropped_total": 9,
        "broker_denied_messages": 3,
        "alarms_unacknowledged": 1,
        "alarms_not_judged": 1,
        "memory_used_ratio": 0.25,
        "memory_seconds": 40.0,
        "alarms_standing{severity=trip}": 1,
        "alarms_standing{severity=warn}": 0,
        "alarm_active{name=north.fdb_delay.trip,severity=trip}": 1,
        "alarm_active{name=health.lost,severity=warn}": 0,
        "alarm_state{name=north.fdb_delay.trip,severity=trip,state=unacknowledged}": 1,
        "alarm_state{name=health.lost,severity=warn,state=shelved}": 1,
        "alarm_state{name=south.delay,severity=warn,state=not_judged}": 1,
        "stream_info{rig=lab}": 1,
    }
    assert {name: found.get(f"synchroscope_{name}") for name in expected} == expected
    assert len([name for name in found if name.startswith("synchroscope_build_info{version=")]) == 1
    # of an alarm there is the state that it is in, and no other
    assert len([name for name in found if name.startswith("synchroscope_alarm_state{")]) == 3


def test_no_count_is_forgotten(sink: PrometheusSink) -> None:
    numbers = {field.name: 1000 + position for position, field in enumerate(fields(StreamCounts))}
    sink.health(replace(HEALTH, counts=StreamCounts(**numbers)))
    assert set(numbers.values()) <= set(values(scrape(sink)).values())


LATENCIES = st.lists(st.floats(1e-6, 10.0), max_size=40)


@given(LATENCIES)
def test_buckets_are_cumulative_as_prometheus_defines_them(latencies: list[float]) -> None:
    edges = [-np.inf, *LATENCY_BOUNDS, np.inf]
    counts = tuple(sum(low < each <= high for each in latencies) for low, high in pairwise(edges))
    health = replace(HEALTH, latency_counts=counts, latency_sum=sum(latencies))
    (histogram,) = (m for m in metrics_of(health, (), 0.0) if m.type == "histogram")
    buckets = {float(s.labels["le"]): s.value for s in histogram.samples if s.name.endswith("_bucket")}
    assert list(buckets) == edges[1:]
    for bound, count in buckets.items():
        assert count == sum(each <= bound for each in latencies)
    rest = {s.name.rpartition("_")[2]: s.value for s in histogram.samples if not s.name.endswith("_bucket")}
    assert rest == {"count": len(latencies), "sum": sum(latencies)}


def test_a_service_that_has_stopped_talking_is_seen(sink: PrometheusSink, clock: Clock) -> None:
    assert values(scrape(sink))["synchroscope_service_silence_seconds"] == 0.0
    assert "synchroscope_stream_up" not in values(scrape(sink))
    sink.health(replace(HEALTH, state="waiting", age=0.0, recording="", disk_free=0, broker=BrokerStatus()))
    clock.now += 90.0
    found = values(scrape(sink))
    assert found["synchroscope_service_silence_seconds"] == 90.0
    assert found["synchroscope_stream_up"] == 0.0
    # what there is not is not there, instead of being zero
    assert not {"synchroscope_stream_age_seconds", "synchroscope_disk_free_bytes", "synchroscope_broker_up"} & set(
        found
    )


NAMES = st.text(max_size=20).map(lambda text: text.encode(errors="ignore").decode())


@given(NAMES, st.lists(NAMES, max_size=4, unique=True))
def test_names_of_any_kind_come_back_from_the_parser(rig: str, names: list[str]) -> None:
    alarms = tuple(structs.replace(TRIP, name=name) for name in names)
    families: list[Metric] = list(metrics_of(replace(HEALTH, rig=rig), alarms, 0.0))
    active = next(f for f in families if f.name == "synchroscope_alarm_active")
    assert [sample.labels["name"] for sample in active.samples] == names
    assert len({family.name for family in families}) == len(families)


@pytest.mark.parametrize("name", ['a "quoted" \\ name', "zweite Zeile\nhier", "длинное имя", '{x="y"}'])
def test_labels_are_escaped(sink: PrometheusSink, name: str) -> None:
    sink.health(replace(HEALTH, rig=name))
    (stream,) = (f for f in parse(scrape(sink)) if f.name == "synchroscope_stream_info")
    assert stream.samples[0].labels == {"rig": name}


@pytest.mark.parametrize(
    "accept",
    [
        "application/openmetrics-text; version=1.0.0; charset=utf-8",
        "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;q=0.5",
    ],
)
def test_prometheus_may_ask_for_openmetrics(sink: PrometheusSink, accept: str) -> None:
    sink.health(HEALTH)
    sink.alarms(AlarmReport((TRIP,)))
    page = scrape(sink, accept)
    names = {family.name for family in parse_open(page)}
    assert {"synchroscope_samples_received", "synchroscope_latency_seconds", "synchroscope_build"} <= names


def test_only_loopback_is_bound_unless_insecure() -> None:
    for address in ("0.0.0.0:0", "*:0", "192.0.2.1:9464", "[::]:0", "example.org:9464"):
        with pytest.raises(TransportError, match="--insecure"):
            PrometheusSink(address)
    for address in ("9464", "127.0.0.1", "127.0.0.1:70000", "lab.toml", "", "http://127.0.0.1:1/other"):
        with pytest.raises(TransportError, match="HOST:PORT"):
            PrometheusSink(address)
    open_to_all = PrometheusSink("*:0", insecure=True)
    open_to_all.close()
    open_to_all.close()


def test_a_port_that_is_taken_is_told(sink: PrometheusSink) -> None:
    port = sink.url.split(":")[2].split("/")[0]
    with pytest.raises(TransportError, match=f"{port} is in use"):
        PrometheusSink(f"127.0.0.1:{port}")


def connected(sink: PrometheusSink) -> socket.socket:
    host, port = sink.url.removeprefix("http://").removesuffix("/metrics").split(":")
    return socket.create_connection((host, int(port)), timeout=30)


def test_readers_that_say_nothing_hold_up_neither_others_nor_the_end(clock: Clock) -> None:
    sink = PrometheusSink("127.0.0.1:0", clock=clock)
    before = threading.active_count()
    silent = [connected(sink) for _ in range(30)]
    try:
        assert "synchroscope_build_info" in scrape(sink)
        began = monotonic()
        sink.close()
        assert monotonic() - began < 4.0
    finally:
        sink.close()
        for each in silent:
            each.close()
    until(lambda: threading.active_count() < before)


def test_of_many_half_open_readers_few_have_a_thread_and_the_next_is_served(sink: PrometheusSink) -> None:
    before = threading.active_count()
    silent = []
    for number in range(200):
        silent.append(connected(sink))
        silent[-1].sendall(b"GET /metrics HT")
        if number % 50 == 49:
            assert "synchroscope_build_info" in scrape(sink)
            assert threading.active_count() <= before + prometheus._MAX_READERS + 1
    silent[0].settimeout(30)
    assert silent[0].recv(100) == b""
    for each in silent:
        each.close()


def test_a_reader_that_takes_long_is_disconnected(sink: PrometheusSink, monkeypatch: pytest.MonkeyPatch) -> None:
    with connected(sink) as slow:
        slow.sendall(b"GET")
        scrape(sink)
        monkeypatch.setattr(prometheus, "_LONGEST_READ", -1.0)
        assert slow.recv(100) == b""


def test_the_service_goes_on_while_a_page_is_written(sink: PrometheusSink, monkeypatch: pytest.MonkeyPatch) -> None:
    began, go_on = threading.Event(), threading.Event()

    def slowly(*known) -> Iterator[Metric]:
        for metric in metrics_of(*known):
            yield metric
            began.set()
            assert go_on.wait(30.0)

    monkeypatch.setattr("monitor.transport.prometheus.metrics_of", slowly)
    sink.health(HEALTH)
    pages: list[str] = []
    reader = threading.Thread(target=lambda: pages.append(scrape(sink)))
    reader.start()
    try:
        assert began.wait(30.0)
        # what the loop does: it would stand still here if it waited for the reader
        sink.health(replace(HEALTH, counts=StreamCounts(received=1)))
        sink.alarms(AlarmReport((TRIP,)))
        assert not pages
    finally:
        go_on.set()
        reader.join()
    # the page is of one moment
    found = values(pages[0])
    assert found["synchroscope_samples_received_total"] == 10_000
    assert found["synchroscope_samples_lost_total"] == 7
    assert found["synchroscope_alarms_unacknowledged"] == 0
    assert values(scrape(sink))["synchroscope_samples_received_total"] == 1


def test_the_largest_page(sink: PrometheusSink) -> None:
    sink.health(HEALTH)
    sink.alarms(AlarmReport(tuple(structs.replace(TRIP, name=f"alarm {number}") for number in range(MAX_ALARMS))))
    page = scrape(sink)
    assert page.count("synchroscope_alarm_state{") == MAX_ALARMS
    assert len(page) < 100_000


COLUMNS = (
    Column("broadband_delay", "s", "north"),
    Column("broadband_ratio", "", "north"),
    Column("broadband_delay_sd", "s", "north"),
    Column("fdb_delay", "s", "north"),
    Column("fdb_frequency", "Hz", "north"),
    Column("peak_error", "mm", "north"),
    Column("ti", "mm^2", "north"),
    Column("peak_error", "kN", "south"),
    Column("fdb_delay", "s", "south"),
    Column("reliability_instantaneous", "1", "roof"),
)
ROW = [0.012, 1.02, 2e-4, 0.015, 1.3, 2.5, 4.0, 3.0, -0.002, 0.9]


def results(*rows: list[float]) -> ResultBlock:
    return ResultBlock(ResultStream("lab", 1, 1000.0, 10, COLUMNS), 0, 0.0, np.array(rows))


def test_indicators_are_gauges_in_base_units(sink: PrometheusSink) -> None:
    sink.health(HEALTH)
    sink.results(results([np.nan] * len(COLUMNS), ROW))
    found = values(scrape(sink))
    expected = {
        "delay_seconds{actuator=north}": 0.012,
        "delay_sd_seconds{actuator=north}": 2e-4,
        "ratio{actuator=north}": 1.02,
        # the first indicator of this actuator
        "delay_seconds{actuator=south}": -0.002,
        "broadband_delay_seconds{actuator=north}": 0.012,
        "fdb_delay_seconds{actuator=north}": 0.015,
        "fdb_frequency_hertz{actuator=north}": 1.3,
        "peak_error_meters{actuator=north}": 0.0025,
        "peak_error_newtons{actuator=south}": 3000.0,
        "ti{actuator=north,unit=mm^2}": 4.0,
        "reliability_instantaneous{site=roof}": 0.9,
    }
    assert {name: found.get(f"synchroscope_{name}") for name in expected} == pytest.approx(expected)


def test_values_that_are_not_valid_or_old_are_absent(sink: PrometheusSink, clock: Clock) -> None:
    sink.health(HEALTH)
    sink.results(results([np.nan, *ROW[1:]]))
    found = values(scrape(sink))
    assert "synchroscope_delay_seconds{actuator=north}" not in found
    assert found["synchroscope_ratio{actuator=north}"] == 1.02
    clock.now += 5.0
    assert not [name for name in values(scrape(sink)) if "actuator=" in name]


RULES = Path(__file__).parents[2] / "examples" / "viewers" / "prometheus-rules.yml"
PROMTOOL = program("promtool")
needs_promtool = needs("promtool")


def promtool(*words: str, page: str = "") -> str:
    ended = subprocess.run([PROMTOOL, *words], input=page, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout + ended.stderr


@needs_promtool
def test_promtool_finds_nothing_wrong_with_the_page(sink: PrometheusSink) -> None:
    sink.health(HEALTH)
    sink.alarms(AlarmReport((TRIP, WARN)))
    sink.results(results(ROW))
    assert promtool("check", "metrics", page=scrape(sink)) == ""


@needs_promtool
def test_promtool_loads_the_rules() -> None:
    assert "11 rules found" in promtool("check", "rules", str(RULES))


@needs_promtool
def test_the_rules_fire(sink: PrometheusSink, tmp_path: Path) -> None:
    """Prometheus itself evaluates the rules on a page whose values are repeated for two minutes."""
    sink.health(replace(HEALTH, disk_free=1_000))
    sink.alarms(AlarmReport((TRIP,)))
    sink.results(results([0.06, *ROW[1:]]))
    fires = {
        "SynchroscopeBrokerDenies",
        "SynchroscopeBrokerIsAway",
        "SynchroscopeDelay",
        "SynchroscopeDiskAlmostFull",
        "SynchroscopeTrip",
    }
    evaluate(tmp_path, constant(scrape(sink)), firing(fires))
    # a service that hangs, then is gone, and a rig that is lost
    changing = {
        'up{job="synchroscope"}': "0x24",
        "synchroscope_service_silence_seconds": "6x24",
        'synchroscope_stream_state{state="stale"}': "1x24",
        "synchroscope_samples_lost_total": "0+1x24",
        "synchroscope_samples_unrecorded_total": "0+1x24",
    }
    fires = {"SynchroscopeIsGone", "SynchroscopeHangs", "SynchroscopeStreamIsStale"}
    series = [{"series": name, "values": counts} for name, counts in changing.items()]
    evaluate(tmp_path, series, firing(fires | {"SynchroscopeSamplesLost", "SynchroscopeNotRecorded"}))


@needs_promtool
def test_every_query_of_the_dashboard_finds_something(sink: PrometheusSink, tmp_path: Path) -> None:
    sink.health(replace(HEALTH, broker=BrokerStatus("away")))
    sink.alarms(AlarmReport((TRIP,)))
    sink.results(results(ROW))
    series = constant(scrape(sink), 'job="synchroscope",instance="a"')
    variables = {"$job": ".*", "$instance": ".*", "$__rate_interval": "30s"}
    asked = []
    for panel in json.loads(RULES.with_name("grafana.json").read_text())["panels"]:
        for target in panel["targets"]:
            for name, value in variables.items():
                target["expr"] = target["expr"].replace(name, value)
            asked.append({"expr": f"count({target['expr']}) > bool 0", "eval_time": "2m"})
            asked[-1]["exp_samples"] = [{"labels": "{}", "value": 1}]
    assert len(asked) > 25
    evaluate(tmp_path, series, asked)


def constant(page: str, more: str = "") -> list[dict[str, str]]:
    """Return the samples of a page as series that do not change for two minutes."""
    series = []
    for family in parse(page):
        for one in family.samples:
            labels = ",".join([f"{name}={json.dumps(value)}" for name, value in one.labels.items()] + [more])
            series.append({"series": f"{one.name}{{{labels}}}", "values": f"{one.value}+0x24"})
    return series


def firing(names: set[str]) -> list[dict[str, object]]:
    """Return queries by which these alerts fire after two minutes, and no others."""
    counts = {f"count(ALERTS{{alertstate='firing',alertname='{name}'}})": 1 for name in names}
    counts["count(ALERTS{alertstate='firing'})"] = len(names)
    return [
        {"expr": expression, "eval_time": "2m", "exp_samples": [{"labels": "{}", "value": count}]}
        for expression, count in counts.items()
    ]


def evaluate(folder: Path, series: list[dict[str, str]], queries: list[dict[str, object]]) -> None:
    """Let Prometheus evaluate the rules on series of a sample every 5 s, and check the results of queries."""
    tests = [{"interval": "5s", "input_series": series, "promql_expr_test": queries}]
    file = folder / "tests.yml"
    # JSON is YAML
    file.write_text(json.dumps({"rule_files": [str(RULES)], "evaluation_interval": "5s", "tests": tests}))
    promtool("test", "rules", str(file))


def test_the_rules_ask_for_metrics_of_the_page() -> None:
    import re

    health = replace(HEALTH, broker=BrokerStatus("away"))
    block = results(ROW)
    names = {s.name for f in metrics_of(health, (TRIP,), 0.0, (block.stream, block.values[-1])) for s in f.samples}
    asked = set(re.findall(r"synchroscope_\w+", RULES.read_text()))
    assert len(asked) > 8
    assert asked <= names
