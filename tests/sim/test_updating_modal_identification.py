"""Modal identification: exact discrete systems, noise over seeds, close modes, sensors at nodes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import eigh, expm
from scipy.signal import cont2discrete, lfilter

from sim.arrays import Samples
from sim.models.chain import Chain, chain_response
from sim.updating.modes import Modes, compare_modes, identify_modes, modal_assurance

_RATE = 1024.0
# FE column of Table 1, Hz
_PRINTED = [21.8, 43.0, 63.0, 80.8, 95.6]


def _free_chain() -> tuple[Samples, Samples]:
    """Return mass and stiffness of the LANL test bed: 8 masses, 7 springs, nothing grounded."""
    stiffness = np.zeros((8, 8))
    for i in range(7):
        stiffness[i : i + 2, i : i + 2] += 56.7e3 * np.array([[1.0, -1.0], [-1.0, 1.0]])
    return np.diag([0.5593] + [0.4194] * 7), stiffness


def _elastic(mass: Samples, stiffness: Samples) -> tuple[Samples, Samples]:
    """Return circular frequencies, (k,), and shapes, (k, n), of unit modal mass, without rigid body modes."""
    squares, vectors = eigh(stiffness, mass)
    kept = squares > 1e-8 * squares[-1]
    return np.sqrt(squares[kept]), vectors.T[kept]


def _response(mass: Samples, stiffness: Samples, damping: float, force: Samples, dof: int) -> Samples:
    """Return accelerations, (n, dofs), to a force held over each sample, of the elastic modes: exact."""
    total = np.zeros((len(force), len(mass)))
    for omega, shape in zip(*_elastic(mass, stiffness), strict=True):
        a = np.array([[0.0, 1.0], [-(omega**2), -2.0 * damping * omega]])
        b = np.array([[0.0], [shape[dof]]])
        ad, bd, c, d, _ = cont2discrete((a, b, a[1:], b[1:]), 1.0 / _RATE)
        # c (z - A)^-1 b + d, as a recursion
        poles = np.poly(ad)
        zeros = np.poly(ad - bd @ c) - poles + d[0, 0] * poles
        total += np.outer(lfilter(zeros, poles, force), shape)
    return total


def _state_space(mass: Samples, stiffness: Samples, damping: Samples) -> Samples:
    n = len(mass)
    inverse = np.linalg.inv(mass)
    return np.block([[np.zeros((n, n)), np.eye(n)], [-inverse @ stiffness, -inverse @ damping]])


def _unit(shapes: Samples) -> Samples:
    shapes = shapes / np.linalg.norm(shapes, axis=1, keepdims=True)
    largest = shapes[np.arange(len(shapes)), np.argmax(np.abs(shapes), axis=1)]
    return np.asarray(shapes * np.sign(largest)[:, None])


@pytest.mark.parametrize("sensors", [range(8), [0, 3, 6]])
def test_an_exact_free_decay_gives_exact_modes(sensors: list[int]) -> None:
    mass, stiffness = _free_chain()
    # proportional damping: zeta = (0.5 / w + 3e-5 w) / 2; the rigid body decays too
    state = _state_space(mass, stiffness, 0.5 * mass + 3e-5 * stiffness)
    step, x = expm(state / _RATE), np.random.default_rng(3).normal(size=16) * np.repeat([1e-3, 0.1], 8)
    record = np.empty((600, 8))
    for row in record:
        row[:] = state[8:] @ x
        x = step @ x
    found = identify_modes(record[:, list(sensors)], _RATE, rows=25)
    omega, shapes = _elastic(mass, stiffness)
    assert found.frequencies == pytest.approx(omega / (2.0 * np.pi), rel=1e-6)
    assert found.damping == pytest.approx(0.5 * (0.5 / omega + 3e-5 * omega), rel=1e-4)
    assert np.abs(found.shapes) == pytest.approx(np.abs(_unit(shapes[:, list(sensors)])), abs=1e-4)
    # Table 1, within 1 % of the printed column
    assert found.frequencies[:5] == pytest.approx(_PRINTED, rel=0.01)


def test_the_frequencies_of_the_test_bed_are_those_printed_within_one_percent() -> None:
    """Random excitation of mass 1 and noise of 2 %; exact are 21.97, 43.38, 63.50, 81.47 and 96.45 Hz."""
    generator = np.random.default_rng(1)
    record = _response(*_free_chain(), 0.02, generator.normal(size=65536), 0)
    found = identify_modes(record + 0.02 * record.std() * generator.normal(size=record.shape), _RATE)
    nearest = [int(np.argmin(np.abs(found.frequencies - each))) for each in _PRINTED]
    assert found.frequencies[nearest] == pytest.approx(_PRINTED, rel=0.01)
    omega, shapes = _elastic(*_free_chain())
    # a frequency scatters by f sqrt(zeta / (2 pi f T)): 0.3 % of the lowest in 64 s
    frequencies = omega[:5] / (2.0 * np.pi)
    scatter = frequencies * np.sqrt(0.02 / (2.0 * np.pi * frequencies * 64.0))
    assert np.all(np.abs(found.frequencies[nearest] - frequencies) < 4.0 * scatter)
    assert found.damping[nearest] == pytest.approx(0.02, rel=0.4)
    assert np.abs(found.shapes[nearest[:3]]) == pytest.approx(np.abs(_unit(shapes[:3])), abs=0.03)


@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_closely_spaced_modes_are_told_apart(noise: float) -> None:
    """Two equal oscillators, weakly coupled: k and k + 2 c, 1.5 % apart in frequency, in and out of phase."""
    k, coupling = (2.0 * np.pi * 60.0) ** 2, 0.015 * (2.0 * np.pi * 60.0) ** 2
    stiffness = np.array([[k + coupling, -coupling], [-coupling, k + coupling]])
    generator = np.random.default_rng(7)
    length = 2048 if noise == 0.0 else 32768
    force = np.zeros(length)
    force[0] = 1.0
    if noise:
        force = generator.normal(size=length)
    record = _response(np.eye(2), stiffness, 0.01, force, 0)
    record = record + noise * record.std() * generator.normal(size=record.shape)
    found = identify_modes(record[1:], _RATE, rows=60, max_order=20)
    truth = np.array([60.0, 60.0 * np.sqrt(1.03)])
    # of noise there may be more
    found = found.chosen([int(np.argmin(np.abs(found.frequencies - each))) for each in truth])
    assert np.sign(found.shapes[:, 0] * found.shapes[:, 1]).tolist() == [1.0, -1.0]
    if noise == 0.0:
        assert found.frequencies == pytest.approx(truth, rel=1e-6)
        assert np.abs(found.shapes) == pytest.approx(np.sqrt(0.5), abs=1e-6)
    else:
        # the modes overlap: each is nearer to its own than half their distance, 0.9 Hz, nevertheless
        assert np.all(np.abs(found.frequencies - truth) < 0.45)


def test_a_mode_whose_nodes_are_the_sensors_is_not_seen() -> None:
    """Three masses between two walls: the middle one is the node of mode 2, which sensor 2 does not see."""
    stiffness = 1e5 * np.array([[2.0, -1.0, 0.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 2.0]])
    impulse = np.zeros(500)
    impulse[0] = 1.0
    record = _response(np.eye(3), stiffness, 0.01, impulse, 0)[1:]
    assert len(identify_modes(record, _RATE)) == 3
    assert identify_modes(record[:, 1:2], _RATE).frequencies == pytest.approx([38.52, 93.0], rel=1e-3)


@pytest.mark.parametrize("orders", [16, 40, 80])
def test_a_record_without_noise_of_a_random_force_has_its_modes(orders: int) -> None:
    """Its covariances have singular values down to rounding, on which divide and conquer may not converge."""
    mass, stiffness = _free_chain()
    record = _response(mass, stiffness, 0.02, np.random.default_rng(0).normal(size=8192), 0)
    found = identify_modes(record, _RATE, max_order=orders)
    omega, _ = _elastic(mass, stiffness)
    for truth in omega[:4] / (2.0 * np.pi):
        assert np.abs(found.frequencies - truth).min() < 0.01 * truth


def _of_known_order(record: Samples, order: int, rate: float, rows: int = 40) -> Samples:
    """Return frequencies, Hz, of one realization of the covariances, of the order that the structure has."""
    lagged = [record[lag : len(record) - 2 * rows + lag].T @ record[: len(record) - 2 * rows] for lag in range(81)]
    first, later = (np.block([[lagged[i + j + s] for j in range(rows)] for i in range(rows)]) for s in (1, 2))
    left, values, right = np.linalg.svd(first)
    root = np.sqrt(values[:order])
    poles = np.linalg.eigvals(left[:, :order].T @ later @ right[:order].T / np.outer(root, root))
    return np.asarray(np.abs(np.log(poles[poles.imag > 0.0])) * rate / (2.0 * np.pi))


def test_modes_that_a_realization_of_known_order_finds_are_found() -> None:
    """Five masses on the ground, lightly damped, 0.8 periods of the lowest mode in a column: its damping is noise."""
    seen = []
    for seed in range(10, 16):
        generator = np.random.default_rng(seed)
        chain = Chain(generator.uniform(0.7, 1.3, 5), generator.uniform(350.0, 550.0, 5), 0.5)
        load = np.zeros((8192, 5))
        load[:, 4] = 5.0 * generator.standard_normal(8192)
        record = chain_response(chain, load, 0.02).acceleration
        record = (record + 0.01 * record.std(axis=0) * generator.standard_normal(record.shape))[:, [0, 2, 4]]
        found, known = identify_modes(record, 50.0), _of_known_order(record, 10, 50.0)
        mass, _, stiffness = chain.matrices
        truth = np.sqrt(eigh(stiffness, mass, eigvals_only=True)) / (2.0 * np.pi)
        seen.append([np.abs(each[:, None] / truth - 1.0).min(axis=0) < 0.03 for each in (known, found.frequencies)])
        assert not np.any(found.damping < -1e-9)
    of_known_order, ours = np.hstack(seen)
    assert ours[of_known_order].all() and of_known_order.sum() >= 28


@pytest.mark.parametrize(
    ("record", "rate", "settings", "message"),
    [
        (np.zeros((400, 2)), 100.0, {}, "its sensors see nothing"),
        (np.ones((100, 2)), 100.0, {}, "100 samples, 160 are needed"),
        (np.ones((400, 2)), 0.0, {}, "rate 0.0 Hz"),
        (np.ones((400, 2)), 100.0, {"rows": 10}, "order 40 at 2 sensors needs 20"),
        ([[1.0, np.inf]], 100.0, {}, "not finite"),
    ],
)
def test_records_that_give_no_modes_are_one_line(
    record: object, rate: float, settings: dict[str, int], message: str
) -> None:
    with pytest.raises(ValueError, match=message) as raised:
        identify_modes(record, rate, **settings)  # type: ignore[arg-type]
    assert "\n" not in str(raised.value)


def test_mac_by_hand() -> None:
    first = np.array([[1.0, 2.0, 2.0], [2.0, 1.0, -2.0]])
    second = np.array([[2.0, 4.0, 4.0], [1.0, 0.0, 0.0]])
    # (9 * 2)^2 / (9 * 36) = 1; 1 / 9; (2 + 2 - 4 = 0); 4 / 9
    assert modal_assurance(first, second) == pytest.approx(np.array([[1.0, 1.0 / 9.0], [0.0, 4.0 / 9.0]]))


@pytest.mark.parametrize("size", [1e-170, 1e170])
def test_mac_does_not_depend_on_the_size_of_shapes(size: float) -> None:
    # (3 * 4 + 4 * 3)^2 / 25^2
    found = modal_assurance(size * np.array([[3.0, 4.0]]), np.array([[4.0, 3.0]]) / size)
    assert found == pytest.approx(np.array([[0.9216]]))


def test_a_rigid_mode_has_no_relative_error_of_frequency() -> None:
    shapes = np.array([[1.0, 1.0], [1.0, -1.0]])
    found = compare_modes(Modes(np.array([0.0, 2.0]), np.nan, shapes), Modes(np.array([0.0, 3.0]), 0.0, shapes))
    with np.errstate(all="raise"):
        assert found.frequency_errors == pytest.approx([np.nan, 0.5], nan_ok=True)


def test_mac_of_complex_shapes_has_the_conjugate() -> None:
    shape = np.array([1.0 + 1.0j, 2.0])
    assert modal_assurance(shape, shape * np.exp(0.7j)) == pytest.approx(np.array([[1.0]]))
    # a^H b = (1 - i) 1 + 2 * i = 1 + i: |.|^2 = 2, over 6 * 2
    assert modal_assurance(shape, np.array([1.0, 1.0j])) == pytest.approx(np.array([[2.0 / 12.0]]))


def test_pairs_follow_the_shapes_and_errors_the_frequencies() -> None:
    identified = Modes(np.array([22.6, 44.5]), np.array([0.085, 0.043]), np.array([[1.0, 0.0], [0.0, 1.0]]))
    model = Modes(np.array([43.0, 21.8]), 0.0, np.array([[0.1, 1.0], [1.0, 0.2]]))
    found = compare_modes(identified, model)
    assert found.pairs.tolist() == [[0, 1], [1, 0]]
    assert found.mac == pytest.approx([1.0 / 1.04, 1.0 / 1.01])
    # of the paper's Table 1: -3.5 % and -3.4 %
    assert found.frequency_errors == pytest.approx([21.8 / 22.6 - 1.0, 43.0 / 44.5 - 1.0])


def test_a_mode_that_resembles_none_has_no_partner() -> None:
    identified = Modes(np.array([1.0, 2.0]), np.nan, np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]))
    model = Modes(np.array([1.1, 2.2]), 0.0, np.array([[1.0, 0.1, 0.0], [0.1, 1.0, 0.0]]))
    found = compare_modes(identified, model)
    assert found.pairs.tolist() == [[0, 0]]


def test_shapes_that_cannot_be_compared_are_one_line() -> None:
    with pytest.raises(ValueError, match="shape 2 is zero at all sensors"):
        modal_assurance(np.array([[1.0, 0.0], [0.0, 0.0]]), np.array([[1.0, 0.0]]))
    with pytest.raises(ValueError, match="shape 1 is not finite"):
        modal_assurance(np.array([[1.0, np.nan]]), np.array([[1.0, 0.0]]))
    with pytest.raises(ValueError, match="at 2 and at 3 sensors"):
        modal_assurance(np.ones((1, 2)), np.ones((1, 3)))
    with pytest.raises(ValueError, match="give each frequency a row of shapes"):
        Modes(np.array([1.0, 2.0]), 0.0, np.ones((3, 2)))
