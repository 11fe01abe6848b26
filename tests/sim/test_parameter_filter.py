"""Parameters that drift, followed: near the truth, as sure as they say, silent on what the motion does not tell."""

from __future__ import annotations

import numpy as np
import pytest

from sim.fitting.parameter_filter import DrivenSpecimen, ParameterFilter
from sim.laboratory.elements import BoucWenSpring, Dashpot, LinearSpring, ParallelElements
from sim.laboratory.specimens import ChangingElement

RATE, SECONDS = 250.0, 16.0
N = round(RATE * SECONDS)
TIMES = np.arange(N) / RATE
K, LIMIT, HARDENING, DAMPING = 2e6, 0.01, 0.1, 2e4


def motion(seed, amplitude=0.03):
    """Return displacement and velocity, (n,) each, between 0.3 and 3 Hz."""
    rng, hertz = np.random.default_rng(seed), np.fft.rfftfreq(N, 1.0 / RATE)
    spectrum = np.where((hertz > 0.3) & (hertz < 3.0), np.fft.rfft(rng.normal(size=N)), 0.0)
    x, v = np.fft.irfft(spectrum, N), np.fft.irfft(2j * np.pi * hertz * spectrum, N)
    return amplitude / np.abs(x).max() * x, amplitude / np.abs(x).max() * v


def forces(element, x, v):
    running = element.begin(1.0 / RATE, (1,))
    return np.array([running.force(np.array([a]), np.array([b]))[0] for a, b in zip(x, v, strict=True)])


def follow(model, x, v, f):
    """Return the estimates after every sample."""
    filtered = ParameterFilter(model, RATE, float(np.ptp(f)))
    inputs = np.stack([x, v], axis=1)
    return [filtered.update(inputs[max(i - 1, 0)], inputs[i], f[i]) for i in range(len(f))]


def softening(seed, noise=0.01, left=0.7):
    """Return displacement, velocity, noisy force and the true stiffness of a linear specimen that softens at 8 s."""
    x, v = motion(seed)
    element = ParallelElements((ChangingElement(LinearSpring(K), LinearSpring(left * K), 8.0, 0.5), Dashpot(DAMPING)))
    f = forces(element, x, v)
    true = K * np.interp(TIMES, [8.0, 8.5], [1.0, left])
    return x, v, f + noise * f.std() * np.random.default_rng(100 + seed).normal(size=N), true


LINEAR = DrivenSpecimen(1.1 * K, 0.8 * DAMPING, followed=("stiffness", "damping"))


def test_a_softening_is_followed_within_the_bands():
    within = []
    for seed in range(4):
        x, v, f, true = softening(seed)
        found = follow(LINEAR, x, v, f)
        k, k_sd = np.array([each.parameters[0] for each in found]), np.array([each.sd[0] for each in found])
        counted = (TIMES > 2.0) & ((TIMES < 7.9) | (TIMES > 10.0))
        error = np.abs(k - true)[counted]
        assert np.median(error) < 0.02 * K
        assert np.median(error[-200:]) < 0.02 * K
        within.append([np.mean(error < k_sd[counted]), np.mean(error < 2.0 * k_sd[counted])])
    one, two = np.mean(within, axis=0)
    assert 0.5 < one <= 1.0
    assert two > 0.85


def test_what_is_predicted_is_what_comes():
    x, v, f, _ = softening(1)
    predicted = np.array([each.predicted for each in follow(LINEAR, x, v, f)])
    left = (f - predicted)[TIMES > 2.0]
    # no more than the noise, and what a walk of the parameters adds to it
    assert np.sqrt(np.mean(left**2)) < 1.5 * 0.01 * f.std()


def test_four_parameters_of_a_hysteretic_specimen():
    x, v = motion(2)
    f = forces(ParallelElements((BoucWenSpring(K, LIMIT, HARDENING), Dashpot(DAMPING))), x, v)
    names = ("stiffness", "damping", "yield_displacement", "hardening")
    model = DrivenSpecimen(1.15 * K, 0.7 * DAMPING, 1.1 * LIMIT, 0.8 * HARDENING, followed=names)
    f = f + 0.003 * f.std() * np.random.default_rng(5).normal(size=N)
    last = follow(model, x, v, f)[-1]
    truth = np.array([K, DAMPING, LIMIT, HARDENING])
    np.testing.assert_allclose(last.parameters, truth, rtol=0.12)
    assert np.all(np.abs(last.parameters - truth) < 3.0 * last.sd)
    assert np.all(last.gained > 0.5)


def test_a_motion_below_yield_does_not_tell_where_it_yields():
    x, v = motion(3, amplitude=0.0004)
    f = forces(BoucWenSpring(K, LIMIT, HARDENING), x, v)
    f = f + 0.01 * f.std() * np.random.default_rng(6).normal(size=N)
    names = ("stiffness", "hardening")
    last = follow(DrivenSpecimen(1.1 * K, 0.0, LIMIT, 0.08, followed=names), x, v, f)[-1]
    assert last.gained[0] > 0.8
    assert last.gained[1] < 0.3
    assert last.parameters[0] == pytest.approx(K, rel=0.05)


def test_an_offset_of_the_force_is_no_stiffness():
    x, v, f, _ = softening(4, left=1.0)
    last = follow(LINEAR, x, v, f + 0.2 * np.ptp(f))[-1]
    assert last.parameters[0] == pytest.approx(K, rel=0.02)
    assert last.offset == pytest.approx(0.2 * np.ptp(f), rel=0.05)


def test_lost_samples_lose_the_hidden_state_and_not_the_parameters():
    x, v = motion(7)
    f = forces(BoucWenSpring(K, LIMIT, HARDENING), x, v)
    filtered = ParameterFilter(
        DrivenSpecimen(1.1 * K, 0.0, LIMIT, HARDENING, followed=("stiffness",)), RATE, float(np.ptp(f))
    )
    inputs = np.stack([x, v], axis=1)
    for i in range(1, N):
        if i == N // 2:
            filtered.interrupt()
        if not 0 <= i - N // 2 < 60:
            found = filtered.update(inputs[i - 1], inputs[i], f[i])
    assert found.parameters[0] == pytest.approx(K, rel=0.05)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"stiffness": -1.0}, "stiffness"),
        ({"followed": ("mass",)}, "mass"),
        ({"followed": ("damping",)}, "damping"),
        ({"followed": ("stiffness", "hardening"), "hardening": 0.1}, "yield_displacement"),
    ],
)
def test_what_cannot_be_followed_is_refused(values, text):
    with pytest.raises(ValueError, match=text):
        DrivenSpecimen(**{"stiffness": K, **values})
