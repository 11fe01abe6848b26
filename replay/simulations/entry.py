"""What can be simulated and streamed: an entry of the catalogue."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from replay.formats.base import Recording

HYBRID_TESTS = "Hybrid tests"
MODEL_VALIDATION = "Model validation"
PAPER_CASES = "Cases of the paper on tracking indicators"

Build = Callable[[float, int], Recording]


@dataclass(frozen=True, slots=True)
class ExperimentModel:
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
    model: ExperimentModel | None = None
