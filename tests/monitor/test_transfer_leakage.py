"""A tone is one frequency: what the taper leaks of it into others is not told as theirs."""

from __future__ import annotations

import numpy as np
import pytest

from monitor.indicators.transfer_function import TransferFunction, _leakage

pytestmark = pytest.mark.usefixtures("warm_kernels")
RATE, SEGMENT = 256.0, 4.0


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
    t = np.arange(round(40.0 * RATE)) / RATE
    c, m = np.sin(2.0 * np.pi * 2.1 * t), 0.9 * np.sin(2.0 * np.pi * 2.1 * (t - 0.02))
    function = TransferFunction(RATE, SEGMENT)
    function.update_block(c, m)
    found = function.estimate
    told = found.frequency[np.isfinite(found.delay)]
    assert len(told) and (np.abs(told - 2.1) < 0.75).all()
    np.testing.assert_allclose(found.delay[np.isfinite(found.delay)], 0.02, rtol=1e-2)


def test_a_weak_motion_beside_a_strong_one_is_told():
    t = np.arange(round(40.0 * RATE)) / RATE
    motion = lambda t: np.sin(2.0 * np.pi * 2.1 * t) + 0.02 * np.sin(2.0 * np.pi * 7.0 * t)  # noqa: E731
    function = TransferFunction(RATE, SEGMENT)
    function.update_block(motion(t), motion(t - 0.02))
    found = function.estimate
    at = np.argmin(np.abs(found.frequency - 7.0))
    np.testing.assert_allclose(found.delay[at], 0.02, rtol=1e-3)
