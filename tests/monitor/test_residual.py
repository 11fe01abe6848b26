"""What no delay and no gain explains: the fit against numpy's least squares, its scatter, and the play in it."""

from __future__ import annotations

import numpy as np
import pytest

from monitor.indicators.broadband_delay import BroadbandDelayIndicator
from monitor.indicators.frequency_domain import FrequencyDomainIndicator
from monitor.indicators.parts.deviation import weighted_sum_deviations
from monitor.indicators.parts.residual import REACH, fit_delayed, fit_least_squares
from monitor.indicators.phase_amplitude import PhaseAmplitudeIndices
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


def test_the_scatter_of_a_part_of_the_window():
    rng = np.random.default_rng(12)
    one, two, rest = rng.normal(size=(3, N))
    inside = weighted_sum_deviations(one, two, rest, np.zeros(N), 30, 400)
    rest[:30] = rest[400:] = 1e9
    assert weighted_sum_deviations(one, two, rest, np.zeros(N), 30, 400) == inside
    np.testing.assert_allclose(
        weighted_sum_deviations(two, one, 2.0 * rest, np.zeros(N), 30, 400), [2.0 * sd for sd in inside[::-1]]
    )


PLAY_RATE, WINDOW, DELAY, N_PAIRS = 1024.0, 2.0, 0.012, 24
TIMES = np.arange(round(2.2 * WINDOW * PLAY_RATE)) / PLAY_RATE


def with_play(x, play):
    """Return a signal, (n, n_pairs), after a joint with a play of `play` to either side."""
    at, found = x[0], np.empty_like(x)
    for i, now in enumerate(x):
        at = found[i] = np.clip(at, now - play, now + play)
    return found


def tones(frequency):
    def draw(rng):
        angles = rng.uniform(0.0, 2.0 * np.pi, N_PAIRS)
        return lambda t: np.sin(2.0 * np.pi * frequency * t[:, None] + angles)

    return draw


def earthquakes(rng):
    motions = [oracle.band_noise(rng, low=0.7, high=6.0) for _ in range(N_PAIRS)]
    return lambda t: np.stack([motion(t) for motion in motions], axis=1)


MOTIONS = {"1 Hz": tones(1.03), "3 Hz": tones(3.03), "band noise": earthquakes}


def last_rows(make, motion, play, noise, seed=3, limit=np.inf):
    """Return amplitudes, and the last results by name, (n_pairs,) each."""
    rng = np.random.default_rng(seed)
    x = MOTIONS[motion](rng)
    command = x(TIMES)
    amplitude = np.sqrt(2.0) * command[-round(WINDOW * PLAY_RATE) :].std(axis=0)
    measured = np.clip(with_play(x(TIMES - DELAY), play * amplitude), -limit * amplitude, limit * amplitude)
    measured += noise * amplitude * rng.normal(size=command.shape)
    command = command + noise * amplitude * rng.normal(size=command.shape)
    indicator = make(PLAY_RATE, WINDOW, n_pairs=N_PAIRS)
    rows = indicator.update_block(command, measured).reshape(len(TIMES), N_PAIRS, -1)[-1]
    return amplitude, {output.name: rows[:, j] for j, output in enumerate(indicator.outputs)}


@pytest.mark.parametrize("motion", MOTIONS)
@pytest.mark.parametrize(("play", "noise"), [(0.01, 0.001), (0.02, 0.003), (0.05, 0.01)])
def test_a_play_is_found_with_its_size(motion, play, noise):
    amplitude, found = last_rows(BroadbandDelayIndicator, motion, play, noise)
    sizes = found["broadband_play"] / amplitude / play
    assert np.mean(sizes > 0.0) > 0.9
    np.testing.assert_allclose(np.median(sizes), 1.0, atol=0.15)


@pytest.mark.parametrize("motion", MOTIONS)
def test_a_play_larger_than_a_tenth_is_found_and_not_said_to_be_larger(motion):
    """Most of it looks like a delay and a gain: its size is up to a third too small."""
    amplitude, found = last_rows(BroadbandDelayIndicator, motion, 0.12, 0.003)
    sizes = found["broadband_play"] / amplitude / 0.12
    assert np.mean(sizes > 0.0) > 0.5
    assert 0.67 < np.median(sizes[sizes > 0.0]) < 1.05


def share_with_play(motion, noises, seeds, limit=np.inf):
    runs = [(noise, seed) for noise in noises for seed in range(seeds)]
    rows = [last_rows(BroadbandDelayIndicator, motion, 0.0, noise, seed, limit)[1] for noise, seed in runs]
    sizes = np.concatenate([row["broadband_play"] for row in rows])
    assert np.isfinite(sizes).all()
    return np.mean(sizes > 0.0)


@pytest.mark.parametrize("motion", MOTIONS)
def test_without_play_one_is_found_in_one_of_fifty_at_most(motion):
    assert share_with_play(motion, (0.001, 0.01, 0.05), 6) <= 0.02


@pytest.mark.parametrize("motion", ["1 Hz", "3 Hz"])
@pytest.mark.parametrize("limit", [0.7, 0.9])
def test_a_limit_of_the_stroke_is_no_play(motion, limit):
    assert share_with_play(motion, (0.003,), 6, limit) <= 0.02


@pytest.mark.parametrize("frequency", [1.03, 3.03])
@pytest.mark.parametrize(
    ("make", "name"),
    [(BroadbandDelayIndicator, "broadband"), (FrequencyDomainIndicator, "fdb"), (PhaseAmplitudeIndices, "paei")],
)
def test_what_it_adds_to_the_delay_is_in_the_standard_deviation(make, name, frequency):
    play = 0.02
    _, found = last_rows(make, f"{frequency:.0f} Hz", play, 0.002)
    error = found[f"{name}_delay"] - DELAY
    # the describing function of a play
    np.testing.assert_allclose(error, 4.0 * play / (np.pi * 2.0 * np.pi * frequency), rtol=0.15)
    assert np.mean(error < found[f"{name}_delay_sd"]) > 0.9
    assert np.median(found[f"{name}_delay_sd"]) < 2.5 * np.median(error)
