"""`synchroscope export` as typed: what it prints, and what is left when it is stopped or the disk is full."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from time import monotonic, sleep

import numpy as np
import pytest

from monitor.__main__ import main
from monitor.messages.blocks import Channel, Role, SignalBlock, Stream
from monitor.recording import RunWriter
from replay.commands.export import _FORMATS
from replay.export import EXPORT_FORMATS
from tests.e2e.conftest import PATIENCE, ROOT, Start
from tests.e2e.running import with_small_files
from tests.mistakes import refusal_of

# every piece of text takes a minute
_SLOW = """
import time
import monitor.system.csv_text as csv_text
rows = csv_text.csv_rows
def slow(*tables):
    yield from rows(*tables)
    for _ in range(6000):  # a signal that comes just before a sleep is noticed after it
        time.sleep(0.01)
csv_text.csv_rows = slow
"""


def test_the_formats_are_those_that_are_offered() -> None:
    assert tuple(EXPORT_FORMATS) == _FORMATS


def test_a_table_becomes_a_run_and_the_run_a_table_again(record: Callable[..., Path], capsys) -> None:
    table = record(2000)
    run = table.with_suffix(".hdf5")
    assert main(["export", str(table), "--to", "hdf5-1.8"]) == 0
    assert capsys.readouterr().out == f"{run}: 2000 samples\n"
    assert main(["export", str(run), "--to", "csv", "-o", str(table.with_name("again.csv"))]) == 0
    assert capsys.readouterr().out.startswith(
        f"{table.with_name('again.csv')}, {table.with_name('again-events.csv')}: "
    )
    first, second = (
        np.genfromtxt(path, delimiter=",", skip_header=1) for path in (table, table.with_name("again.csv"))
    )
    np.testing.assert_allclose(first, second, rtol=1e-14, atol=1e-12)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["none.h5", "--to", "csv"], "none.h5: no such file or directory"),
        (["FILE", "--to", "xlsx"], "argument --to: invalid choice: 'xlsx'"),
        (["FILE", "--to", "csv", "-o", "FILE"], "is the recording itself: give another name with -o OUT"),
        (["FILE", "--to", "csv", "-o", "FOLDER/none/out.csv"], "cannot be written (No such file or directory)"),
        (["FILE", "--to", "mat", "--command", "x", "--measured", "y"], "no column 'x'"),
    ],
)
def test_a_mistake_is_one_line(record, tmp_path, capfd, words, error) -> None:
    table = record(200)
    words = [word.replace("FILE", str(table)).replace("FOLDER", str(tmp_path)) for word in words]
    assert error in refusal_of(capfd, "export", *words)
    assert list(tmp_path.iterdir()) == [table]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_leaves_nothing(start: Start, record, tmp_path, number) -> None:
    folder = tmp_path / "slow"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(_SLOW)
    path = os.pathsep.join(filter(None, (str(folder), str(ROOT), os.environ.get("PYTHONPATH"))))
    table = record(2000)
    done = start("export", table, "--to", "csv", "-o", tmp_path / "out.csv", PYTHONPATH=path)
    deadline = monotonic() + PATIENCE
    while not list(tmp_path.glob(".out.csv.*")):
        assert monotonic() < deadline
        sleep(0.01)
    done.stop(number, code=130)
    assert done.err == "synchroscope export: interrupted; nothing was written\n"
    assert sorted(tmp_path.iterdir()) == [table, folder]


@pytest.mark.parametrize("kind", EXPORT_FORMATS)
def test_a_full_disk_leaves_nothing(tmp_path, kind) -> None:
    channels = Channel("x.command", Role.COMMAND, "mm", "x"), Channel("x.measured", Role.MEASURED, "mm", "x")
    run = tmp_path / "run.h5"
    writer = RunWriter(run, {})
    noise = np.random.default_rng(3).normal(size=(30_000, 2))
    writer.signals(SignalBlock(Stream("rig", 1, 1000.0, channels), 0, 0.0, noise, last=True))
    writer.close()

    command = [*with_small_files(200_000), "export", str(run), "--to", kind]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=PATIENCE, check=False)
    out = run.with_suffix(EXPORT_FORMATS[kind][0])
    assert done.stderr == f"synchroscope export: {out}: cannot be written (File too large)\n"
    assert done.returncode == 2
    assert list(tmp_path.iterdir()) == [run]
