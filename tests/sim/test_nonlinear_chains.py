from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from sim.ensembles import measurement, replicates
from sim.models.nonlinear_chains import DuffingOscillator, EightMasses, FourMasses

SHORT = EightMasses(horizon=1.0)
ALL = (DuffingOscillator(), FourMasses(), SHORT)


def test_duffing_is_the_equation_of_the_paper():
    bed = DuffingOscillator()
    assert (len(bed.time), bed.time[-1]) == (151, 30.0)
    found = solve_ivp(
        lambda t, y: [y[1], np.cos(t) - 0.1 * y[1] - y[0] - 0.05 * y[0] ** 3],
        (0.0, 30.0),
        [1.0, 0.0],
        "DOP853",
        bed.time,
        rtol=1e-12,
        atol=1e-13,
    )
    motion = bed.motion()
    np.testing.assert_allclose(motion.displacement[:, 0], found.y[0], atol=1e-8)
    np.testing.assert_allclose(motion.velocity[:, 0], found.y[1], atol=1e-8)


def test_eight_masses_have_the_frequencies_of_the_paper():
    m, _, k = EightMasses().chain.matrices
    frequencies = np.sqrt(np.abs(np.sort(np.linalg.eigvals(np.linalg.solve(m, k)).real))) / (2.0 * np.pi)
    # table 1, finite elements
    np.testing.assert_allclose(frequencies[1:6], [21.8, 43.0, 63.0, 80.8, 95.6], rtol=0.01)
    assert frequencies[0] < 1e-3
    assert len(EightMasses().time) == 8192


def test_damping_goes_up_with_impacts_and_down_with_force():
    """Figure 8 of the paper, by the power of the force over twice the mean kinetic energy: 2 zeta omega of a mode."""

    def loss(**others):
        bed = EightMasses(horizon=4.0, **others)
        v = bed.motion(tolerance=1e-6).velocity
        return np.mean(bed.force() * v[:, 0]) / np.mean(np.sum(np.array(bed.masses) * v**2, axis=1))

    weak, strong = loss(), loss(rms=80.0)
    alone, strong_alone = (loss(rms=rms, contact_stiffness=0.0) for rms in (20.0, 80.0))
    assert weak > 1.5 * strong and alone > 1.5 * strong_alone
    assert weak > 1.05 * alone and strong > 1.3 * strong_alone
    assert strong_alone > 1.3 * loss(rms=80.0, contact_stiffness=0.0, friction=0.0)


def test_the_cubic_spring_of_four_masses_is_no_trifle():
    bed = FourMasses()
    x = bed.motion().displacement[:, 0]
    share = np.std(bed.cubic * x**3) / np.std(bed.stiffness * x)
    assert 0.1 < share < 0.5


@pytest.mark.parametrize("bed", ALL, ids=lambda bed: bed.name)
def test_a_damaged_chain_has_one_softer_spring(bed):
    ratio = np.asarray(bed.damaged.springs) / np.asarray(bed.chain.springs)
    expected = np.ones(len(ratio))
    number, share = {"duffing": (1, 0.85), "four-dof": (3, 0.85), "eight-dof": (5, 0.86)}[bed.name]
    expected[number - 1] = share
    np.testing.assert_allclose(ratio, expected)


@pytest.mark.parametrize("bed", ALL, ids=lambda bed: bed.name)
def test_a_measurement_is_a_motion_with_its_force(bed):
    quiet = replace(bed, noise=0.0, variation=0.0)
    names = [name for name, _ in bed.channels]
    n = bed.chain.dofs
    assert sorted(names) == sorted(["force", *(f"{q}_{i}" for q in UNITS for i in range(1, n + 1))])
    assert all(unit == {"force": "N", **UNITS}[name.split("_")[0]] for name, unit in bed.channels)
    measured = dict(zip(names, measurement(quiet, 3).T, strict=True))
    motion = bed.motion()
    for quantity in UNITS:
        for i in range(n):
            np.testing.assert_array_equal(measured[f"{quantity}_{i + 1}"], getattr(motion, quantity)[:, i])
    np.testing.assert_array_equal(measured["force"], bed.force()[:: bed.refined])
    # equation of motion of the driven mass, but for friction
    x, v, a = (np.column_stack([measured[f"{q}_{i + 1}"] for i in range(n)]) for q in UNITS)
    m, c, k = bed.chain.matrices
    missing = measured["force"] - (a @ m + v @ c + x @ k)[:, bed.driven - 1]
    law = np.asarray(bed.chain.cubic)[0] * x[:, 0] ** 3 if bed.driven == 1 else 0.0
    limit = np.asarray(bed.chain.friction)[0] + 0.01 * (bed.name == "duffing")
    assert np.abs(missing - law).max() <= limit + 1e-9 * np.abs(measured["force"]).max()


UNITS = {"displacement": "m", "velocity": "m/s", "acceleration": "m/s^2"}


@pytest.mark.parametrize("bed", ALL, ids=lambda bed: bed.name)
def test_noise_is_a_share_of_each_channel(bed):
    quiet, noisy = (measurement(replace(bed, noise=noise), 5) for noise in (0.0, 0.1))
    error = np.std(noisy - quiet, axis=0) / np.sqrt(np.mean(quiet**2, axis=0))
    force = [name for name, _ in bed.channels].index("force")
    assert error[force] == 0.0
    assert np.all(np.abs(np.delete(error, force) - 0.1) < 4.0 * 0.1 / np.sqrt(2.0 * len(quiet)))


@pytest.mark.parametrize("bed", ALL, ids=lambda bed: bed.name)
def test_realizations_have_springs_of_their_own(bed):
    response = bed.realize(np.random.default_rng(1), 3)
    assert response.shape == (len(bed.time), 3) and np.isfinite(response).all()
    quantity, mass = bed.response
    certain = replace(bed, variation=0.0)
    nominal = getattr(bed.motion(), quantity)[:, mass - 1]
    rms = np.sqrt(np.mean(nominal**2))
    # an ensemble is integrated at a wider tolerance
    np.testing.assert_allclose(certain.realize(np.random.default_rng(1), 1)[:, 0], nominal, atol=1e-4 * rms)
    assert 1e-3 < np.std(response - nominal[:, None]) / rms < 0.5
    good, bad = (replicates(bed, 1, 4, bad=is_bad) for is_bad in (False, True))
    assert np.std(bad - good) > 0.05 * rms


@pytest.mark.parametrize("bed", [FourMasses(), EightMasses()], ids=lambda bed: bed.name)
def test_a_longer_force_goes_on_from_a_shorter_one(bed):
    longer = replace(bed, horizon=2.0 * bed.horizon)
    np.testing.assert_array_equal(longer.force()[: len(bed.time)], bed.force())


def test_what_cannot_be_is_one_clear_line():
    with pytest.raises(ValueError, match=r"^duffing: the motion grows without bound after [^\n]* s: give [^\n]*$"):
        DuffingOscillator(cubic=-2.0).motion()


@pytest.mark.parametrize("bed", ALL, ids=lambda bed: bed.name)
def test_a_measurement_in_pieces_is_the_motion_as_a_whole(bed):
    long = replace(bed, horizon=bed.noise_span + 700.0 * bed.dt, noise=0.0, variation=0.0)
    pieces = list(long.pieces(np.random.default_rng(1), bad=False))
    assert [len(piece) for piece in pieces] == [round(bed.noise_span / bed.dt) + 1, 256, 256, 188]
    names = [name for name, _ in long.channels]
    measured = dict(zip(names, np.concatenate(pieces).T, strict=True))
    motion = long.motion()
    for quantity in UNITS:
        for i in range(bed.chain.dofs):
            np.testing.assert_array_equal(measured[f"{quantity}_{i + 1}"], getattr(motion, quantity)[:, i])
    np.testing.assert_array_equal(measured["force"], long.force()[:: long.refined])


@pytest.mark.parametrize("bed", [DuffingOscillator(), FourMasses()], ids=lambda bed: bed.name)
def test_a_longer_measurement_goes_on_from_a_shorter_one(bed):
    longer = replace(bed, horizon=2.0 * bed.horizon)
    samples = measurement(longer, 4)
    assert len(samples) == len(longer.time)
    np.testing.assert_array_equal(samples[: len(bed.time)], measurement(bed, 4))
    quiet = measurement(replace(longer, noise=0.0), 4)
    level = bed.noise * np.sqrt(np.mean(quiet[: len(bed.time)] ** 2, axis=0))
    error = np.std((samples - quiet)[len(bed.time) :], axis=0)
    force = [name for name, _ in bed.channels].index("force")
    assert error[force] == 0.0
    np.testing.assert_allclose(np.delete(error, force), np.delete(level, force), rtol=0.25)
