"""The alarms of a service, with what was kept of them when it last ran."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from monitor.alarms.monitor import AlarmMonitor
    from monitor.config import Settings
    from monitor.recording.alarm_file import AlarmFile


def kept_alarms(settings: Settings, say: Callable[[str], None]) -> tuple[AlarmMonitor, AlarmFile | None]:
    """Return the alarms, as they were left, and the file that keeps them; None where none does.

    A file that cannot be read is put aside: the alarms are then fresh, and that is said.

    Raises
    ------
    ValueError : the settings name a file in a folder that does not exist.
    """
    from monitor.alarms.limits import warm_up
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
    notes: tuple[str, ...] = ()
    try:
        if (state := alarm_file.read(path)) is not None:
            alarms.restore(state)
    except (OSError, ValueError) as problem:
        notes = (_put_aside(path, problem),)
        say(notes[0])
    return alarms, alarm_file.AlarmFile(path, alarms.snapshot, notes)


def alarm_path(settings: Settings) -> Path | None:
    """Return the file that keeps the alarms: the one of the settings, or one beside the recording."""
    if settings.alarms.state:
        return Path(settings.alarms.state)
    if not settings.record.path:
        return None
    path = Path(settings.record.path)
    if path.is_dir() or settings.record.path.endswith(("/", "\\")):
        return path / "alarms.json"
    return path.with_suffix(".alarms.json")


def _put_aside(path: Path, problem: Exception) -> str:
    from monitor.recording import alarm_file

    why = " ".join(str(problem).split())[:60]
    try:
        aside = alarm_file.put_aside(path)
    except OSError:
        return f"alarms start afresh, {path.name} cannot be read: {why}"
    return f"alarms start afresh, {path.name} is now {aside.name}: {why}"
