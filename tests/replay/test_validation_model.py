"""What a model may be: realizations, or a prediction with its uncertainty; and how each is judged."""

from __future__ import annotations

from math import erf, sqrt

import h5py
import numpy as np
import pytest

from monitor.reliability.ensemble import Ensemble, sort_ensemble
from monitor.reliability.gaussian import ErrorCorrelation
from monitor.reliability.tolerance import Tolerance, TolerancePolicy
from replay.validation.records import Prediction, check_same_time, model_reliability, read_model

TIME = 0.1 * np.arange(11)
RESPONSE = np.random.default_rng(0).standard_normal((11, 7))


def save(path, **arrays):
    if path.suffix == ".npz":
        np.savez(path, **arrays)
        return path
    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            file[name] = array
    return path


@pytest.mark.parametrize("suffix", [".npz", ".h5", ".hdf5", ".NPZ"])
def test_an_ensemble(tmp_path, suffix):
    path = tmp_path / f"e{suffix}"
    with path.open("wb") as file:
        if suffix.lower() == ".npz":
            np.savez(file, time=TIME, response=RESPONSE)
    model = read_model(path if suffix.lower() == ".npz" else save(path, time=TIME, response=RESPONSE))
    assert isinstance(model, Ensemble)
    np.testing.assert_array_equal(model.time, TIME)
    np.testing.assert_array_equal(model.response, RESPONSE)
    np.testing.assert_allclose(model.mean, RESPONSE.sum(axis=1) / 7, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("suffix", [".npz", ".h5"])
@pytest.mark.parametrize(
    ("arrays", "complaint"),
    [
        ({"time": TIME}, "not 'response'"),
        ({"t": TIME, "response": RESPONSE}, "not 'time'"),
        ({"time": TIME, "response": RESPONSE.T}, "it must be (n_times, n_realizations)"),
        ({"time": TIME, "response": RESPONSE[:, 0]}, "it must be (n_times, n_realizations)"),
        ({"time": TIME, "response": RESPONSE[:, :0]}, "it must be (n_times, n_realizations)"),
        ({"time": TIME[:, None], "response": RESPONSE}, "it must be (n_times,)"),
        ({"time": TIME[::-1], "response": RESPONSE}, "time does not increase"),
        (
            {"time": TIME, "response": np.where(RESPONSE[4, 2] == RESPONSE, np.nan, RESPONSE)},
            "2 is not finite at 0.4",
        ),
    ],
)
def test_what_is_no_ensemble_is_told_in_one_line_with_the_file(tmp_path, suffix, arrays, complaint):
    path = save(tmp_path / f"e{suffix}", **arrays)
    with pytest.raises(ValueError) as told:
        read_model(path)
    said = str(told.value)
    assert said.startswith(str(path)) and complaint in said and "\n" not in said


def test_objects_are_never_unpickled(tmp_path):
    path = save(tmp_path / "e.npz", time=TIME, response=np.array([object()] * 11))
    with pytest.raises(ValueError, match=r"e\.npz: cannot be read as an ensemble.*allow_pickle"):
        read_model(path)


def write(path, text):
    path.write_text(text)
    return path


PREDICTION = "time [ms],response [mm],standard_deviation\n0,1.5,0.1\n10,2.5,0.2\n20,-1,0.3\n"


def test_a_prediction(tmp_path):
    model = read_model(write(tmp_path / "p.csv", PREDICTION), 0.05, ErrorCorrelation.INDEPENDENT)
    assert isinstance(model, Prediction)
    np.testing.assert_allclose(model.time, [0.0, 0.01, 0.02], rtol=1e-15)
    np.testing.assert_array_equal(model.mean, [1.5, 2.5, -1.0])
    np.testing.assert_array_equal(model.deviation, [0.1, 0.2, 0.3])
    assert (model.unit, model.sensor_deviation, model.errors) == ("mm", 0.05, ErrorCorrelation.INDEPENDENT)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (PREDICTION.replace("standard_deviation", "sd"), "a prediction needs time, response and standard_deviation"),
        (PREDICTION.replace("0.2", ""), "a prediction must have a number in every cell"),
        (PREDICTION.replace("2.5", "nan"), "a prediction must have a number in every cell"),
        (PREDICTION.replace("20,", "10,"), "the time does not rise at line 4"),
    ],
)
def test_what_is_no_prediction(tmp_path, text, complaint):
    path = write(tmp_path / "p.csv", text)
    with pytest.raises(ValueError) as told:
        read_model(path)
    assert str(told.value).startswith(str(path)) and complaint in str(told.value)


def test_a_sensor_belongs_to_a_prediction(tmp_path):
    path = save(tmp_path / "e.npz", time=TIME, response=RESPONSE)
    with pytest.raises(ValueError, match="goes with a prediction, not with an ensemble"):
        read_model(path, 0.1)


def test_an_ensemble_is_judged_by_the_definition():
    rng = np.random.default_rng(3)
    measured = rng.standard_normal((11, 2))
    found = model_reliability(sort_ensemble(TIME, RESPONSE), Tolerance(TolerancePolicy.ABSOLUTE, 1.5), measured, 4)
    within = np.abs(RESPONSE[:, None, :] - measured[:, :, None]) < 1.5
    np.testing.assert_allclose(found.instantaneous.value, within.mean(axis=(1, 2)), rtol=1e-14)
    np.testing.assert_allclose(
        found.first_passage.value, np.logical_and.accumulate(within).mean(axis=(1, 2)), rtol=1e-14
    )
    means = [within[: q + 1].mean() for q in range(11)]
    np.testing.assert_allclose(found.accumulated.value, means, rtol=1e-14)
    np.testing.assert_allclose(found.windowed.value[3:], [within[q : q + 4].mean() for q in range(8)], rtol=1e-14)
    assert np.isnan(found.windowed.value[:3]).all()


def test_a_prediction_is_judged_in_closed_form():
    time, mean, deviation = TIME, np.cos(TIME), 0.1 + 0.05 * TIME
    model = Prediction(time, mean, deviation, sensor_deviation=0.12, errors=ErrorCorrelation.INDEPENDENT)
    measured = (mean + 0.1)[:, None]
    found = model_reliability(model, Tolerance(TolerancePolicy.ABSOLUTE, 0.3), measured, 3)
    spread = [sqrt(d * d + 0.12**2) for d in deviation]
    within = [0.5 * (erf(0.4 / s / sqrt(2.0)) + erf(0.2 / s / sqrt(2.0))) for s in spread]
    np.testing.assert_allclose(found.instantaneous.value, within, rtol=1e-12)
    np.testing.assert_allclose(found.first_passage.value, np.cumprod(within), rtol=1e-12)
    np.testing.assert_allclose(found.accumulated.value, np.cumsum(within) / np.arange(1, 12), rtol=1e-12)


def test_all_sites_have_the_same_instants():
    ensemble = sort_ensemble(TIME, RESPONSE, name="a")
    check_same_time([ensemble, Prediction(TIME + 1e-12, TIME, TIME)])
    for time in (TIME[:-1], TIME + 0.01):
        with pytest.raises(ValueError, match="a and prediction have different instants: give all sites the same"):
            check_same_time([ensemble, Prediction(time, time, time)])
