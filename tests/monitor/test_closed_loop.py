"""The lag at which the loop closes: exact for any motion, and where numpy finds the swept area nil."""

from __future__ import annotations

import numpy as np
import pytest

from monitor.indicators.parts.loop_lag import N_WORK_ROWS, find_loop_lag
from tests.oracles import delayed_motion as oracle

RATE, N = 512.0, 1024
T = np.arange(N) / RATE
# none turns further than the fastest of the motions, 12 Hz, by half a cycle
CHORDS = (4, 8, 11)
every_chord = pytest.mark.parametrize("k", CHORDS)


def closed(c, m, k, near):
    return find_loop_lag(c, m, 0, k, near, np.nan, np.empty((N_WORK_ROWS, len(c))))


@every_chord
@pytest.mark.parametrize("name", oracle.MOTIONS)
@pytest.mark.parametrize("delay", [-0.004, 0.0, 0.0071, 0.021, 0.035])
def test_a_delay_is_exact(k, name, delay):
    motion, gain = oracle.MOTIONS[name](np.random.default_rng([3, len(name)])), 0.85
    # from a lag a few samples beside it, and on another offset
    loop = closed(motion(T) + 5.0, gain * motion(T - delay) - 2.0, k, delay * RATE + 2.4)
    assert loop.found
    assert abs(loop.shift - delay * RATE) < 0.51
    # between two samples the phase of many frequencies is no straight line
    np.testing.assert_allclose(loop.lag / RATE, delay, atol=1e-5)
    np.testing.assert_allclose(loop.gain, gain, rtol=1e-4)
    # the residual of a clean pair is what the polynomial between samples leaves
    assert loop.lag_sd / RATE < 1e-6


@pytest.mark.parametrize("scale", [1e-6, 1e5])
def test_the_unit_of_the_signals_does_not_matter(scale):
    rng = np.random.default_rng(7)
    motion, noise = oracle.MOTIONS["earthquake"](rng), rng.normal(size=(2, N))
    c, m = motion(T), 0.8 * motion(T - 0.0123) + 0.02 * np.std(motion(T)) * noise[0]
    one, other = closed(c, m, 8, 0.0123 * RATE), closed(scale * c, scale * m, 8, 0.0123 * RATE)
    assert one.found and one.shift == other.shift
    np.testing.assert_allclose(other[1:-3], one[1:-3], rtol=1e-6, atol=1e-9)
    # the drift has the unit of measured
    np.testing.assert_allclose(other.drift * other.by_drift, one.drift * one.by_drift, rtol=1e-6)


def swept(motion, m, k, delay):
    """Return the area that measured sweeps against the command delayed by so much, over the middle of the window."""
    return oracle.chord_sums(motion(T - delay), m, k)[0]


@every_chord
@pytest.mark.parametrize("name", ["two tones", "band noise"])
@pytest.mark.parametrize("time_constant", [0.003, 0.012])
def test_a_first_order_lag_is_read_where_the_area_is_nil(k, name, time_constant):
    for seed in range(4):
        motion = oracle.MOTIONS[name](np.random.default_rng([seed, len(name)]))
        m = motion.lagged(T, time_constant)
        expected = oracle.root(lambda d, motion=motion, m=m: swept(motion, m, k, d), -0.01, 0.03)
        loop = closed(motion(T), m, k, 1.0)
        assert loop.found
        # the groups of points that a shift leaves out lie at the window's ends
        np.testing.assert_allclose(loop.lag / RATE, expected, rtol=0.02, atol=5e-5)


@every_chord
def test_drifts_of_both_signals_are_taken_out(k):
    """A drift of the command that measured does not follow is one of measured, the other way."""
    motion, delay, gain = oracle.two_tones(np.random.default_rng(8)), 0.0123, 0.85
    c, m = motion(T) + 0.4 * T, gain * motion(T - delay) - 0.3 * T
    loop = closed(c, m, k, delay * RATE)
    np.testing.assert_allclose(loop.lag / RATE, delay, atol=2e-5)
    np.testing.assert_allclose(loop.gain, gain, rtol=1e-3)
    np.testing.assert_allclose(loop.drift * RATE, -0.3 - gain * 0.4, rtol=1e-2)


def test_one_turn_knows_from_those_before_it_how_far_it_is_off():
    """Noise that remembers longer than the turn lasts is nearly fitted by it, and not by three turns."""
    turn, memory, of_lag, of_gain = 128, 0.98, [], []
    angle, rng = 2.0 * np.pi * np.arange(3 * turn) / turn, np.random.default_rng(9)
    for _ in range(300):
        noise = [rng.normal()]
        for shock in np.sqrt(1.0 - memory**2) * rng.normal(size=3 * turn - 1):
            noise.append(memory * noise[-1] + shock)
        start = rng.uniform(0.0, 2.0 * np.pi)
        c, m = np.cos(angle + start), 0.9 * np.cos(angle + start - 0.2) + 0.01 * np.array(noise)
        loop = find_loop_lag(c, m, 2 * turn, 6, 4.0, 2.0 * np.pi / turn, np.empty((N_WORK_ROWS, len(c))))
        of_lag.append((loop.lag - 0.2 * turn / (2.0 * np.pi)) / loop.lag_sd)
        of_gain.append(np.log(loop.gain / 0.9) / loop.gain_sd)
    for scaled in (of_lag, of_gain):
        assert 0.55 < np.mean(np.abs(scaled) < 1.0) < 0.85
        assert np.mean(np.abs(scaled) < 2.0) > 0.88


@every_chord
def test_the_deviation_of_the_lag_is_its_error(k):
    rng = np.random.default_rng(5)
    # halfway between two samples, where either shift may seem to be the farther one
    delay, of_lag, of_gain = 6.5 / RATE, [], []
    for _ in range(300):
        motion = oracle.two_tones(rng, ratio=(1.6, 2.2))
        m = motion(T - delay) + 0.03 * rng.normal(size=N)
        loop = closed(motion(T), m, k, delay * RATE)
        assert loop.found
        of_lag.append((loop.lag - delay * RATE) / loop.lag_sd)
        of_gain.append(np.log(loop.gain) / loop.gain_sd)
    # nobody chose this lag for its sharpness: the deviations are larger by the factor for that, 1.17
    for scaled in (of_lag, of_gain):
        assert 0.6 < np.sqrt(np.mean(np.square(scaled))) < 1.1


@pytest.mark.parametrize("case", ["dead command", "dead measured", "unrelated", "no lag", "far"])
def test_where_no_loop_closes(case):
    rng = np.random.default_rng(6)
    motion, other = oracle.band_noise(rng), oracle.band_noise(rng)
    c, m, near = motion(T), motion(T - 0.01), 5.0
    if case == "dead command":
        c = np.full(N, 2.0)
    elif case == "dead measured":
        m = np.full(N, 2.0)
    elif case == "unrelated":
        m = other(T)
    elif case == "no lag":
        near = np.nan
    else:
        near = 0.4 * N
    loop = closed(c, m, 11, near)
    assert not loop.found
    assert np.isnan([loop.lag, loop.gain, loop.lag_sd, loop.gain_sd]).all()
