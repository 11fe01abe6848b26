"""What all sections of the settings have in common, and the numbers that several of them ask for."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

Positive = Annotated[float, Field(gt=0.0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0.0, allow_inf_nan=False)]
# a window of a day: longer ones are a slip of the unit, and would not fit in memory
Window = Annotated[float, Field(gt=0.0, le=86400.0)]
Time = Annotated[float, Field(allow_inf_nan=False)]
# a single name may be written without brackets
Names = Annotated[tuple[str, ...], BeforeValidator(lambda given: (given,) if isinstance(given, str) else given)]
Share = Annotated[float, Field(ge=0.0, le=1.0)]


class Section(BaseModel):
    """A table of the settings file: frozen, and without a key that nobody knows."""

    model_config = ConfigDict(frozen=True, extra="forbid")
