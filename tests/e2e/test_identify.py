"""`synchroscope identify`: the words of its JSON and tables, records of a real rig, bad records, mistakes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from monitor.__main__ import main

DATA = Path(__file__).parents[2] / ".." / "shared" / "data"
BRISTOL, OPENFRESCO = DATA / "bristol_rtht", DATA / "openfresco_vrths"
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
    for name, value in (("gain", GAIN), ("delay", DELAY), ("beta_1", -3.0 - 7.0 * GAIN)):
        assert abs(estimates[name] - value) < 5.0 * errors[name]
    assert actuator["sigma"] == pytest.approx(1e-4, rel=0.1)
    assert actuator["residuals"]["doubts"] == [] and actuator["converged"]
    assert actuator["explained"] == pytest.approx(1.0, abs=1e-6)
    assert actuator["at_bound"] == actuator["unidentified"] == actuator["rivals"] == actuator["warnings"] == []
    assert found["problems"] == []


def test_a_delay_at_its_bound_has_no_error_in_the_json(record, capsys) -> None:
    assert main(["identify", str(record), "--json", "--max-delay", "0.01"]) == 0
    (actuator,) = json.loads(capsys.readouterr().out)["actuators"]
    assert actuator["estimates"]["delay"] == 0.01 and actuator["at_bound"] == ["delay"]
    assert actuator["standard_errors"]["delay"] is None and actuator["correlated_standard_errors"]["delay"] is None
    assert actuator["standard_errors"]["gain"] > 0.0
    assert any("delay: stands at the end" in warning for warning in actuator["warnings"])
    assert main(["identify", str(record), "--max-delay", "0.01"]) == 0
    said = capsys.readouterr().out
    (row,) = (line for line in said.splitlines() if line.startswith("│ delay"))
    assert row.count("—") == 4
    assert "warning: delay: stands at the end of what was searched" in said


def test_what_can_be_fitted_is_printed_beside_what_cannot(record, tmp_path, capsys) -> None:
    dead = tmp_path / "dead.csv"
    pd.read_csv(record).assign(measured=0.25).to_csv(dead, index=False)
    words = f"synchroscope identify: {dead}: command -> measured: the measured signal stands still, at 0.25: "
    for option in ([], ["--json"]):
        assert main(["identify", str(dead), *option]) == 2
        said = capsys.readouterr()
        assert said.out == "" and said.err.count("\n") == 1 and said.err.startswith(words)
    assert main(["identify", str(dead), str(record), "--json"]) == 2
    said = capsys.readouterr()
    assert json.loads(said.out)["file"] == str(record)
    assert said.err.startswith(words) and said.err.count("\n") == 1


@pytest.mark.parametrize("columns", [80, 120])
def test_no_number_of_the_table_is_cut(columns, record, monkeypatch, capsys) -> None:
    monkeypatch.setattr("monitor.commands.identify_table.WIDTH", columns)
    assert main(["identify", str(record), "--lag", "--drift", "3"]) == 0
    table = [line for line in capsys.readouterr().out.splitlines() if line.startswith("│")]
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


@pytest.mark.skipif(not DATA.is_dir(), reason="the records are not on this machine")
@pytest.mark.usefixtures("warm_kernels")
@pytest.mark.parametrize("name", ["Large*_16.00Hz", "Large*_19.00Hz", "OnTop*"])
def test_a_real_rig_is_as_late_as_fdb_says(name, capsys) -> None:
    (path,) = BRISTOL.glob(f"{name}.csv")
    words = [str(path), "--command", "shaker_front_cmd_V", "--measured", "laser_front_mm", "--json"]
    assert main(["identify", *words, "--max-delay", "0.03"]) == 0
    (actuator,) = json.loads(capsys.readouterr().out)["actuators"]
    assert main(["assess", *words]) == 0
    (pair,) = json.loads(capsys.readouterr().out)["pairs"]
    assert 1e3 * actuator["estimates"]["delay"] == pytest.approx(pair["fdb"]["delay_ms"]["median"], abs=0.05)
    # measured over command, and command over measured
    assert actuator["estimates"]["gain"] == pytest.approx(1.0 / pair["fdb"]["ratio"]["median"], rel=0.03)


@pytest.mark.skipif(not DATA.is_dir(), reason="the records are not on this machine")
def test_a_command_that_was_recorded_twice_is_told(capsys) -> None:
    assert main(["identify", str(OPENFRESCO / "Elmt_ctrlDsp_Ref.out")]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert said.out.count("only rounding is left: the measured signal is the command itself") == 2
    assert "e-1" not in said.out.replace("left", "").split("samples compared")[0]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--max-delay", "2"], "max_delay 2.0: must be positive, 1.0 s at most"),
        (["--drift", "-1"], "drift -1: give the terms of the polynomial, 0 to 6"),
        (["--rate", "100", "--time", "time"], "leave one out"),
    ],
)
def test_mistakes_about_a_fit_are_one_line(words, complaint, record, capsys) -> None:
    assert main(["identify", str(record), *words]) == 2
    said = capsys.readouterr()
    assert complaint in said.err
    assert said.err.count("\n") == 1 and said.out == ""
