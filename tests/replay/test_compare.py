"""Runs compared with a reference: against closed forms, and a run against itself."""

from __future__ import annotations

import json
import math
import weakref
from pathlib import Path

import numpy as np
import pytest

from monitor.__main__ import main
from monitor.config import IndicatorSettings
from monitor.messages.blocks import Channel, Role, Stream
from replay.comparison import AssessedRun, Quantity, Tolerance, assess_run, compare_runs, parse_tolerance
from replay.comparison.quantities import Estimate
from replay.formats import ArrayRecording
from tests.mistakes import refusal_of

SETTINGS = IndicatorSettings(window=1.0)
TONES = [(size, f, 1.3 * f) for size, f in ((1.0, 0.61), (0.8, 1.37), (0.5, 2.83), (0.3, 4.71))]

pytestmark = pytest.mark.usefixtures("warm_kernels")


def motion(t):
    return sum(size * np.sin(2.0 * np.pi * f * t + phase) for size, f, phase in TONES)


def run(command, measured, rate: float, actuators=("north",), unit="mm") -> AssessedRun:
    columns = [Channel(f"{a}.{role}", role, unit, a) for a in actuators for role in (Role.COMMAND, Role.MEASURED)]
    samples = np.column_stack([command, measured] * len(actuators))
    recording = ArrayRecording(Stream("rig", 1, rate, tuple(columns)), samples)
    return assess_run(Path(f"{actuators[0]}.csv"), recording, SETTINGS)


def tracked(rate: float, late: float = 0.0, delay: float = 0.012, seconds: float = 20.0, **more) -> AssessedRun:
    t = np.arange(round(seconds * rate)) / rate - late
    return run(motion(t), 0.97 * motion(t - delay), rate, **more)


def by_key(quantities: tuple[Quantity, ...]) -> dict[str, Quantity]:
    return {each.key: each for each in quantities}


def test_a_run_differs_from_itself_by_exactly_nothing() -> None:
    one = tracked(500.0)
    found = compare_runs(one, one)
    assert (found.alignment.lag, found.alignment.signal, found.alignment.overlap) == (0.0, "north.command", 20.0)
    assert found.alignment.correlation == pytest.approx(1.0, abs=1e-12)
    assert [each.difference for each in found.all_quantities()] == [0.0] * 15
    known = by_key(found.actuators[0].quantities)
    assert (known["delay_ms"].significance, known["fdb_ratio"].significance) == (0.0, 0.0)
    assert known["delay_ms"].reference == pytest.approx(12.0, abs=0.1)


def test_a_run_that_is_shifted_scaled_and_noisy_differs_as_the_formula_says() -> None:
    """The lag is 100.4 samples; noise between two samples, of weights 0.6 and 0.4, has 0.52 of its variance."""
    rate, lag, noise = 500.0, 100.4 / 500.0, 0.02
    t = np.arange(15_000) / rate
    rng = np.random.default_rng(5)
    command = 1.02 * motion(t - lag) + rng.normal(0.0, noise, t.size)
    measured = 1.02 * 0.97 * motion(t - lag - 0.015) + rng.normal(0.0, noise, t.size)
    one, two = run(motion(t), 0.97 * motion(t - 0.012), rate), run(command, measured, rate)
    found = compare_runs(one, two)
    assert found.alignment.lag == pytest.approx(lag, abs=0.05 / rate)
    known = by_key(found.actuators[0].quantities)
    variance = sum(size**2 for size, _, _ in TONES) / 2.0
    expected = 100.0 * math.sqrt(0.02**2 + (0.6**2 + 0.4**2) * noise**2 / variance)
    assert known["command_rms_percent"].difference == pytest.approx(expected, rel=0.03)
    # measured is 3 ms later beside: 1.02 exp(-iwd) - 1 of each tone
    of_tones = sum(0.5 * (size * abs(1.02 * np.exp(-2j * np.pi * f * 0.003) - 1.0)) ** 2 for size, f, _ in TONES)
    total = math.sqrt((of_tones + (0.6**2 + 0.4**2) * (noise / 0.97) ** 2) / variance)
    assert known["measured_rms_percent"].difference == pytest.approx(100.0 * total, rel=0.03)
    assert known["delay_ms"].difference == pytest.approx(3.0, abs=0.1)
    assert known["delay_ms"].significance > 3.0
    assert known["ratio"].difference == pytest.approx(0.0, abs=0.003)
    # over the common stretch, which begins at the second run's sample 100
    command, error = command[100:], (measured - command)[100:]
    assert known["rms_error_percent"].value == pytest.approx(100.0 * np.std(error) / np.std(command))
    assert known["peak_error_percent"].value == pytest.approx(100.0 * np.abs(error).max() / np.abs(command).max())


@pytest.mark.parametrize("rate", [200.0, 1024.0])
def test_one_motion_at_another_rate_is_the_same(rate) -> None:
    """The chord between samples is off by at most (w dt)²/8 of each tone."""
    found = compare_runs(tracked(500.0), tracked(rate, late=-0.35))
    assert found.alignment.lag == pytest.approx(-0.35, abs=1e-4)
    assert found.alignment.correlation > 0.99999
    known = by_key(found.actuators[0].quantities)
    chord = sum(size * (2.0 * np.pi * f / rate) ** 2 / 8.0 for size, f, _ in TONES)
    slope = sum(size * 2.0 * np.pi * f for size, f, _ in TONES) * 1e-4
    assert known["command_peak_percent"].difference <= 100.0 * (chord + slope) / np.abs(motion(np.arange(20))).max()
    assert known["delay_ms"].difference == pytest.approx(0.0, abs=0.05)
    assert known["ratio"].difference == pytest.approx(0.0, abs=1e-3)


def test_a_given_lag_is_taken_and_actuators_of_other_names_are_paired_in_order() -> None:
    one, two = tracked(500.0, actuators=("north", "south")), tracked(500.0, late=0.5, actuators=("a", "north", "b"))
    found = compare_runs(one, two, lag=0.5)
    assert (found.alignment.lag, found.alignment.signal) == (0.5, "")
    assert [(each.actuator, each.other) for each in found.actuators] == [("north", "north"), ("south", "a")]
    assert found.notes == (
        "south is compared with a, in order: their names differ",
        "b has no counterpart in the reference: left out",
    )
    assert by_key(found.actuators[0].quantities)["command_rms_percent"].difference == pytest.approx(0.0, abs=1e-9)


def test_a_constant_command_is_aligned_by_what_was_measured() -> None:
    t = np.arange(10_000) / 500.0
    one, two = (run(np.zeros(t.size), motion(t - late), 500.0) for late in (0.0, 0.25))
    found = compare_runs(one, two)
    assert (found.alignment.lag, found.alignment.signal) == (pytest.approx(0.25, abs=1e-5), "north.measured")
    still = run(np.zeros(t.size), np.ones(t.size), 500.0)
    with pytest.raises(ValueError, match=r"no command or measured signal moves in both; give --lag or --no-align"):
        compare_runs(one, still)


def test_what_cannot_be_compared_is_refused_in_one_line() -> None:
    one = tracked(500.0)
    with pytest.raises(ValueError, match=r"north.command is in m, north.command of north.csv in mm: convert"):
        compare_runs(one, tracked(500.0, unit="m"))
    with pytest.raises(ValueError, match=r"no time in common with north.csv at a lag of 30 s: they last 20 and 20 s"):
        compare_runs(one, one, lag=30.0)
    with pytest.raises(ValueError, match=r"no actuator is left for 'south' of north.csv: it has 'north'"):
        compare_runs(tracked(500.0, actuators=("north", "south")), one)


def test_tolerances() -> None:
    assert parse_tolerance("delay_ms=0.5") == ("delay_ms", Tolerance(0.5))
    assert parse_tolerance("ratio = 2 %") == ("ratio", Tolerance(2.0, relative=True))
    cases = ((50.9, "within"), (51.0, "within"), (51.1, "exceeded"), (49.1, "within"), (math.nan, "unknown"))
    for value, result in cases:
        estimate = Estimate(50.0, value, value - 50.0)
        assert Quantity("delay_ms", estimate, Tolerance(2.0, relative=True)).result == result
    for wrong in ("delay=1", "ratio", "ratio=x", "ratio=-1", "ratio=nan", "command_rms_percent=5%"):
        with pytest.raises(ValueError, match=f"--tolerance {wrong}: "):
            parse_tolerance(wrong)


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """The same motion, 1.5 s later in the second, whose actuator is 3 ms slower; a sensor with noise."""
    t, rng = np.arange(0.0, 20.0, 1.0 / 500.0), np.random.default_rng(1)
    for name, late, delay in (("before.csv", 0.0, 0.012), ("after.csv", 1.5, 0.015)):
        table = np.column_stack(
            [t, motion(t - late), 0.97 * motion(t - late - delay) + rng.normal(0.0, 0.02, t.size)]
        )
        np.savetxt(tmp_path / name, table, "%.6f", ",", header="time [s],command [mm],measured [mm]", comments="")
    return str(tmp_path / "before.csv"), str(tmp_path / "after.csv")


def test_the_command_prints_a_table_and_its_exit_code_is_that_of_the_tolerances(files, capsys) -> None:
    assert main(["compare", *files]) == 0
    printed = capsys.readouterr().out
    assert "1.5 s later, by command, correlation 1.000000; 18.5 s in common, window 2" in printed
    assert "tolerance" not in printed
    assert "p: probability of so large a difference by noise alone" in printed
    assert "chance" not in printed
    assert main(["compare", *files, "--tolerance", "delay_ms=4", "--tolerance", "ratio=1%"]) == 0
    assert "all within tolerance" in capsys.readouterr().out
    assert main(["compare", *files, "--tolerance", "delay_ms=2", "--tolerance", "ratio=1%"]) == 1
    printed = capsys.readouterr().out
    assert "1 of 2 not within tolerance" in printed
    (row,) = [line for line in printed.splitlines() if line.startswith("delay_ms ")]
    assert "exceeded" in row


def test_the_json_is_one_object(files, capsys) -> None:
    assert main(["compare", *files, files[0], "--no-align", "--json", "--tolerance", "delay_ms=2"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["ok"], found["reference"], found["window_s"]) == (False, files[0], 2.0)
    after, same = found["runs"]
    assert (after["file"], after["lag_s"], after["aligned_by"]) == (files[1], 0.0, None)
    delay = after["actuators"][0]["delay_ms"]
    assert (delay["limit"], delay["result"]) == (2.0, "exceeded")
    assert delay["difference"] == pytest.approx(3.0, abs=0.1)
    assert same["actuators"][0]["delay_ms"]["result"] == "within"
    assert same["actuators"][0]["measured_peak_percent"]["difference"] == 0.0
    assert main(["compare", *files, files[0], "--lag", "1.5", "--lag", "0", "--json"]) == 0
    assert [each["lag_s"] for each in json.loads(capsys.readouterr().out)["runs"]] == [1.5, 0.0]


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--tolerance", "speed=1"], "--tolerance speed=1: give KEY=VALUE or KEY=VALUE%, KEY one of delay_ms, "),
        (["--lag", "inf"], "--lag inf: must be a number of seconds"),
        (["--lag", "1", "--lag", "2"], "--lag: 2 for 1 runs; give one for all, or one for each"),
        (["--lag", "99"], "no time in common with "),
        (["--lag", "1e300"], "no time in common with "),
        (["--lag=-1e300"], "no time in common with "),
    ],
)
def test_a_mistake_is_one_line(files, capsys, words, line) -> None:
    assert line in refusal_of(capsys, "compare", *files, *words)


def test_the_page_shows_what_is_printed(files, capsys, monkeypatch) -> None:
    """Word by word, numbers to one percent, for other processors round otherwise."""
    page = (Path(__file__).parents[2] / "docs" / "how-to.md").read_text(encoding="utf-8")
    section = page[page.index("## Two runs beside each other") :]
    shown = section[section.index("```text\n") + 8 :]
    shown = shown[: shown.index("```")]
    monkeypatch.chdir(Path(files[0]).parent)
    assert main(["compare", "before.csv", "after.csv", "--tolerance", "delay_ms=2", "--tolerance", "ratio=1%"]) == 1
    printed = capsys.readouterr().out.split()
    words = shown.split()
    assert len(words) == len(printed)
    for one, other in zip(words, printed, strict=True):
        try:
            assert float(one) == pytest.approx(float(other), rel=0.01, abs=1e-3)
        except ValueError:
            assert one == other


def test_notes_and_warnings_of_both_recordings_are_shown_with_their_files(tmp_path, capsys) -> None:
    """The second record stops and is continued 2 s later: 1000 samples are missing."""
    t = np.arange(0.0, 20.0, 1.0 / 500.0)
    table = np.column_stack([t, motion(t), 0.97 * motion(t - 0.012)])
    paths = []
    for name, rows in (("a.csv", table), ("b.csv", np.delete(table, slice(4000, 5000), axis=0))):
        np.savetxt(tmp_path / name, rows, "%.6f", ",", header="time [s],command [mm],measured [mm]", comments="")
        paths.append(str(tmp_path / name))
    page = tmp_path / "page.html"
    assert main(["compare", *paths, "--json", "-o", str(page)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert not any("1000 samples (2 s) are missing in 1 gap" in note for note in found["notes"])
    (note,) = [note for note in found["runs"][0]["notes"] if "1000 samples (2 s) are missing in 1 gap" in note]
    assert note.startswith(f"{paths[1]}: ")
    assert "b.csv: 1000 samples (2 s) are missing in 1 gap" in page.read_text("utf-8")
    assert main(["compare", paths[1], paths[0]]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "1000 samples (2 s) are missing in 1 gap" in printed


def test_the_samples_of_a_run_are_released_once_it_is_compared() -> None:
    one, two = tracked(500.0), tracked(500.0, delay=0.015)
    samples = weakref.ref(two.samples.samples)
    found = compare_runs(one, two)
    series = two.part(found.actuators[0].theirs, 2.0, 18.0).values
    del two
    assert samples() is None
    # the page draws what is left
    later = found.run.part(found.actuators[0].theirs, 2.0, 18.0).values
    assert all(np.array_equal(later[name], values, equal_nan=True) for name, values in series.items())
