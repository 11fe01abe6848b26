"""Simulations that can be streamed like recordings: by name, with the truth beside what a rig would send."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import inf, sqrt
from typing import TYPE_CHECKING

import numpy as np

from monitor.blocks import Channel, Role, Samples, Stream
from replay.formats.base import ArrayRecording, Recording, RecordingError

if TYPE_CHECKING:
    from sim.hybrid import HybridRecord

_SHORTEST = 0.1  # s
_PLANT_RATE = 4096.0  # Hz
_PLANT_SWEEP = 1.0, 8.0  # Hz
_PLANT_STROKE = 0.002  # m
# each case of the tracking paper: s that it lasts, and what the measured signal does in it
_CASES = {
    "i": (6.0, "leads by 15 ms and is 33 % too large"),
    "ii-a": (10.0, "linear frame at 50 kN, 5 ms late and 10 % too large"),
    "ii-b": (10.0, "linear frame at 100 kN, 5 ms late and 10 % too large"),
    "iii": (10.0, "yielding frame, 5 ms late, 10 % too large, from 5 s on 25 % too small"),
    "iv": (30.0, "earthquake, 2 ms late"),
    "v": (20.0, "leads by 24 ms and is 100 % too large, under noise"),
    "vi": (10.0, "leads by 29 ms and is 20 % too small, while the motion grows"),
    "vii": (30.0, "earthquake, leads, is late from 16 to 21 s, leads again"),
}

# s that an experiment of each model lasts, and the longest: the beam's loads hang together over all of it
_EXPERIMENTS = {
    "beam": (5.0, 60.0, "beam under random loads"),
    "sandia": (0.1, 10.0, "masses on a driven beam"),
    "thermal": (20.0, 60.0, "heated slab, 50 times as fast as it was"),
}

HYBRID_TESTS = "Hybrid tests"
JUDGED_MODELS = "Models that are judged"
PAPER_CASES = "Cases of the paper on tracking indicators"

Build = Callable[[float, int], Recording]


@dataclass(frozen=True, slots=True)
class Judged:
    """The model that an experiment belongs to, and how it is judged.

    Parameters
    ----------
    model : name for `synchroscope simulate`.
    response : the channel of the experiment that the model speaks of.
    tolerance, policy, limits : as `synchroscope monitor` takes them.
    realizations : as many as the samples leave time for.
    """

    model: str
    response: str
    tolerance: str
    policy: str
    limits: tuple[str, ...]
    realizations: int


@dataclass(frozen=True, slots=True)
class Simulation:
    """Something that can be simulated.

    Parameters
    ----------
    name, summary, group : what it is called, in a few words, and among what others.
    duration : s, by default.
    build : takes the duration in s and the seed.
    faulty : something is wrong in it that a monitor should find.
    judged : the model that it is an experiment on; None where there is none.
    """

    name: str
    summary: str
    duration: float
    build: Build
    group: str = HYBRID_TESTS
    faulty: bool = False
    judged: Judged | None = None


_registered: dict[str, Simulation] = {}


def register(
    name: str,
    summary: str,
    duration: float = 60.0,
    *,
    group: str = HYBRID_TESTS,
    faulty: bool = False,
    judged: Judged | None = None,
) -> Callable[[Build], Build]:
    """Offer the decorated function as the simulation `name`, by default of `duration` seconds."""

    def offer(build: Build) -> Build:
        _registered[name] = Simulation(name, summary, duration, build, group, faulty, judged)
        return build

    return offer


def simulations() -> tuple[Simulation, ...]:
    """Return all simulations, those of a group together."""
    return tuple(_registered.values())


def names() -> tuple[str, ...]:
    """Return the names of all simulations."""
    return tuple(_registered)


def simulation(name: str, *, duration: float | None = None, seed: int = 1) -> Recording:
    """Run a simulation and return what a rig would have recorded.

    Beside ``<actuator>.command``, ``.measured`` and ``.force`` (m, m, N) it has what was injected:
    ``<actuator>.true_ratio``, ``.true_phase`` (rad, > 0: measured leads) and ``.true_delay`` (s, > 0: lags).

    Parameters
    ----------
    name : one of `names`.
    duration : s; by default the simulation's own.
    seed : of everything random.

    Raises
    ------
    RecordingError : there is no simulation of that name; the text lists those there are.
    ValueError : the duration is not a time that can be simulated.
    """
    known = _registered.get(name)
    if known is None:
        raise RecordingError(f"there is no simulation {name!r}: choose {' or '.join(sorted(_registered))}")
    duration = known.duration if duration is None else duration
    if not _SHORTEST <= duration < inf:
        raise ValueError(f"simulation duration {duration:g} s: must be {_SHORTEST} s or more")
    return known.build(duration, seed)


@register("hybrid", "three actuators, each with faults that change", faulty=True)
def _hybrid(duration: float, seed: int) -> Recording:
    from sim.demonstration import demonstration_tests
    from sim.hybrid import simulate

    tests = demonstration_tests(duration, seed=seed)
    records = {actuator: simulate(test) for actuator, test in tests.items()}
    rate = next(iter(tests.values())).sample_rate
    return _recording("hybrid", rate, {actuator: _columns(record) for actuator, record in records.items()})


@register("plant", "benchmark plant under a slow sweep from 1 to 8 Hz")
def _plant(duration: float, seed: int) -> Recording:  # noqa: ARG001 - a sweep has nothing random
    from sim.actuator import amplitude_ratio, phase_error
    from sim.benchmark_plant import BenchmarkPlant
    from sim.excitation import Sweep

    plant, dt = BenchmarkPlant(), 1.0 / _PLANT_RATE
    start, stop = _PLANT_SWEEP
    time: Samples = np.arange(round(duration * _PLANT_RATE), dtype=np.float64) * dt
    sweep = Sweep(amplitude=_PLANT_STROKE, start=start, stop=stop, duration=duration)
    command = sweep.sample(time)
    measured = plant.respond(command, dt)
    damping = 2.0 * plant.damping_ratio * sqrt(plant.stiffness * plant.mass)
    velocity = np.gradient(measured, dt)
    force: Samples = np.asarray(plant.stiffness * measured + damping * velocity, dtype=np.float64)
    frequency: Samples = start + (stop - start) / duration * time
    # smooth in the frequency: some hundred exact points tell it all
    points = np.linspace(start, stop, 257)
    responses = np.array([plant.response(0.0, point, dt) for point in points.tolist()])
    response = np.interp(frequency, points, responses)
    phase = phase_error(response)
    delay = -phase / (2.0 * np.pi * frequency)
    return _recording(
        "plant", _PLANT_RATE, {"plant": (command, measured, force, amplitude_ratio(response), phase, delay)}
    )


# a response that swings through zero leaves nothing within a share of itself: its share is of the rms as well
_LIMITS = "accumulated=0.7:0.85", "first_passage=0.05:0.3"
_JUDGED = {
    "beam": Judged("beam", "deflection", "16%", "literal", _LIMITS, 100_000),
    "sandia": Judged("sandia", "acceleration", "16%", "floored", _LIMITS, 10_000),
    "thermal": Judged("thermal", "temperature", "15%", "literal", _LIMITS, 10_000),
}


def _experiment(model: str, bad: bool, duration: float, seed: int) -> Recording:
    from replay.models import ensemble_model
    from sim.ensemble import replicates

    longest = _EXPERIMENTS[model][1]
    if duration > longest:
        raise ValueError(f"simulation duration {duration:g} s: the {model} experiment can last {longest:g} s")
    experiment = ensemble_model(model, horizon=duration)
    dt = float(experiment.time[1] - experiment.time[0])
    # deflection at midspan, acceleration of the third mass
    channel = Channel(experiment.quantity.split()[0], Role.AUXILIARY, experiment.unit)
    return ArrayRecording(Stream(model, 0, round(1.0 / dt, 6), (channel,)), replicates(experiment, 1, seed, bad=bad))


for _model, (_lasts, _, _specimen) in _EXPERIMENTS.items():
    for _name, _summary, _bad in (
        (_model, f"{_specimen}, which its model describes well", False),
        (f"{_model}-bad", f"{_specimen}, which its model describes badly", True),
    ):
        register(_name, _summary, _lasts, group=JUDGED_MODELS, faulty=_bad, judged=_JUDGED[_model])(
            partial(_experiment, _model, _bad)
        )


@register(
    "thermal-paper",
    "heated slab, as the paper on the thermal challenge has measured it",
    20.0,
    group=JUDGED_MODELS,
    judged=_JUDGED["thermal"],
)
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


def _case(name: str, lasts: float, duration: float, seed: int) -> Recording:
    from replay.studies.cases import case_recording
    from sim.tracking_cases import tracking_case

    if duration > lasts:
        raise ValueError(f"simulation duration {duration:g} s: case ({name}) lasts {lasts:g} s")
    whole = case_recording(tracking_case(name, seed=seed))
    return ArrayRecording(whole.stream, whole.samples[: round(duration * whole.stream.sample_rate)])


for _name, (_lasts, _summary) in _CASES.items():
    register(f"case-{_name}", _summary, _lasts, group=PAPER_CASES, faulty=True)(partial(_case, _name, _lasts))


def _columns(record: HybridRecord) -> tuple[Samples, ...]:
    truth = record.true_ratio, record.true_phase, record.true_delay
    return record.command, record.measured, record.force, *truth


def _recording(rig: str, rate: float, columns: dict[str, tuple[Samples, ...]]) -> ArrayRecording:
    channels = tuple(
        Channel(f"{actuator}.{name}", role, unit, actuator if role is not Role.AUXILIARY else "")
        for actuator in columns
        for name, role, unit in (
            ("command", Role.COMMAND, "m"),
            ("measured", Role.MEASURED, "m"),
            ("force", Role.FORCE, "N"),
            ("true_ratio", Role.AUXILIARY, "1"),
            ("true_phase", Role.AUXILIARY, "rad"),
            ("true_delay", Role.AUXILIARY, "s"),
        )
    )
    samples = np.column_stack([column for group in columns.values() for column in group])
    return ArrayRecording(Stream(rig, 0, rate, channels), samples)
