"""When the alarms of a run were not judged: in its row of `runs`, and in its report."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.__main__ import main
from monitor.messages.alarms import AlarmAction, AlarmState, Severity, Transition
from monitor.messages.blocks import Channel, Event, Role, SignalBlock, Stream
from monitor.recording import RunWriter
from replay.formats import open_recording
from replay.formats.run_file import covered, unjudged_times
from replay.report.contents import report_contents
from replay.runs.reading import read_row

A, S = AlarmAction, AlarmState
RATE = 100.0
PAUSED, NO_DATA = "broadband paused: overload", "no data"


def event(name: str, seconds: float, reason: str = "") -> Event:
    """Return the loss of a value, or its return without a reason."""
    action, state = (A.LOSE_VALUE, S.NOT_JUDGED) if reason else (A.REGAIN_VALUE, S.NORMAL)
    said = f"not judged: {reason}" if reason else "judged again"
    index = round(seconds * RATE)
    return Event.of_alarm(
        Transition(1, name, Severity.WARN, action, S.NORMAL, state, seconds, index, None, 0.04, "s", said)
    )


@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 100), st.sampled_from(("", PAUSED, NO_DATA)))),
    st.integers(0, 50),
    st.integers(50, 100),
)
def test_the_times_are_those_at_which_the_last_event_was_a_loss(steps, first, last) -> None:
    steps.sort(key=lambda step: step[1])
    found = unjudged_times([(event(name, at, reason), float(at)) for name, at, reason in steps], first, last)
    # second by second: what was said last before its middle
    missing = {
        name: [
            bool(([reason for n, at, reason in steps if n == name and at <= second] or [""])[-1])
            for second in range(first, last)
        ]
        for name in "ab"
    }
    assert {name: each.seconds for name, each in found.items()} == {
        name: sum(seconds) for name, seconds in missing.items() if any(seconds)
    }
    both = covered(span for each in found.values() for span in each.spans)
    assert both == sum(map(any, zip(*missing.values(), strict=True)))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Return a run of 60 s in which two alarms were not judged, from 10 to 22 s and from 20 s on to the end."""
    path = tmp_path / "runs" / "run.h5"
    path.parent.mkdir()
    writer = RunWriter(path, {})
    channels = Channel("a.c", Role.COMMAND, "mm", "a"), Channel("a.m", Role.MEASURED, "mm", "a")
    wave = np.sin(np.arange(6000) / 20.0)
    writer.signals(SignalBlock(Stream("rig", 1, RATE, channels), 0, 0.0, np.stack([wave, wave], 1)))
    for each in (
        event("a.delay.warn", 10.0, PAUSED),
        event("a.ratio.warn", 20.0, NO_DATA),
        event("a.delay.warn", 22.0),
    ):
        writer.event(each)
    writer.close()
    return path


def test_a_row_of_runs_is_not_clean_without_a_word(run: Path, capsys, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    row = read_row(run.parent, run.name)
    assert row is not None
    assert (row.not_judged_s, row.not_judged_names) == (pytest.approx(49.99), "a.delay.warn; a.ratio.warn")
    assert row.alarms == 0
    assert main(["runs", str(run.parent)]) == 0
    line, legend = [line for line in capsys.readouterr().out.splitlines() if "⊘" in line]
    assert "run.h5" in line and "not judged" in legend
    assert main(["runs", str(run.parent), "--where", "not_judged_s>60"]) == 0
    assert "run.h5" not in capsys.readouterr().out


def test_a_report_has_how_long_and_why(run: Path) -> None:
    report = report_contents(run, open_recording(run), None, ())
    assert report.unjudged is not None
    assert report.unjudged.rows == (
        ("a.delay.warn", "12.000 s", "20 %", PAUSED),
        ("a.ratio.warn", "40.000 s", "66.7 %", NO_DATA),
    )
    assert dict(report.facts)["alarms not judged"] == "2, for 50 s"
    kinds = [each.kind for each in report.events or ()]
    assert kinds.count("⊘ not judged") == 2
