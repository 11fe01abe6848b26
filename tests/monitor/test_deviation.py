"""Standard deviation of a weighted sum: its definition in numpy, and its coverage over many draws of known noise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import lfilter

from monitor.indicators.parts.deviation import add_chance_agreement, weighted_sum_deviations


def by_definition(weights, residual, bias):
    """Return the deviation of a window of whole cells: sums over cells, then numpy's transforms."""
    n = len(weights)
    length = -(-n // 128)
    w, r = (x.reshape(-1, length) for x in (weights, residual))
    means, sums, sizes = w.mean(axis=1), r.sum(axis=1), (w * w).sum(axis=1)
    memory = np.clip((sums[1:] @ sums[:-1]) / (sums @ sums), 0.0, 0.98)
    # by blocks: the residual without its memory, and weights that make up for it
    new = lfilter([1.0, -memory], [1.0], sums)
    later = lfilter([1.0], [1.0, -memory], means[::-1])[::-1]
    products = (w * r).sum(axis=1) - means * sums + later * new
    before = np.concatenate([[0.0], np.cumsum(sizes)])[:-1]
    block = np.minimum((16.0 * before / sizes.sum()).astype(int), 15)
    of_blocks, weight = (np.bincount(block, x, 16) for x in (products, sizes))
    factor = 1.0 + 0.5 * (weight @ weight) / sizes.sum() ** 2
    by_blocks = factor**2 * (of_blocks @ of_blocks - of_blocks.sum() ** 2 / 16.0)
    # by shifts: the two power spectra
    power_w, power_r = (np.abs(np.fft.fft(x - x.mean())) ** 2 for x in (means, sums))
    independent = power_w.sum() ** 2 / (power_w @ power_w)
    fast_w = sizes.sum() - length * (means @ means)
    fast_r = (r * r).sum() - (sums @ sums) / length
    by_shifts = (power_w @ power_r) / len(means) ** 2 * (1.0 + 24.0 / independent**1.5) + fast_w * fast_r / n
    variance = np.sqrt(by_blocks * by_shifts)
    # what is fast in both, and no chance, is a bias of the slow share of the weights
    within, slow = np.sum(w * r) - means @ sums, length * (means @ means) / sizes.sum()
    contradiction = abs(within) / max(slow, 0.2) if within**2 > variance else 0.0
    return np.sqrt(variance + (abs(weights @ bias) + contradiction) ** 2)


@pytest.mark.parametrize("n", [128, 256, 512, 2048, 5120])
@pytest.mark.parametrize("memory", [0.0, 0.95])
def test_it_is_its_definition(n, memory):
    rng = np.random.default_rng(n)
    one, two = np.sin(0.04 * np.arange(n)), rng.normal(size=n) * np.hanning(n)
    residual, bias = lfilter([1.0], [1.0, -memory], rng.normal(size=n)), 0.01 * rng.normal(size=n)
    found = weighted_sum_deviations(one, two, residual, bias, 0, n)
    expected = [by_definition(each, residual, bias) for each in (one, two)]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("n", [31, 257, 999, 2041])
def test_cells_that_do_not_fill_the_window(n):
    """A last cell of fewer samples: of white noise that a fit has left, the deviation is still that of the noise."""
    rng = np.random.default_rng(3)
    basis = np.stack([np.cos(0.9 * np.arange(n)), np.sin(0.9 * np.arange(n))], axis=1)
    weights, none = basis[:, 0].copy(), np.zeros(n)
    noise = rng.normal(size=(300, n))
    rests = noise - noise @ np.linalg.pinv(basis).T @ basis.T
    squares = [weighted_sum_deviations(weights, weights, rest, none, 0, n)[0] ** 2 for rest in rests]
    np.testing.assert_allclose(np.mean(squares) / (weights @ weights), 1.2, atol=0.3)


N = 1024
T = np.arange(N) / 512.0


def white(rng):
    return rng.normal(size=N)


def coloured(memory):
    scale = np.sqrt(1.0 - memory**2)
    return lambda rng: lfilter([scale], [1.0, -memory], rng.normal(size=N), zi=[rng.normal() * memory])[0]


def another_motion(rng):
    """Another actuator's: three tones about the motion's."""
    sizes = rng.normal(size=(2, 3))
    angles = 2.0 * np.pi * np.outer(rng.uniform(1.0, 4.0, 3), T)
    return sizes[0] @ np.cos(angles) + sizes[1] @ np.sin(angles)


def spikes(rng):
    x = np.zeros(N)
    x[rng.integers(0, N, 4)] = rng.normal(size=4) * 10.0
    return x


NOISES = {"white": white, "AR(.9)": coloured(0.9), "AR(.98)": coloured(0.98), "AR(.995)": coloured(0.995)}
NOISES |= {"another motion": another_motion, "spikes": spikes}


def tone(rng):
    return np.cos(2.0 * np.pi * rng.uniform(1.5, 5.0) * T + rng.uniform(0.0, 6.0))


def two_tones(rng):
    return tone(rng) + 0.6 * tone(rng)


def impact(rng):
    """One half sine, 0.2 to 0.5 s of the two seconds."""
    return np.sin(np.pi * np.clip((T - rng.uniform(0.2, 1.2)) / rng.uniform(0.2, 0.5), 0.0, 1.0))


# one impact has one independent value in noise that remembers as long as it lasts
SLOW = {"AR(.98)", "AR(.995)", "another motion"}
CASES = [(motion, noise) for motion in (tone, two_tones, impact) for noise in NOISES]


@pytest.mark.parametrize(
    ("motion", "noise"), [each for each in CASES if each[0] is not impact or each[1] not in SLOW]
)
def test_a_lag_by_least_squares_is_within_it_as_often_as_it_says(motion, noise):
    """Whatever the colour: numpy's least squares of noise by the motion, its slope, an offset and a line."""
    rng, scores = np.random.default_rng(17), []
    for _ in range(400):
        a = motion(rng)
        basis = np.column_stack([a, -np.gradient(a), np.ones(N), T - T.mean()])
        inverse, error = np.linalg.pinv(basis), NOISES[noise](rng)
        found = inverse @ error
        sd = weighted_sum_deviations(inverse[1], inverse[0], error - basis @ found, np.zeros(N), 0, N)
        scores.append(np.abs(found[[1, 0]]) / sd)
    for score in np.array(scores).T:
        assert 0.55 <= np.mean(score < 1.0) <= 0.85, np.mean(score < 1.0)
        # a motion of a few cycles has as few independent values
        assert np.mean(score < 2.0) >= (0.85 if noise == "another motion" else 0.9), np.mean(score < 2.0)


def test_a_hum_of_both_signals_is_in_it():
    rng, within = np.random.default_rng(5), []
    for _ in range(200):
        hums = [0.02 * np.cos(2.0 * np.pi * 50.0 * T + phase) for phase in rng.uniform(0.0, 6.3, 2)]
        a, error = two_tones(rng) + hums[0], hums[1] - hums[0] + 1e-3 * rng.normal(size=N)
        basis = np.column_stack([a, -np.gradient(a), np.ones(N), T - T.mean()])
        inverse = np.linalg.pinv(basis)
        found = inverse @ error
        sd, _ = weighted_sum_deviations(inverse[1], inverse[0], error - basis @ found, np.zeros(N), 0, N)
        within.append(abs(found[1]) < 2.0 * sd)
    assert np.mean(within) > 0.9


def test_weights_of_nothing_have_no_deviation():
    none = np.zeros(N)
    assert np.isnan(weighted_sum_deviations(none, none, np.ones(N), none, 0, N)).all()
    assert weighted_sum_deviations(np.ones(N), np.ones(N), none, none, 0, N) == (0.0, 0.0)


def test_what_is_known_of_a_residual_is_a_bias():
    weights, bias = np.ones(N), np.full(N, 0.25)
    assert weighted_sum_deviations(weights, weights, np.zeros(N), bias, 0, N)[0] == 0.25 * N


def test_a_likeness_by_chance_makes_a_phase_uncertain():
    assert add_chance_agreement(0.02, 0.01) == 0.02
    assert add_chance_agreement(0.0, 0.3) == pytest.approx(0.5)
    assert add_chance_agreement(3.0, 0.05 + 16.0) == pytest.approx(5.0)
