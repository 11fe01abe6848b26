"""`synchroscope simulate --experiments`: measured records of a model, to validate it by."""

import numpy as np

from monitor.__main__ import main
from replay.validation.records import read_record
from sim.models.beam import StochasticBeam


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
        assert main(["simulate", "beam", *words]) == 2
        said = capsys.readouterr().err
        assert complaint in said and said.count("\n") == 1
