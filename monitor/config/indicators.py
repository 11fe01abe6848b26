"""The settings of the indicators."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import AfterValidator, Field

from monitor.config.section import NotNegative, Positive, Section, Window


def _rising(band: tuple[float, float]) -> tuple[float, float]:
    if band[0] >= band[1]:
        raise ValueError("must rise from low to high")
    return band


Band = Annotated[tuple[NotNegative, Positive], AfterValidator(_rising)]

Measure = Literal["fdb", "paei", "paei_adaptive", "ti", "nrmse", "peak_error", "hsem", "broadband", "fei", "transfer"]
MEASURES: tuple[Measure, ...] = get_args(Measure)


class IndicatorSettings(Section):
    """What the indicators need to know; see their classes for what each setting means."""

    measures: Annotated[tuple[Measure, ...], Field(min_length=1)] = MEASURES
    window: Window = 2.0
    every: Annotated[int, Field(ge=1, lt=1 << 31)] = 1
    band: Band | None = None
    peak: Literal["command", "own"] = "command"
    taper: Literal["hann", "hamming", "blackman", "rectangular"] = "hann"
    image_correction: bool = True
    delay_of: Literal["motion", "tone"] = "motion"
    noise_correction: bool = True
    gate: NotNegative = 0.0
    relative_gate: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.02
    max_delay: Positive = 0.1
    bandpass: Band | None = None
    transfer_segment: Window = 4.0
    transfer_memory: Positive = 20.0
