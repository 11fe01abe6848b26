"""The compensators of the study, side by side in one loop: each acts on tests of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monitor.compensation.base import Compensator
from monitor.compensation.fixed_inverse import FixedInverse
from monitor.compensation.methods import METHODS, by_name
from monitor.messages.blocks import Samples

COMPENSATORS = tuple(METHODS)
Shape = tuple[int, ...]
_DRAWN_AHEAD = 1024  # steps


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


class RunningLoss:
    """Sample loss in motion, of `n_cases` cases by the tests."""

    def __init__(self, loss: SampleLoss, n_cases: int) -> None:
        self._loss, self._n_cases = loss, n_cases
        self._streams = [np.random.default_rng(stream) for stream in loss.streams]
        self._ready: Iterator[NDArray[np.bool_]] = iter(())

    def __next__(self) -> NDArray[np.bool_]:
        """Return which samples of the next step are lost, (n_cases, n_tests)."""
        lost = next(self._ready, None)
        if lost is None:
            drawn = [stream.random((_DRAWN_AHEAD, self._n_cases)) for stream in self._streams]
            self._ready = iter(np.stack(drawn, axis=-1) < self._loss.probability)
            lost = next(self._ready)
        return np.asarray(np.tile(lost, len(self._loss.tests) // len(self._streams)) & self._loss.tests)


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

    def begin(self, dt: float, shape: Shape) -> RunningSideBySide:
        """Return all of them at rest."""
        settings = (by_name(name, self.nominal, self.slowest) for name in COMPENSATORS)
        loss = None if self.loss is None else RunningLoss(self.loss, shape[1])
        return RunningSideBySide(tuple(each.begin(dt, shape[1:]) for each in settings), loss)


class RunningSideBySide:
    """Running compensators, the first on the tests 0 of the first axis, and so on."""

    def __init__(self, compensators: tuple[Compensator, ...], loss: RunningLoss | None = None) -> None:
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
