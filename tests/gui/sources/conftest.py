"""Processes that are only played, settings of their own, and what a recording says of itself."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture
def window(qtbot):
    from PySide6.QtWidgets import QWidget

    window = QWidget()
    qtbot.addWidget(window)
    return window


@pytest.fixture
def control(qtbot):
    from tests.gui.sources.played import FakeClient

    return FakeClient()


@pytest.fixture
def controls(monkeypatch):
    """All clients of sessions, in their order."""
    from tests.gui.sources.played import FakeClient

    made = []

    def make(url):
        made.append(FakeClient(url))
        return made[-1]

    monkeypatch.setattr("gui.sources.processes.playback.RequestClient", make)
    return made


@pytest.fixture
def launch(controls):
    from tests.gui.sources.played import Launched

    return Launched()


@pytest.fixture
def settings(tmp_path):
    from PySide6.QtCore import QSettings

    return QSettings(str(tmp_path / "settings.ini"), QSettings.Format.IniFormat)


@pytest.fixture
def heard():
    """Collect what a signal says: ``heard(signal)`` returns the list that grows."""

    def collect(signal):
        said = []
        signal.connect(lambda *values: said.append(values[0] if len(values) == 1 else values))
        return said

    return collect


CURVE = np.sin(np.arange(100) * 0.1)


@pytest.fixture
def described():
    """A run of ten seconds with two channels, a gap in the second, and two events, as a process writes it."""
    numbers = CURVE.tolist()
    gapped = [None if 40 <= i < 60 else value for i, value in enumerate(numbers)]
    return {
        "format": "run file",
        "rig": "rig",
        "sample_rate": 100.0,
        "n_samples": 1000,
        "duration": 10.0,
        "start_time": 5.0,
        "channels": [
            {"name": "a.command", "role": "command", "unit": "m", "actuator": "a"},
            {"name": "a.measured", "role": "measured", "unit": "m", "actuator": "a"},
        ],
        "columns": [],
        "guess": None,
        "problem": "",
        "notes": [],
        "events": [{"time": 2.0, "kind": "gap", "detail": ""}, {"time": 7.0, "kind": "note", "detail": "hello"}],
        "overview": {
            "seconds": [0.1 * i for i in range(100)],
            "low": {"a.command": numbers, "a.measured": gapped},
            "high": {"a.command": numbers, "a.measured": gapped},
        },
    }


@pytest.fixture
def table():
    """A text file whose columns nobody can guess, as a process describes it."""
    columns = [("t", "s"), ("p", "mm"), ("q", "mm"), ("r", "kN")]
    return {
        "format": "text file",
        "rig": None,
        "sample_rate": None,
        "n_samples": 100,
        "duration": None,
        "start_time": None,
        "channels": [],
        "columns": [
            {"name": name, "unit": unit, "number": n, "reference": name} for n, (name, unit) in enumerate(columns, 1)
        ],
        "guess": None,
        "problem": "which column is the command, which the measured signal? name them with --command NAME",
    }
