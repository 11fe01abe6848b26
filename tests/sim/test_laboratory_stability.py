"""Where a delayed loop loses stability, and the energy that a delay feeds into it."""

import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sim.excitation import Harmonic, Loading
from sim.laboratory.elements import LinearSpring
from sim.laboratory.loop import HybridLoop
from sim.laboratory.stability import analytic_critical_delay, critical_delay, simulated_critical_delay
from sim.laboratory.structure import Structure, classical_damping
from sim.laboratory.transfer import Delay, TransferChain

PAGE = Path(__file__).parents[2] / "docs" / "laboratory.md"


def structures(n, seed):
    rng = np.random.default_rng(seed)
    turn, mass = 2.0 * math.pi * rng.uniform(0.5, 8.0, n), 10.0 ** rng.uniform(2.0, 5.0, n)
    total, share = mass * turn**2, rng.uniform(0.1, 0.9, n)
    return mass, 2.0 * rng.uniform(0.01, 0.05, n) * mass * turn, (1.0 - share) * total, share * total


def test_twenty_random_structures_lose_stability_at_the_analytic_delay():
    parts = structures(20, seed=8)
    np.testing.assert_allclose(simulated_critical_delay(*parts), analytic_critical_delay(*parts), rtol=0.02)


def test_analytic_delay_is_a_root_and_the_smallest():
    mass, damping, stiffness, specimen = structures(50, seed=3)
    delay = analytic_critical_delay(mass, damping, stiffness, specimen)
    # all crossings on a fine grid of frequencies: |k - m w^2 + i c w| = k_e
    for m, c, k, k_e, tau in zip(mass, damping, stiffness, specimen, delay, strict=True):
        w = np.linspace(1e-3, 3.0, 400001) * math.sqrt((k + k_e) / m)
        size = np.abs(k - m * w**2 + 1j * c * w) - k_e
        at = w[np.flatnonzero(np.diff(np.sign(size)))]
        delays = np.mod(-np.angle(-(k - m * at**2 + 1j * c * at) / k_e), 2.0 * math.pi) / at
        assert tau == pytest.approx(np.min(delays, initial=math.inf), rel=1e-3)


def test_short_delays_are_damping_over_stiffness():
    # c = k_e tau of the textbooks
    assert analytic_critical_delay(1000.0, 100.0, 8e5, 2e5) == pytest.approx(100.0 / 2e5, rel=1e-3)


def test_a_well_damped_loop_with_a_soft_specimen_is_stable_at_any_delay():
    mass, stiffness, specimen = 1000.0, 9.5e4, 5e3
    damping = 2.0 * 0.2 * math.sqrt(mass * 1e5)
    assert analytic_critical_delay(mass, damping, stiffness, specimen) == math.inf
    assert simulated_critical_delay(mass, damping, stiffness, specimen) == math.inf


def test_critical_delay_of_matrices_is_the_closed_form_for_one_degree_of_freedom():
    mass, damping, stiffness, specimen = structures(40, seed=5)
    damping[::4] *= 20.0  # some that no delay makes unstable
    damping[1] = 0.0
    draws = Structure(*(part[:, None, None] for part in (mass, damping, stiffness)))
    found, wanted = critical_delay(draws, specimen), analytic_critical_delay(mass, damping, stiffness, specimen)
    assert 0 < np.sum(np.isinf(wanted)) < 30
    np.testing.assert_allclose(found, wanted, rtol=1e-9)
    assert critical_delay(Structure(1000.0, -20.0, 8e4), 4e4) == 0.0


def test_a_building_with_one_actuator_loses_stability_at_its_critical_delay():
    mass = np.diag([1000.0, 800.0, 600.0])
    stiffness = np.array([[4e5, -2e5, 0.0], [-2e5, 3e5, -1e5], [0.0, -1e5, 1e5]])
    structure = Structure(mass, classical_damping(mass, stiffness, 0.03), stiffness)
    row, specimen = np.array([-1.0, 1.0, 0.0]), 1.5e5  # between the first two floors
    delay = float(critical_delay(structure, specimen, row))
    push = Harmonic(amplitude=1000.0, frequency=4.0, loading=Loading.FORCE, ramp=0.1)
    loop = HybridLoop(
        structure=structure, specimen=LinearSpring(specimen), coupling=row[None], excitation=push, dt=1.0 / 1024.0,
        duration=30.0, draws=(2,), transfer=TransferChain((Delay(np.array([[0.96], [1.04]]) * delay),)),
    )  # fmt: skip
    forces = loop.loads(0, loop.n_steps).copy()
    forces[512:] = 0.0
    motion = np.abs(replace(loop, excitation=forces).run().command[..., 0])
    third = len(motion) // 3
    late, early = (np.max(part, axis=0) for part in (motion[-third:], motion[third : 2 * third]))
    assert late[0] < 0.9 * early[0]
    assert late[1] > 1.1 * early[1]


def test_the_critical_delay_of_the_documentation():
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    code = next(block for block in blocks if "critical_delay" in block)
    names = {}
    exec(code, names)
    written = re.search(r"# (\S+) s$", code.strip()).group(1)
    assert float(names["delay"]) == pytest.approx(float(written), rel=2e-3)


def test_a_delay_of_matrices_names_the_function_that_takes_them():
    stiffness = np.array([[2.2e5, -0.8e5], [-0.8e5, 0.8e5]])
    matrices = np.diag([1000.0, 800.0]), 0.01 * stiffness, stiffness
    with pytest.raises(ValueError, match=r"^structure of one .* \(critical_delay takes matrices\), mass 0.0: must"):
        analytic_critical_delay(*matrices, 5e4)
    with pytest.raises(ValueError, match=r"^coupling of shape \(2, 2\): give \(1, 2\), the critical delay is that "):
        critical_delay(Structure(*matrices), 5e4)


def test_energy_of_a_delay_in_a_steady_cycle_is_the_closed_form():
    # a spring that follows X sin(w t) late by tau gives back pi k X^2 sin(w tau) more than it took, every cycle
    stiffness, delay, frequency = 2e4, 0.005, 2.0
    force = Harmonic(amplitude=2000.0, frequency=frequency, loading=Loading.FORCE)
    loop = HybridLoop(
        structure=Structure(1000.0, 2e4, 1e5), specimen=LinearSpring(stiffness), excitation=force, dt=1.0 / 1024.0,
        duration=12.0, transfer=TransferChain((Delay(delay),)),
    )  # fmt: skip
    record = loop.run()
    # the work on the specimen less that of the structure on it, over the last cycle of 512 steps
    apart = (record.position - record.displacement)[-514:, 0]
    fed_in = np.sum(record.force[-513:-1, 0] * 0.5 * (apart[2:] - apart[:-2]))
    amplitude = np.max(np.abs(record.command[-1024:]))
    wanted = math.pi * stiffness * amplitude**2 * math.sin(2.0 * math.pi * frequency * delay)
    assert fed_in == pytest.approx(wanted, rel=1e-3)
