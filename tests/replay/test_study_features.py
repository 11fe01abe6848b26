"""Features of one record: closed forms of a sine and of noise, and what they find of the eight masses."""

import json

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtri

from monitor.__main__ import main
from replay.papers.nonlinear import features as study
from replay.papers.nonlinear.features import features, found_outside


def test_features_of_a_sine_and_of_louder_noise_are_closed_forms():
    noise = np.random.default_rng(1).standard_normal((1, 40_000))
    sine = np.sqrt(2.0) * np.sin(2.0 * np.pi * 10.03 * np.arange(40_000) / 100.0)
    found = features(np.vstack([sine, 3.0 * noise]), noise, 100.0)
    # white up to 50 Hz: sqrt(50^2 / 3)
    expected = {"rms": (1.0, 3.0), "skewness": (0, 0), "kurtosis": (-1.5, 0), "PSD, mean frequency": (10.03, 28.9)}
    for name, values in expected.items():
        assert found[name] == pytest.approx(values, rel=0.02, abs=0.05), name
    # between the arcsine and the normal law, of unit variance
    apart = quad(lambda u: abs(np.sqrt(2.0) * np.sin(np.pi * (u - 0.5)) - ndtri(u)), 0.0, 1.0, limit=200)[0]
    assert found["density of values"] == pytest.approx([apart, 0.0], abs=0.01)
    louder = {"PSD, distance": np.log(9.0), "shock spectrum": np.log(3.0), "AR error ratio": 3.0}
    for name, value in louder.items():
        assert found[name][1] == pytest.approx(value, rel=1e-3), name


def test_outside_is_counted_by_hand():
    assert found_outside(np.array([1.0, 3.0, 2.0]), np.array([0.5, 1.0, 2.5, 3.5, 4.0])) == 3


def test_spectra_find_a_softer_spring_and_the_distribution_finds_impacts(monkeypatch, capsys):
    monkeypatch.setattr(study, "BEDS", {name: study.BEDS[name] for name in ("duffing", "eight-dof", "bumper")})
    assert main(["study", "features", "--runs", "3", "--json"]) == 0
    found = {row["feature"]: row for row in json.loads(capsys.readouterr().out)["found"]}
    assert found["PSD, distance"]["eight-dof"] == found["PSD, distance"]["bumper"] == 3
    assert found["skewness"]["bumper"] == found["rms"]["duffing"] == 3 and found["skewness"]["eight-dof"] < 3
    assert main(["study", "features", "--runs", "1"]) == 2
    assert "--runs 1: the study features needs 2 to 500" in capsys.readouterr().err
