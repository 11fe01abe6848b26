"""Layouts for PlotJuggler, for any actuators."""

from __future__ import annotations

import threading
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from monitor.__main__ import main
from monitor.commands.plotjuggler_layout import layout
from monitor.messages.blocks import Channel, Column, ResultBlock, ResultStream, Role, Stream
from monitor.transport.plotjuggler import channel_tree
from monitor.transport.zeromq.results import ResultPublisher

SHIPPED = Path(__file__).parents[2] / "examples" / "viewers" / "plotjuggler.xml"


def curves(text: str) -> set[str]:
    """Return the names of the curves in the feed that a layout shows."""
    root = ElementTree.fromstring(text)
    names = {each.get(key, "") for each in root.iter("curve") for key in ("name", "curve_x", "curve_y")}
    return {name for name in names if name.startswith("synchroscope/")}


def test_the_shipped_layout_is_that_of_the_demonstration() -> None:
    assert SHIPPED.read_text() == layout(["north", "south", "roof"])


@pytest.mark.parametrize("names", [["x"], ["a/b", "a_b"], ['<&">', "ü", ""], [f"a{n}" for n in range(20)]])
def test_curves_are_those_of_the_feed(names: list[str]) -> None:
    channels = [
        Channel(f"{name}.{role}", role, "m", name) for name in names for role in (Role.COMMAND, Role.MEASURED)
    ]
    stream = Stream("rig", 1, 100.0, tuple(channels))
    import json

    groups = json.loads(channel_tree(stream).encode([0.0] * len(channels)))
    sent = {f"synchroscope/signals/{group}/{name}" for group, own in groups.items() for name in own}
    shown = curves(layout(names))
    assert {name for name in shown if "/signals/" in name} == sent
    assert len({name for name in shown if "/results/" in name}) == 3 * len(names)


def test_constant_values_have_a_range() -> None:
    plots = {
        area.get("name"): area.find("plot/limitY") for area in ElementTree.fromstring(layout(["x"])).iter("DockArea")
    }
    assert plots["severity: 1 warn, 2 trip"].attrib == {"min": "-0.1", "max": "2.2"}
    assert plots["number of alarms"].attrib == {"min": "-0.5"}
    assert plots["ratio"].attrib == {}


def test_actuators_of_a_running_service(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    columns = (
        Column("fdb_delay", "s", "left"),
        Column("fdb_delay", "s", "right"),
        Column("reliability_a", "1", "top"),
    )
    block = ResultBlock(ResultStream("rig", 1, 100.0, 1, columns), 0, 0.0, np.zeros((1, 3)))
    file, over = tmp_path / "layout.xml", threading.Event()
    publisher = ResultPublisher("tcp://127.0.0.1:*")

    def publish() -> None:
        while not over.wait(0.02):
            publisher.results(block)

    thread = threading.Thread(target=publish)
    thread.start()
    try:
        assert main(["plotjuggler-layout", "--connect", publisher.endpoint, "-o", str(file)]) == 0
    finally:
        over.set()
        thread.join()
        publisher.close()
    assert "layout for left, right" in capsys.readouterr().out
    assert file.read_text() == layout(["left", "right"])


def test_without_a_service_names_are_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("monitor.commands.plotjuggler_layout._TIMEOUT", 0.2)
    words = ["plotjuggler-layout", "--connect", "tcp://127.0.0.1:1", "-o", str(tmp_path / "layout.xml")]
    assert main(words) == 2
    assert "give the names of the actuators" in capsys.readouterr().err
