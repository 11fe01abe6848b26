"""`synchroscope simulate`: the same file for the same words, whatever happens in the middle of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from time import monotonic, sleep

import h5py
import numpy as np
import pytest

from monitor.__main__ import main
from replay.simulations.models import ensemble_model, simulate_ensemble
from replay.validation.records import read_record
from sim.models.beam import StochasticBeam
from tests.e2e.running import with_small_files
from tests.mistakes import refusal_of
from tests.replay.test_ensembles import arrays

ROOT = Path(__file__).parents[2]


def assert_same(one, other):
    (mine, about), (theirs, about_theirs) = arrays(one), arrays(other)
    assert about == about_theirs and list(mine) == list(theirs)
    for name, values in mine.items():
        np.testing.assert_array_equal(values, theirs[name])


def test_what_it_says_and_what_is_in_the_file(tmp_path, capsys):
    path = tmp_path / "e.h5"
    assert main(["simulate", "beam", "--realizations", "1500", "--seed", "3", "--out", str(path)]) == 0
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == f"1500 realizations of deflection at midspan [m], 251 instants, in {path}\n"
    found, about = arrays(path)
    assert found["response"].shape == found["order"].shape == (251, 1500)
    np.testing.assert_allclose(found["time"], 0.02 * np.arange(251), rtol=1e-15)
    assert about["unit"] == "m" and about["quantity"] == "deflection at midspan" and "seed 3" in about["source"]
    # the mean of eq. 29 at the median section is 1 % off that over all sections
    stiffness = 30e9 * 0.2 * 0.04**3 / 12.0
    force, load = 1000.0 * (1.0 + np.sin(2.0 + found["time"])), 450.0 + 78.5e3 * 0.2 * 0.04
    mean = 5.0**3 * force / (48.0 * stiffness) + 5.0 * 5.0**4 * load / (384.0 * stiffness)
    np.testing.assert_allclose(found["response"].mean(axis=1), mean, rtol=0.02)


def test_same_words_same_content_and_more_realizations_go_on(tmp_path):
    for name, m in (("a", 1500), ("b", 1500), ("c", 2600)):
        assert main(["simulate", "beam", "--realizations", str(m), "--out", str(tmp_path / name)]) == 0
    assert_same(tmp_path / "a", tmp_path / "b")
    few, many = (arrays(tmp_path / name)[0]["response"] for name in "ac")
    np.testing.assert_array_equal(few, many[:, :1500])


@pytest.mark.slow
def test_killed_in_the_middle_it_is_gone_on_with_and_nothing_shows(start, tmp_path, capsys):
    path, part = tmp_path / "e.h5", tmp_path / "e.h5.part"
    words = ["simulate", "sandia", "--realizations", "6000", "--out"]
    running = start(*words, path)
    deadline = monotonic() + 60.0
    # the first block is written, and not the last
    while not (part.exists() and progress(part) > 0):
        assert running.process.poll() is None and monotonic() < deadline
        sleep(0.002)
    running.kill()
    assert not path.exists() and 0 < progress(part) < 6000
    # the others need no process of their own
    assert main([*words, str(path), "--seed", "2"]) == 2
    refused = capsys.readouterr().err
    assert "e.h5.part: is unfinished and has another source" in refused and refused.count("\n") == 1
    for whole in (path, tmp_path / "whole.h5"):
        assert main([*words, str(whole)]) == 0
    assert not part.exists()
    assert_same(path, tmp_path / "whole.h5")


def progress(part):
    """Return how many realizations are written, without a lock."""
    try:
        with h5py.File(part, "r", locking=False) as file:
            return int(file["progress"][0])
    except (OSError, KeyError):
        return 0


def limited(size, *words):
    """Run with the size of files limited, as on a disk that is full."""
    command = [*with_small_files(size), *map(str, words)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)


@pytest.mark.skipif(sys.platform != "linux", reason="room is reserved in advance on Linux only")
def test_a_full_disk_is_one_line_and_leaves_no_file(tmp_path):
    ended = limited(1 << 20, "simulate", "beam", "--realizations", 2000, "--out", tmp_path / "e.h5")
    assert ended.returncode == 2 and ended.stdout == ""
    assert ended.stderr.count("\n") == 1 and "e.h5.part: cannot be created" in ended.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is Linux's")
def test_a_disk_that_fills_in_the_middle_loses_nothing(tmp_path):
    model, path = ensemble_model("beam"), tmp_path / "e.h5"

    def break_off(*_progress):
        raise InterruptedError

    with pytest.raises(InterruptedError):
        simulate_ensemble(model, 3000, 1, path, break_off)
    words = ("simulate", "beam", "--realizations", 3000, "--out", path)
    ended = limited(1 << 20, *words)
    # on a slow machine the line on kernels comes first
    *before, mistake = ended.stderr.splitlines()
    assert ended.returncode == 2 and all("kernels" in line for line in before)
    assert "e.h5.part: cannot be written (File too large): it can be resumed" in mistake
    assert main([str(word) for word in words]) == 0
    simulate_ensemble(model, 3000, 1, tmp_path / "whole.h5")
    assert_same(path, tmp_path / "whole.h5")


def test_a_file_is_replaced_only_where_that_is_asked_for_and_a_pipe_never(tmp_path, capsys):
    path, pipe = tmp_path / "e.h5", tmp_path / "pipe"
    path.write_text("kept")
    os.mkfifo(pipe)
    words = ["simulate", "beam", "--realizations", "10", "--out"]
    assert main([*words, str(path)]) == main([*words, str(pipe), "--overwrite"]) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert first.endswith("e.h5: exists; give another name or --overwrite")
    assert second.endswith("pipe: is no regular file: give the name of a file")
    assert path.read_text() == "kept" and pipe.is_fifo()
    assert main([*words, str(path), "--overwrite"]) == 0
    assert arrays(path)[0]["response"].shape == (251, 10)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["bridge", "--out", "e.h5"], "there is no model 'bridge': choose beam, "),
        (["beam", "--realizations", "many", "--out", "e.h5"], "argument --realizations: invalid int value: 'many'"),
        (["beam"], "the following arguments are required: --out"),
    ],
)
def test_mistakes_are_one_line_and_leave_no_file(words, complaint, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert complaint in refusal_of(capsys, "simulate", *words)
    assert list(tmp_path.iterdir()) == []


def test_records_that_validate_reads_good_and_bad(tmp_path, capsys):
    beam = StochasticBeam()
    for kind, words in (("good", []), ("bad", ["--bad"])):
        folder = str(tmp_path / kind)
        assert main(["simulate", "beam", "--experiments", "2", "--seed", "4", "--out", folder, *words]) == 0
    assert capsys.readouterr().err.splitlines()[-1].endswith("r2.csv")
    for name in ("r1.csv", "r2.csv"):
        good, bad = (read_record(tmp_path / kind / name) for kind in ("good", "bad"))
        assert good.unit == "m"
        np.testing.assert_allclose(good.time, beam.time, atol=1e-12)
        bias = np.where(beam.time > 0.99, 0.08 * np.sin(2.0 * beam.time), 0.0)
        np.testing.assert_allclose(bad.response - good.response, bias, atol=1e-11)
    assert not np.allclose(good.response, read_record(tmp_path / "good" / "r1.csv").response)


def test_mistakes_are_one_line(tmp_path, capsys):
    taken = tmp_path / "file"
    taken.write_text("")
    for words, complaint in (
        (["--bad", "--out", "x.h5"], "--bad: needs --experiments N"),
        (["--experiments", "0", "--out", str(tmp_path)], "must be one or more"),
        (["--experiments", "1", "--out", str(taken)], f"--out {taken}: "),
    ):
        assert complaint in refusal_of(capsys, "simulate", "beam", *words)
