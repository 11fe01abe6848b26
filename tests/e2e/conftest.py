"""The real command in processes of its own, watched: a traceback or a process left behind fails the test."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic, sleep

import numpy as np
import pytest

from tests.e2e.desktop import Desktop, Screen

ROOT = Path(__file__).parents[2]
PATIENCE = 90.0
ANY_PORT = "tcp://127.0.0.1:*"
_ENDPOINT = r"tcp://127\.0\.0\.1:\d+"


class Running:
    """One ``synchroscope`` command at work."""

    def __init__(self, folder: Path, words: tuple[object, ...], environment: dict[str, str]) -> None:
        self.words = [str(word) for word in words]
        self._out, self._err = folder / "out", folder / "err"
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "monitor", *self.words],
                cwd=ROOT,
                env={**os.environ, **environment},
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
            assert monotonic() < deadline, f"{self.words} never said {pattern!r}: {self.err}"
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
            raise AssertionError(f"{self.words} does not end: {self.err}") from None
        assert code in (None, self.process.returncode), (self.words, self.process.returncode, self.err)
        return self

    def stop(self, number: int = signal.SIGTERM, code: int | None = 0) -> Running:
        """Send a signal and wait for the end."""
        self.process.send_signal(number)
        return self.wait(code)

    def kill(self) -> Running:
        """End it as a power cut would."""
        return self.stop(signal.SIGKILL, -signal.SIGKILL)

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


Start = Callable[..., Running]


@pytest.fixture
def start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    """Start ``synchroscope`` with the given words; names and values are added to its environment."""
    running: list[Running] = []

    def run(*words: object, **environment: str) -> Running:
        running.append(Running(tmp_path_factory.mktemp("process"), words, environment))
        return running[-1]

    yield run
    wrong = [text for one in running for text in one.finish()]
    assert not wrong, "\n".join(wrong)


@pytest.fixture(scope="session")
def screen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Screen]:
    """A screen that nobody sees."""
    for name in ("Xvfb", "xdotool"):
        if shutil.which(name) is None:
            pytest.skip(f"{name} is not installed")
    screen = Screen(tmp_path_factory.mktemp("screen"))
    yield screen
    screen.close()


@pytest.fixture
def desktop(warm_kernels: None, screen: Screen, start: Start, tmp_path: Path) -> Iterator[Desktop]:
    """Windows of the command on that screen, and somebody before them."""
    desktop = Desktop(screen, start, tmp_path / "home")
    yield desktop
    left = desktop.clear()
    assert not left, f"processes were left behind: {left}"


@pytest.fixture
def free_url() -> str:
    """An endpoint that nobody uses at the moment."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return f"tcp://127.0.0.1:{taken.getsockname()[1]}"


@pytest.fixture
def record(tmp_path: Path) -> Callable[..., Path]:
    """Write a record of two actuators and the index of each sample as CSV."""

    def write(samples: int = 6000, rate: float = 1000.0, name: str = "record.csv") -> Path:
        rng = np.random.default_rng(5)
        t = np.arange(samples) / rate
        north, south = np.sin(31.0 * t) + 0.2, 2.0 * np.sin(25.0 * t)
        columns = {
            "t [s]": t,
            "north_command [mm]": north,
            "north_measured [mm]": 0.9 * np.sin(31.0 * (t - 0.012)) + 1e-3 * rng.standard_normal(samples),
            "north_force [kN]": 12.0 * north,
            "south_command [mm]": south,
            "south_measured [mm]": 2.2 * np.sin(25.0 * (t - 0.02)) - 0.4,
            "count": np.arange(float(samples)),
            "oil": 40.0 + rng.standard_normal(samples),
        }
        rows = np.column_stack(list(columns.values())).tolist()
        path = tmp_path / name
        path.write_text("\n".join([",".join(columns), *(",".join(map(repr, row)) for row in rows)]) + "\n")
        return path

    return write
