"""Injected and indicated delays and ratios of a simulated test, compared and printed as tables."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from monitor.messages.blocks import Samples
from monitor.messages.headline import HEADLINE, LABELS
from monitor.recording import RunReader
from monitor.text.blocks import Block, Column, Table, Text, Tone, words
from monitor.text.numbers import DASH
from replay.formats.base import RecordingError
from replay.tables import print_blocks

_STILL = 1e-9  # smaller changes of a delay [s] or a ratio from sample to sample are rounding
_READ_BLOCK = 1 << 16
_INDICATORS = (HEADLINE, "fdb", "paei")
_DEFAULT_WINDOW = 2.0


@dataclass(frozen=True, slots=True)
class Tracking:
    """A delay [s], positive when the measured signal lags, and an amplitude ratio command/measured."""

    delay: float
    ratio: float


@dataclass(frozen=True, slots=True)
class TruthInterval:
    """The interval of a run between two changes of an actuator.

    ``start`` and ``stop`` are in s since the first sample; ``slides`` is set when the actuator changes continuously.
    `indicated` has the indicators that were computed, by the prefix of their results, the headline first.
    All values are medians over the part in which every window lies between the changes, and the injected ones
    are means over those windows; NaN where that part is shorter than a window. Windows in which an indicator has no
    value are left out for it.
    """

    actuator: str
    start: float
    stop: float
    slides: bool
    injected: Tracking
    indicated: Mapping[str, Tracking]


def compare_with_truth(path: str | os.PathLike[str], ramp: float = 0.0) -> tuple[TruthInterval, ...]:
    """Compare injected and indicated values, for every actuator and interval of the run file of a simulation.

    Parameters
    ----------
    path : run file that includes ``<actuator>.true_delay`` and ``.true_ratio``.
    ramp : s, duration of the load's ramp, left out at the start.

    Raises
    ------
    RunFileError : the file cannot be read.
    RecordingError : no truth was recorded, or no results.
    """
    with RunReader(path) as reader:
        names = {channel.name: i for i, channel in enumerate(reader.stream.channels)}
        columns = reader.result_stream.columns if reader.result_stream else ()
        pairs = [pair for pair in reader.stream.pairs if f"{pair.actuator}.true_delay" in names]
        if not (pairs and columns and reader.n_samples):
            raise RecordingError(f"{path}: has no injected truth to compare with, or no results: record a simulation")
        index, samples = _signals(reader)
        epochs, result_index, _, results = reader.results()
        rate = reader.stream.sample_rate
        window = float(reader.settings.get("indicators", {}).get("window", _DEFAULT_WINDOW))
        first = epochs == epochs[0]
    # the sample of each row of results
    rows = np.minimum(np.searchsorted(index, result_index[first]), len(index) - 1)
    found = {(column.actuator, column.name): results[first, i] for i, column in enumerate(columns)}
    intervals: list[TruthInterval] = []
    for pair in pairs:
        truth = samples[:, [names[f"{pair.actuator}.true_{what}"] for what in ("delay", "ratio")]]
        n_window = max(1, round(window * rate))
        injected = _trailing_mean(truth, n_window)[rows]
        indicated = {
            name: np.column_stack([found[pair.actuator, f"{name}_{what}"] for what in ("delay", "ratio")])
            for name in _INDICATORS
            if (pair.actuator, f"{name}_delay") in found
        }
        for start, stop, slides in _intervals(truth, n_window):
            settled = start + n_window + (round(ramp * rate) if start == 0 else 0)
            inside = (rows >= settled) & (rows < stop) if stop - settled >= n_window else np.zeros(len(rows), bool)
            middle = _median(injected[inside])
            # where it slides, a median over fewer windows is that of different delays
            off = {name: _median((values - injected)[inside]) for name, values in indicated.items()}
            medians = {name: Tracking(middle.delay + by.delay, middle.ratio + by.ratio) for name, by in off.items()}
            intervals.append(TruthInterval(pair.actuator, start / rate, stop / rate, slides, middle, medians))
    return tuple(intervals)


def _signals(reader: RunReader) -> tuple[NDArray[np.int64], Samples]:
    """Return indices and values of the samples of the first epoch."""
    numbers: list[NDArray[np.int64]] = []
    samples: list[Samples] = []
    for block in reader.signal_blocks(_READ_BLOCK, jitter=float("inf")):
        if block.stream.epoch == reader.stream.epoch:
            numbers.append(block.index + np.arange(len(block), dtype=np.int64))
            samples.append(block.samples)
    return np.concatenate(numbers), np.concatenate(samples)


def _trailing_mean(truth: Samples, n_window: int) -> Samples:
    """Return the mean over the window that ends at each sample; the first windows are shorter."""
    sums = np.vstack([np.zeros(truth.shape[1]), np.cumsum(truth, axis=0)])
    stop = np.arange(1, len(truth) + 1)
    start = np.maximum(stop - n_window, 0)
    return np.asarray((sums[stop] - sums[start]) / (stop - start)[:, None])


def _intervals(truth: Samples, n_window: int) -> Iterator[tuple[int, int, bool]]:
    """Yield start, stop and whether it slides; a change shorter than a window only separates two intervals."""
    moving = np.append(False, (np.abs(np.diff(truth, axis=0)) > _STILL).any(axis=1))
    edges = [0, *(np.flatnonzero(np.diff(moving)) + 1).tolist(), len(truth)]
    for start, stop in itertools.pairwise(edges):
        slides = bool(moving[start])
        if not slides or stop - start > n_window:
            yield start, stop, slides


def _median(values: Samples) -> Tracking:
    valid = values[~np.isnan(values).any(axis=1)]
    if not len(valid):
        return Tracking(float("nan"), float("nan"))
    delay, ratio = np.median(valid, axis=0).tolist()
    return Tracking(delay, ratio)


# title, attribute of `Tracking`, factor and format of values, and factor of differences
_QUANTITIES = (
    ("Delay, ms (positive: the actuator lags); off by, ms", "delay", 1e3, ".2f", 1e3),
    ("Amplitude ratio, command/measured; off by, %", "ratio", 1.0, ".3f", 100.0),
)


def print_truth(record: Path, ramp: float, console: Console) -> None:
    """Print a table of delays and one of ratios, the headline first.

    Parameters
    ----------
    record : run file of a simulated test.
    ramp : s, duration of the load's ramp.
    """
    print_blocks(truth_blocks(compare_with_truth(record, ramp)), console)


def truth_blocks(intervals: Sequence[TruthInterval]) -> list[Block]:
    """Return the tables of injected and indicated values in these intervals of a run."""
    indicators = tuple(intervals[0].indicated) if intervals else ()
    blocks: list[Block] = []
    for title, name, factor, form, off_factor in _QUANTITIES:
        columns = [words("actuator"), words("part of run, s"), Column("true", form=form, factor=factor)]
        for indicator in indicators:
            label = LABELS[indicator]
            # in a narrow terminal the next columns are below: which indicator this belongs to has to be seen there
            off = Column("off" if indicator == HEADLINE else f"{label}\noff", form="+.2f", factor=off_factor)
            columns += [Column(label, form=form, factor=factor), off]
        rows: list[list[object]] = []
        for before, interval in zip([None, *intervals], intervals, strict=False):
            same = before is not None and before.actuator == interval.actuator
            part = f"{interval.start:.1f}–{interval.stop:.1f}{', slides' if interval.slides else ''}"
            true = getattr(interval.injected, name)
            found = [getattr(interval.indicated[indicator], name) for indicator in indicators]
            pairs = [value for indicated in found for value in (indicated, indicated - true)]
            rows.append(["" if same else interval.actuator, part, true, *pairs])
        blocks.append(Table(title, columns, rows))
    if any(math.isnan(interval.injected.delay) for interval in intervals):
        blocks.append(Text(f"{DASH}  this part of the run is shorter than a window", Tone.ASIDE))
    return blocks
