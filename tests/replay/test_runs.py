"""The catalogue of run files: rows, the index and its loss, filters, the command's output."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest

from monitor.__main__ import main
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
from monitor.messages.recordings import KEYS, RunRow
from monitor.recording import RunWriter
from monitor.recording.queues import Backlog, NoteQueue
from monitor.recording.run_files import RunFiles
from replay.export import export
from replay.runs import index as index_module
from replay.runs.index import INDEX_NAME, Listing, cache_index, instant, list_runs, ordered, read_filter, selected
from tests.mistakes import refusal_of
from tests.replay.exported_run import record

RATE, EVERY = 100.0, 10
CHANNELS = (
    Channel("a.c", Role.COMMAND, "mm", "a"),
    Channel("a.m", Role.MEASURED, "mm", "a"),
    Channel("b.c", Role.COMMAND, "mm", "b"),
    Channel("b.m", Role.MEASURED, "mm", "b"),
)
NAMES = ("broadband_delay", "broadband_delay_sd", "broadband_ratio", "broadband_ratio_sd")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "runs"
    place.mkdir()
    return place


def write(path: Path, delays: dict[str, np.ndarray], *, start: float = 1_763_000_000.0, note: str = "") -> Path:
    """Record 60 s with the given delays [s] as results, one each 0.1 s."""
    writer = RunWriter(path, {"indicators": {"window": 2.0}})
    stream = Stream("rig", 3, RATE, CHANNELS)
    columns = tuple(Column(name, "s", actuator) for actuator in delays for name in NAMES)
    n = len(next(iter(delays.values())))
    values = np.concatenate(
        [np.stack((d, np.full(n, 1e-4), np.ones(n), np.full(n, 1e-3)), 1) for d in delays.values()], 1
    )
    writer.signals(SignalBlock(stream, 0, start, np.zeros((n * EVERY, 4))))
    writer.results(ResultBlock(ResultStream("rig", 3, RATE, EVERY, columns), 0, start, values))
    if note:
        writer.event(Event(EventKind.NOTE, start + 1.0, 100, 0, note))
    writer.signals(SignalBlock(stream, n * EVERY, start + n * EVERY / RATE, np.zeros((1, 4)), last=True))
    writer.close()
    return path


def only(listing: Listing) -> RunRow:
    (row,) = listing.rows
    return row


def steps(first: float, second: float, n: int = 600) -> np.ndarray:
    return np.where(np.arange(n) < n // 2, first, second)


def test_the_worst_delay_is_that_of_the_farther_level_and_its_actuator(folder: Path) -> None:
    write(folder / "run.h5", {"a": np.full(600, 0.012), "b": steps(0.002, -0.03)}, note="pump on")
    row = only(list_runs(folder))
    assert row.worst_actuator == "b"
    assert row.worst_delay_ms == pytest.approx(-30.0)
    assert row.worst_delay_at_s is not None
    assert 29.9 <= row.worst_delay_at_s <= 60.0
    assert (row.outcome, row.notes, row.note_texts, row.alarms) == ("clean", 1, "pump on", 0)
    assert row.start == "2025-11-13T02:13:20.000+00:00"
    assert row.duration_s == pytest.approx(60.01)
    assert (row.actuators, row.window_s, row.problem) == ("a; b", 2.0, "")


def test_a_constant_delay_has_no_time(folder: Path) -> None:
    write(folder / "run.h5", {"a": np.full(100, 0.012)})
    row = only(list_runs(folder))
    assert row.worst_delay_ms == pytest.approx(12.0)
    assert row.worst_delay_at_s is None


def table_of(path: Path) -> Path:
    path.write_text("t [s],a cmd [mm],a meas [mm]\n" + "".join(f"{i / 100},{i},{2 * i}\n" for i in range(50)))
    return path


def test_an_exported_table_is_a_run_of_unknown_start_without_results(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(folder / "run.h5", {"a": np.full(100, 0.012)})
    export(table_of(tmp_path / "table.csv"), "hdf5-1.8", folder / "table.hdf5")
    exported = list_runs(folder).rows[1]
    assert (exported.file, exported.start, exported.outcome) == ("table.hdf5", None, "no results")
    assert exported.worst_delay_ms is None
    # that of a run keeps its own
    export(folder / "run.h5", "hdf5-1.8", folder / "copy.hdf5")
    copy, run, _ = list_runs(folder).rows
    assert (copy.start, copy.outcome, copy.worst_delay_ms) == (run.start, "clean", run.worst_delay_ms)
    assert main(["runs", str(folder), "--sort", "worst_delay_ms"]) == 0
    out = capsys.readouterr().out
    assert "no results" in out
    assert out.splitlines()[-1] == "1 run has no worst_delay_ms: at the end"
    assert main(["runs", str(folder), "--sort", "samples"]) == 0
    assert "at the end" not in capsys.readouterr().out


def test_other_recordings_of_a_folder_without_runs_are_counted(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(3):
        table_of(folder / f"{number}.csv")
    (folder / "readme.md").write_text("no recording\n")
    assert main(["runs", str(folder)]) == 0
    nothing, others = capsys.readouterr().out.splitlines()
    assert nothing.endswith("0 runs")
    assert others == f"3 other recordings: synchroscope assess {folder} --out TABLE"


def test_gaps_restarts_and_alarms_are_counted(folder: Path) -> None:
    record(folder / "run.h5", restart=1_763_000_060.0)
    row = only(list_runs(folder))
    # 310 numbers before the restart, 10 of them missing, and 50 after it
    assert (row.samples, row.lost_samples, row.gaps, row.restarts) == (350, 10, 1, 1)
    assert row.duration_s == 360 / 128
    assert (row.alarms, row.trips, row.alarm_names) == (1, 1, "north.fdb_delay.trip")
    assert row.worst_delay_ms is None


def test_only_new_and_changed_files_are_read(folder: Path) -> None:
    for name in ("one.h5", "two.hdf5"):
        record(folder / name)
    (folder / "below").mkdir()
    record(folder / "below" / "three.h5")
    assert list_runs(folder).read == 3
    again = list_runs(folder)
    assert again.read == 0
    assert [row.file for row in again.rows] == ["below/three.h5", "one.h5", "two.hdf5"]
    (folder / "one.h5").unlink()
    write(folder / "one.h5", {"a": np.full(100, 0.004)})
    (folder / "two.hdf5").unlink()
    changed = list_runs(folder)
    assert changed.read == 1
    assert [(row.file, row.worst_delay_ms is None) for row in changed.rows] == [
        ("below/three.h5", True),
        ("one.h5", False),
    ]
    assert list_runs(folder, rebuild=True).read == 2


def test_a_file_that_cannot_be_read_is_a_row_with_its_problem(folder: Path) -> None:
    whole = record(folder / "whole.h5").read_bytes()
    (folder / "head.h5").write_bytes(whole[:60])
    (folder / "half.h5").write_bytes(whole[: len(whole) // 2])
    (folder / "text.h5").write_text("no HDF5")
    # marked as being written, and with an end of file that cannot be
    (folder / "flag.h5").write_bytes(whole[:11] + b"\5" + whole[12:28] + b"\xff" * 8 + whole[36:])
    os.mkfifo(folder / "pipe.h5")
    with h5py.File(folder / "other.h5", "w") as file:
        file["x"] = [1, 2]
    (folder / ".run.h5.1.part").write_bytes(b"")
    listing = list_runs(folder)
    problems = {row.file: row.problem for row in listing.rows}
    assert list(problems) == ["flag.h5", "half.h5", "head.h5", "pipe.h5", "text.h5", "whole.h5"]
    assert [bool(text) for text in problems.values()] == [True, True, True, True, True, False]
    assert problems["flag.h5"] == "its superblock is damaged and not used"
    assert listing.rows[0].samples == listing.rows[-1].samples
    assert "synchroscope recover" in problems["half.h5"]
    assert listing.foreign == 1
    assert list_runs(folder) == replace(listing, read=0)


def test_a_run_being_written_is_open_and_read_again_as_it_grows(folder: Path) -> None:
    files = RunFiles(folder / "run.h5", b'{"indicators":{"window":1.0}}', Backlog(), NoteQueue())
    stream = Stream("rig", 1, RATE, CHANNELS)
    columns = tuple(Column(name, "s", "a") for name in NAMES)
    results = ResultStream("rig", 1, RATE, EVERY, columns)
    for number in range(2):
        # also what a killed recorder leaves: the file is not closed in between
        files.add(SignalBlock(stream, 500 * number, 5.0 * number, np.zeros((500, 4))))
        values = np.tile((0.007, 1e-4, 1.0, 1e-3), (50, 1))
        files.add(ResultBlock(results, 500 * number, 5.0 * number, values))
        files.commit()
        listing = list_runs(folder)
        assert listing.read == 1
        row = only(listing)
        assert (row.outcome, row.samples, row.problem) == ("open", 500 * (number + 1), "")
        assert row.worst_delay_ms == pytest.approx(7.0)
    files.close()
    assert only(list_runs(folder)).outcome == "clean"


@pytest.mark.parametrize("damage", ["deleted", "text", "empty", "version", "table", "page", "row"])
def test_a_lost_index_is_made_again(folder: Path, damage: str) -> None:
    for number in range(3):
        record(folder / f"{number}.h5")
    whole = list_runs(folder)
    place = folder / INDEX_NAME
    assert whole.index == place
    if damage == "deleted":
        place.unlink()
    elif damage == "text":
        place.write_text("this is no database, but long enough to be taken for one" * 200)
    elif damage == "empty":
        place.write_bytes(b"")
    elif damage == "page":
        content = bytearray(place.read_bytes())
        content[100:] = bytes(len(content) - 100)
        place.write_bytes(content)
    else:
        change = {
            "version": "PRAGMA user_version = 99",
            "table": "DROP TABLE runs",
            "row": """UPDATE runs SET row = '{"file": 3}'""",
        }[damage]
        with closing(sqlite3.connect(place)) as connection:
            connection.execute(change)
            connection.commit()
    assert list_runs(folder) == whole
    assert list_runs(folder) == replace(whole, read=0)


def test_a_folder_that_cannot_be_written_has_its_index_in_the_cache(folder: Path, cache: Path) -> None:
    record(folder / "run.h5")
    # SQLite cannot open a folder, whoever runs the test
    (folder / INDEX_NAME).mkdir()
    first = list_runs(folder)
    assert first.index == cache_index(folder)
    assert first.index.is_relative_to(cache)
    assert list_runs(folder).read == 0


def test_without_any_place_for_the_index_the_runs_are_listed(folder: Path, cache: Path) -> None:
    record(folder / "run.h5")
    (folder / INDEX_NAME).mkdir()
    cache.write_text("a file")
    for _ in range(2):
        listing = list_runs(folder)
        assert (listing.index, listing.read, len(listing.rows)) == (None, 1, 1)


def test_an_index_that_another_process_holds_stops_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    record(folder / "run.h5")
    list_runs(folder)
    monkeypatch.setattr(index_module, "_TIMEOUT", 0.05)
    with closing(sqlite3.connect(folder / INDEX_NAME)) as other:
        other.execute("BEGIN EXCLUSIVE")
        listing = list_runs(folder)
        assert len(listing.rows) == 1
        assert listing.index == cache_index(folder)
    assert list_runs(folder).index == folder / INDEX_NAME


def test_several_at_once_list_the_same(folder: Path) -> None:
    for number in range(6):
        record(folder / f"{number}.h5")
    found: list[Listing] = []
    threads = [threading.Thread(target=lambda: found.append(list_runs(folder))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({listing.rows for listing in found}) == 1
    assert list_runs(folder).read == 0


def test_thousands_of_rows_come_from_the_index_and_no_file_is_opened(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    list_runs(folder)
    rows = []
    for number in range(3000):
        path = folder / f"{number:04}.h5"
        path.touch()
        status = path.stat()
        row = RunRow(path.name, outcome="clean", duration_s=1.0, worst_delay_ms=float(number % 100), alarms=0)
        rows.append((os.fsencode(path.name), status.st_size, status.st_mtime_ns, json.dumps(row.values())))
    with closing(sqlite3.connect(folder / INDEX_NAME)) as connection:
        connection.executemany("INSERT INTO runs VALUES (?, ?, ?, ?)", rows)
        connection.commit()
    monkeypatch.setattr(index_module, "_read", lambda *_: pytest.fail("a file was read"))
    assert main(["runs", str(folder), "--json", "--where", "worst_delay_ms>=99"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["found"] == 3000
    assert [row["file"] for row in found["runs"]] == [f"{number:04}.h5" for number in range(99, 3000, 100)]


ROWS = (
    RunRow("a", "2026-01-05T10:00:00+00:00", outcome="clean", worst_delay_ms=-40.0, alarms=0, note_texts="Pump on"),
    RunRow("b", "2026-01-06T10:00:00+00:00", outcome="lossy", worst_delay_ms=35.0, alarms=2, note_texts=""),
    RunRow("c", problem="was cut short"),
)


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        (["worst_delay_ms>30"], "b"),
        (["worst_delay_ms <= -40"], "a"),
        (["outcome!=clean"], "bc"),
        (["outcome=lossy", "alarms>=2"], "b"),
        (["note_texts~pump"], "a"),
        (["problem!="], "c"),
        (["alarms=0"], "a"),
        (["alarms!=0"], "bc"),
    ],
)
def test_conditions(conditions: list[str], expected: str) -> None:
    found = selected(ROWS, [read_filter(text) for text in conditions], None, None)
    assert "".join(row.file for row in found) == expected


def test_days_include_their_end() -> None:
    def files(since: str | None, until: str | None) -> str:
        bounds = None if since is None else instant(since), None if until is None else instant(until, end=True)
        return "".join(row.file for row in selected(ROWS, [], *bounds))

    assert files("2026-01-05T10:00:00+00:00", None) == "ab"
    assert files("2026-01-05T10:00:01Z", None) == "b"
    assert files(None, "2026-01-06T10:00:00Z") == "a"
    # in any zone, noon of the 6th is before the end of the 7th
    assert files(None, "2026-01-07") == "ab"


def test_unknown_values_are_last_in_either_order() -> None:
    assert "".join(row.file for row in ordered(ROWS, "worst_delay_ms")) == "bac"
    assert "".join(row.file for row in ordered(ROWS, "worst_delay_ms", reverse=True)) == "abc"
    assert "".join(row.file for row in ordered(ROWS, "start", reverse=True)) == "bac"


WHERE = ("speed>1", "alarms>many", "alarms~1", "outcome<clean", "__import__('os')")


@pytest.mark.parametrize(
    "words", [("--sort", "speed"), ("--since", "yesterday"), *(("--where", each) for each in WHERE)]
)
def test_mistakes_are_one_line(folder: Path, words: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    line = refusal_of(capsys, "runs", folder, *words)
    if "speed" in "".join(words):
        assert all(key in line for key in KEYS)
    assert not (folder / INDEX_NAME).exists()


def test_a_folder_that_is_none_is_one_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in (folder / "none", record(folder / "run.h5")):
        assert "name a folder of run files" in refusal_of(capsys, "runs", path)


def test_the_table_fits_the_columns_and_names_what_is_cut(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    write(folder / f"{'long ' * 12}.h5", {"a": steps(0.001, 0.025)}, note="\x1b[31mred")
    (folder / "bad.h5").write_text("text " * 40)
    assert main(["runs", str(folder)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines[:3])) <= 100
    assert "\x1b" not in "".join(lines)
    assert "25.0  a" in lines[1]
    assert "2 runs; 1 damaged" in lines[3]
    assert lines[4].startswith("shortened: file of 1")
    monkeypatch.setenv("COLUMNS", "60")
    assert main(["runs", str(folder)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines[:3])) <= 60 and "clean           25.0" in lines[1]
    assert lines[4] == "no room for: actuator, duration, start; --json has all"


def test_names_that_are_no_text_are_listed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record(folder / "run.h5").rename(os.fsdecode(os.fsencode(folder) + b"/\xff.h5"))
    for words in ([], ["--json"]):
        assert main(["runs", str(folder), *words]) == 0
    assert list_runs(folder).read == 0
