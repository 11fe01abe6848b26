"""Plants of scipy.signal as parts of a transfer system, against scipy's own simulation and closed forms."""

import numpy as np
import pytest
import scipy.signal
from scipy.signal import StateSpace, TransferFunction, ZerosPolesGain

from sim.laboratory.plants import LinearPlant
from sim.laboratory.transfer import Delay, Gain, TransferChain

DT = 1.0 / 1024.0
TURN = 2.0 * np.pi * 10.0
SECOND_ORDER = TransferFunction([TURN**2], [1.0, 1.2 * TURN, TURN**2])


def run(system, commands, dt=DT):
    running = system.begin(dt, commands.shape[1:], np.random.default_rng(0))
    return np.array([running.step(command, command) for command in commands])


SYSTEMS = {
    "second order": SECOND_ORDER,
    "zeros": TransferFunction([0.3, 50.0, 4000.0], [1.0, 60.0, 5000.0, 90000.0]),
    "feed-through": TransferFunction([2.0, 1.0, 30.0], [1.0, 8.0, 40.0]),
    "integrator": TransferFunction([5.0], [1.0, 20.0, 0.0]),
    "static": TransferFunction([3.0], [2.0]),
    "state space": SECOND_ORDER.to_ss(),
    "poles": ZerosPolesGain([-30.0], [-5.0 + 40.0j, -5.0 - 40.0j, -200.0], 9000.0),
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_steps_are_those_of_scipy_behind_a_hold(name):
    system, commands = SYSTEMS[name], np.random.default_rng(1).standard_normal((600, 3))
    found = run(LinearPlant(system), commands)
    for test in range(3):
        if name == "static":
            expected = 1.5 * commands[:, test]
        else:
            stepped = system.to_ss().to_discrete(DT, method="zoh")
            _, output, _ = scipy.signal.dlsim(stepped, commands[:, test])
            expected = output[:, 0]
        np.testing.assert_allclose(found[:, test], expected, atol=1e-10 * np.max(np.abs(expected)))


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("frequency", [0.5, 8.0, 60.0])
def test_a_response_is_that_of_the_discrete_system(name, frequency):
    if name == "static":
        expected = 1.5
    else:
        stepped, z = SYSTEMS[name].to_ss().to_discrete(DT, method="zoh"), np.exp(2j * np.pi * frequency * DT)
        turned = np.linalg.inv(z * np.eye(len(stepped.A)) - stepped.A)
        expected = complex((stepped.C @ turned @ stepped.B + stepped.D)[0, 0])
    found = LinearPlant(SYSTEMS[name]).response(frequency, DT)
    np.testing.assert_allclose(found, expected, rtol=1e-8)
    frequencies = np.array([frequency, 2.0 * frequency])
    assert LinearPlant(SYSTEMS[name]).response(frequencies, DT)[0] == pytest.approx(complex(found), rel=1e-12)


def test_a_first_order_plant_steps_as_its_exponential():
    found = run(LinearPlant(TransferFunction([2.0], [0.05, 1.0])), np.ones((500, 1)))[:, 0]
    np.testing.assert_allclose(found, 2.0 * (1.0 - np.exp(-np.arange(500) * DT / 0.05)), atol=1e-13)


def test_coefficients_of_large_powers_stay_exact():
    # five poles at 2000 rad/s: coefficients up to 3e16
    denominator = np.poly(np.full(5, -2000.0))
    found = run(LinearPlant(TransferFunction([denominator[-1]], denominator)), np.ones((100, 1)), dt=1e-4)[:, 0]
    x = 2000.0 * 1e-4 * np.arange(100)
    expected = 1.0 - np.exp(-x) * sum(x**k / factorial for k, factorial in enumerate((1, 1, 2, 6, 24)))
    np.testing.assert_allclose(found, expected, atol=1e-12)
    companion = TransferFunction([denominator[-1]], denominator).to_ss()
    np.testing.assert_allclose(run(LinearPlant(companion), np.ones((100, 1)), dt=1e-4)[:, 0], expected, atol=1e-9)


def test_discrete_plants_run_as_they_are():
    numerator, denominator = [0.2, 0.1], [1.0, -1.2, 0.5]
    commands = np.random.default_rng(2).standard_normal((300, 2))
    found = run(LinearPlant(TransferFunction(numerator, denominator, dt=DT)), commands)
    expected = scipy.signal.lfilter([0.0, *numerator], denominator, commands, axis=0)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    same = run(LinearPlant(TransferFunction(numerator, denominator, dt=DT).to_zpk()), commands)
    np.testing.assert_allclose(same, expected, atol=1e-12)


def test_a_plant_is_a_part_of_a_chain():
    chain = TransferChain((Gain(0.9), LinearPlant(SECOND_ORDER)), (Delay(0.0033),))
    time = np.arange(4096) * DT
    running = chain.begin(DT, (1,), np.random.default_rng(0))
    measured = np.array([running.step(np.array([x]), np.zeros(1))[0] for x in np.cos(2.0 * np.pi * 4.0 * time)])
    basis = np.column_stack([np.cos(2.0 * np.pi * 4.0 * time), -np.sin(2.0 * np.pi * 4.0 * time)])[2048:]
    real, imaginary = np.linalg.lstsq(basis, measured[2048:], rcond=None)[0]
    assert real + 1j * imaginary == pytest.approx(complex(chain.response(4.0, DT)), abs=1e-9)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: LinearPlant(TransferFunction([1.0, 0.0, 0.0], [1.0, 1.0])),
            "plant is not proper, with 2 zeros and 1 poles: add poles",
        ),
        (
            lambda: LinearPlant(ZerosPolesGain([-1.0, -2.0], [-3.0], 1.0)),
            "plant is not proper, with 2 zeros and 1 poles: add poles",
        ),
        (
            lambda: LinearPlant(TransferFunction([1.0], [1.0, -3.0])),
            "plant is unstable, with a pole at 3: close its own loop first",
        ),
        (
            lambda: LinearPlant(TransferFunction([1.0], [1.0, -1.1], dt=DT)),
            "plant is unstable, with a pole at 1.1: close its own loop first",
        ),
        (
            lambda: LinearPlant(StateSpace(-np.eye(2), np.eye(2), np.ones((1, 2)), np.zeros((1, 2)))),
            "plant has 2 inputs and 1 outputs: give one of each per actuator",
        ),
        (lambda: LinearPlant(([1.0], [1.0, 2.0])), "plant is a tuple: give a system of scipy.signal"),
        (
            lambda: LinearPlant(TransferFunction([1.0], [1.0, 0.5], dt=0.001)).begin(DT, (1,), None),
            "plant of time step 0.001 in a loop of 0.0009765625 s: discretise it for this step",
        ),
        (
            lambda: LinearPlant(TransferFunction([1.0], [1.0, 0.5], dt=True)).begin(DT, (1,), None),
            "plant of time step True in a loop of 0.0009765625 s: discretise it for this step",
        ),
        (
            lambda: LinearPlant(SECOND_ORDER).begin(0.0, (1,), None),
            "0.0 given as a frequency or a time step: must be a positive number",
        ),
    ],
)
def test_wrong_plants_are_refused_in_one_line(make, message):
    with pytest.raises(ValueError, match=r"^[^\n]*$") as caught:
        make()
    assert str(caught.value) == message
