"""MAT files of versions 4 and 5: MATLAB's own, and OpenFresco's layout on an xPC target."""

from __future__ import annotations

import struct
import warnings
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import scipy.io

from replay.formats import RecordingError, Selection, inspect_recording, open_recording
from replay.formats.mat import check_elements
from tests.replay.column_files import samples

MATLABS_OWN = Path(scipy.io.matlab.__file__).parent / "tests" / "data"
needs_matlabs_own = pytest.mark.skipif(not MATLABS_OWN.is_dir(), reason="scipy is installed without its tests")
RATE = 1024.0


@needs_matlabs_own
@pytest.mark.parametrize(
    "release", ["4.2c_SOL2", "6.1_SOL2", "6.5.1_GLNX86", "7.1_GLNX86", "7.4_GLNX86", "hdf5_7.4_GLNX86"]
)
def test_a_vector_that_matlab_wrote(release: str) -> None:
    """MATLAB's line 0:pi/4:2*pi, by the readme of scipy's files."""
    path = MATLABS_OWN / f"test{'' if release.startswith('hdf5') else 'double_'}{release}.mat"
    with pytest.raises(RecordingError, match="no column of times: name it with --time NAME or give --rate HZ"):
        open_recording(path)
    recording = open_recording(path, Selection(rate=10.0))
    assert [c.name for c in recording.stream.channels] == ["testdouble"]
    np.testing.assert_array_equal(samples(recording)[:, 0], np.arange(9) * np.pi / 4)


_ONLY_SCIPY_REFUSES = {"bad_miutf8_array_name", "corrupted_zlib_data", "debigged_m4"}


@needs_matlabs_own
def test_what_scipy_reads_is_accepted_and_no_more_but_for_three_files() -> None:
    def refuses(read: Callable[[Path], object], path: Path) -> bool:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                read(path)
            except Exception:  # noqa: BLE001  scipy raises anything
                return True
        return False

    files = sorted(MATLABS_OWN.glob("*.mat"))
    assert len(files) > 100
    apart = {path.stem for path in files if refuses(scipy.io.loadmat, path) != refuses(check_elements, path)}
    assert apart == _ONLY_SCIPY_REFUSES


@pytest.mark.parametrize("packed", [False, True])
def test_no_wrong_type_of_an_element_reaches_scipy(packed: bool, tmp_path: Path) -> None:
    """The type is the first word of each tag: of 0 to 23 and 2^k only those of its kind are accepted."""
    cells = np.array([np.arange(3.0), "text", {"a": 1 + 2j}], dtype=object)
    scipy.io.savemat(tmp_path / "x.mat", {"x": np.arange(5.0), "cells": cells})
    whole = (tmp_path / "x.mat").read_bytes()
    (tmp_path / "whole.mat").write_bytes(whole)
    check_elements(tmp_path / "whole.mat")
    accepted = set()
    for at in range(128, len(whole) - 8, 8):
        for kind in (*range(24), *(1 << k for k in range(5, 32))):
            changed = whole[:at] + struct.pack("<I", kind) + whole[at + 4 :]
            if packed:
                content = zlib.compress(changed[128:])
                changed = whole[:128] + struct.pack("<II", 15, len(content)) + content
            (tmp_path / "x.mat").write_bytes(changed)
            try:
                check_elements(tmp_path / "x.mat")
            except (ValueError, zlib.error):
                continue
            # what is accepted is no danger: scipy reads it, or says why not
            accepted.add(kind)
            with suppress(Exception), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                scipy.io.loadmat(tmp_path / "x.mat")
    assert {5, 6, 9, 14} - {14 if packed else 0} <= accepted


@needs_matlabs_own
def test_a_matrix_and_a_vector_that_matlab_wrote_are_told_apart_by_length() -> None:
    """MATLAB's a = [1:5; 2 0 0 0 0; 3 0 0 0 0] and theta = 0:pi/4:2*pi."""
    known, found = inspect_recording(MATLABS_OWN / "testmulti_7.4_GLNX86.mat")
    assert known.name == "MATLAB"
    assert [c.name for c in found.columns] == ["a_1", "a_2", "a_3", "theta"]
    chosen = Selection(("theta",), ("theta",), rate=1.0)
    with pytest.raises(RecordingError, match="named twice"):
        open_recording(MATLABS_OWN / "testmulti_7.4_GLNX86.mat", chosen)
    apart = Selection(("a_1",), ("theta",), rate=1.0)
    with pytest.raises(RecordingError, match=r"not sampled together: a_1 \(5 rows of a\), theta \(9 rows of theta\)"):
        open_recording(MATLABS_OWN / "testmulti_7.4_GLNX86.mat", apart)
    recording = open_recording(MATLABS_OWN / "testmulti_7.4_GLNX86.mat", Selection(("a_1",), ("a_3",), rate=1.0))
    np.testing.assert_array_equal(samples(recording), [[1, 2, 3], [2, 0, 0], [3, 0, 0], [4, 0, 0], [5, 0, 0]])


@needs_matlabs_own
def test_no_file_that_matlab_wrote_ends_in_a_traceback() -> None:
    refused = 0
    for path in sorted(MATLABS_OWN.glob("*.mat")):
        try:
            inspect_recording(path)
        except RecordingError as problem:
            refused += 1
            assert "\n" not in str(problem)
    assert refused > 20


@needs_matlabs_own
@pytest.mark.parametrize("name", ["corrupted_zlib_checksum", "corrupted_zlib_data", "malformed1"])
def test_what_is_damaged_is_called_so(name: str) -> None:
    with pytest.raises(RecordingError, match="damaged or cut short, not readable as a MAT file"):
        open_recording(MATLABS_OWN / f"{name}.mat")


@pytest.mark.parametrize(
    ("given", "note"),
    [({"fs": 512.0}, "512 Hz"), ({"dt": 0.004}, "250 Hz"), ({"dt_ms": 4}, "250 Hz"), ({"SampleRate": 8}, "8 Hz")],
)
def test_a_rate_in_the_file_is_used_and_reported(given: dict[str, float], note: str, tmp_path: Path) -> None:
    values = {"cmd": np.arange(50.0), "meas": np.arange(50.0) - 1.0, **given}
    scipy.io.savemat(tmp_path / "r.mat", values)
    recording = open_recording(tmp_path / "r.mat")
    assert recording.stream.sample_rate == float(note.split()[0])
    assert f"no times: evenly spaced at {note}, as the file gives it" in recording.notes


def test_structs_of_runs_with_their_own_times_are_datasets(tmp_path: Path) -> None:
    def run(rate: float, n: int) -> dict[str, np.ndarray]:
        return {"time": np.arange(n) / rate, "command": np.arange(n) * 1.0, "measured": np.arange(n) * 2.0}

    path = tmp_path / "runs.mat"
    scipy.io.savemat(
        path, {"run1": run(100.0, 40), "run2": run(200.0, 40), "run3": run(50.0, 30), "note": "oil warm"}
    )
    with pytest.raises(RecordingError, match=r"3 datasets .* --dataset NAME; there are run1, run2, run3"):
        open_recording(path)
    for name, rate, n in (("run1", 100.0, 40), ("run2", 200.0, 40), ("run3", 50.0, 30)):
        recording = open_recording(path, Selection(dataset=name))
        assert (recording.stream.sample_rate, recording.n_samples) == (rate, n)
    by_columns = open_recording(path, Selection(("run2/command",), ("run2/measured",)))
    assert by_columns.stream.sample_rate == 200.0
    with pytest.raises(RecordingError, match="no dataset 'run9'; there are run1"):
        open_recording(path, Selection(dataset="run9"))


def test_a_matrix_by_rows_is_turned_and_reported(tmp_path: Path) -> None:
    values = np.vstack([np.arange(60) / 10.0, np.sin(np.arange(60)), np.cos(np.arange(60))])
    names = np.array(["t", "cmd", "fbk"], dtype=object)
    scipy.io.savemat(tmp_path / "m.mat", {"log": values, "names": names, "A": np.zeros((2, 3, 4))})
    recording = open_recording(tmp_path / "m.mat")
    assert recording.stream.sample_rate == 10.0
    np.testing.assert_array_equal(samples(recording), values[1:].T)
    assert "log: each of its 3 rows is a channel" in recording.notes
    assert "left out, not numbers by rows and columns: A (2 x 3 x 4)" in recording.notes


def xpc(dofs: int, *, ats: bool, n: int = 400) -> tuple[np.ndarray, dict[str, slice]]:
    """Return a matrix in OpenFresco's layout, and where its groups are."""
    widths = {"target": 1, "command": 1, "rate": 1, "acceleration": 1, "ats": int(ats), "signals": 2}
    widths |= {"measured": 1, "force": 1, "parameters": 4 * ats}
    places, at = {}, 0
    for name, width in widths.items():
        places[name] = slice(at, at + width * dofs)
        at += width * dofs
    rng = np.random.default_rng(dofs)
    values = rng.standard_normal((n, at + 6))
    state, flags = np.repeat([0, 3], n // 2), rng.integers(0, 2, (n, 3))
    values[:, at:] = np.column_stack([state, np.arange(n) % 10, flags, 5.0 + np.arange(n) / RATE])
    return values, places


@pytest.mark.parametrize(("dofs", "ats"), [(1, False), (1, True), (3, False), (2, True), (8, True)])
def test_openfresco_on_an_xpc_target_is_known_by_its_columns(dofs: int, ats: bool, tmp_path: Path) -> None:
    values, places = xpc(dofs, ats=ats)
    # MATLAB's struct array with one element: data(1).values
    data = np.array([(values,)], dtype=[("values", object)])
    scipy.io.savemat(tmp_path / "xpc.mat", {"data": data})
    recording = open_recording(tmp_path / "xpc.mat")
    stream, found = recording.stream, samples(recording)
    assert stream.sample_rate == RATE
    assert next(recording.blocks(1)).time == 5.0
    assert [p.actuator for p in stream.pairs] == [f"dof{k}" for k in range(1, dofs + 1)]
    for role, group in (("command", "command"), ("measured", "measured"), ("force", "force")):
        columns = [getattr(pair, role) for pair in stream.pairs]
        np.testing.assert_array_equal(found[:, columns], values[:, places[group]])
    (first, *_) = recording.notes
    freedom = f"{dofs} degree{'s' if dofs > 1 else ''} of freedom"
    assert (
        first == f"OpenFresco on an xPC target, {freedom}, {'with' if ats else 'without'} ATS; the units are unknown"
    )
    assert any("could also be more degrees" in note for note in recording.notes) == (dofs == 8)
    # the user's choice overrides: the target instead of the command
    name = "target" if dofs == 1 else "target_1"
    other = open_recording(tmp_path / "xpc.mat", Selection((name,), ("measured_displacement" + name[6:],)))
    (pair,) = other.stream.pairs
    np.testing.assert_array_equal(samples(other)[:, pair.command], values[:, 0])


def test_a_matrix_of_that_width_with_other_columns_is_no_such_recording(tmp_path: Path) -> None:
    values = np.random.default_rng(1).standard_normal((50, 14))
    scipy.io.savemat(tmp_path / "m.mat", {"data": np.array([(values,)], dtype=[("values", object)])})
    assert [c.name for c in inspect_recording(tmp_path / "m.mat")[1].columns][:2] == ["values_1", "values_2"]


def test_a_scope_of_simulink(tmp_path: Path) -> None:
    values = np.random.default_rng(4).standard_normal((60, 2))
    labelled = [(v[:, None], n) for n, v in zip(("ref", "meas"), values.T, strict=True)]
    signals = np.array(labelled, dtype=[("values", object), ("label", object)])
    scope = {"time": np.arange(60)[:, None] / 20.0, "signals": signals[None]}
    scipy.io.savemat(tmp_path / "s.mat", {"ScopeData": scope})
    recording = open_recording(tmp_path / "s.mat")
    assert [(c.name, str(c.role)) for c in recording.stream.channels] == [("ref", "command"), ("meas", "measured")]
    np.testing.assert_array_equal(samples(recording), values)


def test_a_matrix_without_names_begins_with_the_time(tmp_path: Path) -> None:
    t = np.arange(60) / 16.0
    values = np.column_stack([t, np.sin(t), np.cos(t)])
    scipy.io.savemat(tmp_path / "m.mat", {"data": values})
    recording = open_recording(tmp_path / "m.mat", Selection(("data_2",), ("data_3",)))
    assert recording.stream.sample_rate == 16.0
    assert "data_1 is the time in s" in recording.notes
    np.testing.assert_array_equal(samples(recording), values[:, 1:])
    # as a column of its own it is not asked for in a matrix of signals
    scipy.io.savemat(tmp_path / "s.mat", {"data": values[:, 1:], "fs": 16.0})
    assert len(open_recording(tmp_path / "s.mat", Selection(("data_1",), ("data_2",))).stream.channels) == 2
