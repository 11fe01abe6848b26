"""A desk with a screen that nobody sees: windows of the real command, keys pressed on it, and its pixels."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from signal import SIGKILL
from time import monotonic, sleep
from typing import Any

import numpy as np
from numpy.typing import NDArray

PATIENCE = 90.0
_WIDTH, _HEIGHT = 1280, 800
_STILL = 0.6  # s, in which a live picture is drawn a dozen times
_MANY = 12
_ABOVE, _BELOW = 0.15, 0.25
"""Shares of the screen that menus and the strip of health may take."""


def until(condition: Callable[[], Any], what: str, patience: float = PATIENCE) -> Any:
    """Wait until a condition holds, and return what it says."""
    deadline = monotonic() + patience
    while not (value := condition()):
        assert monotonic() < deadline, f"not within {patience:g} s: {what}"
        sleep(0.1)
    return value


class Screen:
    """An X server; its pixels are in a file."""

    def __init__(self, folder: Path) -> None:
        ours, theirs = os.pipe()
        size = f"{_WIDTH}x{_HEIGHT}x24"
        words = ["Xvfb", "-displayfd", str(theirs), "-screen", "0", size, "-fbdir", str(folder)]
        with (folder / "said").open("wb") as said:
            # without a client it would begin anew, and who connects at that moment is refused
            self._process = subprocess.Popen(
                [*words, "-nolisten", "tcp", "-noreset"], pass_fds=(theirs,), stdout=said, stderr=said
            )
        os.close(theirs)
        with os.fdopen(ours) as told:
            number = told.readline().strip()
        assert number, (folder / "said").read_text()
        self.display = f":{number}"
        self._pixels = folder / "Xvfb_screen0"

    def picture(self) -> NDArray[np.uint32]:
        """Return the colours, (height, width), 0xRRGGBB."""
        data = self._pixels.read_bytes()
        # a picture of `xwd`: numbers of the header have their most significant byte first
        header = np.frombuffer(data, ">u4", 25)
        begin, height, stride, n_colours = int(header[0]), int(header[5]), int(header[12]), int(header[19])
        rows = np.frombuffer(data, "<u4", height * stride // 4, begin + 12 * n_colours).reshape(height, -1)
        return rows[:, : int(header[4])] & 0xFFFFFF

    def tell(self, *words: str) -> str:
        """Let xdotool do something; return what it says, nothing where it fails."""
        environment = {**os.environ, "DISPLAY": self.display}
        done = subprocess.run(["xdotool", *words], env=environment, capture_output=True, text=True, check=False)
        return done.stdout.strip() if done.returncode == 0 else ""

    def close(self) -> None:
        self._process.terminate()
        self._process.wait()


class Desktop:
    """What somebody with one window open sees and does.

    Every process that is started here bears the folder of its settings in its environment, and is known by that.
    """

    def __init__(self, screen: Screen, start: Callable[..., Any], home: Path) -> None:
        self.screen, self.home = screen, home
        self._start = start
        self._mark = f"XDG_CONFIG_HOME={home / 'config'}".encode()
        for folder in ("config", "cache", "tmp"):
            (home / folder).mkdir(parents=True)

    @property
    def settings(self) -> Path:
        """The file where the window keeps its own."""
        return self.home / "config" / "synchroscope" / "synchroscope.ini"

    def start(self, *words: object) -> Any:
        """Start ``synchroscope`` with this screen."""
        return self._start(
            *words,
            DISPLAY=self.screen.display,
            QT_QPA_PLATFORM="xcb",
            XDG_CONFIG_HOME=str(self.home / "config"),
            XDG_CACHE_HOME=str(self.home / "cache"),
            TMPDIR=str(self.home / "tmp"),
        )

    def open(self, *words: object) -> Any:
        """Start it, and wait for its window to be there and to have the keys."""
        running = self.start(*words)
        until(lambda: self.window or running.process.poll() is not None, f"a window of {words}")
        assert running.process.poll() is None, running.err
        self.screen.tell("windowfocus", "--sync", self.window)
        return running

    @property
    def window(self) -> str:
        """Number of the window that is seen; empty where there is none."""
        return self.screen.tell("search", "--onlyvisible", "--name", "Synchroscope").rpartition("\n")[2]

    @property
    def title(self) -> str:
        return self.screen.tell("getwindowname", self.window)

    def titled(self, text: str) -> None:
        """Wait until the title begins so."""
        until(lambda: self.title.startswith(text), f"a title {text!r}; it is {self.title!r}")

    def press(self, *keys: str) -> None:
        """Press keys, one after the other: ``ctrl+q``."""
        if keys:
            self.screen.tell("key", "--delay", "30", *keys)

    def writes(self, text: str, service: Any, patience: float = 20.0) -> bool:
        """Write a note; whether the service says that it has it."""
        self.press("n")
        self.screen.tell("type", "--delay", "30", text)
        self.press("Return")
        with suppress(AssertionError):
            until(lambda: f" s: {text}" in service.err, "the note", patience)
        return f" s: {text}" in service.err

    @property
    def panels(self) -> NDArray[np.uint32]:
        """The part of the screen where panels are, without what tells of time that passes."""
        return self.screen.picture()[int(_ABOVE * _HEIGHT) : -int(_BELOW * _HEIGHT)]

    def moves(self, *keys: str) -> None:
        """Press keys, and wait until the panels show something else."""
        before = self.panels
        self.press(*keys)
        until(lambda: not np.array_equal(before, self.panels), "another picture")

    def lives(self) -> None:
        """Wait until the panels have shown more pictures than a window has that is put together."""
        seen: set[int] = set()

        def many() -> bool:
            seen.add(hash(self.panels.tobytes()))
            return len(seen) > _MANY

        until(many, f"a picture that moves; there were {len(seen)}")

    def stands(self) -> None:
        """Wait until the panels stand still."""

        def still() -> bool:
            before = self.panels
            sleep(_STILL)
            return np.array_equal(before, self.panels)

        until(still, "a picture that stands still")

    def processes(self, subcommand: str = "") -> list[int]:
        """Return what runs here: everything, or what does ``synchroscope subcommand``."""
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                words = (entry / "cmdline").read_bytes().split(b"\0")
                # after -m, whatever python itself was told before
                named = words[words.index(b"-m") + 1 :][:2] if b"-m" in words else []
                wanted = not subcommand or named == [b"monitor", subcommand.encode()]
                # one that has ended has no words, and is not waited for by us
                if wanted and any(words) and self._mark in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
        return found

    def process(self, subcommand: str) -> int:
        """Wait until exactly one such process runs, and return its number."""
        until(lambda: len(self.processes(subcommand)) == 1, f"one {subcommand}")
        return self.processes(subcommand)[0]

    def served(self, n: int = 1) -> list[str]:
        """Wait until `n` services that windows have started are ready, and return where their results are."""
        until(lambda: len(self._endpoints()) == n, f"{n} services")
        return self._endpoints()

    def _endpoints(self) -> list[str]:
        found: list[str] = []
        for number in self.processes("monitor"):
            # one that is too late for its endpoint ends at once
            with suppress(OSError):
                found += re.findall(r'"results":"(tcp://[\d.:]+)"', Path(f"/proc/{number}/fd/2").read_text())
        return found

    def deserted(self, patience: float = PATIENCE) -> bool:
        """Wait until nothing runs here any more; whether that came true."""
        with suppress(AssertionError):
            until(lambda: not self.processes(), "the end of all processes", patience)
        return not self.processes()

    def clear(self) -> list[str]:
        """End what is left, and tell what it was."""
        if self.deserted(5.0):
            return []
        left = self.processes()
        told = []
        for number in left:
            with suppress(OSError):
                told.append(Path(f"/proc/{number}/cmdline").read_text().replace("\0", " "))
                os.kill(number, SIGKILL)
        return told
