"""The loop of the laboratory: many tests at once, pace, coupling, compensators, and what is refused."""

import math
import pickle
import re
from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np
import pytest

from replay.formats.ground_motion import GroundMotion
from sim.excitation import Earthquake, Harmonic, Loading, SeparateExcitations
from sim.laboratory.elements import Dashpot, ElastoplasticSpring, LinearSpring, ParallelElements, SeparateElements
from sim.laboratory.integrators import ChenRicles, ExplicitNewmark, KolayRicles, RosenbrockW
from sim.laboratory.loop import HybridInstability, HybridLoop, LoopRecord
from sim.laboratory.specimens import ChangingElement, MRDamper
from sim.laboratory.structure import Springs, Structure, classical_damping
from sim.laboratory.transfer import Delay, Gain, Lag, Noise, SeparateActuators, TransferChain

PAGE = Path(__file__).parents[2] / "docs" / "laboratory.md"
MASS, DAMPING, STIFFNESS = 1000.0, 600.0, 8e4
SHAKEN = Harmonic(amplitude=0.4, frequency=1.1, ramp=0.5)
ONE = Structure(MASS, DAMPING, STIFFNESS)
COLUMNS = [field.name for field in fields(LoopRecord)]


def loop(**settings):
    settings = {
        "structure": ONE, "specimen": LinearSpring(4e4), "excitation": SHAKEN, "dt": 1.0 / 256.0, "duration": 3.0,
    } | settings  # fmt: skip
    return HybridLoop(**settings)


def test_the_example_of_the_documentation_runs():
    code = re.search(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL).group(1)
    names = {}
    exec(code, names)
    record = names["record"]
    assert record.command.shape == record.measured.shape == record.force.shape == (10240, 1)
    assert record.displacement.shape == (10240, 2)
    np.testing.assert_array_equal(record.command[:, 0], record.displacement[:, 0])
    np.testing.assert_allclose(record.force, 5e4 * record.command, rtol=1e-14)
    assert np.max(np.abs(record.displacement[:, 1] - record.displacement[:, 0])) > 0.002


def test_every_argument_of_the_loop_is_in_the_documentation():
    table = PAGE.read_text().partition("argument of `HybridLoop`")[2].partition("\n\n")[0]
    named = [name for row in table.splitlines()[2:] for name in re.findall(r"`(\w+)`", row.split("|")[1])]
    assert sorted(named) == sorted(field.name for field in fields(HybridLoop))


def test_the_example_of_a_compensator_follows_the_command():
    code = next(
        block for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL) if "by_name" in block
    )
    names = {}
    exec(code, names)
    record, late = names["record"], replace(names["loop"], compensator=None).run()
    # once it has adapted
    errors = [np.max(np.abs(each.measured - each.command)[-2048:]) for each in (record, late)]
    assert errors[0] < 1e-3 * errors[1]


@pytest.mark.parametrize("integrator", [ExplicitNewmark(), ChenRicles(), KolayRicles(), RosenbrockW()], ids=repr)
def test_draws_are_the_single_tests(integrator):
    motions = tuple(Earthquake(rms=0.5, seed=seed) for seed in (1, 2, 3))
    stiffness, delays = np.array([3e4, 5e4]), np.array([0.004, 0.010, 0.007])
    masses = np.array([900.0, 1100.0])
    springs = Springs(ElastoplasticSpring(2e4, 0.004), ((0, None),))
    together = loop(
        structure=Structure(masses[:, None, None, None], DAMPING, STIFFNESS, springs=(springs,)),
        specimen=LinearSpring(stiffness[:, None, None]),
        excitation=motions,
        transfer=TransferChain((Delay(delays[:, None]), Lag(0.002))),
        integrator=integrator,
        draws=(2, 3),
    ).run()
    assert together.command.shape[1:] == (2, 3, 1)
    for i in range(2):
        for j in range(3):
            alone = loop(
                structure=Structure(masses[i], DAMPING, STIFFNESS, springs=(springs,)),
                specimen=LinearSpring(stiffness[i]),
                excitation=motions[j],
                transfer=TransferChain((Delay(delays[j]), Lag(0.002))),
                integrator=integrator,
            ).run()
            for name in COLUMNS[1:]:
                found, wanted = getattr(together, name)[:, i, j], getattr(alone, name)
                np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12 * max(np.max(np.abs(wanted)), 1e-9))


def test_chunks_of_any_length_are_the_whole_record():
    test = loop(transfer=TransferChain((Delay(0.006),)), integrator=RosenbrockW())
    whole = test.run()
    for length in (1, 7, 10**6):
        pieces = list(test.chunks(length))
        for name in COLUMNS:
            np.testing.assert_array_equal(
                np.concatenate([getattr(piece, name) for piece in pieces]), getattr(whole, name)
            )


def test_sampled_forces_are_the_excitation_they_were_sampled_from():
    for integrator in (ExplicitNewmark(), RosenbrockW()):
        test = loop(integrator=integrator)
        time = np.arange(test.n_steps) * test.dt
        forces = ONE.ground_load(SHAKEN.sample(time))
        sampled = replace(test, excitation=forces).run()
        wanted = test.run()
        scale = np.max(np.abs(wanted.command))
        np.testing.assert_allclose(
            sampled.command, wanted.command, atol=1e-3 * scale if integrator.stages > 1 else 0.0
        )


def test_separate_excitations_are_the_forces_of_each_degree_of_freedom():
    masses, dt, n = np.array([1000.0, 400.0]), 1.0 / 256.0, 512
    structure = Structure(np.diag(masses), np.diag([600.0, 200.0]), np.diag([8e4, 3e4]))
    other = Harmonic(amplitude=-0.3, frequency=2.3, ramp=0.0)
    time = np.arange(n) * dt
    forces = -masses * np.column_stack([SHAKEN.sample(time), other.sample(time)])
    settings = {"structure": structure, "specimen": LinearSpring(1e4), "dt": dt, "duration": n * dt}
    separate, sampled = (
        HybridLoop(excitation=each, **settings).run() for each in (SeparateExcitations((SHAKEN, other)), forces)
    )
    np.testing.assert_allclose(separate.load, forces, rtol=1e-14)
    np.testing.assert_allclose(separate.displacement, sampled.displacement, rtol=1e-10, atol=1e-14)


def test_ground_motion_of_a_building_loads_every_floor_with_its_mass():
    mass = np.array([[1000.0, 50.0], [50.0, 800.0]])
    building = Structure(mass, 0.0, np.diag([1e5, 2e5]), influence=[1.0, 0.5])
    record = loop(structure=building).run()
    pattern = -mass @ [1.0, 0.5]
    np.testing.assert_allclose(record.load, SHAKEN.sample(record.time)[:, None] * pattern, rtol=1e-14)
    push = replace(SHAKEN, loading=Loading.FORCE)
    record = loop(structure=building, excitation=push).run()
    np.testing.assert_allclose(record.load, SHAKEN.sample(record.time)[:, None] * [1.0, 0.5], rtol=1e-14)


def test_coupled_actuators_move_with_the_structure_and_push_back_by_the_transpose():
    # two actuators carry a rigid block of a displacement and a rotation, at arms of 1.5 m and -0.5 m
    coupling = np.array([[1.0, 1.5], [1.0, -0.5]])
    block = Structure(np.diag([1000.0, 400.0]), np.diag([500.0, 100.0]), np.diag([1e4, 1e4]), influence=[1.0, 0.2])
    stiffness = np.array([3e4, 5e4])
    record = loop(structure=block, coupling=coupling, specimen=LinearSpring(stiffness), duration=4.0).run()
    np.testing.assert_allclose(record.command, record.displacement @ coupling.T, atol=1e-15)
    np.testing.assert_allclose(record.force, stiffness * record.command, rtol=1e-13)
    # the same block in one piece
    inside = replace(block, stiffness=block.stiffness + coupling.T @ np.diag(stiffness) @ coupling)
    whole = loop(structure=inside, specimen=LinearSpring(0.0), duration=4.0).run()
    scale = np.max(np.abs(whole.displacement))
    np.testing.assert_allclose(record.displacement, whole.displacement, atol=1e-10 * scale)
    assert np.max(np.abs(whole.displacement[:, 1])) > 0.1 * scale


def test_more_actuators_than_degrees_of_freedom_with_a_specimen_each():
    coupling = [[1.0], [-2.0]]
    pair = SeparateElements((LinearSpring(2e4), ParallelElements((LinearSpring(4e3), Dashpot(50.0)))))
    systems = SeparateActuators((TransferChain((Delay(0.004),)), TransferChain((Gain(0.9),))))
    record = loop(coupling=coupling, specimen=pair, transfer=systems).run()
    np.testing.assert_allclose(record.measured[:, 1], 0.9 * record.command[:, 1], rtol=1e-14)
    late = np.interp(record.time - 0.004, record.time, record.command[:, 0], left=0.0)
    np.testing.assert_allclose(record.measured[:, 0], late, atol=1e-3 * np.max(np.abs(late)))
    np.testing.assert_allclose(record.force[:, 0], 2e4 * record.position[:, 0], rtol=1e-14)


def test_perfect_transfer_ignores_pace_and_substeps_where_the_specimen_has_no_rate():
    spring = ElastoplasticSpring(4e4, 0.002, 0.1)
    wanted = loop(specimen=spring).run()
    for settings in ({"substeps": 4}, {"pace": 50.0}, {"substeps": 8, "pace": 10.0}):
        found = loop(specimen=spring, **settings).run()
        # a ramp from target to target is monotonic: the path of the spring is the same
        np.testing.assert_allclose(found.command, wanted.command, rtol=1e-12, atol=1e-15)


def test_a_delay_of_the_laboratory_shrinks_with_the_pace_and_a_dashpot_fades():
    delay = TransferChain((Delay(0.016),))
    real = loop(transfer=delay, substeps=4).run()
    slow = loop(transfer=delay, substeps=4, pace=64.0).run()
    perfect = loop().run()
    scale = np.max(np.abs(perfect.command))
    assert np.max(np.abs(slow.measured - slow.command)) < 0.05 * np.max(np.abs(real.measured - real.command))
    assert np.max(np.abs(slow.command - perfect.command)) < 0.01 * scale
    assert np.max(np.abs(real.command - perfect.command)) > 0.1 * scale
    # a second of the equations takes ten: the dashpot gives a tenth of its force
    damped = loop(specimen=Dashpot(3000.0), pace=10.0).run()
    tenth = loop(specimen=Dashpot(300.0)).run()
    np.testing.assert_allclose(damped.command, tenth.command, rtol=1e-9, atol=1e-12)


def test_a_ramp_of_substeps_arrives_at_the_target_with_the_actuators_lag():
    # a lag of straight pieces is exact in fine steps: the same ramp by hand
    test = loop(transfer=TransferChain((Lag(0.003),)), substeps=8)
    record = test.run()
    lagged, last, period = 0.0, 0.0, test.period
    decay = math.exp(-period / 0.003)
    for n in range(200):
        for part in range(1, 9):
            start = record.command[n - 1, 0] if n else 0.0
            command = start + part / 8.0 * (record.command[n, 0] - start)
            # the response to a straight piece: y = u - T u' + (y0 - u0 + T u') e^(-t/T)
            slope = (command - last) / period
            lagged = command - 0.003 * slope + (lagged - last + 0.003 * slope) * decay
            last = command
        assert record.measured[n, 0] == pytest.approx(lagged, abs=1e-12)


def test_stiffness_of_the_specimen_changes_in_mid_test():
    change = ChangingElement(LinearSpring(4e4), LinearSpring(1e4), at=1.5, ramp=0.0)
    record = loop(specimen=change).run()
    stiffness = np.where(record.time >= 1.5, 1e4, 4e4)[:, None]
    np.testing.assert_allclose(record.force, stiffness * record.position, rtol=1e-9, atol=1e-9)
    before = record.time < 1.5
    np.testing.assert_array_equal(record.command[before], loop().run().command[before])


@dataclass(frozen=True)
class Cubic:
    """A user's own spring: f = k x + k_3 x^3."""

    linear: float
    cubic: float
    stiffness: float

    def begin(self, dt, shape):
        return self

    def force(self, position, velocity):
        return self.linear * position + self.cubic * position**3


def test_an_element_of_the_users_own_in_the_rig_is_the_same_in_the_structure():
    cubic = Cubic(2e4, 1e9, 1.5e5)
    outside = loop(specimen=cubic).run()
    springs = (Springs(cubic, ((0, None),)),)
    inside = loop(structure=Structure(MASS, DAMPING, STIFFNESS, springs=springs), specimen=LinearSpring(0.0)).run()
    np.testing.assert_allclose(inside.command, outside.command, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(inside.spring_force, outside.force, rtol=1e-12, atol=1e-12)
    linear = loop(specimen=LinearSpring(2e4)).run()
    assert np.max(np.abs(linear.command - outside.command)) > 0.1 * np.max(np.abs(linear.command))


def test_an_mr_damper_calms_the_structure():
    free = loop(specimen=LinearSpring(0.0)).run()
    damped = loop(specimen=MRDamper(1.0)).run()
    assert np.max(np.abs(damped.command[384:])) < 0.5 * np.max(np.abs(free.command[384:]))


class Recorder:
    """Doubles the command, and keeps what it was shown."""

    def __init__(self):
        self.pairs = []

    def begin(self, dt, shape):
        self.dt, self.shape = dt, shape
        return self

    def compensate(self, command):
        return 2.0 * command

    def observe(self, command, measured):
        self.pairs.append((command.copy(), measured.copy()))


def test_a_compensator_changes_what_is_sent_and_sees_the_pairs_that_were_recorded():
    recorder = Recorder()
    record = loop(compensator=recorder, transfer=TransferChain((Gain(0.5),)), draws=(3,)).run()
    assert (recorder.dt, recorder.shape) == (1.0 / 256.0, (3, 1))
    np.testing.assert_array_equal(record.sent, 2.0 * record.command)
    np.testing.assert_allclose(record.measured, record.command, rtol=1e-14)
    commands, measured = (np.array(column) for column in zip(*recorder.pairs, strict=True))
    np.testing.assert_array_equal(commands, record.command)
    np.testing.assert_array_equal(measured, record.measured)


def test_lost_samples_are_nan_for_the_compensator_alone():
    recorder = Recorder()
    record = loop(compensator=recorder, sample_loss=0.3, draws=(4,), transfer=TransferChain((Gain(0.5),))).run()
    seen = np.array([measured for _, measured in recorder.pairs])
    lost = np.isnan(seen)
    assert np.mean(lost) == pytest.approx(0.3, abs=0.03)
    np.testing.assert_array_equal(seen[~lost], record.measured[~lost])
    assert not np.any(np.isnan(record.measured))


def test_only_the_tests_that_diverge_end():
    delays = np.array([0.001, 0.08, 0.002, 0.12])
    late = loop(transfer=TransferChain((Delay(delays[:, None]),)), draws=(4,), stroke=0.02, duration=12.0).run()
    ends = late.diverged_at
    np.testing.assert_array_equal(np.isnan(ends), [True, False, True, False])
    for draw in (0, 2):
        alone = loop(transfer=TransferChain((Delay(delays[draw]),)), stroke=0.02, duration=12.0).run()
        np.testing.assert_allclose(late.command[:, draw], alone.command, rtol=1e-9, atol=1e-14)
    for draw in (1, 3):
        with pytest.raises(
            HybridInstability, match=r"^command 0 beyond the stroke of 0\.02 m at \d+\.\d+ s"
        ) as caught:
            loop(transfer=TransferChain((Delay(delays[draw]),)), stroke=0.02, duration=12.0).run()
        assert caught.value.time == pytest.approx(ends[draw], abs=1e-12)
        after = late.time >= ends[draw]
        for name in COLUMNS[1:]:
            assert np.all(np.isnan(getattr(late, name)[after, draw]))
            assert np.all(np.isfinite(getattr(late, name)[~after, draw]))
        again = pickle.loads(pickle.dumps(caught.value))
        assert (str(again), again.time) == (str(caught.value), caught.value.time)


def test_a_stream_gives_what_came_before_the_end_and_names_the_actuator():
    test = loop(
        structure=Structure(np.diag([MASS, MASS]), DAMPING, STIFFNESS), transfer=SeparateActuators((TransferChain(),
        TransferChain((Delay(0.08),)))), stroke=0.02, duration=12.0,
    )  # fmt: skip
    rows = []
    with pytest.raises(HybridInstability) as caught:
        rows += test.chunks(100)
    assert caught.value.actuator == 1
    rows = []
    with pytest.raises(HybridInstability):
        for piece in test.chunks(100):
            rows.append(piece)
    assert sum(len(piece.time) for piece in rows) == round(caught.value.time * 256.0)


def test_no_warning_and_no_infinity_however_fast_it_diverges():
    record = loop(
        specimen=LinearSpring(4e7), dt=1e-3, transfer=TransferChain((Delay(0.4),)), draws=(2,), duration=60.0
    )
    ends = record.run().diverged_at
    assert np.all(ends < 60.0)


def test_a_seed_gives_the_same_noise_and_losses_again():
    def signals(seed):
        seen = Recorder()
        noisy = TransferChain(sensor=(Noise(1e-6),))
        record = loop(transfer=noisy, compensator=seen, sample_loss=0.5, seed=seed).run()
        return record.measured, np.isnan([measured for _, measured in seen.pairs])

    (first, lost), (same, same_lost), (other, other_lost) = map(signals, (1, 1, 2))
    np.testing.assert_array_equal(first, same)
    np.testing.assert_array_equal(lost, same_lost)
    assert np.all(first != other) and np.any(lost != other_lost) and 0.4 < np.mean(lost) < 0.6


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: Structure(0.0, 1.0, 1.0),
            "structure mass matrix with an eigenvalue of 0 kg: it is singular or negative",
        ),
        (
            lambda: Structure([[1.0, 1.0], [1.0, 1.0]], 0.0, 1.0),
            r"structure mass matrix with an eigenvalue of \S+ kg: it is singular or negative",
        ),
        (
            lambda: Structure(-1000.0, 0.0, 1.0),
            "structure mass matrix with an eigenvalue of -1e\\+03 kg: it is singular or negative",
        ),
        (lambda: Structure(np.ones((2, 3)), 0.0, 1.0), r"structure mass of shape \(2, 3\): give a square matrix"),
        (lambda: Structure([1.0, 2.0], 0.0, np.eye(3)), "structure stiffness of 3 degrees of freedom beside a mass"),
        (lambda: Structure([1.0, 2.0], math.nan, 1.0), "structure damping: a number of its matrix is not finite"),
        (lambda: Structure([1.0, 2.0], 0.0, 1.0, influence=[1.0]), r"structure influence of shape \(1,\): give 2"),
        (
            lambda: Structure(1.0, 0.0, 1.0, springs=(Springs(LinearSpring(1.0), ((1, None),)),)),
            "spring between 1 and None: dof 1 is not one of 0 to 0",
        ),
        (lambda: classical_damping([1.0], [-1.0], 0.05), "stiffness matrix with an eigenvalue of -1: "),
        (lambda: loop(structure=MASS), "loop structure is a float: give a Structure"),
        (lambda: loop(specimen=4e4), r"loop specimen is a float: give an element such as LinearSpring\(5e4\)"),
        (lambda: loop(transfer=0.01), r"loop transfer is a float: give a transfer system such as TransferChain\("),
        (lambda: loop(transfer=Delay(0.01)).run(), r"loop transfer is one part, Delay: give TransferChain\(\(Delay"),
        (lambda: loop(integrator=KolayRicles), "loop integrator is the class KolayRicles: give an integrator such"),
        (lambda: loop(compensator="fdb"), r"loop compensator is a str: give settings such as by_name\('fdb', nomin"),
        (
            lambda: loop(compensator=lambda dt, shape: Recorder()),
            "loop compensator is a function: give settings such as by_name",
        ),
        (
            lambda: loop(excitation=GroundMotion(np.zeros(5), 100.0)),
            r"loop excitation is a GroundMotion: give Recorded\(acceleration=motion.acceleration, sample_rate=",
        ),
        (
            lambda: loop(excitation=[0.0, 1.0]),
            r"loop excitation is a list: give an excitation such as Harmonic\(...\), a tuple of them, or an array",
        ),
        (lambda: loop(excitation=(SHAKEN, None), draws=(2,)), "loop excitation is a NoneType: give an excitation"),
        (lambda: loop(dt=0.0), "loop dt 0.0: must be a positive number"),
        (lambda: loop(duration=1e-4), "loop duration 0.0001: must be a time step of 0.00390625 s or more"),
        (
            lambda: loop(dt=0.2),
            "loop dt 0.2 s: must be at most 0.1826 s, the limit of ExplicitNewmark for the highest ",
        ),
        (lambda: loop(substeps=0), "loop substeps 0: must be 1 or more"),
        (lambda: loop(pace=-1.0), "loop pace -1.0: must be a positive number"),
        (lambda: loop(stroke=0.0), "loop stroke 0.0: must be positive"),
        (lambda: loop(sample_loss=1.0), "loop sample_loss 1.0: must be from 0 to less than 1"),
        (
            lambda: loop(coupling=[[1.0, 0.0]]),
            r"loop coupling of shape \(1, 2\): give \(actuators, 1\) finite numbers",
        ),
        (
            lambda: loop(excitation=SeparateExcitations((SHAKEN, SHAKEN))),
            "2 separate excitations for 1 degrees of freedom",
        ),
        (lambda: SeparateExcitations((SHAKEN, 1.0)), "separate excitations: give an excitation such as"),
        (
            lambda: SeparateExcitations((SHAKEN, replace(SHAKEN, loading=Loading.FORCE))),
            "separate excitations of ground and force",
        ),
        (lambda: loop(excitation=(SHAKEN, SHAKEN)), "2 excitations for 1 draws: give one for each"),
        (lambda: loop(excitation=np.zeros((5, 1))), r"excitation of shape \(5, 1\): give forces of \(768, 1\)"),
        (
            lambda: loop(excitation=(SHAKEN, replace(SHAKEN, loading=Loading.FORCE)), draws=(2,)),
            "excitations of ground and force in one loop: give an array of forces",
        ),
        (
            lambda: loop(excitation=np.full((768, 1), math.nan)).run(),
            "load at 0 s is not a finite number: correct the excitation",
        ),
        (
            lambda: loop(transfer=TransferChain((Delay(5.0),))),
            "transfer delay 5.0: must be shorter than the run, 3 s",
        ),
        (
            lambda: loop(structure=Structure(np.full((3, 1, 1), MASS), DAMPING, STIFFNESS)),
            r"structure of shape \(3,\) in a loop of \(\): they must broadcast to it",
        ),
        (
            lambda: loop(specimen=LinearSpring(np.ones((3, 1))), draws=(2,)),
            r"specimen of shape \(3, 1\) in a loop of \(2, 1\): they must broadcast to it",
        ),
        (
            lambda: loop(
                structure=Structure(MASS, 0.0, 0.0, springs=(Springs(LinearSpring(np.ones(2)), ((0, None),)),))
            ),
            r"springs of shape \(2,\) in a loop of \(1,\): they must broadcast to it",
        ),
    ],
)
def test_mistakes_are_refused_in_one_line(build, message):
    with pytest.raises(ValueError, match=f"^{message}[^\n]*$"):
        build()


def test_an_unconditionally_stable_integrator_has_no_limit_of_the_step():
    record = loop(dt=0.2, integrator=ChenRicles(), duration=20.0).run()
    assert np.max(np.abs(record.command)) < 0.05


def test_negative_damping_of_the_structure_is_allowed():
    grown = loop(structure=Structure(MASS, -200.0, STIFFNESS), duration=10.0).run()
    assert np.max(np.abs(grown.command[-256:])) > 1.5 * np.max(np.abs(loop(duration=10.0).run().command[-256:]))


def test_classical_damping_gives_each_mode_its_ratio():
    mass = np.diag([1000.0, 800.0, 500.0])
    stiffness = np.array([[3e5, -1e5, 0.0], [-1e5, 2e5, -1e5], [0.0, -1e5, 1e5]])
    ratios = np.array([0.02, 0.05, 0.08])
    damping = classical_damping(mass, stiffness, ratios)
    system = np.block(
        [[np.zeros((3, 3)), np.eye(3)], [-np.linalg.solve(mass, stiffness), -np.linalg.solve(mass, damping)]]
    )
    roots = np.linalg.eigvals(system)
    roots = roots[roots.imag > 0.0]
    roots = roots[np.argsort(np.abs(roots))]
    np.testing.assert_allclose(-roots.real / np.abs(roots), ratios, rtol=1e-9)
