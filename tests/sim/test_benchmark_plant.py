"""The benchmark plant against the published block diagram, written out here."""

import numpy as np
import pytest
import scipy.signal

from sim.actuator import amplitude_ratio, equivalent_delay, phase_error
from sim.benchmark_plant import BenchmarkPlant, PlantActuator

RATE = 4096.0
DT = 1.0 / RATE


def block_diagram(frequency):
    def closed(forward, back):
        return forward / (1.0 + forward * back)

    s = 2j * np.pi * frequency
    specimen = 1.0 / (29.13 * s**2 + 2.0 * 0.0097 * np.sqrt(1.190e6 * 29.13) * s + 1.190e6)
    valve = 2.1283e13 / (s**2 + 425.0 * s + 9.9976e4)
    return 1.0261 * closed(valve * closed(specimen / (s + 3.3), 4.2297e6 * s), 1.0)


@pytest.mark.parametrize(("frequency", "gain", "phase", "delay"), [
    (1.0, 0.9994, -0.1568, 0.02496),
    (5.0, 0.8509, -0.7144, 0.02274),
])  # fmt: skip
def test_known_answers(frequency, gain, phase, delay):
    response = BenchmarkPlant().frequency_response(frequency)
    assert abs(response) == pytest.approx(gain, abs=5e-5)
    assert 1.0 / amplitude_ratio(response) == pytest.approx(gain, abs=5e-5)
    assert phase_error(response) == pytest.approx(phase, abs=5e-5)
    assert equivalent_delay(response, frequency) == pytest.approx(delay, abs=5e-6)


@pytest.mark.parametrize("frequency", [0.01, 0.3, 1.0, 5.0, 20.0, 60.0])
def test_polynomials_are_the_block_diagram(frequency):
    assert BenchmarkPlant().frequency_response(frequency) == pytest.approx(block_diagram(frequency), rel=1e-10)


@pytest.mark.parametrize("frequency", [0.5, 1.0, 5.0, 20.0])
def test_steps_are_the_plant_behind_a_hold(frequency):
    hold = np.sinc(frequency * DT) * np.exp(-1j * np.pi * frequency * DT)
    stepped = complex(BenchmarkPlant().response(0.0, frequency, DT))
    # the hold's images, shifted by the sample rate, fall with the fifth power
    assert stepped == pytest.approx(block_diagram(frequency) * hold, rel=1e-9)


def test_step_response_is_the_continuous_one():
    plant = BenchmarkPlant()
    time = np.arange(8192) * DT
    _, expected = scipy.signal.step(([plant.gain * plant.a1b0], plant.denominator), T=time)
    measured = plant.respond(np.ones(8192), DT)
    np.testing.assert_allclose(measured, expected, atol=1e-7)
    assert measured[-1] == pytest.approx(1.0261 * 2.1283e13 / (9.9976e4 * 3.3 * 1.190e6 + 2.1283e13), rel=1e-3)


def test_sample_by_sample_is_the_whole_record():
    command = np.random.default_rng(2).standard_normal(3000)
    plant = BenchmarkPlant()
    actuator = PlantActuator(plant, DT)
    stepped = np.array([actuator.step(value) for value in command.tolist()])
    np.testing.assert_allclose(stepped, plant.respond(command, DT), atol=1e-13)
    assert actuator.position == stepped[-1]
