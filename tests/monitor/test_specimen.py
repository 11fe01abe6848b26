"""The specimen: its definition after every reading, and specimens whose loops are known in closed form."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.signal import lfilter

from benchmarks.known_pairs import known_pairs
from monitor.indicators import reference_force as reference
from monitor.indicators.parts.equivalent_stiffness import newest_loop
from monitor.indicators.specimen import SpecimenIndicator
from monitor.messages.reasons import Reason
from sim.laboratory.elements import BoucWenSpring, ElastoplasticSpring, LinearSpring
from sim.laboratory.specimens import ElastomericDamper
from tests.oracles.tones import several_tones

pytestmark = pytest.mark.usefixtures("warm_kernels")
NAMES = SpecimenIndicator.value_type._fields
RATE, WINDOW = 1000.0, 2.0
AMPLITUDE, FREQUENCY, LAG = 0.03, 1.5, 0.012
OMEGA = 2.0 * np.pi * FREQUENCY
TIMES = np.arange(round(6.0 * RATE)) / RATE


def column(rows, name):
    return rows[..., NAMES.index(name)]


def sines(times=TIMES):
    """Return command, measured and its rate."""
    angle = OMEGA * (times - LAG)
    return AMPLITUDE * np.sin(OMEGA * times), AMPLITUDE * np.sin(angle), AMPLITUDE * OMEGA * np.cos(angle)


def force_of(element, x, v):
    running = element.begin(1.0 / RATE, (1,))
    return np.array([running.force(np.array([a]), np.array([b]))[0] for a, b in zip(x, v, strict=True)])


@given(seed=st.integers(0, 10_000), n=st.integers(32, 63), preload=st.sampled_from([0.0, -40.0]))
def test_the_window_is_its_definition_whenever_it_is_read(seed, n, preload):
    rng = np.random.default_rng(seed)
    x_c, x_m = several_tones(rng, 160, 100.0)
    f = 3.0 * x_m + 4.0 * np.gradient(x_m) + preload + 0.2 * rng.normal(size=160)
    indicator = SpecimenIndicator(100.0, n / 100.0)
    rows = indicator.update_block(x_c, x_m, f)
    for i in range(n - 1, 160):
        if i % indicator.hop or np.isnan(column(rows, "damping")[i]):
            continue
        expected = reference.equivalent_stiffness(*(x[i + 1 - n : i + 1] for x in (x_c, x_m, f)), 100.0)
        for name in ("stiffness", "residual", "damping"):
            found = column(rows, name)[i]
            if np.isfinite(found):
                np.testing.assert_allclose(found, getattr(expected, name), rtol=1e-7, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("motion", ["tone", "earthquake, two modes", "chirp", "ramps and steps"])
def test_a_viscous_specimen_is_exact_on_any_motion(motion):
    pairs = known_pairs(motion, 4, 0, RATE)
    x_c, x_m = (np.stack([getattr(pair, name) for pair in pairs], axis=1) for name in ("clean_command", "clean"))
    # differentiated as sharply as nine samples can
    weights = np.array([1 / 280, -4 / 105, 1 / 5, -4 / 5, 0.0, 4 / 5, -1 / 5, 4 / 105, -1 / 280])
    v = np.stack([np.correlate(np.pad(x, 4, mode="edge"), weights, "valid") * RATE for x in x_m.T], axis=1)
    indicator = SpecimenIndicator(RATE, WINDOW, n_pairs=4)
    indicator.update_block(x_c, x_m, 2.5 * x_m + 0.04 * v + 0.7)
    last = (len(x_c) - 1) // indicator.hop * indicator.hop - 3
    window = slice(last + 1 - indicator.n_window, last + 1)
    expected = reference.equivalent_stiffness(*(each[window, 3] for each in (x_c, x_m, 2.5 * x_m + 0.04 * v)), RATE)
    np.testing.assert_allclose(indicator.value.stiffness, 2.5, rtol=1e-6)
    np.testing.assert_allclose(indicator.value.residual, -0.7 / 2.5, rtol=1e-6)
    assert expected.viscosity == pytest.approx(0.04, rel=1e-6)
    # the smoothing takes some samples of either end, and with them of the mean frequency
    if motion != "ramps and steps":
        assert indicator.value.damping[3] == pytest.approx(expected.damping, rel=0.1)


def test_a_ramp_tells_the_stiffness_and_no_damping():
    x = 0.01 * TIMES
    value = SpecimenIndicator(RATE, WINDOW)
    rows = value.update_block(x, x - 0.001, 7.0 * (x - 0.001))
    assert column(rows, "stiffness")[-1] == pytest.approx(7.0, rel=1e-9)
    assert column(rows, "damping_reason")[-1] == column(rows, "loop_reason")[-1] == Reason.FEW_CYCLES


def cycle(rows, name):
    return float(np.median(column(rows, name)[round(3.0 * RATE) :]))


def test_the_loop_of_an_elastoplastic_specimen_in_closed_form():
    k, limit, hardening = 2e6, 0.01, 0.1
    x_c, x_m, v = sines()
    f = force_of(ElastoplasticSpring(k, limit, hardening), x_m, v)
    rows = SpecimenIndicator(RATE, WINDOW, yield_displacement=limit).update_block(x_c, x_m, f)
    ductility = AMPLITUDE / limit
    secant = k * (1.0 + hardening * (ductility - 1.0)) / ductility
    energy = 4.0 * k * (1.0 - hardening) * limit * (AMPLITUDE - limit)
    assert cycle(rows, "loop_stiffness") == pytest.approx(secant, rel=2e-3)
    assert cycle(rows, "loop_energy") == pytest.approx(energy, rel=5e-3)
    assert cycle(rows, "loop_damping") == pytest.approx(energy / (2.0 * np.pi * secant * AMPLITUDE**2), rel=5e-3)
    assert column(rows, "ductility")[-1] == pytest.approx(ductility, rel=1e-3)
    # the first harmonic of the loop: Caughey 1960
    angle = np.arccos(1.0 - 2.0 / ductility)
    harmonic = k * ((1.0 - hardening) * (angle - 0.5 * np.sin(2.0 * angle)) / np.pi + hardening)
    assert cycle(rows, "stiffness") == pytest.approx(harmonic, rel=0.01)
    assert cycle(rows, "damping") == pytest.approx(energy / (2.0 * np.pi * harmonic * AMPLITUDE**2), rel=0.02)
    np.testing.assert_allclose(np.diff(column(rows, "energy_total")[[2500, 4500]]), 3.0 * energy, rtol=5e-3)


@pytest.mark.parametrize("noise", [0.0, 1e-3, 1e-2])
def test_the_loop_of_a_viscous_specimen_in_closed_form_within_its_deviations(noise):
    k, viscosity = 2e6, 2e4
    x_c, x_m, v = sines()
    f = k * x_m + viscosity * v
    f += noise * f.std() * np.random.default_rng(5).normal(size=len(f))
    rows = SpecimenIndicator(RATE, WINDOW).update_block(x_c, x_m, f)[round(2.5 * RATE) :: 125]
    energy, damping = np.pi * viscosity * OMEGA * AMPLITUDE**2, 0.5 * viscosity * OMEGA / k
    for name, true in (("loop_stiffness", k), ("loop_energy", energy), ("loop_damping", damping)):
        off = (column(rows, name) - true) / column(rows, f"{name}_sd")
        assert 0.3 < np.sqrt(np.mean(off**2)) < 1.5, name


def quadrature(rate, force, states):
    """Return the loops' secant and energy of the last cycle, by an adaptive integrator."""
    period = 1.0 / FREQUENCY

    def slope(t, y):
        x, v = AMPLITUDE * np.sin(OMEGA * t), AMPLITUDE * OMEGA * np.cos(OMEGA * t)
        return [*rate(x, v, y[:-1]), force(x, y[:-1]) * v]

    times = np.array([4.0, 4.25, 4.75, 5.0]) * period
    kept = solve_ivp(
        slope, (0.0, times[-1]), np.zeros(states + 1), "DOP853", times, rtol=1e-9, atol=1e-12, max_step=2e-3
    ).y
    ends = [force(sign * AMPLITUDE, kept[:-1, i]) for sign, i in ((1.0, 1), (-1.0, 2))]
    return (ends[0] - ends[1]) / (2.0 * AMPLITUDE), kept[-1, 3] - kept[-1, 0]


def bouc_wen(k, limit, hardening):
    def rate(_, v, y):
        return [v / limit * (1.0 - y[0] ** 2 * (0.5 * np.sign(v * y[0]) + 0.5))]

    return quadrature(rate, lambda x, y: k * (hardening * x + (1.0 - hardening) * limit * y[0]), 1)


def elastomeric(damper):
    def rate(_, v, y):
        return [v - (1.0 + (y[0] / damper.thinning) ** 2) * y[0] / damper.relaxation]

    return quadrature(rate, lambda x, y: damper.elastic * x + damper.viscous * y[0], 1)


@pytest.mark.parametrize("kind", ["Bouc-Wen", "elastomeric"])
def test_the_loops_of_smooth_specimens_by_quadrature(kind):
    damper = ElastomericDamper()
    element = BoucWenSpring(2e6, 0.01, 0.1) if kind == "Bouc-Wen" else damper
    secant, energy = bouc_wen(2e6, 0.01, 0.1) if kind == "Bouc-Wen" else elastomeric(damper)
    x_c, x_m, v = sines()
    rows = SpecimenIndicator(RATE, WINDOW).update_block(x_c, x_m, force_of(element, x_m, v))
    assert cycle(rows, "loop_stiffness") == pytest.approx(secant, rel=5e-3)
    assert cycle(rows, "loop_energy") == pytest.approx(energy, rel=5e-3)


def test_what_has_no_loss_and_then_loses_a_third():
    x_c, x_m, v = sines()
    f = force_of(LinearSpring(3.0), x_m, v) * np.where(TIMES < 3.0, 1.0, 2.0 / 3.0)
    rows = SpecimenIndicator(RATE, WINDOW).update_block(x_c, x_m, f)
    assert column(rows, "loss")[2900] == pytest.approx(0.0, abs=1e-6)
    assert column(rows, "loss")[-1] == pytest.approx(1.0 / 3.0, rel=1e-6)
    assert column(rows, "stiffness")[-1] == pytest.approx(2.0, rel=1e-6)


def test_a_force_that_knows_nothing_of_the_motion_has_no_stiffness():
    x_c, x_m, _ = sines()
    f = np.random.default_rng(1).normal(size=len(TIMES))
    rows = SpecimenIndicator(RATE, WINDOW).update_block(x_c, x_m, f)
    assert set(column(rows, "reason")[2000:]) == {Reason.UNRELATED}
    assert np.isnan(column(rows, "stiffness")).all()


def test_sensor_noise_does_not_bias_the_stiffness():
    x_c, x_m, _ = sines()
    rng = np.random.default_rng(2)
    noisy = x_m[:, None] + 0.1 * x_m.std() * rng.normal(size=(len(TIMES), 40))
    indicator = SpecimenIndicator(RATE, WINDOW, n_pairs=40)
    rows = indicator.update_block(np.tile(x_c[:, None], 40), noisy, np.tile(5.0 * x_m[:, None], 40))
    found, sd = column(rows, "stiffness")[-1], column(rows, "stiffness_sd")[-1]
    # least squares would be 1 % too small
    assert abs(np.mean(found) - 5.0) < 3.0 * np.median(sd) / np.sqrt(40)


def coloured(rng, shape):
    memory = 0.99
    white = rng.standard_normal((shape[0] + 2000, shape[1]))
    return lfilter([np.sqrt(1.0 - memory**2)], [1.0, -memory], white, axis=0)[2000:]


@pytest.mark.parametrize("colour", ["white", "coloured"])
@pytest.mark.parametrize(
    "motion", ["tone", "five tones", pytest.param("earthquake, two modes", marks=pytest.mark.slow)]
)
def test_deviations_say_how_far_values_are(motion, colour):
    number = 40
    pairs, rng = known_pairs(motion, number, 1, RATE), np.random.default_rng(3)
    x_c, x_m = (np.stack([getattr(pair, name) for pair in pairs], axis=1) for name in ("clean_command", "clean"))
    f = 2.5 * x_m + 0.02 * np.gradient(x_m, 1.0 / RATE, axis=0)
    noise = (lambda: rng.standard_normal(x_m.shape)) if colour == "white" else (lambda: coloured(rng, x_m.shape))
    noisy = x_m + 0.005 * x_m.std(axis=0) * noise(), f + 0.02 * f.std(axis=0) * noise()
    clean = SpecimenIndicator(RATE, WINDOW, n_pairs=number).update_block(x_c, x_m, f)
    rows = SpecimenIndicator(RATE, WINDOW, n_pairs=number).update_block(x_c, *noisy)
    at = [round(t * RATE) for t in (2.9, 4.4, 5.95)]
    for name in ("stiffness", "residual", "damping", "tangent", "loop_stiffness", "loop_damping", "loop_energy"):
        error = np.abs(column(rows, name) - column(clean, name))[at] / column(rows, f"{name}_sd")[at]
        error = error[np.isfinite(error)]
        assert len(error) > 0.8 * 3 * number, name
        # 120 windows, each pair's like each other
        assert 0.52 <= np.mean(error < 1.0) <= 0.98, name
        assert np.mean(error < 2.0) >= 0.85, name


def test_no_loop_without_two_turns():
    x = np.concatenate([np.linspace(0.0, 1.0, 50), np.linspace(1.0, 0.0, 50)])
    assert newest_loop(x, x).length == 0.0


@pytest.mark.parametrize("lost", [1, 100, 200])
def test_work_across_bad_samples_is_that_of_a_straight_line(lost):
    x_c, x_m, _ = sines()
    f = 1e6 * x_m
    f[3000 : 3000 + lost] = np.nan
    rows = SpecimenIndicator(RATE, WINDOW).update_block(x_c, x_m, f)
    # of an elastic specimen the work is the energy that is stored in it, from the first sample on
    stored = 0.5e6 * (x_m**2 - x_m[0] ** 2)
    np.testing.assert_allclose(column(rows, "energy_total")[-1], stored[-1], atol=1e-6)
    assert column(rows, "energy_reason")[-1] == Reason.VALID


def test_the_reason_of_no_work_is_that_of_the_window():
    x_c, x_m, _ = sines()
    rows = SpecimenIndicator(RATE, WINDOW).update_block(x_c, x_m, np.full(len(x_m), 5.0))
    assert column(rows, "energy_reason")[-1] == column(rows, "reason")[-1] == Reason.CONSTANT
