"""Laws of a recovered force: terms, exact sensitivities, and what is found where the truth is known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from sim.fitting.fit import fit_many
from sim.laboratory.elements import BoucWenSpring
from sim.laboratory.structure import Structure
from sim.missing_force.law_fit import find_laws, fit_law, force_by_laws
from sim.missing_force.law_motion import LawResponse
from sim.missing_force.law_terms import DICTIONARY, term, terms
from sim.missing_force.recovery import recover_force
from sim.missing_force.smoother import ForceProblem
from sim.missing_force.state_space import Sensor
from sim.models.chain import Chain, chain_response

TIME = np.linspace(0.0, 30.0, 601)
LAWS = {
    "x^3": lambda x, v: 0.05 * x**3,
    "sign v": lambda x, v: 0.4 * np.tanh(v / 0.02),
    "v|v|": lambda x, v: 0.1 * v * np.abs(v),
}


def _problem(law, count: int, seed: int, noise: float = 0.05) -> tuple[ForceProblem, np.ndarray]:
    """Return samples of x'' + 0.1 x' + x + law = cos t, and the noise."""
    state = solve_ivp(
        lambda t, z: [z[1], np.cos(t) - 0.1 * z[1] - z[0] - law(z[0], z[1])],
        (0.0, 30.0), [1.0, 0.0], t_eval=TIME, rtol=1e-9, atol=1e-11, max_step=0.02,
    ).y.T  # fmt: skip
    sigma = noise * np.sqrt(np.mean(state**2, axis=0))
    observed, at = np.full(state.shape, np.nan), slice(None, None, 600 // (count - 1))
    observed[at] = state[at] + sigma * np.random.default_rng(seed).standard_normal(state[at].shape)
    structure, sensors = Structure(1.0, 0.1, 1.0), (Sensor(1), Sensor(1, "velocity"))
    return ForceProblem(structure, np.ones((1, 1)), TIME, np.cos(TIME)[:, None], sensors, observed), sigma


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("constant", lambda x, v: 1.0),
        ("x", lambda x, v: x),
        ("|x|x", lambda x, v: abs(x) * x),
        ("x^2", lambda x, v: x**2),
        ("x^3", lambda x, v: x**3),
        ("v|v|", lambda x, v: v * abs(v)),
        ("|v|^3", lambda x, v: abs(v) ** 3),
        ("sign v", lambda x, v: np.sign(v)),
        ("x^2 v", lambda x, v: x**2 * v),
        ("x^2 sign v", lambda x, v: x**2 * np.sign(v)),
    ],
)
def test_terms_are_what_their_names_say(name, value):
    for x in (-1.7, 0.3):
        for v in (-0.6, 2.1):
            assert term(name).of(np.array(x), np.array(v), 1e-3) == pytest.approx(value(x, v), abs=1e-12)


@pytest.mark.parametrize("name", ["", "y", "x^", "|x", "x^3 +", "sign", "Bouc-Wen 0", "Bouc-Wen 2 yield"])
def test_other_names_are_refused(name):
    with pytest.raises(ValueError, match="law term"):
        term(name)
    with pytest.raises(ValueError, match="give each once, and one Bouc-Wen"):
        terms(["Bouc-Wen 2", "Bouc-Wen 8"])
    assert terms(DICTIONARY) == DICTIONARY


def _check_derivatives(response, at, rounding=0.0):
    for i, step in enumerate(1e-6 * np.eye(len(at))):
        difference = (response.evaluate((at + step)[None])[0] - response.evaluate((at - step)[None])[0]) / 2e-6
        found = response.evaluate(at[None])[1][..., i]
        np.testing.assert_allclose(found, difference, atol=1e-4 * np.abs(difference).max() + rounding)


def _two_dofs() -> LawResponse:
    time = np.sort(np.random.default_rng(1).uniform(0.0, 6.0, 120))
    structure = Structure(
        np.array([1.0, 0.5]), np.array([[0.3, -0.1], [-0.1, 0.2]]), np.array([[9.0, -4.0], [-4.0, 5.0]])
    )
    forces = np.array([[1.0, 0.0], [-1.0, 1.0]])
    sensors = Sensor(1), Sensor(2, "velocity"), Sensor(1, "acceleration")
    load = np.column_stack([np.sin(2.0 * time), 0.3 * time])
    observed = np.where(np.random.default_rng(2).uniform(size=(120, 3)) < 0.3, np.nan, 0.0)
    problem = ForceProblem(structure, forces, time, load, sensors, observed)
    laws = (term("x^3"), term("sign v")), (term("v|v|"), term("x^2 v"))
    return LawResponse(problem, laws, np.array([0.1, 0.2, 0.3]))


@pytest.mark.parametrize("friction", [0.4, 1.5, -0.2])
def test_response_is_that_of_the_structure_with_its_laws(friction):
    """Against a stiff solver with a tanh so narrow that it is a jump, and holds the force's rate at times."""
    response = _two_dofs()
    problem, at = response.problem, np.array([2.0, friction, 0.5, -0.3, 0.2, -0.1, 0.5, 1.0])
    mass, damping, stiffness = problem.structure.matrices
    places, width = np.asarray(problem.forces), 1e-6

    def forces(z):
        (x1, x2), (v1, v2) = z[:2] @ places, z[2:] @ places
        return np.array([2.0 * x1**3 + friction * np.tanh(v1 / width), 0.5 * v2 * abs(v2) - 0.3 * x2**2 * v2])

    def acceleration(t, z):
        load = [np.interp(t, problem.time, column) for column in np.asarray(problem.load).T]
        return np.linalg.solve(mass, load - damping @ z[2:] - stiffness @ z[:2] - places @ forces(z))

    state = solve_ivp(
        lambda t, z: np.concatenate([z[2:], acceleration(t, z)]),
        (problem.time[0], problem.time[-1]), at[4:], t_eval=problem.time, method="LSODA", rtol=1e-9, atol=1e-11,
        max_step=0.01,
    ).y.T  # fmt: skip
    true = np.array([acceleration(t, z)[0] for t, z in zip(problem.time, state, strict=True)])
    direct = np.asarray(problem.load) @ np.linalg.inv(mass)[0]
    columns = np.column_stack([state[:, 0] / 0.1, state[:, 3] / 0.2, (true - direct) / 0.3])
    found, _ = response.evaluate(at[None])
    np.testing.assert_allclose(found[0], columns[np.isfinite(problem.observed)], atol=1e-4)
    held = np.abs((state[:, 2:] @ places)[:, 0]) < 5.0 * width
    assert (held.sum() > 5) == (friction > 0.0)
    _check_derivatives(response, at, 1e-6)


def test_a_mass_in_a_law_is_one_of_the_structure():
    """On a ground that moves, beside a rate that friction holds at times."""
    response = _two_dofs()
    problem, ground = response.problem, np.column_stack([np.cos(response.problem.time)] * 2)
    mass, damping, stiffness = problem.structure.matrices
    places, load, sigma = np.eye(2), np.asarray(problem.load), response.sigma

    def of(change, laws):
        structure = Structure(mass + np.diag(change), damping, stiffness)
        given = load - ground @ structure.matrices[0]
        whole = ForceProblem(structure, places, problem.time, given, problem.sensors, problem.observed, ground=ground)
        return LawResponse(whole, [[term(name) for name in law] for law in laws], sigma)

    at = np.array([0.3, 2.0, 0.4, 0.2, 0.2, -0.1, 0.5, 1.0])
    lighter, right = of([0.0, 0.0], (("a", "x^3"), ("sign v", "a"))), of([0.3, 0.2], (("x^3",), ("sign v",)))
    np.testing.assert_allclose(lighter.motion(at)[0], right.motion(at[[1, 2, 4, 5, 6, 7]])[0], atol=1e-6)
    _check_derivatives(lighter, at, 1e-6)


def _rubbing(friction: float, seed: int) -> tuple[ForceProblem, float]:
    """Return 10 s of a mass that rubs on a rod, by the chain's own integration, and the noise."""
    rng, time = np.random.default_rng(seed), np.linspace(0.0, 10.0, 1001)
    load = 60.0 * np.sin(2.0 * np.pi * 1.3 * time) + 40.0 * np.sin(2.0 * np.pi * 2.1 * time + 1.0)
    chain = Chain(masses=[10.0], springs=[2500.0], dampers=[12.0], friction=[friction])
    motion = chain_response(chain, load[:, None], 0.01)
    observed = np.asarray(motion.displacement) + 5e-5 * rng.standard_normal((1001, 1))
    held = np.mean(np.abs(motion.velocity) < 1e-9)
    problem = ForceProblem(
        Structure(10.0, 12.0, 2500.0), np.ones((1, 1)), time, load[:, None], (Sensor(1),), observed
    )
    return problem, float(held)


@pytest.mark.parametrize(("friction", "held"), [(15.0, 0.0), (45.0, 0.1)])
def test_friction_alone_is_found_to_the_noise(friction, held):
    problem, part = _rubbing(friction, 3)
    assert part >= held
    found = find_laws(problem, recover_force(problem))[0]
    assert found.names == ("sign v",)
    assert abs(found.coefficients[0] - friction) < 3.0 * found.standard_errors[0]
    assert found.noise[0] == pytest.approx(5e-5, rel=0.08)


def test_friction_between_two_masses_is_found_to_the_noise():
    rng, time = np.random.default_rng(5), np.linspace(0.0, 10.0, 1001)
    stiffness = np.array([[900.0, -400.0], [-400.0, 400.0]])
    mass, damping = np.diag([2.0, 1.0]), 0.002 * stiffness
    load = np.column_stack([np.zeros(1001), 12.0 * np.interp(time, time[::20], rng.standard_normal(51))])
    between = np.array([-1.0, 1.0])

    def rate(t, z):
        loads = [np.interp(t, time, column) for column in load.T]
        inner = damping @ z[2:] + stiffness @ z[:2] + 2.0 * np.tanh(between @ z[2:] / 1e-6) * between
        return np.concatenate([z[2:], np.linalg.solve(mass, loads - inner)])

    true = solve_ivp(
        rate, (0.0, 10.0), np.zeros(4), t_eval=time, method="LSODA", rtol=1e-8, atol=1e-10, max_step=0.01
    ).y.T
    # the two are held together for a part of the record
    assert np.mean(np.abs(true[:, 2:] @ between) < 5e-6) > 0.03
    observed = true[:, :2] + 1e-4 * rng.standard_normal((1001, 2))
    structure = Structure(mass, damping, stiffness)
    problem = ForceProblem(structure, between[:, None], time, load, (Sensor(1), Sensor(2)), observed)
    found = find_laws(problem, recover_force(problem))[0]
    assert found.names == ("sign v",)
    assert abs(found.coefficients[0] - 2.0) < 3.0 * found.standard_errors[0]
    np.testing.assert_allclose(found.noise, 1e-4, rtol=0.08)


@pytest.mark.parametrize(("name", "value"), [("x^3", 0.05), ("sign v", 0.4), ("v|v|", 0.1)])
@pytest.mark.parametrize("known", [True, False])
def test_finds_the_law_among_the_dictionary(name, value, known):
    problem, sigma = _problem(LAWS[name], 151, 7)
    found = find_laws(problem, recover_force(problem, sigma=sigma if known else None))
    assert found[0].names == (name,)
    assert abs(found[0].coefficients[0] - value) < 3.5 * found[0].standard_errors[0]
    assert found[0].standard_errors[0] < 0.03 * value
    assert any(not each.names for each in found)


def test_no_law_where_nothing_is_missing():
    problem, sigma = _problem(lambda x, v: 0.0 * x, 151, 4)
    assert find_laws(problem, recover_force(problem, sigma=sigma))[0].names == ()


def test_a_given_law_is_fitted():
    problem, sigma = _problem(LAWS["x^3"], 31, 3)
    recovered = recover_force(problem, sigma=sigma)
    found = fit_law(problem, recovered, [["x^3"]])
    assert found.coefficients[0] == pytest.approx(0.05, abs=0.002)
    with pytest.raises(ValueError, match="2 laws of 1 forces"):
        fit_law(problem, recovered, [["x"], ["x"]])
    with pytest.raises(ValueError, match="give each once"):
        fit_law(problem, recovered, [["x|x|", "|x|x"]])


def test_laws_of_two_forces_are_found_together():
    rng = np.random.default_rng(0)
    time, stiffness = np.linspace(0.0, 20.0, 801), 20.0 * np.array([[2.0, -1.0], [-1.0, 1.0]])
    load = np.column_stack([np.zeros(801), 3.0 * np.interp(time, time[::8], rng.standard_normal(101))])

    def rate(t, z):
        forces = np.array([30.0 * z[0] ** 3, 0.3 * np.tanh(z[3] / 0.005)])
        loads = [np.interp(t, time, column) for column in load.T]
        return np.concatenate([z[2:], loads - 0.01 * stiffness @ z[2:] - stiffness @ z[:2] - forces])

    true = solve_ivp(rate, (0.0, 20.0), np.zeros(4), t_eval=time, rtol=1e-7, atol=1e-9, max_step=0.02).y[:2].T
    observed = true + 0.02 * true.std(axis=0) * rng.standard_normal(true.shape)
    structure = Structure(np.eye(2), 0.01 * stiffness, stiffness)
    problem = ForceProblem(structure, np.eye(2), time, load, (Sensor(1), Sensor(2)), observed)
    found = find_laws(problem, recover_force(problem))[0]
    assert found.names == ("x^3 (1)", "sign v (2)")
    np.testing.assert_allclose(found.coefficients, [30.0, 0.3], rtol=0.02)


def test_a_law_of_two_terms_is_found_where_neither_explains_the_force_alone():
    """The two cancel over much of the motion; adding one term to the best single one ends with x and x^5."""
    problem, sigma = _problem(lambda x, v: -0.3 * x + 0.05 * x**3, 151, 5)
    found = find_laws(problem, recover_force(problem, sigma=sigma))[0]
    assert found.names == ("x", "x^3")
    assert np.all(np.abs(found.coefficients - [-0.3, 0.05]) < 3.5 * found.standard_errors)
    assert found.fit.sigma == pytest.approx(1.0, abs=0.15)


def _yielding(seed: int, noise: float = 0.05) -> tuple[ForceProblem, np.ndarray, np.ndarray]:
    """Return 10 s of x'' + 0.25 x' + 39 x + 20 h = load, h' = v (1 - (h / 0.08)^2) or v, force and noise."""
    rng, time = np.random.default_rng(seed), np.linspace(0.0, 10.0, 401)
    rate, phase = 2.0 * np.pi * rng.uniform(0.4, 3.0, 20), rng.uniform(0.0, 2.0 * np.pi, 20)
    load = 1.9 * np.cos(np.outer(time, rate) + phase).sum(axis=1)

    def rates(t, z):
        yielded = (z[2] / 0.08) ** 2 if z[1] * z[2] > 0.0 else 0.0
        return [z[1], np.interp(t, time, load) - 0.25 * z[1] - 39.0 * z[0] - 20.0 * z[2], z[1] * (1.0 - yielded)]

    x, v, h = solve_ivp(rates, (0.0, 10.0), np.zeros(3), t_eval=time, rtol=1e-8, atol=1e-10, max_step=0.005).y
    true = np.column_stack([x, load - 0.25 * v - 39.0 * x - 20.0 * h])
    sigma = noise * true.std(axis=0)
    observed = true + sigma * rng.standard_normal(true.shape)
    sensors = Sensor(1), Sensor(1, "acceleration")
    problem = ForceProblem(Structure(1.0, 0.25, 39.0), np.ones((1, 1)), time, load[:, None], sensors, observed)
    return problem, 20.0 * h, sigma


def test_a_law_with_memory_is_that_of_the_laboratory_s_spring():
    problem, force, sigma = _yielding(1)
    response = LawResponse(problem, [terms(["Bouc-Wen 2", "x^3"])], sigma)
    at = np.array([20.0, 0.08, 0.0, 0.0, 0.0, 0.0])
    state, found, _, _ = response.motion(at)
    np.testing.assert_allclose(found[0, :, 0], force, atol=1e-3 * force.std())
    # the element of the laboratory, moved as this mass was, in small steps
    element, moved = BoucWenSpring(20.0, 0.08).begin(0.025, ()), np.linspace(0.0, 10.0, 8001)
    stretch = np.interp(moved, problem.time, state[0, :, 0])
    along = np.array([float(element.force(np.array(each), np.array(0.0))) for each in stretch])
    np.testing.assert_allclose(along[::20], force, atol=0.03 * force.std())
    at += [0.0, 0.0, 0.5, 0.05, 0.1, 0.01]
    _check_derivatives(response, at)


@pytest.mark.parametrize(("noise", "most"), [(0.05, 0.05), (0.3, 0.2)])
def test_a_force_with_memory_is_found_by_its_law(noise, most):
    problem, force, _ = _yielding(2, noise)
    recovered = recover_force(problem)
    laws = find_laws(problem, recovered)
    found, sd, weights = force_by_laws(problem, recovered, laws)
    assert weights.sum() == pytest.approx(1.0)
    assert weights[0] < 1e-6
    best = laws[int(np.argmax(weights[1:]))]
    assert best.names[0].startswith("Bouc-Wen")
    errors = [np.sqrt(np.mean((each[:, 0] - force) ** 2)) / force.std() for each in (recovered.force, found)]
    assert errors[1] < most
    assert errors[1] < 0.5 * errors[0]
    assert np.mean(np.abs(found[:, 0] - force) <= 1.96 * sd[:, 0]) > 0.8


def test_the_band_of_a_law_is_the_scatter_over_records():
    problem, sigma = _problem(LAWS["x^3"], 151, 7)
    recovered = recover_force(problem, sigma=sigma)
    law = fit_law(problem, recovered, [["x^3"]])
    force, sd, weights = force_by_laws(problem, recovered, [law])
    assert weights[1] > 0.999
    at = np.isfinite(problem.observed)
    true = _problem(LAWS["x^3"], 151, 0, noise=0.0)[0].observed
    observed = true + sigma * np.random.default_rng(5).standard_normal((80, *true.shape))
    response = LawResponse(problem, [[term("x^3")]], sigma)
    fits = fit_many(response, (observed / sigma)[:, at], law.fit.parameters)
    alpha = fits.of("x^3")
    assert alpha.mean() == pytest.approx(0.05, abs=0.001)
    assert fits.standard_errors[:, 0].mean() == pytest.approx(alpha.std(), rel=0.3)
    forces = response.motion(fits.parameters)[1][..., 0]
    np.testing.assert_allclose(np.sqrt(np.mean(sd[:, 0] ** 2)), np.sqrt(np.mean(forces.var(axis=0))), rtol=0.3)
    assert np.mean(np.abs(force[:, 0] - forces.mean(axis=0)) < 3.0 * sd[:, 0]) > 0.9


def test_a_law_that_leaves_more_than_the_noise_does_not_count():
    problem, sigma = _problem(LAWS["x^3"], 151, 7)
    recovered = recover_force(problem, sigma=sigma)
    force, sd, weights = force_by_laws(problem, recovered, [fit_law(problem, recovered, [["v"]])])
    np.testing.assert_array_equal(weights, [1.0, 0.0])
    np.testing.assert_allclose(force, recovered.force)
    np.testing.assert_allclose(sd, recovered.force_sd)
