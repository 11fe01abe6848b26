"""The band-pass: scipy's of the same design, whatever the cuts, and what it does for an indicator."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.signal import butter, sosfilt, sosfilt_zi, sosfreqz

from monitor.indicators.band_pass import BandPass, band_pass_sections, steady_state
from monitor.indicators.frequency_domain import FrequencyDomainIndicator
from tests.oracles import delayed_motion as oracle
from tests.oracles.tones import Tones

RATE = 1000.0


def by_scipy(samples, low, high, order):
    """Return one channel filtered from the steady state of its first sample."""
    sections = butter(order, (low, high), btype="bandpass", fs=RATE, output="sos")
    return sosfilt(sections, samples, zi=sosfilt_zi(sections) * samples[0])[0]


def noise(n, n_channels, seed=0):
    return np.random.default_rng(seed).normal(size=(n, n_channels)) + 100.0 * np.arange(n_channels)


@pytest.mark.parametrize("order", [1, 2, 3, 5])
@pytest.mark.parametrize(("low", "high"), [(0.5, 40.0), (100.0, 120.0), (3.0, 450.0)])
def test_it_is_scipys(order, low, high):
    samples = noise(800, 3)
    found = BandPass(RATE, low, high, order=order, n_channels=3).filter(samples)
    expected = np.stack([by_scipy(x, low, high, order) for x in samples.T], axis=1)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-7)


EDGES = [
    *((1e-4, 1e-3), (1e-4, 0.45), (1e-3, 0.1), (0.01, 0.02), (0.05, 0.4)),
    *((0.1, 0.12), (0.2, 0.45), (0.3, 0.449), (0.449, 0.45)),
]


@pytest.mark.parametrize("rate", [1.0, 100.0, 1024.0, 5e4])
@pytest.mark.parametrize("order", [1, 2, 3, 4, 5, 8])
@pytest.mark.parametrize(("low", "high"), EDGES)
def test_the_sections_are_scipys_design(rate, order, low, high):
    sections = band_pass_sections(rate, low * rate, high * rate, order)
    zeros, poles, gain = butter(order, (low * rate, high * rate), btype="bandpass", fs=rate, output="zpk")
    assert sections.shape == (order, 6)
    # a zero at 0 Hz and one at half the rate in every section
    np.testing.assert_array_equal(sections[:, 0:4:3], np.stack([-sections[:, 2], np.ones(order)], axis=1))
    assert not sections[:, 1].any()
    np.testing.assert_allclose(np.sort(zeros.real), [-1.0] * order + [1.0] * order, atol=1e-12)
    assert np.prod(sections[:, 0]) == pytest.approx(gain, rel=1e-13)
    # stable, and with scipy's poles: each is a zero of the section's denominator
    distances = np.abs(poles[:, None] ** 2 + sections[:, 4] * poles[:, None] + sections[:, 5]).min(axis=1)
    np.testing.assert_allclose(distances, 0.0, atol=4e-15)
    assert (np.abs(sections[:, 5]) < 1.0).all() and (np.abs(sections[:, 4]) < 1.0 + sections[:, 5]).all()
    # the steady state is the solution that scipy computes; near 0 Hz its linear system is ill-conditioned
    scale = np.abs(sections[0, 0])
    np.testing.assert_allclose(steady_state(sections), sosfilt_zi(sections), rtol=0.0, atol=scale * 1e-15 / low**1.5)
    # the frequency response; close to z = 1 both forms lose as many digits as the angle is small
    angles = 2.0 * np.pi * np.geomspace(low, high, 15)
    expected = sosfreqz(butter(order, (low * rate, high * rate), btype="bandpass", fs=rate, output="sos"), angles)[1]
    np.testing.assert_allclose(sosfreqz(sections, angles)[1], expected, rtol=0.0, atol=order * 1e-17 / low**2 + 1e-12)


@pytest.mark.parametrize("order", [1, 2, 3, 6])
def test_the_edges_are_three_decibels_down_and_the_middle_is_not(order):
    low, high = 3.0, 40.0
    # the middle of the band on the axis of the bilinear transform
    middle = np.arctan(np.sqrt(np.tan(np.pi * low / RATE) * np.tan(np.pi * high / RATE))) * RATE / np.pi
    angles = 2.0 * np.pi * np.array([low, middle, high]) / RATE
    gains = np.abs(sosfreqz(band_pass_sections(RATE, low, high, order), angles)[1])
    np.testing.assert_allclose(gains, [np.sqrt(0.5), 1.0, np.sqrt(0.5)], rtol=1e-10)


@given(cuts=st.lists(st.integers(0, 300), max_size=8), bad=st.integers(0, 299))
def test_any_chopping_gives_the_same_bits(cuts, bad):
    samples = noise(300, 2)
    samples[bad, 1] = np.nan
    whole = BandPass(RATE, 1.0, 40.0, n_channels=2).filter(samples)
    band_pass = BandPass(RATE, 1.0, 40.0, n_channels=2)
    pieces = [band_pass.filter(samples[a:b]) for a, b in itertools.pairwise([0, *sorted(cuts), 300])]
    np.testing.assert_array_equal(np.concatenate(pieces), whole)


def test_channels_are_alike_and_apart():
    samples = noise(300, 1)
    together = BandPass(RATE, 1.0, 40.0, n_channels=3).filter(np.hstack([samples, noise(300, 1, 7), samples]))
    np.testing.assert_array_equal(together[:, 0], together[:, 2])
    np.testing.assert_array_equal(together[:, :1], BandPass(RATE, 1.0, 40.0).filter(samples))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e50, -1e60])
def test_a_bad_sample_is_not_a_number_and_what_follows_begins_anew(bad):
    samples = noise(300, 2)
    samples[[0, 100, 101], 0] = bad
    found = BandPass(RATE, 1.0, 40.0, n_channels=2).filter(samples)
    np.testing.assert_array_equal(np.flatnonzero(np.isnan(found[:, 0])), [0, 100, 101])
    for start, stop in ((1, 100), (102, 300)):
        fresh = BandPass(RATE, 1.0, 40.0).filter(samples[start:stop, :1])
        np.testing.assert_array_equal(found[start:stop, :1], fresh)
    np.testing.assert_array_equal(found[:, 1:], BandPass(RATE, 1.0, 40.0).filter(samples[:, 1:]))


def test_an_offset_gives_no_step():
    found = BandPass(RATE, 0.5, 40.0).filter(np.full((2000, 1), 1e4))
    np.testing.assert_allclose(found, 0.0, atol=1e-6)


def test_a_tone_in_the_middle_passes_and_those_outside_do_not():
    t = np.arange(8000) / RATE
    for frequency, low, high in ((10.0, 0.999, 1.001), (0.05, 0.0, 1e-3), (450.0, 0.0, 1e-2)):
        found = BandPass(RATE, 2.0, 50.0).filter(np.cos(2.0 * np.pi * frequency * t)[:, None])[4000:]
        assert low <= np.sqrt(2.0 * np.mean(found**2)) <= high


def test_reset_and_restore():
    samples, band_pass = noise(300, 2), BandPass(RATE, 1.0, 40.0, n_channels=2)
    whole = band_pass.filter(samples)
    band_pass.reset()
    np.testing.assert_array_equal(band_pass.filter(samples[:120]), whole[:120])
    kept = band_pass.snapshot()
    for _ in range(2):
        np.testing.assert_array_equal(band_pass.filter(samples[120:]), whole[120:])
        band_pass.restore(kept)
    with pytest.raises(ValueError, match="state"):
        BandPass(RATE, 1.0, 40.0).restore(kept)


def test_the_samples_are_left_alone_and_no_samples_are_taken():
    samples = np.asfortranarray(noise(50, 2).astype(np.float32))
    samples.flags.writeable = False
    before = samples.copy()
    band_pass = BandPass(RATE, 1.0, 40.0, n_channels=2)
    assert band_pass.filter(np.empty((0, 2))).shape == (0, 2)
    expected = BandPass(RATE, 1.0, 40.0, n_channels=2).filter(before.astype(np.float64))
    np.testing.assert_array_equal(band_pass.filter(samples), expected)
    np.testing.assert_array_equal(samples, before)


@pytest.mark.parametrize("phase", [0.1, -0.4])
def test_fdb_on_offsets_that_drift_apart(phase):
    """Filtered alike, both say the same of each other, without what drifts in each; so does FDB of the motion."""
    tones, n = Tones(2.0, 1.0, 0.9, phase, 0.7), 12_000
    t = np.arange(n) / RATE
    signals = np.stack(tones.signals(n, RATE), axis=1) + np.stack([20.0 + 1.5 * t, -30.0 - 4.0 * t], axis=1)
    filtered = BandPass(RATE, 0.5, 20.0, n_channels=2).filter(signals)
    wrong, right, of_motion = (
        FrequencyDomainIndicator(RATE, 2.0, delay_of=which).update_block(x[:, 0], x[:, 1])[-1000:, :2]
        for x, which in ((signals, "tone"), (filtered, "tone"), (signals, "motion"))
    )
    truth = [tones.ratio, tones.phase]
    np.testing.assert_allclose(right, np.tile(truth, (1000, 1)), rtol=1e-4)
    # of the motion the drift of measured against the command is taken out; what both have of the command's is in the
    # ratio at one instant
    np.testing.assert_allclose(of_motion[:, 1], tones.phase, atol=2e-3)
    n_window = round(2.0 * RATE)
    for row in (0, 333, 999):
        window = slice(n - 999 + row - n_window, n - 999 + row)
        drift = (-4.0 - tones.gain * 1.5) * t[window]
        bins = [oracle.hann_bin(x, 4) for x in (signals[window, 0], signals[window, 1] - drift)]
        assert of_motion[row, 0] == pytest.approx(abs(bins[0] / bins[1]), rel=2e-3)
    # else several hundredths of a radian and of the ratio
    assert (np.sqrt(np.mean((wrong - truth) ** 2, axis=0)) > 0.02).all()


@pytest.mark.parametrize(
    "band", [(2.0, 2.0), (5.0, 1.0), (0.0, 5.0), (-1.0, 5.0), (1.0, 451.0), (np.nan, 5.0), (1.0, np.nan)]
)
def test_a_band_out_of_range(band):
    with pytest.raises(ValueError, match=r"band = .* to .* Hz"):
        BandPass(RATE, *band)


@pytest.mark.parametrize("wrong", [{"order": 0}, {"n_channels": 0}, {"sample_rate": -1.0}, {"sample_rate": np.inf}])
def test_other_settings_out_of_range(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        BandPass(**{"sample_rate": RATE, "low": 1.0, "high": 2.0, **wrong})


@pytest.mark.parametrize("shape", [(5,), (5, 1), (5, 3), (5, 2, 1)])
def test_wrong_shapes(shape):
    with pytest.raises(ValueError, match=r"\(n_samples, 2\)"):
        BandPass(RATE, 1.0, 2.0, n_channels=2).filter(np.zeros(shape))
