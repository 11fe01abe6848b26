"""What is exported is what was recorded, as the readers of the formats themselves see it."""

from __future__ import annotations

import csv
import json
import math
import shutil
import subprocess
import tracemalloc
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import h5py
import numpy as np
import pyarrow.parquet as pq
import pytest
from mcap.reader import make_reader
from scipy.io import loadmat

from monitor.messages.alarms import AlarmAction, AlarmState, Severity, Transition
from monitor.messages.blocks import (
    Channel,
    Column,
    Event,
    EventKind,
    ResultBlock,
    ResultStream,
    Role,
    SignalBlock,
    Stream,
)
from monitor.recording import RunReader, RunWriter
from monitor.recording.rows import SeriesRows
from monitor.system.files import WriteError
from replay.assessment import assess
from replay.assessment.run import record_settings
from replay.export import EXPORT_FORMATS, export
from replay.export.contents import ExportColumn, RunContents, SeriesTable, unique_names
from replay.export.mat import variable_names, write_mat
from replay.export.target_files import TargetFiles
from replay.formats import RecordingError, Selection, open_recording

RATE = 128.0
CHANNELS = (
    Channel("north.command", Role.COMMAND, "mm", "north"),
    Channel("north.measured", Role.MEASURED, "mm", "north"),
    Channel("oil temp", Role.AUXILIARY, "°C"),
    Channel("time", Role.AUXILIARY),
)
COLUMNS = (Column("fdb_delay", "s", "north"), Column("fdb_ratio", "1", "north"))
TRANSITION = Transition(
    1,
    "north.fdb_delay.trip",
    Severity.TRIP,
    AlarmAction.OCCUR,
    AlarmState.NORMAL,
    AlarmState.UNACKNOWLEDGED,
    2.0,
    261,
    0.04,
    0.03,
    "s",
    "too late",
    "",
    "north",
    "fdb_delay",
)


EVERYTHING = Selection()


def _samples(n: int, seed: int = 0) -> np.ndarray:
    values = np.random.default_rng(seed).normal(size=(n, len(CHANNELS)))
    values[3, 2] = np.nan
    return values


def record(path: Path, start: float = 1_763_000_000.25, restart: float | None = None) -> Path:
    """Record 300 samples with a gap after 200, 30 rows of results and three events; then perhaps a restart."""
    writer = RunWriter(path, {"indicators": {"window": 1.0}, "name": "Prüfstand"})
    stream = Stream("rig", 7, RATE, CHANNELS)
    results = ResultStream("rig", 7, RATE, 10, COLUMNS)
    writer.signals(SignalBlock(stream, 5, start, _samples(200)))
    values = np.arange(60.0).reshape(30, 2)
    values[0] = np.nan
    writer.results(ResultBlock(results, 10, start + 5 / RATE, values))
    writer.signals(SignalBlock(stream, 215, start + 210 / RATE, _samples(100, 1)))
    writer.event(Event(EventKind.NOTE, start + 1.0, 133, 0, "=1+1, a note"))
    writer.event(Event(EventKind.GAP, start + 210 / RATE, 215, 10, ""))
    writer.event(Event.of_alarm(replace(TRANSITION, time=start + 2.0)))
    if restart is not None:
        writer.signals(SignalBlock(Stream("rig", 8, RATE, CHANNELS), 0, restart, _samples(50, 2), last=True))
    writer.close()
    return path


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return record(tmp_path / "run.h5")


def stored(path: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    with h5py.File(path) as file:
        group = file["signals"]
        return group["samples"][:], group["time"][:], group["epoch"][:], group["index"][:]


def rows(path: Path) -> tuple[list[str], list[list[str]]]:
    with path.open(encoding="utf-8", newline="") as file:
        head, *cells = csv.reader(file)
    return head, cells


def test_csv_has_every_digit(run, tmp_path):
    done = export(run, "csv")
    assert [path.name for path in done.paths] == ["run.csv", "run-results.csv", "run-events.csv"]
    assert (done.samples, done.results, done.events) == (300, 30, 3)
    head, cells = rows(done.paths[0])
    assert head == ["time [s]", "north.command [mm]", "north.measured [mm]", "oil temp [°C]", "time"]
    samples, time, _, _ = stored(run)
    read = np.array([[float(cell or "nan") for cell in row] for row in cells])
    np.testing.assert_array_equal(read, np.column_stack((time, samples)))
    head, cells = rows(done.paths[1])
    assert head == ["time [s]", "fdb_delay [s]", "fdb_ratio [-]"]
    assert cells[0][1:] == ["", ""]
    assert [float(cell) for cell in cells[-1][1:]] == [58.0, 59.0]
    head, cells = rows(done.paths[2])
    events = [dict(zip(head, row, strict=True)) for row in cells]
    assert [(e["kind"], e["count"], e["detail"]) for e in events[:2]] == [
        ("note", "0", "'=1+1, a note"),
        ("gap", "10", ""),
    ]
    assert (events[2]["alarm"], events[2]["value"], events[2]["by"]) == ("north.fdb_delay.trip", "0.04", "")
    assert float(events[0]["run_time"]) == pytest.approx(1.0)


def test_after_a_restart_another_csv_file_follows(tmp_path):
    done = export(record(tmp_path / "run.h5", 100.0, restart=0.0), "csv", tmp_path / "out.csv")
    assert [path.name for path in done.paths] == ["out.csv", "out-2.csv", "out-results.csv", "out-events.csv"]
    assert [len(rows(path)[1]) for path in done.paths] == [300, 50, 30, 3]
    assert float(rows(done.paths[1])[1][0][0]) == 0.0


def _motion(t):
    return np.sin(9.0 * t) + 0.3 * np.sin(23.0 * t)


def moved(path: Path, start: float, names: tuple[str, str] = ("x.command", "x.measured")) -> Path:
    """Record a motion of two frequencies, measured 13 ms late and 4 % too large, with a gap."""
    channels = tuple(
        Channel(name, role, "mm", "x") for name, role in zip(names, (Role.COMMAND, Role.MEASURED), strict=True)
    )
    t = np.arange(int(12.0 * RATE)) / RATE
    both = np.column_stack((_motion(t), 1.04 * _motion(t - 0.013)))
    writer = RunWriter(path, {"indicators": {"window": 2.0}})
    stream = Stream("rig", 1, RATE, channels)
    cut = len(t) // 2
    writer.signals(SignalBlock(stream, 0, start, both[:cut]))
    writer.signals(SignalBlock(stream, cut + 3, start + (cut + 3) / RATE, both[cut + 3 :]))
    writer.close()
    return path


def indicators(path: Path, selection: Selection = EVERYTHING) -> dict[str, tuple[float, float]]:
    recording = open_recording(path, selection)
    settings, _ = record_settings(recording, {"window": 2.0})
    found = assess(recording, settings)
    (pair,) = found.pairs
    return {name: (spread.median, spread.mean) for name, spread in pair.spreads.items()}


@pytest.mark.parametrize("kind", ["csv", "hdf5-1.8"])
@pytest.mark.parametrize("start", [0.0, 1_763_000_000.125])
def test_what_is_exported_has_the_same_indicators(tmp_path, warm_kernels, kind, start):
    run = moved(tmp_path / "run.h5", start)
    done = export(run, kind, tmp_path / f"out{EXPORT_FORMATS[kind][0]}")
    assert not [note for note in done.notes if "read it again" in note]
    expected, found = indicators(run), indicators(done.paths[0])
    assert expected["fdb_delay"][0] == pytest.approx(0.013, abs=1e-4)
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        # the parser of text may be off by the last bit of a sample
        np.testing.assert_allclose(found[name], values, rtol=0.0 if kind != "csv" else 1e-6, atol=1e-9, err_msg=name)


def test_roles_that_names_do_not_tell_are_given_as_options(tmp_path, warm_kernels):
    run = moved(tmp_path / "run.h5", 0.0, names=("alpha", "beta"))
    done = export(run, "csv", tmp_path / "out.csv")
    assert done.notes[-1] == "to read it again: out.csv --command 'alpha' --measured 'beta'"
    assert indicators(run) == indicators(done.paths[0], Selection(command=("alpha",), measured=("beta",)))


def test_parquet_has_units_and_roles(run):
    done = export(run, "parquet")
    assert [path.name for path in done.paths] == ["run.parquet", "run-results.parquet", "run-events.parquet"]
    table = pq.read_table(done.paths[0])
    assert table.column_names == ["time", "epoch", "index", "north.command", "north.measured", "oil temp", "time_2"]
    samples, time, epoch, index = stored(run)
    for name, values in zip(table.column_names, (time, epoch, index, *samples.T), strict=True):
        np.testing.assert_array_equal(table[name].to_numpy(), values)
    assert table.schema.field("oil temp").metadata[b"unit"].decode() == "°C"
    assert table.schema.field("north.measured").metadata == {
        b"name": b"north.measured",
        b"unit": b"mm",
        b"role": b"measured",
        b"actuator": b"north",
    }
    about = json.loads(table.schema.metadata[b"synchroscope"])
    assert (about["sample_rate"], about["every"], about["rig"], about["outcome"]) == (RATE, 10, "rig", "clean")
    assert about["settings"]["indicators"] == {"window": 1.0}
    assert len(about["version"]) >= 3


def test_pandas_reads_parquet(run):
    pandas = pytest.importorskip("pandas")
    paths = export(run, "parquet").paths
    signals, results, events = (pandas.read_parquet(path) for path in paths)
    np.testing.assert_array_equal(signals["north.command"], stored(run)[0][:, 0])
    assert math.isnan(results["fdb_delay"][0])
    assert list(events["kind"]) == ["note", "gap", "alarm"]
    assert events["alarm"][2] == "north.fdb_delay.trip"


def test_a_mat_file_has_vectors_and_structures(run):
    (path,) = export(run, "mat").paths
    found = loadmat(path, squeeze_me=True)
    samples, time, epoch, index = stored(run)
    np.testing.assert_array_equal(found["time"], time)
    for name, values in zip(("north_command", "north_measured", "oil_temp", "time_2"), samples.T, strict=True):
        np.testing.assert_array_equal(found[name], values)
    np.testing.assert_array_equal(found["numbers"]["epoch"][()], epoch)
    np.testing.assert_array_equal(found["numbers"]["index"][()], index)
    np.testing.assert_array_equal(found["results"]["fdb_ratio"][()][1:], np.arange(3.0, 60.0, 2.0))
    assert [tuple(row.tolist())[:4] for row in found["channels"][:3]] == [
        ("north_command", "north.command", "command", "mm"),
        ("north_measured", "north.measured", "measured", "mm"),
        ("oil_temp", "oil temp", "auxiliary", "°C"),
    ]
    assert [str(kind) for kind in found["events"]["kind"]] == ["note", "gap", "alarm"]
    assert float(found["run"]["sample_rate"]) == RATE
    assert json.loads(str(found["run"]["settings"]))["indicators"] == {"window": 1.0}


def test_names_are_valid_in_matlab():
    names = variable_names(["a.b", "a b", "2nd", "end", "_x", "größe", "", "time", "x" * 80], ["time"])
    assert names == ["a_b", "a_b_2", "x2nd", "xend", "x_x", "gr__e", "x", "time_2", "x" * 55]
    assert unique_names(["a", "a", "a_2"]) == ["a", "a_2", "a_2_2"]


def test_a_mat_file_of_more_than_2_gb_is_refused(tmp_path):
    stream = Stream("rig", 1, RATE, CHANNELS)
    signals = SeriesTable("signals", (), (1 << 31) // 24 + 1, lambda: iter(()))
    with (
        pytest.raises(ValueError, match=r"2.15 GB: .* hdf5-1.8"),
        TargetFiles(tmp_path / "out.mat", tmp_path / "run.h5") as files,
    ):
        write_mat(RunContents(stream, signals), files, lambda *_: None)
    assert not list(tmp_path.iterdir())


def messages(path: Path) -> dict[str, list[tuple[int, int, dict]]]:
    """Return log time, sequence and content of every message by topic, and check it against its schema."""
    found: dict[str, list[tuple[int, int, dict]]] = {}
    with path.open("rb") as file:
        for schema, channel, message in make_reader(file, validate_crcs=True).iter_messages():
            content = json.loads(message.data)
            assert (channel.message_encoding, schema.encoding) == ("json", "jsonschema")
            check(content, json.loads(schema.data))
            found.setdefault(channel.topic, []).append((message.log_time, message.sequence, content))
    return found


def check(content, schema):
    """Check content against what Foxglove supports of JSON schemas: one type each, and properties of objects."""
    kinds = {"object": dict, "number": (int, float), "integer": int, "string": str}
    assert isinstance(content, kinds[schema["type"]])
    for name, value in content.items() if isinstance(content, dict) else ():
        check(value, schema["properties"][name])


def test_mcap_has_a_message_a_sample(run):
    (path,) = export(run, "mcap").paths
    found = messages(path)
    samples, time, _, index = stored(run)
    assert {topic: len(of) for topic, of in found.items()} == {"/signals": 300, "/results": 30, "/events": 3}
    assert [number for _, number, _ in found["/signals"]] == index.tolist()
    np.testing.assert_allclose([1e-9 * at for at, _, _ in found["/signals"]], time, rtol=1e-15, atol=1e-9)
    contents = [content for _, _, content in found["/signals"]]
    assert [content["north"] for content in contents] == [
        {"command": command, "measured": measured} for command, measured in samples[:, :2].tolist()
    ]
    # JSON has no NaN
    assert contents[3]["auxiliary"] == {"time": samples[3, 3]}
    assert found["/results"][1][2] == {"north": {"fdb_delay": 2.0, "fdb_ratio": 3.0}}
    note, gap, alarm = (content for _, _, content in found["/events"])
    assert (note["level"], gap["level"], alarm["level"]) == (2, 3, 4)
    assert (note["message"], note["name"], gap["message"], alarm["message"]) == (
        "=1+1, a note",
        "note",
        "gap",
        "too late",
    )
    assert note["timestamp"]["sec"] == 1_763_000_001


def test_mcap_tells_units_roles_and_settings(run):
    (path,) = export(run, "mcap").paths
    with path.open("rb") as file:
        reader = make_reader(file)
        summary = reader.get_summary()
        (about,) = reader.iter_metadata()
    assert {schema.name for schema in summary.schemas.values()} == {
        "synchroscope.Signals",
        "synchroscope.Results",
        "foxglove.Log",
    }
    (signals,) = (channel for channel in summary.channels.values() if channel.topic == "/signals")
    assert json.loads(signals.metadata["north.measured"]) == {
        "name": "north.measured",
        "unit": "mm",
        "role": "measured",
        "actuator": "north",
    }
    assert about.name == "synchroscope"
    assert json.loads(about.metadata["settings"])["indicators"] == {"window": 1.0}
    assert about.metadata["clock"] == "of the publisher"
    assert float(about.metadata["sample_rate"]) == RATE


@pytest.mark.parametrize(("start", "restart"), [(-3.0, None), (100.0, 0.0)])
def test_times_that_mcap_cannot_have_count_from_the_first_sample(tmp_path, start, restart):
    """Times are unsigned, and viewers sort by them."""
    (path,) = export(record(tmp_path / "run.h5", start, restart), "mcap").paths
    found = messages(path)["/signals"]
    passed = [*range(200), *range(210, 310), *([] if restart is None else range(310, 360))]
    np.testing.assert_allclose([1e-9 * at for at, _, _ in found], np.array(passed) / RATE, atol=1e-8)


def test_hdf5_is_a_run_file_with_the_first_superblock(run, tmp_path):
    (path,) = export(run, "hdf5-1.8").paths
    # signature, then the version: HDF5 1.8 knows 0 to 2
    assert path.read_bytes()[:9] == b"\x89HDF\r\n\x1a\n\0"
    for one, other in zip(stored(path), stored(run), strict=True):
        np.testing.assert_array_equal(one, other)
    with RunReader(path) as new, RunReader(run) as old:
        assert not new.check().messages()
        assert new.events() == old.events()
        assert (new.stream, new.result_stream, new.settings, new.outcome, new.created) == (
            old.stream,
            old.result_stream,
            old.settings,
            old.outcome,
            old.created,
        )
        for one, other in zip(new.results(), old.results(), strict=True):
            np.testing.assert_array_equal(one, other)


def test_a_run_without_samples_and_a_table_are_exported_too(tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("t [s],u_c [mm],u_m [mm]\n" + "".join(f"{i / 100},{i},{2 * i}\n" for i in range(50)))
    for kind, (ending, _) in EXPORT_FORMATS.items():
        done = export(table, kind, tmp_path / f"out{ending}")
        assert (done.samples, done.results, done.events) == (50, 0, 0)
    np.testing.assert_array_equal(stored(tmp_path / "out.hdf5")[0], [[i, 2 * i] for i in range(50)])
    np.testing.assert_array_equal(loadmat(tmp_path / "out.mat")["u_m"][:, 0], 2 * np.arange(50))
    assert open_recording(tmp_path / "out.hdf5").stream.channels[1].role is Role.MEASURED


@pytest.mark.parametrize("kind", EXPORT_FORMATS)
def test_nothing_is_overwritten_unless_asked(run, tmp_path, kind):
    out = tmp_path / f"out{EXPORT_FORMATS[kind][0]}"
    last = export(run, kind, out).paths[-1]
    for path in tmp_path.glob("out*"):
        if path != last:
            path.unlink()
    last.write_bytes(b"mine")
    with pytest.raises(WriteError, match=f"{last.name} exists: .* --overwrite"):
        export(run, kind, out)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["run.h5", last.name])
    assert last.read_bytes() == b"mine"
    export(run, kind, out, overwrite=True)
    assert last.read_bytes() != b"mine"
    with pytest.raises(WriteError, match="is the recording itself"):
        export(run, kind, run, overwrite=True)


@pytest.mark.parametrize("kind", EXPORT_FORMATS)
def test_an_interrupted_export_leaves_nothing(run, tmp_path, kind):
    def stop(_task, done, _total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export(run, kind, tmp_path / f"out{EXPORT_FORMATS[kind][0]}", progress=stop)
    assert [path.name for path in tmp_path.iterdir()] == ["run.h5"]


def test_a_damaged_run_is_one_line(tmp_path):
    path = tmp_path / "run.h5"
    path.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))
    with pytest.raises(RecordingError) as caught:
        export(path, "csv")
    assert "\n" not in str(caught.value)
    assert [each.name for each in tmp_path.iterdir()] == ["run.h5"]


@pytest.mark.parametrize("kind", ["csv", "parquet", "mat", "hdf5-1.8"])
def test_memory_is_that_of_pieces(tmp_path, kind):
    """200 000 rows of 6 channels are 14 MB; a piece, 0.4 MB, and a column, 1.6 MB, are held a few times."""
    step = 5_000
    columns = tuple(ExportColumn(f"x{i}") for i in range(6))
    stream = Stream("rig", 1, RATE, tuple(Channel(c.name, Role.AUXILIARY) for c in columns))
    values = np.random.default_rng(1).normal(size=(step, 6))
    ending, where = EXPORT_FORMATS[kind]
    module, name = where.split(":")
    write = getattr(import_module(module), name)
    reports: list[tuple[str, int, int]] = []

    def write_rows(n_rows: int) -> None:
        def pieces():
            for first in range(0, n_rows, step):
                index = np.arange(first, first + step)
                yield SeriesRows(values, index / RATE, np.ones(step, np.int64), index)

        contents = RunContents(stream, SeriesTable("signals", columns, n_rows, pieces), offsets={1: 0.0})
        with TargetFiles(tmp_path / f"{n_rows}{ending}", tmp_path / "run.h5") as files:
            write(contents, files, lambda *report: reports.append(report))

    # imports what is imported at the first use
    write_rows(step)
    reports.clear()
    tracemalloc.start()
    try:
        write_rows(200_000)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 6e6
    assert [done for _, done, _ in reports] == list(range(step, 200_001, step))
    assert {total for _, _, total in reports} == {200_000}


@pytest.fixture
def octave():
    program = shutil.which("octave-cli") or shutil.which("octave")
    if program is None:
        pytest.skip("octave is not installed")

    def evaluate(code: str) -> str:
        done = subprocess.run(
            [program, "--no-gui", "-q", "-W", "--eval", code], capture_output=True, text=True, timeout=120
        )
        assert "error while reading" not in done.stderr, done.stderr
        return done.stdout

    return evaluate


@pytest.mark.parametrize("kind", ["recorded", "recovered", "hdf5-1.8"])
def test_octave_loads_run_files(octave, run, tmp_path, kind):
    from monitor.recording.recovery import recover

    path = {
        "recorded": lambda: run,
        "recovered": lambda: recover(run, tmp_path / "new.h5").path,
        "hdf5-1.8": lambda: export(run, "hdf5-1.8").paths[0],
    }[kind]()
    out = octave(
        f"s = load('-hdf5', '{path}'); printf('%s|', strtrim(s.lists.channel_name(2,:)), "
        "strtrim(s.lists.channel_unit(3,:)), s.outcome); printf('%.17g|', size(s.signals.samples), "
        "s.signals.samples(1,1), s.results.values(2,30), s.signals.time(300));"
    )
    samples, time, _, _ = stored(run)
    outcome = "recovered" if kind == "recovered" else "clean"
    assert out.split("|")[:3] == ["north.measured", "°C", outcome]
    assert [float(text) for text in out.split("|")[3:-1]] == [4.0, 300.0, samples[0, 0], 59.0, time[299]]


def test_octave_loads_mat_files(octave, run):
    (path,) = export(run, "mat").paths
    out = octave(
        f"s = load('{path}'); printf('%s|', s.channels(2).name, s.events(3).kind, s.run.rig); "
        "printf('%.17g|', size(s.north_command), s.oil_temp(300), s.results.fdb_ratio(30), s.run.sample_rate);"
    )
    assert out.split("|")[:3] == ["north.measured", "alarm", "rig"]
    assert [float(text) for text in out.split("|")[3:-1]] == [300.0, 1.0, stored(run)[0][299, 2], 59.0, RATE]
