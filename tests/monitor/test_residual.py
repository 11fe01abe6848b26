"""What no delay and no gain explains: the fit against numpy's least squares, its scatter against many draws."""

from __future__ import annotations

import numpy as np
import pytest

from monitor.indicators.parts.deviation import weighted_sum_deviations
from monitor.indicators.parts.residual import REACH, fit_delayed, fit_least_squares
from tests.oracles import delayed_motion as oracle

RATE, N = 256.0, 512
T = np.arange(N) / RATE
LAGS = (0.0, 0.4, -1.0, 3.3, 8.75, -6.5)


def fit(c, m, lag):
    """Return the samples of the fit, share, drift, and what it writes for them; the residual with its trend."""
    buffers = np.full((4, len(c)), np.nan)
    start, stop, share, drift, _, _ = fit_delayed(c, m, lag, *buffers)
    later, slope, noise, known = buffers[:, start:stop]
    return start, stop, share, drift, later, slope, noise + known


def columns(later, slope):
    n = len(later)
    return np.stack([later, slope, np.ones(n), np.arange(n) - 0.5 * (n - 1)], axis=1)


def interpolated(c, lag):
    """Return the polynomial through nine samples about each, `lag` samples earlier, and minus its slope there."""
    whole = round(lag)
    start, stop = max(0, whole + REACH), min(len(c), len(c) + whole - REACH)
    at = np.arange(-REACH, REACH + 1)
    found = []
    for t in range(start, stop):
        line = np.polynomial.Polynomial.fit(at, c[t - whole + at], 2 * REACH, domain=[-REACH, REACH])
        found.append((line(whole - lag), -line.deriv()(whole - lag)))
    return start, stop, *np.array(found).T


def noisy_pair(lag, noise_c=0.0):
    rng = np.random.default_rng(7)
    motion = oracle.band_noise(rng, high=8.0)
    m = 0.8 * motion(T - (lag + 0.02) / RATE) + 0.05 * rng.normal(size=N) + 0.3 * T - 5.0
    return motion(T) + 40.0 + noise_c * rng.normal(size=N), m


@pytest.mark.parametrize("lag", LAGS)
def test_the_fit_is_that_of_least_squares(lag):
    c, m = noisy_pair(lag)
    buffers = np.full((4, N), np.nan)
    start, stop, whole, drift, gain, width = fit_least_squares(c, m, lag, *buffers)
    start_np, stop_np, later, slope = interpolated(c, lag)
    assert (start, stop, whole) == (start_np, stop_np, round(lag))
    # an eighth of the period of the mean frequency
    spectrum = np.abs(np.fft.rfft(c - c.mean())[: N // 16]) ** 2
    frequency = np.sqrt(spectrum @ np.arange(N // 16) ** 2 / spectrum.sum()) / N
    assert width == pytest.approx(0.125 / frequency, rel=0.25)
    a, y = columns(later, slope), m[start:stop]
    found = np.linalg.lstsq(a, y, rcond=None)[0]
    for name, expected in (("later", later), ("slope", slope), ("rest", y - a @ found)):
        ours = buffers[("later", "slope", "rest").index(name), start:stop]
        np.testing.assert_allclose(ours, expected, atol=1e-9, err_msg=name)
    line = np.vander(np.arange(stop - start), 2)
    np.testing.assert_allclose(buffers[3, start:stop], without(line, later), atol=1e-9)
    np.testing.assert_allclose((gain, drift), found[[0, 3]], rtol=1e-6)


def without(basis, x):
    return x - basis @ np.linalg.lstsq(basis, x, rcond=None)[0]


@pytest.mark.parametrize("lag", LAGS)
def test_the_command_an_eighth_of_a_period_away_is_the_instrument(lag):
    """Noise of the command is in its delayed value and slope, but not in its values before and after."""
    c, m = noisy_pair(lag, 0.01)
    width = fit_least_squares(c, m, lag, *np.empty((4, N)))[5]
    start, stop, _, drift, later, slope, rest = fit(c, m, lag)
    whole = round(lag)
    inner = np.arange(max(start, whole + width), min(stop, N + whole - width))
    line, own = (np.vander(t.astype(float), 2) for t in (np.arange(start, stop), inner))
    a, y = np.stack([later, slope], axis=1), m[start:stop]
    first = without(np.column_stack([a, line]), y)
    before, after = c[inner - whole - width], c[inner - whole + width]
    instruments = without(own, np.stack([before + after, before - after], axis=1))
    at = inner - start
    more = np.linalg.solve(
        instruments.T @ without(own, without(line, a)[at]), instruments.T @ without(own, first[at])
    )
    expected = first - without(line, a) @ more
    np.testing.assert_allclose(rest, expected, atol=1e-9)
    np.testing.assert_allclose(
        drift,
        np.polyfit(
            np.arange(stop - start),
            y - a @ (np.linalg.lstsq(np.column_stack([a, line]), y, rcond=None)[0][:2] + more),
            1,
        )[0],
        rtol=1e-6,
    )


def test_noise_of_the_command_does_not_make_the_gain_too_small():
    """By least squares a fifth of noise makes it 4 % too small, and of the slope, which is noise throughout, more."""
    gains = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        motion = oracle.band_noise(rng, high=8.0)
        scale = motion(T).std()
        c, m = (x + 0.2 * scale * rng.normal(size=N) for x in (motion(T), 0.8 * motion(T - 5.3 / RATE)))
        plain = fit_least_squares(c, m, 5.3, *np.empty((4, N)))[4]
        gains.append((plain, fit_delayed(c, m, 5.3, *np.empty((4, N)))[4]))
    least_squares, ours = np.mean(gains, axis=0)
    assert least_squares < 0.785
    assert ours == pytest.approx(0.8, abs=0.01)


@pytest.mark.parametrize("lag", LAGS)
def test_between_samples_the_command_is_the_motion(lag):
    motion = oracle.band_noise(np.random.default_rng(8), high=8.0)
    start, stop, share, _, later, slope, rest = fit(motion(T), 0.7 * motion(T - lag / RATE) + 3.0, lag)
    t = T[start:stop] - lag / RATE
    np.testing.assert_allclose(later, motion(t), atol=1e-7)
    np.testing.assert_allclose(slope, -motion.slope(t) / RATE, atol=1e-7)
    np.testing.assert_allclose(rest, 0.0, atol=1e-7)
    assert share < 1e-12


@pytest.mark.parametrize("level", [0.1, 0.5, 1.0, 3.0])
def test_the_share_is_of_what_is_left_in_the_commands_band(level):
    """A motion of another kind in the same band, of known size; an offset and a drift are no part of it."""
    rng = np.random.default_rng(9)
    shares = []
    for _ in range(60):
        one, other = oracle.band_noise(rng, high=6.0), oracle.band_noise(rng, high=6.0)
        shares.append(fit(one(T), one(T) + level * other(T) + 7.0 + T, 0.0)[2])
    np.testing.assert_allclose(np.mean(shares), level**2 / (1.0 + level**2), atol=0.05)


def test_white_noise_counts_by_what_is_left_of_it_in_the_band():
    rng = np.random.default_rng(10)
    motion = oracle.Components(np.array([2.0]), np.array([np.sqrt(2.0)]), np.array([0.3]))
    # an eighth of the period is sixteen samples
    shares = [fit(motion(T), motion(T) + 0.5 * rng.normal(size=N), 0.0)[2] for _ in range(100)]
    np.testing.assert_allclose(np.mean(shares), 0.25 / 16.0, rtol=0.15)


@pytest.mark.parametrize("kind", ["dead", "constant", "a line", "too short"])
def test_what_cannot_be_fitted_is_not_known(kind):
    c = {"dead": np.zeros(N), "constant": np.full(N, 3.3), "a line": 0.1 * T, "too short": np.sin(T[:20])}[kind]
    assert np.isnan(fit(c, np.cos(np.arange(len(c))), 0.0)[2])


def coloured(rng, memory, number):
    """Return noise of variance one whose samples remember the last one by so much, (number, N)."""
    x = rng.normal(size=(number, N))
    for t in range(1, N):
        x[:, t] = memory * x[:, t - 1] + np.sqrt(1.0 - memory**2) * x[:, t]
    return x


@pytest.mark.parametrize("memory", [0.0, 0.6, 0.9])
@pytest.mark.parametrize("frequency", [2.3, 6.1])
def test_the_scatter_is_that_of_many_draws(memory, frequency):
    """Weights of a phase and of a gain under Hann's taper; what the fit leaves of the noise stands for the noise.

    A factor for so few blocks is on top: the deviations are 1.0 to 1.3 times too large.
    """
    hann = 1.0 - np.cos(2.0 * np.pi * np.arange(N) / N)
    angle = 2.0 * np.pi * frequency * T + 0.4
    weights = np.stack([hann * np.sin(angle), hann * np.cos(angle)])
    a = columns(np.cos(angle), np.sin(angle))
    noise = coloured(np.random.default_rng(11), memory, 600)
    rests = noise - noise @ np.linalg.pinv(a).T @ a.T
    sds = np.array([weighted_sum_deviations(*weights, rest, np.zeros(N), 0, N) for rest in rests])
    actual = np.var(noise @ weights.T, axis=0)
    np.testing.assert_allclose(np.mean(sds**2, axis=0) / actual, 1.3, rtol=0.3)


def test_the_scatter_of_a_part_of_the_window():
    rng = np.random.default_rng(12)
    one, two, rest = rng.normal(size=(3, N))
    inside = weighted_sum_deviations(one, two, rest, np.zeros(N), 30, 400)
    rest[:30] = rest[400:] = 1e9
    assert weighted_sum_deviations(one, two, rest, np.zeros(N), 30, 400) == inside
    np.testing.assert_allclose(
        weighted_sum_deviations(two, one, 2.0 * rest, np.zeros(N), 30, 400), [2.0 * sd for sd in inside[::-1]]
    )
