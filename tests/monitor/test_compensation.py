"""Compensators: what they send, and that they converge, freeze, and stay continuous; wrong settings are refused."""

import re
from dataclasses import fields, replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import scipy.signal

from monitor.compensation.adaptive_time_series import AdaptiveTimeSeries
from monitor.compensation.base import Compensation, channels, derivative_weights
from monitor.compensation.fixed_inverse import FixedInverse
from monitor.compensation.indicator_driven import IndicatorDriven
from monitor.compensation.methods import METHODS, by_name
from monitor.compensation.recursive_inverse import RecursiveInverse
from monitor.messages.blocks import Role
from sim.laboratory.plants import BenchmarkPlant

DT = 1 / 1024


NOMINAL = BenchmarkPlant()


def nominal_inverse(order=3):
    return FixedInverse.of_plant([NOMINAL.gain * NOMINAL.a1b0], NOMINAL.denominator, order)


def motion(seconds, n=1, seed=0, dt=DT, band=(1.0, 5.0)):
    """Return (samples, n): random motion in a band, m, growing over the first second."""
    rng = np.random.default_rng(seed)
    samples = round(seconds / dt)
    spectrum = np.zeros((samples // 2 + 1, n), complex)
    inside = (np.fft.rfftfreq(samples, dt) >= band[0]) & (np.fft.rfftfreq(samples, dt) <= band[1])
    spectrum[inside] = rng.normal(size=(inside.sum(), n)) + 1j * rng.normal(size=(inside.sum(), n))
    x = np.fft.irfft(spectrum, samples, axis=0)
    return 5e-3 * x / x.std(axis=0) * np.sin(np.minimum(1.0, np.arange(samples) * dt) * np.pi / 2)[:, None] ** 4


class Plants:
    """Benchmark plants side by side."""

    def __init__(self, plants, dt=DT):
        steps = [plant.steps(dt) for plant in plants]
        self.a, self.b, self.c = (np.array([getattr(own, name) for own in steps]) for name in "abc")
        self.state = np.zeros((len(plants), 5))

    def step(self, command):
        measured = np.einsum("nk,nk->n", self.c, self.state)
        self.state = np.einsum("nij,nj->ni", self.a, self.state) + self.b * command[:, None]
        return measured


def run(compensator, x, plants, lost=None, dt=DT):
    """Return (samples, n) sent and measured."""
    plants, sent, measured = Plants(plants, dt), np.empty_like(x), np.empty_like(x)
    for i, command in enumerate(x):
        sent[i] = compensator.compensate(command)
        measured[i] = plants.step(sent[i])
        seen = measured[i] if lost is None else np.where(lost[i], np.nan, measured[i])
        compensator.observe(command, seen)
    return sent, measured


def tracking_error(x, measured):
    return 100 * (measured - x).std(axis=0) / x.std(axis=0)


WRONG = [
    replace(NOMINAL, a1b0=1.25 * NOMINAL.a1b0, stiffness=1.3 * NOMINAL.stiffness),
    replace(NOMINAL, a1b0=0.8 * NOMINAL.a1b0, gain=1.05 * NOMINAL.gain),
]


@pytest.mark.parametrize("order", [0, 1, 2, 3, 5])
def test_derivatives_of_a_polynomial_are_exact(order):
    spacing, polynomial = 0.5, np.polynomial.Polynomial(np.arange(1.0, order + 2))
    taps = polynomial(-spacing * np.arange(order + 1))
    exact = [polynomial.deriv(j)(0.0) if j else polynomial(0.0) for j in range(order + 1)]
    np.testing.assert_allclose(taps @ derivative_weights(order, spacing), exact, rtol=1e-9)


def test_a_plant_without_zeros_is_inverted_by_its_own_denominator():
    scale = NOMINAL.gain * NOMINAL.a1b0
    inverse = nominal_inverse(5)
    np.testing.assert_allclose(inverse.coefficients, NOMINAL.denominator[::-1] / scale)


def test_a_plant_with_a_zero_is_inverted_to_the_order_of_the_series():
    plant = FixedInverse.of_plant([0.01, 2.0], [1e-4, 0.03, 1.0], 3)
    s = 0.5j
    exact = np.polyval([1e-4, 0.03, 1.0], s) / np.polyval([0.01, 2.0], s)
    assert abs(sum(a * s**j for j, a in enumerate(plant.coefficients)) - exact) < 1e-9


def test_the_lead_of_a_delay_is_its_series():
    x = motion(4)[:, 0]
    compensator = FixedInverse.of_delay(0.02, 1.1, order=3).begin(DT)
    sent = np.array([compensator.compensate([each])[0] for each in x])
    ahead = 1.1 * np.interp(np.arange(len(x)) * DT + 0.02, np.arange(len(x)) * DT, x)
    assert (sent - ahead)[10:-30].std() < 0.01 * x.std()


def test_none_sends_the_command_itself():
    x = motion(1)
    compensator = by_name("none", nominal_inverse()).begin(DT)
    assert all(compensator.compensate(each) == each for each in x)


@pytest.mark.parametrize("name", METHODS)
def test_leading_axes_are_more_actuators(name):
    x = motion(3, 4)
    flat, square = (by_name(name, nominal_inverse()).begin(DT, shape) for shape in ((4,), (2, 2)))
    one, _ = run(flat, x, [NOMINAL] * 4)
    plants = Plants([NOMINAL] * 4)
    for i, command in enumerate(x):
        sent = square.compensate(command.reshape(2, 2))
        np.testing.assert_array_equal(sent.ravel(), one[i])
        square.observe(command.reshape(2, 2), plants.step(sent.ravel()).reshape(2, 2))
    assert square.values.shape == (2, 2, len(square.columns))


@pytest.mark.parametrize("name", ["ats", "recursive", "fdb", "paei", "broadband"])
def test_adaptive_compensators_beat_the_inverse_of_a_wrong_plant(name):
    x = motion(10, 2)
    fixed = tracking_error(x, run(nominal_inverse().begin(DT, (2,)), x, WRONG)[1])
    adapted = by_name(name, nominal_inverse()).begin(DT, (2,))
    _, measured = run(adapted, x, WRONG)
    late = tracking_error(x[6 * 1024 :], measured[6 * 1024 :])
    assert np.all(fixed > 5.0)
    assert np.all(late < 2.0), late


@pytest.mark.parametrize("name", ["ats", "recursive", "fdb", "paei", "broadband"])
def test_a_lost_measured_signal_freezes_the_coefficients(name):
    x = motion(6)
    compensator = by_name(name, nominal_inverse()).begin(DT)
    lost = np.zeros(x.shape, bool)
    run(compensator, x[: 4 * 1024], WRONG[:1])
    before = compensator.coefficients.copy()
    run(compensator, x[4 * 1024 :], WRONG[:1], lost[4 * 1024 :] | True)
    # what the last block before the loss had still to change
    np.testing.assert_allclose(compensator.coefficients, before, rtol=0.02)
    assert compensator.values[0, 2] == 0.0


@pytest.mark.parametrize("name", ["fdb", "paei", "broadband"])
def test_a_window_of_less_than_a_period_is_not_trusted(name):
    time = np.arange(4 * 1024) * DT
    x = (5e-3 * np.sin(2 * np.pi * time) * np.sin(np.minimum(time, 2.0) * np.pi / 4) ** 4)[:, None]
    compensator = replace(by_name(name, nominal_inverse()), window=0.6).begin(DT)
    plants, coefficients = Plants(WRONG[:1]), []
    for command in x:
        compensator.observe(command, plants.step(compensator.compensate(command)))
        coefficients.append(compensator.coefficients[:, 0])
    # a motion that grows is not of one frequency
    np.testing.assert_array_equal(coefficients[-1], coefficients[3 * 1024])


@pytest.mark.parametrize("name", ["ats", "recursive", "fdb", "paei", "broadband"])
@pytest.mark.parametrize("block", [1, 16])
def test_a_third_of_the_samples_may_be_lost(name, block):
    x = motion(8)
    settings = replace(by_name(name, nominal_inverse(), slowest=2.0), longest_gap=0.08)
    lost = np.repeat(np.random.default_rng(4).random((len(x) // block, 1)) < 0.3, block, axis=0)
    compensator = settings.begin(DT)
    _, measured = run(compensator, x, WRONG[:1], lost)
    assert tracking_error(x[5 * 1024 :], measured[5 * 1024 :]) < 2.0
    assert compensator.values[0, 3] > 0.25 * lost.sum()


def test_compensation_that_was_off_is_known_when_it_is_on_again():
    x = motion(8)
    compensator, plants = by_name("fdb", nominal_inverse()).begin(DT), Plants(WRONG[:1])
    found = []
    for i, command in enumerate(x):
        if i in (3 * 1024, 5 * 1024):
            compensator.switch(i == 5 * 1024)
        compensator.observe(command, plants.step(compensator.compensate(command)))
        # the actuator's own delay does not depend on whether it is compensated
        found.append(compensator.coefficients[1, 0])
    assert found[5 * 1024 - 1] == pytest.approx(found[3 * 1024 - 1], abs=2.5e-3)


@pytest.mark.parametrize("name", ["fixed", "ats", "recursive", "fdb"])
def test_switching_is_continuous(name):
    x = motion(4)
    compensator, plants, sent = by_name(name, nominal_inverse()).begin(DT), Plants([NOMINAL]), []
    for i, command in enumerate(x):
        if i in (1500, 2800):
            compensator.switch(i == 2800)
        sent.append(compensator.compensate(command))
        compensator.observe(command, plants.step(sent[-1]))
        if i == 2799:
            assert sent[-1] == command
    steps = np.abs(np.diff(np.array(sent), axis=0))
    # no sample differs from the last by more than the fastest motion does
    assert steps.max() < 1.6 * np.abs(np.diff(x, axis=0)).max()


@pytest.mark.parametrize("name", ["fdb", "paei", "broadband"])
def test_what_is_learned_while_it_is_off_is_right_when_it_is_switched_on(name):
    """An actuator of gain 0.7 and its inverse: off for longer than a window there is nothing to learn."""
    x = motion(6)
    compensator = by_name(name, FixedInverse.of_delay(0.0, 1.0 / 0.7)).begin(DT)
    gains = []
    for i, command in enumerate(x):
        if i in (len(x) // 3, 2 * len(x) // 3):
            compensator.switch(i > len(x) // 2)
        compensator.observe(command, 0.7 * compensator.compensate(command))
        gains.append(compensator.coefficients[0, 0])
    # a window in which the gain changes is read within a few per cent
    np.testing.assert_allclose(gains, 1.0 / 0.7, rtol=0.06)
    np.testing.assert_allclose([gains[2 * len(x) // 3 - 1], gains[-1]], 1.0 / 0.7, rtol=2e-3)


@cache
def sent_undisturbed(name):
    """What a compensator sends where every command is finite; four tests are compared with it."""
    sent, _ = run(by_name(name, nominal_inverse()).begin(DT, (2,)), motion(4, 2), [NOMINAL] * 2)
    sent.setflags(write=False)
    return sent


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("length", [1, 100])
def test_what_was_sent_last_is_held_while_a_command_is_not_finite(name, bad, length):
    x, lost = motion(4, 2), slice(2500, 2500 + length)
    commands = x.copy()
    commands[lost, 0] = bad
    compensator = by_name(name, nominal_inverse()).begin(DT, (2,))
    sent, _ = run(compensator, commands, [NOMINAL] * 2)
    expected = sent_undisturbed(name)
    np.testing.assert_array_equal(sent[lost, 0], sent[lost.start - 1, 0])
    np.testing.assert_array_equal(sent[:, 1], expected[:, 1])
    held = compensator.values[:, 5]
    assert length <= held[0] < length + len(compensator.coefficients) and held[1] == 0.0
    assert np.all(np.isfinite(compensator.values))
    # what was missed is made up within as long a time as was held: no step, no peak of a derivative
    steps = np.abs(np.diff(sent[lost.start :, 0]))
    assert steps.max() < 2.5 * np.abs(np.diff(expected, axis=0)).max()
    after = lost.stop + 2 * int(held[0])
    if name in ("none", "fixed"):
        np.testing.assert_allclose(sent[after:], expected[after:], atol=1e-15)
    else:
        assert np.abs(sent[after:] - expected[after:]).max() < 0.1 * np.abs(x).max()


def test_the_first_command_must_be_finite():
    with pytest.raises(ValueError, match="first command is not finite"):
        nominal_inverse().begin(DT).compensate([np.nan])


@pytest.mark.parametrize(
    ("change", "ratio"), [({"largest_delay": 1e-3, "lead": "series"}, 1.0), ({"largest_gain": 0.05}, 1.2)]
)
@pytest.mark.parametrize("name", ["fdb", "paei", "broadband"])
def test_an_adaptive_lead_or_gain_at_its_limit_is_reported(name, change, ratio):
    x, late = motion(4), 10
    settings = by_name(name, FixedInverse.of_delay(0.005))
    limited = []
    for each in (replace(settings, **change), settings):
        compensator, sent = each.begin(DT), np.zeros((len(x) + late, 1))
        for i, command in enumerate(x):
            sent[i + late] = compensator.compensate(command)
            compensator.observe(command, sent[i] / ratio)
        assert compensator.values[0, 2] == 1.0
        limited.append(compensator.values[0, 4])
    assert limited == [1.0, 0.0]


def test_a_coefficient_of_ats_at_its_limit_is_reported():
    x = motion(4)
    settings, limited = by_name("ats", nominal_inverse()), []
    for ranges in (settings.ranges, ((0.7, 1.3), (0.0, 0.01), (0.0, 0.0032))):
        compensator = replace(settings, ranges=ranges).begin(DT)
        run(compensator, x, WRONG[:1])
        limited.append(compensator.values[0, 4])
    assert limited == [0.0, 1.0]


def test_ats_agrees_with_least_squares_over_its_window():
    x = motion(3)
    settings = replace(by_name("ats", nominal_inverse(2)), rates=(1e9, 1e9, 1e9), longest_gap=DT)
    compensator = settings.begin(DT)
    sent, measured = run(compensator, x, WRONG[:1])
    sections = scipy.signal.butter(6, 20.0, fs=1 / DT, output="sos")
    steady = scipy.signal.sosfilt_zi(sections)
    u, m = (scipy.signal.sosfilt(sections, x[:, 0], zi=steady * x[0, 0])[0] for x in (sent, measured))
    newest = len(x) // compensator.block * compensator.block - 1
    rows = newest - compensator.block * np.arange(round(1.0 / (compensator.block * DT)))
    regressors = np.stack(
        (
            m[rows],
            (3 * m[rows] - 4 * m[rows - 1] + m[rows - 2]) / (2 * DT),
            (m[rows] - 2 * m[rows - 1] + m[rows - 2]) / DT**2,
        ),
        1,
    )
    expected = np.linalg.lstsq(regressors, u[rows], rcond=None)[0]
    np.testing.assert_allclose(compensator.coefficients[:, 0], expected, rtol=1e-5)


def test_columns_become_auxiliary_channels():
    found = channels("north", by_name("ats", nominal_inverse()).begin(DT).columns)
    assert [channel.name for channel in found[:2]] == ["north.compensated_delay", "north.compensator_gain"]
    assert all(channel.role is Role.AUXILIARY for channel in found)


TEXT = (Path(__file__).parents[2] / "docs" / "compensation.md").read_text(encoding="utf-8")


def test_the_loop_finds_the_delay_of_its_actuator(capsys):
    block = re.search(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert block is not None
    exec(block[1], names := {})
    assert names["delay"] == pytest.approx(15 / 1024, abs=4e-4)
    assert (names["adapting"], names["limited"], names["held"]) == (1.0, 0.0, 0.0)
    assert float(capsys.readouterr().out.split()[-1]) < 0.01


def test_settings_and_columns_are_those_of_the_code():
    sections = {IndicatorDriven: "**IndicatorDriven** is driven", RecursiveInverse: "**RecursiveInverse** fits"}
    for settings, begin in sections.items():
        section = TEXT[TEXT.index(begin) :].split("\n**")[0].split("\n## ")[0]
        named = re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| (.*?) \|", section, re.MULTILINE)))
        assert named == [field.name for field in fields(settings) if field.name != "indicator"]
    table = TEXT[TEXT.index("## Columns") : TEXT.index("`[column.name for")]
    columns = re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| (.*?) \|", table, re.MULTILINE)))
    shared = [column.name for column in Compensation.columns]
    assert columns[: len(shared)] == shared
    own = [c.name for each in (IndicatorDriven, AdaptiveTimeSeries, RecursiveInverse) for c in each.columns]
    assert columns[len(shared) :] == [name for name in own if name not in shared]


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: FixedInverse((0.0, 0.02)), "a0"),
        (lambda: FixedInverse((1.0, np.nan)), "finite"),
        (lambda: FixedInverse.of_delay(0.02, order=9), "order"),
        (lambda: FixedInverse.of_plant([1.0, 0.0], [1.0, 2.0, 3.0]), "numerator"),
        (lambda: FixedInverse.of_plant([1.0], [1.0, 2.0, 0.0]), "has an integrator and no static gain"),
        (lambda: FixedInverse.of_delay(12.0), "delay = 12.0 s: .* is it in ms"),
        (lambda: FixedInverse.of_delay(np.array([0.012, np.nan])), "delay"),
        (lambda: FixedInverse().begin(0.0), "dt"),
        (lambda: FixedInverse().begin(DT).observe([1.0], [1.0]), "observe before the first compensate"),
        (
            lambda: by_name("fdb", FixedInverse()).begin(DT).observe([1.0], [1.0, 2.0]),
            r"command \(1,\), measured \(2,\)",
        ),
        (lambda: replace(by_name("fdb", FixedInverse()), lead="x"), "lead = 'x': must be one of scaled, series"),
        (lambda: replace(by_name("fdb", FixedInverse()), window=2000.0), "window = 2000.0 s: .* is it in ms"),
        (lambda: replace(by_name("fdb", FixedInverse()), window=-2), "window = -2 s"),
        (
            lambda: replace(by_name("paei", FixedInverse()), longest_gap=5.0),
            "longest_gap = 5.0 s: .* than the window",
        ),
        (lambda: replace(by_name("ats", FixedInverse()), longest_gap=5.0), "longest_gap = 5.0 s: .* than the window"),
        (lambda: replace(by_name("fdb", FixedInverse()), relative_gate=2.0), "gate = 2.0 of the largest motion"),
        (lambda: replace(by_name("ats", FixedInverse()), relative_threshold=2.0), "gate = 2.0 of the largest motion"),
        (lambda: replace(by_name("fdb", FixedInverse()), band=(9.0, 1.0)), "lower frequency comes first"),
        (lambda: replace(by_name("ats", FixedInverse()), ranges=((1.3, 0.7), (0, 1), (0, 1))), "range of a0"),
        (lambda: replace(by_name("ats", FixedInverse()), rates=(1.0, 0.0, 1.0)), "rate of a1"),
        (lambda: by_name("fdb", FixedInverse(), slowest=0.01), "slowest = 0.01 Hz: .* window"),
        (lambda: FixedInverse().begin(DT).compensate([1.0, 2.0]), "command"),
        (lambda: by_name("pid", FixedInverse()), "pid"),
        (lambda: replace(by_name("fdb", FixedInverse()), indicator="ti"), "indicator"),
        (lambda: replace(by_name("fdb", FixedInverse()), settling=0.0), "settling"),
        (lambda: replace(by_name("ats", FixedInverse()), filter_order=3), "filter_order"),
        (lambda: replace(by_name("ats", FixedInverse()), cutoff=600.0).begin(DT), "cutoff"),
    ],
)
def test_bad_settings_are_named(make, text):
    with pytest.raises(ValueError, match=text) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_on_and_off_are_true_and_false():
    with pytest.raises(TypeError, match=r"switch\('on'\): must be True or False"):
        FixedInverse().begin(DT).switch("on")
