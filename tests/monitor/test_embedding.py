"""Indicators and reliability in a control loop of Python and numba: the same bits as the monitor's, no allocation."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from numba import njit
from numba.core.runtime import _nrt_python, rtsys

from monitor.config import IndicatorSettings
from monitor.embedding.c_functions import include_folder
from monitor.embedding.reliability import EmbeddedReliability, step_reliability
from monitor.embedding.states import MAGIC, N_WORDS
from monitor.embedding.tracking import EmbeddedTracking, step_tracking
from monitor.indicators.tracking_pass import create_indicators
from monitor.reliability.ensemble import sort_ensemble
from monitor.reliability.site import SiteReliability
from monitor.reliability.tolerance import Tolerance, TolerancePolicy
from tests.needs import opensees_environment, require

RATE, N_SAMPLES = 256.0, 700
MEASURES = ("fdb", "paei", "paei_adaptive", "ti", "nrmse", "peak_error", "hsem")
NO_FORCE = np.empty(0)


def record(n_pairs, seed=0):
    """Return command, measured and force of a noisy motion with lost and absurd samples."""
    rng = np.random.default_rng(seed)
    t = np.arange(N_SAMPLES)[:, None] / RATE
    command = np.sin(2.0 * np.pi * (9.0 + np.arange(n_pairs)) * t) * (1.0 + 0.2 * np.sin(2.0 * t))
    command += 0.02 * rng.standard_normal(command.shape)
    measured = 0.9 * np.roll(command, 3, axis=0) + 0.01 * rng.standard_normal(command.shape)
    measured[rng.integers(0, N_SAMPLES, 2)] = np.nan
    command[rng.integers(0, N_SAMPLES), 0] = np.inf
    measured[7, -1] = 1e60
    return command, measured, 3.0 * measured + 0.1 * rng.standard_normal(command.shape)


def rows_of_indicators(settings, n_pairs, signals):
    """Return the rows (n_rows, n_pairs * n_columns) that the indicators give for the whole record."""
    command, measured, force = signals
    present = [
        each.update_block(command, measured, force if each.needs_force else None)
        for each in create_indicators(settings, RATE, n_pairs, with_force=True)
    ]
    present = [rows.reshape(len(rows), n_pairs, -1) for rows in present]
    return np.concatenate(present, axis=2).reshape(len(present[0]), -1)


def rows_of_steps(embedded, signals, start=0, stop=N_SAMPLES):
    row = embedded.new_row()
    return np.array(
        [
            row.copy()
            for number in range(start, stop)
            if step_tracking(embedded.state, *(signal[number] for signal in signals), number, row)
        ]
    )


@pytest.mark.parametrize(("n_pairs", "every"), [(1, 1), (2, 3)])
def test_steps_give_the_bits_of_the_indicators(n_pairs, every):
    settings = IndicatorSettings(measures=MEASURES, window=0.5, every=every)
    embedded = EmbeddedTracking(settings, RATE, n_pairs, with_force=True)
    signals = record(n_pairs)
    expected = rows_of_indicators(settings, n_pairs, signals)
    assert np.isfinite(expected).any(axis=0).all()
    np.testing.assert_array_equal(rows_of_steps(embedded, signals), expected)
    embedded.reset()
    np.testing.assert_array_equal(rows_of_steps(embedded, signals), expected)


def test_the_columns_of_a_pair_are_adjacent():
    embedded = EmbeddedTracking(IndicatorSettings(measures=("ti", "nrmse"), window=0.5), RATE, 2)
    names = ["ti", "ti_total", "ti_normalized", "ti_angle", "ti_angle_sd"]
    assert [column.name for column in embedded.columns if column.pair == 1][:5] == names
    assert [column.pair for column in embedded.columns] == [0] * 11 + [1] * 11
    assert len(embedded.new_row()) == 22


def test_a_result_is_found_by_its_name_and_pair():
    settings = IndicatorSettings(measures=("ti", "nrmse"), window=0.5)
    two, one = EmbeddedTracking(settings, RATE, 2), EmbeddedTracking(settings, RATE)
    assert (two.n_pairs, two.n_columns, len(two.columns)) == (2, 11, 22)
    for pair in range(2):
        assert two.columns[two.index("ti_angle", pair)] == ("ti_angle", pair)
    assert one.index("ti_angle") == one.index("ti_angle", 0) == 3
    for arguments, message in (
        (("ti_angle",), "ti_angle of which pair: there are 2: give pair=0 to 1"),
        (("ti_angle", 2), "pair = 2: must be 0 to 1"),
        (("ti_angle", -1), "pair = -1: must be 0 to 1"),
        (("fdb_delay", 0), "no result fdb_delay: these settings have ti, ti_total"),
    ):
        with pytest.raises(ValueError, match=message):
            two.index(*arguments)


def test_an_array_of_another_type_is_refused():
    embedded = EmbeddedTracking(IndicatorSettings(measures=("ti",), window=0.5), RATE)
    before, one, row = embedded.state.copy(), np.zeros(1), embedded.new_row()
    assert step_tracking(embedded.state, one.astype(np.float32), one, NO_FORCE, 0, row) == -5
    np.testing.assert_array_equal(embedded.state, before)
    assert np.isnan(row).all()
    ensemble, measured = model()
    reliability = EmbeddedReliability(ensemble, Tolerance(TolerancePolicy.ABSOLUTE, 0.2), 2)
    arrays = reliability.state, reliability.response, reliability.order
    assert step_reliability(*arrays, measured[0].astype(np.float32), 0, reliability.new_row()) == -5


def test_an_array_that_is_not_contiguous_is_refused():
    embedded = EmbeddedTracking(IndicatorSettings(measures=("ti",), window=0.5), RATE, 2)
    two, row = np.zeros(2), embedded.new_row()
    for spread in (np.zeros(4)[::2], np.zeros(2)[::-1]):
        assert step_tracking(embedded.state, spread, two, NO_FORCE, 0, row) == -5
    assert step_tracking(embedded.state, two, two, NO_FORCE, 0, np.zeros(2 * len(row))[::2]) == -5
    assert np.isnan(row).all()


def test_a_copy_of_the_state_continues_where_the_original_was(tmp_path):
    settings = IndicatorSettings(measures=("fdb", "paei", "ti"), window=0.5)
    embedded, signals = EmbeddedTracking(settings, RATE), record(1)
    before = rows_of_steps(embedded, signals, 0, 400)
    np.save(tmp_path / "state.npy", embedded.state)
    after = rows_of_steps(embedded, signals, 400)
    np.testing.assert_array_equal(np.concatenate([before, after]), rows_of_indicators(settings, 1, signals))
    other = EmbeddedTracking(settings, RATE)
    other.restore(np.load(tmp_path / "state.npy"))
    np.testing.assert_array_equal(rows_of_steps(other, signals, 400), after)


@pytest.mark.parametrize(
    ("changed", "rate"), [({"window": 0.25}, RATE), ({"taper": "hamming"}, RATE), ({"window": 1.0}, RATE / 2)]
)
def test_a_state_of_other_settings_is_not_restored(changed, rate):
    given = {"measures": ("fdb", "ti"), "window": 0.5}
    embedded = EmbeddedTracking(IndicatorSettings(**given), RATE)
    other = EmbeddedTracking(IndicatorSettings(**given | changed), rate)
    before = embedded.state.copy()
    with pytest.raises(ValueError, match="other settings"):
        embedded.restore(other.state)
    np.testing.assert_array_equal(embedded.state, before)


@pytest.mark.parametrize(
    ("settings", "keywords", "message"),
    [
        ({"measures": ("fdb", "broadband")}, {}, "measures broadband: evaluated over whole windows"),
        ({"measures": ("transfer",)}, {}, "measures transfer: evaluated over whole windows"),
        ({"measures": ("hsem",)}, {}, "measure hsem: needs the restoring force"),
        ({"measures": ("fdb",), "bandpass": (1.0, 20.0)}, {}, "bandpass: a control loop filters its own signals"),
        ({"measures": ("fdb",)}, {"n_pairs": 0}, "n_pairs = 0: must be 1 or more"),
        ({"measures": ("fdb",), "window": 0.001}, {}, "window = 0.001 s: must hold at least"),
        ({"measures": ("fdb",)}, {"sample_rate": np.inf}, "sample_rate = inf Hz: must be a positive number"),
    ],
)
def test_what_cannot_be_embedded_is_refused_at_construction(settings, keywords, message):
    with pytest.raises(ValueError, match=message):
        EmbeddedTracking(IndicatorSettings(**settings), **{"sample_rate": RATE} | keywords)


def test_a_step_with_a_wrong_state_or_size_returns_a_code_and_changes_nothing():
    embedded = EmbeddedTracking(IndicatorSettings(measures=("ti",), window=0.5), RATE, 2)
    two, one, row = np.zeros(2), np.zeros(1), embedded.new_row()
    before = embedded.state.copy()
    for arguments in ((one, two, NO_FORCE), (two, one, NO_FORCE)):
        assert step_tracking(embedded.state, *arguments, 0, row) == -5
    assert step_tracking(embedded.state, two, two, NO_FORCE, 0, row[1:].copy()) == -5
    assert step_tracking(embedded.state[:-1].copy(), two, two, NO_FORCE, 0, row) == -2
    assert step_tracking(embedded.state[:3].copy(), two, two, NO_FORCE, 0, row) == -1
    assert step_tracking(np.zeros(100), two, two, NO_FORCE, 0, row) == -1
    assert np.isnan(row).all()
    np.testing.assert_array_equal(embedded.state, before)
    assert step_tracking(embedded.state, two, two, NO_FORCE, 0, row) == 1


def test_a_force_is_needed_where_the_state_has_one():
    embedded = EmbeddedTracking(IndicatorSettings(measures=("hsem",), window=0.5), RATE, with_force=True)
    one = np.zeros(1)
    assert step_tracking(embedded.state, one, one, NO_FORCE, 0, embedded.new_row()) == -5


def test_a_python_loop_allocates_nothing():
    embedded = EmbeddedTracking(IndicatorSettings(measures=("fdb", "paei", "ti"), window=0.5), RATE)
    state, row, step = embedded.state, embedded.new_row(), step_tracking
    command, measured, _ = record(1)
    numbers = list(range(N_SAMPLES))
    c, m = np.empty(1), np.empty(1)
    references = [sys.getrefcount(each) for each in (state, c, m, row)]
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for number in numbers:
            c[0], m[0] = command[number, 0], measured[number, 0]
            step(state, c, m, NO_FORCE, number, row)
        # the loop variable
        assert tracemalloc.get_traced_memory()[0] - before < 200
    finally:
        tracemalloc.stop()
    assert [sys.getrefcount(each) for each in (state, c, m, row)] == references


@njit
def controller(state, command, measured, row, rows):
    """Loop over a record as a controller compiled by the user does."""
    n_rows = 0
    c, m, none = np.empty(1), np.empty(1), np.empty(0)
    for number in range(len(command)):
        c[0], m[0] = command[number], measured[number]
        if step_tracking(state, c, m, none, number, row) == 1:
            rows[n_rows] = row
            n_rows += 1
    return n_rows


@njit
def model_controller(state, response, order, measured, rows):
    for instant in range(len(measured)):
        step_reliability(state, response, order, measured[instant], instant, rows[instant])


def allocations_of(function, *arguments):
    """Call a compiled function and return its result and the number of allocations by numba."""
    _nrt_python.memsys_enable_stats()
    before = rtsys.get_allocation_stats().alloc
    result = function(*arguments)
    return result, rtsys.get_allocation_stats().alloc - before


def test_a_compiled_controller_gives_the_same_bits_and_allocates_nothing():
    settings = IndicatorSettings(measures=("fdb", "paei", "ti"), window=0.5, every=2)
    embedded, signals = EmbeddedTracking(settings, RATE), record(1)
    expected = rows_of_indicators(settings, 1, signals)
    rows, row = np.empty_like(expected), embedded.new_row()
    command, measured = (signal[:, 0].copy() for signal in signals[:2])
    n_rows, allocations = allocations_of(controller, embedded.state, command, measured, row, rows)
    assert n_rows == len(expected)
    # the views of its five arguments, and its own three arrays
    assert allocations == 5 + 3
    np.testing.assert_array_equal(rows, expected)


def model(n_times=150, n_realizations=60, n_replicates=2):
    rng = np.random.default_rng(5)
    time = 0.01 * np.arange(n_times)
    motion = np.sin(2.0 * np.pi * 1.5 * time)[:, None]
    ensemble = sort_ensemble(time, motion * (1.0 + 0.1 * rng.standard_normal(n_realizations)))
    measured = motion + 0.05 * rng.standard_normal((n_times, n_replicates))
    measured[[3, 70], 0] = np.nan
    return ensemble, measured


def tolerances(measured):
    yield Tolerance(TolerancePolicy.LITERAL, 0.3)
    yield Tolerance(TolerancePolicy.ABSOLUTE, 0.2)
    yield Tolerance(TolerancePolicy.VARYING, profile=np.linspace(0.1, 0.4, len(measured)))
    yield Tolerance(TolerancePolicy.PEAK, 0.1, np.array([1.0]))
    yield Tolerance.from_records(TolerancePolicy.FLOORED, 0.2, measured)


def rows_of_site(ensemble, tolerance, measured, window):
    site = SiteReliability(ensemble, tolerance, measured.shape[1], window)
    reliability = site.update(np.arange(len(measured)), measured).reliability
    return np.stack([each for curve in reliability.curves for each in (curve.value, curve.standard_error)], axis=1)


@pytest.mark.parametrize("n_replicates", [1, 3])
@pytest.mark.parametrize("window", [0, 20, 1000])
def test_the_reliability_has_the_bits_of_the_monitor(n_replicates, window):
    ensemble, measured = model(n_replicates=n_replicates)
    for tolerance in tolerances(measured):
        embedded = EmbeddedReliability(ensemble, tolerance, n_replicates, window)
        expected, rows = rows_of_site(ensemble, tolerance, measured, window), np.zeros((len(measured), 8))
        for instant, (values, row) in enumerate(zip(measured, rows, strict=True)):
            known = step_reliability(embedded.state, embedded.response, embedded.order, values, instant, row)
            assert known == np.isfinite(values).all()
        np.testing.assert_array_equal(rows, expected)


def test_the_reliability_in_a_compiled_controller_allocates_nothing():
    ensemble, measured = model()
    tolerance = Tolerance(TolerancePolicy.ABSOLUTE, 0.2)
    embedded, rows = EmbeddedReliability(ensemble, tolerance, 2, 20), np.zeros((len(measured), 8))
    arrays = embedded.state, embedded.response, embedded.order
    _, allocations = allocations_of(model_controller, *arrays, measured, rows)
    # the views of its arguments
    assert allocations == 5
    np.testing.assert_array_equal(rows, rows_of_site(ensemble, tolerance, measured, 20))
    assert embedded.columns[:2] == ("instantaneous", "instantaneous_se")


def test_an_instant_is_given_once_and_in_order():
    ensemble, measured = model()
    embedded = EmbeddedReliability(ensemble, Tolerance(TolerancePolicy.ABSOLUTE, 0.2), 2)
    arrays, row = (embedded.state, embedded.response, embedded.order), embedded.new_row()
    assert step_reliability(*arrays, measured[10], 10, row) == 1
    before = embedded.state.copy(), row.copy()
    for instant in (10, 9, -1, len(measured)):
        assert step_reliability(*arrays, measured[10], instant, row) == -5
    assert step_reliability(*arrays, measured[10][:1], 11, row) == -5
    assert step_reliability(embedded.state, embedded.response[:-1], embedded.order, measured[11], 11, row) == -5
    assert step_reliability(np.zeros(99), *arrays[1:], measured[11], 11, row) == -1
    np.testing.assert_array_equal(embedded.state, before[0])
    np.testing.assert_array_equal(row, before[1])


def test_a_state_of_another_model_or_tolerance_is_not_restored():
    ensemble, measured = model()
    profile = np.linspace(0.1, 0.4, len(measured))
    changed, response = profile.copy(), ensemble.response.copy()
    changed[75] += 1e-6
    response[75, 3] += 1e-6
    other_ensemble = sort_ensemble(ensemble.time, response)
    embedded, *others = (
        EmbeddedReliability(model, Tolerance(TolerancePolicy.VARYING, profile=allowed), 2)
        for model, allowed in ((ensemble, profile), (ensemble, changed), (other_ensemble, profile))
    )
    for other in others:
        assert other.state[[MAGIC, N_WORDS]].tobytes() == embedded.state[[MAGIC, N_WORDS]].tobytes()
        with pytest.raises(ValueError, match="other settings"):
            embedded.restore(other.state)


@pytest.mark.parametrize(
    ("keywords", "message"), [({"n_replicates": 0}, "0 replicates"), ({"window": -1}, "window of -1 instants")]
)
def test_a_reliability_with_a_bad_size_is_refused(keywords, message):
    with pytest.raises(ValueError, match=message):
        EmbeddedReliability(model()[0], Tolerance(TolerancePolicy.ABSOLUTE, 0.2), **keywords)


ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "embedding.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def activated():
    """Return the environment of a shell in which this Python's is activated."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return os.environ | {"PYTHONPATH": str(ROOT), "PATH": path}


def test_the_loops_in_python_numba_and_c(tmp_path, monkeypatch, capsys):
    require("cc")
    monkeypatch.chdir(tmp_path)
    Path("controller.c").write_text(blocks("c")[0])
    subprocess.run(["sh", "-e", "-c", blocks("sh")[0]], env=activated(), check=True)
    # one session, as the reader types it; the last block is the loop of OpenSees
    names = {}
    for block in blocks("python")[:-1]:
        exec(compile(block, "docs/embedding.md", "exec"), names)
    python, numba, compensated, c, reliability = capsys.readouterr().out.splitlines()
    assert python == "7.81 ms late"
    assert c == "4096 rows, 7.81 ms late"
    lead, late = map(float, re.findall(r"(-?[\d.]+) ms", numba))
    # of twelve samples, 11.72 ms: the lead of a first-order compensator is tan(omega delay) / omega
    omega = 6.0 * np.pi
    assert lead == pytest.approx(1e3 * np.tan(omega * 12 / 1024) / omega, rel=0.01)
    assert abs(late) < 0.05
    compensated_lead, left = map(float, re.findall(r"([\d.]+) (?:ms|of)", compensated))
    assert compensated_lead == pytest.approx(12000 / 1024, rel=0.01)
    assert left < 7616 / 1000
    # the tolerance is two standard deviations of the amplitude
    assert 0.9 < eval(reliability)["first_passage"] < 1.0


def test_a_program_in_c_embeds_the_interpreter(tmp_path):
    include, libraries = sysconfig.get_path("include"), sysconfig.get_config_var("LIBDIR")
    name = f"python{sysconfig.get_config_var('LDVERSION')}"
    require("cc")
    if not Path(include, "Python.h").exists() or not list(Path(libraries).glob(f"lib{name}.*")):
        pytest.skip("the header and library of Python are not installed (Debian: python3-dev)")
    program = tmp_path / "embed_in_c"
    options = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-O2", f"-I{include}", f"-I{include_folder()}"]
    libraries_of = [f"-L{libraries}", f"-Wl,-rpath,{libraries}", f"-l{name}", "-lm"]
    source = ROOT / "examples" / "embed_in_c.c"
    subprocess.run(["cc", *options, "-o", program, source, *libraries_of], check=True)
    more = {"PYTHONPATH": os.pathsep.join((str(ROOT), sysconfig.get_path("purelib")))}
    done = subprocess.run([program], env=activated() | more, capture_output=True, text=True, timeout=200)
    assert (done.stdout, done.stderr, done.returncode) == ("7.81 ms late\n", "", 0)


def test_a_loop_of_opensees_is_that_of_the_laboratory(tmp_path):
    environment = os.environ | {"PYTHONPATH": str(ROOT)} | opensees_environment()
    script = blocks("python")[-1] + '\nnp.save("displacement.npy", displacement)\n'
    run = [sys.executable, "-c", script]
    done = subprocess.run(run, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    assert "5.86 ms late" in done.stdout
    displacement = np.load(tmp_path / "displacement.npy")
    ours = laboratory(len(displacement))
    assert np.abs(displacement - ours).max() < 1e-11 * np.abs(ours).max()


def laboratory(n):
    """Return the displacements of the page's loop by our own parts."""
    from sim.laboratory.elements import LinearSpring
    from sim.laboratory.loop import HybridLoop
    from sim.laboratory.structure import Structure
    from sim.laboratory.transfer import Delay, TransferChain

    dt, mass, stiffness = 1 / 1024, 1000.0, 3e5
    damping = 2.0 * 0.10 * np.sqrt(stiffness / mass) * mass
    loop = HybridLoop(
        structure=Structure([[mass]], [[damping]], [[stiffness]]),
        specimen=LinearSpring(1e5),
        excitation=500.0 * np.sin(2.0 * np.pi * 2.0 * dt * np.arange(n + 1))[:, None],
        dt=dt,
        duration=n * dt,
        transfer=TransferChain(actuator=(Delay(6 * dt),)),
    )
    return loop.run().command[:, 0]
