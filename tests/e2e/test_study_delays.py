"""`synchroscope study delays`: the words of its JSON, tables, pictures, mistakes."""

from __future__ import annotations

import json

import pytest

from monitor.__main__ import main


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
    assert found["levels"][0]["unstable"]["kept_stable"] == 0
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
