"""The specimen whose parameters are followed live: the table ``[specimen]`` of a model's file."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError, model_validator

from monitor.config.section import NotNegative, Positive, Section, SettingsError, problem_lines, setting
from replay.identification.force_model import read_document
from sim.fitting.driven_specimen import DrivenSpecimen

Followed = Literal["stiffness", "damping", "yield_displacement", "hardening"]


class SpecimenModel(Section):
    """What the table ``[specimen]`` has; SI units."""

    actuator: str = setting("", "Actuator", "Whose measured displacement moves the specimen.", empty="the only one")
    stiffness: Positive = setting(..., "Stiffness", "Initial stiffness.", unit="N/m")
    damping: NotNegative = setting(0.0, "Damping", "Viscous damping.", unit="N s/m")
    yield_displacement: Positive | None = setting(
        None, "Yield displacement", "Where it yields.", unit="m", empty="linear"
    )
    hardening: Annotated[float, Field(ge=0.0, le=1.0)] = setting(
        0.0, "Hardening", "Stiffness far after yielding over the initial one."
    )
    exponent: Annotated[float, Field(ge=1.0, le=100.0)] = setting(2.0, "Exponent", "Sharpness of the yield point.")
    follow: tuple[Followed, ...] = setting(
        ("stiffness",), "Followed", "Parameters that may drift.", min_length=1, max_length=4
    )

    @model_validator(mode="after")
    def _fits(self) -> SpecimenModel:
        if len(set(self.follow)) < len(self.follow):
            raise ValueError("follow: a parameter appears twice: give each once")
        self.law()
        return self

    def law(self) -> DrivenSpecimen:
        """Return the specimen as it is assumed."""
        limit = math.inf if self.yield_displacement is None else self.yield_displacement
        return DrivenSpecimen(self.stiffness, self.damping, limit, self.hardening, self.exponent, self.follow)


def read_specimen_model(path: Path) -> SpecimenModel:
    """Return the specimen in a TOML file.

    Raises
    ------
    SettingsError : it cannot be read, or does not fit; one line that names every key.
    """
    table = read_document(path).get("specimen")
    if not isinstance(table, dict):
        raise SettingsError(f"{path}: has no table [specimen]: add it, with stiffness in N/m and follow")
    try:
        return SpecimenModel.model_validate(table)
    except ValidationError as problem:
        raise SettingsError(*problem_lines(problem, SpecimenModel), where=f"{path}: specimen: ") from None
