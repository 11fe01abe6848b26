"""From a sample's sending to its results' arrival: the service against two bare ZeroMQ hops."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from time import perf_counter, sleep

import numpy as np

from benchmarks.figures import COUNT, US, Figure
from benchmarks.lanes import BareLane, Lane, ServiceLane
from benchmarks.timing import median_ratio

SUMMARY = "source to result over loopback TCP, 64 pairs at 1 kHz, one sample a message"
RATE, N_PAIRS, WINDOW = 1000.0, 64, 1.0
OUTPUTS = 14
STALL = 5e-3


def run(quick: bool) -> Iterator[Figure]:
    """Yield median, 99th percentile, largest latency and stalls of the service beside those of the bare hops."""
    per_turn, turns = (20, 2) if quick else (500, 40)
    lanes: dict[str, Lane] = {}
    taken: dict[str, list[list[float]]] = {"service": [], "bare": []}
    with ServiceLane(N_PAIRS, RATE, WINDOW) as ours, BareLane(16 * N_PAIRS, 8 * OUTPUTS * N_PAIRS) as theirs:
        lanes = {"service": ours, "bare": theirs}
        following = {name: lane.start() for name, lane in lanes.items()}
        warm = int(2 * WINDOW * RATE)
        for turn in range(turns + 1):
            for name, lane in lanes.items():
                n = per_turn if turn else warm
                latencies = measure(lane, following[name], n)
                following[name] += n
                if turn:
                    taken[name].append(latencies)
    yield from _figures(taken["service"], taken["bare"])


def measure(lane: Lane, first: int, n: int, rate: float = RATE) -> list[float]:
    """Return the s from each sending to its answer; one never answered counts as 1 s."""
    sent: dict[int, float] = {}
    latency = dict.fromkeys(range(first, first + n), 1.0)
    begin = perf_counter()
    for i in range(n):
        due = begin + i / rate
        while (left := due - perf_counter()) > 0:
            # answers that are late are taken while the next sample's time comes
            if sent:
                _take(lane, left, sent, latency)
            else:
                sleep(left)
        sent[first + i] = perf_counter()
        lane.send(first + i)
        _take(lane, 1.0 / rate, sent, latency)
    while sent and perf_counter() < begin + n / rate + 1.0:
        _take(lane, 0.1, sent, latency)
    return list(latency.values())


def _take(lane: Lane, timeout: float, sent: dict[int, float], latency: dict[int, float]) -> None:
    index = lane.receive(timeout)
    if index in sent:
        latency[index] = perf_counter() - sent.pop(index)


def _figures(ours: list[list[float]], theirs: list[list[float]]) -> Iterator[Figure]:
    flat = 1e6 * np.concatenate(ours), 1e6 * np.concatenate(theirs)
    against = "two bare hops"
    medians = [median(s) for s in ours], [median(s) for s in theirs]
    values = [float(np.median(x)) for x in flat]
    yield Figure(
        "latency",
        "median",
        values[0],
        US,
        1e6 * min(medians[0]),
        against,
        values[1],
        median_ratio(*medians),
        most_ratio=1.3,
    )
    for case, percent in (("99th percentile", 99.0), ("largest", 100.0)):
        a, b = (float(np.percentile(x, percent)) for x in flat)
        yield Figure("latency", case, a, US, None, against, b, a / b)
    stalls = [float(np.count_nonzero(x > 1e6 * STALL)) for x in flat]
    yield Figure("latency", "stalls over 5 ms", stalls[0], COUNT, None, against, stalls[1], most=stalls[1])
