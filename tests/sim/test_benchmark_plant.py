"""The benchmark plant against the published block diagram, written out here."""

import numpy as np
import pytest
import scipy.signal

from sim.laboratory.actuator import amplitude_ratio, equivalent_delay, phase_error
from sim.laboratory.plants import BenchmarkPlant, drawn_plants

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
    stepped = complex(BenchmarkPlant().response(frequency, DT))
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
    running = plant.begin(DT, (1,), np.random.default_rng(0))
    stepped = np.array([running.step(np.array([value]), np.zeros(1))[0] for value in command])
    np.testing.assert_allclose(stepped, plant.respond(command, DT), atol=1e-13)


def test_every_draw_is_the_plant_of_its_own_parameters():
    plants, commands = drawn_plants(5, seed=3), np.random.default_rng(2).standard_normal((400, 5, 2))
    running = plants.begin(DT, (5, 2), np.random.default_rng(0))
    stepped = np.array([running.step(command, command) for command in commands])
    for draw in range(5):
        own = {name: float(getattr(plants, name)[draw, 0]) for name in ("stiffness", "a3", "b1", "b2")}
        plant = BenchmarkPlant(**own)
        for actuator in range(2):
            expected = plant.respond(commands[:, draw, actuator], DT)
            np.testing.assert_allclose(stepped[:, draw, actuator], expected, atol=1e-12)
        for frequency in (1.0, 5.0):
            found = plants.response(frequency, DT)[draw, 0]
            assert found == pytest.approx(complex(plant.response(frequency, DT)), rel=1e-12)


def test_draws_scatter_as_the_problem_says():
    plants, many = BenchmarkPlant(), drawn_plants(4000, seed=1)
    for name, scatter in (("stiffness", 50e3), ("a3", 1.3), ("b1", 3.3), ("b2", 3.3e3)):
        values = getattr(many, name)
        assert values.shape == (4000, 1)
        assert np.mean(values) == pytest.approx(getattr(plants, name), abs=4.0 * scatter / np.sqrt(4000.0))
        assert np.std(values) == pytest.approx(scatter, rel=0.05)
    assert many.mass == plants.mass
    np.testing.assert_allclose(many.damping, 2.0 * 0.0097 * np.sqrt(29.13 * many.stiffness))
    np.testing.assert_array_equal(drawn_plants(5, seed=1).b2, many.b2[:5])
    assert not set(drawn_plants(5, seed=2).b2.flat) & set(many.b2.flat)
    poles = [np.max(np.roots(denominator).real) for denominator in many.denominator[:300, 0]]
    assert max(poles) < 0.0


def test_draws_that_do_not_fit_the_loop_are_refused_in_one_line():
    with pytest.raises(ValueError, match=r"^plant of shape \(5, 1\) for arrays [^\n]*must broadcast$"):
        drawn_plants(5, seed=3).begin(DT, (1,), np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"^benchmark plant stiffness -1.0: must be a positive number$"):
        BenchmarkPlant(stiffness=np.array([1.0, -1.0]))
