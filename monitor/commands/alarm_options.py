"""The option that sets limits: `--alarm VALUE=WARN:TRIP`."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from monitor.config import AlarmSettings, Settings

_Boundary = float | tuple[float, float]


def add_alarm_option(parser: argparse.ArgumentParser) -> None:
    """Offer limits of published values."""
    parser.add_argument(
        "--alarm",
        action="append",
        default=[],
        metavar="VALUE=WARN[:TRIP]",
        help="alarm where a value is above WARN or TRIP (below, where TRIP is the lower one), or out of LOW..HIGH; "
        "VALUE=:TRIP for a trip alone; for example broadband_delay=0.02:0.05 or broadband_ratio=0.9..1.1; repeatable",
    )


def with_alarms(settings: Settings, given: list[str]) -> Settings:
    """Return the settings with the limits that were `given`; one on the same value takes the place of the file's.

    Raises
    ------
    ValueError : one is not written so.
    """
    if not given:
        return settings
    from pydantic import ValidationError

    from monitor.config import AlarmSettings, LimitSettings

    limits = []
    for text in given:
        try:
            limits.append(LimitSettings.model_validate(_limit(text)))
        except ValidationError as problem:
            said = problem.errors()[0]["msg"].removeprefix("Value error, ")
            raise ValueError(f"--alarm {text}: {said[:1].lower()}{said[1:]}") from None
    values = [limit.value for limit in limits]
    for value in values:
        if values.count(value) > 1:
            raise ValueError(f"--alarm {value}: given twice; write {value}=WARN:TRIP, bounds as LOW..HIGH")
    own = {(limit.called, limit.actuator) for limit in limits}
    kept = [limit for limit in settings.alarms.limit if (limit.called, limit.actuator) not in own]
    alarms: AlarmSettings = settings.alarms.model_copy(update={"limit": (*kept, *limits)})
    return settings.model_copy(update={"alarms": AlarmSettings.model_validate(alarms.model_dump())})


def _limit(text: str) -> dict[str, Any]:
    value, _, levels = text.partition("=")
    warn, colon, trip = levels.partition(":")
    try:
        if not value or not levels or (colon and not trip):
            raise ValueError
        limit: dict[str, Any] = {"value": value}
        for name, level in (("warn", warn), ("trip", trip)):
            if level:
                limit[name] = _boundary(level)
    except ValueError:
        raise ValueError(
            f"--alarm {text}: write for example broadband_delay=0.02:0.05 or broadband_ratio=0.9..1.1"
        ) from None
    if not all(math.isfinite(bound) for level in (warn, trip) if level for bound in map(float, level.split(".."))):
        raise ValueError(f"--alarm {text}: limits are finite numbers")
    numbers = [limit.get(name) for name in ("warn", "trip")]
    if isinstance(numbers[0], float) and isinstance(numbers[1], float) and numbers[1] < numbers[0]:
        limit["side"] = "below"
    return limit


def _boundary(text: str) -> _Boundary:
    low, dots, high = text.partition("..")
    return (float(low), float(high)) if dots else float(text)
