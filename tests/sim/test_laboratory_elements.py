"""Elements and specimens of the laboratory against an ODE solver and closed forms."""

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from sim.laboratory.elements import (
    BoucWenSpring,
    Dashpot,
    ElastoplasticSpring,
    LinearSpring,
    ParallelElements,
    SeparateElements,
)
from sim.laboratory.specimens import ChangingElement, ElastomericDamper, MRDamper
from tests.oracles.oscillators import bilinear_force

TURN = 2.0 * math.pi * 2.5


def moved(element, path, dt, velocity=None):
    """Force along a path, (n, ...) or (n,)."""
    rows = path if path.ndim > 1 else path[:, None]
    running = element.begin(dt, rows.shape[1:])
    speeds = np.gradient(rows, dt, axis=0) if velocity is None else velocity.reshape(rows.shape)
    return np.array([running.force(x, v) for x, v in zip(rows, speeds, strict=True)]).reshape(path.shape)


def sine(amplitude, rate, duration=1.0):
    time = np.arange(round(duration * rate)) / rate
    return time, amplitude * np.sin(TURN * time), amplitude * TURN * np.cos(TURN * time)


def test_elastoplastic_spring_dissipates_its_parallelogram_and_agrees_with_the_return_map():
    stiffness, limit, hardening, reach = 2e5, 0.003, 0.1, 0.008
    path = reach * np.sin(2.0 * np.pi * np.arange(40001) / 10000)
    forces = moved(ElastoplasticSpring(stiffness, limit, hardening), path, 0.001)
    last = slice(20000, 30001)
    area = np.trapezoid(forces[last], path[last])
    assert area == pytest.approx(4.0 * (1.0 - hardening) * stiffness * limit * (reach - limit), rel=1e-3)
    np.testing.assert_allclose(forces, bilinear_force(path, stiffness, limit, hardening), rtol=1e-9, atol=1e-7)


def test_bouc_wen_obeys_its_equation_to_second_order():
    spring = BoucWenSpring(2e5, 0.003, 0.1, exponent=2.0, shape=0.7)
    errors = []
    for rate in (200.0, 400.0, 800.0):
        time, path, _ = sine(0.01, rate)

        def creep(t, z):
            speed = 0.01 * TURN * np.cos(TURN * t)
            return speed / 0.003 * (1.0 - np.abs(z) ** 2 * (0.7 * np.sign(speed * z) + 0.3))

        z = solve_ivp(creep, (0.0, time[-1]), [0.0], "DOP853", time, rtol=1e-10, atol=1e-13, max_step=0.002).y[0]
        wanted = 0.1 * 2e5 * path + 0.9 * 2e5 * 0.003 * z
        errors.append(np.max(np.abs(moved(spring, path, 1.0 / rate) - wanted)))
    assert errors[-1] < 2e-3 * np.max(np.abs(wanted))
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    np.testing.assert_allclose(orders, 2.0, atol=0.3)


@pytest.mark.parametrize(("exponent", "curve"), [(1.0, lambda s: 1.0 - np.exp(-s)), (2.0, np.tanh)])
@pytest.mark.parametrize("step", [0.1, 1.0, 2.5, 7.0, 1000.0])
def test_bouc_wen_is_its_closed_form_and_opposes_the_motion_at_any_step(step, exponent, curve):
    path = step * np.arange(1.0, 6.0)
    for sign in (1.0, -1.0):
        forces = moved(BoucWenSpring(1e5, 0.001, exponent=exponent), 0.001 * sign * path, 1.0)
        np.testing.assert_allclose(forces, sign * 100.0 * curve(path), atol=1.0)


def test_bouc_wen_of_a_diverged_test_is_nan_and_does_not_disturb_the_others():
    spring = BoucWenSpring(1e5, 0.001)
    path = np.array([[0.0005, 0.0005, 0.0005], [np.nan, np.inf, 0.0007]])
    with np.errstate(invalid="ignore"):  # as the loop has it
        forces = moved(spring, path, 1.0, velocity=np.zeros_like(path))
    assert np.isnan(forces[1, 0]) and forces[1, 2] == moved(spring, path[:, 2], 1.0)[1]


def test_an_elastomeric_damper_relaxes_to_its_spring_however_long_the_step():
    damper = ElastomericDamper()
    forces = moved(damper, np.full(4, 0.01), 100.0 * damper.relaxation)
    np.testing.assert_allclose(forces, 0.01 * damper.elastic, rtol=1e-9)


def test_sharp_bouc_wen_is_elastoplastic():
    _, path, _ = sine(0.01, 20000.0)
    found = moved(BoucWenSpring(2e5, 0.003, 0.1, exponent=60.0), path, 1.0 / 20000.0)
    wanted = bilinear_force(path, 2e5, 0.003, 0.1)
    assert np.max(np.abs(found - wanted)) < 0.03 * np.max(np.abs(wanted))


def mr_solution(time, path, speed, volts):
    alpha, c0, c1 = 14000.0 + 69500.0 * volts, 2100.0 + 350.0 * volts, 28300.0 + 295.0 * volts

    def yielding(t, y, z):
        return (alpha * z + c0 * speed(t) + 4690.0 * (path(t) - y)) / (c0 + c1)

    def rate(t, state):
        y, z = state
        slip = speed(t) - yielding(t, y, z)
        return yielding(t, y, z), -3.63e6 * (abs(slip) * z * abs(z) + slip * z * z) + 301.0 * slip

    state = solve_ivp(rate, (0.0, time[-1]), [0.0, 0.0], "DOP853", time, rtol=1e-9, atol=1e-13, max_step=0.001).y
    return c1 * yielding(time, *state) + 500.0 * path(time)


@pytest.mark.parametrize("volts", [0.0, 1.5])
def test_mr_damper_obeys_its_equations_to_second_order(volts):
    errors = []
    for rate in (512.0, 1024.0, 2048.0):
        time, path, speed = sine(0.015, rate, 0.5)
        wanted = mr_solution(
            time, lambda t: 0.015 * np.sin(TURN * t), lambda t: 0.015 * TURN * np.cos(TURN * t), volts
        )
        found = moved(MRDamper(volts), path, 1.0 / rate, speed)
        errors.append(np.max(np.abs(found - wanted)) / np.max(np.abs(wanted)))
    assert errors[-1] < 5e-3
    assert math.log2(errors[0] / errors[-1]) > 3.0


def test_mr_damper_yields_at_the_force_of_its_paper():
    # figure 12 of the paper: 1.5 cm at 2.5 Hz, plateaus of some 200 N without voltage and 1500 N at 2.25 V
    _, path, speed = sine(0.015, 1024.0)
    peaks = [np.max(moved(MRDamper(volts), path, 1.0 / 1024.0, speed)[512:]) for volts in (0.0, 2.25)]
    assert 150.0 < peaks[0] < 800.0
    assert 1200.0 < peaks[1] < 1900.0


@pytest.mark.parametrize("element", [MRDamper(1.0), ElastomericDamper(), BoucWenSpring(2e5, 0.003, 0.05)])
def test_a_cycle_dissipates_and_the_sudden_stiffness_is_the_largest(element):
    _, path, speed = sine(0.01, 2048.0, 2.0)
    force = moved(element, path, 1.0 / 2048.0, speed)
    last = slice(2458, None)
    assert np.trapezoid(force[last], path[last]) > 0.0
    # without its viscosity, which makes a sudden motion of any size stiff
    running = element.begin(1e-7, (1,))
    jump = running.force(np.array([1e-8]), np.zeros(1))[0] / 1e-8
    assert jump == pytest.approx(float(element.stiffness), rel=0.02)


@pytest.mark.parametrize(
    "build",
    [
        lambda p: ElastoplasticSpring(2e5 * p, 0.003 * p, 0.1),
        lambda p: BoucWenSpring(2e5 * p, 0.003 * p, 0.1),
        lambda p: ElastomericDamper(1.5e6 * p, 3.5e6, 0.15 * p, 0.008),
        lambda p: MRDamper(1.2 * p),
        lambda p: ParallelElements((LinearSpring(1e5 * p), Dashpot(1e3 * p))),
        lambda p: ChangingElement(LinearSpring(1e5 * p), LinearSpring(2e5), 0.2 * p, 0.1),
    ],
)
def test_draws_are_the_single_tests(build):
    rng = np.random.default_rng(5)
    path = 0.004 * np.cumsum(rng.normal(size=(400, 3, 2)), axis=0) / 10.0
    draws = np.array([0.8, 1.0, 1.3])
    together = moved(build(draws[:, None]), path, 1e-3)
    for i, draw in enumerate(draws.tolist()):
        alone = moved(build(draw), path[:, i], 1e-3)
        # substeps of the magneto-rheological damper are those of the fastest draw
        atol = 0.02 * np.max(np.abs(alone)) if isinstance(build(1.0), MRDamper) else 0.0
        np.testing.assert_allclose(together[:, i], alone, rtol=1e-12, atol=atol)


def test_the_stiffness_of_separate_elements_has_the_draws_of_any():
    both = SeparateElements((LinearSpring(np.full((20, 1), 1e4)), LinearSpring(2e4)))
    np.testing.assert_array_equal(both.stiffness, np.tile([1e4, 2e4], (20, 1)))


def test_parallel_separate_and_changing_elements_are_what_they_are_made_of():
    path = 0.01 * np.sin(np.arange(300) / 20.0)
    velocity = 0.01 / 20.0 * np.cos(np.arange(300) / 20.0) / 0.01
    both = ParallelElements((LinearSpring(3e4), Dashpot(200.0)))
    np.testing.assert_allclose(moved(both, path, 0.01, velocity), 3e4 * path + 200.0 * velocity, rtol=1e-12)
    assert both.stiffness == 3e4
    pair = SeparateElements((LinearSpring(1e4), ElastoplasticSpring(2e4, 0.002, 0.1)))
    two = moved(pair, np.column_stack([path, path]), 0.01)
    np.testing.assert_allclose(two[:, 0], 1e4 * path, rtol=1e-12)
    np.testing.assert_allclose(two[:, 1], bilinear_force(path, 2e4, 0.002, 0.1), rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(pair.stiffness, [1e4, 2e4])
    change = ChangingElement(LinearSpring(1e4), LinearSpring(3e4), at=1.0, ramp=0.5)
    share = np.clip((np.arange(300) * 0.01 - 1.0) / 0.5, 0.0, 1.0)
    np.testing.assert_allclose(moved(change, path, 0.01), (1.0 + 2.0 * share) * 1e4 * path, rtol=1e-9)
    assert change.stiffness == 3e4


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: LinearSpring(-1.0), "spring stiffness -1.0: must be zero or more"),
        (lambda: LinearSpring(np.array([[1.0], [math.nan]])), "spring stiffness nan: must be zero or more"),
        (lambda: Dashpot(-1.0), "dashpot damping -1.0: must be zero or more"),
        (lambda: ElastoplasticSpring(1.0, 0.0), "spring yield_displacement 0.0: must be positive"),
        (lambda: ElastoplasticSpring(1.0, 1.0, 1.5), "spring hardening 1.5: must be from 0 to 1"),
        (lambda: BoucWenSpring(1.0, math.inf), "Bouc-Wen yield_displacement inf: must be a positive number"),
        (lambda: BoucWenSpring(1.0, 1.0, exponent=0.5), "Bouc-Wen exponent 0.5: must be 1 or more"),
        (lambda: BoucWenSpring(1.0, 1.0, shape=2.0), "Bouc-Wen shape 2.0: must be from 0 to 1"),
        (lambda: MRDamper(-1.0), "MR damper voltage -1.0: must be zero or more"),
        (lambda: ChangingElement(LinearSpring(1.0), LinearSpring(2.0), -1.0), "change at -1.0: must be zero or more"),
        (lambda: SeparateElements((LinearSpring(1.0),)).begin(0.1, (2,)), "1 separate elements for 2 actuators: "),
    ],
)
def test_values_out_of_range_are_refused_in_one_line(build, message):
    with pytest.raises(ValueError, match=f"^{message}[^\n]*$"):
        build()
