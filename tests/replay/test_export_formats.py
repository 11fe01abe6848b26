"""Exported files as the reference libraries and programs of their formats see them."""

from __future__ import annotations

import json
import math
import re
import subprocess
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from mcap.reader import make_reader
from scipy.io import loadmat

from monitor.messages.blocks import Stream
from monitor.recording import RunReader
from replay.export import export
from replay.export.contents import RunContents, SeriesTable, unique_names
from replay.export.mat import variable_names, write_mat
from replay.export.target_files import TargetFiles
from tests.needs import program, require
from tests.replay.exported_run import CHANNELS, RATE, record, stored


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return record(tmp_path / "run.h5")


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
        "10 samples lost",
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


@pytest.fixture
def octave():
    require("octave")
    words = [program("octave-cli") or program("octave"), "--no-gui", "-q", "-W", "--eval"]

    def evaluate(code: str) -> str:
        done = subprocess.run([*words, code], capture_output=True, text=True, timeout=120)
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


def test_the_script_of_the_documentation_plots_results(octave, run):
    page = (ROOT / "docs" / "matlab.md").read_text()
    (script,) = re.findall(r"```matlab\n(run = load.*?)```", page, re.DOTALL)
    (path,) = export(run, "mat").paths
    # the run has FDB's delay alone, and Octave on a machine without a screen nothing that draws
    script = script.replace("run.mat", str(path)).replace("broadband", "fdb")
    nothing = "".join(f"function {name}(varargin) end; " for name in ("xlabel", "ylabel", "print"))
    out = octave(f"1; function plot(x, y) printf('%.17g ', x, y); end; {nothing}{script}")
    x, y = np.array(out.split(), dtype=float).reshape(2, -1)
    np.testing.assert_allclose(y[1:], 1e3 * np.arange(2.0, 60.0, 2.0))
    np.testing.assert_allclose(np.diff(x), 10 / RATE, atol=1e-6)


ROOT = Path(__file__).parents[2]


def test_foxgloves_reader_has_every_message(run):
    require("@mcap/core")
    (path,) = export(run, "mcap").paths
    done = subprocess.run(
        ["node", Path(__file__).with_name("read_mcap.cjs"), path], capture_output=True, text=True, check=False
    )
    assert not done.returncode, done.stderr
    found = json.loads(done.stdout)
    samples, time, _, _ = stored(run)
    signals, results, events = (found["topics"][topic] for topic in ("/signals", "/results", "/events"))
    assert (found["count"], found["metadata"]["synchroscope"]["rig"]) == (333, "rig")
    assert (found["records"]["Message"], found["records"]["DataEnd"]) == (333, 1)
    for position, (group, name) in enumerate(
        [("north", "command"), ("north", "measured"), ("auxiliary", "oil temp"), ("auxiliary", "time")]
    ):
        assert signals["schema"]["properties"][group]["properties"][name]["type"] == "number"
        read = [message[group].get(name, math.nan) for message in signals["messages"]]
        np.testing.assert_array_equal(read, samples[:, position])
    np.testing.assert_allclose([int(each) for each in signals["times"]], 1e9 * time, rtol=0.0, atol=300.0)
    assert results["messages"][0] == {"north": {}}
    assert results["messages"][-1] == {"north": {"fdb_delay": 58.0, "fdb_ratio": 59.0}}
    assert [(each["name"], each["message"]) for each in events["messages"]] == [
        ("note", "=1+1, a note"),
        ("gap", "10 samples lost"),
        ("alarm", "too late"),
    ]
