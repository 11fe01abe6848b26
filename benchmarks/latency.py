"""From a sample's sending to its results' arrival: the service against two bare ZeroMQ hops."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, sleep

import numpy as np

from benchmarks.figures import COUNT, US, Figure
from benchmarks.lanes import BareLane, Lane, ServiceLane
from benchmarks.timing import median_ratio

SUMMARY = "source to result over loopback TCP, 64 pairs at 1 kHz, one sample a message"
RATE, N_PAIRS, WINDOW = 1000.0, 64, 1.0
OUTPUTS = 50
LARGEST = 2e4  # us
THREE = ("--measures", "fdb,paei,ti")
ALARMS = ("--alarm", "fdb_delay=0.05:0.1", "--alarm", "broadband_delay=0.05:0.1")


def run(quick: bool) -> Iterator[Figure]:
    """Yield median, 99th percentile, largest latency and late results of the service beside those of bare hops."""
    per_turn, turns = (20, 2) if quick else (500, 12)
    with TemporaryDirectory(prefix="synchroscope-benchmark-") as folder:
        recording = ("--record", f"{folder}/")
        kinds: dict[str, tuple[str, ...]] = {
            "all measures, recording": recording,
            "all measures": (),
            "FDB, PAEI, TI": THREE,
            "recording, alarms": (*recording, *ALARMS),
        }
        for kind, more in kinds.items():
            yield from _beside_bare_hops(kind, more, per_turn, turns)


def _beside_bare_hops(kind: str, more: tuple[str, ...], per_turn: int, turns: int) -> Iterator[Figure]:
    taken: dict[str, list[list[float]]] = {"service": [], "bare": []}
    with (
        ServiceLane(N_PAIRS, RATE, WINDOW, *more) as ours,
        BareLane(16 * N_PAIRS, 8 * OUTPUTS * N_PAIRS) as theirs,
    ):
        lanes: dict[str, Lane] = {"service": ours, "bare": theirs}
        following = {name: lane.start() for name, lane in lanes.items()}
        warm = int(2 * WINDOW * RATE)
        for turn in range(turns + 1):
            for name, lane in lanes.items():
                n = per_turn if turn else warm
                latencies = measure(lane, following[name], n)
                following[name] += n
                if turn:
                    taken[name].append(latencies)
    yield from _figures(kind, 1.3 if kind == "FDB, PAEI, TI" else 1.5, taken["service"], taken["bare"])


def measure(lane: Lane, first: int, n: int, rate: float = RATE) -> list[float]:
    """Return the s from each sending that is answered to its answer; one that never comes counts as 1 s."""
    sent: dict[int, float] = {}
    latency = {index: 1.0 for index in range(first, first + n) if index % lane.every == 0}
    begin = perf_counter()
    for i in range(n):
        due = begin + i / rate
        while (left := due - perf_counter()) > 0:
            # answers that are late are taken while the next sample's time comes
            if sent:
                _take(lane, left, sent, latency)
            else:
                sleep(left)
        if (first + i) % lane.every == 0:
            sent[first + i] = perf_counter()
        lane.send(first + i)
        _take(lane, 1.0 / rate, sent, latency)
    while sent and perf_counter() < begin + n / rate + 1.0:
        _take(lane, 0.1, sent, latency)
    return list(latency.values())


def _take(lane: Lane, timeout: float, sent: dict[int, float], latency: dict[int, float]) -> None:
    for index in lane.receive(timeout):
        if index in sent:
            latency[index] = perf_counter() - sent.pop(index)


def _figures(kind: str, most: float, ours: list[list[float]], theirs: list[list[float]]) -> Iterator[Figure]:
    flat = 1e6 * np.concatenate(ours), 1e6 * np.concatenate(theirs)
    against = "two bare hops"
    medians = [median(s) for s in ours], [median(s) for s in theirs]
    values = [float(np.median(x)) for x in flat]
    yield Figure(
        "latency",
        f"{kind}: median",
        values[0],
        US,
        1e6 * min(medians[0]),
        against,
        values[1],
        median_ratio(*medians),
        most_ratio=most,
    )
    for case, percent, most, most_ratio in (("99th percentile", 99.0, None, 2.0), ("largest", 100.0, LARGEST, None)):
        a, b = (float(np.percentile(x, percent)) for x in flat)
        yield Figure("latency", f"{kind}: {case}", a, US, None, against, b, a / b, most=most, most_ratio=most_ratio)
    # one that is late comes after the next sample, and what the hops need nearly always
    on_time = 1e6 / RATE + float(np.percentile(flat[1], 99.9))
    late = [float(np.mean(x > on_time)) * 1e3 for x in flat]
    yield Figure("latency", f"{kind}: late, of 1000", late[0], COUNT, None, against, late[1], most=1.0)
