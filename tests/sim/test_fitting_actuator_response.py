"""An actuator's response: where a fit begins, its lag as the solution of an equation, and what the fit finds."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline
from scipy.signal import butter, lfilter, sosfiltfilt

from sim.fitting.actuator_response import ActuatorResponse, delay_correlation, lagged, peaks
from sim.fitting.fit import fit
from sim.fitting.least_squares import minimize
from sim.fitting.regression import PolynomialDiscrepancy
from sim.laboratory.actuator import ActuatorState, Schedule


@given(
    seed=st.integers(0, 1000),
    reach=st.integers(0, 20),
    offset=st.floats(-1e3, 1e3),
    scale=st.sampled_from([1e-12, 1.0, 1e12]),
)
def test_it_is_the_coefficient_of_what_overlaps(seed, reach, offset, scale):
    generator = np.random.default_rng(seed)
    command, measured = scale * (offset + generator.standard_normal(120)), generator.standard_normal(120)
    middle = measured[reach : 120 - reach]
    shifts = range(-reach, reach + 1)
    known = [np.corrcoef(command[reach - delay : 120 - reach - delay], middle)[0, 1] for delay in shifts]
    np.testing.assert_allclose(delay_correlation(command, measured, reach), known, atol=1e-9)


def test_a_late_copy_is_alike_at_its_delay_and_turned_the_opposite():
    signal = np.random.default_rng(1).standard_normal(500)
    found = delay_correlation(signal[20:], -signal[13:-7], 10)
    assert found[10 + 7] == pytest.approx(-1.0, abs=1e-9)
    assert peaks(np.abs(found))[0] == 10 + 7


def test_where_the_command_stands_still_nothing_is_alike():
    command = np.concatenate([np.zeros(60), np.arange(40.0)])
    found = delay_correlation(command, np.random.default_rng(1).standard_normal(100), 45)
    assert found[-1] == 0.0 and np.isfinite(found).all()
    np.testing.assert_array_equal(delay_correlation(command, np.ones(100), 5), np.zeros(11))


def test_peaks_may_stand_at_the_ends_and_the_highest_is_first():
    np.testing.assert_array_equal(peaks(np.array([3.0, 1.0, 2.0, 2.0, 0.0, 4.0])), [5, 0, 2])


def test_too_few_samples_are_refused():
    with pytest.raises(ValueError, match="10 samples are too few for a delay of up to 5 samples"):
        delay_correlation(np.zeros(10), np.zeros(10), 5)


SAMPLES = np.cumsum(np.random.default_rng(4).standard_normal(60))
CURVE = CubicSpline(np.arange(60), SAMPLES)
PIECES = np.array([CURVE(np.arange(59), derivative) for derivative in range(4)])
PIECES[3] = 6.0 * CURVE.c[0]


def solved(lag, instants):
    """z, and its derivative by the lag, of lag z' + z = u."""

    def rate(t, state):
        z, by_lag = state
        speed = (CURVE(t) - z) / lag
        return [speed, -(speed + by_lag) / lag]

    found, values = np.array([CURVE(0.0), 0.0]), []
    # the third derivative jumps at every sample: no step goes across
    for begin, end in zip(np.append(0.0, instants[:-1]), instants, strict=True):
        stops = [begin, *np.arange(np.floor(begin) + 1, np.ceil(end)), end]
        for start, stop in pairwise(stops):
            found = solve_ivp(rate, (start, stop), found, "Radau", rtol=1e-9, atol=1e-11).y[:, -1]
        values.append(found)
    return np.array(values).T


@pytest.mark.parametrize("lag", [0.3, 2.5, 40.0])
def test_it_solves_the_differential_equation(lag):
    which, within = slice(4, 40, 5), 0.37
    instants = np.arange(59)[which] + within
    z, by_lag = solved(lag, instants)
    found = lagged(PIECES, lag, which, within)
    np.testing.assert_allclose(found.value, z, atol=1e-7)
    np.testing.assert_allclose(found.by_lag, by_lag, atol=1e-6)
    np.testing.assert_allclose(found.by_time, (CURVE(instants) - z) / lag, atol=1e-6 / lag)


@pytest.mark.parametrize("within", [0.0, 0.6])
def test_no_lag_is_the_curve(within):
    instants = np.arange(59) + within
    found = lagged(PIECES, 0.0, slice(0, 59), within)
    np.testing.assert_allclose(found.value, CURVE(instants), atol=1e-12)
    np.testing.assert_allclose(found.by_time, CURVE(instants, 1), atol=1e-12)
    np.testing.assert_allclose(found.by_lag, -CURVE(instants, 1), atol=1e-12)


def test_a_short_lag_joins_a_longer_one():
    below, above = (lagged(PIECES, lag, slice(5, 59), 0.5) for lag in (0.000999, 0.001001))
    for name in ("value", "by_time", "by_lag"):
        np.testing.assert_allclose(getattr(below, name), getattr(above, name), atol=1e-4)
    middle = lagged(PIECES, 0.001, slice(5, 59), 0.5).by_lag
    np.testing.assert_allclose((above.value - below.value) / 2e-6, middle, rtol=1e-5, atol=1e-6)


RATE, NOISE = 500.0, 1e-4
WHITE = np.random.default_rng(3).standard_normal(6000)
COMMAND = sosfiltfilt(butter(4, 10.0, fs=RATE, output="sos"), WHITE)
COMMAND *= 0.01 / COMMAND.std()


def followed(state, command=COMMAND, seed=1):
    actuator = Schedule(((0.0, state),)).begin(1.0 / RATE, (1,), np.random.default_rng(seed))
    force = np.zeros(1)
    return np.array([actuator.step(each, force)[0] for each in command[:, None]])


def fitted(measured, command=COMMAND, n_drift=1, **settings):
    model = ActuatorResponse(command, 1.0 / RATE, **settings)
    starts = model.starts(measured)
    starts = np.hstack([starts, np.zeros((len(starts), n_drift))])
    return fit(PolynomialDiscrepancy(model, model.time, n_drift), measured[model.rows], starts)


@given(delay=st.floats(-0.05, 0.05), gain=st.floats(0.5, 2.0), frequency=st.floats(1.0, 12.0))
def test_a_sine_is_shifted_and_scaled(delay, gain, frequency):
    time = np.arange(1500) / RATE
    model = ActuatorResponse(np.sin(2 * np.pi * frequency * time), 1.0 / RATE, max_delay=0.06)
    response, sensitivities = model.evaluate(np.array([[gain, delay]]))
    angle = 2 * np.pi * frequency * (model.time - delay)
    np.testing.assert_allclose(response[0], gain * np.sin(angle), atol=2e-4)
    np.testing.assert_allclose(sensitivities[0, :, 0], np.sin(angle), atol=2e-4)
    slope = -gain * 2 * np.pi * frequency * np.cos(angle)
    np.testing.assert_allclose(sensitivities[0, :, 1], slope, atol=4e-2 * gain)


def test_a_sine_through_the_lag_is_the_first_order_system():
    time, lag, frequency = np.arange(3000) / RATE, 0.02, 4.0
    model = ActuatorResponse(np.sin(2 * np.pi * frequency * time), 1.0 / RATE, 0.1, with_lag=True)
    turn = 2j * np.pi * frequency
    expected = 1.1 * np.exp(-0.013 * turn) / (1.0 + turn * lag)
    known = np.abs(expected) * np.sin(2 * np.pi * frequency * model.time + np.angle(expected))
    response, _ = model.evaluate(np.array([[1.1, 0.013, lag]]))
    np.testing.assert_allclose(response[0], known, atol=1e-3)


@pytest.mark.parametrize("lag", [0.0, 0.0007, 0.02])
def test_the_derivatives_by_delay_and_lag(lag):
    model = ActuatorResponse(COMMAND, 1.0 / RATE, with_lag=True)
    at = np.array([[0.9, 0.0123, lag]])
    for i, step in ((0, 1e-4), (1, 1e-7), (2, 1e-7)):
        away = np.zeros(3)
        away[i] = step
        # a lag has no other side of zero
        back = at - away if lag or i < 2 else at
        width = (at + away - back)[0, i]
        slope = (model.evaluate(at + away)[0] - model.evaluate(back)[0]) / width
        found = model.evaluate(at)[1][0, :, i]
        np.testing.assert_allclose(found, slope[0], atol=2e-4 * np.abs(found).max() + 1e-9)


def test_a_long_lag_remembers_a_beginning_that_stands_still():
    # a fit would never come to rest on derivatives that are not those of the response
    time = np.arange(600) / RATE
    model = ActuatorResponse(5.0 * time, 1.0 / RATE, with_lag=True)
    step = np.array([[0.0, 1e-5, 0.0]])
    at = np.array([[1.0, 0.0411, 0.1]])
    slope = (model.evaluate(at + step)[0] - model.evaluate(at - step)[0]) / 2e-5
    np.testing.assert_allclose(model.evaluate(at)[1][0, :, 1], slope[0], rtol=1e-6)


def test_a_long_record_converges_from_every_start():
    # the sum of 40000 squares is not known as well as a step of 1e-5 standard errors would change it
    generator = np.random.default_rng(8)
    command = sosfiltfilt(butter(4, 2.0, fs=RATE, output="sos"), generator.standard_normal(41000))
    model = ActuatorResponse(command, 1.0 / RATE, with_lag=True)
    measured = model.evaluate(np.array([[1.1, -0.03, 0.05]]))[0][0]
    measured += 0.1 * command[model.rows] ** 2 / command.std() + 0.01 * generator.standard_normal(len(measured))
    starts = np.array([1.1, -0.03, 0.05]) + generator.uniform(-0.02, 0.02, (24, 3))
    found = minimize(model, np.broadcast_to(measured, (24, len(measured))), starts)
    assert found.converged.all()
    assert np.ptp(found.sum_of_squares) < 1e-12 * found.sum_of_squares[0]


# a longer lead is extrapolated by the simulated actuator, and is then no pure one
@pytest.mark.parametrize(("gain", "delay", "drift"), [(0.8, 0.0, 0.0), (1.2, 0.0437, 0.004), (1.0, -0.003, -0.01)])
def test_gain_and_delay_are_recovered(gain, delay, drift):
    found = fitted(followed(ActuatorState(gain, 0.0, delay, NOISE)) + drift)
    for name, value in (("gain", gain), ("delay", delay), ("beta_1", drift)):
        error = found.standard_errors[found.names.index(name)]
        # the actuator's own cubic through the command is off by microseconds
        assert abs(found.of(name) - value) < 5.0 * error + (2e-5 if name == "delay" else 2e-3 * (name == "gain"))


def test_delay_and_lag_are_told_apart_by_a_broad_motion():
    measured = followed(ActuatorState(0.95, 0.006, 0.0123, NOISE))
    found = fitted(measured, with_lag=True)
    assert found.names == ("gain", "delay", "lag", "beta_1")
    for name, value in (("gain", 0.95), ("delay", 0.0123), ("lag", 0.006)):
        assert abs(found.of(name) - value) < 4.0 * found.standard_errors[found.names.index(name)]
    assert found.checks.independence > 1e-3
    # without it the delay is both together, and the residuals say that something is missing
    without = fitted(measured)
    assert without.of("delay") == pytest.approx(0.0183, abs=5e-4)
    assert without.checks.independence < 1e-6


@pytest.mark.parametrize("lag", [0.002, 0.005, 0.012])
def test_a_continuous_lag_is_found_without_a_bias(lag):
    # a plant that sees the command 64 times as often as it was recorded
    rate, often, delay = 250.0, 64, 0.031

    def motion(t):
        return 0.01 * sum(np.sin(2 * np.pi * f * t + f**2) for f in (0.7, 1.9, 3.1, 5.3, 8.9))

    fine = np.arange(-500 * often, 4000 * often) / (rate * often)
    decay = np.exp(-1.0 / (lag * rate * often))
    late = lfilter([0.5 * (1.0 - decay)] * 2, [1.0, -decay], motion(fine - delay))[::often][500:]
    command = motion(np.arange(4000) / rate)
    model = ActuatorResponse(command, 1.0 / rate, with_lag=True)
    observed = (0.9 * late + 2e-5 * np.random.default_rng(2).standard_normal(4000))[model.rows]
    found = fit(model, observed, np.array([[1.0, delay, 0.01], [1.0, 0.02, 0.02]]))
    # straight lines between the samples would be 3 of these off, or 50
    for name, value in (("gain", 0.9), ("delay", delay), ("lag", lag)):
        assert abs(found.of(name) - value) < 2.5 * found.standard_errors[found.names.index(name)]


def test_a_motion_that_repeats_itself_has_many_minima():
    time = np.arange(4000) / RATE
    command = np.sin(2 * np.pi * 12.0 * time) + 0.3 * np.sin(2 * np.pi * 1.7 * time)
    found = fitted(followed(ActuatorState(1.0, 0.0, 0.071, 1e-3), command), command, max_delay=0.2)
    assert found.of("delay") == pytest.approx(0.071, abs=1e-4)
    assert len(found.minima) > 1


def test_every_other_sample_says_nearly_the_same():
    measured = followed(ActuatorState(0.95, 0.0, 0.0123, NOISE))
    model = ActuatorResponse(COMMAND, 1.0 / RATE, every=3)
    assert len(measured[model.rows]) == len(model.time) < 2000
    found = fit(model, measured[model.rows], model.starts(measured))
    assert found.of("delay") == pytest.approx(0.0123, abs=3e-5)


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"max_delay": 0.0}, "actuator max_delay 0.0: must be positive, 1.0 s at most"),
        ({"dt": -0.001}, "actuator dt -0.001: must be a positive number"),
        ({"dt": np.nan}, "actuator dt nan: must be a positive number"),
        ({"every": 0}, "actuator every 0: must be 1 or more"),
        ({"command": COMMAND[:100]}, "100 samples are too few for a delay of up to 0.1 s: seek a smaller one"),
    ],
)
def test_mistakes_are_told(settings, complaint):
    with pytest.raises(ValueError, match=complaint):
        ActuatorResponse(**({"command": COMMAND, "dt": 1.0 / RATE} | settings))
