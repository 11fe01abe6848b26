"""Chains as regressions: sensitivities beside those of scipy's solutions, fits of what made the records, mistakes."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from sim.fitting.chain_response import ChainResponse
from sim.fitting.fit import fit
from sim.models.chain import Chain, Contact

DT = 0.01
LOAD = np.zeros((120, 3))
LOAD[:, 2] = 20.0 * np.random.default_rng(1).standard_normal(120)
CHAIN = Chain([1.0, 1.5, 1.0], [300.0, 200.0, 400.0], [0.5, 0.2, 0.3])
HARD = replace(CHAIN, cubic=[500.0, 0.0, 0.0])
ROD = replace(CHAIN, friction=0.5, contact=Contact(1, 2, 0.01, 2e3, 1.0))


def by_scipy(springs, dampers, cubic, masses=(1.0, 1.5, 1.0)):
    """Accelerations of masses 1 and 3 of a grounded chain, (120, 2)."""
    k, c, masses = np.asarray(springs), np.asarray(dampers), np.asarray(masses)
    time = DT * np.arange(120)

    def motion(t, state):
        x, v = np.concatenate([[0.0], state[:3]]), np.concatenate([[0.0], state[3:]])
        stretch = np.diff(x)
        force = k * stretch + cubic * stretch**3 + c * np.diff(v)
        load = np.array([0.0, 0.0, np.interp(t, time, LOAD[:, 2])])
        return np.concatenate([state[3:], (load - force + np.append(force[1:], 0.0)) / masses])

    states, state = [np.zeros(6)], np.zeros(6)
    for now in range(119):
        state = solve_ivp(motion, time[now : now + 2], state, rtol=1e-11, atol=1e-13, method="DOP853").y[:, -1]
        states.append(state)
    return np.array([motion(t, each)[3:] for t, each in zip(time, states, strict=True)])[:, [0, 2]]


def noisy(response, share=0.01, seed=2):
    level = share * np.sqrt(np.mean(response**2, axis=0))
    return response + level * np.random.default_rng(seed).standard_normal(response.shape)


@pytest.mark.parametrize(
    ("chain", "cubic"), [(CHAIN, 0.0), (HARD, np.array([500.0, 0.0, 0.0]))], ids=["linear", "cubic"]
)
def test_histories_and_sensitivities_are_those_of_scipy(chain, cubic):
    model = ChainResponse(chain, LOAD, DT, ("k2", "c1", "m3"), (1, 3))
    response, sensitivities = model.evaluate(model.nominal[None])
    size = np.abs(response).max()
    assert np.abs(response[0].reshape(120, 2) - by_scipy(chain.springs, chain.dampers, cubic)).max() < 1e-7 * size

    def moved(k2, c1, m3):
        return by_scipy([300.0, k2, 400.0], [c1, 0.2, 0.3], cubic, [1.0, 1.5, m3])

    step = 1e-3 * np.diag(model.nominal)
    for i in range(3):
        # Richardson: of fourth order
        near, far = (
            (moved(*(model.nominal + h * step[i])) - moved(*(model.nominal - h * step[i]))) / (2.0 * h * step[i, i])
            for h in (1.0, 2.0)
        )
        expected = (4.0 * near - far) / 3.0
        found = sensitivities[0, :, i].reshape(120, 2)
        assert np.abs(found - expected).max() < 1e-5 * np.abs(expected).max()


def test_free_of_a_rough_chain_are_differences_of_its_histories():
    names = ("k2", "friction", "gap", "contact_stiffness")
    model = ChainResponse(ROD, LOAD, DT, names, (1, 2, 3), "velocity")
    _, sensitivities = model.evaluate(model.nominal[None])
    for i, value in enumerate(model.nominal):
        for_h = []
        for share in (1e-3, 5e-4):
            up, down = (model.nominal.copy() for _ in range(2))
            up[i], down[i] = value * (1.0 + share), value * (1.0 - share)
            for_h.append((model.histories(up) - model.histories(down)).ravel() / (2.0 * share * value))
        # velocities have no jumps
        error = np.linalg.norm(sensitivities[0, :, i] - for_h[1])
        assert error < 0.02 * np.linalg.norm(for_h[1])


@pytest.mark.parametrize(
    ("chain", "damaged", "free"),
    [
        (CHAIN, {"springs": [300.0, 170.0, 400.0]}, ("k1", "k2", "k3", "c")),
        (HARD, {"springs": [300.0, 170.0, 400.0], "cubic": [650.0, 0.0, 0.0]}, ("k1", "k2", "k3", "alpha1")),
        (ROD, {"friction": 0.8, "springs": [300.0, 170.0, 400.0]}, ("k1", "k2", "k3", "friction", "gap")),
    ],
    ids=["linear", "cubic", "rough"],
)
def test_what_made_the_records_is_found(chain, damaged, free):
    truth = ChainResponse(replace(chain, **damaged), LOAD, DT, free, (1, 3))
    model = ChainResponse(chain, LOAD, DT, free, (1, 3), lower=0.2 * truth.nominal, upper=3.0 * truth.nominal)
    records = noisy(truth.histories(truth.nominal))
    found = fit(model, records.ravel(), model.nominal)
    assert found.converged and found.confounded == ()
    # 3.5 standard errors, which are small
    errors = found.standard_errors
    assert (np.abs(found.parameters - truth.nominal) < 3.5 * errors)[:3].all()
    assert (errors[:3] < 0.02 * truth.nominal[:3]).all()
    springs = np.asarray(model.at(found.parameters).springs)
    assert springs == pytest.approx([300.0, 170.0, 400.0], rel=0.03)


def test_several_at_once_and_rows_of_histories():
    model = ChainResponse(ROD, LOAD, DT, ("k", "friction2"), (2,), "displacement")
    both = model.histories(np.array([[300.0, 0.1], [250.0, 0.2]]))
    assert both.shape == (2, 120, 1)
    np.testing.assert_array_equal(both[1], model.histories(np.array([250.0, 0.2])))
    chain = model.at(np.array([250.0, 0.2]))
    np.testing.assert_array_equal(chain.springs, [250.0] * 3)
    np.testing.assert_array_equal(chain.friction, [0.5, 0.2, 0.5])
    assert model.nominal == pytest.approx([300.0, 0.5])


def test_a_cubic_spring_that_is_not_there_yet_is_found():
    truth = ChainResponse(HARD, LOAD, DT, ("alpha1",), (1, 3))
    model = ChainResponse(CHAIN, LOAD, DT, ("alpha1",), (1, 3))
    records = truth.histories(np.array([500.0]))
    assert fit(model, records.ravel(), np.zeros(1)).of("alpha1") == pytest.approx(500.0, rel=1e-5)


def test_parameters_that_diverge_are_a_rejected_step_or_one_line():
    # a softening spring lets go
    model = ChainResponse(HARD, LOAD, DT, ("alpha1",), (1, 3), lower=-1e9)
    observed = model.histories(model.nominal).ravel()
    assert np.isnan(model.histories(np.array([-1e8]))).any()
    assert fit(model, observed, np.array([[-1e8], [400.0]])).of("alpha1") == pytest.approx(500.0, rel=1e-6)
    with pytest.raises(ValueError, match="the response at the start is not finite, begin elsewhere"):
        fit(model, observed, np.array([-1e8]))


APART = Chain([1.0, 1.0, 1.0], [100.0, 0.0, 100.0])


def test_sensors_that_see_nothing():
    model = ChainResponse(APART, LOAD, DT, ("k3",), (1,))
    with pytest.raises(ValueError, match="fit: the response does not depend on k3: nothing can be determined"):
        fit(model, np.zeros(120), np.array([100.0]))


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: ChainResponse(CHAIN, LOAD, DT, ("k4",), (1,)), "free k4: the numbers of springs are 1 to 3"),
        (lambda: ChainResponse(CHAIN, LOAD, DT, ("k",), (4,)), "sensors 4: give masses 1 to 3, each once"),
        (lambda: ChainResponse(CHAIN, LOAD, DT, ("k",), (0,)), "sensors 0: give masses 1 to 3, each once"),
        (lambda: ChainResponse(CHAIN, LOAD, DT, ("k",), (1.7,)), "sensors 1.7: give masses 1 to 3, each once"),
        (lambda: ChainResponse(CHAIN, LOAD, DT, ("k",), ()), "sensors none: give masses 1 to 3, each once"),
        (lambda: ChainResponse(CHAIN, LOAD, DT, ("k",), (1, 1)), "sensors 1, 1: give masses 1 to 3, each once"),
        (lambda: ChainResponse(CHAIN, LOAD, DT, ("k", "k1"), (1,)), "free k, k1: an element is in it twice"),
        (lambda: ChainResponse(CHAIN, LOAD, DT, ("gap",), (1,)), "free gap: the chain has no contact"),
        (lambda: ChainResponse(CHAIN, LOAD, DT, ("E",), (1,)), "free 'E': choose among m, k, c, alpha and friction"),
        (lambda: ChainResponse(CHAIN, LOAD, DT, (), (1,)), "one at least"),
        (lambda: ChainResponse(CHAIN, LOAD[:, :2], DT, ("k",), (1,)), r"load of shape \(120, 2\)"),
        (lambda: ChainResponse(CHAIN, LOAD, DT, ("k",), (1,), "force"), "quantity 'force': choose among disp"),
    ],
)
def test_mistakes(make, complaint):
    with pytest.raises(ValueError, match=complaint):
        make()
