"""`synchroscope assess`: the words of its JSON, and numbers that are known beforehand."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from monitor.__main__ import main
from sim.excitation import Earthquake
from tests.mistakes import refusal_of

SPREAD = {"median", "mean", "p05", "p95"}
RATE, FREQUENCY, GAIN, DELAY = 1000.0, 4.0, 0.9, 0.015
SERIES = ["fdb_ratio", "fdb_phase", "fdb_delay", "paei_ratio", "paei_amplitude_error", "paei_phase", "paei_delay"]
SERIES += ["ti", "nrmse", "peak_error", "peak_error_relative", "fdb_delay_sd", "fdb_added_damping", "paei_phase_sd"]
SERIES += ["paei_adaptive_delay", "ti_total", "ti_angle", "nrmse_std", "broadband_delay", "xcorr_delay", "fei_phase"]

pytestmark = pytest.mark.usefixtures("warm_kernels")


@pytest.fixture
def assess(capsys) -> Callable[..., dict[str, Any]]:
    def run(*words: object) -> dict[str, Any]:
        assert main(["assess", *map(str, words), "--json"]) == 0
        said = capsys.readouterr()
        assert said.err == ""
        found: dict[str, Any] = json.loads(said.out)
        return found

    return run


def signals(samples: int = 6000, lead_in: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    t = np.arange(samples) / RATE
    moving = np.arange(samples) >= lead_in
    command = 2.0 * np.sin(2 * np.pi * FREQUENCY * t) * moving + 7.0
    measured = 2.0 * GAIN * np.sin(2 * np.pi * FREQUENCY * (t - DELAY)) * moving - 3.0
    return t, command, measured


def write(path: Path, columns: dict[str, np.ndarray]) -> Path:
    pd.DataFrame(columns).to_csv(path, index=False)
    return path


def assert_tone(pair: dict[str, Any], rel: float = 1e-6) -> None:
    phase = -2 * np.pi * FREQUENCY * DELAY
    for group in ("fdb", "paei"):
        assert pair[group]["ratio"]["median"] == pytest.approx(1 / GAIN, rel=rel)
        assert pair[group]["phase_rad"]["median"] == pytest.approx(phase, rel=rel)
        assert pair[group]["delay_ms"]["median"] == pytest.approx(1e3 * DELAY, rel=rel)
    assert pair["fdb"]["frequency_hz"]["median"] == pytest.approx(FREQUENCY, rel=rel)
    assert pair["paei"]["amplitude_error"]["median"] == pytest.approx(2.0 * (1.0 - GAIN), rel=10 * rel)


def assert_whole_record(pair: dict[str, Any], command: np.ndarray, measured: np.ndarray) -> None:
    phase = -2 * np.pi * FREQUENCY * DELAY
    for group in ("fei", "fei_tapered"):
        assert pair[group]["ratio"] == pytest.approx(1 / GAIN, rel=2e-3)
        assert pair[group]["phase_rad"] == pytest.approx(phase, rel=2e-3)
        assert pair[group]["delay_ms"] == pytest.approx(1e3 * DELAY, rel=0.02)
        assert pair[group]["frequency_hz"] == pytest.approx(FREQUENCY, rel=0.02)
    error = measured - command
    assert pair["criteria"]["j1_ms"] == pytest.approx(1e3 * DELAY, abs=1.0)
    assert pair["criteria"]["j2_percent"] == pytest.approx(100 * error.std() / command.std())
    assert pair["criteria"]["j3_percent"] == pytest.approx(100 * np.abs(error).max() / np.abs(command).max())
    transfer = pair["transfer"]
    at = int(np.argmin(np.abs(np.array(transfer["frequency_hz"]) - FREQUENCY)))
    assert transfer["coherence"][at] == pytest.approx(1.0, abs=1e-6)
    assert transfer["ratio"][at] == pytest.approx(1 / GAIN, rel=1e-3)
    assert transfer["delay_ms"][at] == pytest.approx(1e3 * DELAY, rel=1e-3)
    assert "hsem" not in pair


def test_a_force_gives_the_energy_and_the_damping(assess, tmp_path) -> None:
    t, command, measured = signals()
    force = 3000.0 * (measured + 3.0)
    path = write(tmp_path / "a.csv", {"t": t, "x_c": command, "x_m": measured, "load": force})
    (pair,) = assess(path, "--command", "x_c", "--measured", "x_m", "--force", "load", "--window", 1.0)["pairs"]
    # of an elastic specimen that is DELAY late: the sine of the phase over twice the ratio
    expected = 0.5 * GAIN * np.sin(-2 * np.pi * FREQUENCY * DELAY)
    assert pair["fdb"]["added_damping"]["median"] == pytest.approx(expected, rel=1e-6)
    assert pair["hsem"]["added_damping"]["median"] == pytest.approx(expected, rel=0.01)
    # pi k A_c A_m sin(phase) a cycle, for the whole record
    energy = 3000.0 * np.pi * 2.0 * 2.0 * GAIN * np.sin(2 * np.pi * FREQUENCY * DELAY) * FREQUENCY * 6.0
    assert pair["hsem"]["energy_total"] == pytest.approx(energy, rel=0.01)


def test_a_figure_without_a_value_is_a_dash_without_a_unit(tmp_path, capsys) -> None:
    t, _, measured = signals()
    path = write(tmp_path / "a.csv", {"t": t, "x_c": np.zeros(t.size), "x_m": measured})
    assert main(["assess", str(path), "--window", "1"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "J1 —, J2 —, J3 —" in said
    assert not re.search("— (ms|°|Hz|%)", said)


def test_the_table_warns_of_a_lag_and_names_every_measure(tmp_path, capsys) -> None:
    t, command, measured = signals()
    path = write(tmp_path / "a.csv", {"t": t, "x_c": command, "x_m": measured})
    assert main(["assess", str(path), "--window", "1", "--share", "0.2"]) == 0
    said = capsys.readouterr().out
    # the motion that the specimen of GAIN, DELAY late, adds in phase and out of phase
    motion = 0.2 * GAIN * np.exp(-2j * np.pi * FREQUENCY * DELAY)
    damping = 50.0 * motion.imag / (0.8 + motion.real)
    assert f"warning: the lag feeds energy into the test: the added damping by FDB is {damping:.3g} %" in said
    for word in ("paei_adaptive_window", "broadband_delay", "nrmse_range", "ti_angle", "FEI", "J1", "coherence"):
        assert word in said
    assert "nan" not in said
    assert main(["assess", str(path), "--window", "1", "--measures", "ti,nrmse"]) == 0
    said = capsys.readouterr().out
    assert "nrmse_range" in said and "fdb_ratio" not in said and "coherence" not in said
    for measure, word in (("transfer", "coherence"), ("hsem", "hsem needs a force")):
        assert main(["assess", str(path), "--measures", measure]) == 0
        assert word in capsys.readouterr().out
    assert "indicators.measures.0: Measures must be 'fdb'" in refusal_of(capsys, "assess", path, "--measures", "tea")


def test_a_drift_is_taken_out_by_the_same_filter_on_both(assess, tmp_path) -> None:
    t, command, measured = signals(12_000)
    path = write(tmp_path / "a.csv", {"t": t, "x_c": command + 3.0 * t, "x_m": measured - 5.0 * t})
    (pair,) = assess(path, "--window", 1.0, "--bandpass", 1.0, 20.0)["pairs"]
    assert pair["fdb"]["delay_ms"]["median"] == pytest.approx(1e3 * DELAY, rel=1e-3)
    (raw,) = assess(path, "--window", 1.0)["pairs"]
    assert abs(raw["nrmse"]["median"] - pair["nrmse"]["median"]) > 0.1
    assert main(["assess", str(path), "--bandpass", "20", "1"]) == 2


def test_the_json_has_these_words_and_the_numbers_are_right(assess, tmp_path) -> None:
    t, command, measured = signals()
    path = write(tmp_path / "a.csv", {"t": t, "north command": command, "north measured": measured})
    found = assess(path, "--window", 1.0)
    assert {"file", "sample_rate", "samples", "duration_s", "pairs"} <= set(found)
    assert (found["file"], found["sample_rate"]) == (str(path), RATE)
    assert (found["samples"], found["duration_s"]) == (6000, 6.0)
    (pair,) = found["pairs"]
    assert (pair["command"], pair["measured"]) == ("north command", "north measured")
    errors = {"ratio", "phase_rad", "delay_ms"}
    doubts = {"ratio_sd", "phase_sd_rad", "delay_sd_ms"}
    for group in ("fdb", "paei", "paei_adaptive"):
        assert pair[group].pop("contradicts") == 0.0
    assert set(pair["fdb"]) == errors | doubts | {"frequency_hz", "amplitude", "added_damping"}
    assert set(pair["paei"]) == errors | doubts | {"amplitude_error"}
    assert set(pair["paei_adaptive"]) == errors | doubts | {"amplitude_error", "window_s"}
    assert set(pair["xcorr"]) == {"delay_ms", "delay_sd_ms", "peak"}
    assert set(pair["broadband"]) == {"delay_ms", "ratio", "coherence", "delay_sd_ms", "ratio_sd", "play"}
    flat = ("ti", "ti_normalized", "ti_angle_rad", "nrmse", "nrmse_std", "nrmse_range", "nrmse_measured")
    groups = ("fdb", "paei", "paei_adaptive", "xcorr", "broadband")
    spreads = [spread for group in groups for spread in pair[group].values()]
    spreads += [pair[name] for name in (*flat, "peak_error", "peak_error_relative")]
    for spread in spreads:
        assert set(spread) == SPREAD
        assert all(isinstance(value, float) for value in spread.values())
        assert spread["p05"] <= spread["median"] <= spread["p95"]
    assert_tone(pair)
    assert_whole_record(pair, command, measured)
    assert pair["peak_error"]["median"] == pytest.approx(np.abs(command - measured).max(), rel=1e-3)
    # the first window is only full at its last sample
    assert pair["valid_fraction"] == pytest.approx(5001 / 6000)


def test_several_pairs_and_several_files(assess, tmp_path) -> None:
    t, command, measured = signals()
    columns = {"t": t, "a_command": command, "a_measured": measured, "b_command": measured, "b_measured": command}
    path = write(tmp_path / "a.csv", columns)
    names = (
        "--command",
        "a_command",
        "--measured",
        "a_measured",
        "--command",
        "b_command",
        "--measured",
        "b_measured",
    )
    found = assess(path, *names, "--window", 1.0)
    a, b = found["pairs"]
    assert_tone(a)
    assert b["fdb"]["ratio"]["median"] == pytest.approx(GAIN)
    assert b["paei"]["delay_ms"]["median"] == pytest.approx(-1e3 * DELAY)
    several = assess(path, path, *names, "--window", 1.0)
    assert [one["pairs"] for one in several["records"]] == [found["pairs"]] * 2


@pytest.mark.parametrize("pairs", [1, 2])
def test_the_series(assess, tmp_path, pairs) -> None:
    t, command, measured = signals(3000)
    columns = {"t": t, "a_command": command, "a_measured": measured}
    columns |= {"b_command": command, "b_measured": measured} if pairs == 2 else {}
    target = tmp_path / "series.csv"
    found = assess(write(tmp_path / "a.csv", columns), "--window", 1.0, "--series", target, "--every", 1)
    units = pd.read_csv(target, nrows=0).columns
    assert {"t [s]", *(f"{p}fdb_delay [s]" for p in (["a_", "b_"] if pairs == 2 else [""]))} <= set(units)
    table = pd.read_csv(target).rename(columns=lambda name: name.split(" [")[0])
    np.testing.assert_allclose(table["t"], t, atol=1e-12)
    prefixes = [""] if pairs == 1 else ["a_", "b_"]
    for prefix, pair in zip(prefixes, found["pairs"], strict=True):
        assert set(SERIES) <= {name.removeprefix(prefix) for name in table if name.startswith(prefix)}
        assert table[f"{prefix}fdb_delay"].isna().sum() == 999
        assert table[f"{prefix}fdb_delay"].median() == pytest.approx(1e-3 * pair["fdb"]["delay_ms"]["median"])
        assert table[f"{prefix}paei_ratio"].iloc[-1] == pytest.approx(1 / GAIN)


def test_the_series_is_no_picture(tmp_path, capsys) -> None:
    picture = tmp_path / "delay.PNG"
    assert "examples/plot_series.py" in refusal_of(capsys, "assess", tmp_path / "a.csv", "--series", picture)
    assert not picture.exists()


def test_the_series_is_thinned_and_replaces_nothing_unasked(assess, tmp_path, capsys) -> None:
    t, command, measured = signals(3000)
    path = write(tmp_path / "a.csv", {"t": t, "x_c": command, "x_m": measured})
    target = tmp_path / "series.csv"
    found = assess(path, "--window", 1.0, "--series", target)
    assert any("--every 1 writes all" in note for note in found["notes"])
    thinned = pd.read_csv(target)
    np.testing.assert_allclose(thinned["t [s]"], t[::10], atol=1e-9)
    line = refusal_of(capsys, "assess", path, "--window", "1", "--series", target)
    assert "exists" in line and "--overwrite" in line
    assess(path, "--window", 1.0, "--series", target, "--every", 1, "--overwrite")
    everything = pd.read_csv(target)
    pd.testing.assert_frame_equal(everything[::10].reset_index(drop=True), thinned)


def test_a_quiet_lead_in_is_left_out(assess, tmp_path) -> None:
    t, command, measured = signals(12_000, lead_in=8000)
    rng = np.random.default_rng(0)
    noise = 1e-3 * rng.standard_normal((2, len(t)))
    path = write(tmp_path / "a.csv", {"t": t, "x_c": command + noise[0], "x_m": measured + noise[1]})
    (pair,) = assess(path, "--window", 1.0)["pairs"]
    # the windows on the edge see the motion begin
    assert_tone(pair, rel=0.02)
    # FDB and PAEI look whether the two belong together eight times a window: every 250 samples, 0.021 of the record
    assert pair["valid_fraction"] == pytest.approx(4000 / 12_000, abs=0.022)


def test_a_window_longer_than_the_record_is_told_and_nothing_is_invented(assess, tmp_path) -> None:
    t, command, measured = signals(2000)
    found = assess(write(tmp_path / "a.csv", {"t": t, "x_c": command, "x_m": measured}), "--window", 100)
    (warning,) = found["warnings"]
    assert (warning["code"], warning["actuator"]) == ("no_value", "x")
    assert "shorter than the window" in warning["text"]
    assert found["pairs"][0]["fdb"]["ratio"] == dict.fromkeys(SPREAD)
    assert found["pairs"][0]["valid_fraction"] == 0.0


def test_a_run_file_is_assessed_as_it_was_watched(start, assess, tmp_path) -> None:
    t, command, measured = signals()
    path, kept = write(tmp_path / "a.csv", {"t": t, "x_c": command, "x_m": measured}), tmp_path / "run.h5"
    rig = start("replay", path, "--speed", "max", "--bind", "tcp://127.0.0.1:*")
    watched = ("--window", 0.7, "--every", 5, "--peak", "own")
    words = ("--connect", rig.publishing, "--publish", "tcp://127.0.0.1:*", "--record", kept, "--once")
    start("monitor", *words, *watched).wait()
    rig.wait()
    live, offline = assess(kept), assess(path, *watched)
    assert live["window_s"] == 0.7
    assert live["pairs"] == offline["pairs"]
    assert assess(kept, "--window", 1.0)["window_s"] == 1.0


def earthquake(t: np.ndarray, seed: int = 4) -> np.ndarray:
    return Earthquake(rms=1.0, seed=seed, ground_frequency=1.5, strong=200.0).sample(t)


def test_the_headline_is_right_in_an_earthquake_and_leads_the_table(assess, tmp_path, capsys) -> None:
    # beside it FDB as printed, which is not: of the motion it would agree
    t = np.arange(40_000) / RATE
    path = write(tmp_path / "a.csv", {"t": t, "x_c": earthquake(t), "x_m": GAIN * earthquake(t - DELAY)})
    found = assess(path, "--delay-of", "tone")
    (pair,) = found["pairs"]
    headline = pair["headline"]
    assert headline["indicator"] == "broadband"
    assert (headline["delay_ms"], headline["ratio"]) == pytest.approx((1e3 * DELAY, 1 / GAIN), rel=1e-4)
    assert headline["delay_sd_ms"] == pair["broadband"]["delay_sd_ms"]["median"]
    assert headline["ratio_sd"] == pair["broadband"]["ratio_sd"]["median"]
    assert headline["valid_fraction"] == pytest.approx(1.0, abs=0.1)
    assert pair["fdb"]["contradicts"] > 0.1
    assert pair["paei"]["contradicts"] == 0.0
    assert main(["assess", str(path), "--delay-of", "tone"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith("x: 15.000 ± ")
    assert "ms late, undershoots by 10.0 % (ratio 1.111 ± " in lines[1]
    assert "broadband over a window of 2 s, valid in 95 % of the record; ± is one window's, of the med" in lines[1]
    indicator = re.compile(r"(broadband|fdb|paei|xcorr|ti|nrmse|peak_error)(_\w+)? ")
    rows = [line for line in lines if indicator.match(line)]
    order = ("broadband", "fdb", "paei_adaptive", "paei", "xcorr")
    groups = [next((g for g in order if r.startswith(g)), "") for r in rows[:15]]
    # the adaptive PAEI finds no turn here that is nearly one of a sine, and has no row without a value
    assert list(dict.fromkeys(groups)) == ["broadband", "paei", "fdb", "xcorr"]
    marked = {line.split()[0] for line in rows if "≠" in line}
    assert "fdb_delay" in marked
    assert marked <= {"fdb_delay", "fdb_ratio"}


def test_the_warnings_of_the_json_are_those_of_the_table(assess, tmp_path, capsys) -> None:
    t = np.arange(40_000) / RATE
    columns = {"t": t}
    for i, delay in enumerate((0.003, 0.012, 0.03)):
        columns |= {
            f"{'abc'[i]}_command": earthquake(t),
            f"{'abc'[i]}_measured": earthquake(t - delay) + 3.0 * (i == 1),
        }
    columns["c_measured"][5000] = np.nan
    path = write(tmp_path / "a.csv", columns)
    found = assess(path)
    codes = {(warning["code"], warning["actuator"]) for warning in found["warnings"]}
    assert {("offset", "b"), ("not_numbers", "c"), ("actuators_differ", None)} <= codes
    assert main(["assess", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    said = [line for line in lines if line.startswith("warning")]
    expected = [(f", {w['actuator']}" if w["actuator"] else "", w["text"]) for w in found["warnings"]]
    assert said == [f"warning{whose}: {text}" for whose, text in expected]
    worst = next(line for line in lines if line.startswith("worst: "))
    assert worst.startswith("worst: c, delay 30.0 ms") and worst.endswith("27.0 ms apart")
    compared = [line.split()[1] for line in lines if line.startswith(("a ", "c "))]
    assert [float(delay) for delay in compared] == pytest.approx([3.0, 30.0], abs=0.01)


def test_a_part_of_a_record_is_assessed_by_itself(assess, tmp_path, capsys) -> None:
    t = np.arange(40_000) / RATE
    delays = np.where(t < 20.0, 0.004, 0.016)
    path = write(tmp_path / "a.csv", {"t": t, "x_c": earthquake(t), "x_m": earthquake(t - delays)})
    whole = assess(path)
    changes = [warning["text"] for warning in whole["warnings"] if warning["code"] == "delay_changes"]
    assert len(changes) == 1 and "from 4.0 to 16.0 ms" in changes[0] and "--start" in changes[0]
    for words, delay in ((("--stop", 20), 4.0), (("--start", 20), 16.0), (("--start", 22.5, "--stop", "35"), 16.0)):
        part = assess(path, *words)
        assert part["pairs"][0]["headline"]["delay_ms"] == pytest.approx(delay, abs=0.01)
        assert "delay_changes" not in [warning["code"] for warning in part["warnings"]]
    assert part["duration_s"] == 12.5
    assert "from 22.5 to 35 s of 40 s" in part["notes"]
    for words, said in ((("--start", "50"), "the record is 40 s long"), (("--start", "5", "--stop", "5"), "after")):
        assert said in refusal_of(capsys, "assess", path, *words)


def test_the_report_of_a_real_test_tells_what_its_figures_are_worth(assess, records) -> None:
    (path,) = records.shaker.glob("OnTop*_18.80Hz.csv")
    shaker = assess(path, "--command", "shaker_front_cmd_V", "--measured", "laser_front_mm")
    # a quarter of the window of 80 ms is less than the delay of 22.5 ms
    assert shaker["pairs"][0]["headline"]["delay_ms"] is None
    assert {"no_value", "units_differ", "large_phase"} == {warning["code"] for warning in shaker["warnings"]}
    (told,) = (float(word) for word in re.findall(r"([\d.]+) ms", shaker["warnings"][0]["text"])[:1])
    assert told == pytest.approx(22.5, abs=0.5)
    assert any("1.3 windows" in note for note in shaker["notes"])
    sides = assess(path, "--command", "laser_front_mm", "--measured", "laser_back_mm")
    motion = pd.read_csv(path)[["laser_front_mm", "laser_back_mm"]].to_numpy()
    (offset,) = (warning["text"] for warning in sides["warnings"] if warning["code"] == "offset")
    assert float(offset.split(" lies ")[1].split()[0]) == pytest.approx(np.diff(motion.mean(axis=0))[0], abs=0.005)
    assert abs(sides["pairs"][0]["headline"]["delay_ms"]) < 0.3


def test_the_shaker_of_a_real_test_lags_and_its_two_sides_agree(assess, records) -> None:
    (path,) = records.shaker.glob("Large*_16.00Hz.csv")
    shaker = assess(path, "--command", "shaker_front_cmd_V", "--measured", "laser_front_mm", "--window", 0.09)
    (pair,) = shaker["pairs"]
    assert pair["fdb"]["frequency_hz"]["median"] == pytest.approx(16.0, rel=0.03)
    assert pair["fdb"]["delay_ms"]["median"] == pytest.approx(22.0, abs=3.0)
    assert pair["paei"]["delay_ms"]["median"] == pytest.approx(22.0, abs=3.0)
    # volts against millimetres: a difference means nothing
    assert pair["nrmse"]["median"] is None
    sides = assess(path, "--command", "laser_front_mm", "--measured", "laser_back_mm", "--window", 0.09)
    motion = pd.read_csv(path)[["laser_front_mm", "laser_back_mm"]].std()
    assert sides["pairs"][0]["paei"]["ratio"]["median"] == pytest.approx(motion.iloc[0] / motion.iloc[1], rel=0.05)
    assert abs(sides["pairs"][0]["paei"]["delay_ms"]["median"]) < 3.0


def test_the_virtual_test_tracks_perfectly(assess, records) -> None:
    found = assess(records.openfresco / "Elmt_ctrlDsp_Ref.out")
    assert found["pairs"]
    for pair in found["pairs"]:
        assert pair["paei"]["ratio"]["median"] == pytest.approx(1.0, abs=1e-9)
        assert pair["fdb"]["delay_ms"]["median"] == pytest.approx(0.0, abs=1e-6)
        assert pair["nrmse"]["p95"] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(("columns", "percentiles"), [(60, False), (130, True)])
def test_no_figure_is_cut_in_a_terminal(columns, percentiles, tmp_path, capsys, monkeypatch) -> None:
    t = np.arange(20_000) / RATE
    names = {"t": t}
    for name in ("north", "south"):
        names |= {f"{name}_command": earthquake(t), f"{name}_measured": GAIN * earthquake(t - DELAY)}
    path = write(tmp_path / "a.csv", names)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(columns))
    assert main(["assess", str(path)]) == 0
    said = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
    assert "…" not in said
    assert max(map(len, said.splitlines())) <= columns
    assert ("95 %" in said.split("broadband_delay")[0]) == percentiles
