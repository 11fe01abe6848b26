"""FDB in noise and its ratio at one instant: near the least spread, and deviations that say what the spread is."""

from __future__ import annotations

import numpy as np
import pytest

from monitor.indicators import reference
from monitor.indicators.frequency_domain import FrequencyDomainIndicator
from tests.oracles import frequency_domain as oracle
from tests.oracles.tones import Tones

pytestmark = pytest.mark.usefixtures("warm_kernels")
RATIO, PHASE, DELAY, FREQUENCY, AMPLITUDE, RATIO_SD, PHASE_SD, DELAY_SD, DAMPING = range(9)
RATE, N, SEEDS = 256.0, 256, 1000
CYCLES = [1.5, 1.7, 2.0, 2.5, 3.3, 5.5, 10.2]
STARTS = [0.1, 0.9, 1.7, 2.5]
SMALL = 0.01
every_count = pytest.mark.parametrize("cycles", CYCLES)


def in_noise(tones, noise_c, noise_m, **settings):
    """Return one row for each of `SEEDS` windows, (SEEDS, n_outputs)."""
    rng = np.random.default_rng(11)
    x_c, x_m = (
        x[:, None] + noise * rng.normal(size=(N, SEEDS))
        for x, noise in zip(tones.signals(N, RATE), (noise_c, noise_m), strict=True)
    )
    indicator = FrequencyDomainIndicator(RATE, N / RATE, n_pairs=SEEDS, every=N, **settings)
    return indicator.update_block(x_c, x_m, first=1)[-1]


def tone(cycles, start=0.1, phase=-0.4):
    return Tones(cycles * RATE / N, 1.0, 0.8, phase, start, 0.3, -0.2)


def rms(x):
    return np.sqrt(np.mean(np.square(x)))


@every_count
@pytest.mark.parametrize("start", STARTS)
def test_the_spread_is_near_the_least_possible(cycles, start):
    tones = tone(cycles, start)
    rows = in_noise(tones, SMALL, SMALL)
    least_phase, least_ratio = oracle.cramer_rao(cycles, N, start, tones.gain, tones.phase, SMALL, SMALL)
    assert np.std(rows[:, PHASE]) < 1.6 * least_phase
    assert np.std(rows[:, RATIO]) / tones.ratio < 1.6 * least_ratio
    assert np.std(rows[:, PHASE]) > 0.9 * least_phase


@every_count
@pytest.mark.parametrize("taper", reference.TAPERS)
@pytest.mark.parametrize(("noise_c", "noise_m"), [(SMALL, SMALL), (0.0, SMALL), (SMALL, 0.0)])
def test_the_standard_deviations_are_those_of_the_errors(cycles, taper, noise_c, noise_m):
    for start in STARTS[:2]:
        tones = tone(cycles, start)
        rows = in_noise(tones, noise_c, noise_m, taper=taper)
        for value, sd, truth in (
            (PHASE, PHASE_SD, tones.phase),
            (RATIO, RATIO_SD, tones.ratio),
            (DELAY, DELAY_SD, tones.delay),
        ):
            # without a taper few blocks hold most of one and a half cycles: the deviations are a little large
            least = 0.65 if taper == "rectangular" and cycles == 1.5 else 0.7
            assert least < rms(rows[:, value] - truth) / rms(rows[:, sd]) < 1.4


@pytest.mark.parametrize("phase", [-2.9, 1.5])
@pytest.mark.parametrize("cycles", [2.5, 5.5])
def test_a_large_delay_is_as_uncertain_as_its_frequency(cycles, phase):
    tones = tone(cycles, phase=phase)
    rows = in_noise(tones, SMALL, SMALL)
    assert 0.7 < rms(rows[:, DELAY] - tones.delay) / rms(rows[:, DELAY_SD]) < 1.4


def test_the_uncorrected_forms_say_how_random_they_are():
    for settings in ({"image_correction": False}, {"peak": "own"}):
        rows = in_noise(tone(5.1), SMALL, SMALL, **settings)
        assert 0.7 < np.std(rows[:, PHASE]) / rms(rows[:, PHASE_SD]) < 1.4
        assert 0.7 < np.std(rows[:, RATIO]) / rms(rows[:, RATIO_SD]) < 1.4


@pytest.mark.parametrize("cycles", [1.5, 5.0, 5.3])
def test_a_clean_tone_is_certain(cycles):
    rows = in_noise(tone(cycles), 0.0, 0.0)
    assert (rows[:, [RATIO_SD, PHASE_SD, DELAY_SD]] < 1e-9).all()


def test_another_motion_that_is_delayed_alike_is_no_noise():
    """A second tone with the same delay cancels; one that the command does not hold does not."""
    t = np.arange(N) / RATE
    delay, other = 0.012, 2.0 * np.pi * 9.7
    x_c = np.sin(2.0 * np.pi * 5.3 * t) + 0.3 * np.sin(other * t + 1.0)
    follows = 0.9 * (np.sin(2.0 * np.pi * 5.3 * (t - delay)) + 0.3 * np.sin(other * (t - delay) + 1.0))
    strays = 0.9 * np.sin(2.0 * np.pi * 5.3 * (t - delay)) + 0.15 * np.sin(other * t + 2.5)
    sds = [FrequencyDomainIndicator(RATE, N / RATE).update_block(x_c, x_m)[-1, PHASE_SD] for x_m in (follows, strays)]
    # a motion of its own of a sixth of the size: no phase is told
    assert sds[0] < 1e-9
    assert np.isnan(sds[1]) or 20.0 * sds[0] < sds[1]


def windows_of(x_c, x_m, rate, window, **settings):
    rows = FrequencyDomainIndicator(rate, window, **settings).update_block(x_c, x_m)
    return rows[np.isfinite(rows[:, RATIO])]


def test_a_sweep_with_a_pure_delay():
    """1 to 8 Hz in 60 s: the phase turns from 4 to 35 degrees, the delay stands."""
    rate, delay = 256.0, 0.012
    t = np.arange(int(60 * rate)) / rate

    def swept(t):
        return np.sin(2.0 * np.pi * (t + 7.0 / 120.0 * t * t))

    rows = windows_of(swept(t), swept(t - delay), rate, 2.0, every=16)
    errors = rows[:, DELAY] - delay
    assert np.max(np.abs(errors)) < 1e-6
    assert rms(rows[:, RATIO] - 1.0) < 2e-3
    # nothing is left that no delay explains
    assert np.max(rows[:, DELAY_SD]) < 1e-6


def test_a_growing_amplitude_as_in_the_paper():
    """Case vi: 0.1 t 2.5 sin(3 pi t + 0.092) against 0.1 t 2.0 sin(3 pi t + 0.369), 10 s at 1024 Hz."""
    t = np.arange(10240) / 1024.0
    x_c, x_m = 0.25 * t * np.sin(3.0 * np.pi * t + 0.092), 0.2 * t * np.sin(3.0 * np.pi * t + 0.369)
    rows = windows_of(x_c, x_m, 1024.0, 2.0, delay_of="tone")
    np.testing.assert_allclose(np.mean(rows[:, RATIO]), 1.25, rtol=5e-4)
    np.testing.assert_allclose(np.degrees(np.mean(rows[:, PHASE])), 15.871, atol=0.05)
    # not certain, but as good as that: the window where the tone begins is the worst
    error = rms(rows[:, PHASE] - 0.277)
    assert 0.2 < error / rms(rows[:, PHASE_SD]) < 2.0


def test_a_dead_channel_has_no_standard_deviation():
    x_c, _ = tone(5.3).signals(2 * N, RATE)
    rows = FrequencyDomainIndicator(RATE, N / RATE).update_block(x_c, np.zeros(2 * N))
    of_command = [FREQUENCY, AMPLITUDE]
    assert np.isnan(np.delete(rows[:, :-1], of_command, axis=1)).all() and (rows[:, -1] > 0.0).all()
    np.testing.assert_allclose(rows[N:, of_command], np.tile([5.3 * RATE / N, 1.0], (N, 1)), rtol=1e-9)


def test_noise_alone_is_hardly_ever_told():
    x_c, x_m = np.random.default_rng(5).normal(size=(2, 100 * N))
    rows = FrequencyDomainIndicator(RATE, N / RATE, every=N).update_block(x_c, x_m, first=1)
    assert np.isnan(rows[:, PHASE]).mean() > 0.7
    assert (np.isnan(rows[:, PHASE]) == np.isnan(rows[:, RATIO])).all()
    assert (rows[np.isfinite(rows[:, PHASE]), PHASE_SD] <= 0.5).all()


RATIO_RATE, WINDOW, PAIRS = 512.0, 2.0, 120
INSTANTS = 3.1, 4.4, 5.95
TIME = np.arange(round(3.0 * WINDOW * RATIO_RATE)) / RATIO_RATE
# 60 to 20 dB
NOISE = 10.0 ** np.linspace(-3.0, -1.0, PAIRS)


def pairs(rate, drift, noise):
    """Return commands and measured signals that grow by `rate` [1/s] and drift, (n, n_pairs); (3, n_pairs) ratios."""
    rng = np.random.default_rng(5)
    frequency, start, delay = (
        rng.uniform(1.2, 6.0, PAIRS),
        rng.uniform(0.0, 6.3, PAIRS),
        rng.uniform(-4e-3, 35e-3, PAIRS),
    )
    ratio = np.exp(rng.uniform(np.log(0.8), np.log(1.25), PAIRS))
    motion = lambda t: np.exp(rate * (t - 4.0)) * np.cos(2.0 * np.pi * frequency * t + start)  # noqa: E731
    t = TIME[:, None]
    command, measured = motion(t), motion(t - delay - drift * (t - 4.0)) / ratio
    measured = measured + noise * measured.std(axis=0) * rng.standard_normal(measured.shape)
    # the envelope at the middle of each window
    at_middle = delay + drift * (np.array(INSTANTS)[:, None] - 0.5 * WINDOW - 4.0)
    return command, measured, ratio * np.exp(rate * at_middle)


def readings(rate, drift, noise):
    """Return (n_instants, n_pairs): relative errors of the ratio, and its standard deviations."""
    command, measured, truth = pairs(rate, drift, noise)
    rows = FrequencyDomainIndicator(RATIO_RATE, WINDOW, n_pairs=PAIRS).update_block(command, measured)
    rows = rows[[round(at * RATIO_RATE) for at in INSTANTS]]
    return rows[:, :, RATIO] / truth - 1.0, rows[:, :, RATIO_SD] / truth


@pytest.mark.parametrize(
    ("rate", "drift"), [(0.0, 0.0), (-0.6, 0.0), (0.4, 0.0), (0.0, 1.7e-3), (0.0, -6e-3), (-0.3, 1.7e-3)]
)
def test_the_ratio_is_that_at_one_instant_and_its_deviation_holds(rate, drift):
    error, sd = readings(rate, drift, NOISE)
    assert np.isfinite(error).all()
    assert 0.58 <= np.mean(np.abs(error) <= sd) <= 0.82
    assert np.mean(np.abs(error) <= 2.0 * sd) >= 0.9
    assert np.median(np.abs(error)) < 3e-3


@pytest.mark.parametrize(("rate", "drift", "most"), [(0.0, 0.0, 1e-8), (-0.6, 0.0, 1e-3), (0.0, 1.7e-3, 1e-3)])
def test_without_noise(rate, drift, most):
    error, _ = readings(rate, drift, 0.0)
    assert np.abs(error).max() < most


@pytest.mark.parametrize("window", [4.0 / 3.0, 2.0])
def test_a_sine_that_grows_by_its_time(window):
    t = np.arange(round(10.0 * RATIO_RATE)) / RATIO_RATE
    angle = 2.0 * np.pi * 1.5 * t
    command, measured = t * np.sin(angle), 0.8 * t * np.sin(angle + 0.277)
    ratio = FrequencyDomainIndicator(RATIO_RATE, window).update_block(command, measured)[
        round(window * RATIO_RATE) :, RATIO
    ]
    assert np.nanmedian(ratio) == pytest.approx(1.25, abs=5e-5)
