"""The impact test against an ODE solver with events, closed forms of its limits, and its balance of energy."""

from dataclasses import replace
from itertools import pairwise
from math import pi, sqrt

import numpy as np
import pytest
from scipy.integrate import cumulative_simpson, quad, solve_ivp
from scipy.linalg import expm
from scipy.optimize import brentq, minimize_scalar

from sim.models.impact_test import GRAVITY, HIGH, LOW, TABLE_2, THICK, THIN, FoamPad, ImpactTest, loss_factor

CALM = ImpactTest()


@pytest.mark.parametrize("pad", [FoamPad(), FoamPad(exponent=8.0), FoamPad(exponent=-3.0, poisson=0.2)])
def test_the_pads_law_is_that_of_storakers_foam(pad):
    mu, a, nu = pad.modulus / (2.0 * (1.0 + pad.poisson)), pad.exponent, pad.poisson

    def energy(stretch, lateral):
        # Abaqus' *HYPERFOAM of one term
        volume = np.log(stretch * lateral**2)
        beta = nu / (1.0 - 2.0 * nu)
        side = np.expm1(-a * beta * volume) / beta if beta else -a * volume
        return 2.0 * mu / a**2 * (stretch**a + 2.0 * lateral**a - 3.0 + side)

    for strain in (0.05, 0.3, 0.6):

        def free(lateral, stretch=1.0 - strain):
            return energy(stretch, lateral)

        if nu:
            lateral = minimize_scalar(free, bounds=(0.9, 3.0), method="bounded", options={"xatol": 1e-12}).x
            assert lateral == pytest.approx((1.0 - strain) ** -nu, rel=1e-6)
        else:
            lateral = 1.0
        step = 1e-6
        slope = (energy(1.0 - strain - step, lateral) - energy(1.0 - strain + step, lateral)) / (2.0 * step)
        assert pad.stress(strain) == pytest.approx(slope, rel=1e-7)
        assert pad.energy(strain) == pytest.approx(quad(pad.stress, 0.0, strain, epsrel=1e-12)[0], rel=1e-10)
        assert pad.strain(pad.stress(strain)) == pytest.approx(strain, rel=1e-12)
    assert pad.stress(1e-7) / 1e-7 == pytest.approx(pad.modulus, rel=1e-5)
    assert pad.stiffness == pytest.approx(pad.modulus * pad.area / pad.thickness)


def solved(test, preload, tilt):
    """Return the impactor's acceleration in g and the carriage's turning in rad/s^2, first lift-off and slack."""
    pad, b = test.pad, test.half_width
    chi, viscous = loss_factor(test.restitution, LOW), test.pad.viscous_ratio * test.pad.modulus
    start = brentq(lambda d: pad.area * pad.stress(d / pad.thickness) - preload, 0.0, 0.9 * pad.thickness, xtol=1e-16)
    time = test.time * test.time_scale
    found, first = np.full((2, len(time)), np.nan), {}

    def edges(y):
        depths = np.array([-(y[0] + side * b * y[1]) for side in (1.0, -1.0)])
        speeds = np.array([-(y[3] + side * b * y[4]) for side in (1.0, -1.0)])
        return np.where(depths > 0.0, 0.5 * test.floor_stiffness * depths * (1.0 + chi * speeds), 0.0)

    def forces(y, pressed):
        push = pad.area * (pad.stress(y[2] / pad.thickness) + y[6]) if pressed else 0.0
        return edges(y), push, max(preload - test.bolt_stiffness * (y[2] - start), 0.0)

    def rates(t, y, pressed):
        floor, push, bolt = forces(y, pressed)
        carriage = (floor.sum() - push + bolt) / test.carriage
        if pressed:
            strain_rate = y[5] / pad.thickness
        else:
            modulus = (pad.stress(y[7] + 1e-6) - pad.stress(y[7] - 1e-6)) / 2e-6
            strain_rate = y[6] / pad.relaxation_time / (modulus + viscous)
        turning = b * (floor[0] - floor[1]) / (test.carriage * test.gyration**2)
        overstress = viscous * strain_rate - y[6] / pad.relaxation_time
        return [
            *y[3:6], carriage - GRAVITY, turning, carriage - (push - bolt) / test.impactor, overstress, strain_rate,
        ]  # fmt: skip

    def leaves(t, y, pressed):
        return pad.stress(y[2] / pad.thickness) + y[6] if pressed else y[7] * pad.thickness - y[2]

    def slack(t, y, pressed):
        return preload - test.bolt_stiffness * (y[2] - start)

    leaves.terminal, leaves.direction, slack.direction = True, -1.0, -1.0
    y, at, pressed = (
        np.array([b * abs(tilt), tilt, start, -test.speed, 0.0, 0.0, 0.0, start / pad.thickness]),
        0.0,
        True,
    )
    while at < time[-1]:
        run = solve_ivp(
            rates, (at, time[-1]), y, "DOP853", dense_output=True, events=[leaves, slack], args=(pressed,),
            rtol=1e-10, atol=1e-13, max_step=4e-6,
        )  # fmt: skip
        inside = (time >= at) & (time <= run.t[-1])
        for i in np.flatnonzero(inside):
            floor, push, bolt = forces(run.sol(time[i]), pressed)
            found[0, i] = (push - bolt) / test.impactor / GRAVITY
            found[1, i] = b * (floor[0] - floor[1]) / (test.carriage * test.gyration**2)
        for name, each in zip(("leaves", "slack"), run.t_events, strict=True):
            if len(each) and (name == "slack" or pressed):
                first.setdefault(name, each[0])
        y, at, pressed = run.y[:, -1], run.t[-1], not pressed
        if pressed:
            y[7] = y[2] / pad.thickness
    return found, first


@pytest.mark.parametrize(("test", "preload", "tilt"), [
    (ImpactTest(horizon=2.0), 8000.0, 0.0),
    (ImpactTest(FoamPad(THICK, exponent=6.0, poisson=0.1), horizon=2.0), 3000.0, -4e-4),
    (ImpactTest(FoamPad(THIN, 80e6, -6.0, 2.0, 5e-5), HIGH, horizon=1.4, bolt_stiffness=2e7), 500.0, 2e-4),
])  # fmt: skip
def test_the_motion_is_that_of_an_ode_solver_with_events(test, preload, tilt):
    motion, ((wanted, turning), first) = test.simulate(preload, tilt), solved(test, preload, tilt)
    np.testing.assert_allclose(motion.impactor[:, 0], wanted, rtol=0.0, atol=1e-5 * np.abs(wanted).max())
    np.testing.assert_allclose(motion.turning[:, 0], turning, rtol=0.0, atol=1e-5 * max(np.abs(turning).max(), 1.0))
    # a point at 45 mm cos(15 deg), and so on, of a body that turns; of all three the axis is the mean
    away = 0.045 * np.cos(np.pi / 12.0 + 2.0 * np.pi / 3.0 * np.arange(3))[:, None] * turning / GRAVITY
    np.testing.assert_allclose(motion.sensors[..., 0] - wanted, away, rtol=0.0, atol=1e-5 * np.abs(wanted).max())
    np.testing.assert_allclose(motion.sensors.mean(axis=0), motion.impactor, atol=1e-9 * np.abs(wanted).max())
    assert motion.events[0, 2] == pytest.approx(first["leaves"], rel=1e-7)
    assert motion.events[0, 3] == pytest.approx(first["slack"], rel=1e-7)
    assert abs(motion.balance[0]) < 1e-8


def test_steps_half_as_long_have_a_sixteenth_of_the_error_through_all_events():
    preload, tilt = np.array([8000.0, 2000.0, 12000.0]), np.array([0.0, 3e-4, -6e-4])
    exact, *coarse = (
        replace(CALM, horizon=3.2, dt=dt).simulate(preload, tilt) for dt in (1e-3, 4e-2, 2e-2, 1e-2)
    )  # fmt: skip
    errors = [np.abs(each.impactor - exact.impactor[:: round(dt / 1e-3)]).max(axis=0) for each, dt in
              zip(coarse, (4e-2, 2e-2, 1e-2), strict=True)]  # fmt: skip
    for one, other in pairwise(errors):
        assert (one / other > 11.0).all()
    # what is stated of the default step
    error = np.abs(replace(CALM, horizon=3.2).simulate(preload, tilt).impactor - exact.impactor[::2]).max(axis=0)
    assert (error < 3e-9 * np.abs(exact.impactor).max(axis=0)).all()
    assert np.isfinite(exact.events).all()
    for each in coarse:
        assert (np.abs(each.balance) < 1e-3).all()


@pytest.mark.parametrize("viscous_ratio", [0.0, 0.8])
def test_of_small_motions_around_the_preload_it_is_a_linear_system(viscous_ratio):
    pad = FoamPad(viscous_ratio=viscous_ratio)
    test = ImpactTest(pad, speed=1e-4, restitution=1.0, horizon=0.3)
    preload = 20e3
    strain = pad.strain(preload / pad.area)
    a = pad.exponent
    tangent = pad.modulus / a * ((a - 1.0) * (1.0 - strain) ** (a - 2.0) + (1.0 - strain) ** -2.0)
    k = pad.area * tangent / pad.thickness + test.bolt_stiffness
    # heave, compression beyond the preload's, rates, overstress, one
    system = np.zeros((6, 6))
    system[0, 2] = system[1, 3] = 1.0
    carriage = np.array([-test.floor_stiffness, -k, 0.0, 0.0, -pad.area, 0.0]) / test.carriage
    system[2], system[3] = carriage, carriage
    system[2, 5] = -GRAVITY
    system[3, [1, 4]] -= np.array([k, pad.area]) / test.impactor
    system[4, 3], system[4, 4] = viscous_ratio * pad.modulus / pad.thickness, -1.0 / pad.relaxation_time
    start = np.array([0.0, 0.0, -test.speed, 0.0, 0.0, 1.0])
    states = np.array([expm(system * t) @ start for t in test.time * test.time_scale])
    wanted = (k * states[:, 1] + pad.area * states[:, 4]) / test.impactor / GRAVITY
    found = test.simulate(preload, 0.0)
    np.testing.assert_allclose(found.impactor[:, 0], wanted, rtol=0.0, atol=1e-4 * np.abs(wanted).max())
    floor = (-test.floor_stiffness * states[:, 0] - k * states[:, 1] - pad.area * states[:, 4]) / test.carriage
    np.testing.assert_allclose(found.carriage[:, 0], floor / GRAVITY, rtol=0.0, atol=1e-4 * np.abs(floor).max())


# next to nothing on the carriage
BARE = ImpactTest(FoamPad(1.0, 1.0, viscous_ratio=0.0), impactor=1e-3, bolt_stiffness=1.0, dt=5e-4, horizon=1.5)


def test_the_carriage_alone_has_a_half_sine():
    test = replace(BARE, restitution=1.0)
    found = test.simulate(0.0, 0.0).carriage[:, 0] * GRAVITY
    omega, time = sqrt(test.floor_stiffness / test.carriage), test.time * test.time_scale
    wanted = test.speed * omega * np.sin(omega * time) + GRAVITY * (1.0 - np.cos(omega * time))
    during = time < pi / omega
    np.testing.assert_allclose(found[during], wanted[during], atol=1e-4 * wanted.max())
    # gravity adds a hair to the shock
    assert np.abs(found[time > 1.01 * pi / omega]).max() < 1.0
    assert pi / omega == pytest.approx(0.46e-3, rel=0.01)


def test_it_rebounds_as_hunt_and_crossley_integrate():
    motion = BARE.simulate(0.0, 0.0)
    change = cumulative_simpson(motion.carriage[:, 0] * GRAVITY, x=BARE.time * BARE.time_scale)[-1]
    chi = loss_factor(BARE.restitution, LOW)
    left = lambda v: v / chi - np.log1p(chi * v) / chi**2  # noqa: E731
    rebound = brentq(lambda v: left(-v) - left(LOW), 0.0, LOW)
    assert change == pytest.approx(LOW + rebound, rel=2e-3)
    assert rebound / LOW == pytest.approx(BARE.restitution, rel=1e-9)


@pytest.mark.parametrize("tilt", [1e-4, -1e-4, 3e-4])
def test_the_second_edge_touches_when_its_closed_form_does(tilt):
    test = replace(BARE, restitution=1.0)
    inertia, b, k = test.carriage * test.gyration**2, test.half_width, 0.5 * test.floor_stiffness
    w = sqrt(k * (1.0 / test.carriage + b**2 / inertia))
    coupling = k * (1.0 / test.carriage - b**2 / inertia)

    def other(t):
        turned = LOW / w**2 * (t - np.sin(w * t) / w) + GRAVITY / w**2 * (t**2 / 2.0 - (1.0 - np.cos(w * t)) / w**2)
        return 2.0 * b * abs(tilt) - LOW * t - GRAVITY * t**2 / 2.0 + coupling * turned

    events = test.simulate(0.0, tilt).events[0]
    at = brentq(other, 1e-7, min(pi / w, 3.0 * b * abs(tilt) / LOW))
    # the left edge is the lower one where the tilt is positive
    lower, upper = events[1::-1] if tilt > 0 else events[:2]
    assert upper == pytest.approx(at, rel=1e-5)
    assert abs(lower) < 1e-12


def test_an_elastic_pad_lifts_off_where_it_is_unloaded_and_loses_nothing():
    test = replace(CALM, pad=FoamPad(viscous_ratio=0.0), restitution=1.0, horizon=3.0)
    motion = test.simulate([8000.0, 0.0], 2e-4)
    assert (np.abs(motion.balance) < 1e-8).all()
    # between lift-off and return the bolt alone pulls: the reading is never above zero
    at = np.searchsorted(test.time * test.time_scale, motion.events[:, 2])
    for i in range(2):
        assert (motion.impactor[at[i] : at[i] + 3, i] <= 0.0).all()
        assert abs(motion.events[i, 3]) < 1e-3


def test_it_shows_what_the_paper_does():
    generator = np.random.default_rng(0)
    peaks = {}
    for pad, speed, thickness, v, tests in TABLE_2:
        model = ImpactTest(FoamPad(thickness), v, horizon=1.5)
        peaks[pad, speed] = model.realize(generator, 50).max(axis=0)
        assert tests == (10 if speed == "low" else 5)
    # Figure 12: "over a thousand g's"; Figure 13: "a significant spread"
    assert np.median(peaks["thin", "low"]) > 1000.0 and peaks["thin", "low"].std() > 50.0
    for speed in ("low", "high"):
        assert np.median(peaks["thin", speed]) > np.median(peaks["thick", speed])
    assert np.array([LOW, HIGH]) == pytest.approx([1.5, 5.7], abs=0.05)
    assert np.array([THIN, THICK]) == pytest.approx([6.3e-3, 12.6e-3], abs=1e-4)
    # the more it is tilted the lower
    assert (np.diff(CALM.simulate(8000.0, np.array([0.0, 2e-4, 4e-4, 6e-4])).impactor.max(axis=0)) < 0.0).all()


def test_a_measurement_is_a_realization_with_noise_and_a_bad_one_of_a_torn_pad():
    test = replace(CALM, horizon=1.0)
    measured, bad = (test.measure(np.random.default_rng(3), bad) for bad in (False, True))
    assert measured.shape == (501, 5) and len(test.channels) == 5
    clean = test.realize(np.random.default_rng(3), 1)[:, 0]
    assert (measured[:, 0] - clean).std() == pytest.approx(test.noise, rel=0.15)
    # the same test in all else: first nothing differs, then more than the noise
    assert np.abs(bad - measured)[:20].max() < 1.0 and np.abs(bad - measured)[:, 0].max() > 10.0 * test.noise
    np.testing.assert_array_equal(test.realize(np.random.default_rng(3), 4)[:, :1].shape, (501, 1))


def test_a_step_too_long_for_the_impact_is_refused():
    with pytest.raises(ValueError, match="is too long for this impact"):
        ImpactTest(speed=3000.0, dt=0.1).simulate(8000.0, 0.0)
