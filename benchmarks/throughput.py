"""The whole engine on one core: how much of real time it takes for 1 to 256 actuators."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from time import process_time

import numpy as np

from benchmarks.figures import REAL_TIME, Figure
from monitor.config import IndicatorSettings
from monitor.engine.monitor import MAX_ROWS_PER_SECOND, Monitor
from monitor.messages.blocks import Channel, Role, Samples, SignalBlock, Stream

SUMMARY = "the engine, as a fraction of real time on one core, results 200 times a second"
WINDOW = 1.0
BLOCKS = (1, 16, 64)
# pairs and rate, and what is aimed at for blocks of 1 and 16
CASES = {(1, 1000.0): (), (8, 1000.0): (), (64, 1000.0): (), (256, 1000.0): (1.0, 1.0), (64, 4096.0): (0.3, 0.25)}


def run(quick: bool) -> Iterator[Figure]:
    """Yield processor time over stream time, whole windows and transfer functions included."""
    seconds, repeats = (0.02, 2) if quick else (0.25, 7)
    for (n_pairs, rate), most in CASES.items():
        for size, fractions in zip(BLOCKS, _taken(n_pairs, rate, seconds, repeats), strict=True):
            target = most[BLOCKS.index(size)] if BLOCKS.index(size) < len(most) else None
            case = f"{n_pairs} pairs, {rate:g} Hz, blocks of {size}"
            yield Figure("throughput", case, median(fractions), REAL_TIME, min(fractions), most=target)


def _taken(n_pairs: int, rate: float, seconds: float, repeats: int) -> list[list[float]]:
    """Return for every size of blocks how much of real time each turn took."""
    per_turn = max(1, round(seconds * rate / max(BLOCKS))) * max(BLOCKS)
    stream = make_stream("throughput", n_pairs, rate)
    filled = int(WINDOW * rate) // max(BLOCKS) * max(BLOCKS)
    samples = make_samples(filled + (repeats + 1) * per_turn, n_pairs, rate)
    monitors = [Monitor(IndicatorSettings(window=WINDOW), max_rows=MAX_ROWS_PER_SECOND) for _ in BLOCKS]
    for monitor in monitors:
        _feed(monitor, stream, samples, 0, filled, 64)
    taken: list[list[float]] = [[] for _ in BLOCKS]
    for turn in range(repeats + 1):
        start = filled + turn * per_turn
        for size, monitor, fractions in zip(BLOCKS, monitors, taken, strict=True):
            before = process_time()
            _feed(monitor, stream, samples, start, start + per_turn, size)
            fractions.append((process_time() - before) * rate / per_turn)
    return [fractions[1:] for fractions in taken]


def _feed(monitor: Monitor, stream: Stream, samples: Samples, start: int, stop: int, size: int) -> None:
    for i in range(start, stop, size):
        monitor.update(SignalBlock(stream, i, i / stream.sample_rate, samples[i : i + size]))
        monitor.run_pending()


def make_stream(rig: str, n_pairs: int, rate: float) -> Stream:
    """Return a stream of `n_pairs` actuators: command and measured, side by side."""
    roles = (Role.COMMAND, Role.MEASURED)
    channels = tuple(Channel(f"a{i}.{role}", role, "m", f"a{i}") for i in range(n_pairs) for role in roles)
    return Stream(rig, 1, rate, channels)


def make_samples(n: int, n_pairs: int, rate: float) -> Samples:
    """Return noisy tones and their late copies, (n, 2 * n_pairs), in the order of `make_stream`."""
    t = np.arange(n)[:, None] / rate
    frequency = np.repeat(np.linspace(3.0, 9.0, n_pairs), 2)
    lag = np.tile([0.0, 0.008], n_pairs)
    noise = np.random.default_rng(2).normal(scale=0.01, size=(n, 2 * n_pairs))
    samples: Samples = np.sin(2.0 * np.pi * frequency * (t - lag)) + noise
    return samples
