"""Tests whose tracking is known: hybrid tests, also with compensators, a plant, the tracking paper's cases."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from monitor.messages.blocks import Channel, Role, Samples, Stream
from replay.formats.base import Recording
from replay.formats.recordings import ArrayRecording, ComputedRecording
from replay.simulations.models import PAPER_CASES, Simulation

if TYPE_CHECKING:
    from monitor.compensation.base import Compensation, Compensator
    from sim.cases.hybrid import Demonstration
    from sim.cases.tracking_cases import TrackingCase

_DURATION = 60.0  # s
_SIGNALS, _TRUTHS = 3, 3  # channels of an actuator
_PLANT_RATE = 4096.0  # Hz
_PLANT_SWEEP = 1.0, 8.0  # Hz
_PLANT_STROKE = 0.002  # m
_PLANT_PIECE = 1 << 10  # samples computed at a time
_PIECE = 1 << 7  # with a compensator: the stream does not pause for more of them


def _hybrid(duration: float, seed: int) -> Recording:
    from sim.cases.hybrid import ACTUATORS, Demonstration

    demonstration = Demonstration(duration, seed=seed)
    channels = _channels(ACTUATORS)
    columns = [i for i in range(len(channels)) if i % (_SIGNALS + _TRUTHS) < _SIGNALS]
    stream = Stream("hybrid", 0, demonstration.sample_rate, channels)

    def pieces() -> Iterator[Samples]:
        return (piece.reshape(len(piece), -1) for piece in demonstration.signals())

    def truth(time: Samples) -> Samples:
        return demonstration.truth(time).reshape(len(time), -1)

    return ComputedRecording(stream, demonstration.n_samples, columns, pieces, truth)


def _plant(duration: float, seed: int) -> Recording:  # noqa: ARG001 - a sweep has nothing random
    from sim.excitation import Sweep
    from sim.laboratory.actuator import amplitude_ratio, phase_error
    from sim.laboratory.plants import BenchmarkPlant

    plant, dt = BenchmarkPlant(), 1.0 / _PLANT_RATE
    start, stop = _PLANT_SWEEP
    n_samples = round(duration * _PLANT_RATE)
    sweep = Sweep(amplitude=_PLANT_STROKE, start=start, stop=stop, duration=duration)
    # smooth in the frequency: some hundred exact points suffice
    points = np.linspace(start, stop, 257)
    responses = plant.response(points, dt)

    def truth(time: Samples) -> Samples:
        frequency: Samples = start + (stop - start) / duration * time
        response = np.interp(frequency, points, responses)
        phase = phase_error(response)
        return np.column_stack((amplitude_ratio(response), phase, -phase / (2.0 * np.pi * frequency)))

    def commands() -> Iterator[Samples]:
        for first in range(0, n_samples, _PLANT_PIECE):
            yield sweep.sample(np.arange(first, min(first + _PLANT_PIECE, n_samples), dtype=np.float64) * dt)

    def signals() -> Iterator[Samples]:
        both = (np.column_stack(pair) for pair in plant.responses(commands(), dt))
        for rows, velocity in _differentiated(both, dt):
            force = plant.stiffness * rows[:, 1] + plant.damping * velocity
            yield np.column_stack((rows, force))

    stream = Stream("plant", 0, _PLANT_RATE, _channels(("plant",)))
    return ComputedRecording(stream, n_samples, [0, 1, 2], signals, truth)


def _differentiated(pieces: Iterator[Samples], dt: float) -> Iterator[tuple[Samples, Samples]]:
    """Give the rows of pieces, and the derivative of their last column: central, one-sided at both ends."""
    before, waiting = np.empty((0, 2)), next(pieces)
    while len(waiting):
        after = next(pieces, np.empty((0, 2)))
        column = np.concatenate([before, waiting, after[:1]])[:, -1]
        slope = np.gradient(column, dt) if len(column) > 1 else np.zeros(1)
        yield waiting, slope[len(before) : len(before) + len(waiting)]
        before, waiting = waiting[-1:], after


def _channels(actuators: tuple[str, ...]) -> tuple[Channel, ...]:
    return tuple(
        Channel(f"{actuator}.{name}", role, unit, actuator if role is not Role.AUXILIARY else "")
        for actuator in actuators
        for name, role, unit in (
            ("command", Role.COMMAND, "m"),
            ("measured", Role.MEASURED, "m"),
            ("force", Role.FORCE, "N"),
            ("true_ratio", Role.AUXILIARY, "1"),
            ("true_phase", Role.AUXILIARY, "rad"),
            ("true_delay", Role.AUXILIARY, "s"),
        )
    )


def compensated_demonstration(duration: float, seed: int, compensation: str) -> Recording:
    """Return the demonstration with compensators as a rig would have recorded it.

    The compensators know the actuators as they are at the start; what changes later is theirs to find. Beside
    ``<actuator>.command``, ``.measured`` and ``.force`` (m, m, N) there are ``.sent`` (m), the command after the
    compensator, the compensator's columns, and ``.actuator_delay`` (s), the actuator's own at its driving frequency,
    which is what the compensator is to make up for.

    Parameters
    ----------
    duration, seed : s, and of the measurement noise.
    compensation : name, see `monitor.compensation.methods`.

    Raises
    ------
    ValueError : there is no compensator of that name.
    """
    from monitor.compensation.base import channels
    from monitor.compensation.fixed_inverse import FixedInverse
    from monitor.compensation.methods import by_name
    from sim.cases.hybrid import ACTUATORS, DRIVEN, Demonstration

    demonstration = Demonstration(duration, seed=seed)
    truth = demonstration.truth(np.zeros(1))
    nominal = FixedInverse.of_delay(truth[0, :, 2], truth[0, :, 0])
    settings = by_name(compensation, nominal, slowest=float(DRIVEN.min()))
    described = [
        (
            Channel(f"{actuator}.command", Role.COMMAND, "m", actuator),
            Channel(f"{actuator}.measured", Role.MEASURED, "m", actuator),
            Channel(f"{actuator}.force", Role.FORCE, "N", actuator),
            Channel(f"{actuator}.sent", Role.AUXILIARY, "m"),
            *channels(actuator, settings.columns),
            Channel(f"{actuator}.actuator_delay", Role.AUXILIARY, "s"),
        )
        for actuator in ACTUATORS
    ]
    width = len(described[0])
    stream = Stream("hybrid", 0, demonstration.sample_rate, tuple(channel for each in described for channel in each))
    computed = [i for i in range(len(stream.channels)) if i % width < width - 1]

    def pieces() -> Iterator[Samples]:
        return _pieces(demonstration, settings)

    def delays(time: Samples) -> Samples:
        return demonstration.truth(time)[..., 2]

    return ComputedRecording(stream, demonstration.n_samples, computed, pieces, delays)


def _pieces(demonstration: Demonstration, settings: Compensation) -> Iterator[Samples]:
    observed = _Observed(settings)
    for piece in replace(demonstration.loop(), compensator=observed).chunks(_PIECE):
        signals = np.stack([piece.command, piece.measured, piece.force, piece.sent], axis=-1)
        # of a test that leaves its stroke the piece ends there
        columns = np.concatenate([signals, np.array(observed.values)[: len(signals)]], axis=-1)
        observed.values.clear()
        yield columns.reshape(len(columns), -1)


class _Observed:
    """A compensator in the loop whose values are recorded."""

    def __init__(self, settings: Compensation) -> None:
        self._settings = settings
        self.values: list[Samples] = []

    def begin(self, dt: float, shape: tuple[int, ...]) -> _Observed:
        self._compensator: Compensator = self._settings.begin(dt, shape)
        return self

    def compensate(self, command: Samples) -> Samples:
        return self._compensator.compensate(command)

    def observe(self, command: Samples, measured: Samples) -> None:
        self._compensator.observe(command, measured)
        self.values.append(self._compensator.values)


TESTS = (
    Simulation(
        "hybrid",
        "three actuators, each with faults that change",
        _DURATION,
        _hybrid,
        build_compensated=compensated_demonstration,
    ),
    Simulation("plant", "benchmark plant under a slow sweep from 1 to 8 Hz", _DURATION, _plant),
)


ACTUATOR = "actuator"
# each case of the tracking paper: its duration in s, and the tracking error of its measured signal
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


# cases of a hybrid loop, which takes seconds: computed as they are read
_VIRTUAL = {"iv": "two_samples_late", "vii": "lead_lag_lead"}


def _case(name: str, lasts: float, duration: float, seed: int) -> Recording:
    from sim.cases.tracking_cases import tracking_case

    if duration > lasts:
        raise ValueError(f"simulation duration {duration:g} s: case ({name}) lasts {lasts:g} s")
    if name in _VIRTUAL:
        return _virtual(name, duration, seed)
    whole = case_recording(tracking_case(name, seed=seed))
    return ArrayRecording(whole.stream, whole.samples[: round(duration * whole.stream.sample_rate)])


def _virtual(name: str, duration: float, seed: int) -> Recording:
    from sim.cases import tracking_cases as cases
    from sim.laboratory.actuator import tracking_truth

    actuator, rate = getattr(cases, _VIRTUAL[name])(), cases.SAMPLE_RATE

    def truth(time: Samples) -> Samples:
        return np.column_stack(tracking_truth(actuator, time, cases.VIRTUAL_FREQUENCY, 1.0 / rate))

    stream = Stream(f"case-{name}", 0, rate, _channels((ACTUATOR,)))
    pieces = partial(cases.virtual_pieces, actuator, seed)
    return ComputedRecording(stream, round(duration * rate), [0, 1, 2], pieces, truth)


CASES = tuple(
    Simulation(f"case-{name}", summary, lasts, partial(_case, name, lasts), PAPER_CASES)
    for name, (lasts, summary) in _CASES.items()
)


def case_recording(case: TrackingCase) -> ArrayRecording:
    """Return the case as a rig would have recorded it; ``true_ratio`` and the others are auxiliary channels."""
    columns = [
        (Channel(f"{ACTUATOR}.command", Role.COMMAND, "m", ACTUATOR), case.command),
        (Channel(f"{ACTUATOR}.measured", Role.MEASURED, "m", ACTUATOR), case.measured),
    ]
    if case.force is not None:
        columns.append((Channel(f"{ACTUATOR}.force", Role.FORCE, "N", ACTUATOR), case.force))
    for name, unit in (("ratio", "1"), ("phase", "rad"), ("delay", "s")):
        truth: Samples = getattr(case, f"true_{name}")
        columns.append((Channel(f"{ACTUATOR}.true_{name}", Role.AUXILIARY, unit), truth))
    samples = np.column_stack([values for _, values in columns])
    channels = tuple(channel for channel, _ in columns)
    return ArrayRecording(Stream(f"case-{case.name}", 0, case.sample_rate, channels), samples)
