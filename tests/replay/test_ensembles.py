"""Ensembles simulated into files: the same for a seed, in parts, after a break; and the experiments beside them."""

from __future__ import annotations

import h5py
import numpy as np
import pytest

from monitor.ensembles.files import read_ensemble
from replay.simulations import simulation
from replay.simulations.models import MODELS, ensemble_model, realizations, simulate_ensemble
from sim.ensembles import BLOCK, realization_block, replicates
from sim.models.beam import StochasticBeam

SMALL = StochasticBeam(horizon=0.4)


def arrays(path):
    with h5py.File(path, "r") as file:
        return {name: np.asarray(file[name]) for name in file}, dict(file.attrs)


class BrokenOffError(Exception):
    pass


@pytest.mark.parametrize("m", [1, BLOCK - 1, BLOCK, 2 * BLOCK + 3])
def test_the_file_holds_the_blocks_in_their_order_and_sorted(tmp_path, m):
    simulate_ensemble(SMALL, m, 5, tmp_path / "e.h5")
    ensemble = read_ensemble(tmp_path / "e.h5")
    blocks = np.hstack([realization_block(SMALL, 5, block) for block in range(-(-m // BLOCK))])
    np.testing.assert_array_equal(ensemble.response, blocks[:, :m])
    np.testing.assert_array_equal(ensemble.time, SMALL.time)
    np.testing.assert_array_equal(
        np.take_along_axis(blocks[:, :m], ensemble.order.astype(int), 1), np.sort(blocks[:, :m])
    )
    assert (ensemble.unit, ensemble.name) == ("m", "deflection at midspan")
    assert not (tmp_path / "e.h5.part").exists()


def test_same_seed_same_content_and_another_seed_another(tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        simulate_ensemble(SMALL, 1500, seed, tmp_path / name)
    (a, of_a), (b, of_b), (c, _) = (arrays(tmp_path / name) for name in "abc")
    assert list(a) == list(b) and of_a == of_b
    for name, values in a.items():
        np.testing.assert_array_equal(values, b[name])
    assert (a["response"] != c["response"]).mean() > 0.99


def test_the_first_realizations_are_the_same_whatever_their_number(tmp_path):
    for m in (700, 2500):
        simulate_ensemble(SMALL, m, 1, tmp_path / f"{m}")
    few, many = (arrays(tmp_path / f"{m}")[0]["response"] for m in (700, 2500))
    np.testing.assert_array_equal(few, many[:, :700])


@pytest.mark.parametrize("first", [0, 5, BLOCK, BLOCK + 7])
def test_realizations_from_any_number_on(first):
    m = 2 * BLOCK + 100
    found = np.hstack(list(realizations(SMALL, m, 1, first)))
    whole = np.hstack([realization_block(SMALL, 1, block) for block in range(3)])[:, :m]
    np.testing.assert_array_equal(found, whole[:, first:])
    assert list(realizations(SMALL, first, 1, first)) == []


@pytest.mark.parametrize("when", [BLOCK, 2 * BLOCK, "sorting"])
def test_what_was_broken_off_is_gone_on_with(tmp_path, when):
    m, path = 3 * BLOCK + 50, tmp_path / "e.h5"
    simulate_ensemble(SMALL, m, 1, tmp_path / "whole.h5")

    def break_off(what, done, total):
        if done == when or (when == "sorting" and what == "instants sorted"):
            raise BrokenOffError

    with pytest.raises(BrokenOffError):
        simulate_ensemble(SMALL, m, 1, path, break_off)
    assert not path.exists() and path.with_name("e.h5.part").exists()
    told = []
    simulate_ensemble(SMALL, m, 1, path, lambda *progress: told.append(progress))
    made = [done for what, done, _ in told if what == "realizations"]
    assert made == [n for n in (BLOCK, 2 * BLOCK, 3 * BLOCK, m) if when != "sorting" and n > when]
    for name, values in arrays(tmp_path / "whole.h5")[0].items():
        np.testing.assert_array_equal(arrays(path)[0][name], values)


@pytest.mark.parametrize(
    "changed", [{"seed": 2}, {"n_realizations": 2001}, {"model": StochasticBeam(horizon=0.4, span=4.0)}]
)
def test_what_was_broken_off_is_of_one_source(tmp_path, changed):
    words = {"model": SMALL, "n_realizations": 2000, "seed": 1, "path": tmp_path / "e.h5"}

    def break_off(*_progress):
        raise BrokenOffError

    with pytest.raises(BrokenOffError):
        simulate_ensemble(**words, progress=break_off)
    with pytest.raises(ValueError, match=r"e\.h5\.part: is unfinished and has another source"):
        simulate_ensemble(**(words | changed))
    simulate_ensemble(**words)


def test_progress_is_told_to_the_end(tmp_path):
    told = []
    simulate_ensemble(SMALL, 1500, 1, tmp_path / "e.h5", lambda *progress: told.append(progress))
    assert told == [("realizations", BLOCK, 1500), ("realizations", 1500, 1500), ("instants sorted", 21, 21)]


@pytest.mark.parametrize(
    ("m", "seed", "name", "complaint"),
    [
        (100, -1, "e.h5", "seed -1: must be zero or more"),
        (0, 1, "e.h5", "must be one or more"),
        (100, 1, ".", "is a directory: give the name of a file"),
        (100, 1, "no/e.h5", "e.h5.part: cannot be created"),
    ],
)
def test_a_mistake_leaves_no_file(tmp_path, m, seed, name, complaint):
    with pytest.raises(ValueError, match=complaint):
        simulate_ensemble(SMALL, m, seed, tmp_path / name)
    assert list(tmp_path.iterdir()) == [] and not tmp_path.with_name(tmp_path.name + ".part").exists()


def test_models_by_name():
    assert tuple(MODELS) == ("beam", "duffing", "eight-dof", "four-dof", "impact", "sandia", "thermal")
    assert ensemble_model("beam").time[-1] == pytest.approx(5.0)
    assert ensemble_model("sandia", 0.02).time[-1] == pytest.approx(0.02)
    with pytest.raises(
        ValueError,
        match=r"^there is no model 'bridge': choose beam, duffing, eight-dof, four-dof, impact, sandia or thermal$",
    ):
        ensemble_model("bridge")


@pytest.mark.parametrize(
    ("name", "rate", "samples", "channel"),
    [("beam", 50.0, 251, ("deflection", "m")), ("sandia", 20_000.0, 2001, ("acceleration", "in/s^2"))],
)
def test_an_experiment_is_streamed_as_its_model_measures_it(name, rate, samples, channel):
    good, bad = simulation(name, seed=4), simulation(f"{name}-bad", seed=4)
    assert (good.stream.rig, good.stream.sample_rate, good.n_samples) == (name, rate, samples)
    (only,) = good.stream.channels
    assert (only.name, only.unit) == channel
    model = ensemble_model(name)
    np.testing.assert_array_equal(good.samples, replicates(model, 1, 4))
    # what the bad model misses, as the paper prints it
    time, size, rate_of_bias, onset = model.time, *((0.08, 2.0, 1.0) if name == "beam" else (500.0, 100.0, 5e-4))
    bias = np.where(time > onset - 1e-9, size * np.sin(rate_of_bias * time), 0.0)
    np.testing.assert_allclose((bad.samples - good.samples)[:, 0], bias, atol=1e-9 * size)


@pytest.mark.parametrize(("name", "longest"), [("beam", 60.0), ("sandia-bad", 10.0)])
def test_an_experiment_that_would_not_fit_is_refused(name, longest):
    with pytest.raises(ValueError, match=f"experiment can last {longest:g} s$"):
        simulation(name, duration=1e6)
    with pytest.raises(ValueError, match="ensemble seed -1"):
        simulation(name, seed=-1, duration=0.1)


def test_an_experiment_of_one_sample_is_refused():
    with pytest.raises(ValueError, match=r"^simulation duration 0\.1 s: the duffing experiment has no second sample"):
        simulation("duffing", duration=0.1)
