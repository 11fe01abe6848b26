"""Integrators of the laboratory: order against the matrix exponential, stability against closed forms."""

import math

import numpy as np
import pytest
from scipy.linalg import expm

from sim.laboratory.elements import LinearSpring
from sim.laboratory.integrators import ChenRicles, Equations, ExplicitNewmark, KolayRicles, RosenbrockW
from sim.laboratory.loop import HybridLoop
from sim.laboratory.structure import Structure, classical_damping

ALL = [ExplicitNewmark(), ChenRicles(), KolayRicles(1.0), KolayRicles(0.5), KolayRicles(0.0), RosenbrockW()]
UNCONDITIONAL = ALL[1:]
MASS = np.diag([1000.0, 800.0])
STIFFNESS = np.array([[2.2e5, -0.8e5], [-0.8e5, 0.8e5]])
DAMPING = classical_damping(MASS, STIFFNESS, 0.03)


def named(integrator):
    return repr(integrator)


def amplification(integrator, omega, dt, ratio=0.0, share=1.0, assumed=1.0):
    """Matrix of one step of a free single mass whose stiffness is outside by a share and assumed by a factor."""
    k = omega**2
    one = np.eye(1)
    equations = Equations(one, 2.0 * ratio * omega * one, (1.0 - share) * k * one, assumed * k * one, dt)
    running = integrator.begin(equations, np.zeros(1))
    whole = np.eye(running.steps[0].shape[0])
    for step in running.steps:
        size = step.shape[0]
        outside = np.zeros((1, size))
        outside[0, 0] = -share * k
        whole = (step[:, :size] + step[:, size:] @ outside) @ whole
    return whole


def radius(*arguments, **settings):
    return np.max(np.abs(np.linalg.eigvals(amplification(*arguments, **settings))))


@pytest.mark.parametrize("integrator", ALL, ids=named)
def test_two_floors_converge_to_the_matrix_exponential_with_order_two(integrator):
    # a constant force from rest: x' = A x + b has the solution (e^{At} - 1) A^-1 b
    inverse = np.linalg.inv(MASS)
    system = np.block([[np.zeros((2, 2)), np.eye(2)], [-inverse @ STIFFNESS, -inverse @ DAMPING]])
    push = np.array([500.0, -200.0])
    errors = []
    # the specimen is the spring of the upper floor to the ground, taken out of the structure
    structure = Structure(MASS, DAMPING, STIFFNESS - np.diag([0.0, 0.3e5]))
    for n in (200, 400, 800):
        loop = HybridLoop(
            structure=structure,
            specimen=LinearSpring(0.3e5),
            excitation=np.tile(push, (n + 1, 1)),
            dt=2.0 / n,
            duration=2.0 + 2.0 / n,
            integrator=integrator,
            coupling=[[0.0, 1.0]],
        )
        record = loop.run()
        last = n * integrator.stages
        assert record.time[last] == pytest.approx(2.0)
        state = (expm(2.0 * system) - np.eye(4)) @ np.linalg.solve(
            system, np.concatenate([[0.0, 0.0], inverse @ push])
        )
        found = np.concatenate([record.displacement[last], record.velocity[last]])
        errors.append(np.abs(found - state) / np.array([0.005, 0.005, 0.05, 0.05]))
    orders = np.log2(np.linalg.norm(errors[:-1], axis=1) / np.linalg.norm(errors[1:], axis=1))
    np.testing.assert_allclose(orders, 2.0, atol=0.15)


def test_explicit_newmark_has_its_textbook_radius_and_limit():
    # r^2 - (2 - W^2) r + 1 = 0 with W = w dt: Chopra, Dynamics of Structures, 5.5.3
    for w in (0.1, 1.0, 1.9, 1.999):
        assert radius(ExplicitNewmark(), w, 1.0) == pytest.approx(1.0, abs=1e-7)
    for w in (2.001, 2.1, 3.0):
        half = 1.0 - w**2 / 2.0
        assert radius(ExplicitNewmark(), w, 1.0) == pytest.approx(abs(half) + math.sqrt(half**2 - 1.0), rel=1e-9)
        assert radius(ExplicitNewmark(), w, 1.0, ratio=0.1) > 1.0
    assert radius(ExplicitNewmark(), 1.999, 1.0, ratio=0.1) < 1.0


def test_period_of_explicit_newmark_is_that_of_the_central_difference():
    w = 0.7
    angle = np.max(np.angle(np.linalg.eigvals(amplification(ExplicitNewmark(), w, 1.0))))
    assert angle == pytest.approx(2.0 * math.asin(w / 2.0), rel=1e-12)


@pytest.mark.parametrize(
    ("integrator", "error"),
    [(ExplicitNewmark(), -0.4), (ChenRicles(), 0.8), (KolayRicles(), 0.9), (RosenbrockW(), 0.4)],
    ids=repr,
)
def test_period_at_twenty_and_ten_steps_is_off_by_what_the_documentation_says(integrator, error):
    found = []
    for steps in (20, 10):
        w = 2.0 * math.pi / steps
        roots = np.linalg.eigvals(amplification(integrator, w, 1.0, share=0.0))
        # the mode, not what is extrapolated from it
        angle = abs(np.angle(roots[np.argmax(np.abs(roots) * (np.abs(roots.imag) > 1e-6))]))
        found.append(100.0 * (w / angle - 1.0))
    assert found[0] == pytest.approx(error, abs=0.05)
    assert found[1] == pytest.approx(4.0 * found[0], rel=0.05)


@pytest.mark.parametrize("integrator", UNCONDITIONAL, ids=named)
@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_unconditional_stability(integrator, share):
    for w in np.geomspace(1e-2, 1e4, 60):
        # double roots at infinite frequency and at rest are a square root of rounding away from one
        assert radius(integrator, w, 1.0, share=share) <= 1.0 + 1e-6
        assert radius(integrator, w, 1.0, ratio=0.05, share=share) <= 1.0 + 1e-12


def test_cr_has_no_numerical_damping_and_the_period_of_the_average_acceleration():
    for w in (0.1, 1.0, 5.0):
        roots = np.linalg.eigvals(amplification(ChenRicles(), w, 1.0))
        # the third is that of the velocity that is extrapolated
        np.testing.assert_allclose(np.sort(np.abs(roots)), [0.0, 1.0, 1.0], rtol=1e-12)
        assert np.max(np.angle(roots)) == pytest.approx(2.0 * math.atan(w / 2.0), rel=1e-12)


@pytest.mark.parametrize("excess", [0.5, 2.0, 8.0])
def test_cr_beyond_its_assumed_stiffness_has_the_limit_of_its_docstring(excess):
    # (w^2 - w_t^2) dt^2 = 4, undamped
    w = math.sqrt(4.0 * (1.0 + excess) / excess)
    assumed = 1.0 / (1.0 + excess)
    assert radius(ChenRicles(), 0.999 * w, 1.0, assumed=assumed) == pytest.approx(1.0, abs=1e-6)
    assert radius(ChenRicles(), 1.001 * w, 1.0, assumed=assumed) > 1.01


@pytest.mark.parametrize("rho", [0.0, 0.3, 0.75, 1.0])
def test_kr_alpha_has_its_spectral_radius_at_infinite_frequency(rho):
    assert radius(KolayRicles(rho), 1e5, 1.0) == pytest.approx(rho, abs=2e-3)
    assert radius(KolayRicles(rho), 1e-2, 1.0) == pytest.approx(1.0, abs=1e-4)


def test_kr_alpha_without_numerical_damping_is_cr_for_a_linear_structure():
    for w in (0.3, 3.0):
        for ratio in (0.0, 0.05):
            found = np.linalg.eigvals(amplification(KolayRicles(1.0), w, 1.0, ratio))
            wanted = np.linalg.eigvals(amplification(ChenRicles(), w, 1.0, ratio))
            for root in wanted:
                assert np.min(np.abs(found - root)) < 1e-7


@pytest.mark.parametrize("w", [0.1, 1.0, 10.0, 1e3])
def test_rosenbrock_has_its_stability_function(w):
    # R(z) = (1 + (1 - 2 g) z) / (1 - g z)^2, which vanishes at infinity: L-stable
    gamma = 1.0 - math.sqrt(2.0) / 2.0
    z = 1j * w
    wanted = (1.0 + (1.0 - 2.0 * gamma) * z) / (1.0 - gamma * z) ** 2
    assert radius(RosenbrockW(), w, 1.0, share=0.5) == pytest.approx(abs(wanted), rel=1e-9)


@pytest.mark.parametrize("assumed", [0.0, 0.5, 2.0])
def test_rosenbrock_keeps_order_two_with_a_wrong_stiffness(assumed):
    exact = expm(np.array([[0.0, 1.0], [-4.0, -0.2]]))[:, 0]
    errors = []
    for n in (100, 200):
        step = amplification(RosenbrockW(), 2.0, 1.0 / n, ratio=0.05, assumed=assumed)
        state = np.zeros(6)
        # target and base, both displaced by one
        state[[0, 2]] = 1.0
        found = np.linalg.matrix_power(step, n) @ state
        errors.append(np.linalg.norm(found[:2] - exact))
    assert math.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.15)


@pytest.mark.parametrize("value", [-0.1, 1.1, math.nan])
def test_kr_alpha_radius_out_of_range_is_refused(value):
    with pytest.raises(ValueError, match=rf"^KR-alpha spectral radius {value}: must be from 0 to 1$"):
        KolayRicles(value)
