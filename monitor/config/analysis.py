"""Settings of the indicators and of the reliability of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from monitor.catalogue import CATALOGUE
from monitor.config.section import Names, NotNegative, Positive, Section, Share, Time, Window, setting


def _rising(band: tuple[float, float]) -> tuple[float, float]:
    if band[0] >= band[1]:
        raise ValueError("must rise from low to high")
    return band


def _not_falling(limit: tuple[float, float]) -> tuple[float, float]:
    if limit[0] > limit[1]:
        raise ValueError("must be [reject below, accept from], the first not above the second")
    return limit


Band = Annotated[tuple[NotNegative, Positive], AfterValidator(_rising)]
Limit = Annotated[tuple[Share, Share], AfterValidator(_not_falling)]

if TYPE_CHECKING:
    Measure = str
else:
    Measure = Literal[tuple(CATALOGUE)]
MEASURES: tuple[Measure, ...] = tuple(CATALOGUE)


def _measure_label(name: str) -> str:
    """Return the name of a measure with the capitals of its curves: ``PAEI adaptive``."""
    label, text = next((output.label for output in CATALOGUE[name].outputs), ""), name.replace("_", " ")
    return label + text[len(label) :] if text.startswith(label.casefold()) else text


class GateSettings(Section):
    """Gate of a measure: amplitudes of the command below which it has no value."""

    gate: NotNegative = setting(
        0.0, "Gate", "Smallest amplitude of the command with valid values, in the command's unit."
    )
    relative_gate: Annotated[float, Field(ge=0.0, lt=1.0)] = setting(
        0.02, "Relative gate", "Likewise, as a share of the largest amplitude sustained for two windows."
    )


class BandSettings(Section):
    """Band of a measure that has one."""

    band: Band | None = setting(
        None, "Band", "Range of the dominant frequency.", unit="Hz", empty="up to a tenth of the sample rate"
    )


class ShareSettings(Section):
    """Share of a measure that gives an added damping."""

    share: Annotated[float, Field(gt=0.0, le=1.0)] | None = setting(
        None,
        "Specimen's share",
        "The specimen's share of the structure's stiffness: the added damping is then that of the test.",
        empty="per unit of share; without a force no warning of it",
    )


class FrequencyDomainSettings(ShareSettings, GateSettings, BandSettings):
    """Settings of FDB."""

    peak: Literal["command", "own"] = setting(
        "command",
        "FDB peak",
        "The spectral peak at which FDB reads each signal; as printed, each at its own.",
        labels=("the command's", "each its own, as printed"),
    )
    taper: Literal["hann", "hamming", "blackman", "rectangular"] = setting(
        "hann", "FDB taper", "Window function of FDB's spectrum."
    )
    image_correction: bool = setting(
        True,
        "Negative-frequency correction",
        "Removes the negative-frequency image from FDB's bin; without it FDB is inexact for a few cycles.",
    )
    delay_of: Literal["motion", "tone"] = setting(
        "motion",
        "FDB delay",
        "FDB's delay of the whole motion, correct in an earthquake too; or of the dominant tone, as printed.",
        labels=("of the motion", "of the tone, as printed"),
    )


class PhaseAmplitudeSettings(GateSettings):
    """Settings of PAEI, over a fixed window and over an adaptive one."""

    noise_correction: bool = setting(
        True, "PAEI noise correction", "Without it PAEI is the regression of the printed equation."
    )


class EnergyErrorSettings(ShareSettings, GateSettings):
    """Settings of HSEM."""


class SpecimenSettings(GateSettings):
    """Settings of the specimen's stiffness, damping and energy."""

    yield_displacement: Positive | None = setting(
        None,
        "Yield displacement",
        "Displacement at which the specimen yields, in the unit of measured: its ductility is counted from it.",
        empty="no ductility",
    )


class CorrelationSettings(BandSettings):
    """Settings of a measure that correlates the two signals."""

    max_delay: Positive = setting(0.1, "Largest delay", "Largest delay that the correlation searches.", unit="s")


class BroadbandSettings(GateSettings, CorrelationSettings):
    """Settings of the broadband delay."""


class PassSettings(Section):
    """Settings of all measures together."""

    measures: Annotated[tuple[Measure, ...], Field(min_length=1)] = setting(
        MEASURES,
        "Measures",
        "Indicators to compute; each one omitted saves computing time.",
        labels=tuple(map(_measure_label, CATALOGUE)),
    )
    window: Window = setting(
        2.0,
        "Window",
        "Length of the sliding window: 2.5 cycles of the slowest motion of interest; a longer one responds later.",
        unit="s",
    )
    every: Annotated[int, Field(ge=1, lt=1 << 31)] = setting(
        1,
        "Decimation",
        "A row of results for every N samples; the values do not depend on it.",
        unit="samples",
        empty="at most 200 rows a second",
    )
    bandpass: Band | None = setting(
        None,
        "Band-pass filter",
        "Filters command, measured and force alike before all computations.",
        unit="Hz",
        empty="no filter",
    )
    bridge: NotNegative = setting(
        0.0,
        "Bridged gap",
        "Longest gap of lost or bad samples that is interpolated; longer ones cost the windows that hold them.",
        unit="s",
    )


class IndicatorSettings(
    BroadbandSettings,
    SpecimenSettings,
    EnergyErrorSettings,
    PhaseAmplitudeSettings,
    FrequencyDomainSettings,
    PassSettings,
):
    """Settings of the indicators: those of each measure, of all together, and of the transfer function's average."""

    transfer_segment: Window = setting(
        4.0, "Transfer-function segment", "Frequency resolution is 1 / this length.", unit="s"
    )
    transfer_memory: Positive = setting(
        20.0, "Transfer-function memory", "Time constant of the exponential average.", unit="s"
    )


class ReliabilityLimits(Section):
    """Limits of the reliabilities, [reject below, accept from]; those not given are not used in the decision."""

    instantaneous: Limit | None = setting(
        None,
        "Instantaneous limits",
        "Rejected below the first, accepted from the second, 0 to 1.",
        empty="no decision",
    )
    first_passage: Limit | None = setting(
        None, "First-passage limits", "Likewise for the first-passage reliability.", empty="no decision"
    )
    accumulated: Limit | None = setting(
        None, "Accumulated limits", "Likewise for the accumulated reliability.", empty="no decision"
    )
    windowed: Limit | None = setting(
        None, "Windowed limits", "Likewise for the windowed reliability.", empty="no decision"
    )


class ReliabilitySettings(Section):
    """Reliability of a model: its ensemble and channel, tolerance, limits of the decision."""

    channel: Names = setting(
        (), "Channel", "The channel that the ensemble predicts; one for each of several sites.", empty="no model"
    )
    ensemble: Names = setting(
        (),
        "Ensemble",
        "Realizations of the response, .npz or HDF5; a file for each channel.",
        empty="no model",
        opens="files",
    )
    tolerance: str | float = setting(
        "8%",
        "Tolerance",
        "A share such as 8%, a number in the channel's unit, or a file with columns time,tolerance.",
    )
    policy: Literal["literal", "floored", "peak", "absolute", "varying"] | None = setting(
        None,
        "Tolerance reference",
        "Reference of a relative tolerance.",
        empty="follows from the tolerance",
        labels=(
            "follows from the tolerance",
            "literal: the model's value",
            "floored: the value, not below the reference",
            "peak: the reference",
            "absolute: none",
            "varying: a file",
        ),
    )
    reference: Positive | None = setting(
        None,
        "Reference",
        "Reference value of floored and peak, in the channel's unit.",
        empty="rms or peak of the model's mean",
    )
    start: Time = setting(0.0, "Start", "Time of the model's start after the rig's first sample.", unit="s")
    shift: Time = setting(
        0.0, "Shift", "Time by which the channel is read later, as found by synchroscope validate.", unit="s"
    )
    window: Window = setting(1.0, "Window", "Length of the windowed reliability's window.", unit="s")
    after: NotNegative | None = setting(
        None, "Earliest decision", "Time before the first decision.", unit="s", empty="a tenth of the ensemble"
    )
    limits: ReliabilityLimits = ReliabilityLimits()

    @model_validator(mode="after")
    def _one_ensemble_a_channel(self) -> Self:
        channels, ensembles = len(self.channel), len(self.ensemble)
        if channels != ensembles:
            raise ValueError(
                f"channels and ensembles go in pairs: there are {channels} and {ensembles} "
                "(options --response and --ensemble)"
            )
        if not channels and self.model_fields_set:
            given = ", ".join(sorted(self.model_fields_set))
            raise ValueError(f"{given} without a model: give channel and ensemble too (--response and --ensemble)")
        return self
