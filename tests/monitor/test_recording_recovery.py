"""Run files whose writer was killed, and files cut short."""

import argparse
import math
import random
import re
import subprocess
import sys
import time
from pathlib import Path

import h5py
import numpy as np
import pytest

from monitor.commands import recover as command
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
from monitor.recording import RunFileError, RunReader, RunWriter
from monitor.recording.opening import checksum, read_superblock
from monitor.recording.recovery import recover

WIDTH = 16
STREAM = Stream("rig", 3, 1024.0, tuple(Channel(str(k), Role.AUXILIARY) for k in range(WIDTH)))
RESULTS = ResultStream("rig", 3, 1024.0, 4, (Column("a", "rad", ""), Column("b", "", "")))

KILLED = """
import sys, time
import numpy as np
from monitor.messages.blocks import Channel, Column, Event, EventKind, ResultBlock, ResultStream, Role, SignalBlock
from monitor.messages.blocks import Stream
from monitor.recording import RunWriter
width, rows = 16, 64
stream = Stream("rig", 3, 1024.0, tuple(Channel(str(k), Role.AUXILIARY) for k in range(width)))
results = ResultStream("rig", 3, 1024.0, 4, (Column("a", "rad", ""), Column("b", "", "")))
writer = RunWriter(sys.argv[1], {}, flush_interval=float(sys.argv[2]))
index = told = 0
while True:
    number = np.arange(index, index + rows, dtype=float)
    writer.signals(SignalBlock(stream, index, index / 1024, np.repeat(number[:, None], width, axis=1)))
    writer.results(ResultBlock(results, index, index / 1024, np.repeat(number[::4, None], 2, axis=1)))
    if index % 1024 == 0:
        writer.event(Event(EventKind.NOTE, index / 1024, index))
    index += rows
    if writer.recorded != told:
        told = writer.recorded
        print(told, flush=True)
    time.sleep(0.0002)
"""


@pytest.mark.parametrize("seed", range(20))
def test_a_kill_loses_no_acknowledged_sample(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    path = tmp_path / "run.h5"
    arguments = [sys.executable, "-c", KILLED, path, str(chance.choice([0.0, 0.001, 0.01]))]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for _ in range(chance.randint(1, 40)):
            process.stdout.readline()
        time.sleep(chance.uniform(0.0, 0.02))
        process.kill()
        lines = process.stdout.read().splitlines(keepends=True)
    told = [int(line) for line in lines if line.endswith("\n")]
    with RunReader(path) as run:
        assert run.outcome == "open"
        seen = run.n_samples
    kept = recover(path)
    assert kept.samples == seen > 0 and kept.outcome_found == "open"
    assert kept.samples >= max(told, default=1)
    number = np.arange(kept.samples)
    with h5py.File(kept.path) as file:
        assert file["outcome"][()] == b"recovered"
        np.testing.assert_array_equal(file["signals/index"], number)
        np.testing.assert_array_equal(file["signals/time"], number / 1024)
        np.testing.assert_array_equal(file["signals/epoch"], np.full(kept.samples, 3))
        np.testing.assert_array_equal(file["signals/samples"], np.repeat(number[:, None], WIDTH, axis=1))
        number = np.arange(kept.results) * 4
        # the results stand behind the same flush
        assert kept.results >= max(told, default=1) // 4
        np.testing.assert_array_equal(file["results/index"], number)
        np.testing.assert_array_equal(file["results/values"], np.repeat(number[:, None], 2, axis=1))
        np.testing.assert_array_equal(file["events"]["index"], np.arange(kept.events) * 1024)


@pytest.fixture
def closed(tmp_path: Path) -> Path:
    """A clean file of some megabytes."""
    writer = RunWriter(tmp_path / "run.h5", {"a": 1}, flush_interval=0.01)
    for index in range(0, 200_000, 1000):
        number = np.arange(index, index + 1000, dtype=float)
        writer.signals(SignalBlock(STREAM, index, index / 1024, np.repeat(number[:, None], WIDTH, axis=1)))
        writer.results(ResultBlock(RESULTS, index, index / 1024, np.repeat(number[::4, None], 2, axis=1)))
        if index % 10_000 == 0:
            time.sleep(0.002)
    writer.event(Event(EventKind.ENDED, 200.0, 200_000))
    writer.close()
    return writer.path


def mark_as_being_written(path: Path) -> None:
    """Set the flags that a killed writer leaves behind."""
    head = bytearray(path.read_bytes()[:44])
    head[11] = 5
    with path.open("r+b") as file:
        file.write(head + checksum(bytes(head)).to_bytes(4, "little"))


def said_of(path: Path) -> str:
    """Return what a reader says of a damaged file, whether it can read it or not."""
    try:
        with RunReader(path) as run:
            return "; ".join(run.check().lines)
    except RunFileError as problem:
        return str(problem)


def rows_below(path: Path, length: int, group: str) -> int:
    """Return how many leading rows of a group lie within the first `length` bytes of an intact file."""
    with h5py.File(path) as file:
        counts = []
        for table in (member for member in file[group].values() if member.chunks):
            row_bytes = table.dtype.itemsize * math.prod(table.shape[1:])
            counts.append(len(table))
            for chunk in map(table.id.get_chunk_info, range(table.id.get_num_chunks())):
                if chunk.byte_offset + chunk.size > length:
                    whole = max(0, length - chunk.byte_offset) // row_bytes
                    counts.append(min(len(table), chunk.chunk_offset[0] + whole))
        return min(counts)


@pytest.mark.parametrize("killed", [False, True])
@pytest.mark.parametrize("percent", [1, 30, 90])
def test_what_is_left_of_a_file_cut_short_is_kept(closed: Path, percent: int, killed: bool) -> None:
    length = closed.stat().st_size * (100 - percent) // 100
    readable = rows_below(closed, length, "signals")
    if killed:
        mark_as_being_written(closed)
    with closed.open("r+b") as file:
        file.truncate(length)
    before = closed.read_bytes()
    assert re.search(
        r"(cut short|damaged); run: synchroscope recover .*run\.h5|samples are incomplete|are left out",
        said_of(closed),
    )
    kept = recover(closed)
    assert closed.read_bytes() == before
    assert kept.samples + kept.trimmed == 200_000
    # signals and results are written side by side: one per cent may hold results only
    assert kept.samples == readable and readable > 0
    with RunReader(kept.path) as run:
        assert (run.stream, run.result_stream, run.settings) == (STREAM, RESULTS, {"a": 1})
        assert (run.outcome, run.n_samples) == ("recovered", kept.samples)
        blocks = list(run.signal_blocks(1 << 20))
        assert sum(map(len, blocks)) == kept.samples and len(blocks) == (kept.samples > 0)
        assert all((b.samples[:, 3] == np.arange(len(b))).all() for b in blocks)
        epoch, index, times, values = run.results()
        assert (epoch == 3).all() and (index == np.arange(kept.results) * 4).all()
        assert (values[:, 1] == index).all() and (times == index / 1024).all()


def test_the_recovered_file_is_for_old_readers(closed: Path) -> None:
    kept = recover(closed)
    assert (kept.samples, kept.results, kept.events, kept.trimmed) == (200_000, 50_000, 1, 0)
    assert kept.outcome_found == "clean" and kept.path.name == "run.recovered.h5"
    assert recover(closed).path.name == "run.recovered-2.h5"
    # version 0 is what HDF5 1.6 wrote; the new file has no variable-length type anywhere
    assert kept.path.read_bytes()[8] == 0
    with h5py.File(kept.path) as file, h5py.File(closed) as original:
        types = [file[name].id.get_type() for name in ("settings", "outcome", "channels", "events")]
        assert not any(kind.detect_class(h5py.h5t.VLEN) for kind in types)
        assert dict(file.attrs) == dict(original.attrs)
        assert file["signals/samples"].chunks is None
    assert recover(kept.path).outcome_found == "recovered"


@pytest.mark.parametrize("end", [0, 1, 2**31, 2**40, 2**63 - 1, 2**63, 2**64 - 1])
@pytest.mark.parametrize("writing", [0, 5])
def test_any_end_of_file_in_a_superblock_is_read_or_one_line(closed: Path, end: int, writing: int) -> None:
    whole = bytearray(closed.read_bytes())
    with RunReader(closed) as reader:
        n_samples = reader.n_samples
    whole[11], whole[28:36] = writing, end.to_bytes(8, "little")
    closed.write_bytes(whole)
    if writing:
        with RunReader(closed) as reader:
            assert reader.n_samples == n_samples
            assert reader.warnings == ["its superblock is damaged and not used"]
    else:
        with pytest.raises(RunFileError, match=r"^[^\n]+$"):
            RunReader(closed)
    if writing or end > len(whole):
        assert recover(closed).samples == n_samples


def test_the_superblock_is_read_as_hdf5_wrote_it(closed: Path) -> None:
    head = closed.read_bytes()[:48]
    assert checksum(head[:44]) == int.from_bytes(head[44:], "little")
    block = read_superblock(closed)
    assert (block.writing, block.stored_end, block.cut) == (False, closed.stat().st_size, False)
    mark_as_being_written(closed)
    repaired = read_superblock(closed).repaired()
    assert repaired[:28] + repaired[36:44] == head[:28] + head[36:44]
    assert int.from_bytes(repaired[28:36], "little") > block.stored_end
    assert checksum(repaired[:44]) == int.from_bytes(repaired[44:], "little")


def test_a_reader_that_nobody_closes_ends_quietly(closed: Path) -> None:
    mark_as_being_written(closed)
    code = "import sys; from monitor.recording import *; run = RunReader(sys.argv[1]); print(run.n_samples)"
    done = subprocess.run([sys.executable, "-c", code, closed], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "200000\n", "")


def run_command(*arguments: str | Path) -> int:
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    return command.run(parser.parse_args([str(a) for a in arguments]))


def test_the_command_says_what_was_kept(closed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = closed.with_name("new.h5")
    assert run_command(closed, "-o", out) == 0
    said = capsys.readouterr()
    assert said.out == (
        f"{out}: 200000 samples, 50000 result rows and 1 events recovered; 0 incomplete samples left out; "
        "the outcome was 'clean'\n"
    )
    assert "closed properly" in said.err
    before = out.read_bytes()
    assert run_command(closed, "-o", out) == 2
    assert "exists" in capsys.readouterr().err and out.read_bytes() == before


@pytest.mark.parametrize("content", [b"", b"text" * 100, None])
def test_the_command_refuses_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes | None
) -> None:
    path = tmp_path / "run.h5"
    if content is not None:
        path.write_bytes(content)
    assert run_command(path) == 2
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("\n") == 1 and str(path) in said.err
    assert [p.name for p in tmp_path.iterdir()] == ([] if content is None else ["run.h5"])


@pytest.mark.parametrize("length", [47, 48, 100, 1000, 3000, 6000, 12000])
def test_a_file_cut_to_almost_nothing_is_refused_or_recovered(
    closed: Path, capsys: pytest.CaptureFixture[str], length: int
) -> None:
    with closed.open("r+b") as file:
        file.truncate(length)
    status = run_command(closed)
    said = capsys.readouterr()
    assert status in (0, 2)
    assert (said.err if status == 2 else said.out).count("\n") == 1
    if status == 0:
        assert ": 0 samples" in said.out


@pytest.mark.slow
def test_garbage_in_the_middle_never_ends_in_a_traceback(closed: Path) -> None:
    data = closed.read_bytes()
    chance = random.Random(1)
    for _ in range(40):
        broken = bytearray(data)
        start = chance.randrange(0, 30_000)
        broken[start : start + 200] = chance.randbytes(200)
        path = closed.with_name("broken.h5")
        path.write_bytes(broken)
        for read in (recover, read_all):
            try:
                read(path)
            except RunFileError as problem:
                assert "\n" not in str(problem) and str(path) in str(problem)


def read_all(path: Path) -> None:
    with RunReader(path) as run:
        run.results()
        for _ in run.signal_blocks(4096):
            pass
