"""Shock response spectra against closed forms, Duhamel's integral, Smallwood's printed filter and an ODE solver."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from scipy.signal import lfilter

from sim.updating.shock_spectrum import octave_frequencies, shock_spectrum

DURATION, PEAK = 0.011, 300.0


def half_sine(rate):
    time = np.arange(round(DURATION * rate) + 1) / rate
    return PEAK * np.sin(np.pi * time / DURATION)


def undamped_half_sine(frequency):
    """Largest and least acceleration during the half-sine, and amplitude after it (Shock and Vibration Handbook)."""
    ratio = 2.0 * frequency * DURATION  # natural frequency over that of the sine
    force, natural = np.pi / DURATION, 2.0 * np.pi * frequency
    time = np.linspace(0.0, DURATION, 200_001)
    during = PEAK / (1.0 - 1.0 / ratio**2) * (np.sin(force * time) - np.sin(natural * time) / ratio)
    after = abs(2.0 * PEAK * ratio / (1.0 - ratio**2) * math.cos(0.5 * np.pi * ratio))
    return during.max(), -min(during.min(), 0.0), after


@pytest.mark.parametrize("frequency", [4.0, 20.0, 60.0, 113.0, 250.0, 700.0])
def test_the_undamped_spectrum_of_a_half_sine_is_the_closed_form(frequency):
    # a chord of the sine is 1e-7 of its peak too low
    spectrum = shock_spectrum(half_sine(1e6), 1e6, [frequency], 0.0)
    largest, least, after = undamped_half_sine(frequency)
    assert spectrum.positive("primary")[0] == pytest.approx(largest, rel=1e-6)
    assert spectrum.negative("primary")[0] == pytest.approx(least, abs=1e-5 * PEAK)
    for found in (spectrum.positive("residual"), spectrum.negative("residual")):
        assert found[0] == pytest.approx(after, rel=1e-5, abs=1e-5 * PEAK)
    assert spectrum.maximax()[0] == pytest.approx(max(largest, after), rel=1e-6)


@pytest.mark.parametrize("damping", [0.02, 0.3, 0.9])
def test_a_damped_spectrum_is_duhamels_integral(damping):
    frequency = 90.0
    omega, turn = 2.0 * np.pi * frequency, 2.0 * np.pi * frequency * math.sqrt(1.0 - damping**2)

    def impulse(t):
        decay = math.exp(-damping * omega * t)
        cosine = 2.0 * damping * omega * math.cos(turn * t)
        return decay * (cosine + omega**2 * (1.0 - 2.0 * damping**2) / turn * math.sin(turn * t))

    def response(t):
        pulse = lambda s: PEAK * math.sin(np.pi * s / DURATION) * impulse(t - s)  # noqa: E731
        return quad(pulse, 0.0, min(t, DURATION), epsabs=0.0, epsrel=1e-11, limit=200)[0]

    spectrum = shock_spectrum(half_sine(1e6), 1e6, [frequency], damping)
    for part, low, high in (("primary", 0.0, DURATION), ("residual", DURATION, DURATION + 2.0 / frequency)):
        time = np.linspace(low, high, 60)
        coarse = np.array([response(t) for t in time])
        for sign, found in ((1.0, spectrum.positive(part)[0]), (-1.0, spectrum.negative(part)[0])):
            best = int(np.argmax(sign * coarse))
            ends = time[max(best - 1, 0)], time[min(best + 1, 59)]
            refined = minimize_scalar(lambda t: -sign * response(t), bounds=ends, method="bounded")  # noqa: B023
            wanted = max(sign * coarse[best], -refined.fun, 0.0)
            assert found == pytest.approx(wanted, rel=2e-6, abs=2e-6 * np.abs(coarse).max())


@pytest.mark.parametrize("damping", [0.0, 0.05, 0.5])
def test_a_step_overshoots_as_in_every_book(damping):
    spectrum = shock_spectrum(np.ones(4000), 1000.0, [1.0, 17.0, 100.0], damping)
    root = math.sqrt(1.0 - damping**2)
    if damping == 0.0:
        wanted = 2.0
    else:
        # absolute acceleration after a step, from its own closed form on a fine grid of phase
        phase = np.linspace(0.0, 2.0 * np.pi, 2_000_001)
        wanted = np.max(
            1.0 - np.exp(-damping * phase) * (np.cos(root * phase) - damping / root * np.sin(root * phase))
        )
    np.testing.assert_allclose(spectrum.positive("primary"), wanted, rtol=1e-9)


def printed_filter(frequency, damping, rate):
    """Smallwood 1981, absolute acceleration, as he prints it."""
    omega, dt = 2.0 * np.pi * frequency, 1.0 / rate
    decay, angle = math.exp(-damping * omega * dt), omega * dt * math.sqrt(1.0 - damping**2)
    cosine, sine = decay * math.cos(angle), decay * math.sin(angle) / angle
    return [1.0 - sine, 2.0 * (sine - cosine), decay**2 - sine], [1.0, -2.0 * cosine, decay**2]


@pytest.mark.parametrize(("frequency", "damping"), [(3.0, 0.0), (30.0, 0.05), (100.0, 0.7)])
def test_the_spectrum_is_the_extremes_of_smallwoods_filter(frequency, damping):
    record = np.random.default_rng(2).standard_normal(300)
    record[0] = 0.0
    fine = np.interp(np.arange(299 * 20 + 1) / 20.0, np.arange(300), record)
    response = lfilter(*printed_filter(frequency, damping, 20_000.0), fine)
    spectrum = shock_spectrum(record, 1000.0, [frequency], damping)
    for found, wanted in ((spectrum.positive("primary"), response), (spectrum.negative("primary"), -response)):
        # between samples of the fine record little more is reached
        assert wanted.max() * (1.0 - 1e-9) <= found[0] < wanted.max() * 1.001


def test_low_frequencies_keep_their_digits():
    # far below the pulse the relative displacement is the base's own: the pulse's second integral at its end
    spectrum, omega = shock_spectrum(half_sine(1e5), 1e5, [1e-4], 0.0), 2.0 * np.pi * 1e-4
    change, moved = PEAK * 2.0 * DURATION / np.pi, PEAK * DURATION**2 / np.pi
    # without damping the acceleration is -omega^2 times the displacement
    assert spectrum.positive("primary")[0] == pytest.approx(omega**2 * moved, rel=1e-6)
    assert spectrum.maximax("residual")[0] == pytest.approx(omega * change, rel=1e-6)


def test_many_records_are_each_alone_and_octaves_are_octaves():
    np.testing.assert_allclose(octave_frequencies(10.0, 80.0, 1), [10.0, 20.0, 40.0, 80.0])
    frequencies = octave_frequencies(10.0, 81.0, 3)
    np.testing.assert_allclose(frequencies[3:] / frequencies[:-3], 2.0)
    records = np.random.default_rng(1).standard_normal((2, 3, 256))
    together = shock_spectrum(records, 1000.0, frequencies)
    assert together.maximax().shape == (2, 3, len(frequencies))
    alone = shock_spectrum(records[1, 2], 1000.0, frequencies)
    np.testing.assert_array_equal(together.extremes[1, 2], alone.extremes)
    np.testing.assert_allclose(shock_spectrum(-records, 1000.0, frequencies).positive(), together.negative())
    default = shock_spectrum(records[0, 0], 1000.0).frequencies
    assert default[0] == pytest.approx(1000.0 / 255.0) and 80.0 < default[-1] <= 100.0


@pytest.mark.parametrize(("change", "message"), [
    ({"damping": 1.0}, "damping 1: must be a ratio from 0 to less than 1"),
    ({"damping": -0.1}, "damping -0.1"),
    ({"damping": math.nan}, "damping nan"),
    ({"frequencies": [500.0]}, "at 500 Hz: 1000 Hz has 2 samples in a cycle, needs 10: end at 100 Hz"),
    ({"frequencies": [0.0, 1.0]}, "frequency 0.0: must be a positive number"),
    ({"frequencies": []}, "must be a list of one or more"),
    ({"record": [0.0, 1.0, 0.0]}, "shock spectrum of 3 samples: needs 4 or more"),
    ({"record": np.ones((50, 2))}, r"needs 4 or more; time is the last axis: transpose \(50, 2\)"),
    ({"record": 1.0}, "shock spectrum of 0 samples"),
    ({"record": [0.0, 1.0, math.nan, 0.0, 1.0]}, "sample 3 is nan: cut or bridge it first"),
    ({"record": [[0.0, 1.0, 2.0, 0.0], [0.0, math.inf, 0.0, 1.0]]}, "sample 2 of record 2 is inf"),
    ({"record": [[0.0, 1.0, 2.0, 0.0], [0.0, 1.0]]}, "records of unequal lengths"),
    ({"sample_rate": 0.0}, "sample_rate 0.0: must be a positive number"),
    ({"frequencies": None, "record": np.zeros(5)}, "give frequencies"),
])  # fmt: skip
def test_mistakes_have_one_clear_line(change, message):
    settings = {"record": np.ones(50), "sample_rate": 1000.0, "frequencies": [20.0], "damping": 0.05, **change}
    with pytest.raises(ValueError, match=message) as raised:
        shock_spectrum(**settings)
    assert "\n" not in str(raised.value)


def test_octaves_rise():
    with pytest.raises(ValueError, match="the highest is below the lowest"):
        octave_frequencies(100.0, 10.0)
