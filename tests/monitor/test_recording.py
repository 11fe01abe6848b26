"""The run file, written and read again."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
from monitor.recording import RunFileError, RunReader, RunWriter, recovery
from monitor.recording.recovery import recover
from monitor.recording.swmr_file import SwmrFile
from tests.campaign.run_file_mutations import write_run
from tests.waiting import until

CHANNELS = (
    Channel("north.command", Role.COMMAND, "m", "north"),
    Channel("north.measured", Role.MEASURED, "µm", "north"),
    Channel("Weg über Grund", Role.AUXILIARY),
)
COLUMNS = (Column("fdb_phase", "rad", "north"), Column("paei_ratio", "", "north"))


def stream(epoch: int = 7, rate: float = 1000.0, channels: tuple[Channel, ...] = CHANNELS) -> Stream:
    return Stream("rig A", epoch, rate, channels)


def result_stream(epoch: int = 7, columns: tuple[Column, ...] = COLUMNS) -> ResultStream:
    return ResultStream("rig A", epoch, 1000.0, 10, columns)


def block(index: int, rows: int, of: Stream | None = None, time: float | None = None) -> SignalBlock:
    of = of or stream()
    samples = np.arange(index, index + rows, dtype=float)[:, None] + np.arange(len(of.channels))
    return SignalBlock(of, index, index / of.sample_rate if time is None else time, samples)


def no_results(of: ResultStream | None = None) -> ResultBlock:
    of = of or result_stream()
    return ResultBlock(of, 0, 0.0, np.empty((0, len(of.columns))))


@st.composite
def records(draw: st.DrawFn) -> list[SignalBlock]:
    """Blocks with gaps, restarts, odd clocks, NaN and heartbeats."""
    rate = draw(st.sampled_from([1000.0, 4096.0, 100.0 / 3.0]))
    blocks = []
    for epoch in range(draw(st.integers(1, 3))):
        of = stream(1_700_000_000_000_000_000 + epoch, rate)
        index = draw(st.integers(0, 1 << 40))
        clock = draw(st.sampled_from([0.0, -3.3, 1.7e9]))
        for _ in range(draw(st.integers(1, 6))):
            index += draw(st.sampled_from([0, 0, 0, 1, 500]))
            clock += draw(st.sampled_from([0.0, 0.0, 0.0, 1e-5, 60.0]))
            made = block(index, draw(st.integers(0, 40)), of, clock + index / rate)
            if len(made) and draw(st.booleans()):
                made.samples[0, 1] = np.nan
            blocks.append(made)
            index += len(made)
    return blocks


def write(path: Path, blocks: list[SignalBlock] | Iterator[SignalBlock]) -> Path:
    writer = RunWriter(path, {}, flush_interval=0.001)
    for number, one in enumerate(blocks):
        writer.signals(one)
        if number == 0:
            of = one.stream
            writer.results(no_results(ResultStream(of.rig, of.epoch, of.sample_rate, 10, COLUMNS)))
    writer.close()
    assert writer.failed == ""
    return writer.path


def stored(path: Path) -> dict[str, bytes]:
    with h5py.File(path) as file:
        return {name: file["signals"][name][()].tobytes() for name in file["signals"]}


@settings(max_examples=60, deadline=None)
@given(records(), st.integers(1, 90), st.integers(0, 60))
def test_what_is_recorded_is_read_and_recorded_again_the_same(
    blocks: list[SignalBlock], length: int, start: int
) -> None:
    index = np.concatenate([b.index + np.arange(len(b)) for b in blocks])
    epoch = np.concatenate([np.full(len(b), b.stream.epoch) for b in blocks])
    times = np.concatenate([b.time + np.arange(len(b)) / b.stream.sample_rate for b in blocks])
    samples = np.concatenate([b.samples for b in blocks])
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder) / "a.h5", blocks)
        with RunReader(path) as run:
            read = list(run.signal_blocks(length))
            tail = list(run.signal_blocks(length, start))
            assert run.n_samples == len(index)
            # where nothing jumps, a block is as long as asked for
            jumps = 1 + np.count_nonzero(np.diff(index) != 1) + sum(len(b) > 0 for b in blocks)
            assert len(read) <= len(index) // length + 2 * jumps
        again = write(Path(folder) / "b.h5", read) if read else path
        assert stored(again) == stored(path)
    if read:
        assert np.concatenate([b.index + np.arange(len(b)) for b in read]).tolist() == index.tolist()
        assert np.concatenate([np.full(len(b), b.stream.epoch) for b in read]).tolist() == epoch.tolist()
        np.testing.assert_array_equal(np.concatenate([b.samples for b in read]), samples)
        got = np.concatenate([b.time + np.arange(len(b)) / b.stream.sample_rate for b in read])
        assert np.all(np.abs(got - times) <= 12 * np.spacing(np.abs(times) + 2e9 * (np.abs(times) > 1e9) + 1e4))
        assert [b.last for b in read] == [False] * (len(read) - 1) + [True]
        assert all(len(b) <= length and b.samples.flags.c_contiguous for b in read)
    assert sum(map(len, tail)) == max(0, len(index) - start)


def test_the_streams_settings_results_and_events_come_back(tmp_path: Path) -> None:
    writer = RunWriter(tmp_path / "run.h5", {"window": 2.0, "names": ["ä", None]})
    writer.event(Event(EventKind.STARTED, 0.0, 0))
    writer.signals(block(0, 20))
    writer.results(no_results())
    values = np.array([[1.0, np.nan], [2.0, 3.0]])
    writer.results(ResultBlock(result_stream(), 0, 0.5, values))
    writer.event(Event(EventKind.GAP, 0.02, 20, 5, "ä" * 150))
    writer.close()
    writer.close()
    assert writer.recorded == 20 and writer.unrecorded == 0
    with RunReader(writer.path) as run:
        assert run.stream == stream() and run.result_stream == result_stream()
        assert run.settings == {"window": 2.0, "names": ["ä", None]}
        assert run.outcome == "clean"
        epoch, index, times, stored_values = run.results()
        assert epoch.tolist() == [7, 7] and index.tolist() == [0, 10]
        assert times.tolist() == [0.5, 0.51]
        np.testing.assert_array_equal(stored_values, values)
        assert run.events() == [Event(EventKind.STARTED, 0.0, 0), Event(EventKind.GAP, 0.02, 20, 5, "ä" * 100)]
        with pytest.raises(ValueError, match="block length 0"):
            next(run.signal_blocks(0))


def test_a_jittering_clock_ends_blocks_unless_the_jitter_is_allowed(tmp_path: Path) -> None:
    blocks = [block(k, 1, time=k / 1000 + 1e-5 * (k % 3)) for k in range(100)]
    with RunReader(write(tmp_path / "run.h5", blocks)) as run:
        assert [b.time for b in run.signal_blocks(50)] == [b.time for b in blocks]
        assert [len(b) for b in run.signal_blocks(50, jitter=1e-4)] == [50, 50]


READ = """
import sys
from monitor.recording import RunReader
with RunReader(sys.argv[1]) as run:
    rows = sum(len(b) for b in run.signal_blocks(100))
    assert all(b.samples[0, 0] == b.index and not b.last for b in run.signal_blocks(100))
    print(run.n_samples, rows, run.outcome)
"""


def test_another_process_and_another_thread_read_while_it_is_written(tmp_path: Path) -> None:
    writer = RunWriter(tmp_path / "run.h5", {}, flush_interval=0.005)
    seen = 0
    for number in range(2000):
        writer.signals(block(number * 10, 10))
        if number == 0:
            writer.results(no_results())
            until(lambda: writer.recorded > 0)
        if number % 100 == 99:
            acknowledged = writer.recorded
            with RunReader(writer.path) as run:
                assert run.outcome == "open"
                assert seen <= acknowledged <= run.n_samples
                assert all(b.samples[0, 0] == b.index for b in run.signal_blocks(64))
                seen = run.n_samples
        if number == 1000:
            until(lambda: writer.recorded == 10010)
            other = subprocess.run([sys.executable, "-c", READ, writer.path], capture_output=True, text=True)
            assert other.stdout.split() == ["10010", "10010", "open"], other.stderr
    writer.close()
    with RunReader(writer.path) as run:
        assert (run.n_samples, run.outcome) == (20000, "clean")


def test_a_restart_goes_on_in_the_same_file_other_channels_in_the_next(tmp_path: Path) -> None:
    (tmp_path / "run.h5").write_bytes(b"mine")
    other = stream(9, channels=CHANNELS[:2])
    writer = RunWriter(tmp_path / "run.h5", {}, flush_interval=0.001)
    for of, columns in ((stream(7), COLUMNS), (stream(8), COLUMNS), (other, COLUMNS), (other, COLUMNS[:1])):
        writer.signals(block(0, 10, of))
        writer.results(no_results(result_stream(of.epoch, columns)))
    writer.signals(block(10, 10, other))
    writer.close()
    assert (tmp_path / "run.h5").read_bytes() == b"mine"
    assert writer.path == tmp_path / "run-4.h5"
    found = []
    for name in ("run-2.h5", "run-3.h5", "run-4.h5"):
        with RunReader(tmp_path / name) as run:
            assert run.result_stream is not None and run.outcome == "clean"
            epochs = [b.stream.epoch for b in run.signal_blocks(100)]
            found.append((run.n_samples, epochs, len(run.stream.channels), len(run.result_stream.columns)))
    assert found == [(20, [7, 8], 3, 2), (20, [9, 9], 2, 2), (10, [9], 2, 1)]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["run-2.h5", "run-3.h5", "run-4.h5", "run.h5"]


def test_without_results_the_file_begins_after_half_a_second_of_signals(tmp_path: Path) -> None:
    writer = RunWriter(tmp_path / "run.h5", {}, flush_interval=0.001)
    writer.signals(block(0, 500))
    writer.signals(block(500, 1500))
    until(lambda: writer.recorded == 2000)
    writer.results(ResultBlock(result_stream(), 0, 0.0, np.ones((1, 2))))
    writer.close()
    with RunReader(writer.path) as run:
        assert run.result_stream is None and run.outcome == "lossy"
        assert [len(part) for part in run.results()] == [0, 0, 0, 0]


def test_a_full_queue_drops_and_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # of 10 samples with 24 bytes each and 512 beside them; results without rows take 512
    writer = RunWriter(tmp_path / "run.h5", {}, flush_interval=60.0, queue_bytes=10 * (240 + 512 + 512))
    with monkeypatch.context() as asleep:
        # a disk that does not come back: the writer's thread is not woken
        asleep.setattr(writer._wake, "set", lambda: None)
        for number in range(30):
            writer.signals(block(number * 10, 10))
            writer.results(no_results())
        assert (writer.recorded, writer.unrecorded) == (0, 200)
    writer.close()
    writer.signals(block(300, 10))
    assert (writer.recorded, writer.unrecorded) == (100, 210)
    with RunReader(writer.path) as run:
        assert (run.n_samples, run.outcome) == (100, "lossy")
        assert not any(b.last for b in run.signal_blocks(10))


def test_faster_than_real_time_nothing_is_dropped(tmp_path: Path) -> None:
    writer = RunWriter(tmp_path / "run.h5", {}, flush_interval=60.0, queue_bytes=1 << 20)
    for number in range(200):
        writer.signals(block(number * 4096, 4096))
        writer.results(no_results())
        until(lambda: writer._backlog.n_bytes < 1 << 19)
    writer.close()
    with RunReader(writer.path) as run:
        assert (run.n_samples, run.outcome) == (200 * 4096, "clean")


def test_what_hdf5_keeps_in_memory_of_a_long_run_is_little(tmp_path: Path) -> None:
    columns = tuple(Column(f"v{number}", "1", "a") for number in range(147))
    file = SwmrFile(tmp_path / "run.h5", stream(), result_stream(columns=columns), b"{}")
    kept: list[int] = []
    file._file.visititems(
        lambda _, item: (
            kept.append(item.id.get_access_plist().get_chunk_cache()[1])
            if isinstance(item, h5py.Dataset) and item.chunks
            else None
        )
    )
    file.finish("clean")
    # signals, results, events and checksums; of each the chunk that grows must fit
    assert len(kept) == 10
    assert min(kept) >= 1 << 18 and sum(kept) <= 8 << 20


def test_nothing_comes_and_nothing_is_left(tmp_path: Path) -> None:
    RunWriter(tmp_path / "run.h5", {}).close()
    assert list(tmp_path.iterdir()) == []


def test_mistakes_are_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(RunFileError, match="folder"):
        RunWriter(tmp_path / "nowhere" / "run.h5", {})
    with pytest.raises(RunFileError, match="JSON"):
        RunWriter(tmp_path / "run.h5", {"a": object()})
    (tmp_path / "text.h5").write_text("x" * 100)
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["x"] = 1
    for name, what in (("none.h5", "no such file"), ("text.h5", "not an HDF5"), ("other.h5", "not a run file")):
        with pytest.raises(RunFileError, match=what) as caught:
            RunReader(tmp_path / name)
        assert str(tmp_path / name) in str(caught.value)


FULL = """
import resource, sys, time
import numpy as np
from monitor.messages.blocks import Channel, Role, SignalBlock, Stream
from monitor.recording import RunWriter, swmr_file
limit = int(sys.argv[3])
free = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
if sys.argv[2] == "unreserved":
    swmr_file.SwmrFile._reserve = lambda self, size: None
    abandon = swmr_file.SwmrFile.abandon
    # the limit holds for memory files too, a full disk does not
    swmr_file.SwmrFile.abandon = lambda self, outcome: (free(), abandon(self, outcome))
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
writer = RunWriter(sys.argv[1], {}, flush_interval=0.001)
of = Stream("rig", 1, 1000.0, tuple(Channel(str(k), Role.AUXILIARY) for k in range(16)))
sent = 0
while not writer.failed and sent < 10_000_000:
    writer.signals(SignalBlock(of, sent, sent / 1000, np.full((500, 16), 1.0)))
    sent += 500
    while not writer.failed and sent - writer.recorded > 5000:
        time.sleep(0.0005)
why = writer.failed
if sys.argv[2] != "to the end":
    free()
writer.signals(SignalBlock(of, sent, sent / 1000, np.full((500, 16), 1.0)))
writer.close()
print(writer.recorded, writer.unrecorded, sent + 500, why)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of a file's size stands for a full disk")
@pytest.mark.parametrize("how", ["reserved", "unreserved"])
def test_a_full_disk_ends_the_file_and_nothing_else(tmp_path: Path, how: str) -> None:
    path = tmp_path / "run.h5"
    limit = 30_000_000
    done = subprocess.run([sys.executable, "-c", FULL, path, how, str(limit)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    recorded, unrecorded, sent, *why = done.stdout.split()
    assert " ".join(why) == "File too large"
    assert int(recorded) == int(sent) > 100_000 and int(unrecorded) == 0
    spans = []
    for name, outcome in (("run.h5", "truncated"), ("run-2.h5", "clean")):
        with RunReader(tmp_path / name) as run:
            assert run.outcome == outcome
            ((index, rows),) = ((b.index, len(b)) for b in run.signal_blocks(1 << 30))
            assert rows == run.n_samples
            assert all((b.samples == 1.0).all() for b in run.signal_blocks(1000))
            spans.append((index, index + rows))
    (begin, seam), (again, end) = spans
    assert (begin, end) == (0, int(sent))
    # what HDF5 had written half-way may be in both
    assert again <= seam if how == "unreserved" else again == seam


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of a file's size stands for a full disk")
def test_a_disk_that_is_full_from_the_start(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FULL, tmp_path / "run.h5", "to the end", "1000"], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split()[0] == "0" and done.stdout.endswith("File too large\n")
    assert list(tmp_path.iterdir()) == []


ROWS = 1200


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return write_run(tmp_path_factory.mktemp("whole") / "run.h5").read_bytes()


@pytest.fixture
def run(tmp_path: Path, whole: bytes) -> Path:
    path = tmp_path / "run.h5"
    path.write_bytes(whole)
    return path


def offset_of(path: Path, name: str, row: int) -> int:
    """Return where in the file the first byte of a row is."""
    with h5py.File(path) as file:
        data = file[name]
        row_bytes = data.dtype.itemsize * int(np.prod(data.shape[1:]))
        begin = data.id.get_chunk_info(0).byte_offset if data.chunks else data.id.get_offset()
        return int(begin) + row * row_bytes


def flip(path: Path, name: str, row: int, byte: int = 6, mask: int = 0x10) -> None:
    with path.open("r+b") as file:
        file.seek(offset_of(path, name, row) + byte)
        found = file.read(1)[0]
        file.seek(-1, 1)
        file.write(bytes([found ^ mask]))


def lines(path: Path) -> list[str]:
    with RunReader(path) as reader:
        return reader.check().messages()


def test_a_whole_run_is_not_doubted(run: Path) -> None:
    assert lines(run) == []
    kept = recover(run)
    assert kept.warnings == () and lines(kept.path) == []


@pytest.mark.parametrize("column", ["samples", "time", "epoch", "index"])
def test_a_flip_in_a_sample_is_told_with_its_span_also_after_recovery(run: Path, column: str) -> None:
    flip(run, f"signals/{column}", 450)
    told = ["samples 400 to 499 of 1200 are doubtful: their checksum differs"]
    assert lines(run) == told
    kept = recover(run)
    assert (kept.samples, list(kept.warnings)) == (ROWS, told)
    assert lines(kept.path) == told


def test_flips_in_results_events_and_tables_are_told(run: Path) -> None:
    flip(run, "results/values", 65)
    flip(run, "events", 3, byte=45)
    flip(run, "channels", 1, byte=0, mask=1)
    flip(run, "result_columns", 0, byte=0, mask=1)
    told = lines(run)
    for word in ("result rows 60 to 69 of 120", "events 3 to 3 of 12", "the table of channels", "of result columns"):
        assert any(word in line for line in told), word
    assert len(told) == 4


def test_a_damaged_checksum_leaves_its_rows_unchecked_and_not_called_good(run: Path) -> None:
    with h5py.File(run) as file:
        table = file["checks"][()]
    row = int(np.flatnonzero((table["part"] == b"signals") & (table["start"] == 700))[0])
    flip(run, "checks", row, byte=33)
    told = ["1 checksums are damaged themselves", "samples 700 to 799 of 1200 are without a checksum"]
    assert lines(run) == told
    assert lines(recover(run).path) == told[1:]


@pytest.mark.parametrize("content", [b"\xff", b"{", b'"', b"["])
def test_damaged_settings_cost_nothing_but_the_settings(run: Path, content: bytes) -> None:
    with run.open("r+b") as file:
        file.seek(offset_of(run, "settings", 0))
        file.write(content * 3)
    with RunReader(run) as reader:
        assert (reader.n_samples, reader.settings) == (ROWS, {})
        assert "the settings of the run cannot be read" in reader.check().lines[0]
    kept = recover(run)
    assert kept.samples == ROWS and any("settings" in line for line in kept.warnings)


def test_a_flip_in_a_role_is_recovered_as_a_channel_without_one(run: Path) -> None:
    with h5py.File(run) as file:
        at = file["channels"].dtype.fields["role"][1]
    flip(run, "channels", 0, byte=at, mask=1)
    with pytest.raises(RunFileError, match="damaged; run: synchroscope recover"):
        RunReader(run)
    kept = recover(run)
    assert kept.samples == ROWS and any("the channels cannot be read" in line for line in kept.warnings)
    with RunReader(kept.path) as reader:
        assert [channel.name for channel in reader.stream.channels] == ["c", "m", "t"]
        assert not reader.stream.pairs


def lose(path: Path, name: str) -> None:
    with h5py.File(path, "r+") as file:
        del file[name]


@pytest.mark.parametrize(("name", "word"), [("events", "events"), ("results", "results"), ("outcome", "outcome")])
def test_what_is_missing_is_told_and_the_samples_are_kept(run: Path, name: str, word: str) -> None:
    lose(run, name)
    assert any(word in line for line in lines(run))
    kept = recover(run)
    assert kept.samples == ROWS and any(word in line for line in kept.warnings)


def test_samples_whose_numbers_cannot_be_are_counted_on(run: Path) -> None:
    with RunReader(run) as reader:
        before = [np.concatenate([getattr(r, n) for _, r in reader.numbering()]) for n in ("time", "epoch", "index")]
    for column, byte in (("index", 7), ("epoch", 7), ("time", 7)):
        flip(run, f"signals/{column}", 455, byte=byte, mask=0x40)
    with RunReader(run) as reader:
        assert len(reader.check().signals.doubtful) == 1
        after = [np.concatenate([getattr(r, n) for _, r in reader.numbering()]) for n in ("time", "epoch", "index")]
        blocks = list(reader.signal_blocks(1 << 12))
    for one, other in zip(before, after, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    assert sum(map(len, blocks)) == ROWS


def test_rows_of_ones_are_not_taken_for_rows_that_were_never_written(run: Path) -> None:
    start = offset_of(run, "signals/index", 600)
    with run.open("r+b") as file:
        file.seek(start)
        file.write(b"\xff" * 80)
    with RunReader(run) as reader:
        assert reader.n_samples == ROWS and reader.check().signals.doubtful == ((600, 700),)


def outside(path: Path, elsewhere: Path) -> None:
    with h5py.File(elsewhere, "w") as file:
        file["samples"] = np.zeros((ROWS, 3))
    with h5py.File(path, "r+") as file:
        del file["signals/samples"]
        file["signals/samples"] = h5py.ExternalLink(elsewhere, "/samples")


def raw(path: Path, elsewhere: Path) -> None:
    elsewhere.write_bytes(bytes(24 * ROWS))
    with h5py.File(path, "r+") as file:
        del file["signals/samples"]
        file.create_dataset("signals/samples", (ROWS, 3), "f8", external=[(str(elsewhere), 0, h5py.h5f.UNLIMITED)])


def virtual(path: Path, elsewhere: Path) -> None:
    outside(path, elsewhere)
    layout = h5py.VirtualLayout((ROWS, 3), "f8")
    layout[:] = h5py.VirtualSource(elsewhere, "samples", (ROWS, 3))
    with h5py.File(path, "r+") as file:
        del file["signals/samples"]
        file.create_virtual_dataset("signals/samples", layout)


@pytest.mark.parametrize("way", [outside, raw, virtual])
def test_no_other_file_is_read(run: Path, way: Callable[[Path, Path], None]) -> None:
    way(run, run.with_name("elsewhere"))
    with pytest.raises(RunFileError, match=r"missing|another file"):
        RunReader(run)
    with pytest.raises(RunFileError, match="samples or sample rate cannot be read"):
        recover(run)


@pytest.mark.parametrize("name", ["channels", "settings", "events", "outcome", "result_columns"])
def test_no_memory_is_asked_for_what_a_small_file_only_claims(run: Path, name: str) -> None:
    with h5py.File(run, "r+") as file:
        kind = file[name].dtype
        del file[name]
        file.create_dataset(name, (1 << 32,), kind)
    try:
        assert lines(run)
    except RunFileError as problem:
        assert "claims more" in str(problem)
    assert recover(run).samples == ROWS


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_recovery_that_is_told_to_end_leaves_nothing(
    run: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    begun = []

    def told_to_end(*_: object) -> None:
        begun.extend(each.name for each in run.parent.glob(".*.part"))
        os.kill(os.getpid(), number)
        time.sleep(60.0)

    monkeypatch.setattr(recovery, "_write", told_to_end)
    assert main(["recover", str(run)]) == 130
    assert begun and [each.name for each in run.parent.iterdir()] == ["run.h5"]


def test_names_do_not_steer_a_terminal(run: Path) -> None:
    with h5py.File(run, "r+") as file:
        rows = file["channels"][()].astype([(n, "S40") for n in ("name", "role", "unit", "actuator")])
        rows["name"][0] = b"\x1b[2J\x07evil\xe2\x80\xaelive"
        del file["channels"]
        file["channels"] = rows
        file.attrs["rig"] = "\x1b]0;title\x07"
    with RunReader(run) as reader:
        assert all(c.name.isprintable() for c in reader.stream.channels) and reader.stream.rig.isprintable()
