"""Ensemble files, read: from any hand, mapped where they are ours, and refused in a line that names them."""

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

from monitor.ensembles.files import EnsembleWriter, read_ensemble
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


def refused(path, words="."):
    """Return the one line in which a file is refused."""
    with pytest.raises(EnsembleError, match=words) as problem:
        read_ensemble(path)
    line = str(problem.value)
    assert line.startswith(str(path)) and "\n" not in line and len(line) < 500
    return line


def memory_of(array):
    """Return what an array is a view of, at the end."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array.base


def test_what_was_sorted_is_mapped_and_not_loaded(tmp_path):
    ensemble = read_ensemble(make(tmp_path / "beam.h5"))
    check(ensemble)
    assert (ensemble.unit, ensemble.name) == ("m", "deflection")
    for array in (ensemble.response, ensemble.order):
        assert type(array) is np.ndarray and array.flags.c_contiguous and array.flags.aligned
        assert type(memory_of(array)).__name__ == "mmap"
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 0
    assert [file.name for file in tmp_path.iterdir()] == ["beam.h5"]


@pytest.mark.parametrize("name", ["a.npz", "a.NPZ"])
def test_an_npz_equals_the_sorted_one(tmp_path, name):
    with (tmp_path / name).open("wb") as file:
        np.savez_compressed(file, time=TIME, response=RESPONSE, other=np.zeros(3))
    check(read_ensemble(tmp_path / name))
    assert read_ensemble(tmp_path / name).name == str(tmp_path / name)


def test_hdf5_in_a_file_of_another_name_is_read(tmp_path):
    check(read_ensemble(make(tmp_path / "a.npz")))


@pytest.mark.parametrize(
    "storage",
    [
        {},
        {"dtype": ">f8"},
        {"chunks": (7, 64)},
        {"chunks": (7, 64), "compression": "gzip", "shuffle": True},
        {"chunks": (7, 64), "fletcher32": True, "maxshape": (None, None)},
    ],
)
def test_a_foreign_file_equals_the_sorted_one(tmp_path, storage):
    path = tmp_path / "foreign.hdf5"
    # in pages, as ours, so that only its order tells it from ours
    with h5py.File(path, "w", libver="latest", alignment_threshold=4096, alignment_interval=4096) as file:
        file["time"] = TIME
        file.create_dataset("response", data=RESPONSE, **storage)
        # not ours: nobody knows of what it is the order
        file["order"] = np.zeros(RESPONSE.shape, dtype=np.uint32)
        file.attrs["unit"] = np.bytes_("mm")
    check(read_ensemble(path))
    assert (read_ensemble(path).unit, read_ensemble(path).name) == ("mm", str(path))


def test_single_precision_is_read_as_it_is(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["time"], file["response"] = TIME.astype("f4"), RESPONSE.astype("f4")
    single = TIME.astype("f4").astype(float)
    ensemble = read_ensemble(tmp_path / "a.h5")
    np.testing.assert_array_equal(ensemble.time, single)
    np.testing.assert_array_equal(ensemble.response, RESPONSE.astype("f4").astype(float))
    np.testing.assert_array_equal(ensemble.quantile(0.0), RESPONSE.astype("f4").min(axis=1).astype(float))


def test_an_ensemble_smaller_than_a_page(tmp_path):
    writer = EnsembleWriter(tmp_path / "a.h5", TIME[:2], 3)
    writer.write(RESPONSE[:2, :3])
    writer.finish()
    np.testing.assert_array_equal(read_ensemble(tmp_path / "a.h5").response, RESPONSE[:2, :3])


def store(path, **arrays):
    if path.suffix == ".npz":
        np.savez(path, **arrays)
        return
    with h5py.File(path, "w") as file:
        for name, values in arrays.items():
            file[name] = values


@pytest.mark.parametrize("suffix", [".npz", ".h5"])
@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"time": TIME}, "has time, but not 'response'"),
        ({"response": RESPONSE, "t": TIME}, "has response, t, but not 'time'"),
        ({}, "has nothing, but not 'time'"),
        ({"time": TIME, "response": RESPONSE.T}, r"\(500, 30\)"),
        ({"time": TIME, "response": RESPONSE[:, 0]}, r"\(30,\)"),
        ({"time": TIME[:, None], "response": RESPONSE}, r"time has shape \(30, 1\)"),
        ({"time": TIME, "response": np.float64(3.0)}, "shape"),
        ({"time": TIME, "response": np.empty((30, 0))}, r"\(30, 0\)"),
        ({"time": TIME, "response": GAP}, r"realization 7 is not finite at 0\.3 s: omit it"),
        ({"time": TIME[::-1], "response": RESPONSE}, r"time does not increase after 2\.9 s"),
        ({"time": np.full(30, np.nan), "response": RESPONSE}, "time is not finite at instant 0"),
        ({"time": TIME, "response": np.full((30, 5), b"word")}, "."),
    ],
)
def test_what_is_no_ensemble_is_refused_in_a_line(tmp_path, suffix, arrays, words):
    store(tmp_path / f"a{suffix}", **arrays)
    refused(tmp_path / f"a{suffix}", words)


def test_the_file_is_named_beside_its_quantity(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["time"], file["response"] = TIME, GAP
        file.attrs["quantity"] = "deflection"
    refused(tmp_path / "a.h5", "deflection: realization 7 is not finite")


def test_groups_where_arrays_should_be(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_group("time")
        file.create_group("response")
    refused(tmp_path / "a.h5", "time is not an array")


@pytest.mark.parametrize("name", ["a.npz", "a.h5", "a.txt", "a"])
@pytest.mark.parametrize("content", [b"", b"time,response\n0.0,1.0\n", bytes(5000), b"PK\x03\x04" + bytes(100)])
def test_files_of_another_kind(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    refused(tmp_path / name)


def test_a_folder_and_what_is_not_there(tmp_path):
    refused(tmp_path)
    refused(tmp_path / "no.h5", "there is no such file$")
    refused(tmp_path / "no.npz", "there is no such file$")
    writer_at(tmp_path / "no.h5").close()
    refused(tmp_path / "no.h5", r"no\.h5\.part is there: it is not finished")


def test_pickled_objects_are_not_run(tmp_path):
    np.savez(tmp_path / "a.npz", time=TIME, response=np.array([[print]], dtype=object))
    refused(tmp_path / "a.npz", "allow_pickle")
    np.array([print], dtype=object).dump(tmp_path / "b.npz")
    refused(tmp_path / "b.npz")
    with (tmp_path / "c.npz").open("wb") as file:
        np.save(file, RESPONSE)
    refused(tmp_path / "c.npz")


def test_an_array_of_more_than_there_is_memory(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["time"] = TIME
        file.create_dataset("response", shape=(N_TIMES, 1 << 50), dtype="f8", chunks=(1, 1024))
    refused(tmp_path / "a.h5")


@pytest.mark.parametrize("kind", ["ours.h5", "foreign.h5", "a.npz"])
def test_cut_at_any_length(tmp_path, kind):
    path = tmp_path / kind
    make(path) if kind == "ours.h5" else store(path, time=TIME, response=RESPONSE)
    whole = path.read_bytes()
    chance = random.Random(1)
    for size in (1, 8, 100, 4096, 8192, len(whole) // 2, *(chance.randrange(len(whole)) for _ in range(20))):
        path.write_bytes(whole[:size])
        refused(path)


@pytest.mark.parametrize("compressed", [False, True])
def test_bytes_that_turned_over(tmp_path, compressed):
    path = tmp_path / "a.npz"
    (np.savez_compressed if compressed else np.savez)(path, time=TIME, response=RESPONSE[:, :20])
    whole, chance = path.read_bytes(), random.Random(2)
    for _ in range(300):
        damaged = bytearray(whole)
        for _ in range(chance.randint(1, 4)):
            # most of what can go wrong is said near either end
            place = chance.choice([chance.randrange(300), chance.randrange(len(whole)), -chance.randrange(1, 300)])
            damaged[place] = chance.randrange(256)
        path.write_bytes(damaged)
        try:
            read_ensemble(path)
        except EnsembleError as problem:
            assert str(problem).startswith(str(path)) and "\n" not in str(problem)


def test_an_unfinished_file_under_another_name(tmp_path):
    writer = writer_at(tmp_path / "a.h5")
    write(writer)
    writer.close()
    (tmp_path / "a.h5.part").rename(tmp_path / "a.h5")
    refused(tmp_path / "a.h5", "is not finished")


@pytest.mark.parametrize(
    ("rows", "values"),
    [(slice(None), -RESPONSE), (4, RESPONSE[4, ::-1]), ((29, 17), 9.9)],
    ids=["all", "row", "value"],
)
def test_a_response_that_was_edited_in_place_is_sorted_anew(tmp_path, rows, values):
    path = make(tmp_path / "a.h5")
    edited = RESPONSE.copy()
    edited[rows] = values
    with h5py.File(path, "r+") as file:
        file["response"][rows] = values
    ensemble = read_ensemble(path)
    check(ensemble, edited)
    np.testing.assert_array_equal(ensemble.quantile(0.3), np.sort(edited, axis=1)[:, 150])
    assert (ensemble.unit, ensemble.name) == ("m", "deflection")


@pytest.mark.parametrize(("place", "rank"), [((0, 3), 1 << 31), ((29, 499), N_REALIZATIONS), ((7, 0), None)])
def test_an_order_that_is_none_is_made_anew(tmp_path, place, rank):
    path = make(tmp_path / "a.h5")
    with h5py.File(path, "r+") as file:
        # no rank: a realization twice, and another not at all
        file["order"][place] = file["order"][place[0], 1] if rank is None else rank
    check(read_ensemble(path))


def test_a_gap_that_was_edited_in_is_refused(tmp_path):
    path = make(tmp_path / "a.h5")
    with h5py.File(path, "r+") as file:
        file["response"][...] = GAP
    refused(path, r"realization 7 is not finite at 0\.3 s")


def test_of_many_instants_some_are_looked_at(tmp_path):
    n = 5000
    time, response = np.arange(float(n)), np.random.default_rng(3).normal(size=(n, 4))
    writer = EnsembleWriter(tmp_path / "a.h5", time, 4)
    writer.write(response)
    writer.finish()
    assert type(memory_of(read_ensemble(tmp_path / "a.h5").response)).__name__ == "mmap"
    # more in a row than there are between two that are looked at
    response[2000:2100] *= -1.0
    with h5py.File(tmp_path / "a.h5", "r+") as file:
        file["response"][2000:2100] = response[2000:2100]
    np.testing.assert_array_equal(read_ensemble(tmp_path / "a.h5").quantile(0.0), response.min(axis=1))


def test_complex_numbers_are_no_response(tmp_path):
    path = tmp_path / "e.npz"
    np.savez(path, time=np.arange(3.0), response=np.ones((3, 2)) * 1j)
    with pytest.raises(EnsembleError, match="time and response must be real numbers"):
        read_ensemble(path)


def test_a_file_of_ours_whose_order_was_deleted_is_sorted_anew(tmp_path):
    path, response = tmp_path / "e.h5", np.random.default_rng(1).normal(size=(4, 6))
    writer = EnsembleWriter(path, np.arange(4.0), 6)
    writer.write(response)
    writer.finish()
    with h5py.File(path, "r+") as file:
        del file["order"]
    found = read_ensemble(path)
    np.testing.assert_array_equal(found.order, np.argsort(response, axis=1))


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
