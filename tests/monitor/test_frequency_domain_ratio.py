"""FDB's ratio at one instant: in motions that grow and decay, and while the delay drifts."""

from __future__ import annotations

import numpy as np
import pytest

from monitor.indicators.frequency_domain import FrequencyDomainIndicator

pytestmark = pytest.mark.usefixtures("warm_kernels")
RATE, WINDOW, PAIRS = 512.0, 2.0, 120
INSTANTS = 3.1, 4.4, 5.95
RATIO, RATIO_SD = 0, 5
TIME = np.arange(round(3.0 * WINDOW * RATE)) / RATE
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
    rows = FrequencyDomainIndicator(RATE, WINDOW, n_pairs=PAIRS).update_block(command, measured)
    rows = rows[[round(at * RATE) for at in INSTANTS]]
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
    t = np.arange(round(10.0 * RATE)) / RATE
    angle = 2.0 * np.pi * 1.5 * t
    command, measured = t * np.sin(angle), 0.8 * t * np.sin(angle + 0.277)
    ratio = FrequencyDomainIndicator(RATE, window).update_block(command, measured)[round(window * RATE) :, RATIO]
    assert np.nanmedian(ratio) == pytest.approx(1.25, abs=5e-5)
