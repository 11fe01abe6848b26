"""The recursive inverse: its coefficients by their definition, what noise and changes do to it, and inside a loop."""

from __future__ import annotations

from dataclasses import replace
from math import exp, factorial

import numpy as np
import pytest
import scipy.signal

from monitor.compensation.fixed_inverse import FixedInverse
from monitor.compensation.methods import by_name
from monitor.compensation.recursive_inverse import RecursiveInverse
from monitor.embedding.compensation import EmbeddedCompensator, step_compensator
from tests.monitor.test_compensation import DT, WRONG, motion, nominal_inverse, run

NOMINAL = FixedInverse.of_delay(0.012, 1.0, 3)
FREE = {"rates": (1e9,) * 6, "largest_gain": 5.0, "largest_lead": 1.0}
UNIT = 10.0 * np.pi  # rad/s, of the scaled derivatives below
BLOCK, SETTLED = 4, 256  # samples of a row, and until the filters have settled


def derivatives(m, at):
    """Return value and derivatives of the cubic through the newest four samples, in units of UNIT."""
    taps = np.stack([m[at - k] for k in range(4)], 1)
    series = np.array([[(-k * DT) ** j / factorial(j) for k in range(4)] for j in range(4)])
    return taps @ np.linalg.inv(series) / UNIT ** np.arange(4)


def coefficients_by_definition(sent, measured, nominal, memory):
    """Return a0 to a3 of the last row: mean of the normal distribution that the rows and the prior leave."""
    sections = scipy.signal.butter(6, 20.0, fs=1 / DT, output="sos")
    steady = scipy.signal.sosfilt_zi(sections)
    u, m = (scipy.signal.sosfilt(sections, signal, zi=steady * signal[0])[0] for signal in (sent, measured))
    at = np.arange(BLOCK - 1, len(u), BLOCK)
    at = at[at + 1 >= SETTLED]
    rows, target = derivatives(m, at), u[at]
    mean = np.array(nominal) * UNIT ** np.arange(4)
    unknown = 0.1 * np.array([0.1, 0.01, 0.01**2 / 2, 0.01**3 / 6]) * UNIT ** np.arange(4)
    lead = 0.35 * mean * [0, 1, 1, 1]
    own = 0.25 * mean * [0, 0, 1, 1]
    prior = np.linalg.inv(0.01 * np.outer(mean, mean) + np.outer(lead, lead) + np.diag(own**2 + unknown**2))
    # derivatives of white noise behind the low-pass, by its impulse response
    impulse = scipy.signal.sosfilt(sections, np.r_[np.zeros(8), 1.0, np.zeros(4000)])
    noise = derivatives(impulse, np.arange(4, len(impulse)))
    noise = noise.T @ noise
    # a fourth difference of white noise has 70 times its variance
    differences = np.r_[np.zeros(4), np.diff(measured, 4)] ** 2 / 70.0
    solution = mean
    for n, newest in enumerate(at + 1, 1):
        weights = exp(-BLOCK * DT / memory) ** np.arange(n)[::-1]
        x, y = rows[:n], target[:n]
        each = exp(-DT / memory) ** np.arange(newest - SETTLED)[::-1]
        variance_of_noise = np.sum(each * differences[SETTLED:newest]) / max(1.0, each.sum())
        normal, right = (weights[:, None] * x).T @ x, (weights[:, None] * x).T @ y
        independent = max(1.0, weights.sum() / 6.0)
        moved = min(np.sum(weights * y**2), 10.0 * normal[1, 1])
        least, free = 3e-4**2 * moved / independent, independent - 4.0
        if free < 1.0:
            free = independent
        else:
            solution = np.linalg.solve(normal + least * prior, right + least * prior @ mean)
        variance = np.sum(weights * (y - x @ solution) ** 2) / free + least
        corrected = normal - weights.sum() * variance_of_noise * noise
        solution = np.linalg.solve(corrected + variance * prior, right + variance * prior @ mean)
    return solution / UNIT ** np.arange(4)


@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_the_coefficients_are_those_of_the_definition(noise):
    rng = np.random.default_rng(3)
    x = motion(2.0)
    compensator = RecursiveInverse(NOMINAL, relative_gate=0.0, **FREE).begin(DT)
    sent, measured = np.zeros(len(x)), np.zeros(len(x))
    for i, command in enumerate(x):
        sent[i] = compensator.compensate(command)[0]
        measured[i] = 0.95 * sent[max(0, i - 15)] + noise * 5e-3 * rng.standard_normal()
        compensator.observe(command, measured[[i]])
    expected = coefficients_by_definition(sent, measured, [float(a) for a in NOMINAL.coefficients], 0.15)
    np.testing.assert_allclose(compensator.coefficients[:, 0], expected, rtol=1e-5)


def test_noise_does_not_shrink_the_gain():
    """Without taking it out of the equations the gain is too small by the share of the noise, here 1 to 10 %."""
    rng = np.random.default_rng(5)
    x = motion(20.0)
    settings, found = RecursiveInverse(FixedInverse(), memory=1.0, cutoff=20.0), []
    compensator = settings.begin(DT)
    for i, command in enumerate(x):
        sent = compensator.compensate(command)
        compensator.observe(command, sent + 2e-3 * rng.standard_normal())
        if i > 2048:
            found.append(compensator.coefficients[0, 0])
    assert np.mean(found) == pytest.approx(1.0, abs=0.005)


@pytest.mark.parametrize("delay", [0.0, 0.005, 0.03])
def test_a_nominal_inverse_that_is_wrong_is_no_noise(delay):
    x, nominal = motion(6), FixedInverse.of_delay(delay, order=3)
    compensator, sent = by_name("recursive", nominal).begin(DT), np.zeros(6144)
    for i, command in enumerate(x):
        sent[i] = compensator.compensate(command)[0]
        compensator.observe(command, sent[[max(0, i - 15)]])
    assert compensator.values[0, 0] == pytest.approx(15 * DT, rel=0.02)


def of_late_actuator(settings, x, late, dt=DT):
    """Return the lead after each sample of a command, (n,), to an actuator that is late by so many samples."""
    compensator, sent, leads = settings.begin(dt), np.full(len(x), x[0]), []
    for i, command in enumerate(x):
        sent[i] = compensator.compensate([command])[0]
        compensator.observe([command], sent[[max(0, i - late)]])
        leads.append(compensator.values[0, 0])
    return np.array(leads)


@pytest.mark.parametrize("cutoff", [20.0, 5.0])
def test_an_offset_is_no_motion(cutoff):
    time = np.arange(4096) * DT
    x = np.where(time < 3.0, 1e-3 * np.sin(2 * np.pi * 1.5 * time), 0.0)
    settings = RecursiveInverse(FixedInverse.of_delay(0.02, order=3), cutoff=cutoff)
    at_zero, at_50_mm = (of_late_actuator(settings, x + offset, 30) for offset in (0.0, 0.05))
    np.testing.assert_allclose(at_50_mm[1536:3072], 30 * DT, rtol=0.03)
    # and a rest there keeps what is known
    np.testing.assert_allclose(at_50_mm[3200:], at_zero[3200:], rtol=0.03)


def test_a_start_with_a_jerk_is_no_noise():
    x = np.sin(2 * np.pi * 3.0 * np.arange(1024) * DT)
    leads = of_late_actuator(RecursiveInverse(FixedInverse.of_delay(0.02)), x, 30)
    assert leads[700] == pytest.approx(30 * DT, rel=0.03)


@pytest.mark.parametrize("order", [1, 2, 3, 4, 5])
def test_every_order_has_the_same_columns(order):
    x = motion(3)
    compensator = RecursiveInverse(FixedInverse.of_delay(0.012, order=1), order=order).begin(DT)
    run(compensator, x, WRONG[:1])
    shown = compensator.values[0, -4:]
    np.testing.assert_array_equal(shown[: order + 1], compensator.coefficients[:4, 0])
    assert np.isnan(shown[order + 1 :]).all()


def test_a_compensator_that_is_off_sends_the_command():
    compensator = FixedInverse((1.0, 0.02, 2e-4), spacing=0.01).begin(DT)
    compensator.switch(False)
    sent = [compensator.compensate([np.nan if i == 900 else i])[0] for i in range(1000)]
    assert sent[899:902] == [899.0, 899.0, 901.0]
    assert sent[902:] == list(range(902, 1000))
    assert compensator.values[0, 5] == 1.0


@pytest.mark.parametrize("lost", [0.0, 0.3])
def test_a_jump_of_the_delay_is_followed_sooner_than_by_ats(lost):
    x, rng, left = motion(8.0), np.random.default_rng(7), {}
    missing = rng.random(len(x)) < lost
    for name in ("ats", "recursive"):
        compensator = by_name(name, NOMINAL).begin(DT)
        sent, error = np.zeros(len(x)), np.zeros(len(x))
        for i, command in enumerate(x):
            sent[i] = compensator.compensate(command)[0]
            late = 12 if i < 4096 else 18
            measured = sent[[max(0, i - late)]]
            error[i] = measured[0] - command[0]
            compensator.observe(command, np.where(missing[i], np.nan, measured))
        left[name] = [np.std(error[at]) / np.std(x[at]) for at in (slice(2048, 4096), slice(4096, 6144))]
    steady, changed = np.array(left["recursive"]) / np.array(left["ats"])
    assert steady < 1 / 3
    assert changed < 0.6


def test_after_a_long_gap_the_filters_settle_first():
    x = motion(6)
    compensator = by_name("recursive", nominal_inverse()).begin(DT)
    run(compensator, x[:4096], WRONG[:1])
    gap = np.full((100, 1), True)
    run(compensator, x[4096:4196], WRONG[:1], gap)
    assert compensator.values[0, 2:4].tolist() == [0.0, 0.0]
    run(compensator, x[4196:4400], WRONG[:1])
    assert compensator.values[0, 2] == 0.0
    run(compensator, x[4400:4500], WRONG[:1])
    assert compensator.values[0, 2] == 1.0


def test_a_rest_forgets_nothing():
    x = motion(4)
    x[-1024:] *= 0.5 + 0.5 * np.cos(np.linspace(0.0, np.pi, 1024))[:, None]
    compensator = by_name("recursive", nominal_inverse()).begin(DT)
    run(compensator, np.concatenate([x, np.zeros((1024, 1))]), WRONG[:1])
    at_rest = compensator.coefficients.copy()
    run(compensator, np.zeros((4096, 1)), WRONG[:1])
    np.testing.assert_array_equal(compensator.coefficients, at_rest)
    *_, a1, a0 = WRONG[0].denominator
    assert compensator.coefficients[1, 0] == pytest.approx(a1 / a0, rel=0.1)


def test_a_limit_is_reported_and_kept():
    settings = replace(by_name("recursive", NOMINAL), largest_lead=0.002, largest_gain=0.05)
    compensator, x = settings.begin(DT), motion(4)
    sent = np.zeros((len(x) + 20, 1))
    for i, command in enumerate(x):
        sent[i + 20] = compensator.compensate(command)
        compensator.observe(command, sent[i])
    assert compensator.values[0, 4] == 1.0
    assert compensator.coefficients[1, 0] <= 0.014 + 1e-12


def test_actuators_are_independent_and_order_free():
    x, nominal = motion(3, 3), nominal_inverse()
    together = by_name("recursive", nominal).begin(DT, (3,))
    sent, _ = run(together, x, [*WRONG[:2], WRONG[0]])
    for k, plant in enumerate((*WRONG[:2], WRONG[0])):
        alone, _ = run(by_name("recursive", nominal).begin(DT), x[:, [k]], [plant])
        np.testing.assert_array_equal(sent[:, k], alone[:, 0])


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"order": 0}, "order = 0: must be 1 to 5"),
        ({"memory": -1.0}, "memory = -1.0 s: must be positive"),
        ({"cutoff": np.nan}, "cutoff = nan Hz"),
        ({"largest_lead": 0.0}, "largest_lead = 0.0: must be a positive number"),
        ({"rates": (1.0,) * 2}, "2 rates for 4 coefficients"),
        ({"rates": (0.0,) * 4}, "must be positive"),
        ({"cutoff": 600.0, "longest_gap": 1e-3}, "must be below"),
    ],
)
def test_bad_settings_are_named(change, text):
    with pytest.raises(ValueError, match=text):
        RecursiveInverse(**change).begin(DT)


@pytest.mark.parametrize("name", ["none", "fixed", "ats", "recursive"])
def test_an_embedded_compensator_sends_the_same_bits(name):
    settings, x, rng = by_name(name, nominal_inverse()), motion(3, 2), np.random.default_rng(1)
    x[1500:1503, 0] = np.nan
    lost = rng.random(x.shape) < 0.1
    running, embedded = settings.begin(DT, (2,)), EmbeddedCompensator(settings, 1 / DT, 2)
    sent, measured = run(running, x, WRONG[:2], lost)
    out, row = np.empty(2), embedded.new_row()
    for i, command in enumerate(x):
        assert step_compensator(embedded.state, command, np.where(lost[i], np.nan, measured[i]), out, row) == 0
        np.testing.assert_array_equal(out, sent[i])
    np.testing.assert_array_equal(row.reshape(2, -1), running.values[:, : embedded.n_columns])


def test_an_embedded_compensator_refuses_what_it_cannot():
    with pytest.raises(TypeError, match="IndicatorDriven cannot be embedded"):
        EmbeddedCompensator(by_name("fdb", NOMINAL), 1024.0)
    embedded = EmbeddedCompensator(by_name("recursive", NOMINAL), 1024.0)
    before, one = embedded.state.copy(), np.zeros(1)
    for command, sent, row in (
        (np.full(1, np.nan), one, embedded.new_row()),
        (one, one[:0], embedded.new_row()),
        (one, one, one),
    ):
        assert step_compensator(embedded.state, command, one, sent, row) == -5
    np.testing.assert_array_equal(embedded.state, before)
