"""`study duffing`: alpha of every method, the band, and what is printed and drawn."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from monitor.__main__ import main
from replay.papers.nonlinear.duffing import COUNTS, identify_duffing


@pytest.fixture(scope="module")
def study():
    return identify_duffing(6, 3)


def test_the_truth_is_that_of_the_equation(study):
    found = solve_ivp(
        lambda t, z: [z[1], np.cos(t) - 0.1 * z[1] - z[0] - 0.05 * z[0] ** 3],
        (0.0, 30.0), [1.0, 0.0], t_eval=study.time, rtol=1e-10, atol=1e-12,
    ).y.T  # fmt: skip
    np.testing.assert_allclose(study.true, found, atol=1e-4)
    np.testing.assert_allclose(study.sigma, 0.05 * np.sqrt(np.mean(found**2, axis=0)), rtol=1e-3)
    np.testing.assert_allclose(study.force, 0.05 * found[:, 0] ** 3, atol=1e-4)
    for count, each in study.sampled.items():
        known = np.isfinite(each.observed).all(axis=1)
        assert known.sum() == count
        np.testing.assert_allclose(np.diff(study.time[known]), 30.0 / (count - 1), rtol=1e-9)


def test_alpha_and_band(study):
    for count, bound in zip(COUNTS, (0.004, 0.0015), strict=True):
        found = study.sampled[count]
        assert found.alpha["refined"].mean() == pytest.approx(0.05, abs=bound)
        assert found.coverage.mean() > 0.93
    # matched ends amplify the noise of many samples
    many = study.sampled[151]
    assert abs(many.alpha["windows"].mean() - 0.05) > 10.0 * abs(many.alpha["refined"].mean() - 0.05)


def test_command_prints_json_and_draws(tmp_path, capsys):
    assert main(["study", "duffing", "--runs", "2", "--json", "--pictures", str(tmp_path)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found["alpha"]) == {"11", "151"}
    assert set(found["alpha"]["11"]) == {"mean", "sd"}
    assert found["seconds"] > 0.0
    assert found["paper_alpha"] == {"11": 0.065, "151": None}
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "duffing-after.png", "duffing-before.png", "duffing-force.png",
    ]  # fmt: skip


def test_command_prints_tables(capsys):
    assert main(["study", "duffing", "--runs", "1", "--seed", "2"]) == 0
    printed = capsys.readouterr().out
    assert "0.065" in printed


@pytest.mark.slow
def test_alpha_over_100_seeds():
    found = identify_duffing(100, 1).sampled
    assert found[11].alpha["refined"].mean() == pytest.approx(0.05, abs=0.003)
    assert found[151].alpha["refined"].mean() == pytest.approx(0.05, abs=0.001)
