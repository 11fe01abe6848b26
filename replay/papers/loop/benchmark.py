"""The benchmark building with its actuator: criteria J1 to J9 by compensator, case and draw of the plant.

All compensators are side by side in one loop: each acts on tests of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from monitor.compensation.base import Compensator
from monitor.compensation.fixed_inverse import FixedInverse
from monitor.compensation.methods import METHODS, by_name
from monitor.messages.blocks import Samples
from replay import Progress, silent
from sim.excitation import Earthquake, Recorded
from sim.laboratory import building
from sim.laboratory.building import Case
from sim.laboratory.loop import HybridLoop
from sim.laboratory.plants import BenchmarkPlant, drawn_plants
from sim.laboratory.specimens import ChangingElement
from sim.laboratory.structure import Structure
from sim.laboratory.transfer import ChangingTransfer, TransferChain

COMPENSATORS = tuple(METHODS)
Lost = Iterator[NDArray[np.bool_]]
CASES = tuple(str(case) for case in Case)
CRITERIA = tuple(f"J{number}" for number in range(1, 10))
_LOSS = 0.3
_SOFTENED = 0.7  # of the stiffness, after the change
SCENARIOS = {
    "as-designed": "the specimen as it is",
    "stiffness-change": f"the specimen loses {100 * (1 - _SOFTENED):.0f} % of its stiffness in mid-test",
    "lost-samples": f"{100 * _LOSS:.0f} % of the measured samples do not reach the compensator, one by one",
    "change-and-loss": "both: the specimen loses stiffness, and samples are lost from the start",
}
_CHANGING, _LOSING = ("stiffness-change", "change-and-loss"), ("lost-samples", "change-and-loss")

_DURATION = 20.0  # s, of a drawn motion
_STROKE = 0.02  # m
_MOTION = 1.0  # m/s^2, rms of the strong phase before it is scaled by the problem's intensity
_SLOWEST = 3.5  # Hz, lowest dominant frequency of the building
_ORDER = 3  # of the inverse of the nominal plant
_CHUNK = 2048
_BATCH = 5  # draws of each scenario in 20 s: their records take 0.6 GB
_DRAWN = ("stiffness", "a3", "b1", "b2")  # parameters of the plant
_DRAWN_AHEAD = 1024  # steps
_OF_MOTION, _OF_LOSS = 1, 2  # random streams of a draw, beside that of its plant


@dataclass(frozen=True, slots=True, eq=False)
class Benchmark:
    """What was found.

    Parameters
    ----------
    nominal : (n_compensators, n_cases, n_criteria) with the nominal plant; until a test leaves the stroke.
    nominal_left_at : (n_compensators, n_cases) s, NaN where the stroke is not left.
    draws : by scenario (n_compensators, n_cases, n_draws, n_criteria), likewise. Of a specimen that changes J4 to J9
        are NaN: the building that they compare with does not change.
    left_at : by scenario (n_compensators, n_cases, n_draws) s.
    sample_rate, duration : Hz and s.
    """

    nominal: Samples
    nominal_left_at: Samples
    draws: dict[str, Samples]
    left_at: dict[str, Samples]
    sample_rate: float
    duration: float

    @property
    def n_draws(self) -> int:
        """Number of draws of each scenario."""
        return int(next(iter(self.draws.values())).shape[2])


def run_benchmark(
    n_draws: int, seed: int, recorded: Recorded | None = None, progress: Progress = silent
) -> Benchmark:
    """Run all cases with all compensators: the nominal plant and `n_draws` others.

    Each has a ground motion of its own, or all have the recorded one, at the problem's intensity.
    """
    nominal, drawn = BenchmarkPlant(), drawn_plants(n_draws, seed)
    # (1 + n_draws, 1), the nominal one first
    drawn_parts = {name: np.concatenate([[[getattr(nominal, name)]], getattr(drawn, name)]) for name in _DRAWN}
    motions = [recorded or _motion(seed, number) for number in range(n_draws + 1)]
    duration = recorded.duration if recorded else _DURATION
    time: Samples = np.arange(round(duration * building.SAMPLE_RATE), dtype=np.float64) / building.SAMPLE_RATE
    acceleration = building.INTENSITY * np.column_stack([motion.sample(time) for motion in motions])
    n_batch = max(1, int(_BATCH * _DURATION / duration))
    batches = [slice(first, first + n_batch) for first in range(0, n_draws + 1, n_batch)]
    done, total = 0, len(batches) * len(time)

    def advance(steps: int) -> None:
        nonlocal done
        done += steps
        progress("benchmark", done, total)

    losses = tuple(_stream(seed, number, _OF_LOSS) for number in range(n_draws + 1))
    parts = []
    for batch in batches:
        plants = replace(nominal, **{name: values[batch] for name, values in drawn_parts.items()})
        parts.append(_run(plants, acceleration[:, batch], losses[batch], advance))
    # (n_scenarios, n_compensators, n_cases, 1 + n_draws, n_criteria)
    found = np.concatenate([part for part, _ in parts], axis=3)
    left_at = np.concatenate([left_at for _, left_at in parts], axis=3)
    return Benchmark(
        nominal=found[0, :, :, 0],
        nominal_left_at=left_at[0, :, :, 0],
        draws={name: found[i, :, :, 1:] for i, name in enumerate(SCENARIOS)},
        left_at={name: left_at[i, :, :, 1:] for i, name in enumerate(SCENARIOS)},
        sample_rate=building.SAMPLE_RATE,
        duration=duration,
    )


def _stream(seed: int, number: int, purpose: int) -> np.random.SeedSequence:
    """Return the random stream of a draw, 0 for the nominal plant, which other seeds and draws have nothing of."""
    return np.random.SeedSequence(seed, spawn_key=(number, purpose))


def _motion(seed: int, number: int) -> Earthquake:
    own = int(_stream(seed, number, _OF_MOTION).generate_state(1, np.uint64)[0])
    return Earthquake(rms=_MOTION, rise=2.0, strong=9.0, decay=3.0, seed=own)


def _run(
    plants: BenchmarkPlant,
    acceleration: Samples,
    losses: tuple[np.random.SeedSequence, ...],
    advance: Callable[[int], None],
) -> tuple[Samples, Samples]:
    """Return the criteria, (n_scenarios, n_compensators, n_cases, n_draws, n_criteria), and when tests left."""
    n_draws, n_scenarios = acceleration.shape[1], len(SCENARIOS)
    shape = len(acceleration), len(COMPENSATORS), len(Case), n_scenarios * n_draws
    # single precision is enough for what is compared, and fits into memory
    record = np.empty((4, *shape), dtype=np.float32)
    left_at = np.full(shape[1:], np.nan)
    first = 0
    for chunk in _loop(plants, acceleration, losses).chunks(_CHUNK):
        rows = slice(first, first + len(chunk.time))
        record[0, rows], record[1, rows] = chunk.command[..., 0], chunk.measured[..., 0]
        record[2, rows], record[3, rows] = chunk.displacement[..., 1], chunk.displacement[..., 2]
        left_at = np.fmin(left_at, chunk.diverged_at)
        first += len(chunk.time)
        advance(len(chunk.time))
    found = np.full((*shape[1:], len(CRITERIA)), np.nan)
    for k, case in enumerate(Case):
        reference = building.reference_response(case, acceleration, 1.0 / building.SAMPLE_RATE)
        for i, j in np.ndindex(len(COMPENSATORS), n_scenarios * n_draws):
            left = left_at[i, k, j]
            end = len(acceleration) if np.isnan(left) else round(left * building.SAMPLE_RATE)
            command, measured, *upper = record[:, :end, i, k, j].astype(np.float64)
            floors = np.column_stack([measured, *upper])
            found[i, k, j] = building.criteria(
                command, measured, floors, reference[:end, j % n_draws], building.SAMPLE_RATE
            )
    by_scenario = np.moveaxis(found.reshape(*shape[1:3], n_scenarios, n_draws, -1), 2, 0)
    # there is no building to compare with whose specimen changes
    by_scenario[[name in _CHANGING for name in SCENARIOS], ..., 3:] = np.nan
    return by_scenario, np.moveaxis(left_at.reshape(*shape[1:3], n_scenarios, n_draws), 2, 0)


def _loop(plants: BenchmarkPlant, acceleration: Samples, losses: tuple[np.random.SeedSequence, ...]) -> HybridLoop:
    """Return all tests as one loop; along the last axis of the draws are those of each scenario in turn."""
    n_draws, duration = acceleration.shape[1], len(acceleration) / building.SAMPLE_RATE
    changes, loses = (np.repeat([each in names for each in SCENARIOS], n_draws) for names in (_CHANGING, _LOSING))
    plants = replace(plants, **{name: np.tile(getattr(plants, name), (len(SCENARIOS), 1)) for name in _DRAWN})
    softened = replace(plants, stiffness=np.where(changes[:, None], _SOFTENED, 1.0) * plants.stiffness)
    parts = [building.numerical_building(case, plants).matrices for case in Case]
    full = len(changes), 3, 3
    # each (n_cases, n_draws, 3, 3)
    mass, damping, stiffness = (
        np.stack([np.broadcast_to(each, full) for each in cases]) for cases in zip(*parts, strict=True)
    )
    when, nominal = (0.5 * duration, 0.5), BenchmarkPlant()
    numerator = [float(np.asarray(nominal.gain * nominal.a1b0))]
    inverse = FixedInverse.of_plant(numerator, nominal.denominator.tolist(), order=_ORDER)
    forces = [building.ground_forces(case, np.tile(acceleration, (1, len(SCENARIOS)))) for case in Case]
    return HybridLoop(
        structure=Structure(mass, damping, stiffness),
        specimen=ChangingElement(building.specimen(plants), building.specimen(softened), *when),
        excitation=np.stack(forces, axis=1),
        dt=1.0 / building.SAMPLE_RATE,
        duration=duration,
        transfer=ChangingTransfer(TransferChain((plants,)), TransferChain((softened,)), *when),
        compensator=SideBySide(inverse, _SLOWEST, SampleLoss(_LOSS, losses, loses)),
        coupling=building.COUPLING,
        draws=(len(COMPENSATORS), len(Case), len(changes)),
        stroke=_STROKE,
    )


@dataclass(frozen=True, eq=False)
class SampleLoss:
    """Measured samples that do not reach the compensators, the same ones for each of them; one by one, at random.

    Parameters
    ----------
    probability : of a sample.
    streams : one for each draw.
    tests : (n_tests,), which of the tests lose samples; the test `i` is of the draw `i` modulo the number of draws.
    """

    probability: float
    streams: tuple[np.random.SeedSequence, ...]
    tests: NDArray[np.bool_]


def lost_samples(loss: SampleLoss, n_cases: int) -> Lost:
    """Yield which samples of each step are lost, (n_cases, n_tests)."""
    streams = [np.random.default_rng(stream) for stream in loss.streams]
    while True:
        drawn = [stream.random((_DRAWN_AHEAD, n_cases)) for stream in streams]
        for lost in np.stack(drawn, axis=-1) < loss.probability:
            yield np.asarray(np.tile(lost, len(loss.tests) // len(streams)) & loss.tests)


@dataclass(frozen=True)
class SideBySide:
    """All compensators in one loop, the first axis of whose tests is one for each.

    Parameters
    ----------
    nominal : inverse of the nominal actuator.
    slowest : Hz, the lowest dominant frequency of the motion.
    loss : of measured samples; None for none.
    """

    nominal: FixedInverse
    slowest: float
    loss: SampleLoss | None = None

    def begin(self, dt: float, shape: tuple[int, ...]) -> RunningSideBySide:
        """Return all of them at rest."""
        settings = (by_name(name, self.nominal, self.slowest) for name in COMPENSATORS)
        loss = None if self.loss is None else lost_samples(self.loss, shape[1])
        return RunningSideBySide(tuple(each.begin(dt, shape[1:]) for each in settings), loss)


class RunningSideBySide:
    """Running compensators, the first on the tests 0 of the first axis, and so on."""

    def __init__(self, compensators: tuple[Compensator, ...], loss: Lost | None = None) -> None:
        self.compensators, self._loss = compensators, loss

    def compensate(self, command: Samples) -> Samples:
        """Return what each compensator sends."""
        pairs = zip(self.compensators, command, strict=True)
        return np.stack([compensator.compensate(part) for compensator, part in pairs])

    def observe(self, command: Samples, measured: Samples) -> None:
        """Let each compensator learn from its tests; lost samples are NaN."""
        if self._loss is not None:
            measured = np.where(next(self._loss)[..., np.newaxis], np.nan, measured)
        for compensator, of_command, of_measured in zip(self.compensators, command, measured, strict=True):
            compensator.observe(of_command, of_measured)
