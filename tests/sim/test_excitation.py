"""Excitations against their definitions, their spectra and their seeds."""

import math

import numpy as np
import pytest
import scipy.signal
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.excitation import (
    BandNoise,
    Earthquake,
    Excitation,
    Harmonic,
    Interpolation,
    Loading,
    Recorded,
    Sweep,
)

RATE = 256.0
TIME = np.arange(int(240 * RATE)) / RATE
ALL = [
    Harmonic(amplitude=2.0, frequency=1.5), Sweep(amplitude=2.0, start=0.5, stop=5.0, duration=20.0),
    BandNoise(rms=0.5, low=1.0, high=8.0, seed=3), Earthquake(rms=1.2, seed=3),
]  # fmt: skip


@pytest.mark.parametrize("excitation", ALL, ids=lambda e: type(e).__name__)
def test_every_excitation(excitation: Excitation):
    sample = excitation.sample(TIME)
    assert sample.shape == TIME.shape and sample.dtype == np.float64
    assert np.all(np.isfinite(sample))
    assert sample[0] == 0.0
    # a smooth start: quadratic at least, so that the first hundredth of the ramp is under a thousandth
    assert np.max(np.abs(sample[:3])) < 1e-3 * np.max(np.abs(sample))
    np.testing.assert_array_equal(excitation.sample(TIME), sample)
    np.testing.assert_array_equal(excitation.sample(TIME[::3]), sample[::3])
    np.testing.assert_array_equal(excitation.sample(-TIME), 0.0 * TIME)
    assert excitation.loading is Loading.GROUND


@given(amplitude=st.floats(-10.0, 10.0), frequency=st.floats(0.1, 20.0), ramp=st.sampled_from([0.0, 0.5, 3.0]))
@settings(max_examples=30, deadline=None)
def test_harmonic_is_a_sine_after_its_ramp(amplitude, frequency, ramp):
    sample = Harmonic(amplitude=amplitude, frequency=frequency, ramp=ramp).sample(TIME)
    sine = amplitude * np.sin(2.0 * np.pi * frequency * TIME)
    np.testing.assert_allclose(sample[ramp <= TIME], sine[ramp <= TIME], atol=1e-12)
    if ramp:
        half = int(ramp / 2.0 * RATE)
        assert sample[half] == pytest.approx(0.5 * sine[half], abs=1e-12)


def test_sweep_runs_linearly_and_stays():
    sample = Sweep(amplitude=1.0, start=1.0, stop=4.0, duration=20.0, ramp=0.0).sample(TIME)
    chirp = scipy.signal.chirp(TIME, 1.0, 20.0, 4.0, method="linear", phi=-90.0)
    np.testing.assert_allclose(sample[TIME <= 20.0], chirp[TIME <= 20.0], atol=1e-10)
    later = TIME > 20.0
    # 50 cycles lie behind at 20 s
    np.testing.assert_allclose(sample[later], np.sin(2.0 * np.pi * 4.0 * (TIME - 20.0))[later], atol=1e-9)


def test_band_noise_has_its_rms_and_band():
    sample = BandNoise(rms=0.5, low=2.0, high=8.0, seed=4, ramp=0.0).sample(TIME)
    assert np.sqrt(np.mean(sample**2)) == pytest.approx(0.5, rel=0.02)
    frequencies, density = scipy.signal.welch(sample, RATE, nperseg=4096)
    inside = (frequencies > 1.9) & (frequencies < 8.1)
    assert np.sum(density[inside]) > 0.999 * np.sum(density)
    quarters = np.array_split(density[inside][4:-4], 4)
    np.testing.assert_allclose([np.mean(part) for part in quarters], 0.25 / 6.0, rtol=0.25)


def test_earthquake_has_its_envelope_rms_and_spectrum():
    strong = Earthquake(rms=1.2, seed=5, strong=200.0, ramp=0.0)
    inside = (TIME > 4.0) & (TIME < 204.0)
    sample = strong.sample(TIME)[inside]
    assert np.sqrt(np.mean(sample**2)) == pytest.approx(1.2, rel=0.03)
    frequencies, density = scipy.signal.welch(sample, RATE, nperseg=2048)
    soil = frequencies[np.argmax(density)]
    assert 0.5 * strong.ground_frequency < soil < 1.3 * strong.ground_frequency
    ratio = np.mean(density[(frequencies > 2) & (frequencies < 3)]) / np.mean(
        density[(frequencies > 9) & (frequencies < 11)]
    )
    kanai = strong.density(np.array([2.5, 10.0]))
    assert ratio == pytest.approx(kanai[0] / kanai[1], rel=0.5)
    envelope = Earthquake(rms=1.0, seed=5).envelope(np.array([-1.0, 0.0, 2.0, 4.0, 14.0, 19.0]))
    np.testing.assert_allclose(envelope, [0.0, 0.0, 0.25, 1.0, 1.0, math.exp(-1.0)])


def test_kanai_and_tajimi_at_the_soil_frequency():
    quake = Earthquake(rms=1.0, seed=1, ground_frequency=3.0, ground_damping=0.5)
    # drift filter at ten times its own frequency: 100^2 / (99^2 + 100); soil filter: 2 / 1
    assert quake.density(np.array([3.0]))[0] == pytest.approx(2.0 * 1e4 / (99.0**2 + 100.0))
    assert quake.density(np.array([0.003]))[0] < 1e-6


@pytest.mark.parametrize("kind", [BandNoise, Earthquake])
def test_seeds_decide(kind):
    band = {"low": 0.5, "high": 5.0} if kind is BandNoise else {}
    first, again, other = (kind(rms=1.0, seed=seed, **band).sample(TIME[:512]) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert np.max(np.abs(first - other)) > 0.1


@pytest.mark.parametrize(
    ("kind", "settings", "word"),
    [
        (Harmonic, {"amplitude": math.nan, "frequency": 1.0}, "amplitude nan"),
        (Harmonic, {"amplitude": 1.0, "frequency": 0.0}, "frequency 0.0"),
        (Harmonic, {"amplitude": 1.0, "frequency": 1.0, "ramp": -1.0}, "ramp -1.0"),
        (Sweep, {"amplitude": 1.0, "start": 1.0, "stop": 2.0, "duration": 0.0}, "duration 0.0"),
        (BandNoise, {"rms": -1.0, "low": 1.0, "high": 2.0, "seed": 1}, "rms -1.0"),
        (BandNoise, {"rms": 1.0, "low": 3.0, "high": 2.0, "seed": 1}, "low 3.0"),
        (BandNoise, {"rms": 1.0, "low": math.nan, "high": 2.0, "seed": 1}, "low nan"),
        (Earthquake, {"rms": 1.0, "decay": 0.0, "seed": 1}, "decay 0.0"),
    ],
)
def test_settings_out_of_range_are_refused_in_one_line(kind, settings, word):
    with pytest.raises(ValueError, match=f"^excitation {word}: must be [^\n]*$"):
        kind(**settings)


def test_earthquakes_have_the_density_of_kanai_and_tajimi():
    soil, damping, rms, rate, n = 2.5, 0.6, 1.3, 64.0, 2048
    time = np.arange(n) / rate
    # flat over the whole record: the envelope is tested above
    quakes = (
        Earthquake(rms=rms, rise=1e-3, strong=1e3, ramp=0.0, seed=seed, ground_frequency=soil) for seed in range(80)
    )
    window = np.hanning(n)
    spectra = [np.abs(np.fft.rfft(window * quake.sample(time))) ** 2 for quake in quakes]
    density = 2.0 * np.mean(spectra, axis=0) / (rate * np.sum(window**2))
    frequency = np.fft.rfftfreq(n, 1.0 / rate)

    def exact(f):
        def passed(f0):
            r = f / f0
            return 1.0 / ((1.0 - r**2) ** 2 + (2.0 * damping * r) ** 2)

        layer = (1.0 + (2.0 * damping * f / soil) ** 2) * passed(soil)
        return layer * (f / (0.1 * soil)) ** 4 * passed(0.1 * soil)

    fine = np.linspace(0.02 * soil, 8.0 * soil, 20001)
    scale = rms**2 / (np.sum(exact(fine)) * (fine[1] - fine[0]))
    for low, high in ((0.3, 0.8), (0.8, 1.6), (1.6, 2.4), (2.4, 3.2), (3.2, 5.0), (5.0, 9.0), (9.0, 19.0)):
        inside = (frequency >= low) & (frequency < high)
        found, expected = np.mean(density[inside]), np.mean(scale * exact(frequency[inside]))
        assert found == pytest.approx(expected, rel=0.12)
    assert np.sum(density[frequency > 8.1 * soil]) < 1e-6 * np.sum(density)


@pytest.mark.parametrize("interpolation", Interpolation)
def test_a_recorded_motion_passes_through_its_samples(interpolation):
    samples = np.random.default_rng(1).standard_normal(200)
    motion = Recorded(acceleration=samples, sample_rate=100.0, interpolation=interpolation, scale=0.5)
    np.testing.assert_allclose(motion.sample(np.arange(200) / 100.0), 0.5 * samples, atol=1e-9)
    outside = np.array([-5.0, -0.001, 1.9901, 2.0, 50.0])
    np.testing.assert_array_equal(motion.sample(outside), 0.0)
    assert motion.duration == pytest.approx(1.99)
    assert motion.loading is Loading.GROUND


def test_recorded_motions_between_their_samples():
    samples, time = np.random.default_rng(2).standard_normal(300), np.linspace(0.0, 2.99, 4001)
    straight = Recorded(acceleration=samples, sample_rate=100.0).sample(time)
    low = np.minimum((100.0 * time).astype(int), 298)
    part = 100.0 * time - low
    np.testing.assert_allclose(straight, (1.0 - part) * samples[low] + part * samples[low + 1], atol=1e-12)
    for frequency in (1.0, 20.0, 40.0):
        wave = np.cos(2.0 * np.pi * frequency * np.arange(300) / 100.0 + 1.0)
        smooth = Recorded(acceleration=wave, sample_rate=100.0, interpolation="band-limited").sample(time)
        inner = (time > 0.25) & (time < 2.7)
        np.testing.assert_allclose(smooth[inner], np.cos(2.0 * np.pi * frequency * time + 1.0)[inner], atol=1e-5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"acceleration": np.zeros((2, 2))}, "recorded motion of shape (2, 2): give (n,), two samples or more"),
        ({"acceleration": [1.0]}, "recorded motion of shape (1,): give (n,), two samples or more"),
        ({"acceleration": [0.0, math.nan]}, "recorded motion: sample 1 is nan, give finite numbers"),
        ({"sample_rate": 0.0}, "excitation sample_rate 0.0: must be a positive number"),
        ({"scale": math.inf}, "excitation scale inf: must be a finite number"),
        ({"interpolation": "cubic"}, "interpolation 'cubic': choose linear or band-limited"),
    ],
)
def test_recorded_motions_out_of_range_are_refused_in_one_line(settings, message):
    with pytest.raises(ValueError, match=r"^[^\n]*$") as caught:
        Recorded(**({"acceleration": [0.0, 1.0], "sample_rate": 100.0} | settings))
    assert str(caught.value) == message
