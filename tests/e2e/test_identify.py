"""`synchroscope identify`: the words of its JSON and tables, bad records, mistakes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from monitor.__main__ import main
from tests.mistakes import refusal_of

RATE, GAIN, DELAY = 500.0, 0.9, 0.015


@pytest.fixture
def record(tmp_path) -> Path:
    time = np.arange(3000) / RATE
    noise = 1e-4 * np.random.default_rng(1).standard_normal(3000)

    def motion(t):
        return 2.0 * np.sin(2 * np.pi * 1.7 * t) + np.sin(2 * np.pi * 4.3 * t)

    path = tmp_path / "rig.csv"
    columns = {"time": time, "command": motion(time) + 7.0, "measured": GAIN * motion(time - DELAY) - 3.0 + noise}
    pd.DataFrame(columns).to_csv(path, index=False)
    return path


def test_the_json_of_a_fit(record, capsys) -> None:
    assert main(["identify", str(record), "--json"]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    found = json.loads(said.out)
    assert found["sample_rate"] == pytest.approx(RATE)
    (actuator,) = found["actuators"]
    assert (actuator["command"], actuator["measured"]) == ("command", "measured")
    estimates, errors = actuator["estimates"], actuator["correlated_standard_errors"]
    # the spline's own error at its ends is a thousandth of the noise
    for name, value in (("gain", GAIN), ("delay_s", DELAY), ("offset", -3.0 - 7.0 * GAIN)):
        assert abs(estimates[name] - value) < 5.0 * errors[name]
        low, high = actuator["interval_95"][name]
        # Student's t of so many degrees of freedom is the normal deviate
        assert (high - low) / 2.0 == pytest.approx(1.96 * errors[name], rel=0.01)
        assert (high + low) / 2.0 == pytest.approx(estimates[name])
    assert actuator["sigma"] == pytest.approx(1e-4, rel=0.1)
    assert actuator["residuals"]["doubts"] == [] and actuator["converged"]
    assert actuator["explained"] == pytest.approx(1.0, abs=1e-6)
    assert actuator["at_bound"] == actuator["unidentified"] == actuator["rivals"] == actuator["warnings"] == []
    assert found["problems"] == []


def test_a_delay_at_its_bound_has_no_error_in_the_json(record, capsys) -> None:
    assert main(["identify", str(record), "--json", "--max-delay", "0.01"]) == 0
    (actuator,) = json.loads(capsys.readouterr().out)["actuators"]
    assert actuator["estimates"]["delay_s"] == 0.01 and actuator["at_bound"] == ["delay_s"]
    assert actuator["standard_errors"]["delay_s"] is actuator["correlated_standard_errors"]["delay_s"] is None
    assert actuator["interval_95"]["delay_s"] == [None, None]
    assert actuator["standard_errors"]["gain"] > 0.0
    assert any("delay: at the bound" in warning for warning in actuator["warnings"])
    assert main(["identify", str(record), "--max-delay", "0.01"]) == 0
    said = capsys.readouterr().out
    (row,) = (line for line in said.splitlines() if line.startswith("delay"))
    assert row.count("—") == 4
    assert "warning: delay: at the bound of the search" in said


def test_what_can_be_fitted_is_printed_beside_what_cannot(record, tmp_path, capsys) -> None:
    dead, missing, empty = (tmp_path / f"{name}.csv" for name in ("dead", "missing", "empty"))
    pd.read_csv(record).assign(measured=0.25).to_csv(dead, index=False)
    empty.write_text("time,command,measured\n")
    words = "command -> measured: the measured signal is constant, 0.25: a dead channel, or a wrong column"
    assert main(["identify", str(dead)]) == 2
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", f"synchroscope identify: {dead}: {words}\n")
    for files in ([missing, dead, record, empty], [record, missing]):
        assert main(["identify", *map(str, files)]) == 2
        said = capsys.readouterr()
        assert said.out.count("samples compared") == 1 and str(record) in said.out
        refused = [each for each in files if each != record]
        for line, each in zip(said.err.splitlines(), refused, strict=True):
            assert line.startswith(f"synchroscope identify: {each}: ") and line.count(str(each)) == 1


def test_the_json_has_every_file_in_its_place(record, tmp_path, capsys) -> None:
    dead, missing = tmp_path / "dead.csv", tmp_path / "missing.csv"
    pd.read_csv(record).assign(measured=0.25).to_csv(dead, index=False)
    for path, rate in ((dead, pytest.approx(RATE)), (missing, None)):
        # the shape of a good one, as with `assess`
        assert main(["identify", str(path), "--json"]) == 2
        found = json.loads(capsys.readouterr().out)
        assert set(found) == {"file", "sample_rate", "notes", "actuators", "problems"}
        assert (found["file"], found["sample_rate"], found["actuators"]) == (str(path), rate, [])
        assert len(found["problems"]) == 1
    assert main(["identify", str(missing), str(record), str(dead), "--json"]) == 2
    records = json.loads(capsys.readouterr().out)["records"]
    assert [each["file"] for each in records] == [str(missing), str(record), str(dead)]
    assert [(len(each["actuators"]), len(each["problems"])) for each in records] == [(0, 1), (1, 0), (0, 1)]


def test_a_lag_that_is_not_told_has_no_value(tmp_path, capsys) -> None:
    time = np.arange(3000) / RATE
    path = tmp_path / "sine.csv"
    noise = 1e-4 * np.random.default_rng(1).standard_normal(3000)
    columns = {"time": time, "command": np.sin(9.0 * time), "measured": 0.9 * np.sin(9.0 * (time - 0.03)) + noise}
    pd.DataFrame(columns).to_csv(path, index=False)
    assert main(["identify", str(path), "--lag", "--json"]) == 0
    (actuator,) = json.loads(capsys.readouterr().out)["actuators"]
    assert actuator["estimates"]["lag_s"] is None and actuator["unidentified"] == ["lag_s"]
    assert actuator["estimates"]["delay_s"] == pytest.approx(0.03, abs=1e-4)
    assert main(["identify", str(path), "--lag"]) == 0
    _, table = capsys.readouterr().out.split("─\n")
    assert [line.split()[0] for line in table.split("\n\n")[0].splitlines()] == ["gain", "delay", "lag", "offset"]


@pytest.mark.parametrize("columns", [80, 120])
def test_no_number_of_the_table_is_cut(columns, record, monkeypatch, capsys) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(columns))
    assert main(["identify", str(record), "--lag", "--drift", "3"]) == 0
    said = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
    table = said.split("─\n")[1].split("\n\n")[0].splitlines()
    assert len(table) == 6 and max(map(len, table)) <= 80
    assert not any("…" in line for line in table)


def test_the_table_of_a_fit(record, capsys) -> None:
    assert main(["identify", str(record), str(record), "--lag", "--drift", "2", "--max-delay", "0.05"]) == 0
    said = capsys.readouterr().out
    assert said.count("command -> measured") == 2
    for words in ("gain", "delay", "lag", "offset", "drift", "ms", "of the measured variance explained"):
        assert words in said
    assert main(["identify", str(record), str(record), "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["records"]) == 2


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--max-delay", "2"], "max_delay 2.0: must be positive, 1.0 s at most"),
        (["--drift", "-1"], "drift -1: give the terms of the polynomial, 0 to 6"),
        (["--rate", "100", "--time", "time"], "leave one out"),
    ],
)
def test_mistakes_about_a_fit_are_one_line(words, complaint, record, capsys) -> None:
    assert complaint in refusal_of(capsys, "identify", record, *words)


@pytest.mark.usefixtures("warm_kernels")
@pytest.mark.parametrize("name", ["Large*_16.00Hz", "Large*_19.00Hz", "OnTop*"])
def test_a_real_rig_is_as_late_as_fdb_says(name, records, capsys) -> None:
    (path,) = records.shaker.glob(f"{name}.csv")
    words = [str(path), "--command", "shaker_front_cmd_V", "--measured", "laser_front_mm", "--json"]
    assert main(["identify", *words, "--max-delay", "0.03"]) == 0
    (actuator,) = json.loads(capsys.readouterr().out)["actuators"]
    assert main(["assess", *words]) == 0
    (pair,) = json.loads(capsys.readouterr().out)["pairs"]
    assert 1e3 * actuator["estimates"]["delay_s"] == pytest.approx(pair["fdb"]["delay_ms"]["median"], abs=0.05)
    # measured over command, and command over measured
    assert actuator["estimates"]["gain"] == pytest.approx(1.0 / pair["fdb"]["ratio"]["median"], rel=0.03)


def test_columns_of_a_real_rig_that_are_swapped_are_asked_about(records, capsys) -> None:
    (path,) = records.shaker.glob("Large*_16.00Hz.csv")
    words = ["--measured", "shaker_front_cmd_V", "--command", "laser_front_mm", "--max-delay", "0.03", "--json"]
    assert main(["identify", str(path), *words]) == 0
    (actuator,) = json.loads(capsys.readouterr().out)["actuators"]
    (swapped,) = (text for text in actuator["warnings"] if "an actuator is late; are command and measured" in text)
    assert float(swapped.removeprefix("a lead of ").split()[0]) == pytest.approx(22.2, abs=0.1)
    assert not any("lag" in note for note in actuator["notes"])


def test_a_real_rig_at_one_frequency_tells_no_lag(records, capsys) -> None:
    (path,) = records.shaker.glob("Large*_16.00Hz.csv")
    words = [str(path), "--command", "shaker_front_cmd_V", "--measured", "laser_front_mm", "--max-delay", "0.03"]
    with_lag, without = [], []
    for option, found in ((["--lag"], with_lag), ([], without)):
        assert main(["identify", *words, "--json", *option]) == 0
        found += json.loads(capsys.readouterr().out)["actuators"]
    assert with_lag[0]["unidentified"] == ["lag_s"]
    assert with_lag[0]["estimates"] == without[0]["estimates"] | {"lag_s": None}


def test_a_command_that_was_recorded_twice_is_told(records, capsys) -> None:
    assert main(["identify", str(records.openfresco / "Elmt_ctrlDsp_Ref.out")]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert said.out.count("residuals are rounding errors: the measured signal is the command") == 2
    assert "e-1" not in said.out.replace("left", "").split("samples compared")[0]
