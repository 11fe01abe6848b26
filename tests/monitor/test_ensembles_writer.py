"""Ensemble files, made: a few realizations at a time, in spite of kills and full disks."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import h5py
import numpy as np
import pytest

from monitor.ensembles.files import read_ensemble
from monitor.reliability.ensemble import EnsembleError
from tests.oracles.ensemble_files import (
    GAP,
    N_REALIZATIONS,
    N_TIMES,
    RESPONSE,
    STEP,
    TIME,
    check,
    make,
    write,
    writer_at,
)

ROOT = Path(__file__).parents[2]


def test_a_break_loses_nothing_that_was_written(tmp_path):
    writer = writer_at(tmp_path / "a.h5")
    write(writer, until=3 * STEP)
    writer.close()
    again = writer_at(tmp_path / "a.h5")
    assert again.written == 3 * STEP
    write(again)
    told = []
    again.finish(lambda done, whole: told.append((done, whole)))
    assert told[-1] == (N_TIMES, N_TIMES)
    check(read_ensemble(tmp_path / "a.h5"))


def test_how_large_the_file_is(tmp_path):
    size = make(tmp_path / "a.h5").stat().st_size
    assert 12 * RESPONSE.size < size < 12 * RESPONSE.size + 5 * 4096


def test_a_file_that_is_there_is_replaced_at_the_finish(tmp_path):
    path = tmp_path / "a.h5"
    path.write_text("the old one")
    writer = writer_at(path)
    write(writer)
    assert path.read_text() == "the old one"
    writer.finish()
    check(read_ensemble(path))


def test_missing_realizations_are_not_finished(tmp_path):
    writer = writer_at(tmp_path / "a.h5")
    write(writer, until=2 * STEP)
    with pytest.raises(EnsembleError, match="200 of 500 realizations are written"):
        writer.finish()
    write(writer)
    writer.finish()
    writer.close()
    check(read_ensemble(tmp_path / "a.h5"))


@pytest.mark.parametrize(
    "other", [{"source": "beam, seed 2"}, {"n_realizations": 400}, {"time": TIME[:-1]}, {"time": 2.0 * TIME}]
)
def test_another_source_is_refused_and_spoils_nothing(tmp_path, other):
    writer = writer_at(tmp_path / "a.h5")
    write(writer, until=STEP)
    writer.close()
    words = r"a\.h5\.part: is unfinished and has another source.*beam, seed 1; 30 instants, 500 realizations"
    with pytest.raises(EnsembleError, match=words):
        writer_at(tmp_path / "a.h5", **other)
    again = writer_at(tmp_path / "a.h5")
    write(again)
    again.finish()
    check(read_ensemble(tmp_path / "a.h5"))


SECOND = """
import sys
from pathlib import Path
from tests.oracles.ensemble_files import *
writer_at(Path(sys.argv[1]))
"""


def test_a_second_writer_is_locked_out(tmp_path):
    writer = writer_at(tmp_path / "a.h5")
    command = [sys.executable, "-c", SECOND, tmp_path / "a.h5"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "EnsembleError" in done.stderr and "lock" in done.stderr
    write(writer)
    writer.finish()
    check(read_ensemble(tmp_path / "a.h5"))


@pytest.mark.parametrize("content", [b"", b"something else", bytes(100_000)])
def test_a_part_file_that_is_none(tmp_path, content):
    part = tmp_path / "a.h5.part"
    part.write_bytes(content)
    with pytest.raises(EnsembleError, match=r"a\.h5\.part: .*: delete or rename it$") as problem:
        writer_at(tmp_path / "a.h5")
    assert "\n" not in str(problem.value) and part.exists()
    part.unlink()
    with h5py.File(part, "w") as file:
        file["time"] = TIME
    with pytest.raises(EnsembleError, match="is not an unfinished ensemble"):
        writer_at(tmp_path / "a.h5")


@pytest.mark.parametrize(
    ("response", "words"),
    [
        (RESPONSE[:-1], r"\(29, 500\): must be \(30, n\)"),
        (RESPONSE[:, 0], r"\(30,\)"),
        (np.zeros((N_TIMES, N_REALIZATIONS + 1)), "at most 500, the number of missing"),
        (GAP, "realization 7 is not finite at instant 3"),
    ],
)
def test_realizations_that_do_not_fit(tmp_path, response, words):
    writer = writer_at(tmp_path / "a.h5")
    with pytest.raises(EnsembleError, match=words):
        writer.write(response)
    assert writer.written == 0
    writer.write(RESPONSE[:, :0])
    writer.write(np.asfortranarray(RESPONSE))
    writer.finish()
    check(read_ensemble(tmp_path / "a.h5"))


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"n_realizations": 0}, "0 realizations"),
        ({"time": TIME[::-1]}, "time does not increase"),
        ({"time": np.empty(0)}, r"time has shape \(0,\)"),
    ],
)
def test_nothing_to_write(tmp_path, other, words):
    with pytest.raises(EnsembleError, match=words):
        writer_at(tmp_path / "a.h5", **other)
    assert not [*tmp_path.iterdir()]


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(EnsembleError, match=r"part: cannot be created \(No such file or directory\)"):
        writer_at(tmp_path / "no" / "a.h5")


KILLED = """
import sys, time
from pathlib import Path
from tests.oracles.ensemble_files import *
writer = writer_at(Path(sys.argv[1]))
for k in range(writer.written, N_REALIZATIONS):
    writer.write(RESPONSE[:, k : k + 1])
    print(writer.written, flush=True)
    time.sleep(0.001)
"""


def test_a_kill_loses_nothing_that_was_written(tmp_path):
    path, chance, told = tmp_path / "a.h5", random.Random(3), 0
    for _ in range(3):
        command = [sys.executable, "-c", KILLED, path]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
            for _ in range(chance.randint(1, 40)):
                process.stdout.readline()
            time.sleep(chance.uniform(0.0, 0.01))
            process.send_signal(signal.SIGKILL)
            lines = process.stdout.read().splitlines(keepends=True)
        told = max([told, *(int(line) for line in lines if line.endswith("\n"))])
        writer = writer_at(path)
        assert told <= writer.written <= N_REALIZATIONS
        writer.close()
    writer = writer_at(path)
    for k in range(writer.written, N_REALIZATIONS):
        writer.write(RESPONSE[:, k : k + 1])
    writer.finish()
    check(read_ensemble(path))


FULL = """
import resource, signal, sys
from pathlib import Path
from monitor.reliability.ensemble import EnsembleError
from tests.oracles.ensemble_files import *
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
path, limit, after = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
fill = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
if after < 0:
    fill()
try:
    writer = writer_at(path)
    try:
        write(writer, until=after)
        fill()
        write(writer)
        writer.finish()
    finally:
        writer.close()
except EnsembleError as problem:
    print(problem)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no limits on the size of a file")
@pytest.mark.parametrize(
    ("limit", "after", "kept"),
    [
        (4096, -1, None),
        (100_000, -1, None),
        (20_000, 0, 0),
        (100_000, 2 * STEP, 2 * STEP),
        (150_000, N_REALIZATIONS, N_REALIZATIONS),
    ],
)
def test_a_full_disk_is_told_in_a_line_and_gone_on_with(tmp_path, limit, after, kept):
    path = tmp_path / "a.h5"
    command = [sys.executable, "-c", FULL, path, str(limit), str(after)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"{path}.part: cannot be ") and "(File too large)" in done.stdout
    assert done.stdout.count("\n") == 1
    assert [file.name for file in tmp_path.iterdir()] == ([] if kept is None else ["a.h5.part"])
    writer = writer_at(path)
    assert writer.written == (kept or 0)
    write(writer)
    writer.finish()
    check(read_ensemble(path))


def test_nothing_is_left_of_a_file_that_could_not_be_laid_out(tmp_path, monkeypatch):
    def refuse(*_):
        raise RuntimeError("Unable to flush file\n, errno = 28")

    monkeypatch.setattr("monitor.ensembles.files._write_layout", refuse)
    with pytest.raises(EnsembleError, match="Unable to flush file , errno = 28"):
        writer_at(tmp_path / "a.h5")
    assert not [*tmp_path.iterdir()]
