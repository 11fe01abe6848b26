"""The transform within kernels against numpy's, for every kind of length."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from monitor.indicators.frequency_domain import FrequencyDomainIndicator
from monitor.indicators.parts import dominant_tone
from monitor.indicators.parts.dominant_tone import C_IM, C_RE, M_IM, M_RE, N_TRACKED
from monitor.indicators.parts.fourier import new_transform, transform
from tests.oracles.tones import Tones

LENGTHS = [*range(1, 40), 100, 125, 360, 961, 1000, 1024, 2020, 2048, 2310, 37 * 41, 1009, 4096, 5003, 8192]


@pytest.mark.parametrize("n", LENGTHS)
def test_it_is_the_transform(n):
    rng = np.random.default_rng(n)
    plan = new_transform(n)
    for _ in range(2):
        x = rng.normal(size=n) + 1j * rng.normal(size=n)
        plan.buffers[0, :n], plan.buffers[1, :n] = x.real, x.imag
        transform(plan)
        found = plan.buffers[0, :n] + 1j * plan.buffers[1, :n]
        np.testing.assert_allclose(found, np.fft.fft(x), atol=2e-14 * n**0.5 * np.log2(n + 1.0))


def test_a_small_value_beside_large_ones_keeps_its_digits():
    """Rounding is a share of the whole, not of the largest value times the length."""
    n = 1000
    t = np.arange(n)
    plan = new_transform(n)
    plan.buffers[0, :n], plan.buffers[1, :n] = (
        np.cos(2.0 * np.pi * 300 * t / n),
        1e-9 * np.sin(2.0 * np.pi * 7 * t / n),
    )
    transform(plan)
    assert plan.buffers[0, 7] == pytest.approx(0.5e-9 * n, rel=1e-4)
    assert plan.buffers[0, n - 7] == pytest.approx(-0.5e-9 * n, rel=1e-4)


RATE, N = 100.0, 60


# parts of a kernel cannot be called from Python
@njit
def track(bins, first, buffers, n, size_c, size_m):
    dominant_tone.set_bins(bins, first, buffers, n, size_c, size_m)


@njit
def slide(bins, first, turns, d_c, d_m):
    dominant_tone.slide_bins(bins, first, turns, d_c, d_m)


def tracked_of(x_c, x_m, first):
    bins, plan = np.zeros((4, N_TRACKED)), new_transform(N)
    size_c, size_m, span = dominant_tone.transform_both(x_c, x_m, plan)
    assert span == pytest.approx(np.ptp(x_c) ** 2, rel=1e-9)
    track(bins, first, plan.buffers, N, size_c, size_m)
    return bins


@given(first=st.integers(-1, 20), seed=st.integers(0, 99), offset=st.sampled_from([0.0, 1e6]))
def test_they_are_those_of_the_transform_and_stay_so(first, seed, offset):
    rng = np.random.default_rng(seed)
    x_c, x_m = rng.normal(size=2 * N) + offset, 1e-6 * rng.normal(size=2 * N) - offset
    turns, bins = dominant_tone.unit_circle(N), tracked_of(x_c[:N], x_m[:N], first)
    for end in range(N, 2 * N):
        slide(bins, first, turns, x_c[end] - x_c[end - N], x_m[end] - x_m[end - N])
        for x, re, im in ((x_c, C_RE, C_IM), (x_m, M_RE, M_IM)):
            window = x[end + 1 - N : end + 1]
            expected = np.fft.fft(window - window.mean())[np.arange(first, first + N_TRACKED)]
            # the offset is no motion
            expected[np.arange(first, first + N_TRACKED) == 0] = 0.0
            scale = np.abs(window - window.mean()).max()
            np.testing.assert_allclose(bins[re] + 1j * bins[im], expected, atol=(1e-12 * scale + 2e-16 * offset) * N)


def test_a_signal_that_does_not_move_has_none_beside_one_that_does():
    moves = np.sin(0.3 * np.arange(N))
    still = np.full(N, 7.0)
    assert not tracked_of(still, moves, 3)[[C_RE, C_IM]].any()
    assert not tracked_of(moves, still, 3)[[M_RE, M_IM]].any()


@pytest.mark.parametrize("spike", [1e3, 1e9, 1e14])
@pytest.mark.usefixtures("warm_kernels")
def test_a_spike_that_has_left_makes_no_value_wrong_and_is_gone_after_the_next_look(spike):
    tones = Tones(6.3, 2.0, 0.9, -0.3, 0.4, 5.0, -2.0)
    x_c, x_m = tones.signals(400, RATE)
    x_c[100] += spike
    x_m[100] -= spike
    rows = FrequencyDomainIndicator(RATE, N / RATE).update_block(x_c, x_m)
    clean = FrequencyDomainIndicator(RATE, N / RATE).update_block(*tones.signals(400, RATE))
    left, hop = 100 + N, N // 8
    valid = ~np.isnan(rows[left:, 0])
    np.testing.assert_allclose(rows[left:][valid, 1], tones.phase, atol=1e-8)
    assert valid[hop:].all() and valid[-1]
    # whatever was once in the window: to the last bit
    np.testing.assert_array_equal(rows[left + hop :, :5], clean[left + hop :, :5])
