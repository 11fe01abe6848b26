"""The tables of the thermal challenge, out of the files in `thermal_data`, and which rows belong to which level."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType

import numpy as np

from sim.arrays import Samples
from sim.models.thermal_slab import SlabTest

LEVELS = ("Low", "Medium", "High")
ACCREDITATION, APPLICATION, CHECK = "accreditation", "application", "check"
# of Table 1, with the configuration `CHECK`
CHECK_CONDUCTIVITY, CHECK_HEAT_CAPACITY = 0.05, 0.4e6
# of eq. 1: not more than this share of the units may be hotter at the front at that time
LIMIT, LIMIT_TIME, ALLOWED = 900.0, 1000.0, 0.01
# x / L of the thermocouples of Table 8
DEPTHS = {"front": 0.0, "middle": 0.5, "back": 1.0}


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredRuns:
    """Records of nominally identical tests, without measurement error.

    Parameters
    ----------
    time : (n_times,), s, from zero.
    temperature : (n_times, n_experiments), degC.
    """

    time: Samples
    temperature: Samples


@dataclass(frozen=True, slots=True, eq=False)
class Material:
    """Table 4, each row from a specimen of its own.

    Parameters
    ----------
    temperature : (n,), degC, that the specimen was characterized at.
    conductivity : (n,), W/(m K).
    heat_capacity : (n,), J/(m^3 K).
    """

    temperature: Samples
    conductivity: Samples
    heat_capacity: Samples


@cache
def material(level: str) -> Material:
    """Return the rows of Table 4 that a level has: 6, 20 or 30.

    Raises
    ------
    ValueError : there is no such level.
    """
    known = LEVELS[: _rank(level) + 1]
    rows = [row for row in _rows("material") if row[0] in known]
    return Material(*_fixed(np.array([row[1:] for row in rows], dtype=np.float64).T))


@cache
def configurations() -> Mapping[str, SlabTest]:
    """Return Tables 5, 7 and 1 and the application, by the name in the first column."""
    found = {name: SlabTest(float(flux), float(thickness)) for name, flux, thickness in _rows("configurations")}
    return MappingProxyType(found)


@cache
def validation_runs(level: str = LEVELS[-1]) -> Mapping[str, MeasuredRuns]:
    """Return the experiments of Table 6 that a level has, by configuration: 1, 2 or 4 of each.

    Raises
    ------
    ValueError : there is no such level.
    """
    number = _experiments(level, 2)
    return MappingProxyType({each: _runs("validation", f"{each}.", "", number) for each in "1234"})


@cache
def accreditation_runs(level: str = LEVELS[-1]) -> Mapping[str, MeasuredRuns]:
    """Return the experiments of Table 8 that a level has, by depth (`DEPTHS`): 1, 1 or 2.

    Raises
    ------
    ValueError : there is no such level.
    """
    number = _experiments(level, 3)
    return MappingProxyType({depth: _runs("accreditation", "", f".{depth}", number) for depth in DEPTHS})


@cache
def front_runs(level: str = LEVELS[-1]) -> Mapping[str, MeasuredRuns]:
    """Return all fronts that a level has, of Tables 6 and 8, by the name of the configuration.

    Raises
    ------
    ValueError : there is no such level.
    """
    fronts = dict(validation_runs(level)) | {ACCREDITATION: accreditation_runs(level)["front"]}
    return MappingProxyType(fronts)


@cache
def check_values() -> MeasuredRuns:
    """Return Table 2: eq. 2 at the front for the numbers of Table 1, (10,) and (10, 1)."""
    time, temperature = _fixed(np.array(_rows("check"), dtype=np.float64).T)
    return MeasuredRuns(time, temperature[:, None])


def _runs(name: str, before: str, after: str, number: int) -> MeasuredRuns:
    header, *_ = _lines(name)
    columns = [header.index(f"{before}{experiment}{after}") for experiment in range(1, number + 1)]
    values = np.array(_rows(name), dtype=np.float64)
    return MeasuredRuns(*_fixed((values[:, 0], values[:, columns])))


def _experiments(level: str, column: int) -> int:
    return int(_rows("levels")[_rank(level)][column])


def _rank(level: str) -> int:
    if level not in LEVELS:
        raise ValueError(f"level of data {level!r}: choose {', '.join(LEVELS[:-1])} or {LEVELS[-1]}")
    return LEVELS.index(level)


def _fixed(arrays: tuple[Samples, ...] | Samples) -> tuple[Samples, ...]:
    """Return the arrays read-only, so that cached values cannot be changed."""
    fixed = tuple(np.ascontiguousarray(array) for array in arrays)
    for array in fixed:
        array.setflags(write=False)
    return fixed


def _rows(name: str) -> list[list[str]]:
    return _lines(name)[1:]


def _lines(name: str) -> list[list[str]]:
    text = files("sim.models").joinpath("thermal_data", f"{name}.csv").read_text(encoding="utf-8")
    return [line.split(",") for line in text.splitlines()]
