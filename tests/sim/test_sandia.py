"""The Sandia structure and its hinged beam, against finite elements, solvers of high order and limiting cases."""

import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sim.ensembles import BLOCK, Lognormal, realization_block, replicates
from sim.models.sandia import DAMPING_RATIOS, SPRINGS, HingedBeam, SandiaStructure
from tests.oracles.beam_elements import hinged_beam_modes
from tests.oracles.sandia import energy, linear, solved


@pytest.mark.parametrize("end_spring", [1e2, 1e5, 1e8])
@pytest.mark.parametrize("n_modes", [1, 5])
def test_modes_are_those_of_finite_elements(end_spring, n_modes):
    beam = HingedBeam(end_spring=end_spring, n_modes=n_modes)
    positions = [0.0, 4.0, 9.0, 18.0, 30.0]
    wanted = beam.length, beam.bending_stiffness, beam.mass_per_length, end_spring, positions, n_modes
    frequencies, shapes = hinged_beam_modes(*wanted)
    # elements are too stiff, by 4e-6 in the fifth mode; of the soft beam, rounding shows
    np.testing.assert_allclose(beam.natural_frequencies, frequencies, rtol=2e-5)
    found = np.array([beam.shapes(x) for x in positions])
    np.testing.assert_allclose(np.abs(found), np.abs(shapes), atol=1e-4 * np.max(np.abs(shapes)))
    np.testing.assert_allclose(found @ found.T, shapes @ shapes.T, atol=1e-4 * np.max(shapes) ** 2)


def test_modes_of_limiting_beams_are_in_every_table():
    # simply supported: n pi; the hinge alone: tan z = tanh z, 3.92660 and 7.06858 above the rigid turn
    np.testing.assert_allclose(HingedBeam(end_spring=1e15).wavenumbers, np.pi * np.arange(1, 4), rtol=1e-6)
    soft = HingedBeam(end_spring=1e-3)
    np.testing.assert_allclose(soft.wavenumbers[1:], [3.92660231, 7.06858275], rtol=1e-8)
    # a stiff bar on a hinge: omega^2 = k L^2 / (m L^2 / 3)
    assert soft.natural_frequencies[0] == pytest.approx(math.sqrt(3.0 * 1e-3 / (7.33e-4 * 5.0 * 30.0)), rel=1e-6)
    # even far up, where sinh overflows
    assert np.all(np.isfinite(HingedBeam(n_modes=400).shapes(17.0)))


ROOT = Path(__file__).parents[2]
STRUCTURE = SandiaStructure()
K, ZETA = np.array([5000.0, 9000.0, 8000.0]), np.full(3, 0.025)
# a beam of 2 x 2.5 in of steel, by elements
FREQUENCIES, (AT_LOAD, AT_CHAIN) = hinged_beam_modes(
    30.0, 3e7 * 2.0 * 2.5**3 / 12.0, 7.33e-4 * 5.0, 1e5, [9.0, 18.0], 3
)
REST = np.zeros(12)
# masses thrown, the beam at rest; in/s
THROWN = np.concatenate([np.zeros(9), [12.0, -7.0, 30.0]])
FREE = replace(STRUCTURE, load=0.0, modal_damping_ratio=0.0)


def parameters(k=K, zeta=ZETA, hardening=40.0, modes=(FREQUENCIES, AT_LOAD, AT_CHAIN)):
    frequencies, at_load, at_chain = modes
    return frequencies, 0.02, at_load, at_chain, k, zeta, [0.03] * 3, hardening, 3000.0, 350.0


def integrate(structure, k=K, zeta=ZETA, initial=None):
    """Acceleration (n_times,) and last state (12,) of one realization."""
    start = None if initial is None else signs(structure) * initial
    acceleration, state = structure.integrate(np.c_[k], np.c_[zeta], None if start is None else start[:, None])
    return acceleration[:, 0], signs(structure) * state[:, 0]


def signs(structure):
    """A mode has no sign of its own: those of the elements', (12,)."""
    mode = np.sign(structure.beam.shapes(18.0) * AT_CHAIN)
    return np.concatenate([mode, np.ones(3), mode, np.ones(3)])


def test_a_response_is_that_of_a_solver_of_order_eight():
    wanted, last = solved(STRUCTURE.time, REST, *parameters())
    found, state = integrate(STRUCTURE)
    assert STRUCTURE.time[1] == 5e-5 and len(STRUCTURE.time) == 2001
    np.testing.assert_allclose(found, wanted, rtol=0.0, atol=1e-6 * np.max(np.abs(wanted)))
    np.testing.assert_allclose(state[3:6], last[3:6], rtol=1e-6)


@pytest.mark.parametrize("seed", [1, 2])
def test_so_are_those_of_other_springs_dampers_and_starts(seed):
    rng = np.random.default_rng(seed)
    k, zeta = K * rng.uniform(0.7, 1.4, 3), ZETA * rng.uniform(0.0, 3.0, 3)
    # ten times the connection's stiffening of the paper's load
    start = THROWN * rng.uniform(1.0, 3.0) + np.concatenate([np.zeros(3), rng.uniform(-0.1, 0.1, 3), np.zeros(6)])
    wanted, _ = solved(STRUCTURE.time, start, *parameters(k, zeta))
    found, _ = integrate(STRUCTURE, k, zeta, start)
    np.testing.assert_allclose(found, wanted, rtol=0.0, atol=1e-6 * np.max(np.abs(wanted)))


def test_the_error_is_of_order_four():
    beam = STRUCTURE.beam
    # the closed-form modes: what the elements leave would hide the smaller errors
    modes = beam.natural_frequencies, beam.shapes(9.0), beam.shapes(18.0)
    wanted, _ = solved(STRUCTURE.time, REST, *parameters(modes=modes))
    errors = [np.max(np.abs(integrate(replace(STRUCTURE, substeps=n))[0] - wanted)) for n in (1, 2, 3)]
    assert errors[0] < 2e-7 * np.max(np.abs(wanted))
    assert errors[0] / errors[1] == pytest.approx(16.0, rel=0.1)
    assert errors[1] / errors[2] == pytest.approx(1.5**4, rel=0.2)


def test_without_hardening_it_is_the_matrix_exponential():
    structure = replace(STRUCTURE, hardening=0.0)
    for start in (REST, THROWN):
        wanted, last = linear(structure.time, start, *parameters(hardening=0.0))
        found, state = integrate(structure, initial=start)
        np.testing.assert_allclose(found, wanted, rtol=0.0, atol=1e-6 * np.max(np.abs(wanted)))
        np.testing.assert_allclose(state[3:6], last[3:6], rtol=1e-6)


def test_hardening_matters_and_weakly():
    peak = np.max(np.abs(integrate(STRUCTURE)[0]))
    change = np.max(np.abs(integrate(STRUCTURE)[0] - integrate(replace(STRUCTURE, hardening=0.0))[0]))
    assert 0.01 * peak < change < 0.3 * peak


def test_energy_stays_without_damping_and_load():
    total = energy(THROWN[:, None], FREQUENCIES, AT_CHAIN, K, [0.03] * 3, 40.0)[0]
    for horizon in (0.01, 0.03, 0.1):
        _, state = integrate(replace(FREE, horizon=horizon), zeta=np.zeros(3), initial=THROWN)
        left = energy(state[:, None], FREQUENCIES, AT_CHAIN, K, [0.03] * 3, 40.0)[0]
        assert left == pytest.approx(total, rel=1e-6)


def test_energy_of_every_coordinate_stays_with_smaller_steps():
    start = np.array([1e-3, -4e-4, 2e-4, 0.1, 0.2, -0.1, 1.0, 2.0, -1.0, 12.0, -7.0, 30.0])
    total = energy(start[:, None], FREQUENCIES, AT_CHAIN, K, [0.03] * 3, 40.0)[0]
    losses = []
    for substeps in (2, 4, 8):
        _, state = integrate(replace(FREE, substeps=substeps), zeta=np.zeros(3), initial=start)
        losses.append(1.0 - energy(state[:, None], FREQUENCIES, AT_CHAIN, K, [0.03] * 3, 40.0)[0] / total)
    # an oscillator loses (omega h)^6 / 72 of its energy a step
    assert losses[0] / losses[1] == pytest.approx(32.0, rel=0.15)
    assert losses[1] / losses[2] == pytest.approx(32.0, rel=0.15)
    assert abs(losses[2]) < 1e-6


def test_dampers_take_energy():
    _, state = integrate(replace(FREE, modal_damping_ratio=0.02), initial=THROWN)
    left = energy(state[:, None], FREQUENCIES, AT_CHAIN, K, [0.03] * 3, 40.0)[0]
    total = energy(THROWN[:, None], FREQUENCIES, AT_CHAIN, K, [0.03] * 3, 40.0)[0]
    assert 0.01 * total < left < 0.6 * total


def test_it_is_dead_quiet_without_a_load():
    acceleration, state = integrate(replace(STRUCTURE, load=0.0))
    assert not np.any(acceleration) and not np.any(state)


def test_the_load_turned_round_turns_the_response_round():
    np.testing.assert_array_equal(integrate(replace(STRUCTURE, load=-3000.0))[0], -integrate(STRUCTURE)[0])
    linear_structure = replace(STRUCTURE, hardening=0.0)
    doubled = integrate(replace(linear_structure, load=6000.0))[0]
    np.testing.assert_array_equal(doubled, 2.0 * integrate(linear_structure)[0])


def test_a_free_motion_can_be_continued():
    half = replace(FREE, horizon=0.05)
    springs, ratios, start = np.c_[K, 1.1 * K], np.c_[ZETA, ZETA], np.c_[THROWN, 2.0 * THROWN]
    kept = start.copy()
    first, middle = half.integrate(springs, ratios, start)
    second, _ = half.integrate(springs, ratios, middle)
    whole, _ = FREE.integrate(springs, ratios, start)
    np.testing.assert_array_equal(np.concatenate([first, second[1:]]), whole)
    np.testing.assert_array_equal(start, kept)


@pytest.mark.parametrize("n", [1, 63, 64, 65, 130])
def test_a_realization_is_the_same_beside_any_others(n):
    rng = np.random.default_rng(n)
    short = replace(STRUCTURE, horizon=0.02)
    springs, ratios = K[:, None] * rng.uniform(0.9, 1.1, (3, n)), ZETA[:, None] * rng.uniform(0.9, 1.1, (3, n))
    together, states = short.integrate(springs, ratios)
    assert together.flags.c_contiguous and together.shape == (401, n)
    for i in {0, n // 2, n - 1}:
        alone, state = short.integrate(springs[:, i : i + 1], ratios[:, i : i + 1])
        np.testing.assert_array_equal(together[:, i], alone[:, 0])
        np.testing.assert_array_equal(states[:, i], state[:, 0])


def test_whole_numbers_and_read_only_arrays_compile_nothing_anew():
    from sim.models.sandia import advance

    wanted, _ = integrate(replace(STRUCTURE, hardening=0.0))
    compiled = len(advance.signatures)
    springs, ratios = np.c_[K], np.c_[ZETA]
    springs.flags.writeable = ratios.flags.writeable = False
    found, _ = replace(STRUCTURE, hardening=0).integrate(springs.astype(int), ratios)
    np.testing.assert_array_equal(found[:, 0], wanted)
    found, _ = replace(STRUCTURE, hardening=0).integrate(springs, ratios)
    np.testing.assert_array_equal(found[:, 0], wanted)
    assert len(advance.signatures) == compiled


def test_uncompiled_it_stays_inside_its_arrays():
    from sim.models.sandia import LANES, advance

    short = replace(STRUCTURE, horizon=3 * 5e-5, substeps=2)
    springs, ratios = np.tile(K[:, None], LANES + 2), np.tile(ZETA[:, None], LANES + 2)
    wanted, last = short.integrate(springs, ratios)
    dampers = 2.0 * ratios * np.sqrt(0.03 * springs)
    state, out = np.zeros((12, LANES + 2)), np.full((4, LANES + 2), np.nan)
    constants = short._modal_forces(), short._modes(), np.full(3, 0.03), 40.0, 5e-5, 2
    advance.py_func(springs, dampers, state, *constants, out)
    np.testing.assert_allclose(out, wanted, rtol=1e-9, atol=1e-18)
    np.testing.assert_allclose(state, last, rtol=1e-9, atol=1e-18)


def test_parameters_are_those_of_table_2():
    assert [(v.mean, v.standard_deviation) for v in SPRINGS] == [(5000, 100), (9000, 180), (8000, 160)]
    assert [(v.mean, v.standard_deviation) for v in DAMPING_RATIOS] == [(0.025, 0.0005)] * 3
    assert (STRUCTURE.name, STRUCTURE.unit) == ("sandia", "in/s^2")


def test_an_ensemble_without_deviation_is_one_motion():
    certain = [tuple(Lognormal(v.mean, 0.0) for v in chain) for chain in (SPRINGS, DAMPING_RATIOS)]
    block = realization_block(replace(STRUCTURE, springs=certain[0], damping_ratios=certain[1]), 1, 0)
    assert block.shape == (2001, BLOCK)
    peak = np.max(np.abs(block))
    np.testing.assert_allclose(block, integrate(STRUCTURE)[0][:, None].repeat(BLOCK, 1), rtol=0.0, atol=1e-9 * peak)


@pytest.mark.parametrize("which", range(6))
def test_each_parameter_scatters_the_response_as_its_sensitivity_says(which):
    """Small deviations: the response's is the derivative times the parameter's."""
    means = np.concatenate([K, ZETA])
    deviations = np.where(np.arange(6) == which, 1e-3 * means, 0.0)
    variables = [Lognormal(m, s) for m, s in zip(means, deviations, strict=True)]
    structure = replace(STRUCTURE, springs=tuple(variables[:3]), damping_ratios=tuple(variables[3:]), horizon=0.05)
    sample = structure.realize(np.random.default_rng(which), 2000)
    more, less = (integrate(structure, *np.split(means + sign * deviations, 2))[0] for sign in (1.0, -1.0))
    slope = np.abs(more - less) / 2.0
    steep = slope > 0.2 * np.max(slope)
    np.testing.assert_allclose(sample.std(axis=1)[steep], slope[steep], rtol=4.0 / math.sqrt(2.0 * 2000) + 0.02)


def test_measurements_have_their_noise_and_their_bias():
    n = 64
    quiet = replicates(replace(STRUCTURE, noise=0.0), n, 5)
    good, bad = (replicates(STRUCTURE, n, 5, bad=bad) for bad in (False, True))
    noise = good - quiet
    assert abs(np.mean(noise)) < 4.0 / math.sqrt(noise.size)
    assert abs(np.std(noise) - 1.0) < 4.0 / math.sqrt(2.0 * noise.size)
    assert np.std(noise[0]) == pytest.approx(1.0, abs=4.0 / math.sqrt(2.0 * n))
    # the tenth step is at 0.0005 s
    bias = np.array([500.0 * math.sin(100.0 * t) if i >= 10 else 0.0 for i, t in enumerate(STRUCTURE.time)])
    np.testing.assert_array_equal(bad, good + bias[:, None])
    # every experiment has springs of its own
    assert len(np.unique(quiet[-1])) == n


def test_importing_a_model_without_kernels_loads_nothing_heavy():
    code = (
        "import sys, sim.ensembles, sim.excitation, sim.models.beam\n"
        "sim.models.beam.StochasticBeam()\n"
        "print(*sorted({'numba', 'scipy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.split() == []
