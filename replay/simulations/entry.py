"""Entries of the catalogue of simulations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from replay.formats.base import Recording

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
