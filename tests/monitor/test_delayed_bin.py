"""FDB's delay is that of the motion, whatever frequencies it has; the paper's form is that of one tone."""

from __future__ import annotations

import numpy as np
import pytest

from monitor.indicators import reference
from monitor.indicators.frequency_domain import FrequencyDomainIndicator
from tests.oracles import delayed_motion as oracle

pytestmark = pytest.mark.usefixtures("warm_kernels")
RATIO, PHASE, DELAY, FREQUENCY = range(4)
RATE, N = 1024.0, 2048
HIGHEST = 200
GAIN = 0.9
# s
DELAYS = (-0.004, 0.0, 0.002, 0.011, 0.023, 0.035)
T = np.arange(N) / RATE
every_motion = pytest.mark.parametrize("name", oracle.MOTIONS)
sums_of_tones = pytest.mark.parametrize("name", ["two tones", "band noise"])


def newest(x_c, x_m, **settings):
    """Return the row of one window."""
    return FrequencyDomainIndicator(RATE, N / RATE, **settings).update_block(x_c, x_m)[-1]


def drawn(name, seeds=6):
    return [oracle.MOTIONS[name](np.random.default_rng([seed, len(name)])) for seed in range(seeds)]


def turned(x_c, x_m, k):
    """Return the phase of the measured bin against the command's."""
    return float(np.angle(oracle.hann_bin(x_m, k) / oracle.hann_bin(x_c, k)))


@every_motion
@pytest.mark.parametrize("delay", DELAYS)
def test_the_delay_of_a_motion_is_exact(name, delay):
    for motion in drawn(name):
        x_c, x_m = motion(T), GAIN * motion(T - delay) + 0.3
        row = newest(x_c, x_m)
        np.testing.assert_allclose(row[DELAY], delay, atol=2e-5)
        np.testing.assert_allclose(row[PHASE], -2.0 * np.pi * row[FREQUENCY] * row[DELAY], atol=1e-12)
        # the ratio is that of the bins at one instant
        k = oracle.peak_bin(x_c, HIGHEST)
        bins = abs(oracle.hann_bin(x_c, k) / oracle.hann_bin(x_m, k))
        np.testing.assert_allclose(row[RATIO], bins, rtol=2e-3)


@every_motion
@pytest.mark.parametrize("delay", DELAYS)
def test_the_command_delayed_so_has_the_phase_of_the_measured_bin(name, delay):
    for motion in drawn(name):
        x_c, x_m = motion(T), GAIN * motion(T - delay)
        found = newest(x_c, x_m)[DELAY]
        k = oracle.peak_bin(x_c, HIGHEST)
        np.testing.assert_allclose(turned(motion(T - found), x_m, k), 0.0, atol=1e-3)


@sums_of_tones
@pytest.mark.parametrize("time_constant", [0.003, 0.015])
def test_where_no_delay_is_exact_it_is_that_at_which_the_bins_agree(name, time_constant):
    """A first-order lag delays fast motions less."""
    for motion in drawn(name):
        x_c, x_m = motion(T), motion.lagged(T, time_constant)
        k = oracle.peak_bin(x_c, HIGHEST)
        expected = oracle.root(lambda d, motion=motion, x_m=x_m, k=k: turned(motion(T - d), x_m, k), -0.02, 0.04)
        np.testing.assert_allclose(newest(x_c, x_m)[DELAY], expected, atol=1e-4)


@sums_of_tones
def test_a_small_delay_turns_the_bin_by_its_effective_frequency(name):
    delay = 2e-4
    for motion in drawn(name):
        x_c, x_m = motion(T), motion(T - delay)
        k = oracle.peak_bin(x_c, HIGHEST)
        expected = -oracle.effective_frequency(motion, T, k) * delay
        np.testing.assert_allclose(turned(x_c, x_m, k), expected, rtol=5e-3)
        np.testing.assert_allclose(newest(x_c, x_m, delay_of="tone")[PHASE], expected, rtol=2e-2)


@every_motion
@pytest.mark.parametrize("delay", [0.005, 0.02])
def test_the_delay_of_the_tone_is_the_papers_phase_over_frequency(name, delay):
    errors = []
    for motion in drawn(name):
        x_c, x_m = motion(T), GAIN * motion(T - delay)
        row = newest(x_c, x_m, delay_of="tone")
        ratio, phase, late, _ = reference.frequency_domain(x_c, x_m, RATE)
        np.testing.assert_allclose(row[RATIO], ratio, rtol=1e-9)
        np.testing.assert_allclose(row[PHASE], phase, atol=1e-9)
        np.testing.assert_allclose(row[DELAY], late, rtol=1e-9)
        errors.append(abs(row[DELAY] - delay))
    # and so it is biased, unless the tones are bins apart
    assert (max(errors) > 0.02 * delay) == (name != "two tones")


@pytest.mark.parametrize("taper", ["hamming", "blackman", "rectangular"])
def test_other_tapers_read_the_delay_too(taper):
    # what enters and leaves at the window's ends is not hidden by Hamming's taper, much less by none
    most = {"blackman": 2e-5, "hamming": 2e-3, "rectangular": 1e-2}[taper]
    for motion in drawn("two tones"):
        np.testing.assert_allclose(newest(motion(T), motion(T - 0.012), taper=taper)[DELAY], 0.012, atol=most)


def test_a_drift_of_measured_against_the_command_is_no_motion():
    for motion in drawn("earthquake"):
        x_c, x_m = motion(T), GAIN * motion(T - 0.012)
        x_m = x_m + 0.2 * np.ptp(x_m) * T / T[-1]
        np.testing.assert_allclose(newest(x_c, x_m)[DELAY], 0.012, atol=1e-4)


def test_at_one_cycle_a_window_a_motion_that_is_no_tone_is_read_at_a_faster_one():
    slow = oracle.Components(np.array([0.55, 1.3]), np.array([1.0, 0.3]), np.array([0.2, 1.0]))
    row = newest(slow(T), slow(T - 0.012))
    np.testing.assert_allclose(row[DELAY], 0.012, atol=1e-6)
    assert row[FREQUENCY] > 0.75
    slowest = oracle.Components(np.array([0.55, 0.62]), np.array([1.0, 0.3]), np.array([0.2, 1.0]))
    row = newest(slowest(T), slowest(T - 0.012), band=(0.4, 0.8))
    np.testing.assert_allclose(row[DELAY], 0.012, atol=2e-4)
    tone = oracle.Components(np.array([0.55]), np.array([1.0]), np.array([0.2]))
    np.testing.assert_allclose(newest(tone(T), tone(T - 0.012))[DELAY], 0.012, atol=1e-9)


def test_motions_that_have_nothing_to_do_with_each_other_have_no_delay():
    one, other = drawn("band noise")[:2]
    row = newest(one(T), other(T))
    assert np.isnan(row[[RATIO, PHASE, DELAY]]).all()
    assert np.isfinite(row[FREQUENCY])
