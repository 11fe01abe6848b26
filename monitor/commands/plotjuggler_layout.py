"""`synchroscope plotjuggler-layout`: a layout of PlotJuggler for the actuators of a rig."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from xml.etree import ElementTree

from monitor.commands.options import add_monitor_option, client_security

COLORS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf", "#e377c2", "#8c564b")
_COMMAND_COLOR = "#7f7f7f"
_TIMEOUT = 5.0  # s for the first results
_Curves = Sequence[dict[str, str]]
_Plot = tuple[str, _Curves, dict[str, str]]
"""Title, curves, and range of the values where it is fixed."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument(
        "actuator", nargs="*", help="names of the actuators; without any, those of the running monitor"
    )
    parser.add_argument(
        "-o",
        "--output",
        default="synchroscope.xml",
        metavar="FILE",
        help="layout to write (default synchroscope.xml)",
    )
    add_monitor_option(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write the layout; return the exit code."""
    actuators: Sequence[str] = list(dict.fromkeys(arguments.actuator)) or _published(arguments)
    Path(arguments.output).write_text(layout(actuators), encoding="utf-8")
    print(f"{arguments.output}: layout for {', '.join(actuators)}")
    return 0


def _published(arguments: argparse.Namespace) -> Sequence[str]:
    """Return the actuators in the results of the service."""
    from monitor.messages.blocks import Event, EventKind, ResultBlock
    from monitor.transport.zeromq.results import ResultSubscriber

    subscriber = ResultSubscriber(arguments.connect, kinds=("results",), security=client_security(arguments))
    try:
        deadline = time.monotonic() + _TIMEOUT
        while (left := deadline - time.monotonic()) > 0:
            for item in subscriber.receive(left):
                if isinstance(item, ResultBlock):
                    columns = item.stream.columns
                    return list(dict.fromkeys(c.actuator for c in columns if not c.name.startswith("reliability_")))
                if isinstance(item, Event) and item.kind is EventKind.NOTE:
                    raise ValueError(item.detail)
    finally:
        subscriber.close()
    raise ValueError(f"no results from {arguments.connect}: start the rig, or give the names of the actuators")


def layout(actuators: Sequence[str]) -> str:
    """Return the XML of a layout with tabs for tracking, signals, subspace and alarms."""
    from monitor.transport.plotjuggler import unique_keys

    keys = unique_keys(actuators)
    root = ElementTree.Element("root")
    window = ElementTree.SubElement(root, "tabbed_widget", {"name": "Main Window", "parent": "main_window"})
    named = list(zip(keys, cycle(COLORS)))
    _tab(window, "tracking", _tracking(named))
    _tab(window, "signals", [(key, _signals(key, color), {}) for key, color in named])
    _tab(window, "subspace", [("measured over command", [_subspace(*each) for each in named], {})], mode="XYPlot")
    # PlotJuggler draws nothing where all values are equal, unless the range is given
    _tab(
        window,
        "alarms",
        [
            ("severity: 1 warn, 2 trip", [_curve("alarms/all/severity", "#d62728")], {"min": "-0.1", "max": "2.2"}),
            (
                "number of alarms",
                [
                    _curve("alarms/all/standing", "#ff7f0e"),
                    _curve("alarms/all/unacknowledged", "#9467bd"),
                    _curve("alarms/all/not_judged", _COMMAND_COLOR),
                ],
                {"min": "-0.5"},
            ),
        ],
    )
    ElementTree.SubElement(window, "currentTabIndex", index="0")
    ElementTree.SubElement(root, "use_relative_time_offset", enabled="1")
    ElementTree.SubElement(ElementTree.SubElement(root, "Plugins"), "plugin", ID="ZMQ Subscriber")
    ElementTree.SubElement(root, "previouslyLoaded_Streamer", name="ZMQ Subscriber")
    for empty in ("customMathEquations", "snippets"):
        ElementTree.SubElement(root, empty)
    ElementTree.indent(root, " ")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def _tracking(named: Sequence[tuple[str, str]]) -> Sequence[_Plot]:
    titles = {"broadband_delay": "delay [s]", "broadband_ratio": "ratio", "paei_delay": "delay by PAEI [s]"}
    return [
        (title, [_curve(f"results/{key}/{column}", color) for key, color in named], {})
        for column, title in titles.items()
    ]


def _signals(key: str, color: str) -> _Curves:
    return [_curve(f"signals/{key}/command", _COMMAND_COLOR), _curve(f"signals/{key}/measured", color)]


def _subspace(key: str, color: str) -> dict[str, str]:
    x, y = (f"synchroscope/signals/{key}/{role}" for role in ("command", "measured"))
    return {"name": f"{key} measured over command", "color": color, "curve_x": x, "curve_y": y}


def _curve(name: str, color: str) -> dict[str, str]:
    return {"name": f"synchroscope/{name}", "color": color}


def _tab(window: ElementTree.Element, name: str, plots: Sequence[_Plot], mode: str = "TimeSeries") -> None:
    tab = ElementTree.SubElement(window, "Tab", containers="1", tab_name=name)
    sizes = ";".join([f"{1.0 / len(plots):.6f}"] * len(plots))
    container = ElementTree.SubElement(tab, "Container")
    splitter = ElementTree.SubElement(container, "DockSplitter", count=str(len(plots)), orientation="-", sizes=sizes)
    for title, curves, limits in plots:
        area = ElementTree.SubElement(splitter, "DockArea", name=title)
        plot = ElementTree.SubElement(area, "plot", mode=mode, style="Lines")
        ElementTree.SubElement(plot, "limitY", limits)
        for curve in curves:
            ElementTree.SubElement(plot, "curve", curve)
