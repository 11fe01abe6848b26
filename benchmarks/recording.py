"""Recording: what it costs the caller, and how much of real time the writer needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

import h5py
import numpy as np

from benchmarks.figures import REAL_TIME, US, Figure
from benchmarks.throughput import make_samples, make_stream
from benchmarks.timing import median_ratio
from monitor.config import IndicatorSettings
from monitor.engine.monitor import MAX_ROWS_PER_SECOND, Monitor
from monitor.messages.blocks import ResultBlock, ResultStream, Samples, SignalBlock
from monitor.recording import RunWriter

SUMMARY = "64 pairs at 4096 Hz to disk, against h5py in the caller's thread"
RATE, N_PAIRS, BLOCK = 4096.0, 64, 64
AGAINST = "h5py append and flush"

# s that each call took, and s for everything, the file closed
Taken = tuple[list[float], float]


def run(quick: bool) -> Iterator[Figure]:
    """Yield the cost of a call, and time to write over stream time; less than 1 keeps up with the rig."""
    n_blocks, repeats = (8, 2) if quick else (256, 7)
    stream = make_stream("recording", N_PAIRS, RATE)
    samples = make_samples(n_blocks * BLOCK, N_PAIRS, RATE)
    starts = range(0, len(samples), BLOCK)
    blocks = [SignalBlock(stream, i, i / RATE, samples[i : i + BLOCK]) for i in starts]
    results = _results(blocks)
    recorders: dict[str, Callable[[Path], Taken]] = {
        "signals": lambda path: _ours(path, blocks, []),
        "signals, plain": lambda path: _plain(path, blocks, []),
        "signals and results": lambda path: _ours(path, blocks, results),
        "signals and results, plain": lambda path: _plain(path, blocks, results),
    }
    taken: dict[str, list[Taken]] = {name: [] for name in recorders}
    with TemporaryDirectory(prefix="synchroscope-benchmark-") as folder:
        for turn in range(repeats + 1):
            for number, (name, record) in enumerate(recorders.items()):
                path = Path(folder, f"{number}-{turn}.h5")
                one = record(path)
                path.unlink()
                if turn:
                    taken[name].append(one)
    yield from _figures(taken, n_blocks * BLOCK / RATE)


def _results(blocks: list[SignalBlock]) -> list[ResultBlock]:
    """Return as many results as a service would record with every block, without the work of computing them."""
    monitor = Monitor(IndicatorSettings(window=1.0), max_rows=MAX_ROWS_PER_SECOND)
    first = monitor.update(blocks[0]).results
    assert first is not None
    stream: ResultStream = first.stream
    values = np.random.default_rng(3).normal(size=(BLOCK, len(stream.columns)))
    found = []
    for block in blocks:
        index = -(-block.index // stream.every) * stream.every
        n_rows = len(range(index, block.index + BLOCK, stream.every))
        found.append(ResultBlock(stream, index, index / RATE, values[:n_rows]))
    return found


def _ours(path: Path, blocks: list[SignalBlock], results: list[ResultBlock]) -> Taken:
    begin = perf_counter()
    writer = RunWriter(path, {})
    calls = []
    for i, block in enumerate(blocks):
        start = perf_counter()
        writer.signals(block)
        calls.append(perf_counter() - start)
        if results:
            writer.results(results[i])
    writer.close()
    total = perf_counter() - begin
    if writer.failed or writer.recorded != len(blocks) * BLOCK:
        raise OSError(f"{path}: {writer.recorded} samples recorded {writer.failed}")
    return calls, total


def _plain(path: Path, blocks: list[SignalBlock], results: list[ResultBlock]) -> Taken:
    begin = perf_counter()
    calls = []
    with h5py.File(path, "w") as file:
        signals = _dataset(file, "signals", blocks[0].samples)
        values = _dataset(file, "results", results[0].values) if results else None
        for i, block in enumerate(blocks):
            start = perf_counter()
            _append(signals, block.samples)
            file.flush()
            calls.append(perf_counter() - start)
            if values is not None:
                _append(values, results[i].values)
                file.flush()
    return calls, perf_counter() - begin


def _dataset(file: h5py.File, name: str, like: Samples) -> h5py.Dataset:
    width = like.shape[1]
    return file.create_dataset(name, (0, width), np.float64, maxshape=(None, width), chunks=(256, width))


def _append(data: h5py.Dataset, rows: Samples) -> None:
    data.resize(len(data) + len(rows), axis=0)
    data[-len(rows) :] = rows


def _figures(taken: dict[str, list[Taken]], stream_time: float) -> Iterator[Figure]:
    def figure(case: str, unit: str, name: str, scaled: Callable[[Taken], float], **targets: float) -> Figure:
        ours, theirs = [scaled(t) for t in taken[name]], [scaled(t) for t in taken[f"{name}, plain"]]
        ratio = median_ratio(ours, theirs)
        return Figure("recording", case, median(ours), unit, min(ours), AGAINST, median(theirs), ratio, **targets)

    yield figure("a call with 64 samples", US, "signals", lambda t: 1e6 * median(t[0]), most_ratio=1.0)
    yield figure("its slowest call", US, "signals", lambda t: 1e6 * max(t[0]))
    for name in ("signals", "signals and results"):
        yield figure(f"writing {name}", REAL_TIME, name, lambda t: t[1] / stream_time, most=1.0)
