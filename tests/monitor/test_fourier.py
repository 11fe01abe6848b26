"""The transform within kernels against numpy's, for every kind of length."""

from __future__ import annotations

import numpy as np
import pytest

from monitor.indicators.parts.fourier import new_transform, transform

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
