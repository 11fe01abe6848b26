"""TI, NRMSE, peak error and HSEM: their printed definitions, after every sample, and loops known in closed form."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.indicators import reference, reference_force
from monitor.indicators.energy_error import HybridSimulationErrorMonitor
from monitor.indicators.tracking_error import PeakErrorIndicator, RmsErrorIndicator
from monitor.indicators.tracking_indicator import TrackingIndicator
from tests.oracles import energy_error as oracle
from tests.oracles.strategies import cases
from tests.oracles.tones import Tones, area_per_radian, at_every_sample, several_tones

pytestmark = pytest.mark.usefixtures("warm_kernels")
RATE = 100.0
MEASURES = [
    (TrackingIndicator, reference.tracking_indicator, 1),
    (RmsErrorIndicator, reference.nrmse, 4),
    (PeakErrorIndicator, reference.peak_error, 2),
]
every_measure = pytest.mark.parametrize(
    ("kind", "definition", "width"), MEASURES, ids=lambda value: getattr(value, "__name__", "")
)


@every_measure
@given(seed=st.integers(0, 10_000), n=st.integers(2, 40), offset=st.sampled_from([0.0, 10.0, -1e4]))
def test_the_definition_after_every_sample(kind, definition, width, seed, n, offset):
    x_c, x_m = (x + offset for x in several_tones(np.random.default_rng(seed), 130, RATE))
    rows = kind(RATE, n / RATE).update_block(x_c, x_m)
    assert np.isnan(rows[: n - 1, 0]).all()
    expected = at_every_sample(definition, x_c, x_m, n).reshape(-1, width)
    # TI as printed cancels on an offset: the comparison is as good as the printed form
    small = 1e-12 * max(1.0, offset * offset)
    np.testing.assert_allclose(rows[n - 1 :, :width], expected, rtol=1e-10, atol=small)


@every_measure
def test_small_whole_numbers_tie_and_are_exact(kind, definition, width):
    rng = np.random.default_rng(1)
    x_c, x_m = (rng.integers(-3, 4, 300).astype(float) for _ in range(2))
    rows = kind(RATE, 0.12).update_block(x_c, x_m)[11:, :width]
    expected = at_every_sample(definition, x_c, x_m, 12).reshape(-1, width)
    np.testing.assert_allclose(rows, expected, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("n", [2, 3, 12])
def test_ti_over_the_square_of_the_largest_number_in_the_window(n):
    x_c, x_m = several_tones(np.random.default_rng(3), 150, RATE)
    rows = TrackingIndicator(RATE, n / RATE).update_block(x_c, x_m)[n - 1 :, 2]
    expected = at_every_sample(reference.normalized_tracking_indicator, x_c, x_m, n)
    np.testing.assert_allclose(rows, expected, rtol=1e-10, atol=1e-13)


@given(seed=st.integers(0, 10_000), n=st.integers(90, 140), offset=st.sampled_from([0.0, -1e3]))
def test_the_angle_of_ti_is_its_definition_whenever_it_is_renewed(seed, n, offset):
    x_c, x_m = several_tones(np.random.default_rng(seed), 220, RATE)
    indicator = TrackingIndicator(RATE, n / RATE)
    found = indicator.update_block(x_c + offset, x_m - offset)[:, 3]
    expected = np.full(len(x_c), np.nan)
    for i in range(n - 1, len(x_c)):
        window = slice(i - n + 1, i + 1)
        renewed = i % indicator.hop == 0
        expected[i] = reference.tracking_angle(x_c[window], x_m[window]) if renewed else expected[i - 1]
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)


@given(case=cases(smallest_phase=1e-3, offset=1.0))
def test_the_angle_of_ti_of_a_tone_is_its_phase_error(case):
    rows = case.newest(TrackingIndicator, rows=case.n_window // 8)
    np.testing.assert_allclose(rows[-1, 3], case.tones.phase, rtol=5e-3)


def test_the_angle_of_ti_in_noise():
    rng = np.random.default_rng(11)
    x_c, x_m = (x + 0.05 * rng.normal(size=4000) for x in Tones(3.1, phase=-0.2, gain=1.1).signals(4000, RATE))
    found = TrackingIndicator(RATE, 1.0).update_block(x_c, x_m)[120:, 3]
    np.testing.assert_allclose([np.mean(found), np.std(found)], [-0.2, 0.0], atol=0.015)


def test_ti_has_no_angle_without_cycles_or_under_the_gate():
    tones = Tones(3.0, 2.0, 0.9, -0.2)
    short, fair = (
        TrackingIndicator(RATE, cycles / 3.0).update_block(*tones.signals(400, RATE)) for cycles in (1.2, 3.0)
    )
    assert np.isnan(short[:, 3]).all()
    assert np.isfinite(fair[120:, 3]).all()
    gated = TrackingIndicator(RATE, 1.0, gate=2.1).update_block(*tones.signals(400, RATE))
    assert np.isnan(gated[:, 3]).all()
    assert np.isfinite(gated[99:, :3]).all()


@pytest.mark.parametrize("phase", [0.2, -0.2, 1.5, -3.0])
def test_ti_of_a_tone_in_closed_form(phase):
    tones, n = Tones(3.0, 2.0, 0.9, phase), 57
    rows = TrackingIndicator(RATE, n / RATE).update_block(*tones.signals(200, RATE))
    # the area of chords: the sine of the step stands for the step
    step = np.sin(2.0 * np.pi * tones.frequency / RATE)
    np.testing.assert_allclose(rows[n - 1 :, 0], (n - 1) * step * area_per_radian(tones), rtol=1e-10)
    np.testing.assert_allclose(rows[1:, 1], np.arange(1, 200) * step * area_per_radian(tones), rtol=1e-10)


def test_the_total_of_ti_leaves_out_what_touches_a_bad_sample():
    x_c, x_m = several_tones(np.random.default_rng(0), 90, RATE)
    x_c[40] = np.nan
    total = TrackingIndicator(RATE, 0.1).update_block(x_c, x_m)[-1, 1]
    expected = reference.tracking_indicator(x_c[:40], x_m[:40]) + reference.tracking_indicator(x_c[41:], x_m[41:])
    np.testing.assert_allclose(total, expected, rtol=1e-12)


def test_a_single_sample_is_a_window_for_nrmse_and_peak():
    c, m = np.array([2.0, 4.0, -5.0]), np.array([1.0, 5.0, -5.0])
    rows = RmsErrorIndicator(RATE, 0.01).update_block(c, m)
    np.testing.assert_allclose(rows[:, 0], [0.5, 0.25, 0.0])
    # one sample has no deviation and no range
    assert np.isnan(rows[:, 1:3]).all()
    np.testing.assert_allclose(rows[:, 3], [1.0, 0.2, 0.0])
    np.testing.assert_allclose(
        PeakErrorIndicator(RATE, 0.01).update_block(c, m), [[1.0, 0.5, 0.0], [1.0, 0.25, 0.0], [0.0, 0.0, 0.0]]
    )


def test_a_command_at_zero_has_no_relative_error():
    zeros, ones = np.zeros(20), np.ones(20)
    rows = RmsErrorIndicator(RATE, 0.1).update_block(zeros, ones)
    assert np.isnan(rows[:, :3]).all()
    np.testing.assert_array_equal(rows[9:, 3], 1.0)
    rows = PeakErrorIndicator(RATE, 0.1).update_block(zeros, ones)
    np.testing.assert_array_equal(rows[9:, 0], 1.0)
    assert np.isnan(rows[:, 1]).all()


@pytest.mark.parametrize("offset", [1e3, -1e6])
def test_the_deviation_of_the_command_survives_an_offset(offset):
    x_c, x_m = several_tones(np.random.default_rng(5), 500, RATE)
    rows = RmsErrorIndicator(RATE, 0.37).update_block(x_c + offset, x_m + offset)[36:]
    expected = at_every_sample(reference.nrmse, x_c, x_m, 37)
    # what the offset leaves of the signal's own digits
    np.testing.assert_allclose(rows[:, 1:3], expected[:, 1:3], rtol=1e-14 * abs(offset))


def test_the_deviation_of_the_command_survives_a_spike_and_a_step():
    x_c, x_m = several_tones(np.random.default_rng(6), 400, RATE)
    x_c[[40, 111]], x_m[222] = 1e12, -1e12
    x_c[250:] += 1e9
    rows = RmsErrorIndicator(RATE, 0.2).update_block(x_c, x_m)[19:, :4]
    np.testing.assert_allclose(rows, at_every_sample(reference.nrmse, x_c, x_m, 20), rtol=1e-6)
    clean = slice(131 - 19, 222 - 19)
    np.testing.assert_allclose(rows[clean], at_every_sample(reference.nrmse, x_c, x_m, 20)[clean], rtol=1e-12)


@every_measure
def test_a_spike_is_gone_to_the_last_bit(kind, definition, width):
    x_c, x_m = several_tones(np.random.default_rng(4), 300, RATE)
    clean = kind(RATE, 0.3).update_block(x_c, x_m)
    x_m[100] = 1e15
    rows = kind(RATE, 0.3).update_block(x_c, x_m)
    np.testing.assert_array_equal(rows[131:, :width], clean[131:, :width])


STIFFNESS = 3.0


def specimen(seed, n, preload=0.0):
    """Return command, measured and the force of something between a spring and a damper."""
    x_c, x_m = several_tones(np.random.default_rng(seed), n, RATE)
    return x_c, x_m, STIFFNESS * x_m + 4.0 * np.gradient(x_m) + preload


@given(seed=st.integers(0, 10_000), n=st.integers(2, 40), preload=st.sampled_from([0.0, 50.0]))
def test_the_energies_are_their_definition_after_every_sample(seed, n, preload):
    signals = specimen(seed, 130, preload)
    rows = HybridSimulationErrorMonitor(RATE, n / RATE).update_block(*signals)
    windows = [[x[i - n : i] for x in signals] for i in range(n, 131)]
    expected = [reference_force.energy_error(*window) for window in windows]
    np.testing.assert_allclose(rows[n - 1 :, 0], expected, rtol=1e-10, atol=1e-11)
    so_far = [reference_force.energy_error(*(x[:i] for x in signals)) for i in range(2, 131)]
    np.testing.assert_allclose(rows[1:, 1], so_far, rtol=1e-10, atol=1e-11)
    np.testing.assert_allclose(
        rows[n - 1 :, 2], reference_force.normalized_energy_error(*signals)[n - 1 :], rtol=1e-9, atol=1e-12
    )


@given(seed=st.integers(0, 10_000), n=st.integers(90, 140), preload=st.sampled_from([0.0, 50.0]))
def test_the_added_damping_is_its_definition_whenever_it_is_renewed(seed, n, preload):
    signals = specimen(seed, 220, preload)
    monitor = HybridSimulationErrorMonitor(RATE, n / RATE)
    found = monitor.update_block(*signals)[:, 3]
    expected = np.full(220, np.nan)
    for i in range(n - 1, 220):
        window = [x[i - n + 1 : i + 1] for x in signals]
        expected[i] = reference_force.added_damping(*window) if i % monitor.hop == 0 else expected[i - 1]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-10)


@given(case=cases(smallest_phase=1e-3, offset=1.0), preload=st.sampled_from([0.0, 1e3]))
def test_what_a_tone_adds_to_the_damping_of_a_spring(case, preload):
    monitor = HybridSimulationErrorMonitor(case.sample_rate, case.n_window / case.sample_rate)
    x_c, x_m = case.tones.signals(case.n_window + monitor.hop, case.sample_rate)
    value = monitor.update_block(x_c, x_m, STIFFNESS * x_m + preload * case.tones.amplitude)[-1, 3]
    np.testing.assert_allclose(value, oracle.elastic_damping(case.tones), rtol=5e-3)
    assert np.sign(value) == np.sign(case.tones.phase)


@pytest.mark.parametrize("phase", [0.3, -0.05, -2.0])
def test_the_energy_error_of_a_spring_grows_with_a_lag(phase):
    tones, per_cycle, cycles = Tones(1.0, 2.0, 0.9, phase, 0.4), 100, 6
    x_c, x_m = tones.signals(cycles * per_cycle + 1, RATE)
    rows = HybridSimulationErrorMonitor(RATE, 4.01).update_block(x_c, x_m, STIFFNESS * x_m)
    # the sine of the step stands for the step
    cycle = oracle.elastic_error(tones, STIFFNESS) * np.sinc(2.0 / per_cycle)
    np.testing.assert_allclose(rows[per_cycle::per_cycle, 1], np.arange(1, cycles + 1) * cycle, rtol=1e-10)
    np.testing.assert_allclose(rows[400:, 0], 4.0 * cycle, rtol=1e-10)
    assert np.sign(cycle) == -np.sign(phase)


@pytest.mark.parametrize(("gain", "phase"), [(0.9, 0.0), (1.1, 0.0), (1.0, -0.3)])
def test_the_energy_error_of_a_damper_follows_the_amplitude(gain, phase):
    tones, per_cycle, damping = Tones(1.0, 2.0, gain, phase, 0.4), 100, 0.7
    x_c, x_m = tones.signals(4 * per_cycle + 1, RATE)
    angle = 2.0 * np.pi * np.arange(len(x_c)) / per_cycle + tones.start + phase
    force = -damping * 2.0 * np.pi * gain * tones.amplitude * np.sin(angle)
    rows = HybridSimulationErrorMonitor(RATE, 4.01).update_block(x_c, x_m, force)
    cycle = oracle.viscous_error(tones, damping) * np.sinc(2.0 / per_cycle)
    np.testing.assert_allclose(rows[per_cycle::per_cycle, 1], np.arange(1, 5) * cycle, rtol=1e-10)
    # it stores no energy that the error could be compared with
    assert np.isnan(rows[:, 3]).all()


def test_a_load_that_doubles():
    x_c, x_m, force = specimen(1, 300)
    one, two = (HybridSimulationErrorMonitor(RATE, 1.0).update_block(s * x_c, s * x_m, s * force) for s in (1.0, 2.0))
    np.testing.assert_allclose(two[:, :2], 4.0 * one[:, :2], rtol=1e-13)
    np.testing.assert_allclose(two[:, 2:], one[:, 2:], rtol=1e-13)


def test_a_force_that_counts_the_other_way():
    x_c, x_m, force = specimen(1, 300)
    one, other = (HybridSimulationErrorMonitor(RATE, 1.0).update_block(x_c, x_m, s * force) for s in (1.0, -1.0))
    np.testing.assert_allclose(other, one * [-1.0, -1.0, -1.0, 1.0, 1.0], rtol=1e-13)


def test_a_preload_adds_itself_times_the_change_of_the_error():
    x_c, x_m, force = specimen(2, 300)
    plain, loaded = (HybridSimulationErrorMonitor(RATE, 1.0).update_block(x_c, x_m, force + p) for p in (0.0, 40.0))
    error = x_m - x_c
    np.testing.assert_allclose(loaded[1:, 1], plain[1:, 1] + 40.0 * (error[1:] - error[0]), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(loaded[:, 3], plain[:, 3], rtol=1e-10)


def test_a_pair_without_a_force_has_no_values_and_spoils_none():
    signals = [np.stack([x, x], axis=1) for x in specimen(3, 300)]
    signals[2][:, 1] = np.nan
    rows = HybridSimulationErrorMonitor(RATE, 1.0, n_pairs=2).update_block(*signals)
    assert np.isnan(rows[:, 1, :-1]).all() and (rows[:, 1, -1] > 0.0).all()
    alone = HybridSimulationErrorMonitor(RATE, 1.0).update_block(*specimen(3, 300))
    np.testing.assert_array_equal(rows[:, 0], alone)


def test_a_force_that_fails_spoils_one_window():
    x_c, x_m, force = specimen(4, 500)
    clean = HybridSimulationErrorMonitor(RATE, 1.0).update_block(x_c, x_m, force)
    force[150] = np.inf
    rows = HybridSimulationErrorMonitor(RATE, 1.0).update_block(x_c, x_m, force)
    assert np.isnan(rows[150:250, [0, 2, 3]]).all()
    np.testing.assert_array_equal(rows[:150], clean[:150])
    np.testing.assert_allclose(rows[253:, [0, 3]], clean[253:, [0, 3]], rtol=1e-10)
    parts = [[x[:150] for x in (x_c, x_m, force)], [x[151:] for x in (x_c, x_m, force)]]
    np.testing.assert_allclose(rows[-1, 1], sum(reference_force.energy_error(*part) for part in parts), rtol=1e-10)


def test_the_added_damping_in_noise():
    rng = np.random.default_rng(8)
    tones = Tones(3.1, phase=-0.2, gain=1.1)
    x_c, x_m = tones.signals(4000, RATE)
    noisy = [x + 0.05 * rng.normal(size=4000) for x in (x_c, x_m, STIFFNESS * x_m)]
    found = HybridSimulationErrorMonitor(RATE, 1.0).update_block(*noisy)[120:, 3]
    np.testing.assert_allclose([np.mean(found), np.std(found)], [oracle.elastic_damping(tones), 0.0], atol=0.008)


def test_no_added_damping_without_cycles_or_under_the_gate():
    x_c, x_m = Tones(3.0, 2.0, 0.9, -0.2).signals(400, RATE)
    for window, settings in ((0.4, {}), (1.0, {"gate": 2.1})):
        rows = HybridSimulationErrorMonitor(RATE, window, **settings).update_block(x_c, x_m, x_m)
        assert np.isnan(rows[:, 3]).all()
        assert np.isfinite(rows[99:, :3]).all()
