"""The loop with a perfect transfer system against its continuous equations, solved adaptively."""

import math

import numpy as np
import pytest

from sim.excitation import Harmonic, Loading
from sim.laboratory.elements import BoucWenSpring, Dashpot, ElastoplasticSpring, LinearSpring, ParallelElements
from sim.laboratory.integrators import ChenRicles, ExplicitNewmark, KolayRicles, RosenbrockW
from sim.laboratory.loop import HybridInstability, HybridLoop
from sim.laboratory.structure import Springs, Structure, classical_damping
from tests.oracles.hybrid_loop import reference_motion
from tests.oracles.oscillators import linear_from_rest

MASS = np.diag([1000.0, 800.0])
STIFFNESS = np.array([[2.2e5, -0.8e5], [-0.8e5, 0.8e5]])
BUILDING = Structure(MASS, classical_damping(MASS, STIFFNESS, 0.03), STIFFNESS)
HYSTERETIC = Structure(
    MASS, BUILDING.damping, STIFFNESS, springs=(Springs(BoucWenSpring(6e4, 0.004, 0.1), ((1, 0),)),)
)
INTEGRATORS = [ExplicitNewmark(), ChenRicles(), KolayRicles(0.8), RosenbrockW()]
SHAKEN = Harmonic(amplitude=1.0, frequency=1.4, ramp=1.0)


def building(structure, specimen, dt, integrator):
    return HybridLoop(
        structure=structure, specimen=specimen, excitation=SHAKEN, dt=dt, duration=4.0, coupling=[[1.0, 0.0]],
        integrator=integrator,
    )  # fmt: skip


def errors(structure, specimen, integrator, rates, tolerance=1e-9):
    exact = None
    for rate in rates:
        loop = building(structure, specimen, 1.0 / rate, integrator)
        record = loop.run()
        # the coarsest run's instants, for all
        step = round(rate / rates[0]) * integrator.stages
        if exact is None:
            exact = reference_motion(loop, record.time[:: integrator.stages], tolerance)
        yield np.max(np.abs(record.displacement[::step] - exact)) / np.max(np.abs(exact))


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=repr)
def test_linear_loop_converges_to_the_reference_with_order_two(integrator):
    damped = ParallelElements((LinearSpring(4e4), Dashpot(300.0)))
    # its second target is off the path of the others, and the velocity of a specimen is that of its path
    specimen = LinearSpring(4e4) if isinstance(integrator, RosenbrockW) else damped
    found = list(errors(BUILDING, specimen, integrator, (128, 256, 512)))
    assert found[-1] < 3e-3
    np.testing.assert_allclose(np.log2(np.array(found[:-1]) / found[1:]), 2.0, atol=0.25)


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=repr)
@pytest.mark.parametrize(
    ("structure", "specimen"),
    [(BUILDING, ElastoplasticSpring(8e4, 0.003, 0.1)), (HYSTERETIC, BoucWenSpring(4e4, 0.003, 0.2))],
    ids=["elastoplastic", "Bouc-Wen"],
)
def test_yielding_loop_converges_to_the_reference(structure, specimen, integrator):
    coarse, fine = errors(structure, specimen, integrator, (128, 512), 1e-7)
    assert fine < 4e-3
    # an event within a step is met to first order or better
    assert fine < 0.3 * coarse


def test_a_specimen_of_a_slow_test_moves_in_the_time_of_the_laboratory():
    """Ten times as slow, a dashpot is a tenth as viscous, and what yields does not care."""
    spring = ElastoplasticSpring(8e4, 0.003, 0.1)
    slow, scaled = (
        HybridLoop(
            structure=BUILDING,
            specimen=ParallelElements((spring, Dashpot(viscosity))),
            excitation=SHAKEN,
            dt=1.0 / 512.0,
            duration=3.0,
            coupling=[[1.0, 0.0]],
            pace=pace,
        )
        for pace, viscosity in ((10.0, 3000.0), (1.0, 300.0))
    )
    record = slow.run()
    exact, again = (reference_motion(loop, record.time, 1e-7) for loop in (slow, scaled))
    scale = np.max(np.abs(exact))
    np.testing.assert_allclose(exact, again, atol=1e-5 * scale)
    np.testing.assert_allclose(record.displacement, exact, atol=5e-3 * scale)


def test_a_loop_that_diverges_ends_without_a_stroke_of_its_own():
    with pytest.raises(HybridInstability, match=r"beyond the stroke of 1000\.0 m"):
        HybridLoop(
            structure=Structure(1000.0, 0.0, 1e4),
            specimen=Dashpot(3e5),
            excitation=SHAKEN,
            dt=1.0 / 256.0,
            duration=4.0,
            integrator=ChenRicles(),
        ).run()


def test_reference_of_a_single_mass_is_the_textbook_formula():
    mass, stiffness, ratio, turn = 1000.0, 6e4, 0.05, 9.0
    natural = math.sqrt(8e4 / mass)
    structure = Structure(mass, 2.0 * ratio * natural * mass, stiffness)
    push = Harmonic(amplitude=100.0, frequency=turn / (2.0 * math.pi), loading=Loading.FORCE, ramp=0.0)
    loop = HybridLoop(structure=structure, specimen=LinearSpring(2e4), excitation=push, dt=0.005, duration=4.0)
    time = np.linspace(0.0, 4.0, 81)
    exact = linear_from_rest(time, 100.0, turn, mass, 8e4, ratio)
    found = reference_motion(loop, time)
    np.testing.assert_allclose(found[:, 0], exact, atol=1e-7 * np.max(np.abs(exact)))
