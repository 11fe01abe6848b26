"""Simulated ensembles: the models by name, realizations on all cores, written as they come."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from importlib import import_module
from pathlib import Path

import numpy as np

from monitor.ensembles.writer import EnsembleWriter
from monitor.messages.blocks import Samples
from sim.ensemble import BLOCK, EnsembleModel, Experiment, realization_block

_HOMES = {
    "beam": ("sim.models.beam", "StochasticBeam"),
    "sandia": ("sim.models.sandia", "SandiaStructure"),
    "thermal": ("sim.models.thermal_experiment", "ThermalExperiment"),
}


def model_names() -> tuple[str, ...]:
    """Return the names of all models."""
    return tuple(_HOMES)


def ensemble_model(name: str, horizon: float | None = None) -> Experiment:
    """Return a model with its standard parameters, over its own time or up to `horizon` [s].

    Raises
    ------
    ValueError : there is none of that name; the text lists those there are.
    """
    if name not in _HOMES:
        *others, last = _HOMES
        raise ValueError(f"there is no model {name!r}: choose {', '.join(others)} or {last}")
    module, kind = _HOMES[name]
    build = getattr(import_module(module), kind)
    model: Experiment = build() if horizon is None else build(horizon=horizon)
    return model


Progress = Callable[[str, int, int], None]


def silent(_what: str, _done: int, _all: int) -> None:
    """Tell nobody of the progress."""


def simulate_ensemble(
    model: EnsembleModel, n_realizations: int, seed: int, path: Path, progress: Progress = silent
) -> None:
    """Simulate realizations into a file; what a break left unfinished is gone on with.

    Parameters
    ----------
    model : what is simulated.
    n_realizations : how many; the first of them are the same whatever the number.
    seed : of everything random.
    path : of the file.
    progress : told what is done, how much of it, and how much there is.

    Raises
    ------
    ValueError : a number is out of range, or the file cannot be written.
    """
    # before there is a file that nobody could go on with
    if seed < 0:
        raise ValueError(f"seed {seed}: must be zero or more")
    if path.is_dir():
        raise ValueError(f"{path}: is a directory: give the name of a file")
    source = f"{model!r}, seed {seed}"
    time = model.time
    writer = EnsembleWriter(path, time, n_realizations, unit=model.unit, quantity=model.quantity, source=source)
    try:
        done = writer.written
        for response in realizations(model, n_realizations, seed, done):
            writer.write(response)
            done += response.shape[1]
            progress("realizations", done, n_realizations)
        writer.finish(lambda sorted_, instants: progress("instants sorted", sorted_, instants))
    finally:
        writer.close()


def realizations(model: EnsembleModel, n_realizations: int, seed: int, first: int = 0) -> Iterator[Samples]:
    """Yield realizations from number `first` on, (n_times, up to `BLOCK`) each, in their order.

    As many blocks are made at a time as there are cores; there are never more than that and one in memory.
    """
    # where none is missing no block is made for nothing
    blocks = iter(range(first // BLOCK, -(-n_realizations // BLOCK)) if first < n_realizations else ())
    cores = os.cpu_count() or 1
    with ThreadPoolExecutor(cores) as pool:
        waiting: deque[tuple[int, Future[Samples]]] = deque()

        def submit() -> None:
            block = next(blocks, None)
            if block is not None:
                waiting.append((block, pool.submit(realization_block, model, seed, block)))

        try:
            for _ in range(cores):
                submit()
            while waiting:
                block, made = waiting.popleft()
                response = made.result()
                submit()
                start = max(0, first - block * BLOCK)
                yield np.ascontiguousarray(response[:, start : n_realizations - block * BLOCK])
        finally:
            for _, made in waiting:
                made.cancel()
