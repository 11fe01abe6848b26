"""Indicators and reliability in a control loop of C and C++: the same bits as the monitor's, no allocation."""

from __future__ import annotations

import ctypes
import os
import platform
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from monitor.compensation.fixed_inverse import FixedInverse
from monitor.compensation.recursive_inverse import RecursiveInverse
from monitor.config import IndicatorSettings
from monitor.embedding.c_functions import compensator_struct, include_folder, reliability_struct, tracking_struct
from monitor.embedding.compensation import EmbeddedCompensator, step_compensator
from monitor.embedding.reliability import EmbeddedReliability
from monitor.embedding.tracking import EmbeddedTracking
from monitor.messages.reasons import REASONS, Reason
from monitor.reliability.tolerance import Tolerance, TolerancePolicy
from tests.monitor import test_embedding as python
from tests.needs import require

HERE = Path(__file__).parent
LANGUAGES = {"C99": ("cc", "-std=c99", "-x", "c"), "C++11": ("c++", "-std=c++11", "-x", "c++")}
STRICT = ("-Wall", "-Wextra", "-Wconversion", "-Werror", "-pedantic")
# as in the header
NOT_A_STATE, WRONG_LENGTH, WRONG_ROWS, WRONG_COLUMNS, WRONG_ARGUMENT = -1, -2, -3, -4, -5


def compiled(language, folder):
    compiler, *options = LANGUAGES[language]
    require(compiler)
    library = folder / "loop.so"
    source, include = HERE / "embedding_loop.c", f"-I{include_folder()}"
    subprocess.run(
        [compiler, *options, *STRICT, "-O2", "-shared", "-fPIC", include, "-o", library, source], check=True
    )
    return loaded(library)


def loaded(library):
    loop = ctypes.CDLL(str(library))
    loop.track.restype = loop.assess.restype = loop.compensate.restype = ctypes.c_int64
    return loop


@pytest.fixture(scope="module", params=LANGUAGES)
def loop(request, tmp_path_factory):
    return compiled(request.param, tmp_path_factory.mktemp("loop"))


def pointer(array):
    return None if array is None else ctypes.c_void_p(array.ctypes.data)


def run_tracking(loop, struct, signals, rows, n_pairs=1, n_columns=24, counter=None):
    sizes, run = (
        (ctypes.c_int64(n_pairs), ctypes.c_int64(n_columns)),
        (ctypes.c_int64(0), ctypes.c_int64(len(signals[0]))),
    )
    return loop.track(ctypes.byref(struct), *sizes, *map(pointer, signals), *run, pointer(rows), counter)


def run_reliability(loop, struct, measured, rows, counter=None):
    return loop.assess(ctypes.byref(struct), pointer(measured), ctypes.c_int64(len(measured)), pointer(rows), counter)


@pytest.mark.parametrize(("n_pairs", "every"), [(1, 1), (2, 3)])
def test_a_loop_gives_the_bits_of_the_indicators(loop, n_pairs, every):
    settings = IndicatorSettings(measures=python.MEASURES, window=0.5, every=every)
    embedded = EmbeddedTracking(settings, python.RATE, n_pairs, with_force=True)
    signals = python.record(n_pairs)
    expected = python.rows_of_indicators(settings, n_pairs, signals)
    rows, n_columns = np.empty_like(expected), expected.shape[1] // n_pairs
    assert run_tracking(loop, tracking_struct(embedded), signals, rows, n_pairs, n_columns) == len(expected)
    np.testing.assert_array_equal(rows, expected)


def test_the_reliability_has_the_bits_of_the_monitor(loop):
    ensemble, measured = python.model()
    tolerance = Tolerance(TolerancePolicy.ABSOLUTE, 0.2)
    embedded, rows = EmbeddedReliability(ensemble, tolerance, 2, 20), np.empty((len(measured), 8))
    n_assessed = run_reliability(loop, reliability_struct(embedded), measured, rows)
    assert n_assessed == np.isfinite(measured).all(axis=1).sum()
    np.testing.assert_array_equal(rows, python.rows_of_site(ensemble, tolerance, measured, 20))


def compensation():
    """Return settings of a compensator, and commands and measured signals of two actuators, some of them lost."""
    settings = RecursiveInverse(FixedInverse.of_delay(0.012, order=3))
    command, measured, _ = python.record(2)
    return settings, np.nan_to_num(command), measured


def run_compensator(loop, struct, command, measured, sent, rows, counter=None):
    sizes = ctypes.c_int64(command.shape[1]), ctypes.c_int64(len(command))
    signals = pointer(command), pointer(measured)
    return loop.compensate(ctypes.byref(struct), sizes[0], *signals, sizes[1], pointer(sent), pointer(rows), counter)


def test_a_compensator_sends_the_bits_of_python(loop):
    settings, command, measured = compensation()
    in_c, in_python = (EmbeddedCompensator(settings, python.RATE, 2) for _ in range(2))
    sent, rows, out, row = np.empty_like(command), np.empty((len(command), 12)), np.empty(2), in_python.new_row()
    assert run_compensator(loop, compensator_struct(in_c), command, measured, sent, rows) == 0
    for i, each in enumerate(command):
        assert step_compensator(in_python.state, each, measured[i], out, row) == 0
        np.testing.assert_array_equal(sent[i], out)
        np.testing.assert_array_equal(rows[i], row)
    first = np.full((1, 2), np.nan)
    fresh = EmbeddedCompensator(settings, python.RATE, 2)
    assert run_compensator(loop, compensator_struct(fresh), first, first, sent, rows) == WRONG_ARGUMENT


def test_states_are_used_by_threads_at_the_same_time(loop):
    settings = IndicatorSettings(measures=("fdb", "paei", "ti"), window=0.5)
    states = [EmbeddedTracking(settings, python.RATE) for _ in range(4)]
    # ctypes runs them without the interpreter's lock
    records = [[each.repeat(20, axis=0) for each in python.record(1, seed)] for seed in range(4)]
    results = [np.empty((len(signals[0]), 24)) for signals in records]
    with ThreadPoolExecutor(4) as pool:
        structs = map(tracking_struct, states)
        done = pool.map(run_tracking, [loop] * 4, structs, records, results)
        assert list(done) == [len(result) for result in results]
    for signals, result in zip(records, results, strict=True):
        np.testing.assert_array_equal(result, python.rows_of_indicators(settings, 1, signals))


@pytest.fixture
def tracking():
    return EmbeddedTracking(IndicatorSettings(measures=("fdb", "paei", "ti"), window=0.5), python.RATE)


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"version": 2}, NOT_A_STATE),
        ({"state": None}, NOT_A_STATE),
        ({"state": 4}, NOT_A_STATE),
        ({"n_words": 3}, NOT_A_STATE),
        ({"n_words": 999}, WRONG_LENGTH),
    ],
)
def test_a_loop_with_a_wrong_structure_does_not_start(loop, tracking, changed, code):
    struct, signals = tracking_struct(tracking), (np.zeros((1, 1)), np.zeros((1, 1)), None)
    for name, value in changed.items():
        setattr(struct, name, value + struct.state if (name, value) == ("state", 4) else value)
    assert run_tracking(loop, struct, signals, tracking.new_row()) == code


@pytest.mark.parametrize(("sizes", "code"), [((2, 24), WRONG_ROWS), ((1, 23), WRONG_COLUMNS)])
def test_a_loop_for_other_sizes_does_not_start(loop, tracking, sizes, code):
    signals = np.zeros((1, 2)), np.zeros((1, 2)), None
    assert run_tracking(loop, tracking_struct(tracking), signals, np.zeros(99), *sizes) == code


def test_columns_are_counted_for_one_pair(loop):
    embedded = EmbeddedTracking(IndicatorSettings(measures=("ti",), window=0.5), python.RATE, 2)
    struct = tracking_struct(embedded)
    assert (struct.n_pairs, struct.n_columns) == (2, 6)
    signals, rows = (np.zeros((1, 2)), np.zeros((1, 2)), None), np.zeros(12)
    assert run_tracking(loop, struct, signals, rows, 2, 12) == WRONG_COLUMNS
    assert run_tracking(loop, struct, signals, rows, 2, 6) == 1


def test_every_code_has_a_message(loop):
    loop.message.restype = ctypes.c_char_p
    messages = [loop.message(ctypes.c_int64(code)).decode() for code in range(-6, 2)]
    assert len(set(messages)) == 7
    assert messages[0] == "unknown code"
    assert messages[-2:] == ["no error", "no error"]
    assert "of one pair" in messages[WRONG_COLUMNS + 6]


def test_every_reason_has_its_word(loop):
    loop.reason.restype = ctypes.c_char_p
    words = {code: loop.reason(ctypes.c_double(code)).decode() for code in (-1.0, *Reason, max(Reason) + 1.0, np.nan)}
    assert {words.pop(code) for code in list(words) if code not in REASONS} == {"unknown reason"}
    assert words == {each: each.word for each in Reason}


def test_a_null_pointer_is_refused_at_each_step(loop, tracking):
    one, row = np.zeros((1, 1)), tracking.new_row()
    before = tracking.state.copy()
    assert run_tracking(loop, tracking_struct(tracking), (one, None, None), row) == WRONG_ARGUMENT
    assert run_tracking(loop, tracking_struct(tracking), (one, one, None), None) == WRONG_ARGUMENT
    np.testing.assert_array_equal(tracking.state, before)
    forced = EmbeddedTracking(IndicatorSettings(measures=("hsem",), window=0.5), python.RATE, with_force=True)
    assert run_tracking(loop, tracking_struct(forced), (one, one, None), row, 1, 5) == WRONG_ARGUMENT


def test_a_state_of_the_other_kind_is_refused(loop, tracking):
    ensemble, measured = python.model()
    embedded = EmbeddedReliability(ensemble, Tolerance(TolerancePolicy.ABSOLUTE, 0.2), 2)
    struct, rows = reliability_struct(embedded), np.empty((len(measured), 8))
    struct.state = tracking.state.ctypes.data
    assert run_reliability(loop, struct, measured, rows) == NOT_A_STATE


COUNTED = """
import ctypes, sys
import numpy as np
from tests.monitor import test_embedding as python, test_embedding_c as c
counter = ctypes.CDLL(None).embedding_allocations
loop = c.loaded(sys.argv[1])
settings = c.IndicatorSettings(measures=python.MEASURES, window=0.5)
embedded = c.EmbeddedTracking(settings, python.RATE, 2, with_force=True)
signals, n_columns = python.record(2), len(embedded.columns) // 2
rows = np.empty((len(signals[0]), len(embedded.columns)))
print(c.run_tracking(loop, c.tracking_struct(embedded), signals, rows, 2, n_columns, counter))
settings, command, measured = c.compensation()
compensator = c.compensator_struct(state := c.EmbeddedCompensator(settings, python.RATE, 2))
sent, rows = np.empty_like(command), np.empty((len(command), 12))
print(c.run_compensator(loop, compensator, command, measured, sent, rows, counter))
ensemble, measured = python.model()
reliability = c.EmbeddedReliability(ensemble, c.Tolerance(c.TolerancePolicy.ABSOLUTE, 0.2), 2, 20)
print(c.run_reliability(loop, c.reliability_struct(reliability), measured, np.empty((len(measured), 8)), counter))
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="counts the allocations of glibc")
def test_a_loop_allocates_nothing(tmp_path):
    loop = compiled("C99", tmp_path)
    counting = tmp_path / "counting.so"
    command = ["cc", "-O2", "-shared", "-fPIC", "-fno-builtin", "-o", counting, HERE / "embedding_allocations.c"]
    subprocess.run(command, check=True)
    environment = os.environ | {"LD_PRELOAD": str(counting), "PYTHONPATH": str(HERE.parents[1])}
    run = [sys.executable, "-c", COUNTED, loop._name]
    result = subprocess.run(run, env=environment, capture_output=True, text=True, check=True)
    assert result.stdout.split() == [str(python.N_SAMPLES), "0", "148"]
