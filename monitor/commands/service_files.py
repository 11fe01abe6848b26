"""Files of a running service: its recording with the free disk space, and the state of its alarms."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from monitor.system.safe_text import elide_left

if TYPE_CHECKING:
    from monitor.alarms.monitor import AlarmMonitor
    from monitor.commands.process import StopSignals
    from monitor.config import Settings
    from monitor.messages.health import RecordingStatus
    from monitor.recording import Recorder
    from monitor.recording.alarm_file import AlarmStateFile
    from monitor.wire.native import Encoder

_STUCK_TIMEOUT = 6.5  # s without progress of a recording that is being closed
_LAST_TIMEOUT = 1.0  # s for the file after that
_POLL_INTERVAL = 0.1  # s
_MESSAGE_INTERVAL = 2.0  # s
_QUEUE_BYTES = 1 << 28
_MEMORY_SHARE = 8  # part of a limited memory that samples may take which wait for the disk


def is_folder(path: str) -> bool:
    """Whether `path` names a folder for run files rather than one file."""
    return path.endswith(("/", "\\")) or Path(path).is_dir()


def open_recorder(settings: Settings, encoder: Encoder) -> Recorder:
    """Start recording to the file, or to a new file in the folder, of ``record.path``; raises ValueError."""
    from monitor.commands.process import memory_limit
    from monitor.recording import RecorderProcess, RunWriter
    from monitor.system.worker_process import POSSIBLE

    # absolute: programs that read it in the health report may have another working directory
    path = Path(settings.record.path).absolute()
    if is_folder(settings.record.path):
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            why = problem.strerror or problem
            raise ValueError(f"record.path: cannot create the folder {path}: {why}; record in another") from problem
        path /= f"run-{datetime.now(UTC):%Y%m%d-%H%M%S}.h5"
    stored, interval = settings.model_dump(mode="json"), settings.record.flush_interval
    limit = memory_limit()
    room = int(min(_QUEUE_BYTES, limit / _MEMORY_SHARE))
    recorder = (
        RecorderProcess(path, stored, interval, room, encoder)
        if POSSIBLE
        else RunWriter(path, stored, interval, room)
    )
    if room < _QUEUE_BYTES:
        limited = f"the memory is limited to {limit / (1 << 20):.0f} MB"
        recorder.notes.add(f"{limited}: at most {room >> 20} MB of samples wait for the disk")
    return recorder


def recording_state(recorder: Recorder, disk: DiskSpace, dropped: int) -> RecordingStatus:
    """Return the state of the recording for the health report; `dropped`: samples that the service dropped itself."""
    from monitor.messages.health import RecordingStatus

    return RecordingStatus(
        str(recorder.path),
        recorder.recorded,
        recorder.unrecorded + dropped,
        disk.free,
        recorder.unwritten_age,
        recorder.breaks,
        recorder.waiting,
        recorder.queue_filled,
    )


def close_recorder(
    recorder: Recorder,
    stop: StopSignals,
    log: Callable[[str], None],
    *,
    failed: bool,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Close the recording, with the outcome ``truncated`` if the service failed.

    All that waits is written, however long that takes; what remains is reported every 2 s, and discarded at a further
    stop signal, or, of a service that was stopped or has failed, where 6.5 s pass in which the disk takes nothing.
    """
    from monitor.recording.layout import TRUNCATED

    outcome, signals = TRUNCATED if failed else None, stop.count
    moved = reported = clock()
    before = (-1, -1, -1.0)
    while not recorder.finish(outcome, _POLL_INTERVAL):
        now, state = clock(), (recorder.recorded, recorder.waiting, recorder.queue_filled)
        if state != before:
            moved, before = now, state
        stuck = now - moved >= _STUCK_TIMEOUT and (failed or stop.received)
        if stuck or stop.count > signals:
            break
        if now - reported >= _MESSAGE_INTERVAL:
            reported = now
            log(f"{recorder.waiting} samples wait to be stored in {recorder.path}; stop again to discard them")
    recorder.close(outcome, timeout=_LAST_TIMEOUT)


def unrecorded_message(recorder: Recorder) -> str:
    """Return one line about samples that are not in the file; empty if all are."""
    lost = f"{recorder.unrecorded} samples were not recorded" if recorder.unrecorded else ""
    if recorder.disk_hangs:
        hangs = f"{recorder.path}: the disk does not respond and the file is not closed"
        return f"{'; '.join(filter(None, (hangs, lost)))}; once it does, run: synchroscope recover {recorder.path}"
    if recorder.failed:
        return "; ".join(filter(None, (f"{recorder.path}: cannot be written: {recorder.failed}", lost)))
    return lost and f"{recorder.path}: {lost}"


UNKNOWN = -1


class DiskSpace:
    """Free space on the disk of `folder`, bytes, updated every `interval` s.

    A thread measures it, because a network disk may hang.

    Parameters
    ----------
    measure : returns the free bytes of a folder; replaced in tests.
    """

    def __init__(self, folder: Path, interval: float = 5.0, measure: Callable[[Path], int] | None = None) -> None:
        self._folder = folder
        self._interval = interval
        self._measure = measure or (lambda of: shutil.disk_usage(of).free)
        self._stopping = threading.Event()
        self.free = self._measured()
        self._thread = threading.Thread(target=self._run, name="disk-space", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stopping.wait(self._interval):
            self.free = self._measured()

    def _measured(self) -> int:
        try:
            return self._measure(self._folder)
        except OSError:
            return UNKNOWN

    def close(self) -> None:
        """Stop measuring; a second call does nothing."""
        self._stopping.set()
        # not longer: the disk may hang
        self._thread.join(0.5)


_MAX_NAME = 50  # bytes of each of two file names in a note
_MAX_REASON = 66  # bytes that remain in the note


def restore_alarms(settings: Settings) -> tuple[AlarmMonitor, AlarmStateFile | None]:
    """Return the alarms with their saved state, and the file that saves them; None without one.

    A damaged file is moved aside: the alarms then start from normal, and a note in the stream reports it.

    Raises
    ------
    ValueError : the folder of the file does not exist, the file cannot be read, or another service uses it.
    """
    from monitor.alarms.monitor import AlarmMonitor
    from monitor.recording import alarm_file

    alarms = AlarmMonitor(settings.alarms, settings.stream.stale_after, settings.indicators.window)
    path = alarm_path(settings)
    if path is None:
        return alarms, None
    if not path.parent.is_dir():
        raise ValueError(f"alarms.state: {path}: the folder {path.parent} does not exist")
    check_not_folder(path)
    notes: tuple[str, ...] = ()
    try:
        lock = alarm_file.lock(path)
    except BlockingIOError:
        raise ValueError(f"alarms.state: {path} is used by another service: name another file for this one") from None
    try:
        if (state := alarm_file.read_state(path)) is not None:
            alarms.restore(state)
    except OSError as problem:
        if lock is not None:
            alarm_file.unlock(path, lock)
        # its content may be intact and is not discarded
        raise ValueError(f"alarms: {path} cannot be read: {problem.strerror or problem}") from problem
    except ValueError as problem:
        notes = (_move_aside(path, problem),)
    return alarms, alarm_file.AlarmStateFile(path, alarms.snapshot, notes, lock=lock)


def check_not_folder(path: Path) -> None:
    """Raise ValueError if the alarm state file is a folder."""
    if path.is_dir():
        raise ValueError(f"alarms.state: {path} is a folder: name a file in it, such as {path / 'alarms.json'}")


def alarm_path(settings: Settings) -> Path | None:
    """Return the alarm state file: that of the settings, or one next to the recording; None without both."""
    if settings.alarms.state:
        return Path(settings.alarms.state)
    if not settings.record.path:
        return None
    path = Path(settings.record.path)
    if is_folder(settings.record.path):
        return path / "alarms.json"
    return path.with_suffix(".alarms.json")


def _move_aside(path: Path, problem: Exception) -> str:
    from monitor.recording import alarm_file

    name = elide_left(path.name, _MAX_NAME)
    why = " ".join(str(problem).split())
    if len(why.encode()) > _MAX_REASON:
        why = why.encode()[: _MAX_REASON - 3].decode(errors="ignore") + "…"
    try:
        aside = alarm_file.move_aside(path)
    except OSError:
        return f"alarms start from normal, {name} cannot be read: {why}"
    return f"alarms start from normal, {name} is now {elide_left(aside.name, _MAX_NAME)}: {why}"
