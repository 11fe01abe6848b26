"""A chain as the numerical substructure of a virtual hybrid test."""

import numpy as np
import pytest

from sim.excitation.excitations import Harmonic, Loading
from sim.laboratory.elements import CubicSpring, GapSpring, LinearSpring
from sim.laboratory.loop import HybridLoop
from sim.laboratory.reference import reference_motion
from sim.models.chain import Chain, Contact, chain_response

SPECIMEN, DT = 40.0, 1.0 / 256.0
MASSES, SPRINGS, DAMPERS, CUBIC = [1.0, 1.5, 0.8], [100.0, 150.0, 120.0], [0.4, 0.3, 0.2], [900.0, 0.0, 300.0]
PUSH = Harmonic(amplitude=12.0, frequency=1.2, loading=Loading.FORCE, ramp=1.0)
CONTACT = Contact(1, 0, 0.05, 4000.0, 8.0)


def chain(first, **others):
    return Chain(MASSES, [SPRINGS[0] + first, *SPRINGS[1:]], DAMPERS, **others)


@pytest.mark.parametrize("contact", [None, CONTACT], ids=["cubic", "cubic and contact"])
def test_a_loop_with_a_chain_is_the_chain_in_one_piece(contact):
    # the specimen is what the spring at the ground lacks
    structure = chain(0.0, cubic=CUBIC, contact=contact).structure(reach=0.3)
    loop = HybridLoop(
        structure=structure, specimen=LinearSpring(SPECIMEN), excitation=PUSH, dt=DT, duration=4.0,
        coupling=[[1.0, 0.0, 0.0]],
    )  # fmt: skip
    fine, each = DT / 16.0, 16
    time = fine * np.arange(round(4.0 / fine) + 1)
    load = np.repeat(PUSH.sample(time)[:, None], 3, axis=1)
    whole = chain(SPECIMEN, cubic=CUBIC, contact=contact)
    x = chain_response(whole, load, fine).displacement
    scale = np.abs(x).max()
    # the springs are not idle
    linear = chain_response(chain(SPECIMEN), load, fine).displacement
    assert np.abs(x - linear).max() > 0.1 * scale
    if contact is not None:
        assert (x[:, 1] - x[:, 0] > 0.05).any()
    reference, _ = reference_motion(loop, DT * np.arange(1025), 1e-10)
    np.testing.assert_allclose(x[::each], reference, atol=2e-5 * scale)
    record = loop.run()
    n = len(record.time)
    np.testing.assert_allclose(record.displacement, x[::each][:n], atol=0.02 * scale)


def test_springs_of_a_structure_are_where_those_of_the_chain_are():
    for grounded in (True, False):
        springs = SPRINGS if grounded else SPRINGS[1:]
        own = Chain(MASSES, springs, 0.1, grounded=grounded, cubic=np.arange(1.0, len(springs) + 1.0))
        (found,) = own.structure().springs
        np.testing.assert_array_equal(found.incidence(3), own.incidence())
        np.testing.assert_array_equal(found.element.cubic, own.cubic)
        for matrix, expected in zip(own.structure().matrices, own.matrices, strict=True):
            np.testing.assert_array_equal(matrix, expected)
    assert chain(0.0).structure().springs == ()
    with pytest.raises(ValueError, match=r"^chain with friction as a structure: [^\n]*ElastoplasticSpring[^\n]*$"):
        chain(0.0, friction=1.0).structure()


def test_laws_of_a_cubic_spring_and_a_gap():
    x, v = np.array([-0.2, 0.05, 0.3]), np.array([1.0, 2.0, -40.0])
    np.testing.assert_allclose(CubicSpring(100.0).force(x, v), [-0.8, 0.0125, 2.7])
    # the tangent at reach by differences
    spring, h = CubicSpring(np.array([100.0, -50.0]), 0.2), 1e-6
    tangent = (spring.force(0.2 + h, 0.0) - spring.force(0.2 - h, 0.0)) / (2.0 * h)
    np.testing.assert_allclose(spring.stiffness, np.maximum(tangent, 0.0), rtol=1e-8)
    np.testing.assert_allclose(GapSpring(1000.0, 0.1, 2.0).force(x, v), [0.0, 0.0, 120.0])
    np.testing.assert_allclose(GapSpring(1000.0, 0.1, 10.0).force(x, v), [0.0, 0.0, 0.0])
    for wrong in (lambda: CubicSpring(np.nan), lambda: GapSpring(-1.0, 0.0), lambda: CubicSpring(1.0, -1.0)):
        with pytest.raises(ValueError, match="must be"):
            wrong()
