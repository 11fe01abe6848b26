"""The demonstration: three stable actuators whose faults can be found in their signals."""

import math

import numpy as np
import pytest

from sim.cases.hybrid import Demonstration

NAMES = ["north", "south", "roof"]


@pytest.fixture(scope="module")
def whole():
    return Demonstration(60.0).records()


def compared(record, start, stop):
    """Measured over command at the driving frequency, over whole cycles of the part."""
    inside = np.flatnonzero((record.time >= start) & (record.time < stop))
    cycles = math.floor((stop - start) * record.frequency)
    inside = inside[: round(cycles / record.frequency / record.time[1])]
    wave = np.hanning(len(inside)) * np.exp(-2j * np.pi * record.frequency * record.time[inside])
    return np.sum(wave * record.measured[inside]) / np.sum(wave * record.command[inside])


@pytest.mark.parametrize("duration", [3.0, 12.0, 60.0, 200.0])
def test_all_are_stable_at_some_millimetres(duration):
    records = Demonstration(duration, 512.0).records()
    assert list(records) == NAMES
    for record in records.values():
        assert len(record.time) == duration * 512
        assert np.max(np.abs(record.command)) < 0.008
        assert 1.3 <= record.frequency <= 2.5
        if duration >= 12.0:
            assert 0.0015 < np.max(np.abs(record.command[-512 * 3 :])) < 0.006


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("north", [(6, 20, 1.0, 0.012), (24, 40, 1.0, 0.025), (44, 60, 1.0, -0.002)]),
        ("south", [(6, 30, 1 / 0.9, 0.0), (33, 60, 1 / 1.05, 0.008)]),
        ("roof", [(6, 20, 1.0, 0.005), (42, 60, 1.0, 0.030)]),
    ],
)
def test_faults_show_in_the_signals_as_said(whole, name, parts):
    record = whole[name]
    for start, stop, ratio, delay in parts:
        found = compared(record, start, stop)
        n = round(0.5 * (start + stop) * 1024)
        # the lag of 8 ms is 7.98 ms of delay and 0.4 % of amplitude at its frequency
        assert 1.0 / abs(found) == pytest.approx(ratio, rel=6e-3)
        assert -np.angle(found) / (2.0 * np.pi * record.frequency) == pytest.approx(delay, abs=1e-4)
        assert record.true_ratio[n] == pytest.approx(1.0 / abs(found), rel=2e-3)
        assert record.true_delay[n] == pytest.approx(-np.angle(found) / (2.0 * np.pi * record.frequency), abs=5e-5)


def test_roof_slips_slowly_and_is_noisy(whole):
    record = whole["roof"]
    middle = (record.time >= 20.0) & (record.time <= 40.0)
    expected = 0.005 + 0.025 * (record.time[middle] - 20.0) / 20.0
    np.testing.assert_allclose(record.true_delay[middle], expected, atol=1e-8)
    rough = np.diff(record.measured, 4)
    amplitude = np.max(np.abs(record.command[-4096:]))
    assert np.std(rough) / math.sqrt(70.0) == pytest.approx(0.01 * amplitude, rel=0.1)


def test_seed_decides_the_noise_only():
    first, again, other = (Demonstration(4.0, seed=seed).records()["roof"] for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.measured, again.measured)
    np.testing.assert_array_equal(first.command, other.command)
    assert np.any(first.measured != other.measured)


@pytest.mark.parametrize("duration", [0.0, -3.0, math.nan, math.inf])
def test_a_duration_must_be_a_time(duration):
    with pytest.raises(ValueError, match=r"^demonstration duration [^\n]*$"):
        Demonstration(duration)
