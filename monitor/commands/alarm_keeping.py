"""The alarms of a service, with what was kept of them when it last ran."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from monitor.alarms.monitor import AlarmMonitor
    from monitor.config import Settings
    from monitor.recording.alarm_file import AlarmFile

_MOST_NAME = 50  # bytes of each of two names in a note
_MOST_WHY = 66  # bytes, which the note has room for beside the names


def kept_alarms(settings: Settings) -> tuple[AlarmMonitor, AlarmFile | None]:
    """Return the alarms, as they were left, and the file that keeps them; None where none does.

    A file that is damaged is put aside: the alarms are then fresh, and the stream has a note of it.

    Raises
    ------
    ValueError : the settings name a file in a folder that does not exist, or one that cannot be read now.
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
    from monitor.recording.notes import the_end

    name = the_end(path.name, _MOST_NAME)
    why = " ".join(str(problem).split()).replace("the alarms that were kept", "its alarms")
    if len(why.encode()) > _MOST_WHY:
        why = why.encode()[: _MOST_WHY - 3].decode(errors="ignore") + "…"
    try:
        aside = alarm_file.put_aside(path)
    except OSError:
        return f"alarms start afresh, {name} cannot be read: {why}"
    return f"alarms start afresh, {name} is now {the_end(aside.name, _MOST_NAME)}: {why}"
