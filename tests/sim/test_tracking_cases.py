"""The seven cases against the paper's own formulas and figures, written out here."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.cases.hybrid import simulate
from sim.cases.tracking_cases import (
    CASES,
    TrackingCase,
    amplitude_around,
    linear_envelope,
    linear_record,
    oscillator,
    tracking_case,
    yielding_record,
)
from tests.oracles.oscillators import bilinear_force, linear_from_rest, yielding_from_rest

NAMES = ("i", "ii-a", "ii-b", "iii", "iv", "v", "vi", "vii")
LENGTHS = {"i": 6 * 1024, "ii-a": 10_000, "ii-b": 10_000, "iii": 10_000, "iv": 30 * 1024, "v": 20 * 1024,
           "vi": 10 * 1024, "vii": 30 * 1024}  # fmt: skip


@pytest.fixture(scope="module")
def cases() -> dict[str, TrackingCase]:
    return {name: tracking_case(name) for name in CASES}


def test_all_seven_are_there():
    assert CASES == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_case(cases, name):
    case, n = cases[name], LENGTHS[name]
    rate = 1000.0 if name.startswith("ii") else 1024.0
    assert (case.name, case.unit, case.sample_rate) == (name, "m", rate)
    assert 0 < len(case.title) < 40
    arrays = [getattr(case, field.name) for field in dataclasses.fields(case)]
    arrays = [values for values in arrays if isinstance(values, np.ndarray)]
    assert len(arrays) == 7 + (name not in ("i", "v", "vi")) == 7 + (case.force is not None)
    for values in arrays:
        assert values.shape == (n,) and values.dtype == np.float64 and values.flags.c_contiguous
    np.testing.assert_allclose(case.time, np.arange(n) / rate, rtol=1e-15)
    assert np.all(np.isfinite(case.command)) and np.all(np.isfinite(case.measured))
    assert 1e-3 < np.max(np.abs(case.command)) < 0.1
    assert case.virtual == (name in ("iv", "vii"))
    assert case.printed and all(math.isfinite(value) for value in case.printed.values())


@pytest.mark.parametrize("name", NAMES)
def test_truths_agree_with_each_other(cases, name):
    case = cases[name]
    assert case.frequency == case.frequencies[0]
    np.testing.assert_allclose(case.true_phase, -2.0 * np.pi * case.frequency * case.true_delay, atol=1e-15)
    assert np.all(case.true_ratio > 0.0)
    assert np.all(np.isfinite(case.true_amplitude_error))
    # overshoot is a ratio under one and an error under zero
    active = case.true_amplitude_error != 0.0
    np.testing.assert_array_equal((case.true_ratio < 1.0)[active], (case.true_amplitude_error < 0.0)[active])


def test_case_i_is_equations_6_and_7(cases):
    case, time = cases["i"], np.arange(6144) / 1024.0
    np.testing.assert_allclose(case.command, 1.5e-3 * np.cos(3.0 * np.pi * time), atol=1e-15)
    # a lead of 15 samples: the measured signal is the command of 15 samples later
    np.testing.assert_allclose(case.measured[:-15], 2.0 / 1.5 * case.command[15:], atol=1e-14)
    assert case.frequency == pytest.approx(1.5)
    assert case.true_phase[0] == pytest.approx(case.printed["phase"], abs=5e-5)
    assert case.true_amplitude_error[0] == pytest.approx(case.printed["amplitude_error"])
    assert case.true_ratio[0] == 0.75
    assert case.true_delay[0] == pytest.approx(-case.printed["time_steps"] / 1024.0)


def test_case_ii_b_is_twice_case_ii_a(cases):
    single, double = cases["ii-a"], cases["ii-b"]
    for name in ("command", "measured", "force", "true_amplitude_error"):
        np.testing.assert_array_equal(getattr(double, name), 2.0 * getattr(single, name))
    for name in ("true_ratio", "true_phase", "true_delay"):
        np.testing.assert_array_equal(getattr(double, name), getattr(single, name))


@pytest.mark.parametrize(("name", "largest"), [("ii-a", 1e-3), ("ii-b", 2e-3)])
def test_case_ii_meets_what_the_paper_expects(cases, name, largest):
    case = cases[name]
    np.testing.assert_allclose(case.measured[5:], 1.1 * case.command[:-5], rtol=1e-14)
    np.testing.assert_allclose(case.frequencies, [1.2298, 0.8696], rtol=3e-4)
    np.testing.assert_allclose(case.true_ratio, 1.0 / 1.1, rtol=1e-14)
    np.testing.assert_allclose(case.true_delay, case.printed["delay"], rtol=1e-12)
    # printed with the digits behind cut off
    lags = [2.0 * np.pi * frequency * 0.005 for frequency in case.frequencies]
    printed = [case.printed["lag_driven"], case.printed["lag_natural"]]
    assert [math.floor(100.0 * lag) / 100.0 for lag in lags] == printed
    np.testing.assert_allclose(lags, [0.0386, 0.0273], atol=5e-5)
    assert case.printed["largest_overshoot"] == largest
    assert 0.9 * largest < -np.min(case.true_amplitude_error) < largest
    assert np.max(case.true_amplitude_error) <= 0.0


def test_case_iii_switches_from_overshoot_to_undershoot(cases):
    case = cases["iii"]
    before = case.time < case.printed["switch_time"]
    assert np.count_nonzero(before) == 5000
    np.testing.assert_allclose(case.true_ratio[before], 1.0 / (1.0 + case.printed["overshoot"]), rtol=1e-12)
    np.testing.assert_allclose(case.true_ratio[~before], 1.0 / (1.0 - case.printed["undershoot"]), rtol=1e-12)
    np.testing.assert_allclose(case.true_delay, case.printed["delay"], rtol=1e-12)
    assert case.frequencies == (pytest.approx(math.sqrt(2.0) / 1.15),)


@pytest.mark.parametrize("cycle", [4, 7, 64])
def test_the_amplitude_around_is_half_the_range_of_a_cycle(cycle):
    signal = np.random.default_rng(1).standard_normal(300)
    found = amplitude_around(signal, cycle)
    for i in range(cycle, 300 - cycle):
        around = signal[i - cycle // 2 : i - cycle // 2 + cycle]
        assert found[i] == 0.5 * (around.max() - around.min())
    # of a sine on any offset it is the amplitude, but for the sampling
    turn = 2.0 * np.pi * np.arange(1000) / 100.0
    np.testing.assert_allclose(amplitude_around(5.0 + 3.0 * np.sin(turn), 100)[50:-50], 3.0, rtol=2e-3)


@pytest.mark.parametrize("name", ["iii", "iv", "vii"])
def test_a_motion_without_an_amplitude_has_that_of_the_cycle_around(cases, name):
    case = cases[name]
    half = 0.5 / case.frequency
    for at in (3.0, 6.1, 8.7):
        near = np.abs(case.time - at) <= half
        amplitude = 0.5 * np.ptp(case.command[near])
        i = np.argmin(np.abs(case.time - at))
        expected = amplitude * (1.0 - 1.0 / case.true_ratio[i])
        assert case.true_amplitude_error[i] == pytest.approx(expected, rel=0.02)


def noise_of(case):
    time = np.arange(20 * 1024) / 1024.0
    command = 1e-3 * np.cos(np.pi * time)
    measured = 2e-3 * np.cos(np.pi * (time + 25.0 / 1024.0))
    return (case.command - command) / 0.1e-3, (case.measured - measured) / 0.1e-3


@given(seed=st.integers(0, 2**32))
@settings(max_examples=15)
def test_case_v_gaussian_noise(seed):
    for noise in noise_of(tracking_case("v", seed=seed)):
        # six standard deviations of a mean and of a variance of 20480 numbers
        assert np.mean(noise) == pytest.approx(0.0, abs=0.042)
        assert np.var(noise) == pytest.approx(1.0, abs=0.06)
        assert np.mean(np.abs(noise) < 1.0) == pytest.approx(0.6827, abs=0.02)


@given(seed=st.integers(0, 2**32))
@settings(max_examples=15)
def test_case_v_uniform_noise(seed):
    for noise in noise_of(tracking_case("v", seed=seed, noise="uniform")):
        # the signals have been added and taken away again
        assert np.min(noise) > -1e-9 and np.max(noise) < 1.0 + 1e-9
        assert np.mean(noise) == pytest.approx(0.5, abs=0.0122)
        assert np.var(noise) == pytest.approx(1.0 / 12.0, abs=0.0032)


def test_case_v_has_two_noises_and_the_printed_truth(cases):
    case = cases["v"]
    first, second = noise_of(case)
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.04
    assert abs(np.corrcoef(first[1:], first[:-1])[0, 1]) < 0.04
    assert case.true_ratio[0] == case.printed["ratio"] == 0.5
    assert -case.true_phase[0] == pytest.approx(case.printed["phase"], abs=5e-4)
    assert case.true_amplitude_error[0] == pytest.approx(-1e-3)
    np.testing.assert_array_equal(tracking_case("v", noise="gaussian").command, case.command)


def test_case_vi_is_equations_10_and_11(cases):
    case, time = cases["vi"], np.arange(10240) / 1024.0
    np.testing.assert_allclose(case.command, 0.25e-3 * time * np.sin(3.0 * np.pi * time + 0.092), atol=1e-16)
    np.testing.assert_allclose(case.measured, 0.2e-3 * time * np.sin(3.0 * np.pi * time + 0.369), atol=1e-16)
    assert case.true_ratio[0] == case.printed["ratio"] == case.printed["fei_ratio"] == 1.25
    # positive: the measured signal leads; 15.82 is a misprint for 15.871
    assert np.degrees(case.true_phase[0]) == pytest.approx(-case.printed["fei_phase_deg"], abs=5e-4)
    assert abs(np.degrees(case.true_phase[0]) + case.printed["phase_deg"]) > 0.05
    np.testing.assert_allclose(case.true_amplitude_error, 0.05e-3 * time, atol=1e-18)


def test_case_iv_is_late_and_too_large(cases):
    case = cases["iv"]
    assert case.frequency == pytest.approx(5.5 / (2.0 * math.pi))
    np.testing.assert_allclose(case.true_delay, case.printed["delay"], atol=5e-5)
    assert np.all((case.true_ratio < 1.0) & (case.true_ratio > 0.99))


def test_case_vii_leads_lags_and_leads(cases):
    case = cases["vii"]
    first, last = case.printed["lead_until"], case.printed["lag_until"]
    lag = (case.time > first + 0.002) & (case.time < last - 0.002)
    lead = (case.time < first - 0.002) | (case.time > last + 0.002)
    assert np.all(case.true_phase[lag] < 0.0) and np.all(case.true_phase[lead] > 0.0)
    at = round(case.printed["lag_time"] * 1024.0)
    assert case.true_delay[at] == pytest.approx(case.printed["delay"], rel=1e-6)
    assert np.degrees(case.true_phase[at]) == pytest.approx(case.printed["phase_deg"], abs=0.03)
    assert np.all((case.true_ratio < 1.0) & (case.true_ratio > 0.97))


@pytest.mark.parametrize("name", NAMES)
def test_seeds_decide_the_noise_and_nothing_else(cases, name):
    again, other = tracking_case(name, seed=1), tracking_case(name, seed=2)
    for field in ("command", "measured", "true_ratio", "true_delay"):
        np.testing.assert_array_equal(getattr(again, field), getattr(cases[name], field))
    noisy = name in ("iii", "iv", "v", "vii")
    assert np.any(other.measured != again.measured) == noisy
    if name != "v":
        np.testing.assert_array_equal(other.command, again.command)
        np.testing.assert_array_equal(other.force, again.force)


def test_what_was_printed_stays(cases):
    with pytest.raises(TypeError):
        cases["i"].printed["phase"] = 0.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        cases["i"].title = ""


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("viii", {}, "tracking case 'viii': must be one of i, ii-a, ii-b, iii, iv, v, vi, vii"),
        ("", {}, "tracking case '': must be one of "),
        ("v", {"noise": "pink"}, "noise 'pink' of case v: only case v has a choice, of gaussian, uniform"),
        ("iii", {"noise": "uniform"}, "noise 'uniform' of case iii: only case v has a choice"),
    ],
)
def test_mistakes_are_refused_in_one_line(name, settings, message):
    with pytest.raises(ValueError, match=f"^{message}[^\n]*$"):
        tracking_case(name, **settings)


# Table 2 of the paper, in SI
STIFFNESS, PERIOD, RATIO, LIMIT, HARDENING = 11500e3, 1.15, 0.02, 0.010, 0.01
MASS = STIFFNESS * PERIOD**2 / (4.0 * np.pi**2)
DAMPING = 2.0 * RATIO * MASS * 2.0 * np.pi / PERIOD
TURN = 2.0 * np.sqrt(2.0) * np.pi / PERIOD
STEPS = (250.0, 500.0, 1000.0)


@pytest.mark.parametrize("force", [50e3, 100e3])
def test_linear_motion_is_the_textbook_formula(force):
    record = linear_record(force)
    exact = linear_from_rest(record.time, force, TURN, MASS, STIFFNESS, RATIO)
    np.testing.assert_allclose(record.command, exact, atol=1e-4 * np.max(np.abs(exact)))
    errors = []
    for rate in STEPS:
        motion = simulate(oscillator(force, sample_rate=rate))
        exact = linear_from_rest(motion.time, force, TURN, MASS, STIFFNESS, RATIO)
        errors.append(np.max(np.abs(motion.command - exact)))
    np.testing.assert_allclose(np.log2(np.array(errors[:-1]) / errors[1:]), 2.0, atol=0.1)


def test_yielding_motion_is_its_linear_pieces():
    errors = []
    for rate in STEPS:
        motion = simulate(oscillator(100e3, LIMIT, sample_rate=rate))
        exact, pieces = yielding_from_rest(motion.time, 100e3, TURN, MASS, STIFFNESS, DAMPING, LIMIT, HARDENING)
        errors.append(np.max(np.abs(motion.command - exact)))
    assert pieces > 6
    assert errors[-1] < 1e-3 * np.max(np.abs(exact))
    assert errors[2] < errors[1] < errors[0]


def test_energy_balances_while_it_yields():
    motion = simulate(oscillator(100e3, LIMIT))
    step = np.diff(motion.command)
    speed = step * 1000.0
    spring = np.sum((motion.force[1:] + motion.force[:-1]) / 2.0 * step)
    push = 100e3 * np.sin(TURN * motion.time)
    work = np.sum((push[1:] + push[:-1]) / 2.0 * step)
    lost = DAMPING * np.sum(speed * step)
    kinetic = MASS / 2.0 * speed[-1] ** 2
    assert work == pytest.approx(kinetic + lost + spring, rel=2e-3)
    # what the spring did not give back, it lost by slipping
    slipped = motion.command - (motion.force / STIFFNESS - HARDENING * motion.command) / (1.0 - HARDENING)
    stretch = motion.command[-1] - slipped[-1]
    stored = STIFFNESS / 2.0 * (HARDENING * motion.command[-1] ** 2 + (1.0 - HARDENING) * stretch**2)
    slipping = (1.0 - HARDENING) * STIFFNESS * LIMIT * np.sum(np.abs(np.diff(slipped)))
    assert spring == pytest.approx(stored + slipping, rel=2e-3)
    assert slipping > 0.2 * work


def test_linear_records_have_no_force_but_the_spring_where_the_actuator_is():
    record = linear_record(50e3)
    np.testing.assert_array_equal(record.measured[:5], 0.0)
    np.testing.assert_allclose(record.measured[5:], 1.1 * record.command[:-5], rtol=1e-15)
    np.testing.assert_allclose(record.force, STIFFNESS * record.measured, rtol=1e-14)
    fed_in = np.sum((record.force[1:] + record.force[:-1]) / 2.0 * np.diff(record.measured - record.command))
    assert fed_in > 0.0


def test_yielding_record_is_five_steps_late_and_switches_at_five_seconds():
    record = yielding_record(100e3, seed=3)
    gain = np.where(record.time < 5.0, 1.1, 0.75)
    position = gain * np.concatenate([np.zeros(5), record.command[:-5]])
    noise = record.measured - position
    level = 0.005 * np.max(np.abs(record.command))
    assert np.std(noise) == pytest.approx(level, rel=0.03)
    assert abs(np.mean(noise)) < 4.0 * level / 100.0
    for part in (noise[:5000], noise[5000:]):
        assert abs(np.corrcoef(part[1:], part[:-1])[0, 1]) < 0.06
    expected = bilinear_force(position, STIFFNESS, LIMIT, HARDENING)
    np.testing.assert_allclose(record.force, expected, atol=1e-9 * np.max(np.abs(expected)))
    np.testing.assert_allclose(record.true_ratio, 1.0 / gain, rtol=1e-12)


def test_yielding_leaves_a_drift():
    command = yielding_record(100e3, seed=1).command
    cycle = round(PERIOD / np.sqrt(2.0) * 1000.0)
    last, before = np.mean(command[-cycle:]), np.mean(command[-2 * cycle : -cycle])
    assert abs(last) > 0.3 * LIMIT
    assert last == pytest.approx(before, abs=0.05 * LIMIT)
    assert abs(np.mean(linear_record(100e3).command[-4 * cycle :])) < 0.1 * LIMIT


def test_envelope_holds_every_peak():
    record = linear_record(50e3)
    envelope = linear_envelope(record.time, 50e3)
    assert np.all(np.abs(record.command) <= envelope + 1e-6)
    peaks = np.flatnonzero(np.diff(np.sign(np.diff(record.command)))) + 1
    # where the beat is slow: a peak on a steep envelope lies under it
    tall = peaks[envelope[peaks] > 0.6 * np.max(envelope)]
    assert len(tall) > 8
    np.testing.assert_allclose(np.abs(record.command[tall]), envelope[tall], rtol=0.02)
