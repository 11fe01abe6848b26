"""`synchroscope study`: tables for a reader, one JSON object for a script, pictures."""

from __future__ import annotations

import errno
import json
import math
import os
import re
from base64 import b64decode
from html import unescape

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
    printed = sixth["paper"]["fdb_ratio"]
    assert (printed["printed"], printed["unit"]) == (1.245, "1")
    assert printed["ours"] == pytest.approx(1.25, rel=5e-4) and "Table 3" in printed["where"]
    assert sixth["fei_tapered"]["ratio"] == pytest.approx(1.25, rel=1e-3)
    assert not sixth["virtual"]


def test_the_tables_show_the_paper_beside(capsys) -> None:
    assert main(["study", "tracking", "--case", "ii"]) == 0
    said = capsys.readouterr().out
    assert "Case (ii-a)" in said and "Case (ii-b)" in said
    assert "phase lag at the forcing frequency" in said and "0.0386 exactly" in said
    assert "nan" not in said


def test_the_plant_with_and_without_its_hold(tmp_path, capsys) -> None:
    assert main(["study", "tracking", "--case", "plant", "--pictures", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "The hold is half a sample: 0.488 ms at 1024 Hz, 0.122 ms at the benchmark's 4096 Hz" in said
    assert "in whole samples of 0.977 ms" in said and "in whole samples of 0.244 ms" in said
    assert (tmp_path / "plant.png").stat().st_size > 20_000


@pytest.mark.slow
def test_a_picture_a_case(tmp_path, capsys) -> None:
    folder = tmp_path / "new" / "pictures"
    cases = [word for name in ("i", "iii", "iv", "vii") for word in ("--case", name)]
    assert main(["study", "tracking", *cases, "--pictures", str(folder), "--json"]) == 0
    json.loads(capsys.readouterr().out)
    drawn = sorted(folder.iterdir())
    # a second one where there is a specimen
    second = [f"case-{name}-details.png" for name in ("iii", "iv", "vii")]
    assert [path.name for path in drawn] == sorted([*second, *(f"case-{name}.png" for name in cases[1::2])])
    for path in drawn:
        assert path.read_bytes().startswith(b"\x89PNG") and path.stat().st_size > 20_000


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["tracking", "--case", "x"], "there is no case 'x': choose among i, ii-a"),
        (["tracking", "--case", "i", "--pictures", "/dev/null/x"], "--pictures /dev/null/x: "),
        (["tracking", "--draws", "3"], "--draws: is not an option of the study tracking"),
        (["eight-dof", "--case", "i"], "--case: is not an option of the study eight-dof"),
        (["beam", "--seed", "-1"], "--seed -1: must be zero or more"),
        (["beam", "--realizations", "1"], "a study needs two and one at least"),
        (["delays", "--runs", "7"], "7 runs: give 10 or more, a multiple of 5"),
        (["delays", "--sigma", "-1"], "sigma: must be a positive number"),
        (["duffing", "--runs", "20001"], "--runs 20001: must be from 1 to 20000"),
        (["four-dof", "--runs", "0"], "--runs 0: give 1 to 1000"),
        (["five-dof", "--runs", "0"], "--runs 0: the study five-dof needs 1 to 500"),
        (["impact", "--runs", "49"], "--runs 49: give 50 to 20000"),
        (["thermal", "--realizations", "0"], "0 realizations: must be from 2 to 1000000"),
    ],
)
def test_mistakes_are_one_line(words, complaint, capsys) -> None:
    assert main(["study", *words]) == 2
    said = capsys.readouterr()
    assert complaint in said.err
    assert said.err.count("\n") == 1 and said.out == ""


def test_a_folder_that_cannot_be_written_is_refused_before_the_study(monkeypatch, capsys) -> None:
    monkeypatch.setattr("replay.papers.tracking.blocks.run_study", lambda *_: pytest.fail("it has begun"))
    assert main(["study", "tracking", "--pictures", "/dev/null/x"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_disk_that_is_full_when_pictures_are_drawn_costs_no_result(monkeypatch, tmp_path, capsys) -> None:
    def draw(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("replay.commands.study.save_figures", draw)
    assert main(["study", "tracking", "--case", "i", "--json", "--pictures", str(tmp_path)]) == 2
    said = capsys.readouterr()
    assert json.loads(said.out)["study"] == "tracking"
    assert said.err == f"synchroscope study: --pictures {tmp_path}: No space left on device\n"


def test_a_page_has_what_the_console_has_and_the_pictures(tmp_path, capsys) -> None:
    page = tmp_path / "sandia.html"
    words = ["study", "sandia", "--realizations", "100", "-o", str(page)]
    assert main(words) == 0
    said = capsys.readouterr()
    assert said.err.startswith(f"{page}: ")
    text = unescape(re.sub("<[^>]+>", " ", page.read_text("utf-8")))
    assert set(re.findall(r"[^\s─]+", said.out)) <= set(text.split())
    images = re.findall(r'src="data:image/png;base64,([^"]+)"', page.read_text("utf-8"))
    assert len(images) == 4 and all(b64decode(image).startswith(b"\x89PNG") for image in images)
    assert main(words) == 2
    assert capsys.readouterr().err == (
        f"synchroscope study: {page} exists: give another name with -o OUT, or --overwrite\n"
    )
    assert main([*words, "--overwrite", "--seed", "2"]) == 0
    assert "<dt>seed</dt><dd>2</dd>" in page.read_text("utf-8")


@pytest.mark.parametrize("name", ["beam", "sandia"])
def test_the_json_of_a_reliability_study(name, capsys) -> None:
    assert main(["study", name, "--realizations", "2000", "--replicates", "2", "--seed", "5", "--json"]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    found = json.loads(said.out)
    assert (found["study"], found["realizations"], found["replicates"]) == (name, 2000, 2)
    assert [(case["model"], case["tolerance"]) for case in found["cases"]] == [
        *(("good", 0.08), ("good", 0.16), ("bad", 0.08), ("bad", 0.16))
    ]
    for case in found["cases"]:
        assert {"model", "tolerance", "instantaneous", "first_passage", "accumulated", "oracle"} <= set(case)
        for word in ("instantaneous", "first_passage", "accumulated"):
            error = math.hypot(case["standard_error"][word], case["oracle"]["standard_error"][word])
            assert case[word] == pytest.approx(case["oracle"][word], abs=4.0 * error + 2e-3)
    good, bad = found["cases"][1], found["cases"][3]
    assert bad["first_passage"] == 0.0 < good["first_passage"]
    assert bad["accumulated"] < 0.7 < good["accumulated"]
    assert {case["policy"] for case in found["cases"]} == {"literal" if name == "beam" else "floored"}
    assert len(found["as_printed"]) == (0 if name == "beam" else 4)
    values = [case["accumulated"] for case in found["tolerances"]]
    assert values == sorted(values) and found["tolerances"][0]["tolerance"] == 0.02


def test_the_tables_of_a_reliability_study(capsys) -> None:
    assert main(["study", "sandia", "--realizations", "1200"]) == 0
    said = capsys.readouterr().out
    for words in (
        "acceleration of the third mass: 1200 realizations, 3 replicates, at 0.1 s",
        "what it must be: the definition, on 240 other realizations",
        "tolerance as the paper prints it: a share of the measurement",
        "good model, by tolerance",
    ):
        assert words in said
    assert "nan" not in said
    assert all(len(line) <= 110 for line in said.splitlines())


def test_the_pictures_of_a_reliability_study(tmp_path, capsys) -> None:
    assert main(["study", "sandia", "--realizations", "100", "--pictures", str(tmp_path / "new"), "--json"]) == 0
    drawn = capsys.readouterr().err.splitlines()
    assert drawn == [str(tmp_path / "new" / f"sandia-{w}.png") for w in ("responses", "good", "bad", "tolerances")]
    for path in (tmp_path / "new").iterdir():
        assert path.read_bytes().startswith(b"\x89PNG") and path.stat().st_size > 20_000
