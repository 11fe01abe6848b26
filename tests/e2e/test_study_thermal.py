"""`synchroscope study thermal`: tables for a reader, one JSON object for a script, pictures; and its stream."""

from __future__ import annotations

import json
import re

import pytest

from monitor.__main__ import main

pytestmark = pytest.mark.usefixtures("warm_kernels")

TINY = ["study", "thermal", "--realizations", "400", "--resampled", "20"]
SMALL = [*TINY[:-1], "500"]
LEVELS = ["Low", "Medium", "High"]
VARIANTS = ["constant", "representative", "temperature_dependent"]


def test_the_json_is_one_object_and_pictures_are_told_beside_it(tmp_path, capsys) -> None:
    assert main([*SMALL, "--pictures", str(tmp_path / "new"), "--json"]) == 0
    said = capsys.readouterr()
    pictures = [
        tmp_path / "new" / f"thermal-{word}.png"
        for word in ("parameter-space", "material", "validation", "accreditation", "decision")
    ]
    assert said.err.splitlines() == [str(path) for path in pictures]
    for path in pictures:
        assert path.read_bytes().startswith(b"\x89PNG") and path.stat().st_size > 20_000
    found = json.loads(said.out)
    assert found["study"] == "thermal" and found["table2_max_error"] < 5e-7
    probabilities = found["failure_probability"]
    assert list(probabilities) == LEVELS
    for level in LEVELS:
        assert list(probabilities[level]) == VARIANTS
        for each in probabilities[level].values():
            assert list(each) == ["value", "standard_error", "quadrature", "bootstrap_05", "bootstrap_95"]
            assert abs(each["value"] - each["quadrature"]) < 4.0 * each["standard_error"]
            assert 0.0 < each["bootstrap_05"] < each["quadrature"] < each["bootstrap_95"] < 1.0
            n = 400 if each is probabilities[level]["temperature_dependent"] else 2000
            assert each["standard_error"] == pytest.approx(
                (each["value"] * (1.0 - each["value"]) / n) ** 0.5, rel=0.05
            )
        assert found["decision"][level]["statement"].startswith(f"{level}: the requirement is not met.")
        for activity, sites in (("validation", list("1234")), ("accreditation", ["front", "middle", "back"])):
            for judged in found[activity][level].values():
                assert [each["tolerance"] for each in judged] == [0.05, 0.1, 0.15]
                assert {*sites, "product", "joint"} < set(judged[0])
    # what is known beforehand of High; "about 0.13" has no temperature, ours is that of 578 degC (docs/thermal.md)
    high = {which: each["quadrature"] for which, each in probabilities["High"].items()}
    assert high["constant"] == pytest.approx(0.245, abs=5e-4)
    assert high["temperature_dependent"] == pytest.approx(0.10, abs=0.005)
    assert high["temperature_dependent"] < high["representative"] < 0.13 < high["constant"]
    assert found["characterization"]["High"]["representative_temperature"] == pytest.approx(578.3, abs=0.1)
    assert "is ours" in found["decision_rule"]
    fits = found["characterization"]["High"]["conductivity_line"]
    assert fits["coefficients"] == pytest.approx([0.050347, 2.4788e-5], rel=1e-4)
    assert fits["standard_errors"] == pytest.approx([0.00151, 2.466e-6], rel=1e-3)
    for which in ("constant", "temperature_dependent"):
        shares = found["share_of_model_cooler_at_the_end"]["High"][which]
        assert {name: len(each) for name, each in shares.items()} == {**dict.fromkeys("1234", 4), "accreditation": 2}
    assert [row["paper"] for row in found["table2"]][-1] == 869.477597
    rms = [run["rms"] for runs in found["fits"]["temperature_dependent"].values() for run in runs]
    assert len(rms) == 16 and max(rms) < 0.7
    for runs in found["fits"]["temperature_dependent"].values():
        assert all(0.0 < run["conductivity_standard_error"] < 0.1 * run["conductivity"] for run in runs)


def test_the_tables(capsys) -> None:
    assert main(TINY) == 0
    said = capsys.readouterr().out
    for words in (
        "869.477597  869.477597",
        "share of the units over 900 degC at 1000 s; allowed: 0.01",
        "High: whether the requirement is met stays open.",
        "A verdict needs 500 of them.",
        "Extrapolated: to 3500 W/m^2 and 900 degC, where nothing was tested.",
        "The rule for a verdict is ours",
        "finite volumes: error of the front at 1000 s of the application, degC",
        "Time zero, where model and specimen agree, is left out.",
        "an extrapolation",
    ):
        assert words in said or words in " ".join(said.split())
    assert "nan" not in said and "…" not in said
    assert all(len(line) <= 110 for line in said.splitlines())


def test_nothing_is_cut_off_in_a_narrow_terminal(capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert main(TINY) == 0
    said = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
    assert [line for line in said.splitlines() if "…" in line or len(line) > 80] == []
    assert "product" in said
    # columns for which there is no room follow below
    assert re.search(r"quadrature +5 to 95 % +lognormal\n", said) and re.search(r"\nlevel +k +resampled\n", said)
