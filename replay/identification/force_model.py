"""The model whose missing force is sought: mass, damping, stiffness, and what each channel of a record measures."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, ValidationError, model_validator

from monitor.config.section import Names, Positive, Section, SettingsError, problem_text
from monitor.messages.blocks import Samples
from monitor.system.files import check_regular
from replay.formats.units import si_factor
from sim.laboratory.structure import Structure
from sim.missing_force.law_terms import terms

_MAX_BYTES = 1 << 20

Number = Annotated[float, Field(allow_inf_nan=False)]
Matrix = Number | tuple[Number, ...] | tuple[tuple[Number, ...], ...]
Dof = Annotated[int, Field(ge=1)]


def channel_factor(unit: str, quantity: str, where: str) -> float:
    """Return the SI value of the unit of a channel; 1 of an empty one.

    Raises
    ------
    ValueError : it is not a unit of that quantity.
    """
    try:
        return si_factor(unit, quantity) if unit.strip() else 1.0
    except ValueError as problem:
        raise ValueError(f"{where}: {problem}") from None


class SensorChannel(Section):
    """A channel that measures the motion of one dof."""

    channel: str | int
    dof: Dof
    quantity: Literal["displacement", "velocity", "acceleration"]
    unit: str = ""
    noise: Positive | None = None


class LoadChannel(Section):
    """A channel with a force on one dof."""

    channel: str | int
    dof: Dof
    unit: str = ""
    factor: Number = 1.0


class GroundChannel(Section):
    """A channel with the acceleration of the ground; displacements are relative to it."""

    channel: str | int
    unit: str = ""
    influence: tuple[Number, ...] | None = None
    absolute: bool = True


class MissingForce(Section):
    """Where a force may be missing: at one dof, or between two."""

    dof: Dof | None = None
    between: tuple[Dof, Dof] | None = None
    law: Names | None = None

    @model_validator(mode="after")
    def _place(self) -> MissingForce:
        if (self.dof is None) == (self.between is None):
            raise ValueError("give either dof or between")
        if self.between is not None and self.between[0] == self.between[1]:
            raise ValueError(f"between {self.between[0]} and itself: give two dofs")
        if self.law is not None:
            terms(self.law)
        return self

    @property
    def name(self) -> str:
        """For tables."""
        return (
            f"at dof {self.dof}" if self.between is None else f"between dofs {self.between[0]} and {self.between[1]}"
        )


class ForceModel(Section):
    """What the file of a model has: SI units, dofs from 1."""

    mass: Matrix
    damping: Matrix = 0.0
    stiffness: Matrix
    sensor: tuple[SensorChannel, ...] = Field(min_length=1)
    load: tuple[LoadChannel, ...] = ()
    ground: GroundChannel | None = None
    missing: tuple[MissingForce, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _fits(self) -> ForceModel:
        dofs = self.structure().dofs
        given = [(f"sensor {i}", one.dof) for i, one in enumerate(self.sensor, 1)]
        given += [(f"load {i}", one.dof) for i, one in enumerate(self.load, 1)]
        for key, dof in given:
            if dof > dofs:
                raise ValueError(f"{key}: dof {dof}: the mass matrix has dofs 1 to {dofs}")
        for number, place in enumerate(self.missing, 1):
            largest = max(place.between or (place.dof or 1,))
            if largest > dofs:
                raise ValueError(f"missing {number}: dof {largest}: the mass matrix has dofs 1 to {dofs}")
        if len({(place.dof, place.between) for place in self.missing}) < len(self.missing):
            raise ValueError("missing: two forces at one place: give each once")
        return self

    def structure(self) -> Structure:
        """Return the linear structure."""
        influence = None if self.ground is None else self.ground.influence
        return Structure(np.array(self.mass), np.array(self.damping), np.array(self.stiffness), influence)

    def places(self) -> Samples:
        """Return (n, f): what one newton of each missing force does at each dof."""
        result = np.zeros((self.structure().dofs, len(self.missing)))
        for column, place in zip(result.T, self.missing, strict=True):
            if place.between is None:
                column[(place.dof or 1) - 1] = 1.0
            else:
                column[place.between[0] - 1], column[place.between[1] - 1] = 1.0, -1.0
        return result


def read_document(path: Path) -> dict[str, Any]:
    """Return the contents of a model's TOML file.

    Raises
    ------
    SettingsError : it cannot be read.
    """
    try:
        check_regular(path, _MAX_BYTES)
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as problem:
        raise SettingsError(f"{path}: cannot be read ({problem.strerror or problem})") from problem
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise SettingsError(f"{path}: is not TOML: {problem}") from problem


def read_force_model(path: Path) -> ForceModel:
    """Return the model in a TOML file.

    Raises
    ------
    SettingsError : it cannot be read, or does not fit; one line that names every key.
    """
    document = read_document(path)
    try:
        return ForceModel.model_validate(document)
    except ValidationError as problem:
        lines: dict[str, None] = {}
        errors = problem.errors()
        for error in errors:
            # a list of invalid items is reported as too short as well
            if error["type"] == "too_short" and any(
                len(each["loc"]) > len(error["loc"]) and each["loc"][: len(error["loc"])] == error["loc"]
                for each in errors
            ):
                continue
            # a matrix is tried as a number, a row and rows: one line is enough
            key, location = "", error["loc"][:1] if error["loc"][:1] in _MATRICES else error["loc"]
            for part in location:
                key = f"{key} {part + 1}" if isinstance(part, int) else f"{key}: {part}" if key else part
            wrong = location in _MATRICES and error["type"] != "missing"
            text = "must be a number, a diagonal or a matrix of numbers" if wrong else _text(error)
            lines[": ".join(filter(None, (key, text)))] = None
        raise SettingsError(*lines, where=f"{path}: ") from None


_MATRICES = (("mass",), ("damping",), ("stiffness",))
_TABLES: dict[Any, str] = {
    ("missing",): "where a force may be missing: add [[missing]] with dof or between",
    ("sensor",): "what is measured: add [[sensor]] with channel, dof and quantity",
}


def _text(error: Any) -> str:
    if error["type"] in ("missing", "too_short") and error["loc"] in _TABLES:
        return _TABLES[error["loc"]]
    return "is missing" if error["type"] == "missing" else problem_text(error)
