"""The tracking transfer function: Welch's averages, a plant that is known, and honest standard deviations."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.indicators import reference
from monitor.indicators.transfer_function import TransferFunction, _leakage
from sim.laboratory.plants import BenchmarkPlant

pytestmark = pytest.mark.usefixtures("warm_kernels")
RATE = 1024.0


def noise_of_band(rng, n, sample_rate, low, high):
    """Return (n,) of Gaussian noise that is white from low to high Hz, rms 1."""
    frequency = np.fft.rfftfreq(n, 1.0 / sample_rate)
    inside = (frequency > low) & (frequency < high)
    parts = (rng.normal(size=len(frequency)) + 1j * rng.normal(size=len(frequency))) * inside
    x = np.fft.irfft(parts, n)
    return x / np.std(x)


def later(x, sample_rate, delay):
    """Return a periodic signal, exactly delayed."""
    return np.fft.irfft(np.fft.rfft(x) * np.exp(-2j * np.pi * np.fft.rfftfreq(len(x), 1.0 / sample_rate) * delay))


@pytest.fixture(scope="module")
def plant_record():
    """Return 120 s of command and measured of the benchmark plant, run at 4096 Hz and read at 1024 Hz."""
    command = noise_of_band(np.random.default_rng(1), 120 * 4096, 4096.0, 0.1, 22.0)
    return command[::4].copy(), BenchmarkPlant().respond(command, 1.0 / 4096.0)[::4].copy()


@pytest.mark.slow
def test_the_benchmark_plant_is_recovered(plant_record):
    transfer = TransferFunction(RATE, 4.0, memory=np.inf, band=(0.25, 20.0))
    transfer.update_block(*plant_record)
    found = transfer.estimate
    plant = BenchmarkPlant()
    exact = np.array([plant.response(f, 1.0 / 4096.0).item() for f in found.frequency])
    np.testing.assert_allclose(1.0 / found.ratio, np.abs(exact), rtol=5e-3)
    np.testing.assert_allclose(np.exp(1j * (found.phase - np.angle(exact))).imag, 0.0, atol=5e-3)
    np.testing.assert_allclose(found.coherence, 1.0, atol=1e-3)
    # the published figures, half a step of 4096 Hz later
    at = [int(np.argmin(np.abs(found.frequency - f))) for f in (1.0, 5.0)]
    np.testing.assert_allclose(1.0 / found.ratio[at], [0.9994, 0.8509], rtol=5e-3)
    half_step = np.pi * found.frequency[at] / 4096.0
    np.testing.assert_allclose(found.phase[at], [-0.1568, -0.7144] - half_step, atol=5e-3)
    np.testing.assert_allclose(found.delay[at], np.array([0.02496, 0.02274]) + 0.5 / 4096.0, atol=5e-4)


def test_without_a_delay_it_is_welch():
    rng = np.random.default_rng(0)
    n = 256
    x_c = rng.normal(size=2049)
    x_m = 0.8 * x_c + 0.5 * rng.normal(size=2049)
    transfer = TransferFunction(RATE, n / RATE, memory=np.inf, band=(4.0, 400.0), max_delay=0.002)
    transfer.update_block(x_c, x_m)
    found = transfer.estimate
    # the middle of the windows that end at every 128th sample
    margin, count = (transfer.n_window - n) // 2, int(transfer.n_averaged[0])
    last = 2048 // transfer.hop * transfer.hop + 1 - margin
    first = last - n - (count - 1) * transfer.hop
    frequency, response, coherence = reference.transfer_function(x_c[first:last], x_m[first:last], RATE, n)
    np.testing.assert_array_equal(found.frequency, frequency[1:101])
    np.testing.assert_allclose(found.ratio, 1.0 / np.abs(response[1:101]), rtol=1e-9)
    np.testing.assert_allclose(found.phase, np.angle(response[1:101]), atol=1e-9)
    np.testing.assert_allclose(found.coherence, coherence[1:101], rtol=1e-9)


@pytest.mark.parametrize("delay", [0.05, 0.0, -0.03])
def test_a_delay_is_unwrapped_beyond_half_a_cycle(delay):
    x_c = noise_of_band(np.random.default_rng(2), 64 * 1024, RATE, 0.4, 40.0)
    transfer = TransferFunction(RATE, 2.0, band=(0.5, 35.0))
    transfer.update_block(x_c, later(x_c, RATE, delay))
    found = transfer.estimate
    assert np.abs(found.phase).max() <= np.pi
    np.testing.assert_allclose(found.delay[found.frequency > 3.0], delay, atol=1e-4)
    np.testing.assert_allclose(found.ratio, 1.0, rtol=5e-3)


def test_tones_far_apart_are_unwrapped_too():
    t = np.arange(60 * 1024) / RATE
    x_c, x_m = (sum(np.sin(2.0 * np.pi * f * s) for f in (0.7, 6.2, 23.4)) for s in (t, t - 0.05))
    transfer = TransferFunction(RATE, 4.0, band=(0.0, 30.0))
    transfer.update_block(x_c, x_m)
    found = transfer.estimate
    for f in (0.75, 6.25, 23.5):
        at = int(np.argmin(np.abs(found.frequency - f)))
        np.testing.assert_allclose(found.delay[at], 0.05, atol=5e-4)
    # nothing is said of where there is no command
    assert np.isnan(found.ratio[np.abs(found.frequency - 14.0) < 4.0]).all()


@pytest.mark.parametrize("noise", [0.3, 1.0])
def test_the_standard_deviations_are_those_of_the_errors(noise):
    rng = np.random.default_rng(7)
    errors = []
    for _ in range(12):
        x_c = noise_of_band(rng, 40 * 256, 256.0, 0.0, 128.0)
        x_m = 0.8 * later(x_c, 256.0, 0.02) + noise * rng.normal(size=len(x_c))
        transfer = TransferFunction(256.0, 1.0, memory=np.inf, band=(1.0, 90.0))
        transfer.update_block(x_c, x_m)
        found = transfer.estimate
        phase = -2.0 * np.pi * 0.02 * found.frequency
        errors.append(
            [
                (found.ratio - 1.25) / found.ratio_sd,
                np.angle(np.exp(1j * (found.phase - phase))) / found.phase_sd,
                (found.delay - 0.02) / found.delay_sd,
            ]
        )
    spread = np.sqrt(np.mean(np.square(errors), axis=(0, 2)))
    assert ((spread > 0.85) & (spread < 1.15)).all(), spread


def test_the_memory_forgets():
    x_c = noise_of_band(np.random.default_rng(3), 60 * 256, 256.0, 0.5, 25.0)
    x_m = np.where(np.arange(len(x_c)) < 30 * 256, 1.0, 0.5) * x_c
    for memory, ratio in ((2.0, 2.0), (np.inf, 1.0 / 0.75)):
        transfer = TransferFunction(256.0, 2.0, memory=memory, band=(1.0, 20.0))
        transfer.update_block(x_c, x_m)
        np.testing.assert_allclose(np.mean(transfer.estimate.ratio), ratio, rtol=0.03)
        # 1 / (1 - decay) segments, squared, over 1 / (1 - decay^2)
        decay = np.exp(-1.0 / memory)
        number = (1.0 + decay) / (1.0 - decay) if memory < np.inf else int(transfer.n_averaged[0])
        assert 0.75 * number < transfer.estimate.segments < number


def test_fewer_than_two_segments_mean_nothing():
    x_c = noise_of_band(np.random.default_rng(4), 8 * 256, 256.0, 0.5, 25.0)
    transfer = TransferFunction(256.0, 1.0)
    assert np.isnan(transfer.estimate.coherence).all()
    while int(transfer.n_averaged[0]) < 5:
        x = x_c[:128]
        x_c = x_c[128:]
        transfer.update_block(x, 0.9 * x)
        assert np.isfinite(transfer.estimate.coherence).any() == (transfer.estimate.segments >= 2.0)
    assert transfer.estimate.segments >= 2.0


def test_a_segment_with_a_bad_sample_is_left_out():
    x_c = noise_of_band(np.random.default_rng(5), 20 * 256, 256.0, 0.5, 25.0)
    x_m = 0.7 * later(x_c, 256.0, 0.01)
    clean, spoiled = TransferFunction(256.0, 1.0), TransferFunction(256.0, 1.0)
    clean.update_block(x_c, x_m)
    x_m[[2000, 3000]] = np.inf, 1e60
    spoiled.update_block(x_c, x_m)
    assert 0 < clean.n_averaged[0] - spoiled.n_averaged[0] <= 6
    np.testing.assert_allclose(spoiled.estimate.ratio, clean.estimate.ratio, rtol=0.01)
    np.testing.assert_allclose(spoiled.estimate.ratio[1:20], 1.0 / 0.7, rtol=0.01)


@pytest.mark.parametrize("dead", ["command", "measured"])
def test_a_dead_channel_means_nothing(dead):
    rng = np.random.default_rng(6)
    x_c, x_m = rng.normal(size=2560), np.full(2560, 0.3)
    transfer = TransferFunction(256.0, 1.0)
    transfer.update_block(*((x_m, x_c) if dead == "command" else (x_c, x_m)))
    found = transfer.estimate
    for name in ("ratio", "phase", "delay", "coherence", "ratio_sd", "phase_sd", "delay_sd"):
        assert np.isnan(getattr(found, name)).all()


def test_two_signals_without_a_common_motion_have_a_coherence_and_nothing_else():
    rng = np.random.default_rng(9)
    told = []
    for _ in range(40):
        transfer = TransferFunction(100.0, 1.0, memory=1e9)
        transfer.update_block(rng.normal(size=2000), rng.normal(size=2000))
        found = transfer.estimate
        assert np.isfinite(found.coherence).all()
        assert (np.isfinite(found.phase) == np.isfinite(found.ratio_sd)).all()
        told.append(np.isfinite(found.phase).mean())
    # one in twenty is told by chance
    assert 0.02 < np.mean(told) < 0.08


@pytest.mark.parametrize("channel", ["command", "measured"])
def test_a_spike_does_not_outweigh_the_motion(channel):
    rng = np.random.default_rng(10)
    command = rng.normal(size=40_000)
    signals = {"command": command, "measured": 0.8 * command}
    signals[channel] = signals[channel].copy()
    signals[channel][20_000] = 1e6
    transfer = TransferFunction(100.0, 1.0)
    transfer.update_block(signals["command"], signals["measured"])
    np.testing.assert_allclose(transfer.estimate.ratio, 1.25, rtol=1e-9)


@given(cuts=st.lists(st.integers(0, 1500), max_size=8), at=st.integers(0, 1500))
def test_any_chopping_and_any_restart_give_the_same_bits(cuts, at):
    rng = np.random.default_rng(8)
    x_c = rng.normal(size=(1500, 3))
    x_m = x_c + rng.normal(size=(1500, 3))
    x_m[700, 1] = np.nan
    whole = TransferFunction(100.0, 1.0, n_pairs=3)
    whole.update_block(x_c, x_m)
    pieces = TransferFunction(100.0, 1.0, n_pairs=3)
    for a, b in itertools.pairwise([0, *sorted(cuts), 1500]):
        pieces.update_block(x_c[a:b], x_m[a:b])
    first, second = TransferFunction(100.0, 1.0, n_pairs=3), TransferFunction(100.0, 1.0, n_pairs=3)
    first.update_block(x_c[:at], x_m[:at])
    second.restore(first.snapshot())
    second.update_block(x_c[at:], x_m[at:])
    for other in (pieces, second):
        for name, value in vars(whole.estimate).items():
            np.testing.assert_array_equal(getattr(other.estimate, name), value, err_msg=name)
    assert whole.estimate.ratio.shape == (10, 3)
    assert np.isfinite(whole.estimate.ratio).all()


def test_refusals():
    with pytest.raises(ValueError, match="segment"):
        TransferFunction(100.0, 0.01)
    with pytest.raises(ValueError, match="memory"):
        TransferFunction(100.0, 1.0, memory=0.0)
    with pytest.raises(ValueError, match="max_delay"):
        TransferFunction(100.0, 1.0, max_delay=np.nan)
    with pytest.raises(ValueError, match="band"):
        TransferFunction(100.0, 1.0, band=(5.0, 1.0))
    with pytest.raises(ValueError, match="settings"):
        TransferFunction(100.0, 1.0).restore(TransferFunction(100.0, 1.0, memory=30.0).snapshot())


TONE_RATE, SEGMENT = 256.0, 4.0


def hann_power(n, cycles):
    """Return the power spectrum of a unit tone under a periodic Hann taper, relative to a tone in a bin's middle."""
    i = np.arange(n)
    spectrum = np.fft.rfft((0.5 - 0.5 * np.cos(2.0 * np.pi * i / n)) * np.exp(2j * np.pi * cycles * i / n).real)
    return np.abs(spectrum / (n / 4.0)) ** 2


@pytest.mark.parametrize("between", [0.0, 0.1, 0.3, 0.5])
def test_the_bound_holds_for_a_tone_anywhere_between_bins(between):
    power = hann_power(1024, 60.0 + between)[:120]
    far = np.abs(np.arange(120) - 60.0 - between) > 2.0
    # the tone's strongest bin is weaker than the tone itself: twice the bound covers that
    bound = _leakage(power, 0)
    assert (power[far] <= 2.0 * np.maximum(bound, 1e-9)[far]).all()
    assert (bound < 0.05 * power.max()).all()


def test_a_tone_is_told_at_its_own_frequency_only():
    t = np.arange(round(40.0 * TONE_RATE)) / TONE_RATE
    c, m = np.sin(2.0 * np.pi * 2.1 * t), 0.9 * np.sin(2.0 * np.pi * 2.1 * (t - 0.02))
    function = TransferFunction(TONE_RATE, SEGMENT)
    function.update_block(c, m)
    found = function.estimate
    told = found.frequency[np.isfinite(found.delay)]
    assert len(told) and (np.abs(told - 2.1) < 0.75).all()
    np.testing.assert_allclose(found.delay[np.isfinite(found.delay)], 0.02, rtol=1e-2)


def test_a_weak_motion_beside_a_strong_one_is_told():
    t = np.arange(round(40.0 * TONE_RATE)) / TONE_RATE
    motion = lambda t: np.sin(2.0 * np.pi * 2.1 * t) + 0.02 * np.sin(2.0 * np.pi * 7.0 * t)  # noqa: E731
    function = TransferFunction(TONE_RATE, SEGMENT)
    function.update_block(motion(t), motion(t - 0.02))
    found = function.estimate
    at = np.argmin(np.abs(found.frequency - 7.0))
    np.testing.assert_allclose(found.delay[at], 0.02, rtol=1e-3)
