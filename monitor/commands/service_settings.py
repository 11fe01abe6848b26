"""Options of `synchroscope monitor`, and the settings they result in."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from monitor.commands.options import (
    add_indicator_options,
    add_insecure_option,
    add_ready_option,
    add_reliability_options,
    add_setting,
    duration,
    given_settings,
    limits_given,
)
from monitor.commands.sinks import add_broker_option, add_viewer_options, broker_overrides
from monitor.system.default_endpoints import SIGNALS

if TYPE_CHECKING:
    from monitor.config import AlarmSettings, Settings


def add_service_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("config", nargs="?", type=Path, help="settings in TOML; options take precedence")
    add_setting(parser, "stream.connect", "URL")
    add_setting(parser, "stream.bind", "URL")
    add_setting(parser, "stream.rig", "NAME")
    add_setting(parser, "stream.sample_rate", "HZ", option="rate")
    for role in ("command", "measured", "force"):
        add_setting(parser, f"stream.{role}", "NAME")
    add_setting(parser, "results.publish", "URL")
    add_setting(parser, "results.requests", "URL")
    add_setting(parser, "record.path", "PATH", option="record")
    parser.add_argument("--duration", type=duration, metavar="S", help="stop after so long: s, or 5min")
    parser.add_argument("--once", action="store_true", help="stop after the stream's last block")
    parser.add_argument("--until-closed", action="store_true", help="stop when standard input is closed")
    add_ready_option(parser)
    parser.add_argument("--quiet", action="store_true", help="print errors only")
    parser.add_argument("--check", action="store_true", help="run the checks before a test, print them and exit")
    parser.add_argument("--json", action="store_true", help="with --check: print one JSON object")
    add_setting(parser, "security.keys", "DIR")
    add_setting(parser, "security.rig_key", "FILE")
    add_insecure_option(parser)
    add_indicator_options(parser)
    add_reliability_options(parser)
    add_alarm_option(parser)
    add_broker_option(parser)
    add_viewer_options(parser)


def service_settings(arguments: argparse.Namespace) -> Settings:
    """Return the settings of the options and the file; options take precedence.

    Raises
    ------
    ValueError : some are invalid; the message names all of them.
    """
    from monitor.config import load_settings

    given = given_settings(arguments)
    stream, reliability = given.get("stream", {}), given.get("reliability", {})
    if "bind" in stream:
        # an empty endpoint replaces those of the file by none
        stream["bind"] = [url for url in stream["bind"] if url]
    if limits := limits_given(arguments):
        reliability["limits"] = {name: (limit.reject, limit.accept) for name, limit in limits.items()}
    given |= {"reliability": reliability, "mqtt": broker_overrides(arguments)}
    settings = with_alarms(load_settings(arguments.config, given), arguments.alarm)
    if not settings.stream.connect and not settings.stream.bind:
        stream_settings = settings.stream.model_copy(update={"connect": (SIGNALS,)})
        settings = settings.model_copy(update={"stream": stream_settings})
    return settings


def add_alarm_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--alarm``."""
    parser.add_argument(
        "--alarm",
        action="append",
        default=[],
        metavar="VALUE=WARN[:TRIP][,deadband=D]",
        help="alarm when a value is above WARN or TRIP (below, if TRIP is the lower one), or outside LOW..HIGH; "
        "VALUE=:TRIP for a trip only; for example delay=0.02:0.05,deadband=0.002 or ratio=0.9..1.1; repeatable",
    )


def with_alarms(settings: Settings, given: list[str]) -> Settings:
    """Return the settings with the limits in `given`, which replace the file's limits of the same value.

    Raises
    ------
    ValueError : one is malformed.
    """
    if not given:
        return settings
    from pydantic import ValidationError

    from monitor.config import AlarmSettings, LimitSettings

    limits = []
    for text in given:
        try:
            limits.append(LimitSettings.model_validate(_parse_limit(text)))
        except ValidationError as problem:
            message = problem.errors()[0]["msg"].removeprefix("Value error, ")
            raise ValueError(f"--alarm {text}: {message[:1].lower()}{message[1:]}") from None
    values = [limit.value for limit in limits]
    for value in values:
        if values.count(value) > 1:
            raise ValueError(f"--alarm {value}: given twice; write {value}=WARN:TRIP, bounds as LOW..HIGH")
    replaced = {(limit.alarm_name, limit.actuator) for limit in limits}
    others = [limit for limit in settings.alarms.limit if (limit.alarm_name, limit.actuator) not in replaced]
    alarms: AlarmSettings = settings.alarms.model_copy(update={"limit": (*others, *limits)})
    return settings.model_copy(update={"alarms": AlarmSettings(**alarms.model_dump())})


def _parse_limit(text: str) -> dict[str, Any]:
    value, _, rest = text.partition("=")
    levels, comma, deadband = rest.partition(",deadband=")
    warn, colon, trip = levels.partition(":")
    try:
        if not value or not levels or (colon and not trip):
            raise ValueError
        limit: dict[str, Any] = {"value": value, "deadband": float(deadband) if comma else 0.0}
        for name, level in (("warn", warn), ("trip", trip)):
            if level:
                limit[name] = parse_boundary(level)
    except ValueError:
        raise ValueError(f"--alarm {text}: write for example delay=0.02,deadband=0.002 or ratio=0.9..1.1") from None
    if not all(math.isfinite(bound) for level in (warn, trip) if level for bound in map(float, level.split(".."))):
        raise ValueError(f"--alarm {text}: limits must be finite")
    numbers = [limit.get(name) for name in ("warn", "trip")]
    if isinstance(numbers[0], float) and isinstance(numbers[1], float) and numbers[1] < numbers[0]:
        limit["side"] = "below"
    return limit


def parse_boundary(text: str) -> float | tuple[float, float]:
    """Return ``LIMIT`` or ``LOW..HIGH``; raises ValueError."""
    low, dots, high = text.partition("..")
    return (float(low), float(high)) if dots else float(text)
