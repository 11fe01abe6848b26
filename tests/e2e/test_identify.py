"""`synchroscope identify` and `synchroscope study delays`: the words of their JSON, tables, pictures, mistakes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from monitor.__main__ import main

BRISTOL = Path(__file__).parents[2] / ".." / "shared" / "data" / "bristol_rtht"
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


def test_the_table_of_a_fit(record, capsys) -> None:
    assert main(["identify", str(record), str(record), "--lag", "--drift", "2", "--max-delay", "0.05"]) == 0
    said = capsys.readouterr().out
    assert said.count("command -> measured") == 2
    for words in ("gain", "delay", "lag", "beta_2", "ms", "of the measured variance explained"):
        assert words in said
    assert main(["identify", str(record), str(record), "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["records"]) == 2


@pytest.mark.skipif(not BRISTOL.is_dir(), reason="the Bristol records are not on this machine")
@pytest.mark.parametrize(("name", "delay"), [("Large*_16.00Hz", 22.2), ("Large*_19.00Hz", 19.4), ("OnTop*", 22.55)])
def test_a_real_rig_is_as_late_as_fdb_says(name, delay, capsys) -> None:
    (path,) = BRISTOL.glob(f"{name}.csv")
    columns = ["--command", "shaker_front_cmd_V", "--measured", "laser_front_mm"]
    assert main(["identify", str(path), *columns, "--max-delay", "0.03", "--json"]) == 0
    (actuator,) = json.loads(capsys.readouterr().out)["actuators"]
    assert 1e3 * actuator["estimates"]["delay"] == pytest.approx(delay, abs=0.1)


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


def test_the_json_of_the_study(capsys) -> None:
    assert main(["study", "delays", "--sigma", "0.1", "--runs", "20", "--seed", "3", "--json"]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    found = json.loads(said.out)
    assert (found["study"], found["runs"], found["later_s"]) == ("delays", 20, 30.0)
    assert [(level["example"], level["sigma"]) for level in found["levels"]] == [(1, 0.1), (2, 0.1), (3, 0.1)]
    second = found["levels"][1]
    assert second["truth"] == {"q0": -1.7, "q1": 1.2, "omega": 0.1}
    assert second["paper"]["method_2"] == {"q0": -1.7387, "q1": 1.1856, "omega": 0.1828}
    assert set(second["method_1"]["estimates"]) == {"q0", "q1", "beta_1", "beta_2", "beta_3"}
    histogram = second["method_2"]["estimates"]["omega"]["histogram"]
    assert sum(histogram["counts"]) == 20 and len(histogram["edges"]) == len(histogram["counts"]) + 1
    low, high = second["method_2"]["one_run"]["profile_95"]["q0"]
    assert low < second["method_2"]["one_run"]["estimates"]["q0"] < high
    assert second["times_closer_later"] > 10.0 and second["with_prior"] is None
    assert second["unstable"] == {"single": 0, "mean_of_repeated": 0, "repeated_together": 0, "kept_stable": 0}
    assert found["levels"][0]["unstable"]["kept_stable"] is None
    assert found["hypothesised_model_alone"]["paper"] == {"q0": -0.63}


def test_the_tables_and_pictures_of_the_study(tmp_path, capsys) -> None:
    words = ["study", "delays", "--sigma", "0.027", "0.1", "--runs", "10", "--pictures", str(tmp_path)]
    assert main(words) == 0
    said = capsys.readouterr()
    for text in (
        "Example 3: q0 -1.7, q1 1.65, omega 0.2",
        "the paper prints: 3 of 500 runs unstable, none with repeated observations",
        "method 2, the disturbance as a parameter",
        "times closer",
        "-1.7387",
        "the paper prints -0.63",
    ):
        assert text in said.out
    assert "nan" not in said.out and all(len(line) <= 118 for line in said.out.splitlines())
    assert len(said.err.splitlines()) == len(list(tmp_path.glob("delays-*.png"))) == 7


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["delays", "--case", "i"], "--case: does not belong to the study delays"),
        (["tracking", "--sigma", "0.1"], "--sigma: does not belong to the study tracking"),
        (["delays", "--runs", "7"], "7 runs: give 10 or more, a multiple of 5"),
        (["delays", "--sigma", "-1"], "sigma: must be a positive number"),
    ],
)
def test_mistakes_about_the_study_are_one_line(words, complaint, capsys) -> None:
    assert main(["study", *words]) == 2
    said = capsys.readouterr()
    assert complaint in said.err
    assert said.err.count("\n") == 1 and said.out == ""
