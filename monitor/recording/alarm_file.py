"""Alarm state file: the alarms' state across restarts of the service."""

from __future__ import annotations

import contextlib
import itertools
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from monitor.messages import Sink
from monitor.messages.alarms import AlarmReport, AlarmState
from monitor.messages.blocks import Event
from monitor.recording.queues import NoteQueue
from monitor.system.safe_text import elide_left

if sys.platform != "win32":
    import fcntl

_SHELF_INTERVAL = 30.0  # s between updates of the remaining shelving time
_MAX_BYTES = 1 << 22
_CLOSE_TIMEOUT = 1.0  # s; a disk may hang


class AlarmStateFile(Sink):
    """A sink that saves the alarms' state after every transition and change of limits; `notes` reports errors.

    A thread writes, so that a disk that hangs does not block the service; of several waiting states only the newest
    is written. An error is reported once, as a note in the stream, and writing is tried again at the next transition.

    Parameters
    ----------
    path : the file, in an existing folder; it is replaced as a whole and readable by its owner only.
    snapshot : returns the state to save; called by `alarms` and `close`.
    notes : initial notes, for example that an older file could not be read.
    clock : s, monotonic.
    lock : of the file, from `lock`; released by `close`.
    """

    def __init__(
        self,
        path: Path,
        snapshot: Callable[[], bytes],
        notes: tuple[str, ...] = (),
        clock: Callable[[], float] = time.monotonic,
        lock: int | None = None,
    ) -> None:
        self.path = path
        self._lock = lock
        self._snapshot = snapshot
        self.notes = NoteQueue(notes)
        self._clock = clock
        self._saved_at = clock()
        self._error_reported = False
        self._closed = False
        self._waiting: bytes | None = None
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="alarm-file", daemon=True)
        self._thread.start()

    def alarms(self, report: AlarmReport) -> None:
        """Save the state after transitions, and every 30 s while an alarm is shelved."""
        now = self._clock()
        due = now - self._saved_at >= _SHELF_INTERVAL
        if report.transitions or (due and any(a.state is AlarmState.SHELVED for a in report.alarms)):
            self._saved_at = now
            self._save()

    def event(self, event: Event) -> None:
        """Save the state after a change of limits."""
        if event.limits is not None:
            self._save()

    def close(self) -> None:
        """Save the last state; a second call does nothing."""
        if not self._closed:
            self._closed = True
            self._save()
        self._thread.join(_CLOSE_TIMEOUT)
        if self._lock is not None:
            unlock(self.path, self._lock)
            self._lock = None

    def _save(self) -> None:
        state = self._snapshot()
        with self._changed:
            self._waiting = state
            self._changed.notify()

    def _run(self) -> None:
        last = False
        while not last:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting is not None)
                state, self._waiting = self._waiting or b"", None
                last = self._closed
            try:
                atomic_write(self.path, state)
            except OSError as problem:
                if not self._error_reported:
                    self._error_reported = True
                    self.notes.add(
                        f"alarms are not saved in {elide_left(str(self.path))}: {problem.strerror or problem}"
                    )


def _lock_path(path: Path) -> Path:
    return path.with_name(f".{path.name}.lock")


def lock(path: Path) -> int | None:
    """Reserve an alarm state file for this service, until `unlock` or the end of the process; None if not possible.

    Raises
    ------
    BlockingIOError : another service uses the file.
    """
    if sys.platform == "win32":
        return None
    while True:
        try:
            descriptor = os.open(_lock_path(path), os.O_RDWR | os.O_CREAT, 0o600)
        except OSError:
            # the folder is not writable, which is noted when the state cannot be saved
            return None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # another service may have removed it between the two calls
            if os.path.samestat(os.fstat(descriptor), _lock_path(path).stat()):
                return descriptor
        except BlockingIOError:
            os.close(descriptor)
            raise
        except FileNotFoundError:
            pass
        except OSError:
            # a network file system without locks
            os.close(descriptor)
            return None
        os.close(descriptor)


def unlock(path: Path, descriptor: int) -> None:
    """Release the file for other services."""
    with contextlib.suppress(OSError):
        _lock_path(path).unlink()
    os.close(descriptor)


def read_state(path: Path) -> bytes | None:
    """Return the saved state, None without a file; raises OSError, or ValueError for a file that is too long."""
    try:
        with path.open("rb") as file:
            found = file.read(_MAX_BYTES + 1)
    except FileNotFoundError:
        return None
    if len(found) > _MAX_BYTES:
        raise ValueError(f"more than {_MAX_BYTES} bytes")
    return found


def move_aside(path: Path) -> Path:
    """Rename an unusable file to a free name ending in ``.bad``, ``.bad.1`` ...; return that name."""
    names = (path.name + ".bad" + (f".{n}" if n else "") for n in itertools.count())
    aside = next(each for each in map(path.with_name, names) if not os.path.lexists(each))
    path.rename(aside)
    return aside


def atomic_write(path: Path, content: bytes) -> None:
    """Replace a file as a whole, readable by its owner only; after an error the old one is unchanged."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        # otherwise the old file may be back after a power cut
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
