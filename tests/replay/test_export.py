"""What is exported is what was recorded, as the readers of the formats themselves see it."""

from __future__ import annotations

import csv
import tracemalloc
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from scipy.io import loadmat

from monitor.messages.blocks import Channel, Role, SignalBlock, Stream
from monitor.recording import RunWriter
from monitor.recording.layout import SeriesRows
from monitor.system.csv_text import TIME_LABEL, csv_label
from monitor.system.files import WriteError
from replay.assessment import assess
from replay.assessment.run import record_settings
from replay.export import EXPORT_FORMATS, export
from replay.export.contents import ExportColumn, RunContents, SeriesTable
from replay.export.csv_files import selection_of
from replay.export.target_files import TargetFiles
from replay.formats import RecordingError, Selection, open_recording
from replay.formats.columns import read_columns
from replay.formats.roles import choose_actuators
from tests.replay.exported_run import RATE, record, stored

EVERYTHING = Selection()


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return record(tmp_path / "run.h5")


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


@pytest.mark.parametrize("kind", EXPORT_FORMATS)
@pytest.mark.parametrize("start", [0.0, 1_763_000_000.125])
def test_what_is_exported_has_the_same_indicators(tmp_path, warm_kernels, kind, start):
    run = moved(tmp_path / "run.h5", start)
    done = export(run, kind, tmp_path / f"out{EXPORT_FORMATS[kind][0]}")
    assert not [path for path in done.paths if path.suffix == ".toml"]
    expected, found = indicators(run), indicators(done.paths[0])
    assert expected["fdb_delay"][0] == pytest.approx(0.013, abs=1e-4)
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        # the parser of text may be off by the last bit of a sample
        np.testing.assert_allclose(found[name], values, rtol=1e-6 if kind == "csv" else 0.0, atol=1e-9, err_msg=name)


def test_roles_that_names_do_not_tell_are_remembered_beside_the_file(tmp_path, warm_kernels):
    run = moved(tmp_path / "run.h5", 0.0, names=("alpha", "beta"))
    done = export(run, "csv", tmp_path / "out.csv")
    assert [path.name for path in done.paths] == ["out.csv", "out.csv.synchroscope.toml", "out-events.csv"]
    assert open_recording(done.paths[0]).stream.pairs == (
        replace(open_recording(run).stream.pairs[0], actuator="alpha"),
    )
    assert indicators(run) == indicators(done.paths[0])


@pytest.mark.parametrize("odd", ["Alpha", " alpha", "2"])
def test_columns_of_names_that_look_alike_are_told_apart(odd):
    channels = (
        Channel("alpha", Role.AUXILIARY),
        Channel(odd, Role.MEASURED, "mm", "x"),
        Channel("beta", Role.COMMAND, "mm", "x"),
        Channel("gamma", Role.FORCE, "N", "x"),
    )
    chosen = selection_of(channels)
    columns = read_columns([TIME_LABEL, *(csv_label(c.name, c.unit) for c in channels)], (), 5)
    actuators, _ = choose_actuators(columns[1:], chosen)
    assert [(a.command.position, a.measured.position, a.force.position) for a in actuators] == [(3, 2, 4)]


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
