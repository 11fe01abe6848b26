"""Experiments on specimens that a model describes, well or badly: streams for its reliability."""

from __future__ import annotations

from functools import partial

import numpy as np

from monitor.messages.blocks import Channel, Role, Stream
from replay.formats.base import ArrayRecording, Recording
from replay.simulations.entry import JUDGED_MODELS, Judged, Simulation

# s that an experiment of each model lasts, and the longest: the beam's loads hang together over all of it
_EXPERIMENTS = {
    "beam": (5.0, 60.0, "beam under random loads"),
    "sandia": (0.1, 10.0, "masses on a driven beam"),
    "thermal": (20.0, 60.0, "heated slab, 50 times as fast as it was"),
}
# a response that swings through zero leaves nothing within a share of itself: its share is of the rms as well
_LIMITS = "accumulated=0.7:0.85", "first_passage=0.05:0.3"
_JUDGED = {
    "beam": Judged("beam", "deflection", "16%", "literal", _LIMITS, 100_000),
    "sandia": Judged("sandia", "acceleration", "16%", "floored", _LIMITS, 10_000),
    "thermal": Judged("thermal", "temperature", "15%", "literal", _LIMITS, 10_000),
}


def _experiment(model: str, bad: bool, duration: float, seed: int) -> Recording:
    from replay.ensembles.simulated import ensemble_model
    from sim.ensemble import replicates

    longest = _EXPERIMENTS[model][1]
    if duration > longest:
        raise ValueError(f"simulation duration {duration:g} s: the {model} experiment can last {longest:g} s")
    experiment = ensemble_model(model, horizon=duration)
    dt = float(experiment.time[1] - experiment.time[0])
    # deflection at midspan, acceleration of the third mass
    channel = Channel(experiment.quantity.split()[0], Role.AUXILIARY, experiment.unit)
    return ArrayRecording(Stream(model, 0, round(1.0 / dt, 6), (channel,)), replicates(experiment, 1, seed, bad=bad))


def _thermal_paper(duration: float, seed: int) -> Recording:  # noqa: ARG001 - what was measured has nothing random
    from sim.models.thermal_experiment import ThermalExperiment
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
    good, bad = (
        Simulation(
            f"{model}-bad" if bad else model,
            f"{specimen}, which its model describes {'badly' if bad else 'well'}",
            lasts,
            partial(_experiment, model, bad),
            JUDGED_MODELS,
            faulty=bad,
            judged=_JUDGED[model],
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
        JUDGED_MODELS,
        judged=_JUDGED["thermal"],
    ),
)
