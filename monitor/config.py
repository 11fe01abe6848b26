"""The settings of a service: frozen, checked, and read from TOML with every problem told at once."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

Positive = Annotated[float, Field(gt=0.0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0.0, allow_inf_nan=False)]


def _rising(band: tuple[float, float]) -> tuple[float, float]:
    if band[0] >= band[1]:
        raise ValueError("must rise from low to high")
    return band


Band = Annotated[tuple[NotNegative, Positive], AfterValidator(_rising)]
# a window of a day: longer ones are a slip of the unit, and would not fit in memory
Window = Annotated[float, Field(gt=0.0, le=86400.0)]


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
    """Where results go: the endpoint that is bound, and whether the signals are sent on beside them."""

    publish: str = "tcp://127.0.0.1:5556"
    signals: bool = True


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
            document[section].update(keys)
    try:
        return Settings.model_validate(document)
    except ValidationError as problem:
        where = f"{path}: " if path is not None else ""
        # a list whose every word is wrong is called too short as well
        errors = problem.errors()
        told = [e for e in errors if e["type"] != "too_short" or not any(_within(o["loc"], e["loc"]) for o in errors)]
        raise SettingsError(where + "; ".join(_sentence(e["loc"], e["msg"]) for e in told)) from None


def _within(inner: tuple[int | str, ...], outer: tuple[int | str, ...]) -> bool:
    return len(inner) > len(outer) and inner[: len(outer)] == outer


def _sentence(location: tuple[int | str, ...], message: str) -> str:
    key = ".".join(str(part) for part in location)
    message = message.removeprefix("Value error, ")
    message = "there is no such setting" if "Extra inputs" in message else message[:1].lower() + message[1:]
    return f"{key}: {message}"
