"""`synchroscope study`: tables for a reader, one JSON object for a script, a picture a case."""

from __future__ import annotations

import json
import math

import pytest

from monitor.__main__ import main

pytestmark = pytest.mark.usefixtures("warm_kernels")


def test_the_json_is_one_object_with_known_found_and_printed(capsys) -> None:
    assert main(["study", "tracking", "--case", "vi", "--case", "i", "--json"]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    found = json.loads(said.out)
    assert found["study"] == "tracking"
    cases = {case["case"]: case for case in found["cases"]}
    assert list(cases) == ["i", "vi"]
    sixth = cases["vi"]
    assert sixth["indicators"]["fdb_ratio"]["mean"] == pytest.approx(1.25, rel=5e-4)
    assert math.degrees(sixth["indicators"]["fdb_phase"]["mean"]) == pytest.approx(15.871, abs=0.05)
    assert sixth["known"]["fdb_ratio"] == pytest.approx(1.25)
    assert sixth["paper"]["fdb_ratio"] == 1.245
    assert sixth["fei_tapered"]["ratio"] == pytest.approx(1.25, rel=1e-3)
    assert not sixth["virtual"]


def test_the_tables_show_the_paper_beside(capsys) -> None:
    assert main(["study", "tracking", "--case", "ii"]) == 0
    said = capsys.readouterr().out
    assert "Case (ii-a)" in said and "Case (ii-b)" in said
    assert "the paper prints: lag_driven 0.03" in said
    assert "nan" not in said


def test_a_picture_a_case(tmp_path, capsys) -> None:
    folder = tmp_path / "new" / "pictures"
    assert main(["study", "tracking", "--case", "i", "--case", "iii", "--pictures", str(folder), "--json"]) == 0
    json.loads(capsys.readouterr().out)
    drawn = sorted(folder.iterdir())
    assert [path.name for path in drawn] == ["case-i.png", "case-iii.png"]
    for path in drawn:
        assert path.read_bytes().startswith(b"\x89PNG") and path.stat().st_size > 20_000


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--case", "x"], "there is no case 'x': choose among i, ii-a"),
        (["--seed", "-1"], "--seed -1: must be zero or more"),
        (["--case", "i", "--pictures", "/dev/null/x"], "--pictures /dev/null/x: "),
    ],
)
def test_mistakes_are_one_line(words, complaint, capsys) -> None:
    assert main(["study", "tracking", *words]) == 2
    said = capsys.readouterr()
    assert complaint in said.err
    assert said.err.count("\n") == 1 and said.out == ""
