"""HDF5 files of other programs, and MATLAB's MAT files of version 7.3."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest
import scipy.io

import replay.formats.table_recording
from replay.formats import RecordingError, Selection, inspect_recording, open_recording
from tests.replay.column_files import samples
from tests.replay.test_mat import RATE, xpc
from tests.replay.written_formats import NAMES, TIMES, UNITS, matlab_73, run_samples, written

MATLABS_OWN = Path(scipy.io.matlab.__file__).parent / "tests" / "data" / "testhdf5_7.4_GLNX86.mat"


def test_units_are_symbols_and_unknown_ones_are_texts(tmp_path: Path) -> None:
    recording = open_recording(written(tmp_path, "hdf5"))
    assert {c.name: c.unit for c in recording.stream.channels} == dict(zip(NAMES, UNITS, strict=True))
    with h5py.File(tmp_path / "u.h5", "w") as file:
        for name, unit in (
            ("cmd", "inches"),
            ("meas", "flurbs per fortnight"),
            ("load", "kilonewton"),
            ("v", "mm/s^2"),
        ):
            file[name] = np.arange(10.0)
            file[name].attrs["units"] = unit
    found = open_recording(tmp_path / "u.h5", Selection(rate=5.0))
    assert [(c.name, c.unit) for c in found.stream.channels] == [
        ("cmd", "in"),
        ("load", "kN"),
        ("meas", "flurbs per fortnight"),
        ("v", "mm/s^2"),
    ]


def test_columns_and_rate_from_attributes(tmp_path: Path) -> None:
    values = np.random.default_rng(1).standard_normal((80, 3))
    with h5py.File(tmp_path / "a.h5", "w") as file:
        made = file.create_dataset("daq/block", data=values)
        made.attrs["channel_names"] = ["command", "measured", "force"]
        made.attrs["units"] = ["mm", "mm", "kN"]
        file["daq"].attrs["sample_rate"] = 256
    recording = open_recording(tmp_path / "a.h5")
    assert [(c.name, str(c.role), c.unit) for c in recording.stream.channels] == [
        ("command", "command", "mm"),
        ("measured", "measured", "mm"),
        ("force", "force", "kN"),
    ]
    assert recording.stream.sample_rate == 256.0
    np.testing.assert_array_equal(samples(recording), values)


def test_a_dataset_is_chosen_or_its_columns_are(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "d.h5", "w") as file:
        for number, rate in (("1", 100.0), ("2", 200.0)):
            file[f"run{number}/t"] = np.arange(50) / rate
            file[f"run{number}/x"] = np.arange(50) * 1.0
            file[f"run{number}/y"] = np.arange(50) * 2.0
        file["config/gains"] = np.arange(4.0)
    path = tmp_path / "d.h5"
    asked = r"which column is the command.*--dataset NAME; there are config/gains, run1, run2"
    with pytest.raises(RecordingError, match=asked):
        open_recording(path)
    known, found = inspect_recording(path)
    assert known.name == "HDF5"
    assert [c.option_value for c in found.columns][:3] == ["gains", "run1/t", "run1/x"]
    by_name = open_recording(path, Selection(("run2/x",), ("run2/y",)))
    assert by_name.stream.sample_rate == 200.0
    for names in (("x", "y"), ("run1/x", "run1/y")):
        chosen = open_recording(path, Selection(names[:1], names[1:], dataset="/run1/"))
        assert chosen.stream.sample_rate == 100.0
    with pytest.raises(RecordingError, match=r"not sampled together: run1/x \(50 rows of run1, .*\), run2/y"):
        open_recording(path, Selection(("run1/x",), ("run2/y",)))


def test_what_was_never_written_is_reported(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "h.h5", "w") as file:
        for name in ("command", "measured"):
            made = file.create_dataset(name, (1000,), chunks=(100,), dtype=float)
            made[: 400 if name == "measured" else 1000] = 1.0
    notes = open_recording(tmp_path / "h.h5", Selection(rate=100.0)).notes
    assert "measured: 6 of its 10 chunks were never written, and read as its fill value" in notes


@pytest.mark.parametrize("name", ["hdf5", "hdf5-checked", "mat-7.3", "tdms", "parquet"])
def test_a_large_file_is_read_piece_by_piece(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, name)
    whole = open_recording(path)
    monkeypatch.setattr(replay.formats.table_recording, "_IN_MEMORY", 1000)
    monkeypatch.setattr(replay.formats.recordings, "_PIECE", 700)
    pieces = open_recording(path)
    assert (pieces.n_samples, pieces.duration, pieces.locate(1.0)) == (
        whole.n_samples,
        whole.duration,
        whole.locate(1.0),
    )
    for length, start in ((64, 0.0), (699, 0.5), (5000, 1.2345)):
        ours, theirs = (list(each.blocks(length, start)) for each in (pieces, whole))
        assert [(b.index, b.time) for b in ours] == [(b.index, b.time) for b in theirs]
        for mine, other in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(mine.samples, other.samples)


def test_structs_cells_and_texts_of_matlab(tmp_path: Path) -> None:
    """As Simulink's scopes save a structure with time."""
    signals = [{"values": v[:, None], "label": n} for n, v in zip(NAMES, run_samples().T, strict=True)]
    matlab_73(tmp_path / "s.mat", {"ScopeData": {"time": TIMES[:, None], "signals": signals}})
    known, found = inspect_recording(tmp_path / "s.mat")
    assert known.name == "MATLAB 7.3"
    assert {c.option_value for c in found.columns} == {"time", *NAMES}
    recording = open_recording(tmp_path / "s.mat")
    by_name = {c.name: at for at, c in enumerate(recording.stream.channels)}
    np.testing.assert_array_equal(samples(recording)[:, [by_name[n] for n in NAMES]], run_samples())


@pytest.mark.parametrize("n_rows", [4000, 5000])
def test_a_long_column_of_text_is_kept_as_events(tmp_path: Path, n_rows: int) -> None:
    rows = {0: "idle", 10: "ramp", n_rows - 1: "stop"}
    with h5py.File(tmp_path / "t.h5", "w") as file:
        file["time"], file["cmd"] = np.arange(n_rows) / 100.0, np.sin(np.arange(n_rows) / 50.0)
        file["meas"] = np.cos(np.arange(n_rows) / 50.0)
        file["state"] = [rows[max(row for row in rows if row <= k)] for k in range(n_rows)]
    found = open_recording(tmp_path / "t.h5").timed_events()
    assert [(event.detail, event.index) for event, _ in found] == [(f"state: {w}", k) for k, w in rows.items()]


@pytest.mark.parametrize("ats", [False, True])
def test_openfresco_on_an_xpc_target_in_version_7_3(ats: bool, tmp_path: Path) -> None:
    values, places = xpc(2, ats=ats)
    matlab_73(tmp_path / "x.mat", {"data": {"values": values}})
    recording = open_recording(tmp_path / "x.mat")
    assert recording.stream.sample_rate == RATE
    columns = [pair.measured for pair in recording.stream.pairs]
    np.testing.assert_array_equal(samples(recording)[:, columns], values[:, places["measured"]])


def test_the_fixed_format_of_pandas(tmp_path: Path) -> None:
    """The layout that `DataFrame.to_hdf` of pandas 3 writes, with an index of times, and of row numbers."""
    values = np.random.default_rng(2).standard_normal((50, 2))
    for name, index, rate in (("times", np.arange(50) / 40.0, 40.0), ("rows", np.arange(50), 8.0)):
        with h5py.File(tmp_path / f"{name}.h5", "w") as file:
            group = file.create_group("run")
            group["axis0"], group["block0_items"] = np.array([b"cmd", b"meas"]), np.array([b"cmd", b"meas"])
            group["axis1"], group["block0_values"] = index, values
            # PyTables keeps its indices beside the data
            file["_i_run/index/sortedLR"] = np.arange(50)
        recording = open_recording(tmp_path / f"{name}.h5", Selection(rate=None if name == "times" else rate))
        assert ("the index of the table is the time in s" in recording.notes) == (name == "times")
        assert [c.name for c in recording.stream.channels] == ["cmd", "meas"]
        assert recording.stream.sample_rate == rate
        np.testing.assert_array_equal(samples(recording), values)


def test_a_part_of_a_virtual_dataset_that_is_missing_is_reported(tmp_path: Path) -> None:
    layout = h5py.VirtualLayout((100,), float)
    for number in range(2):
        with h5py.File(tmp_path / f"part{number}.h5", "w") as file:
            file["x"] = np.arange(50.0)
        layout[50 * number : 50 * (number + 1)] = h5py.VirtualSource(f"part{number}.h5", "x", (50,))
    with h5py.File(tmp_path / "v.h5", "w") as file:
        file.create_virtual_dataset("command", layout)
        file["measured"] = np.arange(100.0)
    chosen = Selection(rate=100.0)
    np.testing.assert_array_equal(samples(open_recording(tmp_path / "v.h5", chosen))[:, 0], np.arange(100) % 50)
    (tmp_path / "part1.h5").unlink()
    notes = open_recording(tmp_path / "v.h5", chosen).notes
    assert "command: the file part1.h5 that holds a part of it is not there, and read as its fill value" in notes


def test_an_ensemble_of_responses_is_no_record(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "e.h5", "w") as file:
        file["time"], file["response"] = np.arange(20.0), np.zeros((20, 5000))
    with pytest.raises(RecordingError, match=r"e\.h5: is an ensemble .* give it to 'validate --model e\.h5'$"):
        open_recording(tmp_path / "e.h5")
    with h5py.File(tmp_path / "wide.h5", "w") as file:
        file["t"], file["a"] = np.arange(20.0), np.zeros((20, 5000))
    with pytest.raises(RecordingError, match="more than 4096 columns: this is no record of signals"):
        open_recording(tmp_path / "wide.h5")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({}, r"with no dataset: no array of numbers with two rows or more$"),
        ({"image": np.zeros((4, 5, 6))}, r"with datasets image \(4 x 5 x 6\): no array of numbers .*"),
        (
            {"a/x": np.arange(50.0) / 7, "a/y": np.cos(np.arange(50.0)), "b/z": np.zeros((80, 3)), "rig": "north"},
            r"with datasets a/x \(50\), a/y \(50\), b/z \(80 x 3\), rig \(one value\): which column is the command, "
            r".* name them with --command NAME --measured NAME; there are x, y, .* --dataset NAME; there are a, b/z$",
        ),
        (
            {f"d{k}": np.arange(9.0) for k in range(8)},
            r"with datasets d0 \(9\), .* d5 \(9\) and 2 more: which column is the command.*",
        ),
    ],
)
def test_a_foreign_file_is_named_with_what_it_has_and_what_to_type(tmp_path, content, said) -> None:
    path = tmp_path / "foreign.h5"
    with h5py.File(path, "w") as file:
        file.attrs["dt"] = 0.01
        for name, value in content.items():
            file[name] = value
    with pytest.raises(RecordingError, match=rf"^{path}: an HDF5 file of another program, {said}"):
        open_recording(path)
