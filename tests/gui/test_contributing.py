"""The examples of docs/contributing.md, run as they are printed there."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

import replay.formats
from monitor import catalogue
from monitor.messages import Sink
from monitor.messages.blocks import Channel, Role, Stream
from replay.formats import Format, RecordingError, Selection, open_recording
from replay.formats.recordings import ArrayRecording
from tests.monitor.in_memory import MemorySink

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/contributing.md").read_text(encoding="utf-8")


def example(heading):
    """Return the Python code under a heading."""
    return re.search(rf"^## {heading}\n.*?```python\n(.*?)```", PAGE, re.DOTALL | re.MULTILINE)[1]


def test_the_entry_of_an_indicator_is_the_one_that_is_run(monkeypatch):
    monkeypatch.setattr(catalogue, "CATALOGUE", catalogue.CATALOGUE.copy())
    (name, shown), *others = eval(f"{{{example('An indicator')}}}", vars(catalogue)).items()
    module, _, indicator = shown.indicator.partition(":")
    names = "rms_error_example", "test_catalogue"
    source = "".join((ROOT / f"tests/monitor/{each}.py").read_text(encoding="utf-8") for each in names)
    assert not others and module == "monitor.indicators.windowed_rms"
    assert f"class {indicator}(WindowedIndicator[" in source
    assert f'CATALOGUE["{name}"] = MeasureEntry(' in source
    assert re.search(r"outputs=columns_of\(\n.*?\n    \),\n", example("An indicator"), re.DOTALL)[0] in source


def test_a_file_format_opens_its_files(tmp_path, monkeypatch):
    classes = (ArrayRecording, Channel, Format, Path, RecordingError, Role, Selection, Stream)
    names = {each.__name__: each for each in classes} | {"np": np}
    exec(example("A file format"), names)
    formats = replay.formats._FORMATS
    # above text, which accepts any text
    assert formats[-1] is replay.formats.text.FORMAT
    monkeypatch.setattr(replay.formats, "_FORMATS", (*formats[:-1], names["FORMAT"], formats[-1]))
    samples = np.arange(12.0).reshape(6, 2)
    (tmp_path / "r.pair").write_bytes(b"PAIR-1kHz".ljust(16) + samples.tobytes())
    recording = open_recording(tmp_path / "r.pair")
    assert recording.n_samples == 6
    assert [channel.role for channel in recording.stream.channels] == [Role.COMMAND, Role.MEASURED]
    (tmp_path / "cut.pair").write_bytes(b"PAIR-1kHz".ljust(16) + samples.tobytes()[:-8])
    with pytest.raises(RecordingError, match=r"the last pair of numbers is not whole"):
        open_recording(tmp_path / "cut.pair")


def test_a_panel_shows_its_value(qtbot, warm_kernels):
    from PySide6.QtWidgets import QLabel, QVBoxLayout

    from gui.model.history import History
    from gui.panels.base import Panel
    from gui.plots.view import View
    from gui.widgets.theme import LIGHT, Theme
    from monitor.text.numbers import DASH, fitted
    from tests.gui.panels.tone_rig import AMPLITUDE, tone_history

    classes = (Panel, History, View, Theme, QLabel, QVBoxLayout)
    names = {each.__name__: each for each in classes} | {"ClassVar": ClassVar, "math": math, "fitted": fitted}
    exec(example("A panel"), names)
    panel = names["PeakPanel"](View(), LIGHT)
    qtbot.addWidget(panel)
    assert (panel.key, panel.title) == ("peak", "Peak error")
    panel.configure(History(memory=1 << 20))
    assert panel.label.text() == DASH
    history = tone_history(measures=("peak_error",), delay=0.0, ratio=2.0)
    panel.view.extend(history.begin_x, history.end_x)
    panel.view.select_actuator("a")
    panel.configure(history)
    assert float(panel.label.text()) == pytest.approx(0.5 * AMPLITUDE, abs=2e-5)


def test_the_smallest_sink_is_one():
    assert Sink in MemorySink.__mro__ and "`MemorySink` of `tests/monitor/in_memory.py` is the smallest" in PAGE
