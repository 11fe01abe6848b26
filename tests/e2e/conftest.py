"""The real command in processes of its own, watched: a traceback or a process left behind fails the test."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.e2e.desktop import Desktop, Screen
from tests.e2e.running import ANY_PORT as ANY_PORT
from tests.e2e.running import PATIENCE as PATIENCE
from tests.e2e.running import ROOT as ROOT
from tests.e2e.running import Running
from tests.needs import require

Start = Callable[..., Running]


@pytest.fixture
def start(warm_kernels: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
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
    require("Xvfb", "xdotool", "Qt on X11")
    screen = Screen(tmp_path_factory.mktemp("screen"))
    yield screen
    screen.close()


@pytest.fixture
def desktop(screen: Screen, start: Start, tmp_path: Path) -> Iterator[Desktop]:
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
