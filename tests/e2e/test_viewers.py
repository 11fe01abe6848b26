"""The real service with its feeds, the demonstration's simulated test before it, and the files for the viewers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from time import monotonic, sleep
from urllib.request import urlopen
from xml.etree import ElementTree

import pytest
import zmq
from prometheus_client.parser import text_string_to_metric_families

from monitor.commands.sinks import open_viewers
from monitor.config import ViewerSettings
from monitor.transport.base import TransportError
from tests.e2e.conftest import ANY_PORT, PATIENCE, Running, Start
from tests.oracles.plotjuggler import PlotJuggler

VIEWERS = Path(__file__).parents[2] / "examples" / "viewers"
ALARM = '[[alarms.limit]]\nvalue = "fdb_delay"\nactuator = "north"\nwarn = 0.004\n'


@pytest.fixture
def service(start: Start, warm_kernels: None, tmp_path: Path) -> Iterator[Running]:
    settings = tmp_path / "lab.toml"
    settings.write_text(f'{ALARM}[viewers]\nplotjuggler = "{ANY_PORT}"\nprometheus = "127.0.0.1:0"\n')
    words = ("--bind", ANY_PORT, "--publish", ANY_PORT, "--window", "1")
    running = start("monitor", settings, *words, "--record", tmp_path / "run.h5")
    yield running
    running.stop()


def page(service: Running, *lines: str) -> str:
    """Return the page as soon as it has these lines."""
    deadline = monotonic() + PATIENCE
    while True:
        with urlopen(service.until(r"Prometheus on (\S+)"), timeout=30) as answer:
            text = answer.read().decode()
        missing = [line for line in lines if f"synchroscope_{line}\n" not in text]
        if not missing:
            return text
        assert monotonic() < deadline, missing
        sleep(0.1)


def test_the_demonstration_is_seen_by_plotjuggler_and_prometheus(service: Running, start: Start) -> None:
    page(service, "stream_up 0.0", 'stream_state{state="waiting"} 1.0')
    decoder = PlotJuggler()
    layout = ElementTree.parse(VIEWERS / "plotjuggler.xml")
    shown = {c.get(key, "") for c in layout.iter("curve") for key in ("name", "curve_x", "curve_y")}
    shown = {name for name in shown if name.startswith("synchroscope/")}
    with zmq.Context() as context, context.socket(zmq.SUB) as viewer:
        viewer.setsockopt(zmq.LINGER, 0)
        viewer.subscribe(b"")
        viewer.connect(service.until(r"PlotJuggler feed on (\S+)"))
        play = start("replay", "hybrid", "--connect", service.listening, "--duration", "9", "--speed", "4")
        deadline = monotonic() + PATIENCE
        while not shown <= set(decoder.curves):
            assert monotonic() < deadline, shown - set(decoder.curves)
            if viewer.poll(100):
                decoder.take(viewer.recv_multipart())
        play.wait()
    assert len(shown) > 15
    assert {c.get("name") for c in layout.iter("curve") if c.get("curve_x") is None} <= shown
    for points in decoder.curves.values():
        assert all(later > earlier for (earlier, _), (later, _) in pairwise(points))
    ended = ('stream_state{state="ended"} 1.0', "samples_received_total 9216.0", 'stream_info{rig="hybrid"} 1.0')
    text = page(service, *ended, "recording 1.0", 'alarms_standing{severity="trip"} 0.0')
    samples = {s.name: s.value for family in text_string_to_metric_families(text) for s in family.samples}
    assert samples["synchroscope_latency_seconds_count"] > 0
    asked = queries(json.loads((VIEWERS / "grafana.json").read_text()))
    # those of a broker are there where there is one; values are absent 5 s after the last
    absent = {"synchroscope_delay_seconds", "synchroscope_ratio"}
    assert {name for name in asked if "_broker_" not in name} - absent <= set(samples)
    assert len(asked) > 20


def queries(board: dict) -> set[str]:
    """Return the names of all metrics that the dashboard asks for."""
    texts = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    texts += [variable["definition"] for variable in board["templating"]["list"] if "definition" in variable]
    assert len(texts) > 25
    return {name for text in texts for name in re.findall(r"synchroscope_\w+", text)}


def test_the_broker_that_the_dashboard_asks_for_has_metrics() -> None:
    from monitor.messages.health import BrokerStatus, Health
    from monitor.transport.prometheus import metrics_of

    asked = {name for name in queries(json.loads((VIEWERS / "grafana.json").read_text())) if "_broker_" in name}
    names = {s.name for family in metrics_of(Health(broker=BrokerStatus("away")), (), 0.0) for s in family.samples}
    assert asked
    assert asked <= names


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"plotjuggler": "lab.toml"}, "'lab.toml' is not an endpoint"),
        ({"plotjuggler": "tcp://*:*"}, "--insecure"),
        ({"prometheus": "lab.toml"}, "'lab.toml' is not HOST:PORT"),
        ({"plotjuggler": ANY_PORT, "prometheus": "*:0"}, "--insecure"),
    ],
)
def test_what_cannot_be_bound_is_told_and_leaves_nothing(settings: dict[str, str], said: str) -> None:
    opened = open_viewers(ViewerSettings(**settings), False, lambda _: None)
    with pytest.raises(TransportError, match=re.escape(said)), opened:
        raise AssertionError("it was bound")
