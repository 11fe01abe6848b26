"""The loop against an ODE solver, the theory of delayed loops and closed forms of the specimen."""

import math
import pickle
from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from sim.cases.hybrid import Frame, HybridTest, simulate
from sim.excitation import BandNoise, Excitation, Harmonic, Loading
from sim.laboratory.actuator import ActuatorState, Schedule
from sim.laboratory.elements import Dashpot, ElastoplasticSpring, LinearSpring, ParallelElements
from sim.laboratory.loop import HybridInstability, HybridLoop
from sim.laboratory.plants import BenchmarkPlant
from sim.laboratory.structure import Structure
from sim.laboratory.transfer import Delay, TransferChain

MASS, STIFFNESS, DAMPING = 1000.0, 8e4, 600.0
RIGHT = Schedule(((0.0, ActuatorState()),))
SHAKEN = Harmonic(amplitude=0.4, frequency=1.1, ramp=1.5)
SPRING = LinearSpring(4e4)
DAMPED = ParallelElements((SPRING, Dashpot(300.0)))


def delayed(delay):
    return Schedule(((0.0, ActuatorState(delay=delay)),))


def frame(schedule=RIGHT, excitation=SHAKEN, specimen=DAMPED, **settings):
    return HybridTest(Frame(MASS, STIFFNESS, DAMPING), specimen, schedule, excitation, **settings)


@dataclass(frozen=True, kw_only=True)
class Kick(Excitation):
    """A push of a quarter second, then nothing."""

    def steady(self, time):
        return np.where(time < 0.25, 100.0, 0.0)


def solved(test, time):
    """The same frame in one piece, by an adaptive solver."""
    structure, specimen = test.frame, test.specimen.begin(0.0, ())
    sign = -structure.mass if test.excitation.loading is Loading.GROUND else 1.0

    def rate(t, state):
        push = sign * test.excitation.sample(np.array([t]))[0]
        force = structure.damping * state[1] + structure.stiffness * state[0] + specimen.force(*state)
        return state[1], (push - force) / structure.mass

    solution = solve_ivp(rate, (0.0, time[-1]), [0.0, 0.0], "DOP853", time, rtol=1e-10, atol=1e-14)
    return solution.y[0], solution.y[1]


@pytest.mark.parametrize("specimen", [SPRING, DAMPED], ids=["spring", "damped"])
@pytest.mark.parametrize(
    "excitation", [SHAKEN, Harmonic(amplitude=500.0, frequency=2.1, loading=Loading.FORCE)], ids=["ground", "force"]
)
def test_perfect_tracking_converges_to_the_solution_with_order_two(excitation, specimen):
    errors = []
    for rate in (128.0, 256.0, 512.0):
        test = frame(RIGHT, excitation, specimen, sample_rate=rate, duration=6.0)
        record = simulate(test)
        motion, velocity = solved(test, record.time)
        errors.append(np.max(np.abs(record.command - motion)))
        np.testing.assert_array_equal(record.measured, record.command)
    assert errors[-1] < 1e-3 * np.max(np.abs(motion))
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    np.testing.assert_allclose(orders, 2.0, atol=0.1)
    force = specimen.begin(0.0, ()).force(motion, velocity)
    np.testing.assert_allclose(record.force, force, atol=2e-3 * np.max(np.abs(force)))


@dataclass(frozen=True, kw_only=True)
class Sudden(Kick):
    """A force that is there in full from the first sample on."""

    def sample(self, time):
        return np.full(len(time), 100.0)


def test_sudden_load_is_met_to_second_order():
    structure, specimen = Frame(MASS, STIFFNESS), LinearSpring(STIFFNESS)
    for rate in (256.0, 512.0):
        load = Sudden(loading=Loading.FORCE)
        record = simulate(HybridTest(structure, specimen, RIGHT, load, rate, 2.0))
        turn = math.sqrt(2.0 * STIFFNESS / MASS)
        exact = 100.0 / (2.0 * STIFFNESS) * (1.0 - np.cos(turn * record.time))
        # the period of central differences is short by (w dt)^2/24
        bound = np.max(exact) / 2.0 * (turn * 2.0) * (turn / rate) ** 2 / 24.0
        assert np.max(np.abs(record.command - exact)) < 1.1 * bound


def test_damping_under_stiffness_times_delay_is_unstable():
    rng = np.random.default_rng(11)
    share, frequency, angle = (rng.uniform(*span, (40, 1)) for span in ((0.15, 0.5), (1.0, 3.0), (0.1, 0.4)))
    margin = np.array([0.7, 1.3])
    turn = 2.0 * math.pi * frequency
    total = MASS * turn**2
    # roots cross the axis where c w = k_e sin(w tau): the c = k_e tau of the textbooks for short delays
    critical = share * total * np.sin(angle) / turn
    inside = total * (1.0 - share * np.cos(angle))
    kick = Kick(loading=Loading.FORCE, ramp=0.1)
    record = HybridLoop(
        structure=Structure(MASS, (margin * critical)[..., None, None], (inside + 0.0 * margin)[..., None, None]),
        specimen=LinearSpring((share * total)[..., None]),
        excitation=kick,
        dt=1.0 / 512.0,
        duration=16.0,
        transfer=TransferChain((Delay((angle / turn)[..., None]),)),
        draws=(40, 2),
        stroke=1e9,
    ).run()
    early, late = (
        np.max(np.abs(record.command[slice(*part)]), axis=(0, -1)) for part in ((1024, 3072), (6144, 8192))
    )
    np.testing.assert_array_equal(late > early, np.broadcast_to(margin < 1.0, (40, 2)))


def test_delay_feeds_energy_into_the_loop_and_lead_takes_it_out():
    for delay in (0.01, -0.01):
        record = simulate(frame(delayed(delay), specimen=SPRING, duration=20.0))
        error = np.diff(record.measured - record.command)
        energy = np.sum(0.5 * (record.force[1:] + record.force[:-1]) * error)
        assert math.copysign(1.0, energy) == math.copysign(1.0, delay)
    motion = [np.ptp(simulate(frame(delayed(d), Kick(), duration=8.0)).command[6144:]) for d in (-0.004, 0, 0.004)]
    assert motion[0] < motion[1] < motion[2]


def test_instability_tells_when():
    test = frame(delayed(0.08), specimen=SPRING, duration=40.0, stroke=0.05)
    with pytest.raises(HybridInstability, match=r"0\.05 m at \d+\.\d+ s") as caught:
        simulate(test)
    free = simulate(replace(test, stroke=1e6, duration=10.0))
    first = np.argmax(np.abs(free.command) >= 0.05)
    assert caught.value.time == pytest.approx(free.time[first], abs=1e-12)
    assert isinstance(caught.value, ArithmeticError)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.time) == (str(caught.value), caught.value.time)


def test_no_infinity_comes_back_however_fast_it_diverges():
    test = frame(delayed(0.4), specimen=LinearSpring(4e7), sample_rate=512.0, duration=600.0, stroke=1e300)
    with pytest.raises(HybridInstability):
        simulate(test)


@pytest.mark.parametrize("limit", [math.inf, 0.002])
def test_frame_in_the_computer_is_the_frame_in_the_rig(limit):
    inside, outside = Frame(MASS, STIFFNESS, DAMPING, limit, 0.1), Frame(MASS, 0.0, DAMPING)
    records = [
        simulate(HybridTest(structure, specimen, RIGHT, SHAKEN, duration=6.0))
        for structure, specimen in (
            (inside, LinearSpring(0.0)),
            (outside, ElastoplasticSpring(STIFFNESS, limit, 0.1)),
        )
    ]
    np.testing.assert_array_equal(records[0].command, records[1].command)
    assert np.max(np.abs(records[0].command)) > 0.003


def test_harmonic_truth_is_what_the_signals_show():
    record = simulate(frame(Schedule(((0.0, ActuatorState(0.9, 0.004, 0.01)),)), duration=40.0))
    late = record.time >= 20.0
    wave = np.exp(-2j * np.pi * 1.1 * record.time[late])
    ratio = np.sum(np.hanning(late.sum()) * wave * record.measured[late]) / np.sum(
        np.hanning(late.sum()) * wave * record.command[late]
    )
    assert record.frequency == 1.1
    assert record.true_ratio[-1] == pytest.approx(1.0 / abs(ratio), rel=1e-5)
    assert record.true_phase[-1] == pytest.approx(np.angle(ratio), abs=1e-5)
    assert record.true_delay[-1] == pytest.approx(-np.angle(ratio) / (2.0 * np.pi * 1.1), abs=2e-6)
    assert record.true_phase[-1] < 0.0 < record.true_delay[-1]


def test_other_excitations_have_no_true_frequency():
    record = simulate(frame(excitation=BandNoise(rms=0.3, low=0.5, high=4.0, seed=2), duration=2.0))
    assert record.frequency is None
    for truth in (record.true_ratio, record.true_phase, record.true_delay):
        assert truth.shape == record.time.shape and np.all(np.isnan(truth))


def test_the_benchmark_plant_stands_in_for_the_schedule():
    specimen = LinearSpring(2e3)
    record = simulate(frame(TransferChain((BenchmarkPlant(),)), specimen=specimen, sample_rate=4096.0, duration=4.0))
    hold = 0.5 / 4096.0
    expected = np.interp(1.1, [1.0, 5.0], [0.02496, 0.02274]) + hold
    assert record.true_delay[0] == pytest.approx(expected, abs=1e-4)
    np.testing.assert_allclose(record.force, specimen.stiffness * record.measured, rtol=1e-12)


def test_noise_is_measured_but_does_not_move_the_specimen():
    noisy = Schedule(((0.0, ActuatorState(noise=1e-4)),))
    quiet, record = simulate(frame(duration=8.0)), simulate(frame(noisy, duration=8.0))
    np.testing.assert_array_equal(record.force, quiet.force)
    assert np.std(record.measured - quiet.measured) == pytest.approx(1e-4, rel=0.03)


def test_seeds_reproduce():
    test = frame(Schedule(((0.0, ActuatorState(noise=1e-4)),)), duration=1.0)
    first, again, other = simulate(test), simulate(test), simulate(replace(test, seed=2))
    np.testing.assert_array_equal(first.measured, again.measured)
    assert np.all(first.measured != other.measured)


def test_records_are_plain_contiguous_arrays():
    record = simulate(frame(duration=2.5, sample_rate=200.0))
    for name in ("time", "command", "measured", "force", "true_ratio", "true_phase", "true_delay"):
        values = getattr(record, name)
        assert values.shape == (500,) and values.dtype == np.float64 and values.flags.c_contiguous
        assert values.flags.writeable
    np.testing.assert_allclose(record.time, np.arange(500) / 200.0, rtol=1e-15)
    assert (record.command[0], record.measured[0], record.force[0]) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("build", "word"),
    [
        (lambda: Frame(0.0, 1.0), "frame mass 0.0"),
        (lambda: Frame(1.0, -1.0), "frame stiffness -1.0"),
        (lambda: Frame(1.0, 1.0, math.nan), "frame damping nan"),
        (lambda: Frame(1.0, 1.0, yield_displacement=-1.0), "yield displacement -1.0"),
        (lambda: Frame(1.0, 1.0, hardening=-0.1), "frame hardening -0.1"),
        (lambda: frame(sample_rate=math.nan), "test sample_rate nan"),
        (lambda: frame(sample_rate=5.0), "test sample_rate 5.0: must be over 5.4"),
        (lambda: frame(duration=0.0), "test duration 0.0"),
        (lambda: frame(duration=1e-5), "test duration 1e-05: must be a sample or more"),
        (lambda: frame(stroke=-1.0), "test stroke -1.0"),
    ],
)
def test_settings_out_of_range_are_refused_in_one_line(build, word):
    with pytest.raises(ValueError, match=f"^{word}[^\n]*$"):
        build()
