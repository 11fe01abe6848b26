"""Summary of an assessed run: against formulas in numpy, and against what was written into the file."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from monitor.config import IndicatorSettings
from monitor.messages.alarms import AlarmAction
from monitor.messages.blocks import Channel, Event, EventKind, Role, SignalBlock, Stream
from monitor.recording import RunWriter
from replay.assessment import assess
from replay.assessment.summary import summarise
from replay.formats import ArrayRecording, open_recording
from tests.replay.exported_run import TRANSITION

RATE = 200.0
CHANNELS = tuple(
    Channel(f"{actuator}.{role}", role, "mm", actuator)
    for actuator in ("north", "south")
    for role in (Role.COMMAND, Role.MEASURED)
)
STREAM = Stream("rig", 7, RATE, CHANNELS)
SETTINGS = IndicatorSettings(window=1.0)

pytestmark = pytest.mark.usefixtures("warm_kernels")


def _signals(n: int, north: float = 0.010, south: float = 0.040, change: float | None = None) -> np.ndarray:
    """Noise of 0.5 to 8 Hz; `north` [s] late and 5 % small, and `south` late from `change` [s] on."""
    rng = np.random.default_rng(3)
    t = np.arange(n) / RATE
    tones = [(f, *rng.uniform(0.5, 1.0, 1), rng.uniform(0, 2 * np.pi)) for f in np.linspace(0.5, 8.0, 40)]

    def motion(at):
        return sum(a * np.sin(2 * np.pi * f * at + p) for f, a, p in tones)

    late = np.where(t < (0.0 if change is None else change), 0.010, south)
    return np.column_stack([motion(t), 0.95 * motion(t - north), motion(t), motion(t - late)])


def test_a_row_of_each_actuator_with_known_delays() -> None:
    samples = _signals(6000)
    found = summarise("x/run.csv", ArrayRecording(STREAM, samples), assess(ArrayRecording(STREAM, samples), SETTINGS))
    north, south = found.actuator_rows()
    assert (north["file"], north["actuator"], south["actuator"]) == ("x/run.csv", "north", "south")
    assert (north["duration_s"], north["sample_rate"], north["samples"], north["window_s"]) == (30.0, RATE, 6000, 1.0)
    assert (north["delay_ms"], south["delay_ms"]) == pytest.approx((10.0, 40.0), abs=0.3)
    assert (north["ratio"], south["ratio"]) == pytest.approx((1 / 0.95, 1.0), abs=0.01)
    assert (north["worst_delay_at_s"], north["delay_low_ms"]) == (None, None)
    for row, (c, m) in ((north, samples[:, :2].T), (south, samples[:, 2:].T)):
        assert row["rms_error_percent"] == pytest.approx(100 * np.std(m - c) / np.std(c))
        assert row["peak_error_percent"] == pytest.approx(100 * np.abs(m - c).max() / np.abs(c).max())
    assert (found.worst_actuator, found.worst_delay_ms) == ("south", south["delay_ms"])
    assert (found.start, found.outcome, found.lost_samples, found.notes) == (None, None, 0, 0)
    assert all(isinstance(value, str | int | float | None) for row in (found.row(), north) for value in row.values())


def test_the_worst_delay_has_its_time() -> None:
    recording = ArrayRecording(STREAM, _signals(8000, change=25.0))
    south = summarise("run", recording, assess(recording, SETTINGS)).actuators[1]
    assert south.worst_delay_ms == pytest.approx(40.0, abs=2.0)
    assert 25.0 < south.worst_delay_at_s <= 40.0
    assert (south.delay_low_ms, south.delay_high_ms) == pytest.approx((10.0, 40.0), abs=2.0)
    assert "delay_changes" in south.warning_codes


def test_alarms_notes_losses_and_outcome_of_a_run_file(tmp_path) -> None:
    path, start, samples = tmp_path / "run.h5", 1_763_000_000.25, _signals(4000)
    writer = RunWriter(path, {"indicators": {"window": 1.0}})
    writer.signals(SignalBlock(STREAM, 0, start, samples[:2000]))
    writer.signals(SignalBlock(STREAM, 2030, start + 2030 / RATE, samples[2030:], last=True))
    writer.event(Event(EventKind.NOTE, start + 1.0, 200, 0, "pump warm"))
    writer.event(Event(EventKind.NOTE, start + 2.0, 400, 0, "door open"))
    for action in (AlarmAction.OCCUR, AlarmAction.ACKNOWLEDGE, AlarmAction.OCCUR):
        writer.event(Event.of_alarm(replace(TRANSITION, action=action, time=start + 2.0)))
    writer.close()
    recording = open_recording(path)
    found = summarise(path, recording, assess(recording, SETTINGS))
    assert found.start == "2025-11-13T02:13:20.250+00:00"
    assert (found.samples, found.lost_samples, found.gaps, found.restarts) == (3970, 30, 1, 0)
    assert (found.alarms, found.trips, found.alarm_names) == (2, 2, "north.fdb_delay.trip")
    assert [(a.alarms, a.trips) for a in found.actuators] == [(2, 2), (0, 0)]
    assert (found.notes, found.note_texts) == (2, "pump warm; door open")
    assert found.outcome == recording.outcome
    assert "gaps" in found.warning_codes


def test_measures_that_were_not_computed_have_no_value() -> None:
    recording = ArrayRecording(STREAM, _signals(2000))
    settings = IndicatorSettings(window=1.0, measures=("fdb", "paei"))
    north = summarise("run", recording, assess(recording, settings)).actuators[0]
    assert (north.delay_ms, north.worst_delay_ms, north.ratio) == (None, None, None)
    assert north.fdb_delay_ms is not None
    assert north.paei_ratio is not None
