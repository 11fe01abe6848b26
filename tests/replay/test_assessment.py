"""Statistics of a record: which instants they cover, how angles are averaged, and which window is chosen."""

from __future__ import annotations

import re
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from monitor.config import IndicatorSettings
from monitor.messages.blocks import Channel, Role, Stream
from monitor.messages.reasons import Reason
from monitor.text.blocks import to_json
from replay.assessment import assess, run
from replay.assessment.run import choose_window
from replay.assessment.wording import missing_words
from replay.commands.assess_blocks import assessment_blocks
from replay.formats import ArrayRecording, open_recording
from replay.tables import print_blocks, report_console

RATE = 500.0
STREAM = Stream("rig", 0, RATE, (Channel("c", Role.COMMAND, "m", "a"), Channel("m", Role.MEASURED, "m", "a")))
SETTINGS = IndicatorSettings(window=1.0)

pytestmark = pytest.mark.usefixtures("warm_kernels")


def tone(frequency: float = 5.0, phase: float = -0.3, seconds: float = 6.0, index=None) -> ArrayRecording:
    t = np.arange(round(seconds * RATE)) / RATE if index is None else index / RATE
    angle = 2 * np.pi * frequency * t
    samples = np.column_stack([np.sin(angle), np.sin(angle + phase)])
    return ArrayRecording(STREAM, samples, 3.0, index=index)


def test_spreads_are_those_of_the_series() -> None:
    found = assess(tone(), SETTINGS)
    names = [column.name for column in found.series.columns]
    delay = found.series.values[:, names.index("fdb_delay")]
    valid = delay[~np.isnan(delay)]
    spread = found.pairs[0].spreads["fdb_delay"]
    assert (spread.median, spread.mean) == pytest.approx((np.median(valid), valid.mean()))
    assert (spread.p05, spread.p95) == pytest.approx(tuple(np.percentile(valid, [5, 95])))
    assert (found.samples, found.duration) == (3000, 6.0)
    np.testing.assert_allclose(found.series.time, 3.0 + np.arange(3000) / RATE)


def test_angles_on_either_side_of_half_a_turn_do_not_average_to_zero() -> None:
    rng = np.random.default_rng(2)
    recording = tone(phase=np.pi)
    recording.samples[:, 1] += 0.02 * rng.standard_normal(3000)
    spread = assess(recording, SETTINGS).pairs[0].spreads["fdb_phase"]
    assert abs(spread.median) == pytest.approx(np.pi, abs=0.02)
    assert abs(spread.mean) == pytest.approx(np.pi, abs=0.02)
    assert spread.p05 <= spread.median <= spread.p95


def test_windows_across_a_gap_do_not_count() -> None:
    index = np.concatenate([np.arange(1500), np.arange(1600, 3100)])
    found = assess(tone(index=index), SETTINGS)
    assert len(found.series.values) == 3000
    assert found.pairs[0].valid_fraction == pytest.approx(1 - 2 * 499 / 3000)
    assert found.pairs[0].spreads["fdb_phase"].median == pytest.approx(-0.3)


def test_a_record_of_nothing_but_nan_has_no_values() -> None:
    found = assess(ArrayRecording(STREAM, np.full((3000, 2), np.nan)), SETTINGS)
    assert found.pairs[0].valid_fraction == 0.0
    assert all(np.isnan(spread.median) for spread in found.pairs[0].spreads.values())


def test_a_long_record_is_thinned_and_that_is_noted(monkeypatch) -> None:
    monkeypatch.setattr(run, "_MOST_ROWS", 1000)
    thin, full = assess(tone(), SETTINGS), assess(tone(), SETTINGS, thin=False)
    assert (len(thin.series.values), len(full.series.values)) == (1000, 3000)
    assert any("every 3-th sample" in note for note in thin.notes)
    assert thin.series.values.tobytes() == full.series.values[::3].tobytes()


def test_a_record_without_pairs_is_refused() -> None:
    stream = Stream("rig", 0, RATE, (Channel("oil", Role.AUXILIARY),))
    with pytest.raises(ValueError, match="--command, --measured"):
        assess(ArrayRecording(stream, np.ones((10, 1))), SETTINGS)


@pytest.mark.parametrize(
    ("frequency", "seconds", "window"), [(5.0, 6.0, 2.0), (0.5, 20.0, 5.0), (16.0, 0.125, 0.09375), (5.0, 1.2, 0.5)]
)
def test_the_window_that_is_chosen(frequency, seconds, window) -> None:
    chosen, note = choose_window(tone(frequency, seconds=seconds), 2.0)
    assert chosen == pytest.approx(window, rel=0.06)
    assert bool(note) == (chosen != 2.0)


def test_the_window_of_a_record_that_stands_still() -> None:
    still = ArrayRecording(STREAM, np.full((3000, 2), 4.0))
    assert choose_window(still, 2.0) == (2.0, "")
    assert choose_window(ArrayRecording(STREAM, np.full((500, 2), np.nan)), 2.0) == (0.5, "")


def test_an_actuator_that_stops_is_in_the_statistics() -> None:
    """The command goes on for two thirds of the record: what it is not followed by counts as motion."""
    recording = tone(seconds=30.0)
    recording.samples[round(10.0 * RATE) :, 1] = recording.samples[round(10.0 * RATE), 1]
    pair = assess(recording, SETTINGS).pairs[0]
    assert pair.spreads["nrmse"].median > 0.9
    assert pair.spreads["fdb_phase"].median == pytest.approx(-0.3)
    assert pair.valid_fraction < 0.4


def test_an_actuator_that_never_moves_is_said_not_to_follow() -> None:
    recording = tone()
    recording.samples[:, 1] = 1e-3 * np.random.default_rng(3).standard_normal(len(recording.samples))
    found = assess(recording, SETTINGS)
    assert found.warnings[0].code == "no_value"
    recording.samples[:, 1] = 0.0
    (warning,) = assess(recording, SETTINGS).warnings
    assert warning.code == "dead_channel" and warning.actuator == "a"


def test_every_actuator_is_told_in_units_of_its_own(capsys) -> None:
    channels = [
        Channel(f"{name}.{role.value}", role, unit, name)
        for name, unit in (("linear", "mm"), ("rotary", "deg"))
        for role in (Role.COMMAND, Role.MEASURED)
    ]
    samples = np.tile(tone().samples, 2)
    print_blocks(
        assessment_blocks(
            Path("two"), assess(ArrayRecording(Stream("rig", 0, RATE, tuple(channels)), samples), SETTINGS), []
        ),
        report_console(120),
    )
    first, second = capsys.readouterr().out.split("rotary.command", 1)
    assert "mm^2" in first and "deg^2" not in first
    assert "deg^2" in second and "mm^2" not in second


def test_notes_on_the_reading_come_before_the_tables(capsys) -> None:
    found = assess(tone(), SETTINGS)
    print_blocks(
        assessment_blocks(Path("one"), found, ["settings note", "time taken as s"], ["time taken as s"]),
        report_console(120),
    )
    lines = capsys.readouterr().out.splitlines()
    assert lines[2] == "note: time taken as s"
    assert lines[-1] == "note: settings note"
    assert sum("taken as s" in line for line in lines) == 1


def test_times_that_may_be_ms_are_the_first_warning(tmp_path, capsys) -> None:
    path = tmp_path / "ms.csv"
    rows = np.column_stack([np.arange(2000) / 1.024, tone().samples[:2000]])
    np.savetxt(path, rows, delimiter=",", header="Time,cmd,meas", comments="")
    found = assess(recording := open_recording(path), SETTINGS.model_copy(update={"window": 200.0}))
    assert (found.warnings[0].code, found.warnings[0].actuator) == ("time_unit", None)
    print_blocks(assessment_blocks(path, found, list(found.notes), recording.notes), report_console(120))
    out = capsys.readouterr().out
    said = "Time has no unit and is taken as s: 1.024 Hz is unusual; for ms give --rate 1024 or name the column"
    assert out.count("is unusual") == 1
    assert f"warning: {said}" in " ".join(out.splitlines()[1:3])


def test_a_compensator_is_summarised_from_its_channels(capsys) -> None:
    names = (
        "compensated_delay",
        "compensator_gain",
        "compensator_adapting",
        "compensator_limited",
        "compensator_bridged",
    )
    channels = (*STREAM.channels, *(Channel(f"a.{name}", Role.AUXILIARY) for name in names))
    n = len(tone().samples)
    delay, half = np.linspace(0.0, 0.02, n), np.arange(n) < n // 2
    columns = (delay, np.full(n, 1.5), half, ~half, np.minimum(np.arange(n), 40.0) + 3.0)
    samples = np.column_stack([tone().samples, *columns])
    samples[7, 2:] = np.nan
    found = assess(ArrayRecording(Stream("rig", 0, RATE, channels), samples), SETTINGS)
    summary = found.compensators["a"]
    assert (summary.delay, *summary.delay_range) == pytest.approx((0.01, 0.001, 0.019), rel=1e-2)
    assert (summary.gain, summary.adapting, summary.limited) == pytest.approx((1.5, 0.5, 0.5), rel=1e-3)
    assert summary.bridged == 40.0
    print_blocks(assessment_blocks(Path("one"), found, []), report_console(120))
    said = " ".join(capsys.readouterr().out.split())
    assert (
        "a: compensated delay 10.0 ms in the mean (5 % to 95 %: 1.0 to 19.0 ms), adapting 50 % of the record" in said
    )
    assert "40 lost samples bridged" in said
    (pair,) = to_json(assessment_blocks(Path("one"), found, []))["pairs"]
    assert pair["compensator"]["delay_ms"] == pytest.approx(10.0, rel=1e-2)
    assert {"adapting_fraction", "limited_fraction", "bridged_samples"} < set(pair["compensator"])
    assert assess(tone(), SETTINGS).compensators == {}


def test_compiled_kernels_are_reported(monkeypatch) -> None:
    @contextmanager
    def compiling(progress):
        progress(3, 118, "update_fdb")
        yield
        progress(118, 118, "")

    monkeypatch.setattr(run, "report_compilation", compiling)
    shown = []
    assess(tone(), IndicatorSettings(window=1.0), progress=lambda *values: shown.append(values))
    assert shown[0] == ("compiling kernels", 3, 118)
    assert all(label == "samples" for label, _, _ in shown[1:])


def test_it_tells_why_there_is_no_value() -> None:
    time = np.arange(round(40.0 * RATE)) / RATE
    command = np.where(time < 20.0, np.sin(2 * np.pi * 5.0 * time), 0.0)
    rng = np.random.default_rng(1)
    measured = np.where(time < 10.0, np.roll(command, 3), rng.normal(size=len(time)))
    found = assess(ArrayRecording(STREAM, np.column_stack([command, measured]), 0.0), SETTINGS).pairs[0]
    shares = found.presence["fdb"].missing
    assert list(shares)[:2] == [Reason.GATE, Reason.UNRELATED]
    assert shares[Reason.UNRELATED] == pytest.approx(0.25, abs=0.03)
    assert found.presence["fdb"].valid + sum(shares.values()) == pytest.approx(1.0, abs=0.02)
    line = next(line for line in missing_words(found) if line.startswith("FDB"))
    assert re.match(
        r"FDB has no value in 7\d % of the record: too little motion 4\d %, unrelated signals 2\d %", line
    )
    # that nothing moves, or a window is not full, is no lack
    assert missing_words(assess(tone(), SETTINGS).pairs[0]) == []
