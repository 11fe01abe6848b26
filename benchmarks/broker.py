"""From a sample's sending to its results' arrival: with a broker that lives, one that hangs, and none at all."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from typing import Self

import numpy as np

from benchmarks.figures import US, Figure
from benchmarks.lanes import ServiceLane, free_port
from benchmarks.latency import measure
from benchmarks.timing import median_ratio

SUMMARY = "source to result with an MQTT broker that lives or hangs, 8 pairs at 200 Hz, one sample a message"
PROGRAM = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin")
RATE, N_PAIRS, WINDOW = 200.0, 8, 1.0
AGAINST = "no broker"


class Mosquitto:
    """A broker of this machine's own, that can be made to hang."""

    def __init__(self, folder: Path) -> None:
        assert PROGRAM is not None
        self.port = free_port()
        settings = folder / f"{self.port}.conf"
        settings.write_text(f"listener {self.port} 127.0.0.1\nallow_anonymous true\n")
        self._process = subprocess.Popen([PROGRAM, "-c", settings], stderr=subprocess.DEVNULL)

    def __enter__(self) -> Self:
        deadline = monotonic() + 30.0
        while monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1.0).close()
                break
            except OSError:
                sleep(0.05)
        return self

    def hang(self) -> None:
        """Take connections and bytes, as the system does, and answer nothing any more."""
        self._process.send_signal(signal.SIGSTOP)

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()


def run(quick: bool) -> Iterator[Figure]:
    """Yield median, 99th percentile and largest latency with either broker beside those without one."""
    if PROGRAM is None:
        print("broker: left out, mosquitto is not installed", file=sys.stderr)
        return
    per_turn, turns, warm = (20, 2, 40) if quick else (80, 40, int(2 * WINDOW * RATE))
    with TemporaryDirectory() as folder, ExitStack() as stack:
        brokers = {name: stack.enter_context(Mosquitto(Path(folder))) for name in ("live broker", "hanging broker")}
        words = {name: ("--mqtt", f"127.0.0.1:{broker.port}") for name, broker in brokers.items()}
        words[AGAINST] = ()
        lanes = {name: stack.enter_context(ServiceLane(N_PAIRS, RATE, WINDOW, *more)) for name, more in words.items()}
        following = {name: lane.start() for name, lane in lanes.items()}
        taken: dict[str, list[list[float]]] = {name: [] for name in lanes}
        for turn in range(turns + 1):
            n = per_turn if turn else warm
            # the order alternates
            names = list(lanes)
            for name in names[turn % len(names) :] + names[: turn % len(names)]:
                latencies = measure(lanes[name], following[name], n, RATE)
                following[name] += n
                if turn:
                    taken[name].append(latencies)
            # not before, so that the service is connected when it happens
            brokers["hanging broker"].hang()
    for name in brokers:
        yield from _figures(name, taken[name], taken[AGAINST])


def _figures(name: str, ours: list[list[float]], theirs: list[list[float]]) -> Iterator[Figure]:
    flat = 1e6 * np.concatenate(ours), 1e6 * np.concatenate(theirs)
    medians = [median(turn) for turn in ours], [median(turn) for turn in theirs]
    values = [float(np.median(each)) for each in flat]
    ratio, best = median_ratio(*medians), 1e6 * min(medians[0])
    yield Figure("broker", f"{name}, median", values[0], US, best, AGAINST, values[1], ratio, most_ratio=1.1)
    for case, percent in (("99th percentile", 99.0), ("largest", 100.0)):
        a, b = (float(np.percentile(each, percent)) for each in flat)
        yield Figure("broker", f"{name}, {case}", a, US, None, AGAINST, b, a / b)
