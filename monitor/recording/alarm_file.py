"""The file that keeps alarms over a restart of the service."""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

from monitor.messages.alarms import AlarmReport, AlarmState
from monitor.messages.blocks import Event, ResultBlock, SignalBlock
from monitor.messages.health import Health
from monitor.messages.transfer import TransferBlock
from monitor.recording.notes import Notes, elide_left

_SHELF_INTERVAL = 30.0  # s after which the time that is left on the shelf is written anew
_MOST_BYTES = 1 << 22


class AlarmFile:
    """A sink that keeps the alarms' state after every transition; the inlet `notes` says what is wrong with it.

    A thread writes, so that a disk that hangs holds up nobody; of several states that wait only the newest is
    written. What cannot be written is told once, as a note in the stream, and tried again at the next transition.

    Parameters
    ----------
    path : the file; it is replaced as a whole, is its owner's alone, and its folder must exist.
    snapshot : gives what is kept; it is called by whoever calls `alarms` or `close`.
    notes : to be said at the start, such as that an older file could not be read.
    clock : s, monotonic.
    """

    def __init__(
        self,
        path: Path,
        snapshot: Callable[[], bytes],
        notes: tuple[str, ...] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.path = path
        self._snapshot = snapshot
        self.notes = Notes(notes)
        self._clock = clock
        self._written_at = clock()
        self._told = False
        self._closed = False
        self._waiting: bytes | None = None
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="alarm-file", daemon=True)
        self._thread.start()

    def alarms(self, report: AlarmReport) -> None:
        """Keep what a transition has changed, and now and then how long alarms stay shelved."""
        now = self._clock()
        due = now - self._written_at >= _SHELF_INTERVAL
        if report.transitions or (due and any(a.state is AlarmState.SHELVED for a in report.alarms)):
            self._written_at = now
            self._offer()

    def signals(self, block: SignalBlock) -> None:
        """Do nothing."""

    def results(self, block: ResultBlock) -> None:
        """Do nothing."""

    def transfer(self, block: TransferBlock) -> None:
        """Do nothing."""

    def event(self, event: Event) -> None:
        """Do nothing."""

    def health(self, health: Health) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Write the last state; a second call does nothing."""
        if not self._closed:
            self._closed = True
            self._offer()
        # no longer than that for a disk that hangs
        self._thread.join(1.0)

    def _offer(self) -> None:
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
                write_whole(self.path, state)
            except OSError as problem:
                if not self._told:
                    self._told = True
                    self.notes.add(
                        f"alarms are not kept in {elide_left(str(self.path))}: {problem.strerror or problem}"
                    )


def read(path: Path) -> bytes | None:
    """Return what the file keeps, None where there is none; raises OSError, or ValueError for one without end."""
    try:
        with path.open("rb") as file:
            found = file.read(_MOST_BYTES + 1)
    except FileNotFoundError:
        return None
    if len(found) > _MOST_BYTES:
        raise ValueError(f"more than {_MOST_BYTES} bytes")
    return found


def put_aside(path: Path) -> Path:
    """Rename a file that cannot be used, and return its new name; what was put aside before stays."""
    names = (path.name + ".bad" + (f".{n}" if n else "") for n in itertools.count())
    aside = next(each for each in map(path.with_name, names) if not os.path.lexists(each))
    path.rename(aside)
    return aside


def write_whole(path: Path, content: bytes) -> None:
    """Replace a file, or leave it as it was; nobody else can read it."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
        # or a machine that loses its power may have the file of before
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise
