"""The study of four masses: estimates of scipy's records beside the truth, what cannot be identified, messages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.signal import StateSpace, lsim

from monitor.__main__ import main
from monitor.commands.output import to_json_types
from monitor.text.blocks import Block, to_json
from replay import silent
from replay.papers.nonlinear import four_dof
from replay.papers.nonlinear.four_dof import study_blocks
from replay.papers.nonlinear.four_dof_fits import (
    REDUCTIONS,
    FourMassRecord,
    fit_reduced,
    fit_stiffness,
    identify_jointly,
    principal_components,
    recover_law,
    simulate_record,
)
from replay.pictures import save_figures
from replay.tables import print_blocks
from sim.models.chain import Chain, ChainMotion
from sim.models.nonlinear_chains import FourMasses

DT, TRUTH = 0.02, np.array([100.0, 100.0, 85.0, 100.0])
CHAIN = FourMasses().chain


def stiffness_matrix(k: np.ndarray) -> np.ndarray:
    """Return K of four masses, each spring to its left, written out."""
    k1, k2, k3, k4 = k
    return np.array([[k1 + k2, -k2, 0, 0], [-k2, k2 + k3, -k3, 0], [0, -k3, k3 + k4, -k4], [0, 0, -k4, k4]])


def scipy_record(law, seed: int = 1, noise: float = 0.01, n: int = 501) -> FourMassRecord:
    """Return a record by scipy of unit masses whose force on mass 1 is any law of x1, piece by piece of the load."""
    rng = np.random.default_rng(seed)
    pushes, matrix = 20.0 * rng.standard_normal(n), stiffness_matrix(TRUTH)
    time = DT * np.arange(n)

    def acceleration(t, x):
        push = np.array([0.0, 0.0, 0.0, np.interp(t, time, pushes)])
        return push - matrix @ x - np.array([law(x[0]), 0.0, 0.0, 0.0])

    state, states = np.zeros(8), [np.zeros(8)]
    for start in time[:-1]:
        # the load has a kink at each sample
        piece = solve_ivp(
            lambda t, y: np.concatenate([y[4:], acceleration(t, y[:4])]),
            (start, start + DT),
            state,
            "DOP853",
            rtol=1e-9,
            atol=1e-11,
        )
        state = piece.y[:, -1]
        states.append(state)
    motion = np.array(states)
    accelerations = np.array([acceleration(t, x) for t, x in zip(time, motion[:, :4], strict=True)])
    exact = accelerations[:, [0, 2, 3]]
    level = noise * np.sqrt(np.mean(exact**2, axis=0))
    load = np.zeros((n, 4))
    load[:, 3] = pushes
    observed = exact + level * rng.standard_normal(exact.shape)
    actual = replace(CHAIN, springs=TRUTH)
    whole = ChainMotion(motion[:, :4], motion[:, 4:], accelerations)
    return FourMassRecord(CHAIN, actual, DT, load, (1, 3, 4), observed, level, whole)


@pytest.fixture(scope="module")
def record() -> FourMassRecord:
    return scipy_record(lambda x: 200.0 * x**3)


def test_a_record_of_scipy_has_its_damaged_spring_found(record) -> None:
    found = fit_stiffness(record)
    assert found.percent[2] == pytest.approx(85.0, abs=0.1)
    away = (found.percent - TRUTH) / found.standard_errors
    assert np.all(np.abs(away) < 4.0)
    # the model is right: what is left is the noise, of which the metric has the size of a sensor as its unit
    assert found.fitted.sigma == pytest.approx(np.mean(record.noise / record.rms), rel=0.05)
    assert fit_stiffness(record, principal_components).percent[2] == pytest.approx(85.0, abs=0.1)
    free = fit_stiffness(record, free=("k1", "k2", "k3", "k4", "alpha1"))
    assert np.all(np.abs(free.percent - [*TRUTH, 100.0]) < 4.0 * free.standard_errors)


def test_stiffnesses_are_found_beside_any_force_on_mass_1() -> None:
    # neither law is that of the test bed, and the joint estimate knows of none
    for law in (lambda x: 30.0 * np.tanh(20.0 * x), lambda x: 200.0 * x**3 - 40.0 * x):
        found = identify_jointly(scipy_record(law))
        assert np.isnan(found.percent[0]) and np.isnan(found.standard_errors[0])
        assert np.all(np.abs(found.percent[1:] - TRUTH[1:]) < 4.0 * found.standard_errors[1:])
        assert np.all(found.standard_errors[1:] < 0.3)
        assert found.noise == pytest.approx(0.01, rel=0.1)


def test_where_k1_is_held_does_not_matter(record) -> None:
    low, high = identify_jointly(record, held=60.0), identify_jointly(record, held=140.0)
    assert np.all(np.abs(low.percent - high.percent)[1:] < 0.05 * low.standard_errors[1:])
    assert any("k1" in line and "force on mass 1" in line for line in low.confounded)


@pytest.mark.parametrize("held", [100.0, 80.0])
def test_the_law_of_the_recovered_force_has_what_k1_is_wrong_by(record, held) -> None:
    found = recover_law(record, held)
    np.testing.assert_allclose(found.fitted.coefficients, [100.0 - held, 200.0], atol=3.0)
    assert np.all(np.abs(found.fitted.coefficients - [100.0 - held, 200.0]) < 5.0 * found.fitted.standard_errors)
    force = (100.0 - held) * record.motion.displacement[:, 0] + 200.0 * record.motion.displacement[:, 0] ** 3
    away = np.abs(found.recovered.force[:, 0] - force)
    assert np.mean(away <= 1.96 * found.recovered.force_sd[:, 0]) > 0.9


def test_a_force_on_mass_1_does_what_its_spring_does() -> None:
    # by scipy: the softer chain with -dk x1 on mass 1 moves as the other one does
    time = np.linspace(0.0, 5.0, 5001)
    push = np.random.default_rng(2).standard_normal(5001)

    def response(k, forces):
        a = np.block([[np.zeros((4, 4)), np.eye(4)], [-stiffness_matrix(k), np.zeros((4, 4))]])
        system = StateSpace(a, np.vstack([np.zeros((4, 4)), np.eye(4)]), np.eye(4, 8), np.zeros((4, 4)))
        return lsim(system, forces, time)[1]

    load = np.zeros((5001, 4))
    load[:, 3] = push
    one = response(TRUTH, load)
    beside = load.copy()
    beside[:, 0] -= 30.0 * one[:, 0]
    np.testing.assert_allclose(response(TRUTH - [30.0, 0, 0, 0], beside), one, atol=1e-5 * np.abs(one).max())


def test_a_reduction_to_all_masses_is_the_whole_model(record) -> None:
    everywhere = replace(record, sensors=(1, 2, 3, 4), observed=record.motion.acceleration)
    # without noise; a window of a second, for speed
    short = replace(everywhere, load=record.load[:60], observed=everywhere.observed[:60])
    for name in REDUCTIONS:
        np.testing.assert_allclose(fit_reduced(short, name).percent, TRUTH, atol=0.02)


@pytest.mark.slow
def test_intervals_have_the_truth_as_often_as_they_say() -> None:
    records = [simulate_record(5, run) for run in range(60)]
    known, joint = (
        np.mean([np.abs(each.percent - TRUTH)[1:] <= 1.96 * each.standard_errors[1:] for each in map(find, records)])
        for find in (fit_stiffness, identify_jointly)
    )
    # 180 intervals each: a standard deviation of 0.016, and of three springs that are not independent of up to 0.028
    assert 0.87 < known <= 1.0 and 0.87 < joint <= 1.0


@pytest.fixture(scope="module")
def study() -> Iterator[list[Block]]:
    """One record, and one of the ways besides: for as long as it is used."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(four_dof, "_WAYS", four_dof._WAYS[:1])
        yield list(study_blocks(four_dof.identify_four_masses(1, 1, silent)))


def test_the_json_is_that_of_the_seed_and_has_the_names_that_scripts_read(study, capsys) -> None:
    assert main(["study", "four-dof", "--runs", "1", "--json"]) == 0
    one, other = json.loads(capsys.readouterr().out), to_json_types(to_json(study))
    assert set(one["stiffness_percent"]) == {"k1", "k2", "k3", "k4"}
    assert one["stiffness_percent"]["k3"] == pytest.approx(85.0, abs=0.5)
    joint = one["joint"]
    assert joint["stiffness_percent"]["k1"] is None and joint["standard_error_percent"]["k1"] is None
    assert joint["stiffness_percent"]["k3"] == pytest.approx(85.0, abs=0.5)
    for each in (one, other):
        assert each.pop("seconds") > 0.0 and each["joint"].pop("seconds") > 0.0
        assert all(law.pop("seconds") > 0.0 for law in each["force_law"])
    assert one == other


def test_the_tables_and_pictures(study, capsys, tmp_path) -> None:
    print_blocks(study)
    out = capsys.readouterr().out
    assert "70 h" in out and "k1 is not determined by the data: a force on mass 1" in out
    assert all(len(line) <= 100 for line in out.splitlines())
    drawn = save_figures(study, tmp_path)
    assert {path.name for path in drawn} == {"four-dof-force.png"}
    assert set(drawn) == set(tmp_path.iterdir())


def test_what_cannot_be_fitted_is_one_line(record) -> None:
    with pytest.raises(ValueError, match="sensors none: give masses 1 to 4, each once"):
        simulate_record(1, sensors=())
    with pytest.raises(ValueError, match="sensors 1, 5: give masses 1 to 4, each once"):
        simulate_record(1, sensors=(1, 5))
    with pytest.raises(
        ValueError, match="sensors 4 distinguish no stiffness from an unknown force on mass 1: add a sensor"
    ):
        identify_jointly(simulate_record(1, sensors=(4,)))
    with pytest.raises(ValueError, match="instants"):
        fit_stiffness(replace(record, observed=record.observed[:-7]))
    # a softening spring so strong that the masses fly away
    flying = replace(record, nominal=Chain(np.ones(4), np.full(4, 100.0), cubic=[-1e6, 0.0, 0.0, 0.0]))
    with pytest.raises(ValueError, match="the response at the start is not finite"):
        fit_stiffness(flying)
