"""NumPy's arrays, Parquet and JSON: times, units, roles, missing values, and what is no signal."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import scipy.io
from pyarrow import parquet

from monitor.messages.blocks import Role
from replay.formats import RecordingError, Selection, inspect_recording, open_recording
from tests.records import Records
from tests.replay.column_files import samples, write_columns


def as_json(path: Path, content: object) -> Path:
    path.write_text(json.dumps(content))
    return path


@pytest.mark.parametrize("name", ["npz", "mat"])
def test_a_shakers_record_in_another_file_is_that_of_its_text(tmp_path: Path, records: Records, name: str) -> None:
    chosen = Selection(("shaker_front_cmd_V",), ("laser_front_mm",), ("force_front_N",))
    for path in sorted(records.shaker.glob("*.csv")):
        header = path.read_text().splitlines()[0].split(",")
        values = np.loadtxt(path, delimiter=",", skiprows=1)
        other = write_columns(tmp_path, name, dict(zip(header, values.T, strict=True)))
        text, found = open_recording(path, chosen), open_recording(other, chosen)
        assert (found.stream.channels, found.stream.sample_rate) == (text.stream.channels, text.stream.sample_rate)
        np.testing.assert_array_equal(samples(found), samples(text))


def test_objects_in_an_npz_file_are_left_out_and_never_unpickled(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[object, ...]:
            return (pytest.fail, ("unpickled",))

    trap = np.array([Trap()], dtype=object)
    signals = {"command": np.arange(9.0), "measured": np.arange(9.0)}
    np.savez(tmp_path / "o.npz", **signals, trap=trap, z=np.zeros(9, complex), fs=10)
    notes = open_recording(tmp_path / "o.npz").notes
    assert "left out, not numbers by rows and columns: trap (objects), z (complex)" in notes
    np.save(tmp_path / "o.npy", trap)
    with pytest.raises(RecordingError, match="not readable as NumPy arrays"):
        open_recording(tmp_path / "o.npy")


@pytest.mark.parametrize("shape", [(0, 3), (50, 0), (0,)])
def test_an_array_without_rows_or_columns_is_left_out(tmp_path: Path, shape: tuple[int, ...]) -> None:
    empty, size = np.zeros(shape), " x ".join(map(str, shape))
    np.save(tmp_path / "a.npy", empty)
    scipy.io.savemat(tmp_path / "a.mat", {"a": empty})
    for name in ("a.npy", "a.mat"):
        with pytest.raises(RecordingError, match=r"no array of numbers with two rows or more; it holds a \(.*0"):
            open_recording(tmp_path / name)
    np.savez(tmp_path / "a.npz", a=empty, time=np.arange(9) / 10, command=np.arange(9.0), measured=np.arange(9.0))
    recording = open_recording(tmp_path / "a.npz")
    assert f"left out, not numbers by rows and columns: a ({size})" in recording.notes


def test_dates_of_numpy_are_times(tmp_path: Path) -> None:
    when = np.datetime64("2026-03-02T23:59:59", "ns") + np.arange(40) * np.timedelta64(50, "ms")
    np.savez(tmp_path / "d.npz", when=when, command=np.arange(40.0), measured=np.arange(40.0))
    recording = open_recording(tmp_path / "d.npz")
    assert recording.stream.sample_rate == 20.0
    assert next(recording.blocks(1)).time == 86399.0
    assert "the times of when count from 2026-03-02, 00:00 UTC" in recording.notes


def test_a_zip_file_without_arrays_is_no_recording(tmp_path: Path) -> None:
    import zipfile

    with zipfile.ZipFile(tmp_path / "x.xlsx", "w") as file:
        file.writestr("xl/workbook.xml", "<a/>")
    with pytest.raises(RecordingError, match="a workbook of Excel: save its sheet as CSV"):
        open_recording(tmp_path / "x.xlsx")


def test_missing_values_of_parquet_are_nan_and_other_types_are_left_out(tmp_path: Path) -> None:
    table = pa.table(
        {
            "t": pa.array(np.arange(30) * 20, pa.int64()),
            "command [mm]": pa.array([None if k == 7 else float(k) for k in range(30)]),
            "measured [mm]": pa.array(np.arange(30), pa.int16()),
            "valve": pa.array([k % 2 == 0 for k in range(30)]),
            "operator": ["nn"] * 30,
            "nested": [[1.0, 2.0]] * 30,
        }
    )
    fields = [f.with_metadata({"unit": "milliseconds"}) if f.name == "t" else f for f in table.schema]
    parquet.write_table(table.cast(pa.schema(fields)), tmp_path / "p.parquet")
    recording = open_recording(tmp_path / "p.parquet")
    assert recording.stream.sample_rate == 50.0
    assert [(c.name, c.unit) for c in recording.stream.channels] == [
        ("command", "mm"),
        ("measured", "mm"),
        ("valve", ""),
    ]
    found = samples(recording)
    assert np.flatnonzero(np.isnan(found).any(axis=1)).tolist() == [7]
    np.testing.assert_array_equal(found[:, 1:], np.column_stack([np.arange(30), np.arange(30) % 2 == 0]))
    (left,) = [note for note in recording.notes if note.startswith("left out")]
    assert "nested (list" in left
    assert [(event.detail, at) for event, at in recording.timed_events()] == [("operator: nn", 0.0)]


def test_an_index_of_pandas_is_the_time(tmp_path: Path) -> None:
    import pandas as pd

    frame = pd.DataFrame({"cmd": np.arange(30.0), "meas": -np.arange(30.0)}, index=np.arange(30) / 20.0)
    frame.to_parquet(tmp_path / "p.parquet")
    recording = open_recording(tmp_path / "p.parquet")
    assert recording.stream.sample_rate == 20.0
    assert "the index of the table is the time in s" in recording.notes
    frame.reset_index(drop=True).to_parquet(tmp_path / "r.parquet")
    with pytest.raises(RecordingError, match="no column of times"):
        open_recording(tmp_path / "r.parquet")


def test_roles_and_units_that_a_json_file_gives(tmp_path: Path) -> None:
    columns = [
        {"name": "a", "unit": "inches", "role": "measured", "actuator": "north"},
        {"name": "b", "unit": "in", "role": "command", "actuator": "north"},
        {"name": "c", "unit": "kip", "role": "force", "actuator": "north"},
        {"name": "d"},
    ]
    values = np.random.default_rng(2).standard_normal((20, 4))
    path = as_json(tmp_path / "r.json", {"dt": 0.05, "channels": columns, "samples": values.tolist()})
    recording = open_recording(path)
    assert [(c.name, c.role, c.unit, c.actuator) for c in recording.stream.channels] == [
        ("a", Role.MEASURED, "in", "north"),
        ("b", Role.COMMAND, "in", "north"),
        ("c", Role.FORCE, "kip", "north"),
        ("d", Role.AUXILIARY, "", ""),
    ]
    assert "command and measured as the file gives them: b and a" in recording.notes
    assert "no times: evenly spaced at 20 Hz, as the file gives it" in recording.notes
    np.testing.assert_array_equal(samples(recording), values)
    # the user's choice overrides the file
    (pair,) = open_recording(path, Selection(("d",), ("a",))).stream.pairs
    assert (pair.command, pair.measured) == (3, 0)


def test_json_by_records_by_channels_and_by_lines(tmp_path: Path) -> None:
    records = [
        {"when": f"2026-03-02T09:31:0{k // 10}.{k % 10}Z", "cmd": k, "meas": None if k == 3 else -k}
        for k in range(40)
    ]
    lines = "\n".join(map(json.dumps, records))
    for name in ("l.jsonl", "l.log"):
        (tmp_path / name).write_text(lines)
    channels = {
        "cmd": {"unit": "mm", "values": [r["cmd"] for r in records]},
        "meas": {"unit": "mm", "values": [r["meas"] for r in records]},
        "rate": 10,
    }
    for path in (
        as_json(tmp_path / "r.json", records),
        as_json(tmp_path / "d.json", {"schema": {"fields": ["when"]}, "data": records}),
        as_json(tmp_path / "c.json", channels),
        tmp_path / "l.jsonl",
        tmp_path / "l.log",
    ):
        recording = open_recording(path)
        assert [c.name for c in recording.stream.channels] == ["cmd", "meas"], path.name
        assert recording.stream.sample_rate == 10.0
        found = samples(recording)
        np.testing.assert_array_equal(found[:, 0], np.arange(40))
        assert np.flatnonzero(np.isnan(found[:, 1])).tolist() == [3]


def test_a_bare_matrix_has_numbered_columns(tmp_path: Path) -> None:
    values = np.column_stack([np.arange(20) / 4.0, np.sin(np.arange(20)), np.cos(np.arange(20))])
    path = as_json(tmp_path / "m.json", values.tolist())
    found = inspect_recording(path)[1]
    assert [c.name for c in found.columns] == ["column_1", "column_2", "column_3"]
    recording = open_recording(path, Selection(("2",), ("3",)))
    assert recording.stream.sample_rate == 4.0
    np.testing.assert_array_equal(samples(recording), values[:, 1:])


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ([[1, 2], [3]], "rows of the matrix are not equally long: 1 to 2"),
        ({"cmd": [1, 2, "x"], "meas": [1, 2, 3]}, "cmd has 'x' at row 3"),
        ({"cmd": "none"}, "no array of numbers with two rows or more"),
        ([], "no array of numbers"),
        ({"cmd": [1, 2, 3], "meas": [3, 4, 5]}, "no column of times: name it with --time NAME"),
    ],
)
def test_what_is_no_table_of_json_is_one_line(content: object, why: str, tmp_path: Path) -> None:
    path = as_json(tmp_path / "x.json", content)
    with pytest.raises(RecordingError, match=why) as found:
        open_recording(path)
    assert "\n" not in str(found.value)
    assert str(found.value).startswith(str(path))
    deep = tmp_path / "deep.json"
    for depth in (40, 5000):
        deep.write_text('{"a":' * depth + "1" + "}" * depth)
        with pytest.raises(RecordingError, match=r"nested deeper than 32 levels|damaged or cut short"):
            open_recording(deep)


def test_uneven_times_are_resampled_only_when_asked(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    times = np.sort(rng.uniform(0.0, 8.0, 900))
    times[0] = 0.0
    times = times[(times < 3.0) | (times > 4.0)]
    line = 2.0 * times + 1.0
    np.savez(tmp_path / "u.npz", time=times, command=line, measured=-line)
    uneven = r"time steps are not even: .* before row \d+.*--resample HZ to interpolate"
    with pytest.raises(RecordingError, match=uneven):
        open_recording(tmp_path / "u.npz")
    recording = open_recording(tmp_path / "u.npz", Selection(resample=50.0))
    assert recording.stream.sample_rate == 50.0
    assert any(note.startswith("resampled to 50 Hz by linear interpolation") for note in recording.notes)
    (gap,) = [note for note in recording.notes if "missing" in note]
    for block in recording.blocks(1000):
        at = block.time + np.arange(len(block)) / 50.0
        # a straight line is its own interpolation
        np.testing.assert_allclose(block.samples, np.column_stack([2.0 * at + 1.0, -2.0 * at - 1.0]), atol=1e-9)
        assert not np.any((at > 3.02) & (at < 3.98))
    assert "gaps longer" in gap
    text = tmp_path / "u.csv"
    np.savetxt(text, np.column_stack([times, line, -line]), "%.17g", ",", header="t,command,measured", comments="")
    np.testing.assert_array_equal(samples(open_recording(text, Selection(resample=50.0))), samples(recording))
    with pytest.raises(RecordingError, match=r"--resample 1e\+12: must be between"):
        Selection(resample=1e12)


@pytest.mark.parametrize(
    ("command", "measured", "factor"),
    [
        ("in", "mm", 1 / 25.4),
        ("mm", "in", 25.4),
        ("mm", "m", 1000.0),
        ("m/s2", "mm/s^2", 1e-3),
        # a pound-force is 4.4482216152605 N by definition
        ("kN", "kip", 4.4482216152605),
    ],
)
def test_a_measured_signal_is_converted_to_the_unit_of_its_command(
    command: str, measured: str, factor: float, tmp_path: Path
) -> None:
    values = np.random.default_rng(8).standard_normal((30, 2))
    columns = [{"name": "cmd", "unit": command}, {"name": "meas", "unit": measured}]
    recording = open_recording(as_json(tmp_path / "u.json", {"fs": 10, "columns": columns, "data": values.tolist()}))
    assert {c.unit for c in recording.stream.channels} == {command}
    assert f"meas is converted from {measured} to {command}, as its command is" in recording.notes
    np.testing.assert_allclose(samples(recording), values * [1.0, factor], rtol=1e-13)


@pytest.mark.parametrize(
    ("command", "measured"), [("V", "mm"), ("degC", "K"), ("mm", "flurb"), ("mm", "kN"), ("", "mm")]
)
def test_units_of_other_kinds_are_left_as_they_are(command: str, measured: str, tmp_path: Path) -> None:
    columns = [{"name": "cmd", "unit": command}, {"name": "meas", "unit": measured}]
    content = {"fs": 10, "columns": columns, "data": [[k, -k] for k in range(30)]}
    recording = open_recording(as_json(tmp_path / "u.json", content))
    np.testing.assert_array_equal(samples(recording)[:, 1], -np.arange(30.0))
    assert not any("converted" in note for note in recording.notes)
