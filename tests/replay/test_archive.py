"""An archive as a table: each row is that of the run alone, whatever dies, changes or cannot be read."""

from __future__ import annotations

import csv
import json
import multiprocessing
import os
import signal
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from monitor.__main__ import main
from replay import Progress
from replay.archive import Archive, assess_archive, find_files
from replay.archive.table import write_table
from replay.workers import ProcessWorkers
from tests.mistakes import refusal_of
from tests.replay.worker_tasks import ThreadWorkers

GIVEN = {"window": 1.0, "measures": ("fdb", "paei")}
LATE = {"run0": 0.002, "sub/run1": 0.004, "sub/run2": 0.008, "run3": 0.016}

pytestmark = pytest.mark.usefixtures("warm_kernels")


def tones(late: float, seconds: float = 6.0, rate: float = 500.0) -> np.ndarray:
    t = np.arange(round(seconds * rate)) / rate
    return np.column_stack([t, np.sin(8 * np.pi * t), 0.95 * np.sin(8 * np.pi * (t - late))])


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    """Four runs of known delay, a text that is no table, a damaged file, and what is no recording."""
    folder = tmp_path / "runs"
    (folder / "sub").mkdir(parents=True)
    for name, late in LATE.items():
        np.savetxt(folder / f"{name}.csv", tones(late), delimiter=",", header="t [s],command,measured", comments="")
    np.savez(folder / "array.npz", time=tones(0.0)[:, 0], command=tones(0.0)[:, 1], measured=tones(0.001)[:, 2])
    (folder / "array.npz").rename(folder / "array.data")
    (folder / "bad.csv").write_text("the pump leaks\n")
    (folder / "cut.npz").write_bytes((folder / "array.data").read_bytes()[:2000])
    (folder / "README.md").write_text("# Runs\n")
    (folder / ".hidden.csv").write_text("1,2\n")
    return Archive((folder,), folder / "table.csv", GIVEN)


ROWS = "0.0 1.0 2.0\n0.1 1.5 2.5\n"


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("node.xml", '<?xml version="1.0"?>\n<OpenSees>\n<TimeOutput>', True),
        ("pom.xml", '<?xml version="1.0"?>\n<project>\n</project>', False),
        ("empty.xml", "", False),
        ("columns.json", '{"t": ["a", "b"],\n "command": [ -1, 0.5]}', True),
        ("matrix.json", '{"data": [[null, 1], [2, 3]]}', True),
        ("rows.json", '[{"t": 0, "command": 1.5}]', True),
        ("lines.jsonl", '{"t": 0, "command": 1.5}\n{"t": 1, "command": 2}\n', True),
        ("far.json", json.dumps({"notes": "x" * 5000, "t": [1, 2]}), True),
        ("package.json", '{"name": "rig", "version": 2, "files": ["a", "b"], "more": {"x": 1}}', False),
        ("names.json", '["a", "b"]', False),
        ("lines.log", '{"t": 0, "command": 1.5}\n{"t": 1, "command": 2}\n', True),
        ("settings.log", '{"rig": "table"}', False),
        ("table.txt", f"Rig 3, operator Ann\nt c m\n{ROWS}", True),
        ("long.txt", "a line of the header\n" * 300 + ROWS, True),
        ("notes.txt", "the pump leaks\n", False),
        ("long_notes.txt", "the pump leaks\n" * 1000, False),
        ("core.dat", "\0\1\2 1 2 3\n", False),
        ("node.out", ROWS, True),
        ("build.out", "compiled\nlinked\n", False),
        ("test_ctrl.out", "nothing yet\n", False),
        ("bad.csv", "the pump leaks\n", True),
    ],
)
def test_a_name_that_other_programs_use_does_not_make_a_recording(tmp_path: Path, name, text, found) -> None:
    (tmp_path / name).write_text(text)
    assert [file.path.name for file in find_files([tmp_path], tmp_path / "table.csv")] == [name] * found


def rows_of(path: Path) -> dict[str, dict[str, str]]:
    with path.open(newline="") as file:
        return {Path(row["file"]).name: row for row in csv.DictReader(file)}


def test_every_run_has_its_delay_and_bad_files_their_problem(archive: Archive) -> None:
    with ThreadWorkers() as workers:
        result = assess_archive(archive, workers)
    rows = rows_of(archive.table)
    assert list(rows) == ["array.data", "bad.csv", "cut.npz", "run0.csv", "run3.csv", "run1.csv", "run2.csv"]
    for name, late in {**LATE, "array": 0.001}.items():
        row = rows[f"{Path(name).name}.csv" if name != "array" else "array.data"]
        assert float(row["paei_delay_ms"]) == pytest.approx(1e3 * late, abs=1e-3)
        assert float(row["fdb_ratio"]) == pytest.approx(1 / 0.95, rel=1e-4)
        assert (row["problem"], row["duration_s"]) == ("", "6.0")
    assert (result.files, result.rows, result.unchanged) == (7, 7, 0)
    assert [Path(name).name for name, _ in sorted(result.problems)] == ["bad.csv", "cut.npz"]
    assert "no rows of numbers" in rows["bad.csv"]["problem"]
    assert rows["bad.csv"]["paei_delay_ms"] == ""


def test_a_finished_file_is_computed_again_only_when_it_has_changed(archive: Archive) -> None:
    with ThreadWorkers() as workers:
        assess_archive(archive, workers)
        first = archive.table.read_bytes()
        assert assess_archive(archive, workers).unchanged == 5
        assert archive.table.read_bytes() == first
        folder = archive.folders[0]
        np.savetxt(folder / "run0.csv", tones(0.012), delimiter=",", header="t [s],command,measured", comments="")
        os.utime(folder / "run3.csv", ns=(1, 1))
        (folder / "sub" / "run1.csv").unlink()
        assert assess_archive(archive, workers).unchanged == 2
        rows = rows_of(archive.table)
        assert float(rows["run0.csv"]["paei_delay_ms"]) == pytest.approx(12.0, abs=1e-3)
        assert "run1.csv" not in rows
        other = Archive(archive.folders, archive.table, {**GIVEN, "window": 2.0})
        assert assess_archive(other, workers).unchanged == 0


def test_an_interrupted_table_goes_on_where_it_was(archive: Archive) -> None:
    def interrupt(_: str, done: int, total: int) -> None:
        if done == 4:
            raise KeyboardInterrupt

    with ThreadWorkers() as workers:
        whole = Archive(archive.folders, archive.table.with_name("whole.parquet"), GIVEN)
        assess_archive(whole, workers)
        # of the same folder, without the other table
        whole.table.rename(archive.folders[0].parent / "whole.parquet")
        table = Archive(archive.folders, archive.table.with_suffix(".parquet"), GIVEN)
        with pytest.raises(KeyboardInterrupt):
            assess_archive(table, workers, interrupt)
        assert not table.table.exists()
        rows = table.table.with_name("table.parquet.rows")
        lines = rows.read_text().splitlines()
        # as a kill in the middle of a line leaves it
        rows.write_text("\n".join(lines[:-1]) + "\n" + lines[-1][:50])
        assert assess_archive(table, workers).unchanged == len(lines) - 2
    assert table.table.read_bytes() == (archive.folders[0].parent / "whole.parquet").read_bytes()


def test_processes_of_which_one_is_killed_give_the_same_table(archive: Archive) -> None:
    killed = []

    def kill(_: str, done: int, total: int) -> None:
        if done and not killed:
            killed.append(multiprocessing.active_children()[0])
            killed[0].kill()

    table = archive.folders[0].parent
    with ThreadWorkers() as workers:
        assess_archive(Archive(archive.folders, table / "threads.parquet", GIVEN), workers)
    with ProcessWorkers(2) as processes:
        assess_archive(Archive(archive.folders, table / "processes.parquet", GIVEN), processes, kill)
    assert killed
    assert (table / "threads.parquet").read_bytes() == (table / "processes.parquet").read_bytes()
    read = pq.read_table(table / "processes.parquet")
    assert read.column("file").to_pylist() == sorted(read.column("file").to_pylist())
    assert str(read.schema.field("worst_delay_at_s").type) == "double"


def test_the_worker_that_does_not_see_a_file_says_where_it_looked(archive: Archive) -> None:
    class Elsewhere(ThreadWorkers):
        def submit(self, fn, /, *args):
            Path(args[0].path).unlink(missing_ok=True)
            return super().submit(fn, *args)

    with Elsewhere() as workers:
        result = assess_archive(archive, workers)
    assert len(result.problems) == result.files
    assert all("by the same path on every machine" in text and "\n" not in text for _, text in result.problems)


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are texts elsewhere")
@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_a_name_that_is_not_utf_8_does_not_lose_the_table(archive: Archive, ending: str) -> None:
    folder = archive.folders[0]
    content = (folder / "run0.csv").read_bytes()
    for name in (b"x\xff.csv", rb"x\xff.csv"):
        (folder / os.fsdecode(name)).write_bytes(content)
    table = Archive((folder,), archive.table.with_suffix(ending), GIVEN)
    with ThreadWorkers() as workers:
        result = assess_archive(table, workers)
        assert (result.files, result.rows) == (9, 9)
        assert assess_archive(table, workers).unchanged == 7
    if ending == ".csv":
        names = list(rows_of(table.table))
    else:
        names = [Path(name).name for name in pq.read_table(table.table).column("file").to_pylist()]
    assert {"x\\xff.csv", "x\\xff.csv (2)"} <= set(names)


def test_a_text_that_is_not_utf_8_does_not_lose_the_table(tmp_path: Path) -> None:
    rows = [{"file": "a", "problem": "cannot read '\udcff'"}]
    write_table(tmp_path / "t.csv", rows)
    write_table(tmp_path / "t.parquet", rows)
    assert rows_of(tmp_path / "t.csv")["a"]["problem"] == r"cannot read '\udcff'"
    assert pq.read_table(tmp_path / "t.parquet").column("problem").to_pylist() == [r"cannot read '\udcff'"]


def test_a_folder_that_cannot_be_read_is_a_row(archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    scandir = os.scandir

    def refuse(path):
        if Path(path).name == "sub":
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    with ThreadWorkers() as workers:
        result = assess_archive(archive, workers)
    assert (archive.folders[0].as_posix() + "/sub", "permission denied") in result.problems
    rows = rows_of(archive.table)
    assert rows["sub"]["problem"] == "permission denied"
    assert rows["run0.csv"]["paei_delay_ms"] != ""


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="permissions of POSIX")
def test_what_may_not_be_read_is_named(archive: Archive) -> None:
    user = os.geteuid()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for each in ("", "listed", "closed"):
            (folder / each).mkdir(exist_ok=True)
            (folder / each).chmod(0o755)
            (folder / each / "run.csv").write_text("t,command,measured\n")
        (folder / "data").write_text("1 2 3\n")
        (folder / "data").chmod(0)
        (folder / "listed").chmod(0o744)
        (folder / "closed").chmod(0)
        # a superuser may read everything
        os.seteuid(65534 if user == 0 else user)
        try:
            found = find_files([folder, folder / "listed" / "run.csv"], archive.table)
            alone = find_files([folder / "closed"], archive.table)
        finally:
            os.seteuid(user)
            for each in ("listed", "closed"):
                (folder / each).chmod(0o755)
    problems = {file.path.relative_to(folder).as_posix(): file.problem for file in found}
    assert problems["run.csv"] is None
    refused = ["closed", "data", "listed/run.csv"] if user == 0 else ["closed", "data"]
    assert {name: problems[name] for name in refused} == dict.fromkeys(refused, "permission denied")
    assert [(file.path, file.problem) for file in alone] == [(folder / "closed", "permission denied")]


def test_the_command(archive: Archive, capsys) -> None:
    words = ["assess", str(archive.folders[0]), "--out", str(archive.table), "--workers", "1", "--window", "1"]
    words += ["--measures", "fdb,paei"]
    assert main(words) == 2
    error = capsys.readouterr().err
    assert "bad.csv: no rows of numbers" in error
    assert "7 recordings, 7 rows in" in error
    assert "2 without a result: exit code 2" in error
    (archive.folders[0] / "bad.csv").unlink()
    (archive.folders[0] / "cut.npz").unlink()
    assert main(words) == 0
    assert "5 recordings, 5 of them unchanged since the last time, 5 rows in" in capsys.readouterr().err


def test_a_signal_to_end_says_how_to_continue(archive: Archive, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    def terminated(_archive: Archive, workers: ProcessWorkers, progress: Progress) -> None:
        workers.submit(abs, 0)
        progress("files", 3, 7)
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr("replay.archive.assess_archive", terminated)
    assert main(["assess", str(archive.folders[0]), "--out", str(archive.table), "--workers", "1"]) == 130
    error = capsys.readouterr().err
    assert "interrupted: 3 of 7 files are done; the same command goes on from there" in error
    assert not multiprocessing.active_children()


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ([], "is a folder: --out TABLE.parquet"),
        (["--out", "table.xlsx"], "ends in .parquet or .csv"),
        (["--out", "{folder}/bad.csv"], "exists; give another name or --overwrite"),
        (["--out", "t.csv", "--json"], "leave --json out"),
        (["--out", "t.csv", "--workers", "0"], "must be one or more"),
        (["--out", "t.csv", "--tls-ca", "ca.pem"], "need --scheduler"),
        (["--out", "t.csv", "--scheduler", "tls://127.0.0.1:1", "--workers", "2"], "leave it out with --scheduler"),
        (["--out", "t.csv", "--scheduler", "tcp://127.0.0.1:1", "--tls-ca", "a"], "give all three"),
    ],
)
def test_mistakes_are_one_line(archive: Archive, words: list[str], text: str, capsys) -> None:
    folder = str(archive.folders[0])
    assert text in refusal_of(capsys, "assess", folder, *(word.format(folder=folder) for word in words))


def test_an_empty_folder_is_named(tmp_path: Path) -> None:
    assert find_files([tmp_path], tmp_path / "t.csv") == []
    with pytest.raises(ValueError, match="missing: no such file or directory"):
        find_files([tmp_path / "missing"], tmp_path / "t.csv")
