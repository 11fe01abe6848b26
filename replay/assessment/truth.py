"""A recorded simulation: what was injected beside what was indicated."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monitor.messages.blocks import Samples
from monitor.messages.headline import HEADLINE
from monitor.recording import RunReader
from replay.formats.base import RecordingError

_STILL = 1e-9  # change from sample to sample of a delay [s] or a ratio that is none
_BLOCK = 1 << 16
_INDICATORS = (HEADLINE, "fdb", "paei")
_DEFAULT_WINDOW = 2.0


@dataclass(frozen=True, slots=True)
class Tracking:
    """A delay [s], positive when the measured signal lags, and an amplitude ratio command/measured."""

    delay: float
    ratio: float


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of the run between two changes of an actuator.

    ``start`` and ``stop`` in s since the first sample; ``slides`` when the actuator changed all the time.
    `indicated` has the indicators that were computed, by the prefix of their results, the headline first.
    All values are medians over the part in which every window lies between the changes, and the injected ones
    are means over those windows; NaN where that part is shorter than a window. An indicator that has no value in
    some of them is compared where it has one.
    """

    actuator: str
    start: float
    stop: float
    slides: bool
    injected: Tracking
    indicated: Mapping[str, Tracking]


def compare(path: str | os.PathLike[str], ramp: float = 0.0) -> tuple[Stretch, ...]:
    """Compare, for every actuator and every part of a run file of a simulation.

    Parameters
    ----------
    path : a run in which ``<actuator>.true_delay`` and ``.true_ratio`` were recorded too.
    ramp : s in which the load grew to its size, left out at the start.

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
            raise RecordingError(f"{path}: has no truth to compare with, or no results: record a simulation")
        index, samples = _signals(reader)
        epochs, result_index, _, results = reader.results()
        rate = reader.stream.sample_rate
        window = float(reader.settings.get("indicators", {}).get("window", _DEFAULT_WINDOW))
        first = epochs == epochs[0]
    # the sample at which each row of results stands
    rows = np.minimum(np.searchsorted(index, result_index[first]), len(index) - 1)
    found = {(column.actuator, column.name): results[first, i] for i, column in enumerate(columns)}
    stretches: list[Stretch] = []
    for pair in pairs:
        truth = samples[:, [names[f"{pair.actuator}.true_{what}"] for what in ("delay", "ratio")]]
        n_window = max(1, round(window * rate))
        injected = _trailing_mean(truth, n_window)[rows]
        indicated = {
            name: np.column_stack([found[pair.actuator, f"{name}_{what}"] for what in ("delay", "ratio")])
            for name in _INDICATORS
            if (pair.actuator, f"{name}_delay") in found
        }
        for start, stop, slides in _stretches(truth, n_window):
            settled = start + n_window + (round(ramp * rate) if start == 0 else 0)
            inside = (rows >= settled) & (rows < stop) if stop - settled >= n_window else np.zeros(len(rows), bool)
            middle = _median(injected[inside])
            # where it slides, a median over fewer windows is that of other delays
            off = {name: _median((values - injected)[inside]) for name, values in indicated.items()}
            told = {name: Tracking(middle.delay + by.delay, middle.ratio + by.ratio) for name, by in off.items()}
            stretches.append(Stretch(pair.actuator, start / rate, stop / rate, slides, middle, told))
    return tuple(stretches)


def _signals(reader: RunReader) -> tuple[NDArray[np.int64], Samples]:
    """Return number and values of the samples of the first epoch."""
    numbers: list[NDArray[np.int64]] = []
    samples: list[Samples] = []
    for block in reader.signal_blocks(_BLOCK, jitter=float("inf")):
        if block.stream.epoch == reader.stream.epoch:
            numbers.append(block.index + np.arange(len(block), dtype=np.int64))
            samples.append(block.samples)
    return np.concatenate(numbers), np.concatenate(samples)


def _trailing_mean(truth: Samples, n_window: int) -> Samples:
    """Return the mean over the window that ends at each sample; before the first full one, over what there is."""
    sums = np.vstack([np.zeros(truth.shape[1]), np.cumsum(truth, axis=0)])
    stop = np.arange(1, len(truth) + 1)
    start = np.maximum(stop - n_window, 0)
    return np.asarray((sums[stop] - sums[start]) / (stop - start)[:, None])


def _stretches(truth: Samples, n_window: int) -> Iterator[tuple[int, int, bool]]:
    """Yield first sample, end and whether it slides; changes that are over within a window only divide."""
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
