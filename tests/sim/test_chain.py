from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm

from sim.models.chain import Chain, chain_response

N = 5
DT = 0.02


def chain_of(seed, **others):
    rng = np.random.default_rng(seed)
    springs = N if others.get("grounded", True) else N - 1
    return Chain(
        rng.uniform(0.5, 2.0, N), rng.uniform(50.0, 200.0, springs), rng.uniform(0.05, 0.5, springs), **others
    )


def loads(seed, n_times=120, n=N):
    return 20.0 * np.random.default_rng(seed).standard_normal((n_times, n))


def equations(chain, load, dt=DT):
    """Return x'' of a chain in plain numpy, a spring at a time, with the load linear between samples."""
    masses, springs, dampers, cubic = (
        np.asarray(a) for a in (chain.masses, chain.springs, chain.dampers, chain.cubic)
    )
    n, times = len(masses), dt * np.arange(len(load))

    def rate(t, state):
        x, v = state[:n], state[n:]
        force = np.array([np.interp(t, times, load[:, i]) for i in range(n)])
        for s in range(len(springs)):
            left, right = (s - 1, s) if chain.grounded else (s, s + 1)
            d = x[right] - (x[left] if left >= 0 else 0.0)
            w = v[right] - (v[left] if left >= 0 else 0.0)
            f = springs[s] * d + dampers[s] * w + cubic[s] * d**3
            force[right] -= f
            if left >= 0:
                force[left] += f
        return np.concatenate([v, force / masses])

    return rate


def solved(chain, load, x0, v0, dt=DT):
    """Return displacement, velocity, acceleration at the samples by scipy's DOP853, one interval after the other."""
    rate, state, n = equations(chain, load, dt), np.concatenate([x0, v0]), len(x0)
    states = [state]
    for i in range(len(load) - 1):
        found = solve_ivp(rate, (i * dt, (i + 1) * dt), state, "DOP853", rtol=1e-12, atol=1e-14)
        state = found.y[:, -1]
        states.append(state)
    states = np.array(states)
    accelerations = [rate(i * dt, state)[n:] for i, state in enumerate(states)]
    return states[:, :n], states[:, n:], np.array(accelerations)


@pytest.mark.parametrize("grounded", [True, False])
def test_a_linear_chain_is_its_matrix_exponential(grounded):
    chain = chain_of(1, grounded=grounded)
    load = loads(2)
    m, c, k = chain.matrices
    a, b = np.zeros((2 * N, 2 * N)), np.zeros((2 * N, N))
    a[:N, N:], a[N:, :N], a[N:, N:] = np.eye(N), -np.linalg.solve(m, k), -np.linalg.solve(m, c)
    b[N:] = np.linalg.inv(m)
    # ten steps of scipy's exponential with a constant load at the middle of each converge as their square
    state = np.concatenate([np.linspace(0.1, 0.2, N), np.linspace(-1.0, 1.0, N)])
    start = state.copy()
    block = np.zeros((4 * N, 4 * N))
    block[: 2 * N, : 2 * N], block[: 2 * N, 2 * N : 3 * N] = a, b
    block[2 * N : 3 * N, 3 * N :] = np.eye(N)
    step = expm(DT * block)
    expected = [state]
    for now, then in pairwise(load):
        state = (step @ np.concatenate([state, now, (then - now) / DT]))[: 2 * N]
        expected.append(state)
    expected = np.array(expected)
    motion = chain_response(chain, load, DT, start[:N], start[N:])
    np.testing.assert_allclose(motion.displacement, expected[:, :N], atol=1e-12 * np.abs(expected).max())
    np.testing.assert_allclose(motion.velocity, expected[:, N:], atol=1e-12 * np.abs(expected).max())
    balance = load - expected[:, :N] @ k - expected[:, N:] @ c
    np.testing.assert_allclose(motion.acceleration @ m, balance, atol=1e-9 * np.abs(balance).max())
    # Runge and Kutta's of the same chain
    stepped = chain_response(chain, load, DT, start[:N], start[N:], substeps=16)
    np.testing.assert_allclose(stepped.displacement, motion.displacement, atol=1e-9)


@pytest.mark.parametrize("grounded", [True, False])
def test_a_cubic_chain_is_that_of_scipy(grounded):
    chain = chain_of(3, grounded=grounded, cubic=np.linspace(0.0, 400.0, N if grounded else N - 1))
    load = loads(4)
    x0, v0 = np.linspace(0.5, -0.3, N), np.linspace(0.0, 3.0, N)
    motion = chain_response(chain, load, DT, x0, v0)
    for got, expected in zip(motion, solved(chain, load, x0, v0), strict=True):
        assert np.abs(got - expected).max() < 1e-7 * np.abs(expected).max()


@pytest.mark.parametrize("stiffness", [1e-6, 1.0, 1e4, 1e10])
def test_an_oscillator_of_any_stiffness_is_its_closed_form(stiffness):
    # many cycles in a sample interval, or a small part of one
    mass, dt, time = 1e-3, 0.1, 0.1 * np.arange(30.0)
    w = np.sqrt(stiffness / mass)
    motion = chain_response(Chain(mass, stiffness), np.zeros((30, 1)), dt, 0.3, 0.2 * w)
    # the phase is known to rounding of the largest
    within = 1e-13 * (1.0 + w * 3.0)
    np.testing.assert_allclose(
        motion.displacement[:, 0], 0.3 * np.cos(w * time) + 0.2 * np.sin(w * time), atol=within
    )
    static = chain_response(Chain(mass, stiffness), np.full((30, 1), stiffness), dt, 1.0)
    np.testing.assert_allclose(static.displacement, 1.0, atol=within)


def test_a_linear_chain_takes_complex_parameters():
    load, h = loads(9, 60), 1e-30
    springs, step = np.full(N, 100.0), np.zeros(N)
    step[2] = 1.0
    many = chain_response(Chain(np.ones(N), springs + 1j * h * step, 0.1), load, DT).displacement.imag / h
    up, down = (chain_response(Chain(np.ones(N), springs + s * 1e-3 * step, 0.1), load, DT) for s in (1.0, -1.0))
    differences = (up.displacement - down.displacement) / 2e-3
    np.testing.assert_allclose(many, differences, atol=1e-6 * np.abs(differences).max())
    with pytest.raises(ValueError, match=r"^chain response of complex numbers: only a linear chain has it[^\n]*$"):
        chain_response(Chain(np.ones(N), springs + 1j * h * step, 0.1, cubic=1.0), load, DT)


def test_the_order_is_five_at_fixed_steps():
    chain = chain_of(5, cubic=300.0)
    load, rest = loads(6, 40), np.zeros(N)
    expected = solved(chain, load, rest, rest)[0]
    errors = [np.abs(chain_response(chain, load, DT, substeps=2**i).displacement - expected).max() for i in range(4)]
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.all((orders > 4.5) & (orders < 6.5)), orders


def test_sets_of_parameters_are_independent():
    springs = np.random.default_rng(7).uniform(50.0, 200.0, (2, 3, N))
    cubic = np.array([0.0, 100.0])[:, None, None]
    load = loads(8, 50)
    for nonlinear in (0.0, cubic * np.ones(N)):
        many = chain_response(Chain(np.ones(N), springs, 0.1, cubic=nonlinear), load, DT)
        assert many.displacement.shape == (2, 3, 50, N)
        own = nonlinear if np.ndim(nonlinear) == 0 else 100.0
        one = chain_response(Chain(np.ones(N), springs[1, 2], 0.1, cubic=own), load, DT)
        np.testing.assert_allclose(many.displacement[1, 2], one.displacement, atol=1e-12)


def test_a_motion_without_bound_is_nan_from_there_on():
    # a softening spring: beyond sqrt(k / 1000) it pushes outwards, and the motion is infinite in finite time
    chain = Chain(1.0, 1.0, 0.1, cubic=np.array([[-1000.0], [0.0]]))
    motion = chain_response(chain, np.zeros((200, 1)), 0.1, 1.0)
    assert motion.diverged.tolist() == [True, False]
    assert np.isfinite(motion.displacement[0, 0]).all()
    assert np.isnan(motion.displacement[0, -1]).all()
    # a linear one that overflows
    assert chain_response(Chain(1.0, -1e6, 0.0), np.zeros((200, 1)), 0.1, 1.0).diverged


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Chain([1.0, 1.0], [1.0]), "springs of 1 beside 2 masses: give 2 for a grounded chain"),
        (lambda: Chain([1.0, -1.0], [1.0, 1.0]), "masses -1.0: must be a positive number"),
        (lambda: Chain([1.0], [np.nan]), "springs with NaN or infinity: must be finite"),
        (lambda: Chain([1.0], [1.0], friction=-2.0), "friction -2.0: must be 0 or more"),
        (lambda: Chain([1.0], [1.0], cubic=[1.0, 2.0]), "cubic of 2 values: give 1, or one for all"),
        (lambda: Chain(np.ones((2, 1)), np.ones((3, 1))), "do not broadcast"),
        (lambda: chain_response(Chain(1.0, 1.0), np.zeros(7), 0.1), "give \\(n_times, 1\\), a force on each mass"),
        (lambda: chain_response(Chain(1.0, 1.0), np.zeros((7, 1)), 0.0), "dt 0.0: must be a positive number"),
        (lambda: chain_response(Chain(1.0, 1.0), np.zeros((7, 1)), 0.1, substeps=0), "substeps 0: must be 1 or more"),
    ],
)
def test_what_cannot_be_is_one_clear_line(make, message):
    with pytest.raises(ValueError, match=message) as raised:
        make()
    assert "\n" not in str(raised.value)
