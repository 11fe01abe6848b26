"""Alarms of the service: the option that sets limits, and the state file they are restored from."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from monitor.alarms.monitor import AlarmMonitor
    from monitor.config import AlarmSettings, Settings
    from monitor.recording.alarm_file import AlarmFile


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


_MOST_NAME = 50  # bytes of each of two names in a note
_MOST_WHY = 66  # bytes, which the note has room for beside the names


def kept_alarms(settings: Settings) -> tuple[AlarmMonitor, AlarmFile | None]:
    """Return the alarms, as they were left, and the file that keeps them; None where none does.

    A file that is damaged is put aside: the alarms are then fresh, and the stream has a note of it.

    Raises
    ------
    ValueError : the settings name a file in a folder that does not exist, or one that cannot be read now.
    """
    from monitor.alarms.conditions import warm_up
    from monitor.alarms.monitor import AlarmMonitor
    from monitor.recording import alarm_file

    # here and not at the first result, which must not wait for it
    warm_up()
    alarms = AlarmMonitor(settings.alarms, settings.stream.stale_after)
    path = alarm_path(settings)
    if path is None:
        return alarms, None
    if not path.parent.is_dir():
        raise ValueError(f"alarms.state: {path}: there is no folder {path.parent}")
    must_be_file(path)
    notes: tuple[str, ...] = ()
    try:
        if (state := alarm_file.read(path)) is not None:
            alarms.restore(state)
    except OSError as problem:
        # it may be whole: what stands in it is not thrown away
        raise ValueError(f"alarms: {path} cannot be read: {problem.strerror or problem}") from problem
    except ValueError as problem:
        # said by the service itself, as every note is
        notes = (_put_aside(path, problem),)
    return alarms, alarm_file.AlarmFile(path, alarms.snapshot, notes)


def must_be_file(path: Path) -> None:
    """Raise ValueError where alarms cannot be kept because a folder has the name of their file."""
    if path.is_dir():
        raise ValueError(f"alarms.state: {path} is a folder: name a file in it, such as {path / 'alarms.json'}")


def names_folder(path: str) -> bool:
    """Whether runs are recorded in a folder of that name, one file each, and not in one file."""
    return path.endswith(("/", "\\")) or Path(path).is_dir()


def alarm_path(settings: Settings) -> Path | None:
    """Return the file that keeps the alarms: the one of the settings, or one beside the recording."""
    if settings.alarms.state:
        return Path(settings.alarms.state)
    if not settings.record.path:
        return None
    path = Path(settings.record.path)
    if names_folder(settings.record.path):
        return path / "alarms.json"
    return path.with_suffix(".alarms.json")


def _put_aside(path: Path, problem: Exception) -> str:
    from monitor.recording import alarm_file
    from monitor.recording.notes import elide_left

    name = elide_left(path.name, _MOST_NAME)
    why = " ".join(str(problem).split())
    if len(why.encode()) > _MOST_WHY:
        why = why.encode()[: _MOST_WHY - 3].decode(errors="ignore") + "…"
    try:
        aside = alarm_file.put_aside(path)
    except OSError:
        return f"alarms start afresh, {name} cannot be read: {why}"
    return f"alarms start afresh, {name} is now {elide_left(aside.name, _MOST_NAME)}: {why}"
