"""`synchroscope study delays`: the words of its JSON, tables, pictures, mistakes."""

from __future__ import annotations

import json
from pathlib import Path

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
    assert second["times_closer_later"] > 10.0 and second["with_priors"] is None
    assert (
        second["repeated"]["mean_of_repeated"]
        == {"fits": 4, "unstable": 0}
        == second["repeated"]["repeated_together"]
    )
    assert second["method_2"]["n_unstable"] == second["method_2"]["kept_stable"]["n_unstable"] == 0
    assert found["undisturbed_model_alone"]["paper"] == {"q0": -0.63}
    assert found["undisturbed_model_alone"]["truth"] == {"q0": -1.7}


def test_the_json_is_the_same_but_for_the_time_it_took(capsys) -> None:
    found = []
    for _ in range(2):
        assert main(["study", "delays", "--sigma", "0.1", "--runs", "10", "--json"]) == 0
        found.append(json.loads(capsys.readouterr().out))
    timing = [each.pop("timing") for each in found]
    assert found[0] == found[1] and "seconds" not in json.dumps(found)
    assert [(each["example"], each["sigma"]) for each in timing[0]] == [(1, 0.1), (2, 0.1), (3, 0.1)]
    assert all(each["method_2_kept_stable_s"] > 0.0 for each in timing[0])


def test_no_fact_of_the_json_has_two_names(capsys) -> None:
    assert main(["study", "delays", "--sigma", "0.3", "--runs", "10", "--json"]) == 0
    for level in json.loads(capsys.readouterr().out)["levels"]:
        assert set(level) == {
            *("example", "sigma", "truth", "paper", "method_1", "method_2", "times_closer_later", "repeated"),
            *("steady_state", "with_priors"),
        }
        for method in (level["method_1"], level["method_2"]):
            counts = {"n_converged", "n_unstable", "n_at_bound", "error_later"}
            assert (
                set(method) == {"one_run", "estimates", "kept_stable", *counts}
                and set(method["kept_stable"]) == counts
            )
            assert isinstance(method["n_at_bound"], int) and isinstance(method["one_run"]["at_bound"], list)
            assert set(method["estimates"]["q0"]) == {
                *("mean", "deviation", "p05", "p25", "p50", "p75", "p95", "histogram"),
                *("bias", "bias_standard_error", "mean_standard_error"),
            }


def test_the_tables_and_pictures_of_the_study(tmp_path, capsys) -> None:
    words = ["study", "delays", "--sigma", "0.1", "--runs", "10", "--pictures", str(tmp_path)]
    assert main(words) == 0
    said = capsys.readouterr()
    # lines of paragraphs end where the terminal is full
    whole = " ".join(said.out.split())
    for text in (
        "Example 3: q0 -1.7, q1 1.65, omega 0.2",
        "the paper prints: 3 of 500 runs unstable, none with repeated observations",
        "method 2, the disturbance as a parameter",
        "closer",
        "-1.7387",
        "the paper prints -0.63",
        "x(0) = 5, is observed 151 times from 0 to 3 s",
        "Near instability a run may",
        "but 1.5 of it never react",
    ):
        assert text in whole
    assert "nan" not in said.out and all(len(line) <= 118 for line in said.out.splitlines())
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *(f"delays-{picture}.png" for picture in ("1-estimates", "1-prediction", "2-estimates", "2-prediction")),
        *(f"delays-{picture}.png" for picture in ("2-steady-state", "3-estimates", "3-prediction")),
    ]
    for path in map(Path, said.err.splitlines()):
        assert path.read_bytes().startswith(b"\x89PNG") and path.stat().st_size > 10_000
