"""The drawn ellipse against the samples of pure tones, whose gain and delay are known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gui.panels.subspace import ToneEllipse, ellipse_of, frequency_of

RATE = 1000.0


def tone(frequency, seconds, *, amplitude=1.0, ratio=1.0, phase=0.0, offsets=(0.0, 0.0), begin=0.0):
    """Return time, command and measured of A cos(2 pi f t) and A/ratio cos(2 pi f t + phase)."""
    time = begin + np.arange(round(seconds * RATE)) / RATE
    turn = 2.0 * np.pi * frequency * time
    return time, offsets[0] + amplitude * np.cos(turn), offsets[1] + amplitude / ratio * np.cos(turn + phase)


def distance(x, y, line_x, line_y):
    """Return how far each point is from a polyline."""
    begin = np.stack([line_x, line_y], axis=1)[:-1]
    along = np.diff(np.stack([line_x, line_y], axis=1), axis=0)
    points = np.stack([x, y], axis=1)[:, None, :]
    part = np.sum((points - begin) * along, axis=2) / np.maximum(np.sum(along**2, axis=1), 1e-300)
    foot = begin + np.clip(part, 0.0, 1.0)[..., None] * along
    return np.sqrt(np.sum((points - foot) ** 2, axis=2)).min(axis=1)


@given(
    frequency=st.floats(0.6, 20.0),
    ratio=st.floats(0.5, 2.0),
    phase=st.floats(-1.5, 1.5),
    amplitude=st.floats(1e-4, 1e3),
    offset=st.floats(-50.0, 50.0),
    cycles=st.floats(1.0, 4.0),
    begin=st.floats(0.0, 1e4),
)
def test_every_sample_of_a_tone_lies_on_its_ellipse(frequency, ratio, phase, amplitude, offset, cycles, begin):
    offsets = offset * amplitude, -3.0 * offset * amplitude
    time, command, measured = tone(
        frequency, cycles / frequency, amplitude=amplitude, ratio=ratio, phase=phase, offsets=offsets, begin=begin
    )
    ellipse = ellipse_of(time, command, measured, frequency, ratio, phase)
    assert ellipse is not None
    assert distance(command, measured, *ellipse.points()).max() < 1e-3 * amplitude
    assert ellipse.amplitude == pytest.approx(amplitude, rel=1e-6)


def test_samples_that_are_none_are_left_out():
    time, command, measured = tone(2.0, 1.3, amplitude=3.0, ratio=0.8, phase=-0.4, offsets=(1.0, 2.0))
    command[100:140], measured[700] = np.nan, np.nan
    ellipse = ellipse_of(time, command, measured, 2.0, 0.8, -0.4)
    assert ellipse is not None
    assert (ellipse.command_centre, ellipse.measured_centre, ellipse.amplitude) == pytest.approx((1.0, 2.0, 3.0))


def test_noise_widens_no_ellipse():
    """Of noise as large as a tenth, half the range would be a quarter too much."""
    time, command, measured = tone(1.5, 2.0, ratio=1.1, phase=-0.2)
    noise = np.random.default_rng(7).normal(0.0, 0.1, (2, len(time)))
    ellipse = ellipse_of(time, command + noise[0], measured + noise[1], 1.5, 1.1, -0.2)
    assert ellipse is not None
    # five times the standard deviation of the amplitude of a sine in white noise, s sqrt(2 / n)
    assert ellipse.amplitude == pytest.approx(1.0, abs=5.0 * 0.1 * math.sqrt(2.0 / len(time)))


@pytest.mark.parametrize(
    ("frequency", "ratio", "phase"),
    [(math.nan, 1.0, 0.0), (0.0, 1.0, 0.0), (2.0, math.nan, 0.1), (2.0, 1.0, math.nan), (math.inf, 1.0, 0.0)],
)
def test_what_means_nothing_has_no_ellipse(frequency, ratio, phase):
    assert ellipse_of(*tone(2.0, 1.0), frequency, ratio, phase) is None


def test_nor_have_too_few_samples():
    time, command, measured = tone(2.0, 1.0)
    assert ellipse_of(time[:5], command[:5], measured[:5], 2.0, 1.0, 0.1) is None
    assert ellipse_of(time, np.full_like(command, np.nan), measured, 2.0, 1.0, 0.1) is None


@pytest.mark.parametrize(("phase", "way"), [(-0.3, 1.0), (0.3, -1.0)])
def test_a_lag_goes_round_counter_clockwise(phase, way):
    x, y = ToneEllipse(0.0, 0.0, 2.0, 0.5, phase).points()
    area = 0.5 * np.sum(x[:-1] * np.diff(y) - y[:-1] * np.diff(x))
    # the area of the ellipse, pi A (A / ratio) |sin(phase)|, positive counter-clockwise
    assert area == pytest.approx(way * np.pi * 2.0 * 4.0 * math.sin(0.3), rel=1e-3)


def test_the_frequency_is_what_makes_a_phase_of_a_delay():
    assert frequency_of(-2.0 * math.pi * 3.0 * 0.01, 0.01) == pytest.approx(3.0)
    assert frequency_of(0.0, 0.0, 2.5) == 2.5
    assert math.isnan(frequency_of(math.nan, math.nan))
