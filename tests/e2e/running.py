"""A command in a process of its own, whose words are read and whose end is judged."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep

ROOT = Path(__file__).parents[2]
PATIENCE = 90.0
ANY_PORT = "tcp://127.0.0.1:*"
COMMAND = (sys.executable, "-m", "monitor")
_ENDPOINT = r"tcp://127\.0\.0\.1:\d+"


class HangError(AssertionError):
    """A process did not say, or do, what it should within its time."""


class Running:
    """One command at work, as a rule ``synchroscope``.

    Parameters
    ----------
    folder : for what it prints.
    words : its arguments.
    environment : variables that are added to ours.
    program : what is started, with what stands before `words`.
    """

    def __init__(
        self, folder: Path, words: tuple[object, ...], environment: dict[str, str], program: Sequence[str] = COMMAND
    ) -> None:
        self.words = [str(word) for word in words]
        self._out, self._err = folder / "out", folder / "err"
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self.process = subprocess.Popen(
                [*program, *self.words],
                cwd=ROOT,
                env={**os.environ, "PYTHONFAULTHANDLER": "1", **environment},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )

    @property
    def out(self) -> str:
        return self._out.read_text(encoding="utf-8")

    @property
    def err(self) -> str:
        return self._err.read_text(encoding="utf-8")

    def until(self, pattern: str) -> str:
        """Wait until standard error matches, and return the match or its first group."""
        deadline = monotonic() + PATIENCE
        while True:
            over = self.process.poll() is not None
            found = re.search(pattern, self.err)
            if found:
                return found[found.re.groups and 1]
            assert not over, f"{self.words} ended without saying {pattern!r}: {self.err}"
            if monotonic() >= deadline:
                raise HangError(f"{self.words} never said {pattern!r}: {self.err}")
            sleep(0.01)

    @property
    def listening(self) -> str:
        """Where a monitor takes signals."""
        return self.until(rf"listening on ({_ENDPOINT})")

    @property
    def results(self) -> str:
        """Where a monitor publishes."""
        return self.until(rf"results on ({_ENDPOINT})")

    @property
    def publishing(self) -> str:
        """Where a replay publishes."""
        return self.until(rf"publishing on ({_ENDPOINT})")

    def wait(self, code: int | None = 0) -> Running:
        """Wait for the end; it must end with `code`, unless that is None."""
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            # it prints where each thread is
            self.process.send_signal(signal.SIGABRT)
            self.process.wait()
            raise HangError(f"{self.words} does not end: {self.err}") from None
        assert code in (None, self.process.returncode), (self.words, self.process.returncode, self.err)
        return self

    def stop(self, number: int = signal.SIGTERM, code: int | None = 0) -> Running:
        """Send a signal and wait for the end."""
        self.process.send_signal(number)
        return self.wait(code)

    def kill(self) -> Running:
        """End it, and nothing that it has started."""
        return self.stop(signal.SIGKILL, -signal.SIGKILL)

    def power_cut(self) -> Running:
        """End it and all that it has started."""
        for pid in family(self.process.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return self.wait(None)

    def finish(self) -> list[str]:
        """Return what is wrong with what is left, and end it."""
        wrong = []
        if self.process.poll() is None:
            wrong.append(f"{self.words} is still running: {self.err}")
            self.process.kill()
        self.process.wait()
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
            wrong.append(f"{self.words} left a process behind")
        except ProcessLookupError:
            pass
        # of a child of its own, too; ours never mean to raise
        if "Traceback" in self.err or "Exception ignored" in self.err:
            wrong.append(f"{self.words}: {self.err}")
        return wrong


def family(pid: int) -> list[int]:
    """Return a process and its children."""
    children = []
    for place in Path("/proc").iterdir():
        # a process may end meanwhile; its name, in brackets, may have blanks
        with suppress(OSError):
            if place.name.isdecimal() and int((place / "stat").read_text().rpartition(")")[2].split()[1]) == pid:
                children.append(int(place.name))
    return [pid, *children]


def wait_for_library(process: subprocess.Popen[str], name: str) -> None:
    """Wait until the process has loaded a library of this name."""
    maps = Path(f"/proc/{process.pid}/maps")
    deadline = monotonic() + 30.0
    while name not in maps.read_text():
        assert monotonic() < deadline and process.poll() is None
        sleep(0.01)


def with_small_files(size: int) -> list[str]:
    """Return the command with files limited to so many bytes, as on a disk that is full.

    The new process limits itself: one that is forked from threads may wait for a lock of theirs for ever.
    """
    limit = f"resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, resource.RLIM_INFINITY))"
    return [sys.executable, "-c", f"import os, resource, sys; {limit}; os.execv(sys.argv[1], sys.argv[1:])", *COMMAND]
