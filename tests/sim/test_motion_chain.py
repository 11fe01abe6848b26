"""Sticking, slipping and touching of chains, against closed forms, the laws themselves and the balance of energy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

from replay.papers.nonlinear.four_dof_fits import accelerations_from_rest
from sim.laboratory.structure import Structure
from sim.models.chain import Chain, Contact, TooStiffError, chain_response

G = 9.81


def alone(mass=1.0, **others):
    """Return a mass without springs."""
    return Chain(mass, np.empty(0), np.empty(0), grounded=False, **others)


def test_a_ball_bounces_on_a_stiff_stop_as_in_closed_form():
    mass, stiffness, height, dt = 2.0, 5e4, 0.5, 1e-3
    time = dt * np.arange(6001)
    w, sag, v0 = np.sqrt(stiffness / mass), mass * G / stiffness, np.sqrt(2.0 * G * height)
    radius, phase = np.hypot(sag, v0 / w), np.arctan2(v0 / w, sag)
    contact, flight = 2.0 * (np.pi - phase) / w, 2.0 * v0 / G
    # since the last time that it reached the stop
    since = np.mod(time - v0 / G, contact + flight)
    x = np.where(since < contact, sag - radius * np.cos(w * since + phase), 0.0)
    t = since - contact
    x = np.where(since >= contact, 0.5 * G * t**2 - v0 * t, x)
    x = np.where(time < v0 / G, 0.5 * G * time**2 - height, x)
    ball = alone(mass, contact=Contact(0, None, 0.0, stiffness))
    motion = chain_response(ball, np.full((len(time), 1), mass * G), dt, -height)
    assert np.count_nonzero(np.diff(np.sign(x)) > 0) >= 9
    # an impact at a wrong instant would move the ball by its velocity times the error
    np.testing.assert_allclose(motion.displacement[:, 0], x, atol=1e-7 * v0)
    energy = 0.5 * mass * motion.velocity**2 + 0.5 * stiffness * np.maximum(motion.displacement, 0.0) ** 2
    energy -= mass * G * motion.displacement
    np.testing.assert_allclose(energy, mass * G * height, rtol=1e-7)


@pytest.mark.parametrize("ratio", [0.05, 0.3, 0.7])
def test_a_stop_with_a_damper_has_its_restitution(ratio):
    mass, stiffness, v0, gap, dt = 1.5, 4e3, 0.8, 0.02, 2e-3
    w = np.sqrt(stiffness / mass)
    damped = w * np.sqrt(1.0 - ratio**2)

    def overlap(t):
        return v0 / damped * np.exp(-ratio * w * t) * np.sin(damped * t)

    def rate(t):
        return v0 * np.exp(-ratio * w * t) * (np.cos(damped * t) - ratio * w / damped * np.sin(damped * t))

    # it leaves as the force is zero, before the stop has its shape back
    leaves = brentq(lambda t: 2.0 * ratio * w * rate(t) + w**2 * overlap(t), 0.1 / damped, np.pi / damped)
    stop = Contact(0, None, gap, stiffness, 2.0 * ratio * w * mass)
    motion = chain_response(alone(mass, contact=stop), np.zeros((101, 1)), dt, 0.0, v0)
    time = dt * np.arange(101.0) - gap / v0
    free = gap + overlap(leaves) + rate(leaves) * (time - leaves)
    x = np.where(time < 0.0, gap + v0 * time, np.where(time < leaves, gap + overlap(time), free))
    np.testing.assert_allclose(motion.displacement[:, 0], x, atol=1e-9)
    assert motion.velocity[-1, 0] == pytest.approx(rate(leaves), rel=1e-7)


def test_two_masses_that_collide_keep_their_momentum():
    pair = Chain([1.0, 3.0], 0.0, 0.0, grounded=False, contact=Contact(0, 1, 0.1, 1e5))
    motion = chain_response(pair, np.zeros((500, 2)), 1e-3, 0.0, [1.0, 0.0])
    # elastic: (m1 - m2) / (m1 + m2) and 2 m1 / (m1 + m2)
    np.testing.assert_allclose(motion.velocity[-1], [-0.5, 0.5], atol=1e-8)
    # half a period of the reduced mass
    held = np.pi / np.sqrt(1e5 / 0.75)
    after = 499e-3 - 0.1 - held
    assert motion.displacement[-1, 0] == pytest.approx(0.1 + (held - 0.0) * 0.25 - 0.5 * after, abs=1e-7)


def test_a_block_under_a_growing_force_sticks_until_it_exceeds_friction():
    mass, friction, rate, dt = 2.0, 3.0, 5.0, 0.07
    time = dt * np.arange(40.0)
    begins = friction / rate
    slipped = np.maximum(time - begins, 0.0)
    motion = chain_response(alone(mass, friction=friction), rate * time[:, None], dt)
    np.testing.assert_allclose(motion.displacement[:, 0], rate * slipped**3 / (6.0 * mass), atol=1e-9)
    np.testing.assert_allclose(motion.velocity[:, 0], rate * slipped**2 / (2.0 * mass), atol=1e-9)
    assert np.all(motion.displacement[time <= begins] == 0.0)


@pytest.mark.parametrize("way", [1.0, -1.0])
def test_a_block_under_a_constant_force_slides_and_one_without_stops(way):
    dt, time = 0.05, 0.05 * np.arange(60.0)
    pushed = chain_response(alone(2.0, friction=3.0), np.full((60, 1), 7.0 * way), dt)
    np.testing.assert_allclose(pushed.displacement[:, 0], way * 0.5 * 2.0 * time**2, atol=1e-9)
    # thrown: it stops after m v / F, and stays
    thrown = chain_response(alone(2.0, friction=3.0), np.zeros((60, 1)), dt, 0.0, 1.7 * way)
    moving = np.minimum(time, 2.0 * 1.7 / 3.0)
    np.testing.assert_allclose(thrown.displacement[:, 0], way * (1.7 * moving - 0.75 * moving**2), atol=1e-9)
    assert thrown.velocity[-1, 0] == thrown.acceleration[-1, 0] == 0.0
    # as much as friction, and no more
    held = chain_response(alone(2.0, friction=3.0), np.full((60, 1), 3.0), dt)
    assert not np.any(held.displacement)


def test_the_amplitude_on_a_spring_drops_by_four_times_friction_over_stiffness_a_cycle():
    mass, stiffness, friction, start, dt = 1.3, 200.0, 1.5, 0.1, 0.01
    w, offset = np.sqrt(stiffness / mass), friction / stiffness
    time = dt * np.arange(400.0)
    half = np.floor(time * w / np.pi).astype(int)
    halves = int(np.ceil((start - offset) / (2.0 * offset)))  # the first turn within friction / stiffness
    amplitude = start - (2.0 * half + 1.0) * offset
    sign = (-1.0) ** half
    x = sign * (amplitude * np.cos(w * time - np.pi * half) + offset)
    rest = (-1.0) ** halves * (start - 2.0 * halves * offset)
    x = np.where(half >= halves, rest, x)
    motion = chain_response(Chain(mass, stiffness, friction=friction), np.zeros((400, 1)), dt, start)
    np.testing.assert_allclose(motion.displacement[:, 0], x, atol=1e-9)
    assert np.all(motion.velocity[half >= halves] == 0.0)


@pytest.mark.parametrize(("ratio", "share"), [(0.7, 0.3), (1.4, 0.3), (2.0, 0.2)])
def test_the_steady_amplitude_under_a_harmonic_force_is_den_hartogs(ratio, share):
    """Den Hartog 1931, forced vibrations with combined Coulomb and viscous friction: no stops, no viscous part."""
    per_cycle, cycles, w = 200, 120, 2.0 * np.pi
    dt = 1.0 / (ratio * per_cycle)
    step = ratio * w * dt
    time = dt * np.arange(per_cycle * cycles + 1.0)
    force = np.cos(ratio * w * time) / np.sinc(step / (2.0 * np.pi)) ** 2
    motion = chain_response(Chain(1.0, w**2, friction=share), force[:, None], dt, tolerance=1e-8)
    x = motion.displacement[-per_cycle:, 0]
    elastic = 1.0 / (1.0 - ratio**2)
    dissipative = np.sin(np.pi / ratio) / (ratio * (1.0 + np.cos(np.pi / ratio)))
    expected = np.sqrt(elastic**2 - (share * dissipative) ** 2) / w**2
    # the largest is between two samples
    assert x.max() == pytest.approx(expected, rel=2e-3)
    assert -x.min() == pytest.approx(expected, rel=2e-3)


def test_simultaneous_events_are_those_of_one_mass_alone():
    force = 4.0 * np.random.default_rng(1).standard_normal((300, 1))
    one = chain_response(alone(1.0, friction=2.0), force, 0.05)
    both = Chain([1.0, 1.0], 0.0, 0.0, grounded=False, friction=2.0)
    same = chain_response(both, np.hstack([force, force]), 0.05)
    mirrored = chain_response(both, np.hstack([force, -force]), 0.05)
    for i, (motion, sign) in enumerate([(same, 1.0), (mirrored, -1.0)]):
        np.testing.assert_allclose(motion.displacement[:, 0], one.displacement[:, 0], atol=1e-10, err_msg=str(i))
        np.testing.assert_allclose(motion.displacement[:, 1], sign * one.displacement[:, 0], atol=1e-10)
    assert np.count_nonzero(one.velocity == 0.0) > 5


@pytest.mark.parametrize("height", [1e-9, 1e-5, 1e-3])
def test_a_touch_that_ends_within_a_sample_interval_is_not_missed(height):
    # thrown at a stop against gravity, so fast that it would get beyond it by `height`
    gap, stiffness, dt = 1.0, 1e3, 0.5
    v0 = np.sqrt(2.0 * G * (gap + height))
    ball = alone(contact=Contact(0, None, gap, stiffness))
    motion = chain_response(ball, np.full((5, 1), -G), dt, 0.0, v0)
    speed, w = np.sqrt(2.0 * G * height), np.sqrt(stiffness)
    touches = (v0 - speed) / G
    sag = -G / stiffness
    # from the stop's zero and back: as the bouncing ball, with gravity away from the stop
    phase = np.arctan2(speed / w, -sag)
    leaves = touches + 2.0 * phase / w
    t = np.maximum(dt * np.arange(5.0) - leaves, 0.0)
    after = gap - speed * t - 0.5 * G * t**2
    at = dt * np.arange(5.0)
    x = np.where(at < touches, v0 * at - 0.5 * G * at**2, after)
    np.testing.assert_allclose(motion.displacement[:, 0], x, atol=1e-8)


def test_a_slip_that_ends_within_a_sample_interval_is_not_missed():
    # a load that is over friction for a hundredth of an interval, on lines that meet in a peak
    rate, over, friction = 100.0, 0.5, 10.0
    peak = friction + over
    load = np.array([0.0, peak, 0.0, 0.0])[:, None]
    motion = chain_response(alone(2.0, friction=friction), load, peak / rate)
    # the pulse is a triangle: it speeds up for over / rate, and on and on until what it has gained is lost
    up = over / rate
    gained = rate * up**2 / 2.0  # N s
    # from the peak the net force falls by rate: over t - rate t^2 / 2 + gained = 0
    stops = (over + np.sqrt(over**2 + 2.0 * rate * gained)) / rate
    moved = rate * up**3 / 6.0 + gained * stops + over * stops**2 / 2.0 - rate * stops**3 / 6.0
    np.testing.assert_allclose(motion.displacement[2:, 0], moved / 2.0, rtol=1e-8)
    assert np.all(motion.velocity[2:] == 0.0)


def test_many_events_in_a_sample_interval_and_too_many():
    # 400 bounces in each interval: the same motion as with short ones
    ball, height = alone(contact=Contact(0, None, 0.0, 1e6)), 1e-7
    coarse = chain_response(ball, np.full((3, 1), G), 0.2, -height)
    fine = chain_response(ball, np.full((2001, 1), G), 2e-4, -height)
    np.testing.assert_allclose(coarse.displacement[:, 0], fine.displacement[::1000, 0], atol=1e-3 * height)
    with pytest.raises(TooStiffError, match=r"^chain: more than \d+ steps or events after 0 s, within [^\n]*$"):
        chain_response(alone(contact=Contact(0, None, 0.0, 1e16)), np.full((2, 1), G), 0.2, -1e-12)
    with pytest.raises(ValueError, match=r"give a smaller dt, or softer springs and contact$"):
        chain_response(Chain(1.0, 1e14, cubic=1.0), np.ones((2, 1)), 1.0)


def test_a_ball_with_a_damper_comes_to_rest_on_its_stop():
    ball = alone(contact=Contact(0, None, 0.0, 1e4, 60.0))
    motion = chain_response(ball, np.full((3000, 1), G), 1e-3, -0.1)
    assert motion.displacement[-1, 0] == pytest.approx(G / 1e4, rel=1e-6)
    assert abs(motion.velocity[-1, 0]) < 1e-9


def residual(chain, load, motion):
    """Return friction and the contact's force, each that the equation of motion leaves and the law gives."""
    x, v, a = motion
    m, c, k = chain.matrices
    stretch = x @ chain.incidence().T
    left = load - a @ m - v @ c - x @ k - (np.asarray(chain.cubic) * stretch**3) @ chain.incidence()
    contact = chain.contact
    push = np.zeros(len(x))
    if contact is not None:
        d, rate = x[:, contact.first] - contact.gap, v[:, contact.first]
        if contact.second is not None:
            d, rate = d - x[:, contact.second], rate - v[:, contact.second]
        law = contact.stiffness * d + contact.damping * rate
        push = np.where((d > 0.0) & (law > 0.0), law, 0.0)
        left[:, contact.first] -= push
        if contact.second is not None:
            left[:, contact.second] += push
    return left, push


def check(chain, load, dt, x0, v0):
    """Assert that the laws hold at every sample, and that the load's work is stored and dissipated."""
    motion = chain_response(chain, load, dt, x0, v0)
    x, v, a = motion
    friction, push = residual(chain, load, motion)
    limit = np.broadcast_to(np.asarray(chain.friction), v.shape)
    close = 1e-9 * (np.abs(load).max() + np.abs(a).max() * np.max(chain.masses))
    sticks = (v == 0.0) & (limit > 0.0)
    assert np.all(np.abs(friction[sticks]) <= limit[sticks] + close)
    slips = v != 0.0
    np.testing.assert_allclose(friction[slips], (np.sign(v) * limit)[slips], atol=close)
    m, c, k = chain.matrices
    stretch = x @ chain.incidence().T
    held = 0.5 * np.einsum("ti,ij,tj->t", v, m, v) + 0.5 * np.einsum("ti,ij,tj->t", x, k, x)
    held += 0.25 * np.sum(np.asarray(chain.cubic) * stretch**4, axis=1)
    power = np.sum(load * v, axis=1) - np.einsum("ti,ij,tj->t", v, c, v) - np.sum(limit * np.abs(v), axis=1)
    contact = chain.contact
    if contact is not None:
        rate = v[:, contact.first] - (0.0 if contact.second is None else v[:, contact.second])
        power -= push * rate
    work = np.concatenate([[0.0], np.cumsum(0.5 * dt * (power[1:] + power[:-1]))])
    # where the contact begins or ends its damper's force jumps, and the rule of trapezia sees half a step of it
    jumps = np.abs(np.diff(power))[np.diff(push > 0.0)].sum()
    scale = max(held.max(), np.abs(work).max())
    np.testing.assert_allclose(held - held[0], work, atol=2e-4 * scale + dt * jumps)


@given(st.integers(1, 4), st.booleans(), st.booleans(), st.booleans(), st.integers(0, 10_000))
@settings(max_examples=15, deadline=None, derandomize=True)
def test_laws_and_energy_of_any_chain(n, grounded, rubs, touches, seed):
    rng = np.random.default_rng(seed)
    springs = n if grounded else n - 1
    second = int(rng.integers(n)) if n > 1 else None
    first = int(rng.integers(n))
    contact = Contact(first, None if second == first else second, rng.uniform(0.0, 0.02), 2e3, rng.uniform(0.0, 20.0))
    chain = Chain(
        rng.uniform(0.5, 2.0, n),
        rng.uniform(50.0, 400.0, springs),
        rng.uniform(0.0, 1.0, springs),
        grounded=grounded,
        cubic=rng.uniform(0.0, 1e3, springs),
        friction=rng.uniform(0.0, 3.0, n) * rubs,
        contact=contact if touches else None,
    )
    # the load of a hundred samples, on its lines at more
    coarse, finer = 5.0 * rng.standard_normal((101, n)), 100
    at = np.arange(100 * finer + 1) / finer
    load = np.column_stack([np.interp(at, np.arange(101), column) for column in coarse.T])
    check(chain, load, 0.02 / finer, rng.uniform(-0.05, 0.05, n), rng.uniform(-1.0, 1.0, n))


def test_a_tighter_tolerance_gives_the_same_motion_with_events():
    rng = np.random.default_rng(3)
    contact = Contact(1, 2, 0.01, 5e3, 5.0)
    chain = Chain(np.ones(4), np.full(4, 100.0), 0.2, cubic=100.0, friction=0.5, contact=contact)
    load = 5.0 * rng.standard_normal((500, 4))
    standard, tight = (chain_response(chain, load, 0.02, tolerance=tolerance) for tolerance in (1e-9, 1e-12))
    for a, b in zip(standard, tight, strict=True):
        assert np.abs(a - b).max() < 1e-7 * np.abs(b).max()
    # as the coarse samples, so the fine ones of the same load
    at = np.arange(499 * 4 + 1) / 4.0
    finer = np.column_stack([np.interp(at, np.arange(500), column) for column in load.T])
    fine = chain_response(chain, finer, 0.005)
    np.testing.assert_allclose(
        fine.displacement[::4], tight.displacement, atol=1e-7 * np.abs(tight.displacement).max()
    )


DT = 0.02


def cubic(x):
    force = np.zeros_like(x)
    force[:, 0] = 300.0 * x[:, 0] ** 3
    return force


def test_the_motion_is_that_of_scipy():
    rng = np.random.default_rng(4)
    root = rng.standard_normal((2, 3, 3))
    mass = np.eye(3) + 0.05 * root @ np.swapaxes(root, 1, 2)
    stiffness = 100.0 * (2.0 * np.eye(3) - np.eye(3, k=1) - np.eye(3, k=-1)) * np.ones((2, 1, 1))
    damping, load = 0.3 * np.eye(3) * np.ones((2, 1, 1)), rng.standard_normal((2, 101, 3)).cumsum(axis=1)
    found = accelerations_from_rest(Structure(mass, damping, stiffness), cubic, load, DT, 2)
    time = DT * np.arange(101)
    for draw in range(2):
        inverse = np.linalg.inv(mass[draw])

        def acceleration(t, y, draw=draw, inverse=inverse):
            push = np.array([np.interp(t, time, column) for column in load[draw].T])
            push[0] -= 300.0 * y[0] ** 3
            return inverse @ (push - stiffness[draw] @ y[:3] - damping[draw] @ y[3:])

        solution = solve_ivp(
            lambda t, y: np.concatenate([y[3:], acceleration(t, y)]),
            (0.0, 2.0),
            np.zeros(6),
            "DOP853",
            time,
            rtol=1e-10,
            atol=1e-12,
            max_step=DT,
        )
        exact = np.array([acceleration(t, y) for t, y in zip(time, solution.y.T, strict=True)])
        np.testing.assert_allclose(found[draw], exact, atol=1e-3 * np.abs(exact).max())


def test_the_order_is_four():
    rng = np.random.default_rng(3)
    structure = Structure(
        np.eye(2) * np.ones((1, 1, 1)), 0.2 * np.eye(2)[None], np.array([[[200.0, -100.0], [-100.0, 100.0]]])
    )
    load = rng.standard_normal((1, 51, 2))
    coarse, fine, exact = (accelerations_from_rest(structure, cubic, load, DT, steps) for steps in (1, 2, 32))
    ratio = np.abs(coarse - exact).max() / np.abs(fine - exact).max()
    assert 12.0 < ratio < 20.0
