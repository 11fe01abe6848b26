"""The settings of a service: frozen, checked, and read from TOML with every problem told at once."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Literal, Self, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

Positive = Annotated[float, Field(gt=0.0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0.0, allow_inf_nan=False)]


def _rising(band: tuple[float, float]) -> tuple[float, float]:
    if band[0] >= band[1]:
        raise ValueError("must rise from low to high")
    return band


Band = Annotated[tuple[NotNegative, Positive], AfterValidator(_rising)]
# a window of a day: longer ones are a slip of the unit, and would not fit in memory
Window = Annotated[float, Field(gt=0.0, le=86400.0)]
Time = Annotated[float, Field(allow_inf_nan=False)]
# a single name may be written without brackets
Names = Annotated[tuple[str, ...], BeforeValidator(lambda given: (given,) if isinstance(given, str) else given)]
Share = Annotated[float, Field(ge=0.0, le=1.0)]


def _not_falling(limit: tuple[float, float]) -> tuple[float, float]:
    if limit[0] > limit[1]:
        raise ValueError("must be [reject under, accept from], the first not above the second")
    return limit


Limit = Annotated[tuple[Share, Share], AfterValidator(_not_falling)]

Measure = Literal["fdb", "paei", "paei_adaptive", "ti", "nrmse", "peak_error", "hsem", "broadband", "fei", "transfer"]
MEASURES: tuple[Measure, ...] = get_args(Measure)


class SettingsError(ValueError):
    """The settings cannot be used; the text is one line and names every key that is wrong."""


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class IndicatorSettings(_Section):
    """What the indicators need to know; see their classes for what each setting means."""

    measures: Annotated[tuple[Measure, ...], Field(min_length=1)] = MEASURES
    window: Window = 2.0
    every: Annotated[int, Field(ge=1, lt=1 << 31)] = 1
    band: Band | None = None
    peak: Literal["command", "own"] = "command"
    taper: Literal["hann", "hamming", "blackman", "rectangular"] = "hann"
    image_correction: bool = True
    noise_correction: bool = True
    gate: NotNegative = 0.0
    relative_gate: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.02
    max_delay: Positive = 0.1
    bandpass: Band | None = None
    transfer_segment: Window = 4.0
    transfer_memory: Positive = 20.0


class ReliabilityLimits(_Section):
    """Of each reliability: [reject under, accept from]; those that are not given decide nothing."""

    instantaneous: Limit | None = None
    first_passage: Limit | None = None
    accumulated: Limit | None = None
    windowed: Limit | None = None


class ReliabilitySettings(_Section):
    """A model that is judged live: which channel its ensemble speaks of, and how far it may be off.

    ``channel`` and ``ensemble`` (a file) name the response; both empty: no model is judged; several of each: several
    sites. ``tolerance`` is a share such as "8%" or a number in the response's unit, ``policy`` and ``reference`` are
    those of `monitor.reliability.tolerance.Tolerance`; a varying one is a file of ``time,tolerance``. The ensemble's
    time 0 is ``start`` s after the rig's, and the channel is read ``shift`` s later. ``window`` in s is the windowed
    reliability's; no decision falls in the first ``after`` s, by default a tenth of the ensemble's time.
    """

    channel: Names = ()
    ensemble: Names = ()
    tolerance: str | float = "8%"
    policy: Literal["literal", "floored", "peak", "absolute", "varying"] | None = None
    reference: Positive | None = None
    start: Time = 0.0
    shift: Time = 0.0
    window: Window = 1.0
    after: NotNegative | None = None
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


class StreamSettings(_Section):
    """Where the signals come from.

    ``rig`` lets one rig through (empty: the first that speaks); ``sample_rate`` in Hz serves plain senders that
    say neither a rate nor times; ``stale_after`` in s is how long silence is taken for a pause.
    """

    connect: tuple[str, ...] = ()
    bind: tuple[str, ...] = ()
    rig: str = ""
    sample_rate: Positive | None = None
    stale_after: Positive = 5.0


class ResultSettings(_Section):
    """Where results go: the endpoint that is bound, and whether the signals are sent on beside them.

    ``requests`` is the endpoint where clients ask for something, such as a note; empty or "none": nowhere.
    """

    publish: str = "tcp://127.0.0.1:5556"
    signals: bool = True
    requests: str = "tcp://127.0.0.1:*"


class RecordSettings(_Section):
    """Where runs are kept: a file, or a folder in which every run gets a name; empty: nowhere."""

    path: str = ""
    flush_interval: Positive = 0.5


class Settings(_Section):
    """All settings of a service."""

    stream: StreamSettings = StreamSettings()
    indicators: IndicatorSettings = IndicatorSettings()
    results: ResultSettings = ResultSettings()
    record: RecordSettings = RecordSettings()
    reliability: ReliabilitySettings = ReliabilitySettings()


def load_settings(path: Path | None, overrides: dict[str, dict[str, object]]) -> Settings:
    """Read a TOML file, if there is one, and lay `overrides` (section -> key -> value) over it.

    Raises
    ------
    SettingsError : the file cannot be read, or settings are wrong: all of them are named.
    """
    document: dict[str, dict[str, object]] = {}
    if path is not None:
        try:
            document = tomllib.loads(path.read_text(encoding="utf-8"))
        except OSError as problem:
            raise SettingsError(f"{path}: cannot be read ({problem.strerror})") from problem
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
            raise SettingsError(f"{path}: is not TOML: {problem}") from problem
    for section, keys in overrides.items():
        if keys and isinstance(document.setdefault(section, {}), dict):
            document[section] = _laid_over(document[section], keys)
    try:
        return Settings.model_validate(document)
    except ValidationError as problem:
        where = f"{path}: " if path is not None else ""
        # a list whose every word is wrong is called too short as well
        errors = problem.errors()
        told = [e for e in errors if e["type"] != "too_short" or not any(_within(o["loc"], e["loc"]) for o in errors)]
        raise SettingsError(where + "; ".join(_sentence(e["loc"], e["msg"]) for e in told)) from None


def _laid_over(section: dict[str, object], keys: dict[str, object]) -> dict[str, object]:
    """Return a section with `keys` over its own; of a table within it only what is given is replaced."""
    merged = section | keys
    for key, value in keys.items():
        held = section.get(key)
        if isinstance(held, dict) and isinstance(value, dict):
            merged[key] = held | value
    return merged


def _within(inner: tuple[int | str, ...], outer: tuple[int | str, ...]) -> bool:
    return len(inner) > len(outer) and inner[: len(outer)] == outer


def _sentence(location: tuple[int | str, ...], message: str) -> str:
    key = ".".join(str(part) for part in location)
    message = message.removeprefix("Value error, ")
    message = "there is no such setting" if "Extra inputs" in message else message[:1].lower() + message[1:]
    return f"{key}: {message}"
