"""The whole engine on one core: how much of real time it takes for 64 actuators at 4096 Hz."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from time import process_time

import numpy as np

from benchmarks.figures import REAL_TIME, Figure
from monitor.blocks import Channel, Role, Samples, SignalBlock, Stream
from monitor.config import IndicatorSettings
from monitor.engine import Monitor

SUMMARY = "the engine for 64 pairs at 4096 Hz, as a fraction of real time on one core"
RATE, N_PAIRS, WINDOW = 4096.0, 64, 1.0
BLOCKS = (1, 16, 64)


def run(quick: bool) -> Iterator[Figure]:
    """Yield processor time over stream time for several block sizes, every sample of every pair evaluated."""
    per_turn, repeats = (64, 2) if quick else (1024, 9)
    stream = make_stream("throughput", N_PAIRS, RATE)
    filled = int(WINDOW * RATE)
    samples = make_samples(filled + (repeats + 1) * per_turn, N_PAIRS, RATE)
    monitors = {size: Monitor(IndicatorSettings(window=WINDOW)) for size in BLOCKS}
    for monitor in monitors.values():
        _feed(monitor, stream, samples, 0, filled, 64)
    taken: dict[int, list[float]] = {size: [] for size in BLOCKS}
    for turn in range(repeats + 1):
        start = filled + turn * per_turn
        for size, monitor in monitors.items():
            before = process_time()
            _feed(monitor, stream, samples, start, start + per_turn, size)
            taken[size].append((process_time() - before) * RATE / per_turn)
    for size, fractions in taken.items():
        case = f"64 pairs, 4096 Hz, blocks of {size}"
        warm = fractions[1:]
        yield Figure("throughput", case, median(warm), REAL_TIME, min(warm), most=1.0)


def _feed(monitor: Monitor, stream: Stream, samples: Samples, start: int, stop: int, size: int) -> None:
    for i in range(start, stop, size):
        monitor.update(SignalBlock(stream, i, i / RATE, samples[i : i + size]))


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
