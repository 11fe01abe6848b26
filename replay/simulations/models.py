"""Simulations, of models with random parameters: their ensembles, and experiments with a good or a bad model."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path

import numpy as np

from monitor.messages.blocks import Channel, Role, Samples, Stream
from replay import Progress, silent
from replay.formats.base import Recording
from replay.formats.recordings import ArrayRecording, ComputedRecording
from replay.workers import Workers, run_in_order
from sim.ensembles import EnsembleModel, Experiment, realization_block

HYBRID_TESTS = "Hybrid tests"
MODEL_VALIDATION = "Model validation"
PAPER_CASES = "Cases of the paper on tracking indicators"

Build = Callable[[float, int], Recording]
CompensatedBuild = Callable[[float, int, str], Recording]


@dataclass(frozen=True, slots=True)
class ExperimentModel:
    """The model of an experiment, and the settings of its validation.

    Parameters
    ----------
    model : name for `synchroscope simulate`.
    response : the channel of the experiment that the model predicts.
    tolerance, policy, limits : as for `synchroscope monitor`.
    realizations : as many as can be evaluated in real time.
    """

    model: str
    response: str
    tolerance: str
    policy: str
    limits: tuple[str, ...]
    realizations: int


@dataclass(frozen=True, slots=True)
class Simulation:
    """A simulation that can be streamed.

    Parameters
    ----------
    name, summary, group : for lists of simulations.
    duration : s, by default.
    build : returns the recording of a duration in s and a seed.
    model : the model that it is an experiment on, or None.
    build_compensated : returns the recording with a compensator in the loop, by name; None where there is no loop.
    """

    name: str
    summary: str
    duration: float
    build: Build
    group: str = HYBRID_TESTS
    model: ExperimentModel | None = None
    build_compensated: CompensatedBuild | None = None


MODELS = {
    "beam": ("sim.models.beam", "StochasticBeam"),
    "duffing": ("sim.models.nonlinear_chains", "DuffingOscillator"),
    "eight-dof": ("sim.models.nonlinear_chains", "EightMasses"),
    "four-dof": ("sim.models.nonlinear_chains", "FourMasses"),
    "impact": ("sim.models.impact_test", "ImpactTest"),
    "sandia": ("sim.models.sandia", "SandiaStructure"),
    "thermal": ("sim.models.thermal_population", "ThermalExperiment"),
}
"""Name of each model -> its module and class."""


def ensemble_model(name: str, horizon: float | None = None) -> Experiment:
    """Return a model with its standard parameters, over its own time or up to `horizon` [s].

    Raises
    ------
    ValueError : there is none of that name; the text lists those there are.
    """
    if name not in MODELS:
        *others, last = MODELS
        raise ValueError(f"there is no model {name!r}: choose {', '.join(others)} or {last}")
    module, kind = MODELS[name]
    build = getattr(import_module(module), kind)
    model: Experiment = build() if horizon is None else build(horizon=horizon)
    return model


def simulate_ensemble(
    model: EnsembleModel,
    n_realizations: int,
    seed: int,
    path: Path,
    progress: Progress = silent,
    workers: Workers | None = None,
) -> None:
    """Simulate realizations into a file; what a break left unfinished is gone on with.

    Parameters
    ----------
    model : what is simulated.
    n_realizations : how many; the first of them are the same whatever the number.
    seed : of everything random.
    path : of the file.
    progress : receives the task, the amount done and the total.
    workers : that make the blocks, started; default: threads of this process. The file is the same.

    Raises
    ------
    ValueError : a number is out of range, or the file cannot be written.
    WorkersLostError : the workers are gone; the same call goes on from what is written.
    """
    from monitor.ensembles.files import EnsembleWriter

    # before an unusable file is created
    if seed < 0:
        raise ValueError(f"seed {seed}: must be zero or more")
    if path.is_dir():
        raise ValueError(f"{path}: is a directory: give the name of a file")
    source = f"{model!r}, seed {seed}"
    time = model.time
    writer = EnsembleWriter(path, time, n_realizations, unit=model.unit, quantity=model.quantity, source=source)
    try:
        done = writer.written
        for response in realizations(model, n_realizations, seed, done, workers):
            writer.write(response)
            done += response.shape[1]
            progress("realizations", done, n_realizations)
        writer.finish(lambda sorted_, instants: progress("instants sorted", sorted_, instants))
    finally:
        writer.close()


def realizations(
    model: EnsembleModel, n_realizations: int, seed: int, first: int = 0, workers: Workers | None = None
) -> Iterator[Samples]:
    """Yield realizations from number `first` on, (n_times, up to `model.block`) each, in their order.

    As many blocks are made at a time as there are cores, or as the workers accept; there are never more than twice
    that in memory. A block depends on its number alone: the workers do not change a bit.
    """
    size = model.block
    # where none is missing no block is made for nothing
    blocks = range(first // size, -(-n_realizations // size)) if first < n_realizations else range(0)
    made = (
        _by_threads(model, seed, blocks)
        if workers is None
        else run_in_order(workers, partial(realization_block, model, seed), blocks)
    )
    for block, response in zip(blocks, made, strict=True):
        start = max(0, first - block * size)
        yield np.ascontiguousarray(response[:, start : n_realizations - block * size])


def _by_threads(model: EnsembleModel, seed: int, numbers: range) -> Iterator[Samples]:
    """Yield the blocks of these numbers, made by as many threads as there are cores."""
    blocks = iter(numbers)
    cores = os.cpu_count() or 1
    pool = ThreadPoolExecutor(cores)
    waiting: deque[Future[Samples]] = deque()

    def submit() -> None:
        block = next(blocks, None)
        if block is not None:
            waiting.append(pool.submit(realization_block, model, seed, block))

    try:
        for _ in range(cores):
            submit()
        while waiting:
            response = waiting.popleft().result()
            submit()
            yield response
    finally:
        # blocks that are being made are not waited for
        pool.shutdown(wait=False, cancel_futures=True)


# s that an experiment of each model lasts, and the longest
_EXPERIMENTS = {
    "beam": (5.0, 60.0, "beam under random loads"),
    "sandia": (0.1, 10.0, "masses on a driven beam"),
    "thermal": (20.0, 60.0, "heated slab, 50 times as fast as it was"),
    "duffing": (30.0, 600.0, "oscillator with a cubic spring under a harmonic force"),
    "four-dof": (10.0, 60.0, "four masses with a cubic spring under a random force"),
    "eight-dof": (8191.0 / 1024.0, 60.0, "eight masses on a rod with friction and impacts under a random force"),
    "impact": (
        4.0,
        60.0,
        "cylinder on a foam pad at the impact of its carriage, a thousand times slower than it was",
    ),
}
# those whose bad experiment is of a damaged specimen, and what is damaged
_DAMAGED = {
    **dict.fromkeys(("duffing", "four-dof", "eight-dof"), "one spring damaged"),
    "impact": "half of the pad torn",
}
# of a response that crosses zero nothing is within a fraction of itself: the tolerance refers to the rms as well
_LIMITS = "accumulated=0.7:0.85", "first_passage=0.05:0.3"
_MODELS = {
    "beam": ExperimentModel("beam", "deflection", "16%", "literal", _LIMITS, 100_000),
    "sandia": ExperimentModel("sandia", "acceleration", "16%", "floored", _LIMITS, 10_000),
    "thermal": ExperimentModel("thermal", "temperature", "15%", "literal", _LIMITS, 10_000),
    "duffing": ExperimentModel("duffing", "displacement_1", "30%", "floored", _LIMITS, 10_000),
    "four-dof": ExperimentModel("four-dof", "acceleration_3", "60%", "floored", _LIMITS, 10_000),
    "impact": ExperimentModel("impact", "acceleration", "50%", "peak", _LIMITS, 10_000),
    "eight-dof": ExperimentModel("eight-dof", "acceleration_8", "50%", "floored", _LIMITS, 500),
}


def _experiment(model: str, bad: bool, duration: float, seed: int) -> Recording:
    from sim.ensembles import measured_pieces

    longest = _EXPERIMENTS[model][1]
    if duration > longest:
        raise ValueError(f"simulation duration {duration:g} s: the {model} experiment can last {longest:g} s")
    experiment = ensemble_model(model, horizon=duration)
    if len(experiment.time) < 2:
        raise ValueError(f"simulation duration {duration:g} s: the {model} experiment has no second sample by then")
    dt = float(experiment.time[1] - experiment.time[0])
    channels = tuple(Channel(name, Role.AUXILIARY, unit) for name, unit in experiment.channels)
    return ComputedRecording(
        Stream(model, 0, round(1.0 / dt, 6), channels),
        len(experiment.time),
        list(range(len(channels))),
        partial(measured_pieces, experiment, seed, bad=bad),
        lambda time: np.empty((len(time), 0)),
    )


def _thermal_paper(duration: float, seed: int) -> Recording:  # noqa: ARG001 - what was measured has nothing random
    from sim.models.thermal_population import ThermalExperiment
    from sim.models.thermal_tables import accreditation_runs

    run = accreditation_runs("Low")["front"]
    rate = ThermalExperiment().time_scale / float(run.time[1] - run.time[0])
    lasts = (len(run.time) - 1) / rate
    if duration > lasts:
        raise ValueError(f"simulation duration {duration:g} s: the thermal experiment lasts {lasts:g} s")
    channel = Channel("temperature", Role.AUXILIARY, ThermalExperiment.unit)
    samples = np.ascontiguousarray(run.temperature[: round(duration * rate) + 1])
    return ArrayRecording(Stream("thermal", 0, rate, (channel,)), samples)


def _both(model: str) -> tuple[Simulation, Simulation]:
    """Return an experiment that the model describes well, and one that it describes badly."""
    lasts, _, specimen = _EXPERIMENTS[model]
    suffix, how = ("damaged", f", {_DAMAGED[model]}") if model in _DAMAGED else ("bad", "")
    good, bad = (
        Simulation(
            f"{model}-{suffix}" if bad else model,
            f"{specimen}{how if bad else ''}, which its model describes {'badly' if bad else 'well'}",
            lasts,
            partial(_experiment, model, bad),
            MODEL_VALIDATION,
            model=_MODELS[model],
        )
        for bad in (False, True)
    )
    return good, bad


SIMULATIONS = (
    *(each for model in _EXPERIMENTS for each in _both(model)),
    Simulation(
        "thermal-paper",
        "heated slab, as the paper on the thermal challenge has measured it",
        _EXPERIMENTS["thermal"][0],
        _thermal_paper,
        MODEL_VALIDATION,
        model=_MODELS["thermal"],
    ),
)
